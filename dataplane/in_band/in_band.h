// SPDX-License-Identifier: Apache-2.0
// Circuits set up by the stage workers of one loaded fabric themselves, with no controller on the
// way (docs/in-band.md). This is what control sees of it: it starts a program and reads what that
// found.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/programs/parameters.h"
#include "dataplane/programs/report.h"

namespace bfly::dataplane {

// Thread-safe; one program at a time, a second caller waits.
class InBand {
 public:
  virtual ~InBand() = default;

  // Has the program choose a path for each request, count it on its links and put it into the route
  // table. InvalidArgument names "inputs[2]" or "outputs[2]" that is out of range or used twice, or
  // a parameter out of range; FailedPrecondition one that a circuit holds, or that the network is
  // not a two-fold butterfly, or that the fabric is unloaded: nothing was changed. Nor was it where
  // a link has no room for a path: the report's refusal names it, for the first request in order.
  // DeadlineExceeded: the workers moved no message for five seconds. Unavailable: other data planes
  // run some of the stages, and messages were lost on a trunk or none came back; nothing is changed
  // here, and what links still count of it is forgotten before the next program.
  virtual absl::StatusOr<InBandReport> SetUp(const std::vector<InBandRequest>& requests,
                                             const ProgramParameters& program) = 0;
  // The same for reads of the data server on a randomly-wired butterfly, where only links and disks
  // have thresholds and outputs may be shared. All of them in two copies, or all in one: then there
  // is nothing to choose. InvalidArgument names "users[2]", "disks[2]" or "second_disks[2]", or a
  // parameter.
  virtual absl::StatusOr<InBandReport> SetUpReads(const std::vector<InBandRead>& reads,
                                                  const ProgramParameters& program) = 0;

  // NotFound names the input that has no circuit. The report has the paths released.
  virtual absl::StatusOr<InBandReport> Release(const std::vector<Row>& inputs) = 0;

  // All candidate paths of the requests, there and back and nothing else: what a round's messages
  // cost by themselves. FailedPrecondition on a network that is not a two-fold butterfly.
  struct WalkSeconds {
    double forward = 0;
    double backward = 0;
  };
  virtual absl::StatusOr<WalkSeconds> Walk(const std::vector<InBandRequest>& requests) = 0;

  // Circuits on each link as its stage has counted them, by link index; 0 on links of other data
  // planes. What was installed or removed by other means is in it from the next program on.
  virtual std::vector<uint32_t> circuits_on_links() const = 0;
  // Those that end at each output, as the output nodes of a data server have counted them; empty on
  // other networks, and where another data plane has the outputs.
  virtual std::vector<uint32_t> circuits_at_disks() const = 0;
};

}  // namespace bfly::dataplane
