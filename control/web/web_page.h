// SPDX-License-Identifier: Apache-2.0
// The web page of a controller: its server and all that the server needs.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/web/fabric_calls.h"
#include "control/web/fabric_watch.h"
#include "control/web/http_server.h"
#include "control/web/web_door.h"
#include "control/web/web_routes.h"

namespace bfly::control {

// Checks the value of --web: PORT (of 127.0.0.1) or ADDRESS:PORT, a loopback address in numbers;
// port 0 takes a free one.
absl::StatusOr<std::string> WebAddress(absl::string_view given);

inline constexpr char kWebHelp[] =
    "Serve a web page of the fabric at PORT (of 127.0.0.1) or ADDRESS:PORT, a loopback address in "
    "numbers; port 0 takes a free one. Every user of this machine may look at it; the token of "
    "RUN_DIR/web.token lets one fail and restore links";

class WebPage {
 public:
  struct Options {
    std::string address;  // from WebAddress()
    std::string run_directory;
    FabricCalls::Connect viewer;   // connections of the role viewer
    FabricCalls::Connect changer;  // of the role operator
    HttpServer::Options server = {};
    FabricWatch::Options watch = {};
  };
  // The page is served until the object is destroyed. Writes RUN_DIR/web.token and RUN_DIR/web.url,
  // and removes them at the end.
  static absl::StatusOr<std::unique_ptr<WebPage>> Start(const Options& options);
  ~WebPage();

  // Removes the files that the page of a killed controller left in the run directory, so that
  // nobody is led to an address at which nothing is served.
  static void RemoveLeftovers(const std::string& run_directory);

  // "http://127.0.0.1:7390/"
  std::string url() const;
  const std::string& token_path() const { return token_.path(); }

 private:
  WebPage(const Options& options, TokenFile token);
  absl::Status WriteUrl() const;

  const std::string url_path_;
  TokenFile token_;
  FabricCalls viewer_;
  FabricCalls changer_;
  FabricWatch watch_;
  WebRoutes routes_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace bfly::control
