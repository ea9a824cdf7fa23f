// SPDX-License-Identifier: Apache-2.0
#include "control/web/http_server.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

// Boost's headers need <utility> before them.
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

using BeastRequest = http::request<http::string_body>;
using BeastResponse = http::response<http::string_body>;

// What the page may do: nothing but talk to its own server.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string Header(const BeastRequest& request, http::field field) {
  const auto found = request.find(field);
  return found == request.end() ? std::string() : std::string(found->value());
}

HttpResponse Answered(const BeastRequest& given, const HttpHandler& handler) {
  HttpRequest request;
  request.method = std::string(given.method_string());
  if (given.count(http::field::host) > 1)
    return HttpError(400, "the request has several Host headers; send one");
  if (!ReadTarget(std::string(given.target()), &request))
    return HttpError(400, "the target is not a path with a query, such as /api/load?bands=32");
  request.host = Header(given, http::field::host);
  request.origin = Header(given, http::field::origin);
  request.authorization = Header(given, http::field::authorization);
  request.content_type = Header(given, http::field::content_type);
  request.body = given.body();
  try {
    return handler(request);
  } catch (const std::exception& error) {
    return HttpError(500, absl::StrCat("the request failed: ", error.what()));
  }
}

struct AnswerForm {
  unsigned version = 11;    // of HTTP: 11 is HTTP/1.1
  bool keep_alive = false;  // the connection stays for another request
  bool with_body = true;    // else the header alone, which is the same
};

BeastResponse ToBeast(HttpResponse answer, const AnswerForm& form) {
  BeastResponse response(static_cast<http::status>(answer.status), form.version);
  response.set(http::field::content_type, answer.content_type);
  response.set(http::field::cache_control, "no-store");
  response.set("Content-Security-Policy", kPolicy);
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  if (response.result() == http::status::method_not_allowed) {
    response.set(http::field::allow, "GET, HEAD, POST");  // RFC 9110, 15.5.6
  }
  response.keep_alive(form.keep_alive);
  response.body() = std::move(answer.body);
  response.prepare_payload();
  if (!form.with_body) response.body().clear();
  return response;
}

}  // namespace

// What the connections of one server share.
struct HttpShared {
  HttpServer::Options options;
  HttpHandler handler;
  std::atomic<size_t> connections{0};
};

// One connection. It keeps itself alive while it waits for something.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(tcp::socket socket, std::shared_ptr<HttpShared> shared)
      : stream_(std::move(socket)), shared_(std::move(shared)) {}
  ~HttpConnection() { --shared_->connections; }

  // The socket's strand keeps the calls of a connection apart.
  void Begin() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->Read(); });
  }

 private:
  void Read() {
    parser_.emplace();
    parser_->header_limit(shared_->options.max_header_bytes);
    parser_->body_limit(shared_->options.max_body_bytes);
    // One time for the whole request, so a client cannot stretch it byte by byte.
    stream_.expires_after(shared_->options.patience);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, size_t) { self->OnRead(error); });
  }
  void OnRead(error_code error) {
    if (!error) {
      const BeastRequest request = parser_->release();
      return Write(Answered(request, shared_->handler),
                   {.version = request.version(),
                    .keep_alive = request.keep_alive(),
                    .with_body = request.method() != http::verb::head});
    }
    const HttpServer::Options& options = shared_->options;
    if (error == http::error::header_limit)
      return Refuse(431,
                    absl::StrCat("the header has more than ", options.max_header_bytes, " bytes"));
    if (error == http::error::body_limit)
      return Refuse(413, absl::StrCat("the body has more than ", options.max_body_bytes, " bytes"));
    if (error == http::error::buffer_overflow)
      return Refuse(413, "the headers of its chunks are too long");
    const bool is_of_http = error.category() == make_error_code(http::error::bad_method).category();
    if (is_of_http && error != http::error::end_of_stream && error != http::error::partial_message)
      Refuse(400, absl::StrCat("this is not a request of HTTP/1.1: ", error.message()));
  }
  void Refuse(unsigned status, const std::string& message) {
    Write(HttpError(status, message), {});
  }
  void Write(HttpResponse answer, const AnswerForm& form) {
    response_.emplace(ToBeast(std::move(answer), form));
    stream_.expires_after(shared_->options.patience);
    http::async_write(
        stream_, *response_,
        [self = shared_from_this(), keep_alive = form.keep_alive](error_code error, size_t) {
          if (error) return;
          if (keep_alive) return self->Read();
          self->End();
        });
  }
  // A socket that is closed while bytes wait to be read takes the answer back, so what the client
  // still sends is read for a moment.
  void End() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(std::chrono::seconds(1));
    Drain(64);
  }
  void Drain(int reads_left) {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(std::min<size_t>(4096, buffer_.max_size())),
                            [self = shared_from_this(), reads_left](error_code error, size_t) {
                              if (!error && reads_left > 0) self->Drain(reads_left - 1);
                            });
  }

  beast::tcp_stream stream_;
  const std::shared_ptr<HttpShared> shared_;
  // A chunk's header and the trailer have no limit of the parser's.
  beast::flat_buffer buffer_{shared_->options.max_header_bytes +
                             static_cast<size_t>(shared_->options.max_body_bytes)};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<BeastResponse> response_;
};

