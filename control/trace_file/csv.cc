// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/trace_file/trace_file.h"

namespace bfly::control {
namespace {

// Excel begins a file of UTF-8 with it.
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr int kMaxErrors = 20;
constexpr uint32_t kMinFrameBytes = 64;
constexpr uint32_t kMaxFrameBytes = 9018;
// Doubles of such times have no fraction.
constexpr double kLatestTime = 1e15;

struct TraceTime {
  uint64_t seconds = 0;
  double fraction = 0;  // of a second
};

// `seconds` is the value of `cell`. A double of today's date has steps of 0.2 us, so the fraction
// of a plain number is read alone.
TraceTime TimeOf(absl::string_view cell, double seconds) {
  const double whole = std::floor(seconds);
  TraceTime time{static_cast<uint64_t>(whole), seconds - whole};
  cell = absl::StripAsciiWhitespace(cell);
  if (cell.find_first_not_of("0123456789.") != absl::string_view::npos) return time;
  const size_t point = std::min(cell.find('.'), cell.size());
  if (!absl::SimpleAtoi(absl::StrCat("0", cell.substr(0, point)), &time.seconds) ||
      !absl::SimpleAtod(absl::StrCat("0", cell.substr(point)), &time.fraction)) {
    return {static_cast<uint64_t>(whole), seconds - whole};
  }
  return time;
}

class CsvReader {
 public:
  CsvReader(uint32_t rows, const std::string& where) : rows_(rows), where_(where) {}

  void ReadLine(int line, absl::string_view text) {
    const std::vector<absl::string_view> cells = absl::StrSplit(text, ',');
    if (cells.size() != 4) {
      Wrong(line, "should be time,row,destination,bytes, such as 0.25,3,12,64");
      return;
    }
    double seconds = 0;
    dataplane::TracePacket packet;
    const bool time_ok = ReadTime(line, cells[0], seconds);
    const bool row_ok = ReadRow(line, "row", cells[1], packet.row);
    const bool to_ok = ReadRow(line, "destination", cells[2], packet.destination);
    const bool bytes_ok = absl::SimpleAtoi(cells[3], &packet.bytes) &&
                          packet.bytes >= kMinFrameBytes && packet.bytes <= kMaxFrameBytes;
    if (!bytes_ok) {
      Wrong(line, "bytes: ", Trim(cells[3]), " is outside ", kMinFrameBytes, "..", kMaxFrameBytes);
    }
    if (!time_ok || !row_ok || !to_ok || !bytes_ok) return;
    const TraceTime time = TimeOf(cells[0], seconds);
    if (trace_.empty()) first_second_ = time.seconds;
    const uint64_t after = time.seconds - std::min(time.seconds, first_second_);
    if (after > kMaxTraceSeconds) {
      Wrong(line, "time: ", Trim(cells[0]), " is more than ", kMaxTraceSeconds,
            " seconds after the first packet");
      return;
    }
    packet.nanoseconds =
        after * 1'000'000'000 + static_cast<uint64_t>(std::llround(time.fraction * 1e9));
    if (!trace_.empty() &&
        (time.seconds < first_second_ || packet.nanoseconds < trace_.back().nanoseconds)) {
      Wrong(line, "time: ", Trim(cells[0]), " is before the time of the last packet");
      return;
    }
    if (trace_.size() == kMaxTracePackets) {
      Wrong(line, "a trace has at most ", kMaxTracePackets, " packets");
      return;
    }
    trace_.push_back(packet);
  }

  absl::StatusOr<TraceFile> Finish() {
    if (errors_ > 0) {
      std::string text = absl::StrJoin(messages_, "\n");
      if (errors_ > kMaxErrors) {
        absl::StrAppend(&text, "\n", where_, ": and ", errors_ - kMaxErrors, " more errors");
      }
      return absl::InvalidArgumentError(text);
    }
    if (trace_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(where_, ": it has no packet"));
    }
    const uint64_t first = trace_.front().nanoseconds;
    for (dataplane::TracePacket& packet : trace_) packet.nanoseconds -= first;
    return TraceFile{.trace = std::move(trace_)};
  }

 private:
  static absl::string_view Trim(absl::string_view cell) {
    return absl::StripAsciiWhitespace(cell).substr(0, 40);
  }

  template <typename... Part>
  void Wrong(int line, const Part&... parts) {
    if (++errors_ <= kMaxErrors) {
      messages_.push_back(absl::StrCat(where_, ":", line, ": ", parts...));
    }
  }

  bool ReadTime(int line, absl::string_view cell, double& seconds) {
    if (!absl::SimpleAtod(cell, &seconds) || !(seconds >= 0)) {
      Wrong(line, "time: \"", Trim(cell), "\" is not a number of seconds from 0 on");
      return false;
    }
    if (seconds <= kLatestTime) return true;
    Wrong(line, "time: ", Trim(cell), " is above ", kLatestTime, " seconds");
    return false;
  }

  bool ReadRow(int line, const char* name, absl::string_view cell, Row& row) {
    if (absl::SimpleAtoi(cell, &row) && row < rows_) return true;
    Wrong(line, name, ": ", Trim(cell), " is outside 0..", rows_ - 1);
    return false;
  }

  const uint32_t rows_;
  const std::string& where_;
  uint64_t first_second_ = 0;  // of the first packet; times of packets count from it
  dataplane::Trace trace_;
  int errors_ = 0;
  std::vector<std::string> messages_;
};

// A packet whose first number is misspelt has numbers behind it.
bool NamesColumns(absl::string_view line) {
  const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
  return std::all_of(cells.begin(), cells.end(), [](absl::string_view cell) {
    cell = absl::StripLeadingAsciiWhitespace(cell);
    return !cell.empty() && absl::ascii_isalpha(static_cast<unsigned char>(cell[0]));
  });
}

}  // namespace

absl::StatusOr<TraceFile> TraceFromCsv(absl::string_view text, uint32_t rows,
                                       const std::string& where) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  CsvReader reader(rows, where);
  int line = 0;
  bool any = false;
  for (absl::string_view rest : absl::StrSplit(text, '\n')) {
    ++line;
    const absl::string_view content = absl::StripAsciiWhitespace(rest.substr(0, rest.find('#')));
    if (content.empty()) continue;
    if (!any && NamesColumns(content)) {
      any = true;
      continue;
    }
    any = true;
    reader.ReadLine(line, content);
  }
  return reader.Finish();
}

}  // namespace bfly::control
