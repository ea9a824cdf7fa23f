// SPDX-License-Identifier: Apache-2.0
// bfly circuit list --watch: prints the standing circuits, then a line for every circuit that comes
// or goes.
#include "control/cli/circuit_watch.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <thread>

#include "control/cli/circuit_text.h"
#include "control/cli/client.h"
#include "control/cli/terminal.h"
#include "control/cli/text.h"

namespace bfly::control {
namespace {

void Print(char sign, const v1::Circuit& circuit) {
  printf("%c %s\n", sign, CircuitLine(circuit).c_str());
}

void Print(const v1::WatchResponse& news, bool first) {
  if (news.reset()) printf("another fabric was loaded\n");
  for (const v1::Circuit& circuit : news.removed()) Print('-', circuit);
  for (const v1::Circuit& circuit : news.added()) Print('+', circuit);
  for (const v1::Circuit& circuit : news.changed()) Print('~', circuit);
  if (news.skipped() > 0) printf("%" PRIu64 " changes were undone meanwhile\n", news.skipped());
  if (first && news.complete()) printf("this is what stands; changes follow\n");
}

// Cancels the call when SIGINT or SIGTERM comes. Returns once the other end of `over` is closed.
void WaitForSignal(SignalReader& signals, int over, grpc::ClientContext& context,
                   std::atomic<bool>& interrupted) {
  pollfd ends[] = {{.fd = signals.descriptor(), .events = POLLIN, .revents = 0},
                   {.fd = over, .events = POLLIN, .revents = 0}};
  for (;;) {
    if (poll(ends, 2, -1) < 0) continue;
    if (ends[1].revents != 0) return;
    const int signal = signals.Next();
    if (signal != SIGINT && signal != SIGTERM) continue;
    interrupted = true;  // set before the call ends because of it
    context.TryCancel();
    return;
  }
}

}  // namespace

absl::Status WatchCircuits(const v1::WatchRequest& request, const Common& common) {
  SignalReader signals;  // before gRPC starts threads
  int over[2];
  if (pipe(over) != 0) return absl::ErrnoToStatus(errno, "pipe");
  auto stub = v1::Circuits::NewStub(Connect(common));
  grpc::ClientContext context;
  std::atomic<bool> interrupted = false;
  std::thread waiter([&] { WaitForSignal(signals, over[0], context, interrupted); });
  auto stream = stub->Watch(&context, request);
  v1::WatchResponse news;
  absl::Status status;
  bool first = true;
  while (status.ok() && stream->Read(&news)) {
    if (common.json) {
      status = PrintJsonLine(news);
    } else {
      Print(news, first);
    }
    if (news.complete()) first = false;
    fflush(stdout);
  }
  const bool asked_to_end = interrupted;
  context.TryCancel();
  const grpc::Status end = stream->Finish();
  close(over[1]);
  waiter.join();
  close(over[0]);
  if (!status.ok() || asked_to_end) return status;
  return Explain(end, common);
}

}  // namespace bfly::control
