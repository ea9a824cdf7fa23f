// SPDX-License-Identifier: Apache-2.0
// The program bfly-exporter: the figures of a fabric for Prometheus, over HTTP.
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/access/tls.h"
#include "control/exporter/scraper.h"
#include "control/log/logger.h"
#include "control/server/address.h"
#include "control/server/number_option.h"
#include "control/server/stop_signal.h"

namespace bfly::control {
namespace {

constexpr char kExample[] = R"(
/metrics has the fabric, its stages, ports, workers and fullest links; /metrics/links has every link, up to
--most-links. docs/monitoring.md lists the metrics.

Examples:
  bfly-exporter                          serves the fabric of /run/bfly at 127.0.0.1:9745
  bfly-exporter --top 50 --timeout 1     50 links in /metrics; a controller is given one second 
  bfly-exporter --listen 127.0.0.1:0     takes a free port and says which
)";

struct Flags {
  std::string run_dir;
  std::string controller;
  TlsFlags tls;
  std::string listen = "9745";
  bool allow_remote = false;
  uint32_t top = 20;
  uint32_t most_links = 16384;
  double timeout = 2;
  LogFlags log;
};

void Declare(CLI::App& app, Flags& flags) {
  app.description("Serves the figures of a bfly fabric to Prometheus.");
  app.footer(kExample);
  app.set_version_flag("--version", BFLY_VERSION);
  app.add_option("--run-dir", flags.run_dir,
                 "Directory of the controller's socket [BFLY_RUN_DIR, else /run/bfly]");
  app.add_option("--controller", flags.controller,
                 "Address of the controller [unix:RUN_DIR/controller.sock]");
  app.add_option("--tls-cert", flags.tls.certificate, kTlsCertHelp)->type_name("FILE");
  app.add_option("--tls-key", flags.tls.key, kTlsKeyHelp)->type_name("FILE");
  app.add_option("--tls-ca", flags.tls.ca, kTlsCaHelp)->type_name("FILE");
  app.add_option("--listen", flags.listen,
                 "Where to serve HTTP: PORT (of 127.0.0.1) or ADDRESS:PORT in numbers; port 0 "
                 "takes a free one")
      ->capture_default_str();
  app.add_flag("--allow-remote", flags.allow_remote,
               "Allow --listen at an address other machines can reach: who reaches it may read "
               "all figures");
  app.add_option("--top", flags.top, "Links in /metrics, the fullest ones")
      ->check(CLI::Range(0u, 1000u))
      ->capture_default_str();
  app.add_option("--most-links", flags.most_links, "Links in /metrics/links at most")
      ->check(CLI::Range(1u, 65536u))
      ->capture_default_str();
  app.add_option("--timeout", flags.timeout,
                 "Seconds that the controller may take for a scrape; less than half of "
                 "Prometheus' scrape_timeout")
      ->check(NumberFrom(0.1, 60.0))
      ->capture_default_str();
  DeclareLog(app, flags.log);
}

class FabricPage final : public prometheus::Collectable {
 public:
  FabricPage(Scraper& scraper, uint32_t top) : scraper_(scraper), top_(top) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    return FabricMetrics(*scraper_.Get(), top_);
  }

 private:
  Scraper& scraper_;
  const uint32_t top_;
};

class LinksPage final : public prometheus::Collectable {
 public:
  LinksPage(Scraper& scraper, uint32_t most) : scraper_(scraper), most_(most) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    return LinkMetrics(*scraper_.Get(), most_);
  }

 private:
  Scraper& scraper_;
  const uint32_t most_;
};

// TcpAddress takes no port 0, which the exporter may well serve at. INVALID_ARGUMENT: other
// machines could reach it, and nobody said that they may.
absl::StatusOr<std::string> ListenAt(const Flags& flags) {
  std::string given = flags.listen;
  const bool any_port = given == "0" || given.ends_with(":0");
  if (any_port) given.back() = '1';
  absl::StatusOr<std::string> address = TcpAddress(given);
  if (address.ok() && !IsLoopback(*address) && !flags.allow_remote) {
    return absl::InvalidArgumentError(absl::StrCat(
        given,
        " can be reached from other machines and nothing checks who asks; use 127.0.0.1, or "
        "add --allow-remote on a network you trust"));
  }
  if (address.ok() && any_port) address->back() = '0';
  return address;
}

int Run(const Flags& flags) {
  const StopSignal stop;
  Logger logger("bfly-exporter", flags.log);
  const auto complain = [&logger](const std::string& text) {
    logger.Write({.level = LogLevel::kError, .text = text});
  };
  const absl::StatusOr<std::string> listen = ListenAt(flags);
  if (!listen.ok()) {
    complain(absl::StrCat("--listen: ", listen.status().message()));
    return 2;
  }
  const std::string controller = flags.controller.empty()
                                     ? SocketAddress(RunDirectory(flags.run_dir), "controller")
                                     : flags.controller;
  const auto credentials = CredentialsFor(controller, flags.tls);
  if (!credentials.ok()) {
    complain(std::string(credentials.status().message()));
    return 2;
  }
  Scraper scraper(controller, *credentials,
                  std::chrono::milliseconds(static_cast<int64_t>(flags.timeout * 1000)),
                  std::max(flags.top, flags.most_links), [&](const std::string& problem) {
                    if (!problem.empty())
                      return complain(absl::StrCat(controller, " does not answer: ", problem));
                    logger.Write({.text = absl::StrCat(controller, " answers again"),
                                  .fields = {{"controller", controller}}});
                  });
  const auto fabric = std::make_shared<FabricPage>(scraper, flags.top);
  const auto links = std::make_shared<LinksPage>(scraper, flags.most_links);
  std::unique_ptr<prometheus::Exposer> exposer;
  try {
    // A connection keeps a thread until its request is there, for two seconds at most.
    exposer = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", *listen, "num_threads", "16", "request_timeout_ms", "2000"});
  } catch (const std::exception& error) {
    complain(absl::StrCat("cannot serve at ", *listen, ": ", error.what()));
    return 1;
  }
  // The longer path first: a server of this library answers by the first one that fits.
  exposer->RegisterCollectable(links, "/metrics/links");
  exposer->RegisterCollectable(fabric, "/metrics");
  for (const int port : exposer->GetListeningPorts()) {
    logger.Write({.text = absl::StrCat("serves ", controller, " at port ", port),
                  .fields = {{"controller", controller}, {"port", int64_t{port}}}});
  }
  stop.Wait();
  return 0;
}

}  // namespace
}  // namespace bfly::control

int main(int argc, char** argv) {
  CLI::App app;
  bfly::control::Flags flags;
  bfly::control::Declare(app, flags);
  CLI11_PARSE(app, argc, argv);
  return bfly::control::Run(flags);
}
