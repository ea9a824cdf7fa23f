// SPDX-License-Identifier: Apache-2.0
#include "topologies/network.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly {
namespace {

struct NamedKind {
  NetworkKind kind;
  const char* name;
};

constexpr NamedKind kKinds[] = {
    {NetworkKind::kButterfly, "butterfly"},
    {NetworkKind::kWrappedButterfly, "wrapped_butterfly"},
    {NetworkKind::kTwoFoldButterfly, "two_fold_butterfly"},
};

// Cole et al. 1998, section 1: transition i -> i+1 touches position i+1, counted from the left.
StageWiring SetsPosition(int position, int dimension) {
  return StageWiring{.mask = 1u << (dimension - position), .table = {}};
}

}  // namespace

absl::string_view KindName(NetworkKind kind) {
  for (const NamedKind& k : kKinds) {
    if (k.kind == kind) return k.name;
  }
  return "unknown";
}

absl::StatusOr<NetworkKind> KindFromName(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const NamedKind& k : kKinds) {
    if (name == k.name) return k.kind;
    names.push_back(k.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kind: \"", name, "\" is not a network; use one of ", absl::StrJoin(names, ", ")));
}

std::vector<NetworkKind> AllKinds() {
  std::vector<NetworkKind> kinds;
  for (const NamedKind& k : kKinds) kinds.push_back(k.kind);
  return kinds;
}

absl::StatusOr<Network> Network::Make(const NetworkSpec& spec) {
  if (spec.rows < kMinRows || spec.rows > kMaxRows || !std::has_single_bit(spec.rows)) {
    return absl::InvalidArgumentError(absl::StrCat("rows: ", spec.rows,
                                                   " is not a power of two from ", kMinRows, " to ",
                                                   kMaxRows));
  }
  if (spec.passes < 1 || spec.passes > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("passes: ", spec.passes, " is outside 1..2"));
  }
  if (spec.passes != 1 && spec.kind != NetworkKind::kWrappedButterfly) {
    return absl::InvalidArgumentError(absl::StrCat(
        "passes: ", spec.passes, " needs kind wrapped_butterfly, not ", KindName(spec.kind)));
  }
  Network network;
  network.spec_ = spec;
  const int d = network.dimension_ = std::countr_zero(spec.rows);
  const int copies = spec.kind == NetworkKind::kTwoFoldButterfly ? 2 : 1;
  for (int stage = 0; stage < copies * d; ++stage) {
    network.wiring_.push_back(SetsPosition(stage % d + 1, d));
  }
  return network;
}

LinkId Network::link_at(uint64_t index) const {
  const uint64_t node = index / ports();
  return LinkId{.stage = static_cast<int>(node / rows()),
                .row = static_cast<Row>(node % rows()),
                .port = static_cast<int>(index % ports())};
}

std::vector<LinkId> Network::feeders(int stage, Row row) const {
  std::vector<LinkId> links;
  const StageWiring& w = wiring_[stage];
  if (w.table.empty()) {
    const int port = (row & w.mask) != 0;
    links.push_back({stage, row & ~w.mask, port});
    links.push_back({stage, row | w.mask, port});
    return links;
  }
  for (Row from = 0; from < rows(); ++from) {
    for (int port = 0; port < ports(); ++port) {
      if (next_row(stage, from, port) == row) links.push_back({stage, from, port});
    }
  }
  return links;
}

}  // namespace bfly
