// SPDX-License-Identifier: Apache-2.0
#include "control/web/web_page.h"

#include <unistd.h>

#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/server/address.h"

namespace bfly::control {

constexpr char kUrlFile[] = "/web.url";

absl::StatusOr<std::string> WebAddress(absl::string_view given) {
  // TcpAddress takes no port 0, which the page may well be served at.
  std::string text(given);
  const bool any_port = text == "0" || absl::EndsWith(text, ":0");
  if (any_port) text.back() = '1';
  absl::StatusOr<std::string> address = TcpAddress(text);
  if (!address.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("web: \"", given,
                     "\" is not a PORT, nor a loopback address in numbers with one, such as "
                     "127.0.0.1:7390 or [::1]:7390"));
  if (!IsLoopback(*address))
    return absl::InvalidArgumentError(
        absl::StrCat("web: other machines can reach ", given,
                     ", and the page is not encrypted; use 127.0.0.1, and a tunnel from other "
                     "machines: ssh -L 7390:127.0.0.1:7390 THIS_MACHINE"));
  if (any_port) address->back() = '0';
  return address;
}

void WebPage::RemoveLeftovers(const std::string& run_directory) {
  for (const char* const file : {kUrlFile, "/web.token"}) unlink((run_directory + file).c_str());
}

WebPage::WebPage(const Options& options, TokenFile token)
    : url_path_(options.run_directory + kUrlFile),
      token_(std::move(token)),
      viewer_(options.viewer),
      changer_(options.changer),
      watch_(viewer_, options.watch),
      routes_(WebDoor(token_.token(), options.address), watch_, viewer_, changer_) {}

absl::StatusOr<std::unique_ptr<WebPage>> WebPage::Start(const Options& options) {
  absl::StatusOr<TokenFile> token = TokenFile::Write(options.run_directory);
  if (!token.ok()) return token.status();
  std::unique_ptr<WebPage> page(new WebPage(options, *std::move(token)));
  auto server = HttpServer::Start(
      options.address, options.server,
      [routes = &page->routes_](const HttpRequest& request) { return routes->Answer(request); });
  if (!server.ok()) return server.status();
  page->server_ = *std::move(server);
  if (absl::Status status = page->WriteUrl(); !status.ok()) return status;
  return page;
}

WebPage::~WebPage() { unlink(url_path_.c_str()); }

absl::Status WebPage::WriteUrl() const {
  unlink(url_path_.c_str());
  std::ofstream out(url_path_);
  out << url() << "\n" << std::flush;
  if (out) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write ", url_path_));
}

std::string WebPage::url() const { return absl::StrCat("http://", server_->address(), "/"); }

}  // namespace bfly::control
