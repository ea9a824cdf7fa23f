// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/churn.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

// The rows of one side that no circuit uses. Rows can be drawn, taken and given back.
class FreeRows {
 public:
  explicit FreeRows(Row rows) : free_(rows), place_(rows) {
    for (Row row = 0; row < rows; ++row) free_[row] = place_[row] = row;
  }
  uint32_t size() const { return static_cast<uint32_t>(free_.size()); }
  Row at(uint32_t index) const { return free_[index]; }
  bool has(Row row) const { return place_[row] != kTaken; }
  void Take(Row row) {
    const Row last = free_.back();
    free_[place_[row]] = last;
    place_[last] = place_[row];
    place_[row] = kTaken;
    free_.pop_back();
  }
  void GiveBack(Row row) {
    place_[row] = size();
    free_.push_back(row);
  }

 private:
  static constexpr uint32_t kTaken = std::numeric_limits<uint32_t>::max();

  std::vector<Row> free_;
  std::vector<uint32_t> place_;  // in free_, or kTaken
};

// Circuits on every link, and how many links have k of them.
class LinkTally {
 public:
  LinkTally(Row rows, int stages, const ChurnOptions& options)
      : rows_(rows),
        stages_(static_cast<size_t>(stages)),
        ports_(static_cast<size_t>(options.ports)),
        straight_is_free_(options.straight_is_free),
        on_(ports_ * rows * stages_),
        links_with_{on_.size()} {}

  void Add(const ChurnPath& path) {
    ForEachLinkOf(path, [this](uint32_t& n) {
      --links_with_[n++];
      if (links_with_.size() == n) links_with_.push_back(0);
      ++links_with_[n];
      most_ = std::max(most_, n);
    });
  }
  void Remove(const ChurnPath& path) {
    ForEachLinkOf(path, [this](uint32_t& n) {
      --links_with_[n--];
      ++links_with_[n];
    });
    while (most_ > 0 && links_with_[most_] == 0) --most_;
  }
  uint32_t most() const { return most_; }

 private:
  template <typename Visit>
  void ForEachLinkOf(const ChurnPath& path, const Visit& visit) {
    const std::vector<Row>& rows = path.rows;
    for (size_t level = 0; level + 1 < rows.size(); ++level) {
      if (straight_is_free_ && rows[level] == rows[level + 1]) continue;
      visit(on_[ports_ * (level % stages_ * rows_ + rows[level]) + path.ports[level]]);
    }
  }

  Row rows_;
  size_t stages_;  // a wrapped network is crossed more than once
  size_t ports_;
  bool straight_is_free_;
  std::vector<uint32_t> on_;
  std::vector<uint64_t> links_with_;
  uint32_t most_ = 0;
};

constexpr double kNever = std::numeric_limits<double>::infinity();

// Whether links that are down were in the way. The same code without a link means that a data plane
// or the controller does not answer.
bool HasNoWholePath(const absl::Status& status) {
  return absl::IsUnavailable(status) && absl::StartsWith(status.message(), "link: ");
}

class Churn {
 public:
  Churn(Row rows, int stages, const ChurnOptions& options, const ChurnTarget& target)
      : options_(options),
        target_(target),
        inputs_(rows),
        outputs_(rows),
        tally_(rows, stages, options),
        path_(rows, ChurnPath()),
        output_(rows),
        asked_(rows) {
    for (const Row row : options.inputs_taken) {
      if (inputs_.has(row)) inputs_.Take(row);
    }
    for (const Row row : options.outputs_taken) {
      if (outputs_.has(row)) outputs_.Take(row);
    }
  }

  absl::StatusOr<ChurnReport> Run() {
    arrival_ = Exponential(1 / options_.rate);
    for (;;) {
      const double next = Next();
      const double end = scripted() ? kNever : options_.duration;
      if (next >= end) {
        if (!scripted() && target_.wait(end, report_)) Advance(end);
        break;
      }
      const std::optional<double> now = target_.wait(next, report_);
      if (!now) break;
      report_.behind = *now - next;
      report_.behind_most = std::max(report_.behind_most, report_.behind);
      Gather(*now, end);
      if (absl::Status status = ExecuteSteps(); !status.ok()) return status;
    }
    return report_;
  }

 private:
  // When a step is due and, for a set-up, when its circuit departs.
  struct Due {
    double at = 0;
    double departs = 0;
  };
  using Departure = std::pair<double, Row>;

  bool scripted() const { return !options_.adversary.empty(); }
  double departure() const { return departures_.empty() ? kNever : departures_.top().first; }
  // Returns when the next step is due.
  double Next() const {
    if (!scripted()) return std::min(arrival_, departure());
    return next_step_ == options_.adversary.size()
               ? kNever
               : static_cast<double>(next_step_) / options_.rate;
  }
  double Exponential(double mean) {
    const double u = static_cast<double>(Random64(options_.seed, RandomStream::kChurn, draws_++)) /
                     18446744073709551616.0;
    return -mean * std::log1p(-std::min(u, 1 - 1e-16));
  }
  Row Draw(const FreeRows& rows) {
    return rows.at(RandomBelow(options_.seed, RandomStream::kChurn, draws_++, rows.size()));
  }
  void Advance(double now) {
    if (report_.seconds_with.size() <= tally_.most()) {
      report_.seconds_with.resize(tally_.most() + size_t{1});
    }
    report_.seconds_with[tally_.most()] += now - report_.seconds;
    report_.seconds = now;
  }

