// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/churn.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

// Rows of one side that no circuit uses; any of them can be drawn or taken.
class FreeRows {
 public:
  explicit FreeRows(Row rows) : free_(rows), place_(rows) {
    for (Row row = 0; row < rows; ++row) free_[row] = place_[row] = row;
  }
  uint32_t size() const { return static_cast<uint32_t>(free_.size()); }
  Row at(uint32_t index) const { return free_[index]; }
  void Take(Row row) {
    const Row last = free_.back();
    free_[place_[row]] = last;
    place_[last] = place_[row];
    free_.pop_back();
  }
  void GiveBack(Row row) {
    place_[row] = size();
    free_.push_back(row);
  }

 private:
  std::vector<Row> free_;
  std::vector<uint32_t> place_;
};

// Circuits on every link, and how many links have k of them.
class LinkTally {
 public:
  LinkTally(Row rows, int stages)
      : rows_(rows),
        stages_(static_cast<size_t>(stages)),
        on_(2 * size_t{rows} * static_cast<size_t>(stages)),
        links_with_{on_.size()} {}

  void Add(const std::vector<Row>& path) {
    ForEachLinkOf(path, [this](uint32_t& n) {
      --links_with_[n++];
      if (links_with_.size() == n) links_with_.push_back(0);
      ++links_with_[n];
      most_ = std::max(most_, n);
    });
  }
  void Remove(const std::vector<Row>& path) {
    ForEachLinkOf(path, [this](uint32_t& n) {
      --links_with_[n--];
      ++links_with_[n];
    });
    while (most_ > 0 && links_with_[most_] == 0) --most_;
  }
  uint32_t most() const { return most_; }

 private:
  // A node's two links lead to different rows, one of them its own.
  template <typename Visit>
  void ForEachLinkOf(const std::vector<Row>& path, const Visit& visit) {
    for (size_t level = 0; level + 1 < path.size(); ++level) {
      visit(on_[2 * (level % stages_ * rows_ + path[level]) + (path[level] != path[level + 1])]);
    }
  }

  Row rows_;
  size_t stages_;  // a wrapped network is crossed more than once
  std::vector<uint32_t> on_;
  std::vector<uint64_t> links_with_;
  uint32_t most_ = 0;
};

class Churn {
 public:
  Churn(Row rows, int stages, const ChurnOptions& options, const ChurnTarget& target)
      : options_(options),
        target_(target),
        inputs_(rows),
        outputs_(rows),
        tally_(rows, stages),
        path_(rows),
        output_(rows) {}

  absl::StatusOr<ChurnReport> Run(const std::function<bool(double)>& wait,
                                  const std::function<void(const ChurnReport&)>& look) {
    double arrival = Exponential(1 / options_.rate);
    size_t next_step = 0;
    for (;;) {
      const bool scripted = !options_.adversary.empty();
      if (scripted && next_step == options_.adversary.size()) break;
      const bool departs = !scripted && !departures_.empty() && departures_.top().first < arrival;
      const double at = scripted  ? static_cast<double>(next_step) / options_.rate
                        : departs ? departures_.top().first
                                  : arrival;
      if (!scripted && at >= options_.duration) {
        if (wait(options_.duration)) Advance(options_.duration);
        break;
      }
      if (!wait(at)) break;
      Advance(at);
      absl::Status status;
      if (scripted) {
        const ChurnStep& step = options_.adversary[next_step++];
        report_.requests += step.set_up;
        status = step.set_up ? SetUp(step.input, step.output, at) : Release(step.input);
      } else if (departs) {
        const Row input = departures_.top().second;
        departures_.pop();
        status = Release(input);
      } else {
        arrival += Exponential(1 / options_.rate);
        status = Arrive(at);
      }
      if (!status.ok()) return status;
      look(report_);
    }
    return report_;
  }