namespace {

absl::StatusOr<tcp::endpoint> EndpointOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      port > 65535)
    return absl::InvalidArgumentError(absl::StrCat("\"", address, "\" has no port"));
  std::string host = address.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]"))
    host = host.substr(1, host.size() - 2);
  error_code error;
  const asio::ip::address numbers = asio::ip::make_address(host, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat("\"", host, "\" is not an address"));
  return tcp::endpoint(numbers, static_cast<uint16_t>(port));
}

}  // namespace

class HttpServer::Loop {
 public:
  Loop(const Options& options, HttpHandler handler)
      : shared_(std::make_shared<HttpShared>()), acceptor_(context_), pause_(context_) {
    shared_->options = options;
    shared_->handler = std::move(handler);
  }
  ~Loop() {
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  // Returns the address with its port.
  absl::StatusOr<std::string> Listen(const std::string& address) {
    const absl::StatusOr<tcp::endpoint> endpoint = EndpointOf(address);
    if (!endpoint.ok()) return endpoint.status();
    error_code error;
    acceptor_.open(endpoint->protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(*endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return absl::UnavailableError(
          absl::StrCat("cannot serve at ", address, ": ", error.message()));
    Accept();
    for (int i = 0; i < shared_->options.threads; ++i)
      threads_.emplace_back([this] { context_.run(); });
    return absl::StrCat(address.substr(0, address.rfind(':')), ":",
                        acceptor_.local_endpoint().port());
  }

 private:
  void Accept() {
    acceptor_.async_accept(
        asio::make_strand(context_), [this](error_code error, tcp::socket socket) {
          if (error == asio::error::operation_aborted) return;
          if (error) {
            // This process has no descriptor left.
            pause_.expires_after(std::chrono::milliseconds(100));
            return pause_.async_wait([this](error_code) { Accept(); });
          }
          if (shared_->connections++ < shared_->options.max_connections) {
            std::make_shared<HttpConnection>(std::move(socket), shared_)->Begin();
          } else {
            --shared_->connections;
          }
          Accept();
        });
  }

  std::shared_ptr<HttpShared> shared_;
  asio::io_context context_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::vector<std::thread> threads_;
};

HttpServer::HttpServer(std::unique_ptr<Loop> loop, std::string address)
    : loop_(std::move(loop)), address_(std::move(address)) {}

HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              const Options& options,
                                                              HttpHandler handler) {
  auto loop = std::make_unique<Loop>(options, std::move(handler));
  absl::StatusOr<std::string> listening = loop->Listen(address);
  if (!listening.ok()) return listening.status();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop), *std::move(listening)));
}

}  // namespace bfly::control
