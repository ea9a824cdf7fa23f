// SPDX-License-Identifier: Apache-2.0
// Rates from two pictures of a fabric's counters, for everybody who shows them live. Pure.
//
// A rate is what grew between the pictures, a second. A count that fell belongs to a data plane
// that began anew at 0, so all of it has grown since.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bfly/v1/telemetry.pb.h"

namespace bfly::control {

// The packets of all reasons.
uint64_t PacketsIn(const google::protobuf::RepeatedPtrField<v1::DropCount>& drops);

// Between two moments of one clock; 0 if one of them is not known or the second one is not later.
double SecondsBetween(int64_t before_ns, int64_t now_ns);

// The counters of one picture. The next picture is compared with them.
struct Counts {
  struct Link {
    uint32_t stage = 0, row = 0, port = 0;
    uint64_t packets = 0, bytes = 0, drops = 0, busy_ns = 0;
  };
  struct Port {
    uint64_t rx_packets = 0, rx_bytes = 0, rx_missed = 0, tx_packets = 0, tx_bytes = 0;
  };
  int64_t monotonic_ns = 0;
  // A link that is not in the picture had carried nothing.
  bool every_link = false;
  uint64_t injected = 0, delivered = 0, dropped = 0;
  std::vector<Link> links;                                    // by stage, row and port
  std::map<std::pair<std::string, std::string>, Port> ports;  // by data plane and name
};

// With `every_link`, the picture has every link that ever carried something, but for links that it
// says are missing.
Counts CountsOf(const v1::Counters& picture, bool every_link);

// All of them a second, and 0 where nothing is known of the picture before.
struct LinkRate {
  bool is_known = false;
  double packets = 0, bytes = 0, drops = 0;
  double busy = 0;  // the part of the time that the link was sending, a little above 1 at times
};
struct PortRate {
  double rx_packets = 0, rx_bytes = 0, rx_missed = 0, tx_packets = 0, tx_bytes = 0;
};
struct AccountRate {
  double injected = 0, delivered = 0, dropped = 0;
};

class CounterRates {
 public:
  // Both are of one fabric and outlive the object. `before` is null if there is no picture before.
  CounterRates(const v1::Counters& now, const Counts* before);

  // Between the pictures; 0: not known.
  double seconds() const { return seconds_; }
  AccountRate account() const;
  // The rate of a link or a port of the picture `now`. Links are found soonest in the order of
  // stage, row and port.
  LinkRate Of(const v1::LinkCounters& link);
  PortRate Of(const v1::PortCounters& port) const;

 private:
  const v1::Counters& now_;
  const Counts* const before_;
  const double seconds_;
  size_t next_ = 0;  // in before_->links, behind the link that was found last
};

}  // namespace bfly::control
