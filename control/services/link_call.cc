// SPDX-License-Identifier: Apache-2.0
#include "control/services/link_call.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/controller/agent_answers.h"
#include "control/services/link_request.h"

namespace bfly::control {
namespace {

// How many links a page looks at before it ends, however few it found.
constexpr uint64_t kLooked = 1 << 22;

void ToMessage(const std::vector<NumberRange>& ranges,
               google::protobuf::RepeatedPtrField<v1::NumberRange>* out) {
  for (const NumberRange& range : ranges) {
    v1::NumberRange* added = out->Add();
    added->set_first(range.first);
    added->set_last(range.last);
  }
}

// Returns the packets that entry `at` dropped.
template <class Visit>
void ForEachDrop(const v1::AgentLinkReading& figures, int at, Visit visit) {
  const auto link = static_cast<uint32_t>(at);
  const auto& drops = figures.link_drops();
  auto drop = std::partition_point(drops.begin(), drops.end(),
                                   [link](const auto& other) { return other.link() < link; });
  for (; drop != drops.end() && drop->link() == link; ++drop) visit(*drop);
}

}  // namespace

uint64_t LinkCall::Link::Figure(v1::CounterFilter::Figure figure) const {
  if (figures == nullptr) return 0;
  uint64_t dropped = 0;
  switch (figure) {
    case v1::CounterFilter::BYTES:
      return figures->bytes(at);
    case v1::CounterFilter::OCCUPANCY:
      return figures->occupancy(at);
    case v1::CounterFilter::OCCUPANCY_PEAK:
      return figures->occupancy_peak(at);
    case v1::CounterFilter::DROPS:
      ForEachDrop(*figures, at, [&](const v1::AgentLinkDrop& drop) { dropped += drop.packets(); });
      return dropped;
    case v1::CounterFilter::BUSY:
      return at < figures->busy_ns_size() ? figures->busy_ns(at) : 0;
    default:
      return figures->packets(at);
  }
}

LinkCall::LinkCall(Controller& controller, const Controller::View& view,
                   const v1::CounterFilter& filter, Deadline deadline)
    : view_(view),
      network_(*view.network),
      filter_(filter),
      choice_(ChoiceOf(filter, network_)),
      deadline_(deadline),
      circuits_(controller, network_, choice_) {}

v1::AgentReadLinksRequest LinkCall::Request() const {
  v1::AgentReadLinksRequest request;
  ToMessage(choice_.ranges().stages, request.mutable_stages());
  ToMessage(choice_.ranges().rows, request.mutable_rows());
  ToMessage(choice_.ranges().ports, request.mutable_ports());
  return request;
}

std::vector<LinkCall::Link> LinkCall::Ask(const v1::AgentReadLinksRequest& request) {
  std::vector<Link> links;
  size_t left = view_.planes.size() + 1;  // one share of the time is for the answer
  for (const auto& plane : view_.planes) {
    const Deadline until = ShareOf(deadline_, left--);
    absl::Status status = plane->CheckCounts();
    if (status.ok()) {
      absl::StatusOr<v1::AgentLinkReading> answer = plane->client().ReadLinks(request, until);
      status = answer.status();
      if (status.ok()) status = CheckAnswer(*answer, request, network_);
      if (status.ok()) {
        const v1::AgentLinkReading& figures = answers_.emplace_back(*std::move(answer));
        for (int i = 0; i < figures.links_size(); ++i) {
          links.push_back({.index = figures.links(i), .figures = &figures, .at = i});
        }
      }
    }
    if (status.ok()) continue;
    planes_missing_.insert(plane->name());
    problems_.insert(
        absl::StrCat("data plane ", plane->name(), ": its links are missing: ", status.message()));
  }
  std::sort(links.begin(), links.end(), ByIndex);
  return links;
}

uint64_t LinkCall::EndOf(uint64_t begin, uint64_t links) const {
  for (;;) {
    const LinkChoice::Run run = choice_.RunFrom(begin);
    const uint64_t count = run.end - run.first;
    if (count == 0) return network_.link_count();
    if (count > links) return run.first + links;
    links -= count;
    begin = run.end;
  }
}

absl::Status LinkCall::AddCircuits(std::vector<Link>& links) const {
  return circuits_.Read([&](const LinkLoad& load) {
    for (Link& link : links) link.circuits = load.on_index(link.index);
  });
}

void LinkCall::Add(const std::vector<uint64_t>& indexes, std::vector<Link>& links) {
  std::vector<Link> more;
  auto known = links.begin();
  for (const uint64_t index : indexes) {
    known = std::partition_point(known, links.end(),
                                 [index](const Link& link) { return link.index < index; });
    if (known == links.end() || known->index != index) more.push_back({.index = index});
  }
  const auto middle = static_cast<std::ptrdiff_t>(links.size());
  links.insert(links.end(), more.begin(), more.end());
  std::inplace_merge(links.begin(), links.begin() + middle, links.end(), ByIndex);
}

absl::StatusOr<std::vector<uint64_t>> LinkCall::Unused(uint64_t begin, uint64_t end,
                                                       uint64_t most) const {
  std::vector<uint64_t> indexes;
  if (filter_.nonzero()) {
    return view_.standing > 0 ? circuits_.Find(begin, end, most) : std::move(indexes);
  }
  choice_.ForEachFrom(begin, [&](uint64_t index) {
    if (index >= end) return false;
    indexes.push_back(index);
    return indexes.size() < most;
  });
  return indexes;
}

absl::StatusOr<uint64_t> LinkCall::Page(uint64_t begin, uint64_t most, v1::Counters* counters) {
  answers_.clear();
  const uint64_t end = EndOf(begin, filter_.nonzero() ? kLooked : most);
  v1::AgentReadLinksRequest request = Request();
  request.set_begin(begin);
  request.set_end(end);
  request.set_used(filter_.nonzero());
  request.set_most(static_cast<uint32_t>(most));
  std::vector<Link> links = Ask(request);
  const absl::StatusOr<std::vector<uint64_t>> unused = Unused(begin, end, most);
  if (!unused.ok()) return unused.status();
  Add(*unused, links);
  uint64_t next = end;
  if (links.size() >= most) {
    links.resize(most);
    next = links.back().index + 1;
  }
  if (absl::Status status = AddCircuits(links); !status.ok()) return status;
  Fill(links, counters);
  const LinkChoice::Run rest = choice_.RunFrom(next);
  return rest.first == rest.end ? network_.link_count() : next;
}

absl::Status LinkCall::Top(v1::Counters* counters) {
  const bool by_circuits = filter_.by() == v1::CounterFilter::FIGURE_UNSPECIFIED;
  v1::AgentReadLinksRequest request = Request();
  request.set_top(filter_.top());
  request.set_by(filter_.by());
  request.set_used(filter_.nonzero());
  LinkCircuits::Ranking ranking;
  if (by_circuits && view_.standing > 0) {
    absl::StatusOr<LinkCircuits::Ranking> ranked = circuits_.Rank(filter_.top(), kMostTop);
    if (!ranked.ok()) return ranked.status();
    ranking = *std::move(ranked);
    request.mutable_also()->Add(ranking.first.begin(), ranking.first.end());
    if (ranking.complete) {
      // No other link need be looked at.
      request.set_begin(network_.link_count());
      request.set_end(network_.link_count());
    } else if (!ranking.level.empty()) {
      // All these links have circuits.
      request.set_among(std::move(ranking.level));
      request.set_used(false);
    }
  }
  std::vector<Link> links = Ask(request);
  Add(ranking.first, links);
  if (absl::Status status = AddCircuits(links); !status.ok()) return status;
  const size_t wanted = std::min<size_t>(filter_.top(), links.size());
  const auto first = [&](const Link& link) {
    return std::tuple(by_circuits ? link.circuits : 0, link.Figure(filter_.by()));
  };
  std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(wanted), links.end(),
                    [&](const Link& a, const Link& b) {
                      const auto of_a = first(a), of_b = first(b);
                      return of_a != of_b ? of_a > of_b : a.index < b.index;
                    });
  links.resize(wanted);
  Fill(links, counters);
  return absl::OkStatus();
}

