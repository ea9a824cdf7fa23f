// SPDX-License-Identifier: Apache-2.0
// Captures over data planes that begin when a test has them begin.
#include "control/services/captures_service.h"

#include <gtest/gtest.h>

#include <array>

#include "bfly/v1/capture.grpc.pb.h"
#include "control/controller/capture_plan.h"
#include "control/intent/execute.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using Writer = grpc::ServerWriter<v1::CaptureBatch>;
using CaptureBody = std::function<grpc::Status(grpc::ServerContext&, Writer&)>;

// A data plane whose captures are what the test says.
class CapturingPlane {
 public:
  CapturingPlane(const std::string& directory, const std::string& name, FakeBoard& board,
                 CaptureBody capture)
      : captures_(std::move(capture)),
        host_(FakeBackend(board, name), name),
        agent_(host_, {}, [] {}),
        server_(MustStart(SocketAddress(directory, name), {&agent_, &captures_})) {}

 private:
  class Captures final : public v1::AgentCaptures::Service {
   public:
    explicit Captures(CaptureBody capture) : capture_(std::move(capture)) {}
    grpc::Status Capture(grpc::ServerContext* context, const v1::AgentCaptureRequest*,
                         Writer* writer) override {
      return capture_(*context, *writer);
    }

   private:
    const CaptureBody capture_;
  };

  Captures captures_;
  FabricHost host_;
  AgentService agent_;
  std::unique_ptr<GrpcServer> server_;
};

// A gate that opens once.
class OneGate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(2), [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

bool WriteBegan(Writer& writer, const std::string& plane) {
  v1::CaptureBatch batch;
  batch.set_began(true);
  batch.set_data_plane(plane);
  batch.set_hops(8);
  return writer.Write(batch);
}

bool WriteFrame(Writer& writer, const std::string& plane, uint64_t time_ns) {
  v1::CaptureBatch batch;
  batch.set_data_plane(plane);
  batch.add_frames()->set_time_ns(time_ns);
  return writer.Write(batch);
}

// A link of dp0, and one of dp1.
v1::CaptureRequest LinksOfBothPlanes() {
  v1::CaptureRequest request;
  request.add_links()->set_stage(0);
  request.add_links()->set_stage(4);
  return request;
}

class CapturesOfTwoPlanes : public testing::Test {
 protected:
  // Loads a fabric over two data planes, and serves captures of it.
  absl::Status Serve(CaptureBody of_dp0, CaptureBody of_dp1) {
    dp0_ = std::make_unique<CapturingPlane>(directory_.path(), "dp0", board_, std::move(of_dp0));
    dp1_ = std::make_unique<CapturingPlane>(directory_.path(), "dp1", board_, std::move(of_dp1));
    controller_ = std::make_unique<TestController>(directory_.path());
    if (absl::Status status = Load(*controller_, SmallTopology(/*split=*/true)); !status.ok()) {
      return status;
    }
    Controller& controller = controller_->controller();
    schedules_ = std::make_unique<ScheduleControl>(
        controller.intent(),
        ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::hours(1)});
    desk_ = std::make_unique<CallDesk>(controller.resources());
    service_ = std::make_unique<CapturesService>(controller, *schedules_, AgentCaller(), *desk_);
    const std::string address = SocketAddress(directory_.path(), "captures");
    server_ = MustStart(address, {service_.get()});
    stub_ = v1::Captures::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    return absl::OkStatus();
  }

  // Reads a capture to its end.
  absl::Status Capture(CaptureBody of_dp0, CaptureBody of_dp1) {
    if (absl::Status status = Serve(std::move(of_dp0), std::move(of_dp1)); !status.ok()) {
      return status;
    }
    return Read(LinksOfBothPlanes());
  }
  absl::Status Read(const v1::CaptureRequest& request) {
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stream = stub_->Capture(&context, request);
    for (v1::CaptureBatch batch; stream->Read(&batch);) got_.push_back(batch);
    const absl::Status end = FromGrpc(stream->Finish());
    EXPECT_TRUE(Eventually([&] { return captures() == 0; }));
    return end;
  }
  uint64_t captures() { return controller_->controller().resources().captures.in_use(); }

  TemporaryFolder directory_;
  FakeBoard board_;
  std::unique_ptr<CapturingPlane> dp0_, dp1_;
  std::unique_ptr<TestController> controller_;
  std::unique_ptr<ScheduleControl> schedules_;
  std::unique_ptr<CallDesk> desk_;
  std::unique_ptr<CapturesService> service_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<v1::Captures::Stub> stub_;
  std::vector<v1::CaptureBatch> got_;
};

