// SPDX-License-Identifier: Apache-2.0
#include "control/services/fabric_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

constexpr size_t kMaxKeys = 1 << 16;

// What makes two requests the same; each with a letter of its own, so that kinds never meet.
std::string TextOf(const Order& order) {
  if (const auto* release = std::get_if<ReleaseOrder>(&order.what)) {
    return absl::StrCat("release ", release->id);
  }
  const auto& set_up = std::get<SetUpOrder>(order.what);
  return absl::StrCat("set_up ", set_up.input, " ", set_up.output, " ",
                      absl::StrJoin(set_up.rows, ","));
}

std::string TextOf(const std::vector<Order>& orders) {
  return absl::StrCat("batch ", absl::StrJoin(orders, ";", [](std::string* out, const Order& o) {
                        out->append(TextOf(o));
                      }));
}

std::string TextOf(const PermutationOrder& order) {
  return absl::StrCat(
      "permutation ", order.protocol, " ", order.options.seed, " ", order.options.c, " ",
      order.options.max_rounds, " ", order.options.q, " ", order.replace, " ",
      absl::StrJoin(order.requests, ",", [](std::string* out, const Request& request) {
        absl::StrAppend(out, request.input, ">", request.output);
      }));
}

std::string At(absl::string_view field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

// BB_n has the minimum protocol; a network of one path has no choice to make.
std::unique_ptr<PathChooser> ChooserFor(const Network& network) {
  auto minimum = MakeChooser("minimum", network);
  if (minimum.ok()) return *std::move(minimum);
  return *MakeChooser("greedy", network);
}

std::optional<CandidatePaths> CandidatesOf(const Network& network) {
  const auto settings = SwitchSettings::Make(network);
  if (!settings.ok()) return std::nullopt;
  return CandidatePaths(*settings);
}

}  // namespace

FabricState::FabricState(std::shared_ptr<const Network> network, uint64_t last_id)
    : network_(std::move(network)),
      circuits_(*network_),
      chooser_(ChooserFor(*network_)),
      candidates_(CandidatesOf(*network_)),
      labels_(network_->rows()),
      last_id_(last_id),
      keys_(kMaxKeys) {}

uint64_t FabricState::NextId(Row input) {
  const uint64_t rows = network_->rows();
  last_id_ = (last_id_ / rows + 1) * rows + input;
  return last_id_;
}

Outcome FabricState::Execute(const Order& order) {
  std::string request;
  if (!order.key.empty()) {
    request = TextOf(order);
    auto known = keys_.Find(order.key, request);
    if (!known.ok()) return known.status();
    if (*known != nullptr) return std::get<StandingCircuit>(**known);
  }
  const auto* set_up = std::get_if<SetUpOrder>(&order.what);
  Outcome outcome =
      set_up != nullptr ? SetUp(*set_up) : Release(std::get<ReleaseOrder>(order.what));
  if (outcome.ok() && !order.key.empty()) Remember(order.key, request, *outcome);
  return outcome;
}

absl::StatusOr<std::vector<Outcome>> FabricState::ExecuteBatch(const std::vector<Order>& orders,
                                                               bool all_or_nothing,
                                                               const std::string& key) {
  std::string request;
  if (!key.empty()) {
    request = absl::StrCat(all_or_nothing, TextOf(orders));
    auto known = keys_.Find(key, request);
    if (!known.ok()) return known.status();
    if (*known != nullptr) return std::get<std::vector<Outcome>>(**known);
  }
  const size_t mark = log_.size();
  std::vector<Outcome> outcomes;
  outcomes.reserve(orders.size());
  for (size_t i = 0; i < orders.size(); ++i) {
    outcomes.push_back(Execute(orders[i]));
    if (outcomes.back().ok() || !all_or_nothing) continue;
    RollBackTo(mark);
    return WithPrefix(outcomes.back().status(), absl::StrCat("requests[", i, "]"));
  }
  if (!key.empty()) Remember(key, request, outcomes);
  return outcomes;
}

