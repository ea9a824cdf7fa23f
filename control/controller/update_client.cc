// SPDX-License-Identifier: Apache-2.0
#include "control/controller/update_client.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "control/server/address.h"

namespace bfly::control {

namespace {

// Returns false if there is nothing to receive by the deadline.
bool WaitForAnswer(const PacketSocket& socket, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - Deadline::clock::now());
    if (left.count() <= 0) return false;
    pollfd answer = {.fd = socket.fd(), .events = POLLIN, .revents = 0};
    const int ready = poll(&answer, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // Receive says what is wrong.
  }
}

}  // namespace

UpdateClient::UpdateClient(const std::string& agent_address, std::chrono::milliseconds patience)
    : path_(UpdateSocketPath(agent_address)), patience_(patience) {}

std::optional<absl::StatusOr<v1::AgentUpdateResponse>> UpdateClient::Update(
    const v1::AgentUpdateRequest& request, Deadline deadline) {
  const size_t length = request.ByteSizeLong();
  // An update without a byte changes nothing, and nobody could tell an empty packet from the end.
  if (path_.empty() || length == 0 || length > PacketSocket::kMaxMessage) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!request.SerializeToString(&message_) || !Send()) return std::nullopt;
  absl::StatusOr<v1::AgentUpdateResponse> response = Receive(deadline);
  // The next update must not take a late answer for its own.
  if (absl::IsUnavailable(response.status()) || absl::IsDeadlineExceeded(response.status())) {
    socket_.reset();
  }
  return response;
}

bool UpdateClient::Send() {
  if (socket_.has_value() && socket_->Send(message_).ok()) return true;
  // This is the first update, or the data plane was started anew.
  socket_.reset();
  absl::StatusOr<PacketSocket> connected = PacketSocket::Connect(path_, patience_);
  if (!connected.ok() || !connected->Send(message_).ok()) return false;
  socket_ = *std::move(connected);
  if (buffer_ == nullptr) buffer_ = std::make_unique<char[]>(PacketSocket::kMaxMessage);
  return true;
}

absl::StatusOr<v1::AgentUpdateResponse> UpdateClient::Receive(Deadline deadline) {
  // Most updates have no deadline: the patience of the socket bounds them without a second system
  // call.
  if (deadline != kNoDeadline &&
      !WaitForAnswer(*socket_, std::min(deadline, Deadline::clock::now() + patience_))) {
    return absl::DeadlineExceededError(absl::StrCat(path_, ": no answer came in time"));
  }
  const absl::StatusOr<absl::string_view> message =
      socket_->Receive({buffer_.get(), PacketSocket::kMaxMessage});
  if (!message.ok()) {
    return absl::Status(message.status().code(),
                        absl::StrCat(path_, ": ", message.status().message()));
  }
  v1::AgentUpdateResult result;
  if (!result.ParseFromArray(message->data(), static_cast<int>(message->size()))) {
    return absl::UnavailableError(absl::StrCat(path_, ": the answer is not an AgentUpdateResult"));
  }
  if (result.code() != 0) {
    return absl::Status(static_cast<absl::StatusCode>(result.code()), result.message());
  }
  return result.response();
}

}  // namespace bfly::control