// 70,000 is 4,464 modulo 65,536.
TEST(NameCircuits, OfALargeNetworkTellTheRowThatWasAskedFor) {
  const TemporaryFolder directory;
  v1::Topology topology = SmallTopology(false, 1 << 17);
  topology.mutable_network()->set_kind(v1::BUTTERFLY);
  topology.mutable_placement(0)->set_stages("0-16");
  auto intent = MakeIntent(topology, directory.path(), {}, {}, 0);
  ASSERT_TRUE(intent.ok()) << intent.status();
  const Outcome circuit = Execute((*intent)->state, {SetUpOrder{70'000, 6, {}}, ""});
  ASSERT_TRUE(circuit.ok()) << circuit.status();
  (*intent)->state.Commit();
  const Arbitration arbitration;
  LoadedIntent loaded(arbitration);
  loaded.Replace(*std::move(intent));
  const auto named = [&loaded](const v1::AgentCaptureRequest& request) {
    v1::CaptureBatch batch;
    batch.add_frames()->set_input(4'464);
    batch.mutable_frames(0)->set_output(6);
    NameCircuits(loaded, request, &batch);
    return std::pair(batch.frames(0).input(), batch.frames(0).circuit());
  };
  v1::AgentCaptureRequest request;
  request.add_paths()->set_input(70'000);
  request.add_paths()->set_input(5);
  EXPECT_EQ(named(request), std::pair(70'000u, circuit->id));
  // Both rows have these low 16 bits.
  v1::AgentCaptureRequest both = request;
  both.add_paths()->set_input(4'464);
  EXPECT_EQ(named(both), std::pair(4'464u, uint64_t{0}));
  // Any row's frames come to a link.
  v1::AgentCaptureRequest with_link = request;
  with_link.add_links();
  EXPECT_EQ(named(with_link), std::pair(4'464u, uint64_t{0}));
}

TEST_F(CapturesOfTwoPlanes, BeginBeforeAnyFrameComes) {
  OneGate frames_are_under_way;
  const absl::Status status = Capture(
      [&](grpc::ServerContext&, Writer& writer) {
        WriteBegan(writer, "dp0");
        for (uint64_t i = 0; i < 10; ++i) WriteFrame(writer, "dp0", i);
        frames_are_under_way.Open();
        return grpc::Status::OK;
      },
      [&](grpc::ServerContext&, Writer& writer) {
        frames_are_under_way.Pass();
        std::this_thread::sleep_for(
            std::chrono::milliseconds(300));  // the controller has read some
        WriteBegan(writer, "dp1");
        WriteFrame(writer, "dp1", 100);
        return grpc::Status::OK;
      });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(got_.size(), 12u);
  EXPECT_TRUE(got_[0].began());
  EXPECT_EQ(got_[0].hops(), 8u);
  std::vector<uint64_t> of_dp0, of_dp1;
  for (size_t i = 1; i < got_.size(); ++i) {
    EXPECT_FALSE(got_[i].began());
    ASSERT_EQ(got_[i].frames_size(), 1);
    (got_[i].data_plane() == "dp0" ? of_dp0 : of_dp1).push_back(got_[i].frames(0).time_ns());
  }
  EXPECT_EQ(of_dp0, (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(of_dp1, std::vector<uint64_t>{100});
}

// The transport holds far less than what these data planes send.
CaptureBody FramesWithoutEnd(const std::string& plane) {
  return [plane](grpc::ServerContext&, Writer& writer) {
    WriteBegan(writer, plane);
    v1::CaptureBatch batch;
    batch.set_data_plane(plane);
    batch.add_frames()->mutable_data()->assign(512 << 10, 'x');
    while (writer.Write(batch)) {
    }
    return grpc::Status::CANCELLED;
  };
}

TEST_F(CapturesOfTwoPlanes, GiveTheirPlaceBackAfterTheirTimeThoughNobodyReads) {
  const absl::Status served = Serve(FramesWithoutEnd("dp0"), FramesWithoutEnd("dp1"));
  ASSERT_TRUE(served.ok()) << served;
  grpc::ClientContext context;
  v1::CaptureRequest request = LinksOfBothPlanes();
  request.set_max_seconds(1);
  const auto stream = stub_->Capture(&context, request);
  ASSERT_TRUE(Eventually([&] { return captures() == 1; }));
  EXPECT_TRUE(Eventually([&] { return captures() == 0; }));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

// Each has a connection of its own: one connection has one window for all of its streams.
TEST_F(CapturesOfTwoPlanes, ThatNobodyReadsMakeRoomForAnotherOnceAllPlacesAreTaken) {
  const absl::Status served = Serve(FramesWithoutEnd("dp0"), FramesWithoutEnd("dp1"));
  ASSERT_TRUE(served.ok()) << served;
  struct Client {
    std::unique_ptr<v1::Captures::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::CaptureBatch>> stream;
  };
  v1::CaptureRequest request = LinksOfBothPlanes();
  request.set_max_seconds(3600);
  const auto begin = [&](Client& client) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    client.stub = v1::Captures::NewStub(grpc::CreateCustomChannel(
        SocketAddress(directory_.path(), "captures"), grpc::InsecureChannelCredentials(), own));
    client.stream = client.stub->Capture(&client.context, request);
  };
  std::array<Client, 8> unread;
  for (Client& client : unread) begin(client);
  ASSERT_TRUE(Eventually([&] { return captures() == 8; }));
  ASSERT_TRUE(Eventually([&] { return captures() < 8; }));
  Client ninth;
  begin(ninth);
  v1::CaptureBatch batch;
  EXPECT_TRUE(ninth.stream->Read(&batch));
  EXPECT_TRUE(batch.began());
  ninth.context.TryCancel();
  ninth.stream->Finish();
  for (Client& client : unread) {
    client.context.TryCancel();
    client.stream->Finish();
  }
}

TEST_F(CapturesOfTwoPlanes, EndWithTheErrorOfAPlaneThatDoesNotBegin) {
  const absl::Status status = Capture(
      [&](grpc::ServerContext& context, Writer& writer) {
        WriteBegan(writer, "dp0");
        while (!context.IsCancelled() && WriteFrame(writer, "dp0", 1)) {
        }
        return grpc::Status::CANCELLED;
      },
      [&](grpc::ServerContext&, Writer&) {
        return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "a worker made no pass");
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.message(), "data plane dp1: a worker made no pass");
  EXPECT_TRUE(got_.empty());
}

TEST_F(CapturesOfTwoPlanes, EndSoonAfterTheirTimeThoughAPlaneIsSilent) {
  const absl::Status served = Serve(
      [](grpc::ServerContext&, Writer& writer) {
        WriteBegan(writer, "dp0");
        WriteFrame(writer, "dp0", 1);
        return grpc::Status::OK;
      },
      [](grpc::ServerContext& context, Writer& writer) {
        WriteBegan(writer, "dp1");
        while (!context.IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return grpc::Status::CANCELLED;
      });
  ASSERT_TRUE(served.ok()) << served;
  v1::CaptureRequest request = LinksOfBothPlanes();
  request.set_max_seconds(1);
  const auto began = std::chrono::steady_clock::now();
  const absl::Status status = Read(request);
  // A second, five of silence, and time for a slow machine.
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(status.message().substr(0, 15), "data plane dp1:") << status;
  ASSERT_EQ(got_.size(), 2u);
  EXPECT_EQ(got_[1].frames_size(), 1);
}

TEST_F(CapturesOfTwoPlanes, DoWithoutAPlaneThatOwnsNothingOfTheRequest) {
  const absl::Status served = Serve(
      [](grpc::ServerContext&, Writer& writer) {
        WriteBegan(writer, "dp0");
        WriteFrame(writer, "dp0", 1);
        return grpc::Status::OK;
      },
      [](grpc::ServerContext&, Writer&) { return grpc::Status::OK; });
  ASSERT_TRUE(served.ok()) << served;
  dp1_.reset();
  v1::CaptureRequest request;
  request.add_links()->set_stage(3);  // the last one of dp0
  absl::Status status = Read(request);
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(got_.size(), 2u);
  EXPECT_EQ(got_[1].frames_size(), 1);
  // The next stage is of dp1.
  v1::CaptureRequest other;
  other.add_links()->set_stage(4);
  status = Read(other);
  EXPECT_EQ(status.message().substr(0, 15), "data plane dp1:") << status;
}

TEST_F(CapturesOfTwoPlanes, EndWithAPlaneThatEndsBeforeItBegins) {
  const absl::Status status = Capture(
      [&](grpc::ServerContext& context, Writer& writer) {
        WriteBegan(writer, "dp0");
        while (!context.IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return grpc::Status::CANCELLED;
      },
      [&](grpc::ServerContext&, Writer&) { return grpc::Status::OK; });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_TRUE(got_.empty());
}

}  // namespace
}  // namespace bfly::control
