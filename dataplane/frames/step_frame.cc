// SPDX-License-Identifier: Apache-2.0
#include "dataplane/frames/step_frame.h"

#include <cstring>

#include "dataplane/frames/mac_address.h"
#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {

void WriteStepFrame(const StepFrame& frame, uint32_t bytes, uint8_t* out) {
  constexpr uint32_t kHeaders = kEthernetBytes + sizeof(WireHeader);
  StoreMac(out, frame.to_everybody ? kBroadcastMac : RowMac(frame.output));
  StoreMac(out + 6, RowMac(frame.input));
  StoreBe16(out + 12, kBflyEtherType);
  WireHeader header{};
  header.version = kWireVersion;
  header.type = static_cast<uint8_t>(WireType::kTester);
  header.header_bytes = sizeof(WireHeader);
  header.flags = kWireNamesInput;
  StoreBe32(header.row, frame.input);
  StoreBe64(header.tag, frame.tag);
  StoreBe32(header.sequence, frame.number);
  StoreBe16(header.inner_bytes, static_cast<uint16_t>(bytes - kHeaders));
  std::memcpy(out + kEthernetBytes, &header, sizeof(header));
  std::memset(out + kHeaders, 0, bytes - kHeaders);
}

}  // namespace bfly::dataplane
