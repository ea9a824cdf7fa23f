// SPDX-License-Identifier: Apache-2.0
#include "control/services/picture.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/services/link_request.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

// One link of a part's columns, and its circuits.
struct LinkFigures {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint32_t occupancy = 0;
  uint32_t occupancy_peak = 0;
  uint32_t circuits = 0;
  uint64_t busy_ns = 0;
  std::vector<const v1::AgentLinkDrop*> drops;

  bool zero() const {
    return packets == 0 && occupancy_peak == 0 && circuits == 0 && drops.empty();
  }
};

// Returns the links of a picture by index.
class PictureLinks {
 public:
  explicit PictureLinks(const Picture& picture) : picture_(picture) {
    const uint64_t per_stage = uint64_t{picture.network->rows()} * picture.network->ports();
    for (const Picture::Part& part : picture.parts) {
      if (part.stands_in) continue;
      const uint64_t first = part.counters.first_stage() * per_stage;
      columns_.push_back({first, &part.counters});
      for (const v1::AgentLinkDrop& drop : part.counters.link_drops()) {
        drops_[first + drop.link()].push_back(&drop);
      }
    }
  }

  // Nothing: the data plane of the link did not answer.
  std::optional<LinkFigures> at(uint64_t index) const {
    for (const auto& [first, columns] : columns_) {
      const v1::AgentCounters& counters = *columns;
      if (index < first || index - first >= static_cast<uint64_t>(counters.packets_size())) {
        continue;
      }
      LinkFigures figures;
      if (index < picture_.circuits.size()) figures.circuits = picture_.circuits[index];
      if (const auto it = drops_.find(index); it != drops_.end()) figures.drops = it->second;
      const int i = static_cast<int>(index - first);
      figures.packets = counters.packets(i);
      figures.bytes = counters.bytes(i);
      figures.occupancy = counters.occupancy(i);
      figures.occupancy_peak = counters.occupancy_peak(i);
      if (i < counters.busy_ns_size()) figures.busy_ns = counters.busy_ns(i);
      return figures;
    }
    return std::nullopt;
  }

 private:
  const Picture& picture_;
  // Each part has the index of its first link here, and its columns.
  std::vector<std::pair<uint64_t, const v1::AgentCounters*>> columns_;
  std::map<uint64_t, std::vector<const v1::AgentLinkDrop*>> drops_;
};

bool Same(const LinkFigures& a, const LinkFigures& b) {
  const auto key = [](const LinkFigures& f) {
    uint64_t dropped = 0;
    for (const v1::AgentLinkDrop* drop : f.drops) dropped += drop->packets();
    return std::tuple(f.packets, f.bytes, f.occupancy, f.occupancy_peak, f.circuits, dropped);
  };
  return key(a) == key(b);
}

struct Chosen {
  uint64_t index;
  LinkFigures figures;
  uint64_t moved;  // packets since the picture before
};

std::vector<Chosen> ChooseLinks(const Picture& now, const Picture* before,
                                const v1::CounterFilter& filter, bool changed_only) {
  const Network& network = *now.network;
  const PictureLinks links(now);
  const bool comparable = before != nullptr && before->with_links && before->network == now.network;
  const PictureLinks old(comparable ? *before : now);
  std::vector<Chosen> chosen;
  ChoiceOf(filter, network).ForEachFrom(0, [&](uint64_t index) {
    std::optional<LinkFigures> figures = links.at(index);
    if (!figures.has_value() || (filter.nonzero() && figures->zero())) return true;
    const std::optional<LinkFigures> was = comparable ? old.at(index) : LinkFigures{};
    if (changed_only && comparable && was.has_value() && Same(*figures, *was)) return true;
    // Nobody knows what moved over a link since a picture in which it is missing.
    const uint64_t moved =
        was.has_value() ? figures->packets - std::min(figures->packets, was->packets) : 0;
    chosen.push_back({index, *std::move(figures), moved});
    return true;
  });
  if (filter.top() == 0) return chosen;
  const auto hotter = [](const Chosen& a, const Chosen& b) {
    return std::tuple(b.figures.circuits, b.moved, a.index) <
           std::tuple(a.figures.circuits, a.moved, b.index);
  };
  // However few there are, they come in their order, as in the answer of GetCounters.
  const size_t wanted = std::min<size_t>(filter.top(), chosen.size());
  std::partial_sort(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(wanted),
                    chosen.end(), hotter);
  chosen.resize(wanted);
  return chosen;
}

