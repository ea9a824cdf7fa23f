// SPDX-License-Identifier: Apache-2.0
#include "control/cli/syntax.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/topology_file/link_policy.h"
#include "control/topology_file/ranges.h"
#include "topologies/link_text.h"

namespace bfly::control {
namespace {

// No network has more rows than this.
constexpr uint32_t kMostNumbers = 1u << 20;

// The multiple of the base unit that each unit's name stands for.
using Units = std::map<std::string, double>;

const Units& Times() {
  static const Units units = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                              {"s", 1},     {"min", 60},  {"h", 3600}};
  return units;
}

// Replaces `text`, a number with one of the units, by a plain number. Returns an error text, or
// nothing. A number without a unit counts in `unit`.
std::string Rewrite(std::string& text, const Units& units, const std::string& unit,
                    const std::string& allowed) {
  const size_t letters = text.find_first_not_of("0123456789.+-eE");
  const absl::string_view number = absl::StripAsciiWhitespace(text).substr(0, letters);
  const std::string name = letters == std::string::npos
                               ? ""
                               : std::string(absl::StripAsciiWhitespace(text.substr(letters)));
  const auto found = units.find(name.empty() ? unit : name);
  double value = 0;
  if (found == units.end() || !absl::SimpleAtod(absl::StripAsciiWhitespace(number), &value) ||
      !std::isfinite(value * found->second)) {
    return absl::StrCat("\"", text, "\" is not ", allowed);
  }
  text = absl::StrFormat("%.15g", value * found->second);
  return "";
}

}  // namespace

CLI::Option* AddRanges(CLI::App& verb, const std::string& name, std::vector<uint32_t>& numbers,
                       const std::string& help) {
  const auto read = [&numbers, name](const std::vector<std::string>& texts) {
    const absl::StatusOr<std::vector<uint32_t>> all =
        ExpandRanges(absl::StrJoin(texts, ","), kMostNumbers - 1, "number");
    if (!all.ok()) throw CLI::ValidationError(name, std::string(all.status().message()));
    numbers = *all;
  };
  return verb.add_option_function<std::vector<std::string>>(name, read, help)
      ->allow_extra_args(false)
      ->type_name("RANGES");
}

CLI::Validator RatePerSecond() {
  return CLI::Validator(
      [](std::string& text) {
        std::string bare(absl::StripSuffix(text, "/s"));
        const std::string wrong = Rewrite(bare, {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}}, "",
                                          "a rate: a number, or one with k, M or G, such as 20k");
        if (wrong.empty()) text = bare;
        return wrong;
      },
      "");
}

CLI::Validator TimeInSeconds(const std::string& unit) {
  return CLI::Validator(
      [unit](std::string& text) {
        return Rewrite(text, Times(), unit,
                       "a time: a number with ns, us, ms, s, min or h, such as 50us");
      },
      "");
}

CLI::Validator TimeInMilliseconds() {
  return CLI::Validator(
      [seconds = TimeInSeconds("ms")](std::string& text) {
        const std::string wrong = seconds(text);
        double value = 0;
        if (wrong.empty() && absl::SimpleAtod(text, &value)) {
          text = absl::StrFormat("%.0f", std::round(value * 1000));
        }
        return wrong;
      },
      "");
}

std::string LinkText(uint32_t stage, uint32_t row, uint32_t port) {
  return bfly::LinkText({static_cast<int>(stage), row, static_cast<int>(port)});
}

absl::StatusOr<v1::LinkOverride> SelectorOf(const std::vector<std::string>& words) {
  const std::string text = absl::StrJoin(words, " ");
  const std::vector<std::string> pieces =
      absl::StrSplit(text, absl::ByAnyChar(" \t,"), absl::SkipEmpty());
  uint32_t numbers[3];
  if (pieces.size() == 3 && absl::SimpleAtoi(pieces[0], &numbers[0]) &&
      absl::SimpleAtoi(pieces[1], &numbers[1]) && absl::SimpleAtoi(pieces[2], &numbers[2])) {
    return ParseLinkSelector(LinkText(numbers[0], numbers[1], numbers[2]));
  }
  return ParseLinkSelector(text);
}

absl::StatusOr<v1::LinkRef> OneLink(const std::vector<std::string>& words) {
  const absl::StatusOr<v1::LinkOverride> selector = SelectorOf(words);
  if (!selector.ok()) return selector.status();
  v1::LinkRef link;
  uint32_t stage = 0, row = 0;
  if (!absl::SimpleAtoi(selector->stages(), &stage) || !absl::SimpleAtoi(selector->rows(), &row) ||
      !selector->has_port()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", absl::StrJoin(words, " "), "\" is not one link, such as 's3 r5 p1'"));
  }
  link.set_stage(stage);
  link.set_row(row);
  link.set_port(selector->port());
  return link;
}

absl::StatusOr<NodeSelector> NodesOf(const std::vector<std::string>& words) {
  const std::string text = absl::StrJoin(words, " ");
  const std::vector<std::string> pieces =
      absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (pieces.size() == 2) {
    absl::string_view levels = pieces[0], rows = pieces[1];
    const bool letters = absl::ConsumePrefix(&levels, "l") && absl::ConsumePrefix(&rows, "r");
    if (!letters) levels = pieces[0];
    if (ParseRanges(levels).ok() && ParseRanges(rows).ok()) {
      return NodeSelector{std::string(levels), std::string(rows)};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" names no nodes (allowed: level and row, or ranges of them, such as 2 6 or "
                   "'l2 r0-3')"));
}

}  // namespace bfly::control
