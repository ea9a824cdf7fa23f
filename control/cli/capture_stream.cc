// SPDX-License-Identifier: Apache-2.0
#include "control/cli/capture_stream.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

#include "bfly/v1/capture.grpc.pb.h"
#include "control/cli/client.h"

namespace bfly::control {
namespace {

// Data planes look for copies every 5 ms. After this time those from before a signal are here.
constexpr int kLastCopiesMs = 500;

// Cancels the call some time after SIGINT, SIGTERM or SIGHUP, at once after a second one. Returns
// once the other end of `over` is closed.
void CancelBySignal(SignalReader& signals, int over, grpc::ClientContext& context,
                    std::atomic<bool>& interrupted) {
  pollfd ends[] = {{.fd = signals.descriptor(), .events = POLLIN, .revents = 0},
                   {.fd = over, .events = POLLIN, .revents = 0}};
  for (;;) {
    if (poll(ends, 2, -1) < 0) continue;
    if (ends[1].revents != 0) return;
    if (!Interrupted(signals)) continue;
    poll(ends, 2, kLastCopiesMs);
    interrupted = true;  // set before the call ends because of it
    context.TryCancel();
    return;
  }
}

}  // namespace

absl::Status ReadCapture(const v1::CaptureRequest& request, const Common& common,
                         SignalReader& signals, const std::function<bool(v1::CaptureBatch&)>& take,
                         bool* interrupted) {
  int over[2];
  if (pipe(over) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const auto stub = v1::Captures::NewStub(Connect(common));
  grpc::ClientContext context;
  std::atomic<bool> signalled = false;
  bool ended = false;
  std::thread waiter([&] { CancelBySignal(signals, over[0], context, signalled); });
  const auto stream = stub->Capture(&context, request);
  v1::CaptureBatch batch;
  while (!ended && !signalled && stream->Read(&batch)) {
    if (!take(batch)) ended = true;
  }
  if (ended) context.TryCancel();
  const grpc::Status end = stream->Finish();
  close(over[1]);
  waiter.join();
  close(over[0]);
  ended = ended || signalled;
  if (interrupted != nullptr) *interrupted = signalled;
  return ended ? absl::OkStatus() : Explain(end, common);
}

}  // namespace bfly::control
