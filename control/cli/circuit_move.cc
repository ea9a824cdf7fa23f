// SPDX-License-Identifier: Apache-2.0
// bfly circuit move: moves a standing circuit to another path.
#include <cstdio>
#include <memory>

#include "absl/strings/str_join.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "control/cli/circuit_text.h"
#include "control/cli/client.h"
#include "control/cli/text.h"
#include "control/cli/verb.h"
#include "control/protocols/protocol.h"

namespace bfly::control {
namespace {

struct Options {
  uint64_t id = 0, seed = 0;
  uint32_t input = 0;
  std::vector<uint32_t> rows, ports;
  std::string protocol, key;
  std::vector<std::string> avoid;
};

absl::Status Move(const v1::MoveRequest& request, const Common& common) {
  auto stub = v1::Circuits::NewStub(Connect(common));
  v1::MoveResponse response;
  const absl::Status status =
      Call(stub.get(), &v1::Circuits::Stub::Move, request, &response, common);
  if (!status.ok()) return status;
  if (common.json) return PrintJson(response.circuit());
  printf("%s\n", CircuitLine(response.circuit()).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddMove(CLI::App& circuit, Invocation& invocation) {
  CLI::App* verb = NewVerb(circuit, invocation, "move",
                           "Move a circuit to another path; frames use the old path until then",
                           "bfly circuit move 7 --avoid 's1 r4 p1'\n"
                           "  bfly circuit move --input 3 --protocol valiant --seed 2");
  TakesElectionId(verb, invocation);
  auto options = std::make_shared<Options>();
  CLI::Option* id = verb->add_option("id", options->id, "Id that setup and list print")
                        ->type_name("UINT:CIRCUIT");
  CLI::Option* input = verb->add_option("--input", options->input, "Or the input of the circuit");
  CLI::Option* rows =
      verb->add_option("--path", options->rows,
                       "The row at every level, input first, instead of the protocol's choice")
          ->delimiter(',')
          ->type_name("R,R...");
  CLI::Option* ports =
      verb->add_option("--ports", options->ports,
                       "The port of every hop instead, where a direction has several")
          ->delimiter(',')
          ->type_name("P,P...");
  std::vector<std::string> protocols;
  for (const Protocol* protocol : AllProtocols()) {
    if (protocol->make_chooser != nullptr) protocols.push_back(protocol->name);
  }
  CLI::Option* protocol =
      verb->add_option("--protocol", options->protocol,
                       "Protocol that chooses the path [the one that setup has]: " +
                           absl::StrJoin(protocols, ", "))
          ->check(CLI::IsMember(protocols))
          ->excludes(rows)
          ->excludes(ports);
  verb->add_option("--seed", options->seed, "Seed of the protocol")
      ->needs(protocol)
      ->capture_default_str();
  verb->add_option("--avoid", options->avoid, kAvoidHelp)->type_name("LINK");
  verb->add_option("--idempotency-key", options->key,
                   "The same key with the same request moves nothing again")
      ->type_name("KEY");
  verb->callback([&invocation, options, id, input] {
    if (id->count() == 0 && input->count() == 0) throw CLI::RequiredError("id or --input");
    v1::MoveRequest request;
    request.set_id(options->id);
    if (input->count() > 0) request.set_input(options->input);
    request.mutable_rows()->Assign(options->rows.begin(), options->rows.end());
    request.mutable_ports()->Assign(options->ports.begin(), options->ports.end());
    request.set_protocol(options->protocol);
    request.set_seed(options->seed);
    request.set_idempotency_key(options->key);
    invocation.action = [common = invocation.common, options, request]() mutable {
      const absl::Status avoid = AddLinks(options->avoid, common, request.mutable_avoid());
      return avoid.ok() ? Move(request, common) : avoid;
    };
  });
}

}  // namespace bfly::control
