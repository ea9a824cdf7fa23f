// SPDX-License-Identifier: Apache-2.0
// bfly circuit setup|release|list; move, permutation and churn have files of their own.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "control/cli/circuit_list.h"
#include "control/cli/circuit_stream.h"
#include "control/cli/circuit_text.h"
#include "control/cli/circuit_watch.h"
#include "control/cli/client.h"
#include "control/cli/route_text.h"
#include "control/cli/schedule.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"

namespace bfly::control {
namespace {

constexpr int kReleasesInMessage = 1024;

void Print(const v1::Circuit& circuit) { printf("%s\n", CircuitLine(circuit).c_str()); }

absl::Status SetUp(const v1::SetUpRequest& request, const Common& common) {
  auto stub = v1::Circuits::NewStub(Connect(common));
  v1::SetUpResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Circuits::Stub::SetUp, request, &response, common);
  if (!status.ok()) return status;
  if (common.json && request.in_band()) return PrintJson(response);
  if (common.json) return PrintJson(response.circuit());
  Print(response.circuit());
  if (request.in_band()) PrintInBand(response.in_band());
  return absl::OkStatus();
}

absl::Status Release(uint64_t id, bool in_band, const Common& common) {
  auto stub = v1::Circuits::NewStub(Connect(common));
  v1::ReleaseRequest request;
  request.set_id(id);
  request.set_in_band(in_band);
  v1::ReleaseResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Circuits::Stub::Release, request, &response, common);
  if (!status.ok()) return status;
  if (common.json && in_band) return PrintJson(response);
  if (common.json) return PrintJson(response.circuit());
  printf("released circuit %" PRIu64 ": %u -> %u\n", id, response.circuit().input(),
         response.circuit().output());
  if (in_band) PrintInBand(response.in_band());
  return absl::OkStatus();
}

absl::Status ReleaseAll(const Common& common) {
  const absl::StatusOr<v1::ListResponse> all = ListCircuits({}, common);
  if (!all.ok()) return all.status();
  CircuitStream stream(common);
  uint64_t released = 0, refused = 0;
  absl::Status first;
  for (int next = 0; next < all->circuits_size();) {
    v1::CircuitOperations operations;
    while (next < all->circuits_size() && operations.operations_size() < kReleasesInMessage) {
      operations.add_operations()->mutable_release()->set_id(all->circuits(next++).id());
    }
    const absl::StatusOr<v1::CircuitResult> results = stream.Execute(operations);
    if (!results.ok()) return results.status();
    for (const v1::CircuitResult& result : results->results()) {
      const auto code = static_cast<absl::StatusCode>(result.code());
      released += code == absl::StatusCode::kOk;
      // Another client released the circuit first.
      if (code == absl::StatusCode::kOk || code == absl::StatusCode::kNotFound) continue;
      ++refused;
      if (first.ok()) first = WithAdvice(absl::Status(code, result.message()));
    }
  }
  if (common.json) {
    printf("{\"released\": %" PRIu64 "}\n", released);
  } else {
    printf("released %" PRIu64 " circuit%s\n", released, released == 1 ? "" : "s");
  }
  if (refused == 0) return absl::OkStatus();
  return absl::Status(first.code(),
                      absl::StrCat(refused, " of the circuits still stand: ", first.message()));
}

absl::Status List(const v1::ListRequest& request, const Common& common) {
  const absl::StatusOr<v1::ListResponse> all = ListCircuits(request, common);
  if (!all.ok()) return all.status();
  if (common.json) return PrintJson(*all);
  for (const v1::Circuit& circuit : all->circuits()) Print(circuit);
  const auto broken = std::count_if(all->circuits().begin(), all->circuits().end(),
                                    [](const v1::Circuit& c) { return !c.broken().empty(); });
  printf("%d circuit%s", all->circuits_size(), all->circuits_size() == 1 ? "" : "s");
  if (broken > 0) printf(", %d broken", static_cast<int>(broken));
  printf("\n");
  return absl::OkStatus();
}

v1::WatchRequest ToWatch(const v1::ListRequest& list) {
  v1::WatchRequest watch;
  if (list.has_input()) watch.set_input(list.input());
  if (list.has_output()) watch.set_output(list.output());
  if (list.has_link()) *watch.mutable_link() = list.link();
  if (list.has_broken()) watch.set_broken(list.broken());
  return watch;
}

