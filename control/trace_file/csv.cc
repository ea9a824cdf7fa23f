// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "control/trace_file/trace_file.h"

namespace bfly::control {
namespace {

constexpr int kMaxErrors = 20;
constexpr uint32_t kMinFrameBytes = 64;
constexpr uint32_t kMaxFrameBytes = 9018;
constexpr double kMaxSeconds = 1e9;  // far below the largest number of nanoseconds in 64 bits

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
    const bool time_ok =
        absl::SimpleAtod(cells[0], &seconds) && seconds >= 0 && seconds <= kMaxSeconds;
    if (!time_ok)
      Wrong(line, "time: \"", Trim(cells[0]), "\" is not a number of seconds from 0 on");
    const bool row_ok = ReadRow(line, "row", cells[1], packet.row);
    const bool to_ok = ReadRow(line, "destination", cells[2], packet.destination);
    const bool bytes_ok = absl::SimpleAtoi(cells[3], &packet.bytes) &&
                          packet.bytes >= kMinFrameBytes && packet.bytes <= kMaxFrameBytes;
    if (!bytes_ok) {
      Wrong(line, "bytes: ", Trim(cells[3]), " is outside ", kMinFrameBytes, "..", kMaxFrameBytes);
    }
    if (!time_ok || !row_ok || !to_ok || !bytes_ok) return;
    packet.nanoseconds = static_cast<uint64_t>(std::llround(seconds * 1e9));
    if (!trace_.empty() && packet.nanoseconds < trace_.back().nanoseconds) {
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

  bool ReadRow(int line, const char* name, absl::string_view cell, Row& row) {
    if (absl::SimpleAtoi(cell, &row) && row < rows_) return true;
    Wrong(line, name, ": ", Trim(cell), " is outside 0..", rows_ - 1);
    return false;
  }

  const uint32_t rows_;
  const std::string& where_;
  dataplane::Trace trace_;
  int errors_ = 0;
  std::vector<std::string> messages_;
};

}  // namespace

absl::StatusOr<TraceFile> TraceFromCsv(absl::string_view text, uint32_t rows,
                                       const std::string& where) {
  CsvReader reader(rows, where);
  int line = 0;
  bool any = false;
  for (absl::string_view rest : absl::StrSplit(text, '\n')) {
    ++line;
    const absl::string_view content = absl::StripAsciiWhitespace(rest.substr(0, rest.find('#')));
    if (content.empty()) continue;
    // The line names the columns.
    if (!any && absl::ascii_isalpha(static_cast<unsigned char>(content[0]))) {
      any = true;
      continue;
    }
    any = true;
    reader.ReadLine(line, content);
  }
  return reader.Finish();
}

}  // namespace bfly::control
