// SPDX-License-Identifier: Apache-2.0
// bfly circuit list --watch: prints the standing circuits, then a line for every circuit that comes
// or goes.
#include "control/cli/circuit_watch.h"

#include <cinttypes>
#include <cstdio>

#include "control/cli/circuit_text.h"
#include "control/cli/client.h"
#include "control/cli/signal_cancel.h"
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

}  // namespace

absl::Status WatchCircuits(const v1::WatchRequest& request, const Common& common) {
  grpc::ClientContext context;
  const SignalCancel signals(context);
  if (!signals.status().ok()) return signals.status();
  auto stub = v1::Circuits::NewStub(Connect(common));
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
  const bool asked_to_end = signals.interrupted();
  context.TryCancel();
  const grpc::Status end = stream->Finish();
  if (!status.ok() || asked_to_end) return status;
  return Explain(end, common);
}

}  // namespace bfly::control
