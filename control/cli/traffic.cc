// SPDX-License-Identifier: Apache-2.0
// bfly traffic start|stop: the built-in sources.
#include <cstdio>

#include "bfly/v1/traffic.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"

namespace bfly::control {
namespace {

struct Source {
  std::string rows;
  double packets_per_second = 1000;
  uint32_t bytes = 64;
  std::string to = "circuit";
  uint64_t seed = 0;
  uint64_t packets = 0;
};

// "circuit", "uniform", or the number of a row.
absl::Status SetDestination(const std::string& to, v1::TrafficSource& source) {
  if (to == "circuit") {
    source.set_destination(v1::TrafficSource::CIRCUIT);
  } else if (to == "uniform") {
    source.set_destination(v1::TrafficSource::UNIFORM);
  } else {
    uint32_t row = 0;
    if (!CLI::detail::lexical_cast(to, row))
      return absl::InvalidArgumentError("--to: '" + to +
                                        "' is neither circuit nor uniform nor a row");
    source.set_destination(v1::TrafficSource::ROW);
    source.set_row(row);
  }
  return absl::OkStatus();
}

absl::Status Start(const Source& options, const Common& common) {
  v1::StartTrafficRequest request;
  v1::TrafficSource& source = *request.add_sources();
  source.set_rows(options.rows);
  source.set_packets_per_second(options.packets_per_second);
  source.set_bytes(options.bytes);
  source.set_seed(options.seed);
  source.set_packets(options.packets);
  if (absl::Status status = SetDestination(options.to, source); !status.ok()) return status;
  auto stub = v1::Traffic::NewStub(Connect(common));
  v1::StartTrafficResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Traffic::Stub::Start, request, &response, common);
  if (!status.ok()) return status;
  if (common.json) return PrintJson(request);
  printf("sources run on %s\n",
         options.rows.empty() ? "all rows" : ("rows " + options.rows).c_str());
  return absl::OkStatus();
}

absl::Status Stop(const Common& common) {
  auto stub = v1::Traffic::NewStub(Connect(common));
  v1::StopTrafficResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Traffic::Stub::Stop, v1::StopTrafficRequest(), &response, common);
  if (!status.ok()) return status;
  if (common.json) return PrintJson(response);
  printf("sources are stopped\n");
  return absl::OkStatus();
}

}  // namespace

void AddTraffic(CLI::App& app, Invocation& invocation) {
  CLI::App* group = NewGroup(app, "traffic", "Start and stop the built-in traffic sources",
                             "bfly traffic start --rows 4-15 --rate 5000");
  CLI::App* start = NewVerb(*group, invocation, "start",
                            "Start sources at input rows; they replace those that run",
                            "bfly traffic start --rows 4-15 --rate 5000 --to circuit");
  auto source = std::make_shared<Source>();
  start->add_option("--rows", source->rows, "Input rows that send, such as 4-15; left out: all")
      ->type_name("RANGES");
  start
      ->add_option("--rate", source->packets_per_second,
                   "Packets a second of each row; 0: as fast as the worker allows")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->type_name("PPS");
  start->add_option("--bytes", source->bytes, "Length of a packet, 64 to 9018")
      ->check(CLI::Range(64u, 9018u))
      ->capture_default_str();
  start
      ->add_option("--to", source->to,
                   "Where to: `circuit` (the output of the row's circuit; rows without one send "
                   "nothing), `uniform` (over all rows), or a row")
      ->capture_default_str()
      ->type_name("circuit|uniform|ROW");
  start->add_option("--seed", source->seed, "Seed of the random choices")->capture_default_str();
  start->add_option("--packets", source->packets, "Packets of each row; 0: until stopped")
      ->capture_default_str();
  start->callback([&invocation, source] {
    invocation.action = [common = invocation.common, source] { return Start(*source, common); };
  });
  CLI::App* stop =
      NewVerb(*group, invocation, "stop", "Stop every built-in source", "bfly traffic stop");
  stop->callback(
      [&invocation] { invocation.action = [common = invocation.common] { return Stop(common); }; });
}

}  // namespace bfly::control
