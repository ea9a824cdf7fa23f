// SPDX-License-Identifier: Apache-2.0
// bfly counters and bfly top beside controllers that lose data planes or answer nothing.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "control/cli/top_reader.h"
#include "control/cli/verb.h"
#include "control/cli/watch.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Serves at the Unix socket of a run directory of its own.
class CountersServer {
 public:
  explicit CountersServer(std::vector<grpc::Service*> services) {
    common_.run_dir = folder_.path();
    grpc::ServerBuilder builder;
    builder.AddListeningPort(common_.own_socket(), grpc::InsecureServerCredentials());
    for (grpc::Service* const service : services) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
  }
  const Common& common() const { return common_; }

 private:
  TemporaryFolder folder_;
  Common common_;
  std::unique_ptr<grpc::Server> server_;
};

// Parses the words behind `bfly` and runs the verb. Returns what it prints.
std::string PrintedBy(const CountersServer& server, std::vector<std::string> words) {
  Invocation invocation;
  const std::unique_ptr<CLI::App> parser = BuildParser(invocation);
  words.insert(words.end(), {"--run-dir", server.common().run_dir});
  std::reverse(words.begin(), words.end());
  parser->parse(words);
  testing::internal::CaptureStdout();
  const absl::Status status = invocation.action();
  std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(status.ok()) << status;
  return printed;
}

// Three pages of a link each. Data plane b is gone when the second page is read and back for the
// third, which misses data plane c.
class LosingTelemetry final : public v1::Telemetry::Service {
  grpc::Status GetCounters(grpc::ServerContext*, const v1::GetCountersRequest* request,
                           v1::Counters* page) override {
    const int number = request->page_token().empty() ? 0 : std::stoi(request->page_token());
    page->add_links()->set_row(static_cast<uint32_t>(number));
    page->add_problems("a is short of memory");
    for (const auto& [missing, plane] : {std::pair(1, "b"), std::pair(2, "c")}) {
      if (number != missing) continue;
      page->set_links_missing(true);
      page->add_planes_missing(plane);
      page->add_problems(std::string(plane) + " is gone");
    }
    if (number < 2) page->set_next_page_token(std::to_string(number + 1));
    return grpc::Status::OK;
  }
};

TEST(Counters, SayWhichDataPlanesLaterPagesMissed) {
  LosingTelemetry telemetry;
  const CountersServer server({&telemetry});
  EXPECT_THAT(PrintedBy(server, {"counters"}),
              HasSubstr("\na is short of memory\nb is gone\nc is gone\nconservation: "));
  const auto told = nlohmann::json::parse(PrintedBy(server, {"counters", "--json"}));
  EXPECT_EQ(told["links"].size(), 3u);
  EXPECT_EQ(told["links_missing"], true);
  EXPECT_THAT(told["planes_missing"], ElementsAre("b", "c"));
  EXPECT_THAT(told["problems"], ElementsAre("a is short of memory", "b is gone", "c is gone"));
}

TEST(Counters, WatchingHasOneOrderOfLinks) {
  Invocation invocation;
  const std::unique_ptr<CLI::App> parser = BuildParser(invocation);
  EXPECT_THROW(parser->parse("counters --watch --top 5 --by drops"), CLI::ExcludesError);
  EXPECT_NO_THROW(parser->parse("counters --watch --top 5"));
  EXPECT_NO_THROW(parser->parse("counters --top 5 --by drops"));
}

// Returns once the client gives the call up.
void WaitForTheEnd(const grpc::ServerContext& context, std::atomic<bool>& asked) {
  asked = true;
  while (!context.IsCancelled()) std::this_thread::sleep_for(milliseconds(1));
}

class SilentTelemetry final : public v1::Telemetry::Service {
 public:
  std::atomic<bool> asked = false;

 private:
  grpc::Status GetCounters(grpc::ServerContext* context, const v1::GetCountersRequest*,
                           v1::Counters*) override {
    WaitForTheEnd(*context, asked);
    return grpc::Status::CANCELLED;
  }
};

// A fabric of more links than the controller pushes pictures of; or no answer at all.
class LargeFabric final : public v1::Fabric::Service {
 public:
  explicit LargeFabric(bool silent) : silent_(silent) {}
  std::atomic<bool> asked = false;

 private:
  grpc::Status Status(grpc::ServerContext* context, const v1::StatusRequest*,
                      v1::StatusResponse* response) override {
    if (silent_) WaitForTheEnd(*context, asked);
    v1::FabricStatus& status = *response->mutable_status();
    status.set_loaded(true);
    status.set_rows(1 << 16);
    status.set_stages(16);
    status.set_ports(2);
    return grpc::Status::OK;
  }

  const bool silent_;
};

milliseconds Since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

TEST(TopThread, EndsWhileTheControllerIsSilent) {
  LargeFabric fabric(/*silent=*/true);
  const CountersServer server({&fabric});
  TopReader reader({}, server.common());
  auto samples = std::make_unique<TopThread>(reader, milliseconds(10));
  while (!fabric.asked) std::this_thread::sleep_for(milliseconds(1));
  const auto begin = std::chrono::steady_clock::now();
  samples = nullptr;
  // A silent controller is waited for 5 s otherwise.
  EXPECT_LT(Since(begin), milliseconds(2500));
  EXPECT_EQ(reader.Next().status().code(), absl::StatusCode::kCancelled);
}

TEST(Watch, EndsWhileTheControllerIsSilent) {
  LargeFabric fabric(/*silent=*/false);
  SilentTelemetry telemetry;
  const CountersServer server({&fabric, &telemetry});
  WatchOptions options;
  options.seconds = 5;
  const auto begin = std::chrono::steady_clock::now();
  // What goes to a file is not drawn on a terminal.
  testing::internal::CaptureStdout();
  EXPECT_TRUE(Watch(options, server.common()).ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_TRUE(telemetry.asked);
  // A silent controller is waited for 60 s otherwise.
  EXPECT_LT(Since(begin), milliseconds(20'000));
}

}  // namespace
}  // namespace bfly::control
