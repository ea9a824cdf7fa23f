// SPDX-License-Identifier: Apache-2.0
#include "topologies/fault_set.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "topologies/link_text.h"

namespace bfly {

std::string NodeText(NodeId node) { return absl::StrCat("l", node.level, " r", node.row); }

absl::Status CheckFault(const Fault& fault, const Network& network) {
  if (const auto* const link = std::get_if<LinkId>(&fault)) return network.CheckLink(*link);
  const NodeId node = std::get<NodeId>(fault);
  const auto outside = [](const char* field, uint64_t value, uint64_t count) {
    return absl::OutOfRangeError(absl::StrCat(field, ": ", value, " is outside 0..", count - 1));
  };
  const auto levels = static_cast<uint64_t>(network.levels());
  const auto level = static_cast<uint32_t>(node.level);
  if (level >= levels) return outside("level", level, levels);
  if (node.row >= network.rows()) return outside("row", node.row, network.rows());
  return absl::OkStatus();
}

FaultSet::FaultSet(const Network& network)
    : network_(&network), blocked_of_stage_(network.stages()) {}

void FaultSet::Block(uint64_t link_index) {
  if (++blocked_[link_index] == 1) ++blocked_of_stage_[network_->link_at(link_index).stage];
}

void FaultSet::Unblock(uint64_t link_index) {
  const auto found = blocked_.find(link_index);
  if (--found->second != 0) return;
  blocked_.erase(found);
  --blocked_of_stage_[network_->link_at(link_index).stage];
}

void FaultSet::SetLinkUp(LinkId link, bool up) {
  const uint64_t index = network_->link_index(link);
  if (up) {
    if (links_.erase(index) != 0) Unblock(index);
  } else if (links_.insert(index).second) {
    Block(index);
  }
}

void FaultSet::SetNodeUp(NodeId node, bool up) {
  if (up) {
    if (nodes_.erase(NumberOf(node)) == 0) return;
    for (const uint64_t link : LinksOfNode(node)) Unblock(link);
  } else if (nodes_.insert(NumberOf(node)).second) {
    for (const uint64_t link : LinksOfNode(node)) Block(link);
  }
}

void FaultSet::SetFault(const Fault& fault, bool down) {
  if (const auto* const link = std::get_if<LinkId>(&fault)) return SetLinkUp(*link, !down);
  SetNodeUp(std::get<NodeId>(fault), !down);
}

bool FaultSet::is_down(const Fault& fault) const {
  return std::visit([this](const auto& part) { return is_down(part); }, fault);
}

void FaultSet::Avoid(LinkId link) {
  const uint64_t index = network_->link_index(link);
  if (avoided_.insert(index).second) Block(index);
}

std::vector<uint64_t> FaultSet::LinksOf(const Fault& fault) const {
  if (const auto* const link = std::get_if<LinkId>(&fault)) return {network_->link_index(*link)};
  return LinksOfNode(std::get<NodeId>(fault));
}

std::vector<uint64_t> FaultSet::LinksOfNode(NodeId node) const {
  std::vector<uint64_t> links;
  if (node.level < network_->stages()) {
    for (int port = 0; port < network_->ports(); ++port) {
      links.push_back(network_->link_index({node.level, node.row, port}));
    }
  }
  // On a wrapped network the last stage leads to level 0.
  const int before = node.level > 0        ? node.level - 1
                     : network_->wrapped() ? network_->stages() - 1
                                           : -1;
  if (before >= 0) {
    for (const LinkId& link : network_->feeders(before, node.row)) {
      links.push_back(network_->link_index(link));
    }
  }
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

std::vector<LinkId> FaultSet::down_links() const {
  std::vector<LinkId> links;
  for (const uint64_t index : links_) links.push_back(network_->link_at(index));
  return links;
}

std::vector<NodeId> FaultSet::down_nodes() const {
  std::vector<NodeId> nodes;
  for (const uint64_t number : nodes_) {
    nodes.push_back(
        {static_cast<int>(number / network_->rows()), static_cast<Row>(number % network_->rows())});
  }
  return nodes;
}

std::vector<Fault> FaultSet::down() const {
  std::vector<Fault> all;
  for (const LinkId& link : down_links()) all.emplace_back(link);
  for (const NodeId& node : down_nodes()) all.emplace_back(node);
  return all;
}

std::vector<LinkId> FaultSet::blocked_links() const {
  std::vector<uint64_t> indexes;
  for (const auto& [index, reasons] : blocked_) indexes.push_back(index);
  std::sort(indexes.begin(), indexes.end());
  std::vector<LinkId> links;
  for (const uint64_t index : indexes) links.push_back(network_->link_at(index));
  return links;
}

std::optional<LinkId> FaultSet::FirstOnPath(Row input, Tag tag) const {
  if (empty()) return std::nullopt;
  const TagLayout& layout = network_->tag_layout();
  Row row = input;
  for (int hop = 0; hop < layout.hops; ++hop) {
    const LinkId link{network_->stage_of_hop(hop), row, layout.port(tag, hop)};
    if (blocked_of_stage_[link.stage] != 0 && blocks(network_->link_index(link))) return link;
    row = network_->next_row(link.stage, row, link.port);
  }
  return std::nullopt;
}

std::vector<LinkId> FaultSet::OnPath(Row input, Tag tag) const {
  std::vector<LinkId> links;
  if (empty()) return links;
  ForEachLink(*network_, input, tag, [&](uint64_t index) {
    const LinkId link = network_->link_at(index);
    // A path of two passes may cross a link twice.
    if (blocks(index) && std::find(links.begin(), links.end(), link) == links.end()) {
      links.push_back(link);
    }
  });
  return links;
}

std::vector<bool> FaultSet::ReachableFrom(Row input) const {
  std::vector<bool> at(network_->rows());
  at[input] = true;
  for (int hop = 0; hop < network_->hops(); ++hop) {
    const int stage = network_->stage_of_hop(hop);
    std::vector<bool> next(network_->rows());
    for (Row row = 0; row < network_->rows(); ++row) {
      for (int port = 0; at[row] && port < network_->ports(); ++port) {
        if (!blocks(network_->link_index({stage, row, port}))) {
          next[network_->next_row(stage, row, port)] = true;
        }
      }
    }
    at.swap(next);
  }
  return at;
}

std::string FaultSet::WhyBlocked(LinkId link) const {
  const uint64_t index = network_->link_index(link);
  const std::string name = LinkText(link);
  const auto reasons = blocked_.find(index);
  if (reasons == blocked_.end() || links_.count(index) != 0) return absl::StrCat(name, " is down");
  const NodeId tail{link.stage, link.row};
  const NodeId head{(link.stage + 1) % network_->levels(),
                    network_->next_row(link.stage, link.row, link.port)};
  for (const NodeId& node : {tail, head}) {
    if (is_down(node)) return absl::StrCat(name, " is down with node ", NodeText(node));
  }
  return absl::StrCat(name, " is to be avoided");
}

}  // namespace bfly
