// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/link_policy.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/topology_file/quantity.h"
#include "control/topology_file/ranges.h"
#include "control/topology_file/schema.h"

namespace bfly::control {
namespace {

using dataplane::LinkPlan;
using dataplane::LinkRule;

bool SaysSomething(const v1::LinkOverride& o) {
  return !o.rate().empty() || !o.delay().empty() || o.has_queue_limit() ||
         o.discipline() != v1::LinkPolicy::DISCIPLINE_UNSPECIFIED || o.has_loss();
}

// Empty text means the whole range.
absl::StatusOr<std::vector<Range>> RangesOf(absl::string_view text, uint32_t largest,
                                            absl::string_view what) {
  if (text.empty()) return std::vector<Range>{{0, largest}};
  absl::StatusOr<std::vector<Range>> ranges = ParseRanges(text);
  if (!ranges.ok()) return ranges.status();
  if (absl::Status status = CheckRanges(*ranges, largest, what); !status.ok()) return status;
  return ranges;
}

// The numbers that a part of a selector names. Empty text names all.
class NamedNumbers {
 public:
  explicit NamedNumbers(const std::string& text) : text_(text) {
    if (const auto ranges = ParseRanges(text); ranges.ok()) ranges_ = *ranges;
  }
  // Whether each range of the other text lies in one range of these.
  bool Include(const std::string& other) const {
    if (text_.empty() || other == text_) return true;
    if (other.empty()) return false;
    // Most others begin elsewhere, and that is seen much faster than all their ranges are read.
    uint32_t first = 0;
    const auto read = std::from_chars(other.data(), other.data() + other.size(), first);
    if (read.ec == std::errc() && !Include(Range{first, first})) return false;
    const auto ranges = ParseRanges(other);
    return ranges.ok() && std::all_of(ranges->begin(), ranges->end(),
                                      [this](const Range& inner) { return Include(inner); });
  }

 private:
  bool Include(const Range& inner) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&inner](const Range& outer) {
      return outer.first <= inner.first && inner.last <= outer.last;
    });
  }

  const std::string& text_;
  std::vector<Range> ranges_;
};

dataplane::Discipline ToDiscipline(v1::LinkPolicy::Discipline discipline) {
  switch (discipline) {
    case v1::LinkPolicy::PRIORITY:
      return dataplane::Discipline::kPriority;
    case v1::LinkPolicy::PROCESSOR_SHARING:
      return dataplane::Discipline::kProcessorSharing;
    default:
      return dataplane::Discipline::kFifo;
  }
}

