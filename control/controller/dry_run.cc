// SPDX-License-Identifier: Apache-2.0
#include "control/controller/dry_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/agent/route_messages.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

// The calling thread owns all nodes. It takes the steps as stage workers do, part by part, so that
// a run can end between two parts.
class InterruptedCrew final : public Crew {
 public:
  InterruptedCrew(const Network& network, const Interrupt& interrupt,
                  std::chrono::nanoseconds longest)
      : Crew(1, {{0, network.hops() + 1, 0, network.rows()}}),
        interrupt_(interrupt),
        longest_(longest) {}

  // Why the run ended early.
  const absl::Status& status() const { return status_; }

 protected:
  void Do(size_t count, const Call& call) override {
    if (calls_++ % kEvery == 0) Ask();
    if (given_up()) return;
    for (size_t index = 0; index < count; ++index) call(0, index);
  }

 private:
  static constexpr uint64_t kEvery = 16;

  void Ask() {
    if (given_up()) return;
    status_ = interrupt_();
    if (status_.ok() && std::chrono::steady_clock::now() - begin_ > longest_) {
      status_ = absl::DeadlineExceededError(
          absl::StrCat("the dry run has taken ",
                       std::chrono::duration_cast<std::chrono::seconds>(longest_).count(),
                       " s, and may take no longer; ask for fewer packets or fewer steps"));
    }
    if (!status_.ok()) set_given_up(true);
  }

  const Interrupt& interrupt_;
  const std::chrono::nanoseconds longest_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  uint64_t calls_ = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<v1::RouteRecording> RunDry(const v1::RouteRequest& request, const Network& network,
                                          const FaultSet& faults, const Interrupt& interrupt,
                                          std::chrono::nanoseconds longest) {
  if (request.frame_bytes() != 0) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "frame_bytes",
                        absl::StrCat("is ", request.frame_bytes(),
                                     ", and a dry run sends no frames; leave it out"));
  }
  const absl::StatusOr<dataplane::RouteRequest> run =
      ToRouteRequest(request, network.rows(), dataplane::kMaxRecordedCrossings);
  if (!run.ok()) return run.status();
  absl::StatusOr<dataplane::RouteOptions> options = ToRouteOptions(request);
  if (!options.ok()) return options.status();
  InterruptedCrew crew(network, interrupt, longest);
  dataplane::RouteRecording recording;
  options->crew = &crew;
  options->recording = &recording;
  const absl::StatusOr<dataplane::RouteReport> report =
      dataplane::RunRoute(request.program(), network, faults, *run, *options);
  if (!crew.status().ok()) return crew.status();
  if (!report.ok()) return report.status();
  v1::RouteRecording answer = MessageOf(recording);
  *answer.mutable_report() = MessageOf(*report, request.program(), network);
  return answer;
}

}  // namespace bfly::control
