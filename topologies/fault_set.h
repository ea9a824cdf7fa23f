// SPDX-License-Identifier: Apache-2.0
// Which links and nodes of a network are down, and which outputs can still be reached. Protocols
// get a FaultSet and choose among the paths that are left.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly {

// Nodes of level 0 are the inputs. Unless the network is wrapped, no link leaves the nodes of the
// last level.
struct NodeId {
  int level = 0;
  Row row = 0;
  friend bool operator==(const NodeId&, const NodeId&) = default;
};

// "l2 r6". The command line reads it back.
std::string NodeText(NodeId node);

// What may be down by itself.
using Fault = std::variant<LinkId, NodeId>;

// OutOfRange names the field that is not a stage, level, row or port of the network.
absl::Status CheckFault(const Fault& fault, const Network& network);

class FaultSet {
 public:
  // Nothing is down. `network` must outlive the object and its copies.
  explicit FaultSet(const Network& network);
  const Network& network() const { return *network_; }

  // The link or node must belong to the network. A node that is down takes its links with it.
  void SetLinkUp(LinkId link, bool up);
  void SetNodeUp(NodeId node, bool up);
  void SetFault(const Fault& fault, bool down);
  // The link works, but no path may cross it.
  void Avoid(LinkId link);

  // Whether the link was taken down by itself. It is false for a link that only its node takes
  // down.
  bool is_down(LinkId link) const { return links_.count(network_->link_index(link)) != 0; }
  bool is_down(NodeId node) const { return nodes_.count(NumberOf(node)) != 0; }
  bool is_down(const Fault& fault) const;
  bool empty() const { return blocked_.empty(); }
  // Links that were taken down by themselves, in the order of their index.
  std::vector<LinkId> down_links() const;
  std::vector<NodeId> down_nodes() const;  // by level, then by row
  std::vector<Fault> down() const;         // both

  // Returns the link, or every link that enters or leaves the node. Each link comes once, in the
  // order of its index.
  std::vector<uint64_t> LinksOf(const Fault& fault) const;

  // Whether no path may cross the link: it is down, one of its nodes is down, or it is avoided.
  bool blocks(uint64_t link_index) const { return blocked_.count(link_index) != 0; }
  // All links that no path may cross, in the order of their index.
  std::vector<LinkId> blocked_links() const;
  // The first link of the path that no path may cross. If there is none, the path is whole.
  std::optional<LinkId> FirstOnPath(Row input, Tag tag) const;
  bool IsWhole(Row input, Tag tag) const { return !FirstOnPath(input, tag).has_value(); }
  // All links of the path that no path may cross, in the order of the path.
  std::vector<LinkId> OnPath(Row input, Tag tag) const;

  // The outputs that a whole path from this input leads to.
  std::vector<bool> ReachableFrom(Row input) const;

  // Why no path may cross the link, such as "s6 r32 p0 is down" or "s6 r32 p0 is down with node l7
  // r32".
  std::string WhyBlocked(LinkId link) const;

 private:
  uint64_t NumberOf(NodeId node) const {
    return static_cast<uint64_t>(node.level) * network_->rows() + node.row;
  }
  std::vector<uint64_t> LinksOfNode(NodeId node) const;
  void Block(uint64_t link_index);
  void Unblock(uint64_t link_index);

  const Network* network_;
  std::set<uint64_t> links_;    // taken down by themselves
  std::set<uint64_t> nodes_;    // NumberOf
  std::set<uint64_t> avoided_;  // links
  // By link: the number of reasons why no path may cross it.
  std::unordered_map<uint64_t, uint32_t> blocked_;
  // The number of blocked links by stage. Most stages have none, and need no look-up.
  std::vector<uint32_t> blocked_of_stage_;
};

}  // namespace bfly
