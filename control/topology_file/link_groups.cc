// SPDX-License-Identifier: Apache-2.0
// Groups links with equal settings.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/topology_file/link_policy.h"
#include "control/topology_file/quantity.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {

using dataplane::LinkPlan;
using dataplane::LinkRule;

absl::StatusOr<std::vector<v1::LinkGroup>> GroupLinks(const LinkPlan& plan, const Network& network,
                                                      const v1::LinkOverride& selector) {
  const auto stages = ExpandRanges(
      selector.stages().empty() ? absl::StrCat("0-", network.stages() - 1) : selector.stages(),
      network.stages() - 1, "stage");
  if (!stages.ok()) return stages.status();
  const auto rows = ParseRanges(selector.rows().empty() ? absl::StrCat("0-", network.rows() - 1)
                                                        : selector.rows());
  if (!rows.ok()) return rows.status();
  if (absl::Status status = CheckRanges(*rows, network.rows() - 1, "row"); !status.ok()) {
    return status;
  }
  // Between two of these rows all links of a stage and port have equal settings.
  std::vector<uint64_t> cuts;
  for (const LinkRule& rule : plan.rules) {
    cuts.push_back(rule.first_row);
    cuts.push_back(uint64_t{rule.last_row} + 1);
  }
  for (const Range& range : *rows) {
    cuts.push_back(range.first);
    cuts.push_back(uint64_t{range.last} + 1);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

  struct Piece {
    Range rows;
    std::string ports;
    dataplane::LinkShape shape;
    bool operator==(const Piece&) const = default;
  };
  std::vector<std::pair<std::vector<uint32_t>, std::vector<Piece>>> alike;  // stages, their pieces
  for (const uint32_t stage : *stages) {
    std::vector<Piece> pieces;
    const auto add = [&pieces](Piece piece) {
      for (Piece& before : pieces) {
        if (before.rows.last + 1 == piece.rows.first && before.ports == piece.ports &&
            before.shape == piece.shape) {
          before.rows.last = piece.rows.last;
          return;
        }
      }
      pieces.push_back(std::move(piece));
    };
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      const Range here{static_cast<uint32_t>(cuts[i]), static_cast<uint32_t>(cuts[i + 1] - 1)};
      const bool selected = std::any_of(rows->begin(), rows->end(), [&](const Range& range) {
        return here.first >= range.first && here.last <= range.last;
      });
      if (!selected) continue;
      std::vector<dataplane::LinkShape> shapes;
      for (int port = 0; port < network.ports(); ++port) {
        shapes.push_back(plan.Of({static_cast<int>(stage), here.first, port}));
      }
      const bool same = std::all_of(shapes.begin(), shapes.end(),
                                    [&](const auto& shape) { return shape == shapes.front(); });
      if (!selector.has_port() && same) {
        add({here, absl::StrCat("0-", network.ports() - 1), shapes.front()});
        continue;
      }
      for (size_t port = 0; port < shapes.size(); ++port) {
        if (selector.has_port() && selector.port() != port) continue;
        add({here, absl::StrCat(port), shapes[port]});
      }
    }
    if (!alike.empty() && alike.back().second == pieces) {
      alike.back().first.push_back(stage);
    } else {
      alike.push_back({{stage}, std::move(pieces)});
    }
  }

  std::vector<v1::LinkGroup> groups;
  for (const auto& [of_stages, pieces] : alike) {
    for (const Piece& piece : pieces) {
      v1::LinkGroup& group = groups.emplace_back();
      group.set_stages(FormatRanges(of_stages));
      group.set_rows(piece.rows.first == piece.rows.last
                         ? absl::StrCat(piece.rows.first)
                         : absl::StrCat(piece.rows.first, "-", piece.rows.last));
      group.set_ports(piece.ports);
      group.set_rate(FormatRate(piece.shape.bits_per_second));
      group.set_delay(FormatDuration(piece.shape.delay_ns));
      group.set_queue_limit(piece.shape.queue_limit);
      group.set_loss(piece.shape.loss);
      group.set_discipline(
          static_cast<v1::LinkPolicy::Discipline>(static_cast<int>(piece.shape.discipline) + 1));
    }
  }
  return groups;
}

}  // namespace bfly::control
