// SPDX-License-Identifier: Apache-2.0
// A worker stands still inside a device call while control replaces what the worker uses. Nothing
// may be freed; AddressSanitizer reports it if something is.
#include <gmock/gmock.h>

#include <atomic>
#include <numeric>

#include "dataplane/fabric/loaded_fabric.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/ring_port.h"

namespace bfly::dataplane {
namespace {

// Keeps the worker inside Receive while the test says so.
class StallingInlet final : public Inlet {
 public:
  StallingInlet(std::atomic<bool>& stall, std::atomic<bool>& inside)
      : stall_(stall), inside_(inside) {}
  int Receive(Descriptor*, int, Ledger&) override {
    while (stall_.load()) {
      inside_.store(true);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    inside_.store(false);
    return 0;
  }

 private:
  std::atomic<bool>& stall_;
  std::atomic<bool>& inside_;
};

class FabricStall : public testing::Test {
 protected:
  void SetUp() override {
    FabricConfig config = OneWorker(NetworkKind::kButterfly, 16);
    config.links.base.delay_ns = 1'000'000;
    auto fabric = LoadedFabric::Load(config, [this](const Network&, const RouteTable&, RowRange) {
      return std::make_unique<StallingInlet>(stall_, inside_);
    });
    ASSERT_TRUE(fabric.ok()) << fabric.status();
    fabric_ = *std::move(fabric);
    // So many packets that some are always on links.
    ASSERT_TRUE(fabric_->SetSources(Sources(20'000)).ok());
    WaitUntil(*fabric_, [](const Snapshot& s) { return s.conservation.in_flight > 0; });
  }
  ~FabricStall() override { Resume(); }

  static std::vector<SourceConfig> Sources(double packets_per_second) {
    SourceConfig source;
    source.rows.resize(16);
    std::iota(source.rows.begin(), source.rows.end(), 0);
    source.packets_per_second = packets_per_second;
    source.destination = SourceConfig::Destination::kUniform;
    return {source};
  }
  LinkPlan Delay(double ns) const {
    LinkPlan plan = fabric_->config().links;
    plan.base.delay_ns = ns;
    return plan;
  }
  void Stall() {
    stall_.store(true);
    while (!inside_.load()) std::this_thread::yield();
  }
  void Resume() { stall_.store(false); }
  void ExpectRunning() {
    const uint64_t before = fabric_->summary().conservation.delivered;
    WaitUntil(*fabric_,
              [&](const Snapshot& s) { return s.conservation.delivered > before + 1000; });
    EXPECT_TRUE(fabric_->Unload().ok());
    ExpectConserved(fabric_->snapshot());
  }

  // The device of a port that left is open, because the worker may use it.
  void ExpectOpen(const HostPortConfig& port) {
    const absl::Status again = fabric_->AddPort(port);
    EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(again.message()), testing::HasSubstr("is not closed yet"));
  }
  // It is closed soon: it can be opened again.
  void ExpectClosed(const HostPortConfig& port) {
    absl::Status again;
    WaitUntil(*fabric_, [&](const Snapshot&) { return (again = fabric_->AddPort(port)).ok(); });
    EXPECT_TRUE(again.ok()) << again;
  }

  std::atomic<bool> stall_{false}, inside_{false};
  std::unique_ptr<LoadedFabric> fabric_;
};

constexpr auto kLate = absl::StatusCode::kDeadlineExceeded;

TEST_F(FabricStall, LinksThatAreSetAgainWhileAWorkerStallsAreNotSetYet) {
  Stall();
  EXPECT_EQ(fabric_->SetLinks(Delay(2e6)).code(), kLate);
  EXPECT_EQ(fabric_->SetLinks(Delay(2e6)).code(), kLate) << "the same plan again";
  EXPECT_EQ(fabric_->SetLinks(Delay(3e6)).code(), kLate);
  Resume();
  EXPECT_TRUE(fabric_->SetLinks(Delay(3e6)).ok());
  ExpectRunning();
}

TEST_F(FabricStall, SourcesThatAreReplacedWhileAWorkerStallsStayAsLongAsItUsesThem) {
  Stall();
  EXPECT_EQ(fabric_->SetSources(Sources(1000)).code(), kLate);
  EXPECT_EQ(fabric_->SetSources(Sources(1000)).code(), kLate);
  Resume();
  EXPECT_TRUE(fabric_->SetSources(Sources(20'000)).ok());
  ExpectRunning();
}

TEST_F(FabricStall, APortThatIsRemovedWhileAWorkerStallsIsClosedOnceItGoesOn) {
  RingPort host;
  const HostPortConfig port = host.Config({3});
  ASSERT_TRUE(fabric_->AddPort(port).ok());
  Stall();
  EXPECT_EQ(fabric_->RemovePort(port.name).code(), kLate);
  EXPECT_EQ(fabric_->RemovePort(port.name).code(), absl::StatusCode::kNotFound);
  ExpectOpen(port);
  Resume();
  ExpectClosed(port);
  ExpectRunning();
}

TEST_F(FabricStall, APortThatIsAddedWhileAWorkerStallsIsTakenOutAgain) {
  RingPort host;
  const HostPortConfig port = host.Config({3});
  Stall();
  EXPECT_EQ(fabric_->AddPort(port).code(), kLate);
  ExpectOpen(port);
  Resume();
  ExpectClosed(port);
  ExpectRunning();
}

TEST_F(FabricStall, LatenciesThatAreNoLongerRecordedStayAsLongAsAWorkerUsesThem) {
  ASSERT_TRUE(fabric_->RecordLatency(true).ok());
  Stall();
  EXPECT_TRUE(fabric_->RecordLatency(false).ok());
  EXPECT_TRUE(fabric_->RecordLatency(true).ok());
  Resume();
  EXPECT_TRUE(fabric_->RecordLatency(false).ok());
  ExpectRunning();
}

}  // namespace
}  // namespace bfly::dataplane
