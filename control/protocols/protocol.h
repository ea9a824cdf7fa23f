// SPDX-License-Identifier: Apache-2.0
// Circuit protocols by name. A protocol is one file and one line in registry.cc. It is a pure
// function from a network and requests to paths: no gRPC, no clock, no global state.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/protocols/link_load.h"
#include "topologies/crew.h"
#include "topologies/fault_set.h"
#include "topologies/link_capacity.h"
#include "topologies/network.h"
#include "topologies/permutation.h"
#include "topologies/switch_settings.h"
#include "topologies/tag.h"

namespace bfly::control {

struct Request {
  Row input = 0;
  Row output = 0;
};

// A long call asks it again and again. An error says why the call must stop now.
using Interrupt = std::function<absl::Status()>;

// Why a circuit has the path it has.
enum class PathChoice {
  kGreedy,       // the network's greedy path
  kP,            // the first of the two candidate paths of BB_n
  kPPrime,       // the second
  kGiven,        // the caller named it
  kRandom,       // a random one, whatever the load
  kLooping,      // computed off line by the looping algorithm
  kLeastLoaded,  // at each hop the port of its direction with the fewest circuits
  kCandidate,    // one of the candidate paths over several ports a direction
  kDisjoint,     // a path over links that carry no circuit
  kArbitrary,    // the protocol ended without one for this request, which got another one
};
// "greedy", "p", "p_prime", "given", "random", "looping", "least_loaded", "candidate",
// "disjoint", "arbitrary".
absl::string_view ChoiceName(PathChoice choice);

struct CircuitPath {
  Row input = 0;
  Row output = 0;
  Tag tag = 0;
  PathChoice choice = PathChoice::kGreedy;
  friend bool operator==(const CircuitPath&, const CircuitPath&) = default;
};

struct ProtocolOptions {
  // The seed of the protocol's own random choices. The switch settings have the network's seed.
  uint64_t seed = 0;
  // collision: the paths that a link may have, 1..kMaxThreshold; 0: CollisionThreshold.
  uint32_t c = 0;
  // collision: the most rounds; 0: until all requests have a path or a round selects nothing.
  uint32_t max_rounds = 0;
  // q_limited: the circuits that a link carries, 1..kMaxThreshold; 0: 1.
  uint32_t q = 0;
  // Threads that compute, 1..kMaxWorkers; 0: 1. The result does not depend on the number. Above 1
  // only for a protocol with uses_workers.
  uint32_t workers = 0;
  // Faulty links, which paths avoid; null: none. A protocol that has a choice chooses among the
  // whole paths. If a request has no whole path, it gets the path that it would get without faults,
  // and the caller must refuse that path; q_limited loses such a request.
  const FaultSet* faults = nullptr;
  // How many circuits each link may carry; null: any number. Protocols that do not look at it
  // choose as if there were no limit, and the caller must refuse a path without room.
  const LinkCapacity* capacity = nullptr;
  // one_choice: the candidate paths of this network, where the caller has them at hand; null: the
  // protocol computes the paths of all rows.
  const CandidatePaths* candidates = nullptr;
  // Benes around faults asks it before each request that it routes by itself, and RoutePermutation
  // returns its error. The other protocols do not ask.
  Interrupt interrupt = {};