void AddSetUp(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      group, invocation, "setup",
      "Set up one circuit, on a path that protocol minimum chooses, or greedy where minimum "
      "is not defined",
      "bfly circuit setup 3 12\n"
      "  bfly circuit setup 3 12 --protocol disjoint");
  TakesElectionId(verb, invocation);
  struct Options {
    uint32_t input = 0, output = 0;
    std::vector<uint32_t> rows, ports;
    std::string protocol, key;
    uint64_t seed = 0;
    std::vector<std::string> avoid;
    bool in_band = false;
  };
  auto options = std::make_shared<Options>();
  verb->add_option("input", options->input, "Input row")->required();
  verb->add_option("output", options->output, "Output row")->required();
  CLI::Option* path =
      verb->add_option("--path", options->rows,
                       "The row at every level, input first, instead of the protocol's choice")
          ->delimiter(',')
          ->type_name("R,R...");
  CLI::Option* ports = verb->add_option("--ports", options->ports,
                                        "The port of every hop instead, where a direction has "
                                        "several")
                           ->delimiter(',')
                           ->type_name("P,P...");
  CLI::Option* protocol =
      verb->add_option("--protocol", options->protocol,
                       "Protocol that chooses one path at a time, such as disjoint: a path over "
                       "links that carry no circuit [minimum]")
          ->excludes(path)
          ->excludes(ports)
          ->type_name("NAME");
  verb->add_option("--seed", options->seed, "Seed of the protocol")
      ->needs(protocol)
      ->capture_default_str();
  verb->add_option("--idempotency-key", options->key,
                   "The same key with the same request sets up nothing new")
      ->type_name("KEY");
  verb->add_option("--avoid", options->avoid, kAvoidHelp)->type_name("LINK");
  verb->add_flag("--in-band", options->in_band,
                 "The stage workers choose the path and set the circuit up themselves")
      ->excludes(protocol);
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      v1::SetUpRequest request;
      request.set_input(options->input);
      request.set_output(options->output);
      request.mutable_rows()->Assign(options->rows.begin(), options->rows.end());
      request.mutable_ports()->Assign(options->ports.begin(), options->ports.end());
      request.set_protocol(options->protocol);
      request.set_seed(options->seed);
      request.set_idempotency_key(options->key);
      request.set_in_band(options->in_band);
      const absl::Status avoid = AddLinks(options->avoid, common, request.mutable_avoid());
      if (!avoid.ok()) return avoid;
      return SetUp(request, common);
    };
  });
}

void AddRelease(CLI::App& group, Invocation& invocation) {
  CLI::App* verb = NewVerb(group, invocation, "release", "Release a circuit by its id, or all",
                           "bfly circuit release 7\n"
                           "  bfly circuit release --all");
  TakesElectionId(verb, invocation);
  struct Options {
    uint64_t id = 0;
    bool all = false, in_band = false;
  };
  auto options = std::make_shared<Options>();
  CLI::Option* id = verb->add_option("id", options->id, "Id that setup and list print")
                        ->type_name("UINT:CIRCUIT");
  CLI::Option* all =
      verb->add_flag("--all", options->all, "Every circuit that stands, whoever set it up")
          ->excludes(id);
  verb->add_flag("--in-band", options->in_band, "The stage workers release the circuit themselves")
      ->excludes(all);
  verb->callback([&invocation, options, id] {
    if (id->count() == 0 && !options->all) throw CLI::RequiredError("id or --all");
    invocation.action = [common = invocation.common, options] {
      return options->all ? ReleaseAll(common) : Release(options->id, options->in_band, common);
    };
  });
}

void AddList(CLI::App& group, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(group, invocation, "list", "List the circuits that stand, or watch them come and go",
              "bfly circuit list --link 's3 r5 p1'\n"
              "  bfly circuit list --watch --input 3");
  struct Options {
    uint32_t input = 0, output = 0;
    std::vector<std::string> link;
    bool watch = false, broken = false;
  };
  auto options = std::make_shared<Options>();
  CLI::Option* input =
      verb->add_option("--input", options->input, "Only the circuit of this input");
  CLI::Option* output =
      verb->add_option("--output", options->output, "Only the circuit of this output");
  verb->add_option("--link", options->link,
                   "Only circuits over this link, 's3 r5 p1'; 3,5,1 does too")
      ->expected(1, 3)
      ->type_name("SELECTOR");
  verb->add_flag(
      "--watch", options->watch,
      "Then go on with a line for every circuit that comes (+), goes (-) or changes (~), "
      "until Ctrl-C; with --json a message a line");
  verb->add_flag("--broken", options->broken, "Only circuits over a link that is down");
  verb->callback([&invocation, options, input, output] {
    v1::ListRequest request;
    if (input->count() > 0) request.set_input(options->input);
    if (output->count() > 0) request.set_output(options->output);
    if (options->broken) request.set_broken(true);
    if (!options->link.empty()) {
      const absl::StatusOr<v1::LinkRef> link = OneLink(options->link);
      if (!link.ok()) throw CLI::ValidationError("--link", std::string(link.status().message()));
      *request.mutable_link() = *link;
    }
    invocation.action = [common = invocation.common, request, watch = options->watch] {
      return watch ? WatchCircuits(ToWatch(request), common) : List(request, common);
    };
  });
}

}  // namespace

void AddCircuit(CLI::App& app, Invocation& invocation) {
  CLI::App* group =
      NewGroup(app, "circuit", "Set up, release and list circuits", "bfly circuit setup 3 12");
  AddSetUp(*group, invocation);
  AddRelease(*group, invocation);
  AddMove(*group, invocation);
  AddList(*group, invocation);
  AddPermutation(*group, invocation);
  AddSchedule(*group, invocation);
  AddChurn(*group, invocation);
}

}  // namespace bfly::control
