// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/loaded_taps.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly::dataplane {
namespace {

// The writers of a tap live as long as the tap.
std::shared_ptr<TapWriter> WriterOf(const std::shared_ptr<Tap>& tap, int worker) {
  return {tap, &tap->writer(static_cast<size_t>(worker))};
}

}  // namespace

absl::Status LoadedTaps::Check(const TapConfig& config) const {
  std::vector<std::string> errors;
  for (size_t i = 0; i < config.links.size(); ++i) {
    const absl::Status status = network_.CheckLink(config.links[i]);
    if (!status.ok()) errors.push_back(absl::StrCat("links[", i, "].", status.message()));
  }
  for (size_t i = 0; i < config.paths.size(); ++i) {
    const Row input = config.paths[i].input;
    const Tag tag = config.paths[i].tag;
    if (input >= network_.rows()) {
      errors.push_back(
          absl::StrCat("paths[", i, "].input: ", input, " is outside 0..", network_.rows() - 1));
    }
    if (!network_.tag_layout().IsPath(tag)) {
      errors.push_back(absl::StrCat("paths[", i, "].tag: ", tag, " is not a path of this network"));
    }
  }
  const size_t tapped = config.links.size() + config.ports.size() + config.paths.size();
  if (tapped == 0 || tapped > kMostTapped) {
    errors.push_back(absl::StrCat("links, ports, paths: ", tapped, " are given, 1 to ", kMostTapped,
                                  " can be tapped at once"));
  }
  if (config.snaplen < 1 || config.snaplen > kMostSnaplen) {
    errors.push_back(absl::StrCat("snaplen: ", config.snaplen, " is outside 1..", kMostSnaplen));
  }
  if (config.every < 1) errors.push_back("every: 0 is less than 1");
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(errors, "; "));
}

bool LoadedTaps::AddLink(const std::shared_ptr<Tap>& tap, const LinkId& link, TapRule rule,
                         Rules& rules) const {
  if (link.stage < plan_.first_stage || link.stage > plan_.last_stage) return false;
  rule.key = link.row * static_cast<uint32_t>(network_.ports()) + static_cast<uint32_t>(link.port);
  rule.place = TapPlace::kLink;
  rule.stage = static_cast<uint16_t>(link.stage);
  rule.number = rule.key;
  rule.row = link.row;
  rule.writer = WriterOf(tap, plan_.worker_of(link.stage, link.row));
  rules[{.stage = &stages_.of(link.stage, link.row)}].push_back(std::move(rule));
  return true;
}

size_t LoadedTaps::AddPath(const std::shared_ptr<Tap>& tap, const TapConfig::Path& path,
                           Rules& rules) const {
  const TagLayout layout = network_.tag_layout();
  size_t links = 0;
  TapRule rule;
  rule.input = static_cast<uint16_t>(path.input);
  rule.fixed = layout.multiplicity > 1;
  rule.tag = ToWire(path.tag, layout.bits());
  ForEachLink(network_, path.input, path.tag, [&](uint64_t index) {
    links += AddLink(tap, network_.link_at(index), rule, rules) ? 1 : 0;
    rule.tag <<= layout.field_bits;
  });
  if (path.end) AddEnd(tap, OutputOfTag(network_, path.tag), rule, rules);
  return links;
}

// `rule` has the tag of a packet that has crossed its last hop.
void LoadedTaps::AddEnd(const std::shared_ptr<Tap>& tap, Row output, TapRule rule,
                        Rules& rules) const {
  rule.place = TapPlace::kPortOut;
  rule.number = kNoPort;
  for (const auto& port : ports_.host_ports()) {
    const std::vector<Row>& rows = port->config().rows;
    if (std::find(rows.begin(), rows.end(), output) != rows.end()) {
      rule.number = ports_.NumberOf(*port);
    }
  }
  AddAtEgresses(tap, {output}, rule, rules);
}

void LoadedTaps::AddAtEgresses(const std::shared_ptr<Tap>& tap, const std::vector<Row>& at,
                               TapRule rule, Rules& rules) const {
  for (size_t worker = 0; worker < workers_.size(); ++worker) {
    Egress* const egress = assembly_.egresses()[worker].get();
    if (egress == nullptr) continue;
    rule.writer = WriterOf(tap, static_cast<int>(worker));
    for (const Row row : at) {
      rule.key = rule.row = row;
      rules[{.egress = egress}].push_back(rule);
    }
  }
}

