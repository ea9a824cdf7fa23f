// SPDX-License-Identifier: Apache-2.0
#include "control/cli/capture_words.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "control/cli/syntax.h"

namespace bfly::control {
namespace {

std::vector<std::string> SplitWords(const std::vector<std::string>& words) {
  const std::string line = absl::StrReplaceAll(absl::StrJoin(words, " "), {{"->", " -> "}});
  return absl::StrSplit(line, ' ', absl::SkipEmpty());
}

}  // namespace

absl::StatusOr<std::pair<uint32_t, uint32_t>> RowPairOf(const std::vector<std::string>& words) {
  std::vector<std::string> split = SplitWords(words);
  if (split.size() == 3 && split[1] == "->") split.erase(split.begin() + 1);
  uint32_t from = 0, to = 0;
  if (split.size() == 2 && absl::SimpleAtoi(split[0], &from) && absl::SimpleAtoi(split[1], &to)) {
    return std::pair(from, to);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::StrJoin(words, " "),
                   "' is not a pair of rows; write '3 -> 6', in quotation marks"));
}

absl::StatusOr<CaptureWords> CaptureWordsOf(const std::vector<std::string>& words) {
  const std::vector<std::string> split = SplitWords(words);
  CaptureWords out;
  if (split.empty()) {
    return absl::InvalidArgumentError(
        "nothing to capture; write a link, as in 's1 r4 p1', port NAME, circuit ID or 'SRC -> "
        "DST'");
  }
  if (split[0] == "port" || split[0] == "circuit") {
    for (size_t i = 1; i < split.size(); ++i) {
      uint64_t id = 0;
      if (split[0] == "port") {
        out.request.add_ports(split[i]);
      } else if (absl::SimpleAtoi(split[i], &id)) {
        out.request.add_circuits(id);
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("'", split[i], "' is not the id of a circuit; see `bfly circuit list`"));
      }
    }
    if (split.size() > 1) return out;
    return absl::InvalidArgumentError(absl::StrCat("say which ", split[0], ", as in '", split[0],
                                                   split[0] == "port" ? " h0'" : " 17'"));
  }
  if (split.size() == 3 && split[1] == "->") {
    const auto pair = RowPairOf(split);
    if (!pair.ok()) return pair.status();
    out.request.add_paths()->set_input(pair->first);
    out.request.mutable_paths(0)->set_output(pair->second);
    return out;
  }
  absl::StatusOr<v1::LinkOverride> selector = SelectorOf(words);
  if (!selector.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(selector.status().message(),
                     "; or write port NAME, circuit ID or 'SRC -> DST', in quotation marks"));
  }
  out.has_selector = true;
  out.selector = *std::move(selector);
  return out;
}

std::string InterfaceOf(const v1::CapturedFrame& frame) {
  switch (frame.place()) {
    case v1::CapturedFrame::PORT_IN:
      return frame.port() + " in";
    case v1::CapturedFrame::PORT_OUT:
      return frame.port() + " out";
    default:
      return LinkText(frame.link().stage(), frame.link().row(), frame.link().port());
  }
}

std::string CommentOf(const v1::CapturedFrame& frame) {
  std::string comment;
  if (frame.place() == v1::CapturedFrame::LINK) {
    comment = absl::StrCat("hop ", frame.hop(), ", ");
  }
  absl::StrAppend(&comment, frame.input(), " -> ", frame.output());
  if (frame.circuit() != 0) absl::StrAppend(&comment, ", circuit ", frame.circuit());
  if (frame.priority() != 0) absl::StrAppend(&comment, ", priority ", frame.priority());
  absl::StrAppendFormat(&comment, ", %.3f us in the fabric, copied %.3f us later",
                        static_cast<double>(frame.age_ns()) / 1e3,
                        static_cast<double>(frame.late_ns()) / 1e3);
  return comment;
}

}  // namespace bfly::control
