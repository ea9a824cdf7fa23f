// SPDX-License-Identifier: Apache-2.0
// Asks bfly-controller for what a scrape needs, within a bounded time.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/exporter/metrics.h"

namespace bfly::control {

class Scraper {
 public:
  // All calls of a scrape together take at most `patience`. `fullest` links are asked for where a
  // network has too many for one answer.
  // `tell` gets the reason when a scrape fails, again only if the reason changes, and "" when one
  // succeeds after that.
  Scraper(const std::string& controller,
          const std::shared_ptr<grpc::ChannelCredentials>& credentials,
          std::chrono::milliseconds patience, uint32_t fullest,
          std::function<void(const std::string& problem)> tell);

  // Scrapes that are asked for at the same time share one, so clients do not multiply the load. It
  // returns after twice the patience at most.
  std::shared_ptr<const Scrape> Get();

 private:
  using Clock = std::chrono::steady_clock;

  Scrape Read();

  const std::chrono::milliseconds patience_;
  const uint32_t fullest_;
  const std::function<void(const std::string& problem)> tell_;
  const std::unique_ptr<v1::Fabric::Stub> fabric_;
  const std::unique_ptr<v1::Telemetry::Stub> telemetry_;
  const std::unique_ptr<v1::Traffic::Stub> traffic_;

  std::mutex mutex_;  // one scrape at a time; guards what follows
  Clock::time_point newest_began_;
  std::shared_ptr<const Scrape> newest_;
  std::shared_ptr<const Scrape> last_up_;  // the newest one that the controller answered
  std::string told_;                       // the problem
};

}  // namespace bfly::control
