// SPDX-License-Identifier: Apache-2.0
// The result of a set-up in band, and its cost.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "topologies/network.h"
#include "topologies/pass_steps.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

struct InBandRequest {
  Row input = 0;
  Row output = 0;
};

// A user reads an object of the data server. Its two copies are on one disk of each half, or its
// one copy is on disks[0], anywhere (Cole et al. 1998, section 3).
struct InBandRead {
  Row user = 0;
  std::array<Row, 2> disks = {};
  int copies = 2;
};

enum class InBandChoice : uint8_t {
  kP,
  kPPrime,
  kOnly,       // the request had no other path
  kArbitrary,  // collision ended without a path for the request, which took p
};

struct InBandPath {
  Row input = 0;
  Row output = 0;
  Tag tag = 0;
  InBandChoice choice = InBandChoice::kP;
};

// A link that is down, or that has no room for the path of a request.
struct InBandRefusal {
  uint32_t request = 0;  // the index of the first request that could not be set up
  // The first link of its path that is down or, if no link is down, the first link without room.
  LinkId link = {};
  uint32_t circuits = 0;  // circuits on the link when the request came
  uint32_t capacity = 0;
  bool down = false;
};

// Steps in the paper's model (topologies/pass_steps.h), there and back.
struct PassSteps {
  uint64_t forward = 0;
  uint64_t backward = 0;
  PassSteps& operator+=(const PassSteps& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
  friend bool operator==(const PassSteps&, const PassSteps&) = default;
};

inline PassSteps CountSteps(const Network& network, const std::vector<TaggedPath>& paths) {
  return {.forward = StepsOfPass(network, paths, /*backward=*/false),
          .backward = StepsOfPass(network, paths, /*backward=*/true)};
}

struct InBandReport {
  // If it is set, nothing was set up and there are no paths.
  std::optional<InBandRefusal> refusal;
  std::vector<InBandPath> paths;  // in the order of the requests
  uint32_t rounds = 0;            // minimum: one for each request
  std::vector<uint32_t> left_per_round;
  std::vector<uint32_t> requests_left;  // the indices of these requests
  // How many messages crossed the network in one direction.
  uint64_t messages = 0;          // messages to choose paths
  uint64_t install_messages = 0;  // messages to install or release, and to acknowledge
  PassSteps steps;
  PassSteps install_steps;
  // The first three are sums over the passes that choose: the time until the last message is at the
  // outputs, the time from then until it is back, and the time between passes at the inputs. The
  // fourth is the time of all passes that install.
  double forward_seconds = 0;
  double backward_seconds = 0;
  double decide_seconds = 0;
  double install_seconds = 0;
  // The time from the first message to the last acknowledgement.
  double seconds = 0;
  // minimum: for each request, the time from its first messages to its acknowledgement.
  std::vector<double> set_up_seconds;
};

// The times of a program's passes, in cycles of the clock that timed them. A report has them in
// seconds.
struct ProgramCycles {
  uint64_t begun = 0;     // when the first pass began; 0: no pass has begun
  uint64_t returned = 0;  // when the last pass was over
  // As the fields of the report with the same names.
  uint64_t forward = 0;
  uint64_t backward = 0;
  uint64_t decide = 0;
  uint64_t install = 0;

  void Tell(double cycles_a_second, InBandReport& report) const {
    report.forward_seconds = static_cast<double>(forward) / cycles_a_second;
    report.backward_seconds = static_cast<double>(backward) / cycles_a_second;
    report.decide_seconds = static_cast<double>(decide) / cycles_a_second;
    report.install_seconds = static_cast<double>(install) / cycles_a_second;
    report.seconds = static_cast<double>(returned - begun) / cycles_a_second;
  }
};

}  // namespace bfly::dataplane
