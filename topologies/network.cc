// SPDX-License-Identifier: Apache-2.0
#include "topologies/network.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "topologies/tag.h"

namespace bfly {
namespace {

struct KnownKind {
  NetworkKind kind;
  const char* name;
  std::vector<StageWiring> (*wire)(int dimension, uint64_t seed);
};

constexpr KnownKind kKinds[] = {
    {NetworkKind::kButterfly, "butterfly", [](int d, uint64_t) { return ButterflyWiring(d); }},
    {NetworkKind::kWrappedButterfly, "wrapped_butterfly",
     [](int d, uint64_t) { return ButterflyWiring(d); }},
    {NetworkKind::kTwoFoldButterfly, "two_fold_butterfly",
     [](int d, uint64_t) { return TwoFoldButterflyWiring(d); }},
    {NetworkKind::kHypercube, "hypercube", [](int d, uint64_t) { return HypercubeWiring(d); }},
    {NetworkKind::kRandomlyWiredButterfly, "randomly_wired_butterfly",
     RandomlyWiredButterflyWiring},
    {NetworkKind::kBenes, "benes", [](int d, uint64_t) { return BenesWiring(d); }},
};

// Two passes or two copies are the longest paths, and a tag must hold a bit for each hop.
static_assert(2 * std::countr_zero(kMaxRows) <= kMaxHops);

absl::Status OutsideOf(absl::string_view field, int64_t value, uint64_t count) {
  return absl::OutOfRangeError(absl::StrCat(field, ": ", value, " is outside 0..", count - 1));
}

// The inverse of a stage's table: every row has two links in.
std::vector<uint32_t> LinksInto(const std::vector<Row>& table, Row rows) {
  std::vector<uint32_t> into(table.size());
  std::vector<uint8_t> found(table.empty() ? 0 : rows);
  for (uint32_t link = 0; link < table.size(); ++link) {
    into[2 * size_t{table[link]} + found[table[link]]++] = link;
  }
  return into;
}

}  // namespace

absl::string_view KindName(NetworkKind kind) {
  for (const KnownKind& k : kKinds) {
    if (k.kind == kind) return k.name;
  }
  return "unknown";
}

absl::StatusOr<NetworkKind> KindFromName(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const KnownKind& k : kKinds) {
    if (name == k.name) return k.kind;
    names.push_back(k.name);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "kind: \"", name, "\" is not a network; use one of ", absl::StrJoin(names, ", ")));
}

std::vector<NetworkKind> AllKinds() {
  std::vector<NetworkKind> kinds;
  for (const KnownKind& k : kKinds) kinds.push_back(k.kind);
  return kinds;
}

absl::StatusOr<Network> Network::Make(const NetworkSpec& spec) {
  if (spec.rows < kMinRows || spec.rows > kMaxRows || !std::has_single_bit(spec.rows)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rows: ", spec.rows, " is not a power of two from ", kMinRows, " to ", kMaxRows));
  }
  if (spec.passes < 1 || spec.passes > 2) {
    return absl::InvalidArgumentError(absl::StrCat("passes: ", spec.passes, " is outside 1..2"));
  }
  if (spec.passes != 1 && spec.kind != NetworkKind::kWrappedButterfly) {
    return absl::InvalidArgumentError(absl::StrCat(
        "passes: ", spec.passes, " needs kind wrapped_butterfly, not ", KindName(spec.kind)));
  }
  for (const KnownKind& k : kKinds) {
    if (k.kind != spec.kind) continue;
    Network network;
    network.spec_ = spec;
    network.dimension_ = std::countr_zero(spec.rows);
    network.wiring_ = k.wire(network.dimension_, spec.seed);
    for (const StageWiring& stage : network.wiring_) {
      network.into_.push_back(LinksInto(stage.table, spec.rows));
    }
    return network;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kind: ", static_cast<int>(spec.kind), " is not a network"));
}

int Network::position_of_stage(int stage) const {
  return dimension_ - std::countr_zero(wiring_[stage].mask);
}

absl::Status Network::CheckLink(LinkId link) const {
  if (link.stage < 0 || link.stage >= stages()) return OutsideOf("stage", link.stage, stages());
  if (link.row >= rows()) return OutsideOf("row", link.row, rows());
  if (link.port < 0 || link.port >= ports()) return OutsideOf("port", link.port, ports());
  return absl::OkStatus();
}

LinkId Network::link_at(uint64_t index) const {
  const uint64_t node = index / ports();
  return LinkId{.stage = static_cast<int>(node / rows()),
                .row = static_cast<Row>(node % rows()),
                .port = static_cast<int>(index % ports())};
}

std::vector<LinkId> Network::feeders(int stage, Row row) const {
  const StageWiring& w = wiring_[stage];
  if (w.table.empty()) {
    const int port = (row & w.mask) != 0;
    return {{stage, row & ~w.mask, port}, {stage, row | w.mask, port}};
  }
  const uint32_t* into = &into_[stage][2 * size_t{row}];
  return {{stage, into[0] / 2, static_cast<int>(into[0] % 2)},
          {stage, into[1] / 2, static_cast<int>(into[1] % 2)}};
}

}  // namespace bfly
