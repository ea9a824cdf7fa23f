// SPDX-License-Identifier: Apache-2.0
#include "topologies/network.h"

#include <bit>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly {
namespace {

struct KnownKind {
  NetworkKind kind;
  const char* name;
  std::vector<StageWiring> (*wire)(const NetworkSpec& spec, int dimension);
};

std::vector<StageWiring> WireMultibutterfly(const NetworkSpec& spec, int d) {
  return MultibutterflyWiring(d, spec.multiplicity, spec.parallel_edges.value_or(kDefaultEdges),
                              spec.seed);
}

constexpr KnownKind kKinds[] = {
    {NetworkKind::kButterfly, "butterfly",
     [](const NetworkSpec& spec, int d) { return ExtraStagesWiring(d, spec.extra_stages); }},
    {NetworkKind::kWrappedButterfly, "wrapped_butterfly",
     [](const NetworkSpec&, int d) { return ButterflyWiring(d); }},
    {NetworkKind::kTwoFoldButterfly, "two_fold_butterfly",
     [](const NetworkSpec&, int d) { return TwoFoldButterflyWiring(d); }},
    {NetworkKind::kHypercube, "hypercube",
     [](const NetworkSpec&, int d) { return HypercubeWiring(d); }},
    {NetworkKind::kRandomlyWiredButterfly, "randomly_wired_butterfly",
     [](const NetworkSpec& spec, int d) { return RandomlyWiredButterflyWiring(d, spec.seed); }},
    {NetworkKind::kBenes, "benes", [](const NetworkSpec&, int d) { return BenesWiring(d); }},
    // The parallel links of a direction are wired alike.
    {NetworkKind::kDilatedButterfly, "dilated_butterfly",
     [](const NetworkSpec&, int d) { return ButterflyWiring(d); }},
    {NetworkKind::kMultibutterfly, "multibutterfly", WireMultibutterfly},
};

// Two passes, two copies and extra stages are the longest paths, and a tag must hold a bit for each
// hop.
static_assert(2 * std::countr_zero(kMaxRows) <= kMaxTagBits);
static_assert(std::countr_zero(kMaxRows) + kMaxExtraStages <= kMaxTagBits);

absl::Status OutsideOf(absl::string_view field, int64_t value, uint64_t count) {
  return absl::OutOfRangeError(absl::StrCat(field, ": ", value, " is outside 0..", count - 1));
}

absl::Status NeedsKind(absl::string_view what, absl::string_view kinds, NetworkKind kind) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " needs kind ", kinds, ", not ", KindName(kind)));
}

// Checks multiplicity and rule against what the kind allows.
absl::Status CheckPorts(const NetworkSpec& spec) {
  if (spec.multiplicity < 1 || spec.multiplicity > kMaxMultiplicity) {
    return absl::InvalidArgumentError(
        absl::StrCat("multiplicity: ", spec.multiplicity, " is outside 1..", kMaxMultiplicity));
  }
  if (spec.kind == NetworkKind::kDilatedButterfly && spec.multiplicity > kMaxDilation) {
    return absl::InvalidArgumentError(absl::StrCat("multiplicity: ", spec.multiplicity,
                                                   " is outside 1..", kMaxDilation,
                                                   ", which a dilated_butterfly may have"));
  }
  const bool splits = spec.kind == NetworkKind::kMultibutterfly;
  if (spec.multiplicity != 1 && !splits && spec.kind != NetworkKind::kDilatedButterfly) {
    return NeedsKind(absl::StrCat("multiplicity: ", spec.multiplicity),
                     "dilated_butterfly or multibutterfly", spec.kind);
  }
  if (splits && static_cast<uint32_t>(spec.multiplicity) > spec.rows / 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "multiplicity: ", spec.multiplicity, " is more than a splitter of ", spec.rows,
        " rows can take: a side of it has ", spec.rows / 2, spec.rows == 2 ? " output" : " outputs",
        "; use a lower multiplicity or more rows"));
  }
  if (spec.rule.has_value() && spec.multiplicity == 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("rule: ", RuleName(*spec.rule),
                     " has nothing to choose from: this network has one port a direction; leave "
                     "it out, or use kind dilated_butterfly or multibutterfly with a multiplicity "
                     "above 1"));
  }
  return absl::OkStatus();
}

