// SPDX-License-Identifier: Apache-2.0
#include "control/cli/client.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/access/tls.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

// Returns "\n  field: what is wrong with it" for every field of the error that its message does not
// name already.
std::string FieldLines(const absl::Status& status) {
  std::string lines;
  for (const FieldError& error : FieldErrorsOf(status)) {
    const std::string line =
        error.field.empty() ? error.description : error.field + ": " + error.description;
    if (!absl::StrContains(status.message(), line)) absl::StrAppend(&lines, "\n  ", line);
  }
  return lines;
}

// gRPC's own words for "no connection". A controller that reports an unreachable data plane may
// quote these words, but begins with its own.
bool IsNobodyThere(absl::string_view message) {
  return absl::StartsWith(message, "failed to connect") ||
         absl::StartsWith(message, "connections to all backends");
}

std::string Unreachable(const Common& common, const grpc::Status& answer) {
  const std::string address = common.controller_address();
  const std::string path = absl::StartsWith(address, "unix:") ? address.substr(5) : "";
  if (!path.empty() && access(path.c_str(), F_OK) == 0 && access(path.c_str(), W_OK) != 0)
    return absl::StrCat("may not use ", path, ": run it as root (sudo)");
  if (!path.empty() && access(path.c_str(), F_OK) != 0)
    return absl::StrCat("no fabric runs here: there is no ", path,
                        "\n  start one with `bfly up FILE`, or name another with --run-dir or "
                        "--controller");
  std::string advice;
  if (!path.empty()) {
    absl::StrAppend(&advice, "\n  if it ended while data planes run, a new one takes them over: ",
                    "`bfly-controller --run-dir ",
                    std::filesystem::path(path).parent_path().string(), "`");
  }
  if (WasTurnedAway(answer)) {
    absl::StrAppend(&advice,
                    path.empty()
                        ? "\n  if it closed the connection: it does so where a client shows no "
                          "certificate that its authority signed, or one that has expired; see "
                          "--tls-cert"
                        : "\n  if it closed the connection: it does so where a user has no role; "
                          "bfly-controller gives roles with --viewer and --operator");
  }
  return absl::StrCat("no bfly-controller answers at ", address, " (", answer.error_message(), ")",
                      advice);
}

}  // namespace

std::shared_ptr<grpc::Channel> Connect(const Common& common) {
  // Between two calls gRPC looks for a new connection only every five seconds. The first channel
  // reads the variable.
  static const int set = setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "50", 0);
  (void)set;
  grpc::ChannelArguments arguments;
  // A description of a million links is one message of tens of megabytes.
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  // A stream may have so much under way that the answers are not read as fast as they come.
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
  // A call that was turned away is tried again sooner than gRPC would connect by itself.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kTryAgainEvery.count());
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kTryAgainEvery.count());
  // Without credentials every call of the channel fails, and Explain says why there are none.
  const auto credentials = CredentialsFor(common.controller_address(), common.tls);
  return grpc::CreateCustomChannel(common.controller_address(),
                                   credentials.ok() ? *credentials : nullptr, arguments);
}

bool WasTurnedAway(const grpc::Status& answer) {
  const std::string& why = answer.error_message();
  return answer.error_code() == grpc::StatusCode::UNAVAILABLE && IsNobodyThere(why) &&
         (absl::StrContains(why, "Broken pipe") || absl::StrContains(why, "Connection reset") ||
          absl::StrContains(why, "Socket closed"));
}

absl::Status Explain(const grpc::Status& answer, const Common& common) {
  if (answer.ok()) return absl::OkStatus();
  const auto credentials = CredentialsFor(common.controller_address(), common.tls);
  if (!credentials.ok()) return credentials.status();
  const absl::Status status = FromGrpc(answer);
  const std::string lines = FieldLines(status);
  if (absl::IsUnavailable(status) && lines.empty() && IsNobodyThere(status.message()))
    return absl::UnavailableError(Unreachable(common, answer));
  // gRPC's own words, if the time of the call was over here. Other messages are the controller's.
  if (absl::IsDeadlineExceeded(status) && status.message() == "Deadline Exceeded")
    return absl::DeadlineExceededError(absl::StrCat(
        "bfly-controller at ", common.controller_address(), " did not answer in time"));
  return WithAdvice(absl::Status(status.code(), absl::StrCat(status.message(), lines)));
}

absl::Status WithAdvice(const absl::Status& status) {
  // A caller without the role for a call is refused with the same code.
  if (!absl::IsPermissionDenied(status) || !absl::StrContains(status.message(), "election_id")) {
    return status;
  }
  return absl::PermissionDeniedError(
      absl::StrCat(status.message(),
                   "\n  a controller holds the primary role; `bfly status` shows its election id, "
                   "and --election-id acts in its name"));
}

}  // namespace bfly::control
