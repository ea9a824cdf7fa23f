// SPDX-License-Identifier: Apache-2.0
// What a load port shares with the device under test: memory, and a socket on which the two agree
// about the memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::dataplane {

// Memory of zeros that other processes can map.
class SharedMemory {
 public:
  static absl::StatusOr<std::unique_ptr<SharedMemory>> Make(size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* at(size_t offset) const { return base_ + offset; }
  size_t bytes() const { return bytes_; }
  int fd() const { return fd_; }

 private:
  SharedMemory() = default;

  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  int fd_ = -1;
};

// A client's end of a socket in the file system.
class PeerSocket {
 public:
  // `type` is that of socket(2). It tries until a process listens.
  static absl::StatusOr<std::unique_ptr<PeerSocket>> Connect(const std::string& path, int type,
                                                             double seconds);
  ~PeerSocket();
  PeerSocket(const PeerSocket&) = delete;
  PeerSocket& operator=(const PeerSocket&) = delete;

  // Sends a message, and with it the descriptor `with` unless that is negative.
  absl::Status Send(const void* message, size_t bytes, int with = -1);
  // Unavailable: no message of that length came in time.
  absl::Status Receive(void* message, size_t bytes);

 private:
  PeerSocket(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  const int fd_;
  const std::string path_;
};

}  // namespace bfly::dataplane
