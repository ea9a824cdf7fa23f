// SPDX-License-Identifier: Apache-2.0
// Who may ask the web page's server for what. It listens on loopback only, so the dangers are pages
// of other sites in the user's browser, and other users of the machine.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "control/web/http.h"

namespace bfly::control {

class WebDoor {
 public:
  // Who shows `token` may change the fabric. `address` is a loopback address in numbers, with or
  // without a port, at which the page is served.
  WebDoor(std::string token, const std::string& address);

  // Whether the request shows the token: "Authorization: Bearer TOKEN".
  bool ShowsToken(const HttpRequest& request) const;

  // Returns the answer to a request that must not be carried out. A name in the Host header that
  // does not stand for the page's loopback address means that another site's name leads here (DNS
  // rebinding). A request that changes something comes from this page, as JSON, with the token.
  std::optional<HttpResponse> Refuse(const HttpRequest& request) const;

 private:
  bool IsOfThisMachine(const std::string& host) const;

  const std::string token_;
  const std::string name_;  // in the Host header, beside those of the usual loopback addresses
};

// The file RUN_DIR/web.token, which only its owner may read. It is there while the page is served.
class TokenFile {
 public:
  // Draws a token of 128 bits. INTERNAL: the file cannot be written.
  static absl::StatusOr<TokenFile> Write(const std::string& run_directory);
  ~TokenFile();
  TokenFile(TokenFile&& other) noexcept;
  TokenFile& operator=(TokenFile&&) = delete;

  const std::string& path() const { return path_; }
  const std::string& token() const { return token_; }

 private:
  TokenFile(std::string path, std::string token)
      : path_(std::move(path)), token_(std::move(token)) {}

  std::string path_;  // "" in an object that was moved from
  std::string token_;
};

}  // namespace bfly::control