void FillLink(const Network& network, const LinkCapacity& capacity, const Chosen& chosen,
              v1::LinkCounters* out) {
  const LinkId link = network.link_at(chosen.index);
  out->set_stage(link.stage);
  out->set_row(link.row);
  out->set_port(link.port);
  out->set_next_row(network.next_row(link.stage, link.row, link.port));
  out->set_packets(chosen.figures.packets);
  out->set_bytes(chosen.figures.bytes);
  out->set_occupancy(chosen.figures.occupancy);
  out->set_occupancy_peak(chosen.figures.occupancy_peak);
  out->set_circuits(chosen.figures.circuits);
  out->set_busy_ns(chosen.figures.busy_ns);
  out->set_circuit_capacity(capacity.at(chosen.index));
  for (const v1::AgentLinkDrop* drop : chosen.figures.drops) {
    v1::DropCount* count = out->add_drops();
    count->set_reason(drop->reason());
    count->set_packets(drop->packets());
  }
}

// Adds an error if a list of the filter has more entries than the network has of what it lists.
// Subscribers keep their filters.
void CheckCount(absl::string_view field, int entries, uint64_t most, absl::string_view of_what,
                FieldErrors& errors) {
  if (static_cast<uint64_t>(entries) <= most) return;
  errors.Add(field,
             absl::StrCat("has ", entries, " entries, and the network has ", most, " ", of_what,
                          "; give each of them once, or leave the list out for all"));
}

}  // namespace

absl::Status CheckFilter(const v1::CounterFilter& filter, const Network& network) {
  FieldErrors errors;
  const uint64_t stages = network.stages();
  CheckCount("filter.stages", filter.stages_size(), stages, "stages", errors);
  CheckCount("filter.stage_ranges", filter.stage_ranges_size(), stages, "stages", errors);
  CheckCount("filter.rows", filter.rows_size(), network.rows(), "rows", errors);
  CheckCount("filter.row_ranges", filter.row_ranges_size(), network.rows(), "rows", errors);
  CheckCount("filter.ports", filter.ports_size(), network.ports(), "ports", errors);
  // A list that is too long may hold thousands of wrong entries, which nobody needs to hear of.
  if (!errors.empty()) return errors.ToStatus();
  CheckRanges(filter, network, errors);
  if (filter.by() != v1::CounterFilter::FIGURE_UNSPECIFIED) {
    errors.Add("filter.by", "is for GetCounters alone; pictures rank by circuits, then packets");
  }
  return errors.ToStatus();
}

v1::Counters ToCounters(const Picture& now, const Picture* before, const v1::CounterFilter& filter,
                        bool changed_only) {
  v1::Counters counters;
  counters.set_time_ns(now.time_ns);
  counters.set_monotonic_ns(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now.taken.time_since_epoch()).count());
  if (now.with_links && !filter.summary()) {
    for (const Chosen& chosen : ChooseLinks(now, before, filter, changed_only)) {
      FillLink(*now.network, now.capacity, chosen, counters.add_links());
    }
    counters.set_links_missing(!now.planes_missing.empty());
    counters.mutable_planes_missing()->Add(now.planes_missing.begin(), now.planes_missing.end());
  }
  for (const Picture::Part& part : now.parts) {
    for (const v1::PortCounters& port : part.counters.ports()) {
      v1::PortCounters* out = counters.add_ports();
      *out = port;
      out->set_data_plane(part.data_plane);
    }
    if (part.counters.has_removed_ports()) {
      v1::PortCounters* removed = counters.add_removed_ports();
      *removed = part.counters.removed_ports();
      removed->set_data_plane(part.data_plane);
    }
    counters.mutable_workers()->MergeFrom(part.counters.workers());
  }
  for (const auto& [reason, packets] : now.drops) {
    v1::DropCount* out = counters.add_drops();
    out->set_reason(reason);
    out->set_packets(packets);
  }
  *counters.mutable_conservation() = now.conservation;
  *counters.mutable_circuits() = now.circuit_counters;
  counters.mutable_problems()->Add(now.problems.begin(), now.problems.end());
  return counters;
}

std::string BareText(const v1::Counters& counters) {
  v1::Counters bare;
  bare.mutable_ports()->CopyFrom(counters.ports());
  bare.mutable_drops()->CopyFrom(counters.drops());
  *bare.mutable_conservation() = counters.conservation();
  *bare.mutable_circuits() = counters.circuits();
  bare.mutable_problems()->CopyFrom(counters.problems());
  return bare.SerializeAsString();
}

}  // namespace bfly::control