  bool IsWhole(Row input, Tag tag) const {
    return faults == nullptr || faults->IsWhole(input, tag);
  }
  // Whether no fault blocks the link and it has room for one circuit beside those of `load`. A free
  // link (Network::is_free) always has room.
  bool MayCross(const LinkLoad& load, LinkId link) const;
};

inline constexpr uint32_t kMaxThreshold = 254;
inline constexpr uint32_t kMaxWorkers = 64;

// The default c of the collision protocol: the smallest c with c! > log n (Cole et al. 1998,
// section 2.1).
uint32_t CollisionThreshold(int dimension);

// Chooses a path for one request at a time, from what stands at that moment.
class PathChooser {
 public:
  virtual ~PathChooser() = default;
  // Both rows are in range and free. Choose does not change the load: the caller adds the path.
  virtual CircuitPath Choose(const LinkLoad& load, Row input, Row output) const = 0;
  // The same path, or an error where the protocol allows none as things stand: ResourceExhausted or
  // Unavailable, and the message names the links that are in the way.
  virtual absl::StatusOr<CircuitPath> Find(const LinkLoad& load, Row input, Row output) const {
    return Choose(load, input, output);
  }
};

struct RouteResult {
  uint32_t rounds = 0;  // in a round, packets go forward along the paths and come back
  // Packets that cross the network once, in one direction, to choose the paths.
  uint64_t messages = 0;
  // Circuits on the fullest link, standing circuits included; of the network and of each stage.
  // Free links (Network::is_free) count neither here nor in stage_load.
  uint32_t congestion = 0;
  std::vector<uint32_t> stage_congestion;
  std::vector<std::vector<uint32_t>> stage_load;  // [stage][k]: links with k circuits
  int dilation = 0;                               // the most links on a path, without free links
  std::vector<CircuitPath> paths;                 // in the order of the requests
  // Protocols with rounds: how many requests had no path after each round, and which requests (by
  // their place in the batch) had none at the end. collision gives such a request an arbitrary
  // path. q_limited gives it none, so it is missing from `paths`.
  std::vector<uint32_t> left_per_round;
  std::vector<uint32_t> requests_left;
  std::vector<Row> inputs_left;  // the inputs of requests_left
  // q_limited: how many of requests_left were lost to full links and not to faults.
  uint32_t lost_to_full_links = 0;
  // Protocols that route one request after the other: how many times the packets of a request cross
  // the network, in one direction after the other, before the next request is routed. 0: the
  // packets of all requests are under way together.
  uint32_t passes_alone = 0;
  // Collision, by request: the number of rounds in which its candidate paths were active.
  std::vector<uint32_t> rounds_asked;
  uint32_t c = 0;  // the threshold of links that was used; 0: the protocol has none
  // Two-path protocols: {p, p'} of each request.
  std::vector<std::array<Tag, 2>> buddies;
  // Protocols with several ports a direction to choose among: the candidate paths, request by
  // request, the same number for each.
  std::vector<Tag> candidates;
};

struct Protocol {
  const char* name;
  const char* help;  // one line
  bool (*defined_on)(NetworkKind kind);
  // Routes one request at a time. Null if the protocol must see all requests together.
  std::unique_ptr<PathChooser> (*make_chooser)(const Network& network,
                                               const ProtocolOptions& options);
  // Routes all requests together. `standing` is the load of circuits that stay, or null.
  absl::StatusOr<RouteResult> (*route)(const Network& network, const LinkLoad* standing,
                                       const std::vector<Request>& requests,
                                       const ProtocolOptions& options);
  // True if `route` shares its work among options.workers threads.
  bool uses_workers = false;
  bool takes_c = false;  // options.c and options.max_rounds
  bool takes_q = false;  // options.q
};

const std::vector<const Protocol*>& AllProtocols();
// Adds a protocol from outside the tree, which must outlive the program. Call it before anything
// reads the list of protocols.
void AddProtocol(const Protocol& protocol);

// InvalidArgument lists the names. FailedPrecondition: the protocol is not defined on this kind of
// network.
absl::StatusOr<const Protocol*> FindProtocol(absl::string_view name, NetworkKind kind);

absl::StatusOr<std::unique_ptr<PathChooser>> MakeChooser(absl::string_view name,
                                                         const Network& network,
                                                         const ProtocolOptions& options = {});

// Routes the requests by the named protocol on top of `standing` (an empty LinkLoad for a dry run)
// and changes nothing. InvalidArgument names a request that is out of range, an input or output
// that is used twice, or an option as CheckOptions does. Also returns the errors of FindProtocol.
absl::StatusOr<RouteResult> RoutePermutation(absl::string_view protocol, const LinkLoad& standing,
                                             const std::vector<Request>& requests,
                                             const ProtocolOptions& options = {});
// A dry run of a whole permutation.
absl::StatusOr<RouteResult> RoutePermutation(absl::string_view protocol, const Network& network,
                                             const Permutation& permutation,
                                             const ProtocolOptions& options = {});

// InvalidArgument names an option that is out of its range, or that the protocol does not take.
absl::Status CheckOptions(const Protocol& protocol, const ProtocolOptions& options);

// Returns the error with which RoutePermutation would refuse these requests, without routing them.
absl::Status CheckRouting(absl::string_view protocol, const Network& network,
                          const std::vector<Request>& requests,
                          const ProtocolOptions& options = {});

// For protocols that choose path by path: routes the requests in their order, each on top of the
// ones before. Fills in everything but rounds, messages and passes_alone.
RouteResult RouteOneByOne(const PathChooser& chooser, const Network& network,
                          const LinkLoad* standing, const std::vector<Request>& requests);

// For choosers that do not ask the network: each request sends one packet that reserves its path on
// the way, all in one round. Fills in everything.
RouteResult RouteUnasked(const PathChooser& chooser, const Network& network,
                         const LinkLoad* standing, const std::vector<Request>& requests);

// For protocols that choose all paths together, on networks that no path crosses twice: fills in
// the congestion and dilation of the paths. The crew's workers share the stages.
void MeasureCongestion(const Network& network, const LinkLoad* standing, Crew& crew,
                       RouteResult& result);
// The same on the calling thread alone.
void MeasureCongestion(const Network& network, const LinkLoad* standing, RouteResult& result);

// InvalidArgument: `workers` is more than kMaxWorkers.
absl::Status CheckWorkers(uint32_t workers);

}  // namespace bfly::control