bool LoadedTaps::AddPort(const std::shared_ptr<Tap>& tap, const std::string& name,
                         Rules& rules) const {
  const auto& ports = ports_.host_ports();
  const auto is_it = [&](const auto& port) { return port->config().name == name; };
  const auto found = std::find_if(ports.begin(), ports.end(), is_it);
  if (found == ports.end()) return false;
  HostPort& port = **found;
  TapRule rule;
  rule.number = ports_.NumberOf(port);
  rule.frames_only = true;
  const auto add = [&](const Place& place, int worker) {
    rule.writer = WriterOf(tap, worker);
    for (const Row row : port.config().rows) {
      rule.key = rule.row = row;
      rules[place].push_back(rule);
    }
  };
  if (plan_.has_first_hop()) {
    rule.place = TapPlace::kPortIn;
    const std::vector<int> pollers = plan_.PollersOf(port.config(), 0);
    for (int q = 0; q < port.queue_pairs(); ++q) {
      add({.inlet = &port.inlet(q)}, pollers[static_cast<size_t>(q)]);
    }
  }
  rule.place = TapPlace::kPortOut;
  AddAtEgresses(tap, port.config().rows, rule, rules);
  return true;
}

size_t LoadedTaps::AddRules(const std::shared_ptr<Tap>& tap, Rules& rules) const {
  size_t places = 0;
  for (const LinkId& link : tap->config().links) places += AddLink(tap, link, {}, rules) ? 1 : 0;
  for (const TapConfig::Path& path : tap->config().paths) places += AddPath(tap, path, rules);
  for (const std::string& port : tap->config().ports) places += AddPort(tap, port, rules) ? 1 : 0;
  return places;
}

void LoadedTaps::SetTaps(const Place& place, const TapTable* taps) {
  if (place.stage != nullptr) place.stage->SetTaps(taps);
  if (place.inlet != nullptr) place.inlet->SetTaps(taps);
  if (place.egress != nullptr) place.egress->SetTaps(taps);
}

// Gives every place the table of the present taps. Asks the workers to take the tables up, and
// keeps the previous tables until they have.
void LoadedTaps::Publish() {
  Rules rules;
  for (const auto& tap : taps_) tap->SetPlaces(AddRules(tap, rules));
  std::map<Place, std::shared_ptr<const TapTable>> tables;
  for (auto& [place, of_place] : rules) {
    tables[place] = std::make_shared<const TapTable>(std::move(of_place));
    SetTaps(place, tables[place].get());
  }
  for (const auto& [place, table] : tables_) {
    if (tables.count(place) == 0) SetTaps(place, nullptr);
  }
  const auto before = std::exchange(tables_, std::move(tables));
  for (const auto& worker : workers_) taken_up_.Ask(worker->epoch());
  for (const auto& [place, table] : before) retired_.Add(taken_up_, table);
}

bool LoadedTaps::WaitForWorkers() {
  const bool taken_up = taken_up_.Wait(std::chrono::steady_clock::now() + kTakeUpTime);
  retired_.Collect();
  return taken_up;
}

absl::StatusOr<std::shared_ptr<Tap>> LoadedTaps::Start(const TapConfig& config) {
  if (absl::Status status = Check(config); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (over_) return absl::FailedPreconditionError("the fabric is unloaded");
  if (taps_.size() >= kMostTaps) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kMostTaps, " captures run on this data plane, which is the most; end one"));
  }
  auto tap = std::make_shared<Tap>(config, workers_.size());
  taps_.push_back(tap);
  Publish();
  if (WaitForWorkers()) return tap;
  taps_.pop_back();
  Publish();
  return NotTakenUp("nothing is captured");
}

void LoadedTaps::Stop(const std::shared_ptr<Tap>& tap) {
  const std::lock_guard lock(mutex_);
  if (over_ || std::erase(taps_, tap) == 0) return;
  std::erase_if(stopped_, [](const auto& one) { return one.expired(); });
  stopped_.push_back(tap);
  Publish();
  WaitForWorkers();
}

void LoadedTaps::ChangePorts(const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  change();
  if (over_ || taps_.empty()) return;
  Publish();
  WaitForWorkers();
}

void LoadedTaps::End() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  for (const auto& [place, table] : tables_) SetTaps(place, nullptr);
  for (const auto& tap : taps_) tap->End();
  taps_.clear();
  for (const auto& stopped : stopped_) {
    if (const std::shared_ptr<Tap> tap = stopped.lock()) tap->End();
  }
  stopped_.clear();
}

}  // namespace bfly::dataplane
