// SPDX-License-Identifier: Apache-2.0
// The stage workers of one loaded fabric set circuits up by themselves, without asking a controller
// (docs/in-band.md). Through this interface control starts a program and reads its result.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/programs/parameters.h"
#include "dataplane/programs/report.h"

namespace bfly::dataplane {

// Thread-safe. One program runs at a time, and a second caller waits.
class InBand {
 public:
  virtual ~InBand() = default;

  // Has the program choose a path for each request, count the path on its links and put it into the
  // route table. If a link has no room for a path, nothing is changed, and the report's refusal
  // names the first refused request and the link. Every error also means that nothing was changed:
  // InvalidArgument: an entry such as "inputs[2]" or "outputs[2]" is out of range or used twice, or
  // a parameter is out of range. FailedPrecondition: a circuit holds an input or output, the
  // network is not a two-fold butterfly, or the fabric is unloaded. DeadlineExceeded: the workers
  // moved no message for five seconds. Unavailable: other data planes run some of the stages, and a
  // trunk lost messages, or no messages came back. Links may still count some paths; the next
  // program first has them forget these.
  virtual absl::StatusOr<InBandReport> SetUp(const std::vector<InBandRequest>& requests,
                                             const ProgramParameters& program) = 0;
  // Sets up reads of the data server on a randomly-wired butterfly, where only links and disks have
  // thresholds and several users may share an output. Either every read has two copies, or every
  // read has one copy and there is nothing to choose. InvalidArgument names "users[2]", "disks[2]"
  // or "second_disks[2]", or a parameter. The other errors are SetUp's.
  virtual absl::StatusOr<InBandReport> SetUpReads(const std::vector<InBandRead>& reads,
                                                  const ProgramParameters& program) = 0;

  // Releases the circuits and reports their paths. NotFound names the input that has no circuit.
  virtual absl::StatusOr<InBandReport> Release(const std::vector<Row>& inputs) = 0;

  // Sends a message along each candidate path of the requests, there and back, and nothing else:
  // this is the cost of a round's messages alone. FailedPrecondition on a network that is not a
  // two-fold butterfly.
  struct WalkSeconds {
    double forward = 0;
    double backward = 0;
  };
  virtual absl::StatusOr<WalkSeconds> Walk(const std::vector<InBandRequest>& requests) = 0;

  // For each link index: how many circuits its stage has counted on the link; 0 for links of other
  // data planes. A circuit that was installed or removed by other means is counted from the next
  // program on.
  virtual std::vector<uint32_t> circuits_on_links() const = 0;
  // For each output: how many circuits end there, as the output nodes of a data server have counted
  // them. Empty on other networks, and if another data plane has the outputs.
  virtual std::vector<uint32_t> circuits_at_disks() const = 0;
};

}  // namespace bfly::dataplane
