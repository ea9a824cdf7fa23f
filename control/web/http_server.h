// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server for a few clients of this machine. Every connection, request and wait has a
// limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/web/http.h"

namespace bfly::control {

class HttpServer {
 public:
  struct Options {
    int threads = 4;
    // Further connections are closed at once.
    size_t max_connections = 64;
    uint32_t max_header_bytes = 8 << 10;
    uint64_t max_body_bytes = 4 << 10;
    // How long a connection may take until its next request is there, and until it has taken the
    // answer.
    std::chrono::milliseconds patience{15'000};
  };
  // `address` is "127.0.0.1:7390" or "[::1]:7390"; port 0 takes a free one. UNAVAILABLE: nobody can
  // listen there.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                           const Options& options,
                                                           HttpHandler handler);
  // Closes every connection; waits for handlers that run.
  ~HttpServer();

  // The address that clients connect to, with the port that the kernel gave.
  const std::string& address() const { return address_; }

 private:
  class Loop;
  HttpServer(std::unique_ptr<Loop> loop, std::string address);

  std::unique_ptr<Loop> loop_;
  std::string address_;
};

}  // namespace bfly::control