absl::StatusOr<RouteResult> FabricState::Execute(const PermutationOrder& order,
                                                 const std::string& key) {
  std::string request;
  if (!key.empty()) {
    request = TextOf(order);
    auto known = keys_.Find(key, request);
    if (!known.ok()) return known.status();
    if (*known != nullptr) return std::get<RouteResult>(**known);
  }
  absl::StatusOr<RouteResult> routed = Route(order);
  if (!routed.ok()) return routed.status();
  const size_t mark = log_.size();
  if (order.replace) {
    for (const StandingCircuit& circuit : HoldersOf(order.requests)) {
      Release({circuit.id}).status().IgnoreError();
    }
  }
  for (const CircuitPath& path : routed->paths) {
    StandingCircuit circuit;
    if (absl::Status status = Put(path, &circuit); !status.ok()) {
      RollBackTo(mark);
      return status;
    }
  }
  if (!key.empty()) Remember(key, request, *routed);
  return routed;
}

absl::StatusOr<RouteResult> FabricState::Route(const PermutationOrder& order) const {
  const Row last = network_->rows() - 1;
  FieldErrors range;
  for (size_t i = 0; i < order.requests.size(); ++i) {
    const Request& request = order.requests[i];
    if (request.input > last) range.Add(OutOfRange(At("inputs", i), request.input, 0, last));
    if (request.output > last) range.Add(OutOfRange(At("outputs", i), request.output, 0, last));
  }
  if (!range.empty()) return range.ToStatus();

  LinkLoad standing = circuits_.load();
  if (order.replace) {
    for (const StandingCircuit& circuit : HoldersOf(order.requests)) {
      standing.Remove(circuit.path.input, circuit.path.tag);
    }
  } else {
    FieldErrors busy;
    for (size_t i = 0; i < order.requests.size(); ++i) {
      AddBusy(At("inputs", i), circuits_.AtInput(order.requests[i].input), busy);
      AddBusy(At("outputs", i), circuits_.AtOutput(order.requests[i].output), busy);
    }
    if (!busy.empty()) return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
  }
  return RoutePermutation(order.protocol, standing, order.requests, order.options);
}

std::vector<StandingCircuit> FabricState::HoldersOf(const std::vector<Request>& requests) const {
  std::set<Row> inputs;
  for (const Request& request : requests) {
    if (circuits_.AtInput(request.input) != nullptr) inputs.insert(request.input);
    const CircuitPath* at_output = circuits_.AtOutput(request.output);
    if (at_output != nullptr) inputs.insert(at_output->input);
  }
  std::vector<StandingCircuit> holders;
  for (Row input : inputs) holders.push_back(*AtInput(input));
  return holders;
}

void FabricState::AddBusy(absl::string_view field, const CircuitPath* holder,
                          FieldErrors& errors) const {
  if (holder == nullptr) return;
  errors.Add(field, absl::StrCat("is busy with circuit ", labels_[holder->input].id, " (",
                                 holder->input, " -> ", holder->output, "); release it first"));
}

absl::Status FabricState::CheckFree(const SetUpOrder& order) const {
  const Row last = network_->rows() - 1;
  FieldErrors range;
  if (order.input > last) range.Add(OutOfRange("input", order.input, 0, last));
  if (order.output > last) range.Add(OutOfRange("output", order.output, 0, last));
  if (!range.empty()) return range.ToStatus();
  FieldErrors busy;
  AddBusy("input", circuits_.AtInput(order.input), busy);
  AddBusy("output", circuits_.AtOutput(order.output), busy);
  return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
}

absl::StatusOr<CircuitPath> FabricState::ChoosePath(const SetUpOrder& order) const {
  if (order.rows.empty()) return chooser_->Choose(circuits_.load(), order.input, order.output);
  const absl::StatusOr<Tag> tag = TagOfPath(*network_, order.rows);
  if (!tag.ok()) return tag.status();
  if (order.rows.front() != order.input) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "rows[0]",
                        absl::StrCat(order.rows.front(), " is not the input, ", order.input));
  }
  if (order.rows.back() != order.output) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument,
                        absl::StrCat("rows[", order.rows.size() - 1, "]"),
                        absl::StrCat(order.rows.back(), " is not the output, ", order.output));
  }
  return CircuitPath{order.input, order.output, *tag, PathChoice::kGiven};
}

absl::Status FabricState::Put(const CircuitPath& path, StandingCircuit* circuit) {
  if (absl::Status status = CheckFree({path.input, path.output, {}}); !status.ok()) return status;
  if (absl::Status status = circuits_.SetUp(path); !status.ok()) return status;
  *circuit = {NextId(path.input), path, circuits_.load().MaxOnPath(path.input, path.tag)};
  labels_[path.input] = {circuit->id, circuit->congestion};
  log_.push_back({Step::Kind::kSetUp, *circuit});
  return absl::OkStatus();
}

