// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/dpdk_log.h"

#include <rte_log.h>

#include <cstdio>
#include <mutex>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace bfly::dataplane {
namespace {

constexpr size_t kLinesKept = 3;
constexpr size_t kBytesKept = 4096;

// DPDK's threads may write at any time, also to a stream that they fetched before it was replaced.
// So the collecting stream is made once and never closed.
struct Collector {
  std::mutex mutex;
  std::string text;        // guarded by mutex
  FILE* before = nullptr;  // guarded by mutex; lines go there too
  FILE* stream = nullptr;
};

ssize_t Write(void* cookie, const char* bytes, size_t size) {
  auto* collector = static_cast<Collector*>(cookie);
  const std::lock_guard lock(collector->mutex);
  if (collector->text.size() < kBytesKept) collector->text.append(bytes, size);
  if (collector->before != nullptr) {
    fwrite(bytes, 1, size, collector->before);
    fflush(collector->before);
  }
  return static_cast<ssize_t>(size);
}

Collector& TheCollector() {
  static Collector* const collector = [] {
    auto* c = new Collector;
    c->stream =
        fopencookie(c, "w", {.read = nullptr, .write = Write, .seek = nullptr, .close = nullptr});
    setvbuf(c->stream, nullptr, _IOLBF, 0);
    return c;
  }();
  return *collector;
}

}  // namespace

DpdkLogCapture::DpdkLogCapture() {
  Collector& c = TheCollector();
  const std::lock_guard lock(c.mutex);
  c.text.clear();
  c.before = rte_log_get_stream();
  rte_openlog_stream(c.stream);
}

DpdkLogCapture::~DpdkLogCapture() {
  Collector& c = TheCollector();
  const std::lock_guard lock(c.mutex);
  rte_openlog_stream(c.before);
}

std::string DpdkLogCapture::LastLines(const std::string& if_silent) const {
  Collector& c = TheCollector();
  const std::lock_guard lock(c.mutex);
  std::vector<std::string> lines = absl::StrSplit(c.text, '\n', absl::SkipWhitespace());
  if (lines.empty()) return if_silent;
  if (lines.size() > kLinesKept) lines.erase(lines.begin(), lines.end() - kLinesKept);
  return absl::StrJoin(lines, "; ");
}

}  // namespace bfly::dataplane
