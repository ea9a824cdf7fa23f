// SPDX-License-Identifier: Apache-2.0
// What a capture is about, as the words of a command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/capture.pb.h"
#include "bfly/v1/topology.pb.h"

namespace bfly::control {

// "port NAME...", "circuit ID...", "SRC -> DST", or a link selector. InvalidArgument says what
// would be right. The links of a selector are left to `selector`; it has none otherwise.
struct CaptureWords {
  v1::CaptureRequest request;
  bool has_selector = false;
  v1::LinkOverride selector;
};
absl::StatusOr<CaptureWords> CaptureWordsOf(const std::vector<std::string>& words);

// "3 -> 6", "3->6", "3 6": the rows of a pair. InvalidArgument: the words are something else.
absl::StatusOr<std::pair<uint32_t, uint32_t>> RowPairOf(const std::vector<std::string>& words);

// The interface that a frame was seen at: "s1 r4 p1", "h0 in", "h0 out".
std::string InterfaceOf(const v1::CapturedFrame& frame);

// "hop 2, 3 -> 6, circuit 17, 1.2 us in the fabric, copied 0.4 us later".
std::string CommentOf(const v1::CapturedFrame& frame);

}  // namespace bfly::control
