// SPDX-License-Identifier: Apache-2.0
// What may be asked of the fabric's intent, and what is answered: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/protocols/object_directory.h"
#include "control/protocols/protocol.h"
#include "topologies/network.h"

namespace bfly::control {

struct StandingCircuit {
  uint64_t id = 0;
  CircuitPath path;
  // How many circuits the fullest link of the path had when the circuit was set up, the circuit
  // included.
  uint32_t congestion = 0;
  std::optional<uint64_t> object;   // what the user at the input reads from the disk at the output
  uint32_t disk_contention = 0;     // of a read just set up: readers of its disk, itself included
  std::vector<LinkId> broken = {};  // links of the path that are down
};

// The object of a read that was taken over from a data plane. A data plane knows paths but no
// objects.
inline constexpr uint64_t kUnknownObject = ~uint64_t{0};

struct SetUpOrder {
  Row input = 0;
  Row output = 0;
  std::vector<Row> rows;  // the path wanted; empty: the protocol chooses
  std::vector<LinkId> avoid = {};
  std::vector<uint32_t> ports = {};  // the path wanted as the port of each hop
  std::string protocol = {};         // that chooses; empty: the one that sets circuits up
  uint64_t seed = 0;                 // of the protocol
};
struct ReleaseOrder {
  uint64_t id = 0;
};
// A circuit gets another path and keeps its id.
struct MoveOrder {
  uint64_t id = 0;           // 0: the circuit at `input`
  std::optional<Row> input;  // none: the circuit `id`
  std::vector<Row> rows;     // the path wanted; empty: the protocol chooses
  std::string protocol;      // empty: the one that sets circuits up
  uint64_t seed = 0;         // of the protocol
  std::vector<LinkId> avoid = {};
  std::vector<uint32_t> ports = {};  // the path wanted as the port of each hop
};
// For the data server: the user reads an object, or reads it no longer.
struct ReadOrder {
  Row user = 0;
  uint64_t object = 0;
  std::vector<LinkId> avoid = {};
};
struct StopReadingOrder {
  Row user = 0;
};
struct Order {
  std::variant<SetUpOrder, ReleaseOrder, MoveOrder, ReadOrder, StopReadingOrder> what;
  std::string key;  // empty: none
};
// The circuit that was set up, moved or released.
using Outcome = absl::StatusOr<StandingCircuit>;

struct PermutationOrder {
  std::string protocol;
  std::vector<Request> requests;
  ProtocolOptions options;
  bool replace = false;  // circuits at these inputs and outputs are released first
  std::vector<LinkId> avoid = {};
};

struct PlaceOrder {
  std::vector<Placement> objects;
  uint32_t room = 0;     // objects a disk may hold; 0: no limit
  bool replace = false;  // forget what is placed first
  std::string record;    // by which it can be done again after a restart
};

// How many requests for a circuit, reads among them, came since the fabric was loaded.
struct Blocking {
  uint64_t asked = 0;
  uint64_t blocked = 0;  // refused because a link had no room
};

}  // namespace bfly::control