  // Gathers every step that is due by `now` and before `end`. It stops before a step that depends
  // on an answer that has not come yet: the release of a circuit that is still being set up.
  void Gather(double now, double end) {
    double until = std::nextafter(std::min(now, end), end);
    for (double at = Next(); at < until && at < end && steps_.size() < kMaxChurnSteps;
         at = Next()) {
      last_ = at;
      if (scripted()) {
        const ChurnStep& step = options_.adversary[next_step_];
        if (!step.set_up && asked_[step.input]) break;
        ++next_step_;
        if (step.set_up) {
          Ask(step.input, step.output, at, kNever);
        } else if (!path_[step.input].rows.empty()) {  // otherwise its set-up was refused
          steps_.push_back(step);
          due_.push_back({.at = at});
        }
      } else if (departure() < arrival_) {
        const Row input = departures_.top().second;
        departures_.pop();
        inputs_.GiveBack(input);
        outputs_.GiveBack(output_[input]);
        steps_.push_back({.set_up = false, .input = input});
        due_.push_back({.at = at});
      } else {
        arrival_ += Exponential(1 / options_.rate);
        until = std::min(until, Arrive(at));
      }
    }
  }
  // Asks for a random circuit and returns when that circuit departs.
  double Arrive(double at) {
    if (inputs_.size() == 0 || outputs_.size() == 0) {
      ++report_.requests;
      ++report_.no_free_row;
      return kNever;
    }
    const Row input = Draw(inputs_);
    const Row output = Draw(outputs_);
    inputs_.Take(input);
    outputs_.Take(output);
    const double departs = at + Exponential(options_.holding);
    Ask(input, output, at, departs);
    return departs;
  }
  void Ask(Row input, Row output, double at, double departs) {
    ++report_.requests;
    asked_[input] = true;
    steps_.push_back({.set_up = true, .input = input, .output = output});
    due_.push_back({.at = at, .departs = departs});
  }

  absl::Status ExecuteSteps() {
    if (!steps_.empty()) {
      auto answers = target_.execute(steps_);
      if (!answers.ok()) return answers.status();
      if (answers->size() != steps_.size()) {
        return absl::InternalError(
            absl::StrCat(steps_.size(), " steps got ", answers->size(), " answers"));
      }
      for (size_t i = 0; i < steps_.size(); ++i) {
        Advance(due_[i].at);
        absl::Status status = steps_[i].set_up
                                  ? SetUp(steps_[i], due_[i].departs, std::move((*answers)[i]))
                                  : Released(steps_[i].input, (*answers)[i].status());
        if (!status.ok()) return status;
        report_.congestion = tally_.most();
      }
      steps_.clear();
      due_.clear();
    }
    Advance(std::max(report_.seconds, last_));
    return absl::OkStatus();
  }
  absl::Status SetUp(const ChurnStep& step, double departs, ChurnAnswer answer) {
    asked_[step.input] = false;
    if (answer.ok()) {
      if (answer->ports.size() + 1 != answer->rows.size()) {
        return absl::InternalError(absl::StrCat("a path of ", answer->rows.size(), " rows has ",
                                                answer->ports.size(), " ports"));
      }
      tally_.Add(*answer);
      path_[step.input] = *std::move(answer);
      output_[step.input] = step.output;
      if (!scripted()) departures_.push({departs, step.input});
      ++report_.set_up;
      ++report_.standing;
      return absl::OkStatus();
    }
    if (absl::IsFailedPrecondition(answer.status())) {
      ++report_.busy;
    } else if (absl::IsResourceExhausted(answer.status())) {
      ++report_.blocked;
    } else if (HasNoWholePath(answer.status())) {
      ++report_.unreachable;
    } else {
      return answer.status();
    }
    if (report_.first_refusal.empty())
      report_.first_refusal = std::string(answer.status().message());
    if (!scripted()) {
      inputs_.GiveBack(step.input);
      outputs_.GiveBack(step.output);
    }
    return absl::OkStatus();
  }
  absl::Status Released(Row input, const absl::Status& answer) {
    if (!answer.ok() && !absl::IsNotFound(answer)) return answer;
    report_.gone += !answer.ok();
    tally_.Remove(path_[input]);
    path_[input].rows.clear();
    ++report_.released;
    --report_.standing;
    return absl::OkStatus();
  }

  const ChurnOptions& options_;
  const ChurnTarget& target_;
  uint64_t draws_ = 0;
  FreeRows inputs_, outputs_;  // of Poisson arrivals only
  LinkTally tally_;
  std::vector<ChurnPath> path_;  // by input; no rows: no circuit
  std::vector<Row> output_;
  std::vector<bool> asked_;  // by input: the answer to its set-up has not come yet
  double arrival_ = 0;
  size_t next_step_ = 0;
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  std::vector<ChurnStep> steps_;  // gathered, to be carried out together
  std::vector<Due> due_;          // for each of `steps_`
  double last_ = 0;               // when the last gathered step was due
  ChurnReport report_;
};

}  // namespace

absl::StatusOr<ChurnReport> RunChurn(Row rows, int stages, const ChurnOptions& options,
                                     const ChurnTarget& target) {
  const std::pair<const char*, double> positive[] = {
      {"rate", options.rate}, {"holding", options.holding}, {"duration", options.duration}};
  for (const auto& [field, value] : positive) {
    if (!(value > 0) || !std::isfinite(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": ", value, " is not a positive number"));
    }
  }
  if (options.rate > kMaxChurnRate) {
    return absl::InvalidArgumentError(
        absl::StrCat("rate: ", options.rate, " is above ", kMaxChurnRate, ", the most"));
  }
  return Churn(rows, stages, options, target).Run();
}

}  // namespace bfly::control
