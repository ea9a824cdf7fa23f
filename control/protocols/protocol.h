// SPDX-License-Identifier: Apache-2.0
// Circuit protocols by name. A protocol is one file and one line in registry.cc; it is pure:
// networks and requests in, paths out, no gRPC, no clock, no global state.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/protocols/link_load.h"
#include "topologies/crew.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"
#include "topologies/permutation.h"
#include "topologies/tag.h"

namespace bfly::control {

struct Request {
  Row input = 0;
  Row output = 0;
};

// Why a circuit has the path it has.
enum class PathChoice {
  kGreedy,     // the network's greedy path
  kP,          // the first of the two candidate paths of BB_n
  kPPrime,     // the second
  kGiven,      // the caller named it
  kRandom,     // a random one, whatever the load
  kLooping,    // computed off line by the looping algorithm
  kArbitrary,  // the protocol ended without one for this request; the first candidate was taken
};
// "greedy", "p", "p_prime", "given", "random", "looping", "arbitrary".
absl::string_view ChoiceName(PathChoice choice);

struct CircuitPath {
  Row input = 0;
  Row output = 0;
  Tag tag = 0;
  PathChoice choice = PathChoice::kGreedy;
  friend bool operator==(const CircuitPath&, const CircuitPath&) = default;
};

struct ProtocolOptions {
  // Of the protocol's own random choices; the switch settings have the network's.
  uint64_t seed = 0;
  // collision: paths a link may have, 1..kMaxThreshold; 0: CollisionThreshold.
  uint32_t c = 0;
  // collision: rounds after which it stops; 0: when it is done or can select nothing any more.
  uint32_t max_rounds = 0;
  // q_limited: circuits a link bears, 1..kMaxThreshold; 0: 1.
  uint32_t q = 0;
  // Threads that compute, 1..kMaxWorkers; 0: 1. The result is the same for every number. More than
  // one only for a protocol that uses_workers.
  uint32_t workers = 0;
  // Links that no path shall cross; null: none. A protocol that has a choice chooses among the
  // whole paths. Where none is whole a request gets the path it would have got without faults,
  // which is for the caller to refuse; q_limited loses such a request.
  const FaultSet* faults = nullptr;

  bool IsWhole(Row input, Tag tag) const {
    return faults == nullptr || faults->IsWhole(input, tag);
  }
};

inline constexpr uint32_t kMaxThreshold = 254;
inline constexpr uint32_t kMaxWorkers = 64;

// The c of the collision protocol: the smallest with c! > log n (Cole et al. 1998, section 2.1).
uint32_t CollisionThreshold(int dimension);

// Chooses a path for one request at a time, knowing only what stands now.
class PathChooser {
 public:
  virtual ~PathChooser() = default;
  // Both rows are in range and free. Does not change the load: the caller adds the path.
  virtual CircuitPath Choose(const LinkLoad& load, Row input, Row output) const = 0;
};

struct RouteResult {
  uint32_t rounds = 0;  // a round: packets go forward along the paths and come back
  // Packets that cross the network once, in one direction, to choose the paths.
  uint64_t messages = 0;
  // Circuits on the fullest link when these stand too; of the network and of each stage.
  uint32_t congestion = 0;
  std::vector<uint32_t> stage_congestion;
  std::vector<std::vector<uint32_t>> stage_load;  // [stage][k]: links with k circuits
  int dilation = 0;                               // links on a path
  std::vector<CircuitPath> paths;                 // in the order of the requests
  // Protocols of rounds: how many requests had no path after each round, and which (by their place
  // in the batch) had none at the end. Those of collision get an arbitrary path, those of q_limited
  // none: they are missing from `paths`.
  std::vector<uint32_t> left_per_round;
  std::vector<uint32_t> requests_left;
  std::vector<Row> inputs_left;  // theirs
  // Collision: by request, in how many rounds its two paths were active.
  std::vector<uint32_t> rounds_asked;
  uint32_t c = 0;  // the links' threshold in force; 0: the protocol has none
  // Two-path protocols: {p, p'} of each request.
  std::vector<std::array<Tag, 2>> buddies;
};

struct Protocol {
  const char* name;
  const char* help;  // one line
  bool (*defined_on)(NetworkKind kind);
  // One request at a time. Null where the protocol must see all requests together.
  std::unique_ptr<PathChooser> (*make_chooser)(const Network& network,
                                               const ProtocolOptions& options);
  // All requests together; `standing` is the load of circuits that stay, null if there are none.
  absl::StatusOr<RouteResult> (*route)(const Network& network, const LinkLoad* standing,
                                       const std::vector<Request>& requests,
                                       const ProtocolOptions& options);
  // Whether `route` shares its work among options.workers threads.
  bool uses_workers = false;
};

const std::vector<const Protocol*>& AllProtocols();
// A protocol from outside the tree; it must outlive the program. Not while others read the list:
// call it first thing.
void AddProtocol(const Protocol& protocol);

// InvalidArgument lists the names; FailedPrecondition: the protocol is not defined on this kind of
// network.
absl::StatusOr<const Protocol*> FindProtocol(absl::string_view name, NetworkKind kind);

absl::StatusOr<std::unique_ptr<PathChooser>> MakeChooser(absl::string_view name,
                                                         const Network& network,
                                                         const ProtocolOptions& options = {});

// Routes the requests by the named protocol on top of `standing` (an empty LinkLoad for a dry run)
// and changes nothing. InvalidArgument names a request that is out of range or whose input or
// output is used twice, or an option out of its range; the errors of FindProtocol.
absl::StatusOr<RouteResult> RoutePermutation(absl::string_view protocol, const LinkLoad& standing,
                                             const std::vector<Request>& requests,
                                             const ProtocolOptions& options = {});
// A dry run of a whole permutation.
absl::StatusOr<RouteResult> RoutePermutation(absl::string_view protocol, const Network& network,
                                             const Permutation& permutation,
                                             const ProtocolOptions& options = {});

// What RoutePermutation would refuse these requests for, without routing them.
absl::Status CheckRouting(absl::string_view protocol, const Network& network,
                          const std::vector<Request>& requests,
                          const ProtocolOptions& options = {});

// For protocols that choose path by path: the requests in their order, each on top of the ones
// before. Fills in everything but rounds and messages.
RouteResult RouteOneByOne(const PathChooser& chooser, const Network& network,
                          const LinkLoad* standing, const std::vector<Request>& requests);

// For choosers that ask nothing of the network: each request sends one packet that reserves its
// path on the way, all in one round. Fills in everything.
RouteResult RouteUnasked(const PathChooser& chooser, const Network& network,
                         const LinkLoad* standing, const std::vector<Request>& requests);

// For protocols that choose all paths together, on networks that no path crosses twice: fills in
// congestion and dilation of the paths. The crew's workers share the stages.
void MeasureCongestion(const Network& network, const LinkLoad* standing, Crew& crew,
                       RouteResult& result);
// On this thread alone.
void MeasureCongestion(const Network& network, const LinkLoad* standing, RouteResult& result);

// InvalidArgument: `workers` is more than kMaxWorkers.
absl::Status CheckWorkers(uint32_t workers);

}  // namespace bfly::control
