// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/disjoint_cut.h"

#include <algorithm>
#include <unordered_map>

namespace bfly::control {
namespace {

struct Node {
  int level = 0;
  Row row = 0;
};

// A flow of one unit for each request of a group, from the inputs to the outputs of the group.
class GroupFlow {
 public:
  // The outputs of the requests agree in their first `fixed` positions.
  GroupFlow(const OpenLinks& open, const Request* first, const Request* end, int fixed,
            uint64_t& looks)
      : open_(open),
        network_(open.network()),
        first_(first),
        end_(end),
        fixed_(fixed),
        looks_(looks) {
    for (const Request* request = first; request != end; ++request) {
      sink_used_[request->output] = false;
    }
  }

  std::optional<DisjointCut> FindCut(uint64_t most_looks) {
    for (const Request* request = first_; request != end_; ++request) {
      if (looks_ > most_looks) return std::nullopt;
      if (!Augment(request->input)) return CutBehindSeen();
    }
    return std::nullopt;
  }

 private:
  static constexpr uint64_t kStart = ~uint64_t{0};

  uint64_t NumberOf(Node node) const {
    return static_cast<uint64_t>(node.level) * network_.rows() + node.row;
  }
  // Calls visit(link) for the open links of a node that the group may use.
  template <typename Visit>
  void ForEachWayOn(Node node, const Visit& visit) {
    for (int direction = 0; direction < kDirections; ++direction) {
      if (node.level < fixed_ && direction != open_.direction(first_->output, node.level)) continue;
      const uint64_t first = open_.first_link(node.level, node.row, direction);
      looks_ += static_cast<uint64_t>(network_.multiplicity());
      for (uint64_t link = first; link < first + network_.multiplicity(); ++link) {
        if (open_.is_open(link)) visit(link);
      }
    }
  }

  // Breadth first, over links without flow forward and over links with flow backward.
  bool Augment(Row input) {
    seen_.clear();
    queue_.clear();
    See({0, input}, kStart, false);
    for (size_t at = 0; at < queue_.size(); ++at) {
      const Node node = queue_[at];
      if (node.level == network_.stages()) {
        const auto sink = sink_used_.find(node.row);
        if (sink != sink_used_.end() && !sink->second) {
          sink->second = true;
          TurnBack(node);
          return true;
        }
      } else {
        ForEachWayOn(node, [&](uint64_t link) {
          if (!used_.count(link)) See({node.level + 1, open_.head(link)}, link, true);
        });
      }
      if (node.level == 0) continue;
      const auto into = flow_into_.find(NumberOf(node));
      if (into == flow_into_.end()) continue;
      for (const uint64_t link : into->second) {
        See({node.level - 1, network_.link_at(link).row}, link, false);
      }
    }
    return false;
  }
  void See(Node node, uint64_t by, bool forward) {
    if (seen_.try_emplace(NumberOf(node), Came{by, forward}).second) queue_.push_back(node);
  }
  // Walks from the end of the augmenting path back to its start.
  void TurnBack(Node node) {
    for (;;) {
      const Came came = seen_.at(NumberOf(node));
      if (came.by == kStart) return;
      const LinkId link = network_.link_at(came.by);
      if (came.forward) {
        used_[came.by] = true;
        flow_into_[NumberOf(node)].push_back(came.by);
        node = {link.stage, link.row};
      } else {
        used_.erase(came.by);
        node = {link.stage + 1, open_.head(came.by)};
        std::vector<uint64_t>& into = flow_into_[NumberOf(node)];
        into.erase(std::find(into.begin(), into.end(), came.by));
      }
    }
  }

  // The cut between what the last search has seen and the rest.
  DisjointCut CutBehindSeen() {
    DisjointCut cut;
    for (const Request* request = first_; request != end_; ++request) {
      if (seen_.count(NumberOf({0, request->input}))) cut.inputs.push_back(request->input);
    }
    for (const Node& node : queue_) {
      if (node.level == network_.stages()) {
        if (sink_used_.count(node.row)) cut.near_outputs.push_back(node.row);
        continue;
      }
      ForEachWayOn(node, [&](uint64_t link) {
        if (!seen_.count(NumberOf({node.level + 1, open_.head(link)}))) cut.links.push_back(link);
      });
    }
    std::sort(cut.inputs.begin(), cut.inputs.end());
    std::sort(cut.links.begin(), cut.links.end());
    std::sort(cut.near_outputs.begin(), cut.near_outputs.end());
    return cut;
  }

  struct Came {
    uint64_t by = kStart;  // the link over which the search came
    bool forward = true;
  };

  const OpenLinks& open_;
  const Network& network_;
  const Request* const first_;
  const Request* const end_;
  const int fixed_;
  uint64_t& looks_;
  std::unordered_map<Row, bool> sink_used_;                        // by output of the group
  std::unordered_map<uint64_t, bool> used_;                        // links with flow
  std::unordered_map<uint64_t, std::vector<uint64_t>> flow_into_;  // by node: links with flow
  std::unordered_map<uint64_t, Came> seen_;                        // by node
  std::vector<Node> queue_;
};

}  // namespace

std::optional<DisjointCut> FindDisjointCut(const OpenLinks& open,
                                           const std::vector<Request>& requests,
                                           uint64_t most_looks) {
  const int stages = open.network().stages();
  std::vector<Request> sorted = requests;
  std::sort(sorted.begin(), sorted.end(),
            [](const Request& a, const Request& b) { return a.output < b.output; });
  uint64_t looks = 0;
  for (int fixed = stages; fixed >= 0; --fixed) {
    for (size_t begin = 0; begin < sorted.size();) {
      const auto group_of = [&](size_t i) { return sorted[i].output >> (stages - fixed); };
      size_t end = begin;
      while (end < sorted.size() && group_of(end) == group_of(begin)) ++end;
      GroupFlow flow(open, &sorted[begin], sorted.data() + end, fixed, looks);
      if (auto cut = flow.FindCut(most_looks); cut.has_value()) return cut;
      if (looks > most_looks) return std::nullopt;
      begin = end;
    }
  }
  return std::nullopt;
}

}  // namespace bfly::control
