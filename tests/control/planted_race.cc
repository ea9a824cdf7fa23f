// SPDX-License-Identifier: Apache-2.0
// A gRPC handler with a data race in it, for tests/control/planted_race_test.py: ThreadSanitizer,
// with the suppressions of tests/tsan.supp, must report it.
//
// Two handlers must be inside at the same time. If one thread served all calls, one after the
// other, as happens on a busy machine, there would be no race.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "bfly/v1/fabric.grpc.pb.h"

namespace {

class RacyFabric final : public bfly::v1::Fabric::Service {
 public:
  grpc::Status Status(grpc::ServerContext*, const bfly::v1::StatusRequest*,
                      bfly::v1::StatusResponse*) override {
    MeetAnother();
    CountPlanted();
    return grpc::Status::OK;
  }
  uint64_t count() const { return count_; }

 private:
  // The first two calls wait for each other. Relaxed: they may not order what the threads do next.
  void MeetAnother() {
    arrived_.fetch_add(1, std::memory_order_relaxed);
    while (arrived_.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
  }
  // The name is what the test looks for in the report.
  __attribute__((noinline)) void CountPlanted() {
    for (int i = 0; i < 1000; ++i) ++count_;
  }
  std::atomic<int> arrived_ = 0;
  uint64_t count_ = 0;  // written by every handler thread, without a lock: that is the race
};

void CallStatus(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  const auto stub = bfly::v1::Fabric::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  for (int call = 0; call < 100; ++call) {
    grpc::ClientContext context;
    bfly::v1::StatusResponse response;
    const grpc::Status status = stub->Status(&context, bfly::v1::StatusRequest(), &response);
    if (!status.ok()) std::printf("%s\n", status.error_message().c_str());
  }
}

}  // namespace

// The only argument is the path of a socket.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string address = std::string("unix:") + argv[1];
  RacyFabric racy;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&racy);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 2;
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) clients.emplace_back(CallStatus, address);
  for (std::thread& client : clients) client.join();
  server->Shutdown();
  std::printf("counted %lu\n", static_cast<unsigned long>(racy.count()));
  return 0;
}