Outcome FabricState::SetUp(const SetUpOrder& order) {
  if (absl::Status status = CheckFree(order); !status.ok()) return status;
  const absl::StatusOr<CircuitPath> path = ChoosePath(order);
  if (!path.ok()) return path.status();
  StandingCircuit circuit;
  if (absl::Status status = Put(*path, &circuit); !status.ok()) return status;
  return circuit;
}

Outcome FabricState::Release(const ReleaseOrder& order) {
  const Row input = static_cast<Row>(order.id % network_->rows());
  const std::optional<StandingCircuit> circuit = AtInput(input);
  if (!circuit.has_value() || circuit->id != order.id) {
    return ErrorAtField(absl::StatusCode::kNotFound, "id",
                        absl::StrCat("there is no circuit ", order.id));
  }
  circuits_.Release(input).IgnoreError();
  log_.push_back({Step::Kind::kRelease, *circuit});
  return *circuit;
}

absl::Status FabricState::Adopt(Row input, Tag tag, uint64_t id) {
  if (input >= network_->rows()) return OutOfRange("input", input, 0, network_->rows() - 1);
  const Row output = OutputOfTag(*network_, tag);
  CircuitPath path{input, output, tag, PathChoice::kGiven};
  if (candidates_.has_value()) {
    if (candidates_->tag(input, output, 1) == tag) path.choice = PathChoice::kPPrime;
    if (candidates_->tag(input, output, 0) == tag) path.choice = PathChoice::kP;
  } else if (GreedyTag(*network_, input, output) == tag) {
    path.choice = PathChoice::kGreedy;
  }
  StandingCircuit circuit;
  if (absl::Status status = Put(path, &circuit); !status.ok()) return status;
  if (id != 0 && id % network_->rows() == input) {
    labels_[input].id = id;
    last_id_ = std::max(last_id_, id);
  }
  log_.clear();
  return absl::OkStatus();
}

std::optional<StandingCircuit> FabricState::AtInput(Row input) const {
  const CircuitPath* path = circuits_.AtInput(input);
  if (path == nullptr) return std::nullopt;
  return StandingCircuit{labels_[input].id, *path, labels_[input].congestion};
}

std::vector<StandingCircuit> FabricState::circuits() const {
  std::vector<StandingCircuit> standing;
  standing.reserve(circuits_.size());
  for (Row input = 0; input < network_->rows(); ++input) {
    if (auto circuit = AtInput(input)) standing.push_back(*circuit);
  }
  return standing;
}

FabricState::Change FabricState::change() const {
  std::vector<Row> touched;
  for (const Step& step : log_) {
    if (step.kind != Step::Kind::kKey) touched.push_back(step.circuit.path.input);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  Change change;
  for (Row input : touched) {
    if (auto circuit = AtInput(input)) {
      change.install.push_back(*circuit);
    } else {
      change.remove.push_back(input);
    }
  }
  return change;
}

void FabricState::RollBackTo(size_t mark) {
  while (log_.size() > mark) {
    const Step step = log_.back();
    log_.pop_back();
    const StandingCircuit& circuit = step.circuit;
    switch (step.kind) {
      case Step::Kind::kSetUp:
        circuits_.Release(circuit.path.input).IgnoreError();
        break;
      case Step::Kind::kRelease:
        circuits_.SetUp(circuit.path).IgnoreError();
        labels_[circuit.path.input] = {circuit.id, circuit.congestion};
        break;
      case Step::Kind::kKey:
        keys_.RemoveNewest();
        break;
    }
  }
}

void FabricState::Remember(const std::string& key, const std::string& request, Answer answer) {
  keys_.Put(key, request, std::move(answer));
  log_.push_back({Step::Kind::kKey, {}});
}

void FabricState::SetLinkUp(LinkId link, bool up) {
  const uint64_t index = network_->link_index(link);
  if (up) {
    down_links_.erase(index);
  } else {
    down_links_.insert(index);
  }
}

std::vector<LinkId> FabricState::down_links() const {
  std::vector<LinkId> links;
  for (uint64_t index : down_links_) links.push_back(network_->link_at(index));
  return links;
}

}  // namespace bfly::control
