// SPDX-License-Identifier: Apache-2.0
// What the page's server answers: the files of the page, the figures as JSON, and changes.
#pragma once

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "control/web/fabric_calls.h"
#include "control/web/fabric_watch.h"
#include "control/web/http.h"
#include "control/web/web_door.h"

namespace bfly::control {

class WebRoutes {
 public:
  // Links in an answer of /api/links, and circuits in one of /api/circuits.
  static constexpr size_t kMostLinks = 8192;
  static constexpr uint32_t kMostCircuits = 200;
  static constexpr uint32_t kMostHottest = 100;
  // Programs that are recorded at the same time.
  static constexpr int kMostDryRuns = 2;

  // `viewer` calls as somebody who may look, `changer` as the operator. All must outlive it.
  WebRoutes(WebDoor door, FabricWatch& watch, FabricCalls& viewer, FabricCalls& changer)
      : door_(std::move(door)), watch_(watch), viewer_(viewer), changer_(changer) {}

  HttpResponse Answer(const HttpRequest& request);

 private:
  absl::StatusOr<std::string> Get(const HttpRequest& request);
  absl::StatusOr<std::string> Load(const HttpRequest& request);
  absl::StatusOr<std::string> Links(const HttpRequest& request);
  // Links of a network that is too large for samples of every link.
  absl::StatusOr<std::string> LinksOfLarge(const FabricSample& sample, const RowWindow& window);
  absl::StatusOr<std::string> Circuits(const HttpRequest& request);
  // Where the packets of a program are, step by step.
  absl::StatusOr<std::string> Program(const HttpRequest& request);
  absl::StatusOr<std::string> Role(const HttpRequest& request) const;
  absl::Status Post(const HttpRequest& request);

  const WebDoor door_;
  FabricWatch& watch_;
  FabricCalls& viewer_;
  FabricCalls& changer_;
  std::atomic<int> dry_runs_ = 0;  // under way
};

}  // namespace bfly::control