void LinkCall::Fill(const std::vector<Link>& links, v1::Counters* counters) const {
  counters->mutable_links()->Reserve(counters->links_size() + static_cast<int>(links.size()));
  for (const Link& link : links) {
    const LinkId id = network_.link_at(link.index);
    v1::LinkCounters* out = counters->add_links();
    out->set_stage(id.stage);
    out->set_row(id.row);
    out->set_port(id.port);
    out->set_next_row(network_.next_row(id.stage, id.row, id.port));
    out->set_circuits(link.circuits);
    out->set_circuit_capacity(view_.capacity.at(link.index));
    if (link.figures == nullptr) continue;
    out->set_packets(link.figures->packets(link.at));
    out->set_bytes(link.figures->bytes(link.at));
    out->set_occupancy(link.figures->occupancy(link.at));
    out->set_occupancy_peak(link.figures->occupancy_peak(link.at));
    if (link.at < link.figures->busy_ns_size()) out->set_busy_ns(link.figures->busy_ns(link.at));
    ForEachDrop(*link.figures, link.at, [&](const v1::AgentLinkDrop& drop) {
      v1::DropCount* count = out->add_drops();
      count->set_reason(drop.reason());
      count->set_packets(drop.packets());
    });
  }
}

}  // namespace bfly::control