 private:
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
  absl::Status Arrive(double at) {
    ++report_.requests;
    if (inputs_.size() == 0 || outputs_.size() == 0) {
      ++report_.no_free_row;
      return absl::OkStatus();
    }
    const Row input = Draw(inputs_);
    return SetUp(input, Draw(outputs_), at);
  }
  absl::Status SetUp(Row input, Row output, double at) {
    absl::StatusOr<std::vector<Row>> path = target_.set_up(input, output);
    if (absl::IsFailedPrecondition(path.status()) || absl::IsResourceExhausted(path.status())) {
      ++report_.refused;
      return absl::OkStatus();
    }
    if (!path.ok()) return path.status();
    tally_.Add(*path);
    path_[input] = *std::move(path);
    output_[input] = output;
    inputs_.Take(input);
    outputs_.Take(output);
    departures_.push({at + Exponential(options_.holding), input});
    ++report_.set_up;
    ++report_.standing;
    report_.congestion = tally_.most();
    return absl::OkStatus();
  }
  absl::Status Release(Row input) {
    if (path_[input].empty()) return absl::OkStatus();  // its set-up was refused
    if (absl::Status status = target_.release(input); !status.ok()) return status;
    tally_.Remove(path_[input]);
    path_[input].clear();
    inputs_.GiveBack(input);
    outputs_.GiveBack(output_[input]);
    ++report_.released;
    --report_.standing;
    report_.congestion = tally_.most();
    return absl::OkStatus();
  }

  using Departure = std::pair<double, Row>;
  const ChurnOptions& options_;
  const ChurnTarget& target_;
  uint64_t draws_ = 0;
  FreeRows inputs_, outputs_;
  LinkTally tally_;
  std::vector<std::vector<Row>> path_;  // by input; empty: none
  std::vector<Row> output_;
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  ChurnReport report_;
};

}  // namespace

absl::StatusOr<std::vector<ChurnStep>> ParseChurn(absl::string_view text, Row rows,
                                                  absl::string_view where) {
  std::vector<ChurnStep> steps;
  std::vector<std::optional<Row>> output_of(rows);
  std::vector<bool> output_busy(rows);
  int line = 0;
  for (const absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++line;
    const auto wrong = [&](const auto&... what) {
      return absl::InvalidArgumentError(absl::StrCat(where, ":", line, ": ", what...));
    };
    const std::vector<absl::string_view> words = absl::StrSplit(
        whole.substr(0, whole.find('#')), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    ChurnStep step{.set_up = words[0] == "setup"};
    if ((!step.set_up && words[0] != "release") || words.size() != (step.set_up ? 3 : 2)) {
      return wrong("is neither \"setup INPUT OUTPUT\" nor \"release INPUT\"");
    }
    for (size_t i = 1; i < words.size(); ++i) {
      Row& row = i == 1 ? step.input : step.output;
      if (!absl::SimpleAtoi(words[i], &row) || row >= rows) {
        return wrong("\"", words[i].substr(0, 40), "\" is no row, 0..", rows - 1);
      }
    }
    std::optional<Row>& held = output_of[step.input];
    if (step.set_up) {
      if (held) return wrong("input ", step.input, " has a circuit to ", *held, " then");
      if (output_busy[step.output]) return wrong("output ", step.output, " has a circuit then");
      held = step.output;
      output_busy[step.output] = true;
    } else {
      if (!held) return wrong("input ", step.input, " has no circuit then");
      output_busy[*held] = false;
      held.reset();
    }
    steps.push_back(step);
  }
  if (steps.empty()) return absl::InvalidArgumentError(absl::StrCat(where, ": has no steps"));
  return steps;
}

absl::StatusOr<ChurnReport> RunChurn(Row rows, int stages, const ChurnOptions& options,
                                     const ChurnTarget& target,
                                     const std::function<bool(double at)>& wait,
                                     const std::function<void(const ChurnReport&)>& look) {
  const std::pair<const char*, double> positive[] = {
      {"rate", options.rate}, {"holding", options.holding}, {"duration", options.duration}};
  for (const auto& [field, value] : positive) {
    if (!(value > 0) || !std::isfinite(value)) {
      return absl::InvalidArgumentError(absl::StrCat(field, ": ", value, " is no positive number"));
    }
  }
  return Churn(rows, stages, options, target).Run(wait, look);
}

}  // namespace bfly::control
