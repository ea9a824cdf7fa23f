// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/level_matching.h"

#include <algorithm>

namespace bfly::control {
namespace {

constexpr uint32_t kNobody = ~0u;
constexpr uint64_t kNoLink = ~uint64_t{0};

// The matching of all requests to the links of one stage. A link takes one request, and the node
// behind it at most `bound`, and as many for each direction of the next stage as it has open links
// there.
class StageMatching {
 public:
  StageMatching(const OpenLinks& open, const std::vector<Request>& requests, int stage,
                const std::vector<Row>& at)
      : open_(open),
        network_(open.network()),
        requests_(requests),
        stage_(stage),
        at_(at),
        ports_(static_cast<uint64_t>(network_.multiplicity())),
        first_of_stage_(network_.link_index({stage, 0, 0})),
        owner_(size_t{network_.rows()} * static_cast<size_t>(network_.ports()), kNobody),
        link_seen_(owner_.size()),
        guests_(network_.rows()),
        node_seen_(2 * size_t{network_.rows()}),
        link_of_(requests.size(), kNoLink),
        came_by_(requests.size()),
        came_over_(requests.size()),
        request_seen_(requests.size()) {}

  // The links of the requests, or nothing if one finds none.
  std::optional<std::vector<uint64_t>> Match() {
    for (uint32_t bound = 1; bound <= kDirections * ports_; ++bound) {
      bound_ = bound;
      bool all = true;
      for (uint32_t request = 0; request < requests_.size(); ++request) {
        if (link_of_[request] == kNoLink) all = Place(request) && all;
      }
      if (all) return link_of_;
      ForgetAll();
    }
    return std::nullopt;
  }

 private:
  // The direction in which the request goes on from the next level.
  int NextDirection(uint32_t request) const {
    const bool last = stage_ + 1 == network_.stages();
    return last ? 0 : open_.direction(requests_[request].output, stage_ + 1);
  }
  // How many requests for a direction of the next stage may come to a node.
  size_t RoomFor(Row node, int direction) const {
    if (stage_ + 1 == network_.stages()) return 1;
    return static_cast<size_t>(open_.CountOpen(stage_ + 1, node, direction));
  }
  size_t GuestsFor(Row node, int direction) const {
    return static_cast<size_t>(
        std::count_if(guests_[node].begin(), guests_[node].end(),
                      [&](uint32_t guest) { return NextDirection(guest) == direction; }));
  }
  bool IsUsable(uint32_t request, uint64_t link) const {
    return open_.is_open(link) && RoomFor(open_.head(link), NextDirection(request)) > 0;
  }
  uint32_t& owner(uint64_t link) { return owner_[link - first_of_stage_]; }

