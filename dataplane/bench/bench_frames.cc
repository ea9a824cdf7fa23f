// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/bench_frames.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "dataplane/frames/mac_address.h"

namespace bfly::dataplane {

std::vector<Row> ConsecutiveRows(Row from, uint32_t count) {
  std::vector<Row> rows(count);
  std::iota(rows.begin(), rows.end(), from);
  return rows;
}

Frames FramesBetween(const std::vector<Row>& from, const std::vector<Row>& to, int bytes) {
  constexpr uint32_t kFrames = 1024;
  const auto sources = static_cast<uint32_t>(from.size());
  const auto targets = static_cast<uint32_t>(to.size());
  Frames frames;
  for (uint32_t i = 0; i < kFrames; ++i) {
    std::vector<uint8_t> frame(static_cast<size_t>(bytes));
    // The multipliers are odd and mix the pairs; their values have no other meaning.
    StoreMac(frame.data(), RowMac(to[i * 2654435761u % targets]));
    StoreMac(frame.data() + 6, RowMac(from[(i * 40503u + i / targets) % sources]));
    frame[12] = 0x08;
    frames.push_back(std::move(frame));
  }
  return frames;
}

absl::Status WritePcap(const std::string& path, const Frames& frames) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](auto number) {
    file.write(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  // pcap 2.4, in this machine's byte order; microseconds, Ethernet.
  put(uint32_t{0xa1b2c3d4});
  put(uint16_t{2});
  put(uint16_t{4});
  put(uint64_t{0});
  put(uint32_t{65535});
  put(uint32_t{1});
  for (const auto& frame : frames) {
    put(uint64_t{0});
    put(static_cast<uint32_t>(frame.size()));
    put(static_cast<uint32_t>(frame.size()));
    file.write(reinterpret_cast<const char*>(frame.data()),
               static_cast<std::streamsize>(frame.size()));
  }
  file.close();
  return file ? absl::OkStatus()
              : absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

BenchDirectory::BenchDirectory() {
  std::string name = std::filesystem::temp_directory_path() / "bfly-bench-XXXXXX";
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

BenchDirectory::~BenchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace bfly::dataplane
