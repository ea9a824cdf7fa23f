// SPDX-License-Identifier: Apache-2.0
#include "control/exporter/scraper.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/exporter/steady_counts.h"

namespace bfly::control {
namespace {

// What one answer of GetCounters may hold.
constexpr uint64_t kMostLinks = 262'144;

std::shared_ptr<grpc::Channel> ChannelTo(
    const std::string& controller, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  // A controller that comes back is found by the next scrape.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return grpc::CreateCustomChannel(controller, credentials, arguments);
}

// One call until the deadline. Returns whether it was answered.
template <class Stub, class Request, class Response>
grpc::Status Ask(Stub* stub,
                 grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                 std::chrono::system_clock::time_point deadline, const Request& request,
                 Response* response) {
  grpc::ClientContext context;
  context.set_deadline(deadline);
  return (stub->*method)(&context, request, response);
}

bool AllReached(const v1::FabricStatus& fabric) {
  return std::none_of(fabric.data_planes().begin(), fabric.data_planes().end(),
                      [](const v1::DataPlaneStatus& plane) {
                        return plane.state() == v1::DataPlaneStatus::UNREACHABLE;
                      });
}

}  // namespace

Scraper::Scraper(const std::string& controller,
                 const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                 std::chrono::milliseconds patience, uint32_t fullest,
                 std::function<void(const std::string& problem)> tell)
    : patience_(patience),
      fullest_(fullest),
      tell_(std::move(tell)),
      fabric_(v1::Fabric::NewStub(ChannelTo(controller, credentials))),
      telemetry_(v1::Telemetry::NewStub(ChannelTo(controller, credentials))),
      traffic_(v1::Traffic::NewStub(ChannelTo(controller, credentials))) {}

std::shared_ptr<const Scrape> Scraper::Get() {
  const Clock::time_point asked = Clock::now();
  const std::lock_guard lock(mutex_);
  if (newest_ != nullptr && newest_began_ >= asked) return newest_;
  newest_began_ = Clock::now();
  Scrape scrape = Read();
  if (scrape.up && last_up_ != nullptr) KeepFromFalling(*last_up_, scrape);
  scrape.seconds = std::chrono::duration<double>(Clock::now() - newest_began_).count();
  if (scrape.problem != told_) tell_(told_ = scrape.problem);
  newest_ = std::make_shared<const Scrape>(std::move(scrape));
  if (newest_->up) last_up_ = newest_;
  return newest_;
}

Scrape Scraper::Read() {
  const auto deadline = std::chrono::system_clock::now() + patience_;
  Scrape scrape;
  v1::StatusResponse status;
  const auto failed = [&scrape](const char* call, const grpc::Status& why) {
    scrape.problem = absl::StrCat(call, ": ", why.error_message());
    return scrape;
  };
  const auto ask_status = [&] {
    return Ask(fabric_.get(), &v1::Fabric::Stub::Status, deadline, v1::StatusRequest(), &status);
  };
  if (const grpc::Status asked = ask_status(); !asked.ok()) return failed("Fabric.Status", asked);
  if (status.status().loaded()) {
    const v1::FabricStatus& fabric = status.status();
    scrape.every_link =
        uint64_t{fabric.rows()} * fabric.stages() * std::max(1u, fabric.ports()) <= kMostLinks;
    v1::GetCountersRequest request;
    request.mutable_filter()->set_nonzero(true);
    if (!scrape.every_link) request.mutable_filter()->set_top(fullest_);
    const grpc::Status counted = Ask(telemetry_.get(), &v1::Telemetry::Stub::GetCounters, deadline,
                                     request, &scrape.counters);
    // A fabric may be unloaded between two calls: the status below then says so.
    if (!counted.ok() && counted.error_code() != grpc::StatusCode::FAILED_PRECONDITION)
      return failed("Telemetry.GetCounters", counted);
    v1::ListTrafficResponse traffic;
    // Latencies come from all data planes or not at all. The status below needs some time too.
    const auto now = std::chrono::system_clock::now();
    if (counted.ok() && AllReached(fabric) &&
        Ask(traffic_.get(), &v1::Traffic::Stub::List, now + (deadline - now) / 2,
            v1::ListTrafficRequest(), &traffic)
            .ok()) {
      scrape.latency = std::move(*traffic.mutable_latency());
    }
    // Asked for after the counters: a data plane that was not there for them is not there now.
    if (const grpc::Status asked = ask_status(); !asked.ok()) return failed("Fabric.Status", asked);
    if (!counted.ok()) status.mutable_status()->set_loaded(false);
  }
  scrape.fabric = std::move(*status.mutable_status());
  scrape.up = true;
  return scrape;
}

}  // namespace bfly::control
