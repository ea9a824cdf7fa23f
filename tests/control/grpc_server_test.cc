// SPDX-License-Identifier: Apache-2.0
// Connections over TCP whose client is silent, and calls of gRPC's own services.
#include "control/server/grpc_server.h"

#include <arpa/inet.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "bfly/v1/agent.grpc.pb.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;

// A client that speaks HTTP/2 by hand (RFC 9113).
class RawClient {
 public:
  explicit RawClient(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    Send(Frame(kSettings, 0, ""));
    Send(Frame(kSettings, kAck, ""));
  }
  ~RawClient() { close(fd_); }

  // Waits for the next question whether somebody is there. Returns false once the connection ended,
  // and fails after a minute.
  bool NextPing(std::string* payload) {
    for (;;) {
      const std::string head = Read(9);
      if (head.size() < 9) return false;
      const size_t length =
          size_t{Byte(head[0])} << 16 | size_t{Byte(head[1])} << 8 | size_t{Byte(head[2])};
      *payload = Read(length);
      if (payload->size() < length) return false;
      if (head[3] == kPing && (head[4] & kAck) == 0) return true;
    }
  }
  void Answer(const std::string& ping) { Send(Frame(kPing, kAck, ping)); }

 private:
  static constexpr char kSettings = 4, kPing = 6, kAck = 1;

  static uint8_t Byte(char c) { return static_cast<uint8_t>(c); }
  // A frame of the connection, shorter than 256 bytes.
  static std::string Frame(char type, char flags, const std::string& payload) {
    const std::array<char, 9> head{0, 0, static_cast<char>(payload.size()), type, flags, 0, 0,
                                   0, 0};
    return std::string(head.begin(), head.end()) + payload;
  }
  void Send(const std::string& bytes) {
    // The other side may have closed the connection.
    static_cast<void>(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  std::string Read(size_t length) {
    std::string bytes(length, '\0');
    size_t got = 0;
    while (got < length) {
      const ssize_t more = recv(fd_, bytes.data() + got, length - got, 0);
      EXPECT_FALSE(more < 0 && errno == EAGAIN) << "the connection stands after a minute";
      if (more <= 0) break;
      got += static_cast<size_t>(more);
    }
    bytes.resize(got);
    return bytes;
  }

  const int fd_;
};

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

TEST(GrpcServer, EndsTheConnectionOfAClientThatAnswersNoMore) {
  const int port = FreePort();
  GrpcServer::Options options;
  options.tcp_addresses = {"127.0.0.1:" + std::to_string(port)};
  options.tls = grpc::InsecureServerCredentials();
  options.keepalive_time = milliseconds(100);
  options.keepalive_timeout = milliseconds(300);
  v1::Agent::Service service;
  const auto server = GrpcServer::Start(options, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  RawClient client(port);
  std::string ping;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(client.NextPing(&ping)) << "an answer keeps the connection, also without calls";
    client.Answer(ping);
  }
  // From here on its machine is off.
  ASSERT_TRUE(client.NextPing(&ping));
  EXPECT_FALSE(client.NextPing(&ping));
}

// A call of any method, with empty messages.
class BareCall {
 public:
  BareCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method)
      : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    call_ = stub_.PrepareCall(&context_, method, &queue_);
    call_->StartCall(nullptr);
    Wait();
  }
  ~BareCall() { context_.TryCancel(); }

  // Sends a message, and returns whether an answer came.
  bool Ask() {
    const grpc::Slice nothing("");
    call_->Write(grpc::ByteBuffer(&nothing, 1), nullptr);
    if (!Wait()) return false;
    grpc::ByteBuffer answer;
    call_->Read(&answer, nullptr);
    return Wait();
  }
  grpc::StatusCode End() {
    call_->WritesDone(nullptr);
    Wait();
    grpc::Status status;
    call_->Finish(&status, nullptr);
    Wait();
    return status.error_code();
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

class OtherServicesTest : public testing::Test {
 protected:
  void Start(double viewer_calls) {
    gate_ = std::make_unique<Gate>(AccessRules(), viewer_calls);
    GrpcServer::Options options;
    options.gate = gate_.get();
    auto server = GrpcServer::Start(options, {&service_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    viewer_ = server_->ConnectAs({Role::kViewer, "eve", "eve"});
    operator_ = server_->ConnectAs({Role::kOperator, "bob", "bob"});
  }

  v1::Agent::Service service_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> viewer_, operator_;
};

TEST_F(OtherServicesTest, HealthChecksCountAmongTheCallsOfAViewer) {
  Start(/*viewer_calls=*/0.001);
  const auto check = [](const std::shared_ptr<grpc::Channel>& channel) {
    BareCall call(channel, "/grpc.health.v1.Health/Check");
    call.Ask();
    return call.End();
  };
  // One call at once, and the next one in a thousand seconds.
  EXPECT_EQ(check(viewer_), grpc::StatusCode::OK);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(check(viewer_), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(check(operator_), grpc::StatusCode::OK);
  }
}

TEST_F(OtherServicesTest, ViewersHoldEightStreamsOfReflection) {
  Start(/*viewer_calls=*/0);
  const std::string method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  std::vector<std::unique_ptr<BareCall>> open;
  for (int i = 0; i < 8; ++i) {
    open.push_back(std::make_unique<BareCall>(viewer_, method));
    EXPECT_TRUE(open.back()->Ask()) << i;
  }
  BareCall ninth(viewer_, method);
  EXPECT_FALSE(ninth.Ask());
  EXPECT_NE(ninth.End(), grpc::StatusCode::OK);
  BareCall of_operator(operator_, method);
  EXPECT_TRUE(of_operator.Ask());
  // A stream that ends makes room.
  EXPECT_EQ(open.back()->End(), grpc::StatusCode::OK);
  bool has_room = false;
  for (int look = 0; look < 1'000 && !has_room; ++look) {
    has_room = BareCall(viewer_, method).Ask();
  }
  EXPECT_TRUE(has_room);
}

}  // namespace
}  // namespace bfly::control