// Checks the keys that only one kind has.
absl::Status CheckKeysOfKind(const NetworkSpec& spec) {
  if (spec.passes < 1 || spec.passes > 2) {
    return absl::InvalidArgumentError(absl::StrCat("passes: ", spec.passes, " is outside 1..2"));
  }
  if (spec.passes != 1 && spec.kind != NetworkKind::kWrappedButterfly) {
    return NeedsKind(absl::StrCat("passes: ", spec.passes), "wrapped_butterfly", spec.kind);
  }
  if (spec.extra_stages < 0 || spec.extra_stages > kMaxExtraStages) {
    return absl::InvalidArgumentError(
        absl::StrCat("extra_stages: ", spec.extra_stages, " is outside 0..", kMaxExtraStages));
  }
  if (spec.extra_stages != 0 && spec.kind != NetworkKind::kButterfly) {
    return NeedsKind(absl::StrCat("extra_stages: ", spec.extra_stages), "butterfly", spec.kind);
  }
  if (spec.parallel_edges.has_value() && spec.kind != NetworkKind::kMultibutterfly) {
    return NeedsKind(absl::StrCat("parallel_edges: ", ParallelEdgesName(*spec.parallel_edges)),
                     "multibutterfly", spec.kind);
  }
  return absl::OkStatus();
}

// Checks that the tables of random splitters do not become too large.
absl::Status CheckTables(const NetworkSpec& spec) {
  if (spec.kind != NetworkKind::kMultibutterfly) return absl::OkStatus();
  const uint64_t links = uint64_t{spec.rows} * std::countr_zero(spec.rows) * kDirections *
                         static_cast<uint64_t>(spec.multiplicity);
  if (links <= kMaxTableLinks) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rows: ", spec.rows, " with a multiplicity of ", spec.multiplicity, " make ",
                   links, " randomly wired links; at most ", kMaxTableLinks,
                   " are kept: use fewer rows or a lower multiplicity"));
}

// Checks that a tag has room for the ports of all hops.
absl::Status CheckTagBits(const NetworkSpec& spec, const TagLayout& layout) {
  if (layout.bits() > kMaxTagBits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "multiplicity: ", spec.multiplicity, " with ", spec.rows, " rows needs tags of ",
        layout.bits(), " bits (", layout.hops, " hops of ", layout.field_bits, "); at most ",
        kMaxTagBits, " have room: use fewer rows or a lower multiplicity"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view ParallelEdgesName(ParallelEdges edges) {
  return edges == ParallelEdges::kKeep ? "keep" : "avoid";
}

absl::StatusOr<ParallelEdges> ParallelEdgesFromName(absl::string_view name) {
  for (const ParallelEdges edges : {ParallelEdges::kKeep, ParallelEdges::kAvoid}) {
    if (name == ParallelEdgesName(edges)) return edges;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("parallel_edges: \"", name, "\" is not known; use keep or avoid"));
}

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
  for (const auto check : {CheckKeysOfKind, CheckPorts, CheckTables}) {
    if (absl::Status status = check(spec); !status.ok()) return status;
  }
  for (const KnownKind& k : kKinds) {
    if (k.kind != spec.kind) continue;
    Network network;
    network.spec_ = spec;
    network.dimension_ = std::countr_zero(spec.rows);
    network.wiring_ = k.wire(spec, network.dimension_);
    network.layout_ = TagLayout::Of(network.hops(), spec.multiplicity);
    if (absl::Status status = CheckTagBits(spec, network.layout_); !status.ok()) return status;
    for (const StageWiring& stage : network.wiring_) {
      network.into_.push_back(Invert(stage.table, spec.rows));
    }
    return network;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kind: ", static_cast<int>(spec.kind), " is not a network"));
}

Network::LinksInto Network::Invert(const std::vector<Row>& table, uint32_t rows) {
  LinksInto into;
  if (table.empty()) return into;
  into.first.resize(size_t{rows} + 1);
  for (const Row head : table) ++into.first[size_t{head} + 1];
  std::partial_sum(into.first.begin(), into.first.end(), into.first.begin());
  std::vector<uint32_t> next(into.first.begin(), into.first.end() - 1);
  into.links.resize(table.size());
  for (uint32_t link = 0; link < table.size(); ++link) into.links[next[table[link]]++] = link;
  return into;
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
  std::vector<LinkId> links;
  if (w.table.empty()) {
    const int direction = (row & w.mask) != 0;
    for (const Row from : {row & ~w.mask, row | w.mask}) {
      for (int i = 0; i < multiplicity(); ++i) {
        links.push_back({stage, from, direction * multiplicity() + i});
      }
    }
    return links;
  }
  const LinksInto& into = into_[stage];
  for (uint32_t i = into.first[row]; i < into.first[row + 1]; ++i) {
    links.push_back({stage, into.links[i] / static_cast<uint32_t>(ports()),
                     static_cast<int>(into.links[i] % static_cast<uint32_t>(ports()))});
  }
  return links;
}

}  // namespace bfly