  // Searches for an augmenting path, breadth first. The other searches with this bound leave out
  // what a search that failed has seen.
  bool Place(uint32_t start) {
    queue_.clear();
    links_.clear();
    nodes_.clear();
    See(start, kNobody, kNoLink);
    for (size_t next = 0; next < queue_.size(); ++next) {
      const uint32_t request = queue_[next];
      const uint64_t first = open_.first_link(stage_, at_[request],
                                              open_.direction(requests_[request].output, stage_));
      for (uint64_t link = first; link < first + ports_; ++link) {
        if (link_seen_[link - first_of_stage_] || !IsUsable(request, link)) continue;
        link_seen_[link - first_of_stage_] = true;
        links_.push_back(link);
        const Row node = open_.head(link);
        const int next_direction = NextDirection(request);
        const bool full =
            GuestsFor(node, next_direction) >= RoomFor(node, next_direction);  // for the direction
        if (const uint32_t held_by = owner(link); held_by != kNobody) {
          if (!full || NextDirection(held_by) == next_direction) See(held_by, request, link);
          continue;
        }
        if (!full && guests_[node].size() < bound_) {
          const bool placed = Augment(request, link);
          if (placed) Forget();
          return placed;
        }
        const size_t seen = 2 * size_t{node} + static_cast<size_t>(full && next_direction == 1);
        if (node_seen_[seen]) continue;
        node_seen_[seen] = true;
        nodes_.push_back(seen);
        for (const uint32_t guest : guests_[node]) {
          if (!full || NextDirection(guest) == next_direction) See(guest, request, link);
        }
      }
    }
    return false;
  }
  // `request` can be placed if `by`, which would take `over`, makes it leave its link.
  void See(uint32_t request, uint32_t by, uint64_t over) {
    if (request_seen_[request]) return;
    request_seen_[request] = true;
    came_by_[request] = by;
    came_over_[request] = over;
    queue_.push_back(request);
  }
  // Moves the requests of an augmenting path. A path that comes to one node twice can bring it too
  // many requests for a direction. Then nothing moves and the answer is false.
  bool Augment(uint32_t request, uint64_t link) {
    struct Move {
      uint32_t request;
      uint64_t from, to;
    };
    std::vector<Move> moves;
    for (;;) {
      moves.push_back({request, link_of_[request], link});
      if (came_by_[request] == kNobody) break;
      link = came_over_[request];
      request = came_by_[request];
    }
    for (const Move& move : moves) Leave(move.request);
    for (const Move& move : moves) Take(move.request, move.to);
    const bool fits = std::all_of(moves.begin(), moves.end(), [&](const Move& move) {
      const Row node = open_.head(move.to);
      const int next = NextDirection(move.request);
      return GuestsFor(node, next) <= RoomFor(node, next) && guests_[node].size() <= bound_;
    });
    if (fits) return true;
    for (const Move& move : moves) Leave(move.request);
    for (const Move& move : moves) Take(move.request, move.from);
    return false;
  }
  void Leave(uint32_t request) {
    const uint64_t link = link_of_[request];
    if (link == kNoLink) return;
    owner(link) = kNobody;
    std::vector<uint32_t>& guests = guests_[open_.head(link)];
    guests.erase(std::find(guests.begin(), guests.end(), request));
    link_of_[request] = kNoLink;
  }
  void Take(uint32_t request, uint64_t link) {
    if (link == kNoLink) return;
    link_of_[request] = link;
    owner(link) = request;
    guests_[open_.head(link)].push_back(request);
  }
  void Forget() {
    for (const uint32_t request : queue_) request_seen_[request] = false;
    for (const uint64_t link : links_) link_seen_[link - first_of_stage_] = false;
    for (const size_t seen : nodes_) node_seen_[seen] = false;
  }
  void ForgetAll() {
    std::fill(request_seen_.begin(), request_seen_.end(), false);
    std::fill(link_seen_.begin(), link_seen_.end(), false);
    std::fill(node_seen_.begin(), node_seen_.end(), false);
  }

  const OpenLinks& open_;
  const Network& network_;
  const std::vector<Request>& requests_;
  const int stage_;
  const std::vector<Row>& at_;  // by request
  const uint64_t ports_;        // of a direction
  const uint64_t first_of_stage_;
  uint32_t bound_ = 1;
  std::vector<uint32_t> owner_;  // by link of the stage
  std::vector<bool> link_seen_;
  std::vector<std::vector<uint32_t>> guests_;  // by row of the next level: requests that come there
  std::vector<bool> node_seen_;      // by row of the next level and direction, two for each row
  std::vector<uint64_t> link_of_;    // by request
  std::vector<uint32_t> came_by_;    // by request, in the search
  std::vector<uint64_t> came_over_;  // by request, in the search
  std::vector<bool> request_seen_;
  // What the search that runs has marked.
  std::vector<uint32_t> queue_;
  std::vector<uint64_t> links_;
  std::vector<size_t> nodes_;
};

}  // namespace

std::optional<LinkPaths> MatchLevelByLevel(const OpenLinks& open,
                                           const std::vector<Request>& requests) {
  LinkPaths paths(requests.size());
  std::vector<Row> at;
  for (const Request& request : requests) at.push_back(request.input);
  for (int stage = 0; stage < open.network().stages(); ++stage) {
    const auto links = StageMatching(open, requests, stage, at).Match();
    if (!links.has_value()) return std::nullopt;
    for (size_t i = 0; i < requests.size(); ++i) {
      paths[i].push_back((*links)[i]);
      at[i] = open.head((*links)[i]);
    }
  }
  return paths;
}

}  // namespace bfly::control
