// SPDX-License-Identifier: Apache-2.0
// Requests and answers of HTTP as plain values, so that the routes of the page need no socket.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace bfly::control {

struct HttpRequest {
  std::string method;                        // "GET"
  std::string path;                          // "/api/load", without the query
  std::map<std::string, std::string> query;  // decoded; the first of equal names counts
  // Headers, "" if the client sent none.
  std::string host;
  std::string origin;
  std::string authorization;
  std::string content_type;
  std::string body;
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
};

// Called by several threads at the same time.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// Reads the path and the query of a target such as "/api/load?bands=32" into `request`. Returns
// false if the target is not a path, or an escape in it is wrong.
bool ReadTarget(const std::string& target, HttpRequest* request);

// {"error": message} with the given status.
HttpResponse HttpError(unsigned status, const std::string& message);

}  // namespace bfly::control