absl::Status AddRules(const v1::LinkOverride& o, const Network& network, LinkPlan* plan) {
  const auto stages = RangesOf(o.stages(), network.stages() - 1, "stage");
  if (!stages.ok()) return stages.status();
  const auto rows = RangesOf(o.rows(), network.rows() - 1, "row");
  if (!rows.ok()) return rows.status();
  LinkRule rule;
  if (o.has_port()) rule.port = static_cast<int>(o.port());
  if (!o.rate().empty()) {
    const absl::StatusOr<uint64_t> rate = ParseRate(o.rate());
    if (!rate.ok()) return rate.status();
    rule.bits_per_second = *rate;
  }
  if (!o.delay().empty()) {
    const absl::StatusOr<uint64_t> delay = ParseDuration(o.delay());
    if (!delay.ok()) return delay.status();
    rule.delay_ns = *delay;
  }
  if (o.has_queue_limit()) rule.queue_limit = o.queue_limit();
  if (o.discipline() != v1::LinkPolicy::DISCIPLINE_UNSPECIFIED) {
    rule.discipline = ToDiscipline(o.discipline());
  }
  if (o.has_loss()) rule.loss = o.loss();
  for (const Range& s : *stages) {
    for (const Range& r : *rows) {
      rule.first_stage = static_cast<int>(s.first);
      rule.last_stage = static_cast<int>(s.last);
      rule.first_row = r.first;
      rule.last_row = r.last;
      plan->rules.push_back(rule);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Violation> CheckLinkOverrides(const LinkOverrides& overrides, const Network& network,
                                          const std::string& path) {
  std::vector<Violation> violations;
  size_t rules = 0;
  for (int i = 0; i < overrides.size(); ++i) {
    const v1::LinkOverride& o = overrides[i];
    const std::string at = absl::StrCat(path, "[", i, "]");
    if (!SaysSomething(o)) {
      violations.push_back(
          {at, "", "changes nothing (give rate, delay, queue_limit, discipline or loss)"});
    }
    // The check of the field's rule has reported text that is not a range.
    const auto stages = ParseRanges(o.stages().empty() ? "0" : o.stages());
    const auto rows = ParseRanges(o.rows().empty() ? "0" : o.rows());
    if (stages.ok()) {
      const absl::Status status = CheckRanges(*stages, network.stages() - 1, "stage");
      if (!status.ok()) {
        violations.push_back({at + ".stages", Quotable(o.stages()), std::string(status.message())});
      }
    }
    if (rows.ok()) {
      const absl::Status status = CheckRanges(*rows, network.rows() - 1, "row");
      if (!status.ok()) {
        violations.push_back({at + ".rows", Quotable(o.rows()), std::string(status.message())});
      }
    }
    if (o.has_port() && o.port() >= static_cast<uint32_t>(network.ports())) {
      violations.push_back({at + ".port", absl::StrCat(o.port()),
                            absl::StrCat(o.port(), " is not a port of this network (allowed: 0..",
                                         network.ports() - 1, ")")});
    }
    rules += (stages.ok() ? stages->size() : 1) * (rows.ok() ? rows->size() : 1);
  }
  if (rules > kMaxLinkRules) {
    violations.push_back({path, "",
                          absl::StrCat("names ", rules, " rectangles of stages and rows (allowed: ",
                                       kMaxLinkRules, "); use longer ranges")});
  }
  return violations;
}

std::vector<Violation> CheckLinkChanges(const LinkOverrides& changes, const Network& network) {
  std::vector<Violation> violations;
  for (int i = 0; i < changes.size(); ++i) {
    CheckRules(changes[i], absl::StrCat("changes[", i, "]"), &violations);
  }
  for (Violation& violation : CheckLinkOverrides(changes, network, "changes")) {
    violations.push_back(std::move(violation));
  }
  return violations;
}

std::vector<Violation> CheckLinkSelector(const v1::LinkOverride& selector, const Network& network) {
  std::vector<Violation> violations;
  CheckRules(selector, "", &violations);
  LinkOverrides one;
  *one.Add() = selector;
  one[0].set_rate("none");  // an override must change something
  for (Violation& violation : CheckLinkOverrides(one, network, "")) {
    // The field "[0].rows" is called "rows" here.
    violation.field = violation.field.substr(std::min<size_t>(violation.field.size(), 4));
    violations.push_back(std::move(violation));
  }
  return violations;
}

bool Selects(const v1::LinkOverride& selector, LinkId link) {
  const auto in = [](const std::string& text, uint32_t number) {
    if (text.empty()) return true;
    const auto ranges = ParseRanges(text);
    return ranges.ok() && std::any_of(ranges->begin(), ranges->end(), [number](const Range& range) {
             return number >= range.first && number <= range.last;
           });
  };
  return in(selector.stages(), static_cast<uint32_t>(link.stage)) &&
         in(selector.rows(), link.row) &&
         (!selector.has_port() || static_cast<int>(selector.port()) == link.port);
}

absl::StatusOr<LinkPlan> ToLinkPlan(const v1::LinkPolicy& policy, const LinkOverrides& changes,
                                    const Network& network) {
  LinkPlan plan;
  plan.base.queue_limit = policy.queue_limit();
  plan.base.discipline = ToDiscipline(policy.discipline());
  plan.base.loss = policy.loss();
  if (!policy.rate().empty()) {
    const absl::StatusOr<uint64_t> rate = ParseRate(policy.rate());
    if (!rate.ok()) return rate.status();
    plan.base.bits_per_second = *rate;
  }
  if (!policy.delay().empty()) {
    const absl::StatusOr<uint64_t> delay = ParseDuration(policy.delay());
    if (!delay.ok()) return delay.status();
    plan.base.delay_ns = *delay;
  }
  for (const LinkOverrides* list : {&policy.overrides(), &changes}) {
    for (const v1::LinkOverride& o : *list) {
      if (absl::Status status = AddRules(o, network, &plan); !status.ok()) return status;
    }
  }
  return plan;
}

void AddLinkChange(const v1::LinkOverride& change, LinkOverrides* changes) {
  const NamedNumbers stages(change.stages()), rows(change.rows());
  for (v1::LinkOverride& before : *changes) {
    const bool same_port = before.has_port() == change.has_port() && before.port() == change.port();
    if (change.has_port() && !same_port) continue;
    if (!stages.Include(before.stages()) || !rows.Include(before.rows())) continue;
    if (!change.rate().empty()) before.clear_rate();
    if (!change.delay().empty()) before.clear_delay();
    if (change.has_queue_limit()) before.clear_queue_limit();
    if (change.discipline() != v1::LinkPolicy::DISCIPLINE_UNSPECIFIED) before.clear_discipline();
    if (change.has_loss()) before.clear_loss();
  }
  changes->erase(std::remove_if(changes->begin(), changes->end(),
                                [](const v1::LinkOverride& o) { return !SaysSomething(o); }),
                 changes->end());
  *changes->Add() = change;
}

absl::StatusOr<v1::LinkOverride> ParseLinkSelector(absl::string_view text) {
  v1::LinkOverride selector;
  const auto wrong = [](absl::string_view word, absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Quotable(word), "\" ", why,
                     " (allowed: all, or one each of sSTAGES, rROWS and pPORT, such as 's3 r0-15 "
                     "p1')"));
  };
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.empty()) return wrong(text, "selects no links");
  for (const absl::string_view word : words) {
    if (word == "all" && words.size() == 1) return selector;
    const absl::string_view rest = word.substr(1);
    if (word[0] == 'p') {
      if (selector.has_port()) return wrong(word, "names a second port");
      uint32_t port = 0;
      if (!absl::SimpleAtoi(rest, &port) || port >= kDirections * kMaxMultiplicity) {
        return wrong(
            word, "is not a port; ports are p0 and p1 (up to p31 where a direction has several)");
      }
      selector.set_port(port);
      continue;
    }
    if (word[0] != 's' && word[0] != 'r') return wrong(word, "selects no links");
    if (!ParseRanges(rest).ok()) return wrong(word, "has no numbers or ranges after its letter");
    std::string* const field = word[0] == 's' ? selector.mutable_stages() : selector.mutable_rows();
    if (!field->empty()) return wrong(word, "stands there twice");
    *field = std::string(rest);
  }
  return selector;
}

}  // namespace bfly::control
