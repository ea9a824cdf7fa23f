// SPDX-License-Identifier: Apache-2.0
// bfly capture: frames at links and ports of the running fabric, as pcapng.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/capture_file/frame_filter.h"
#include "control/capture_file/pcapng.h"
#include "control/cli/capture_stream.h"
#include "control/cli/capture_words.h"
#include "control/cli/link_selection.h"
#include "control/cli/terminal.h"
#include "control/cli/verb.h"
#include "control/json/message_json.h"

namespace bfly::control {
namespace {

constexpr uint32_t kSnaplenOfCapture = 256;
constexpr uint32_t kLargestSnaplen = 9018;
constexpr uint64_t kMostLinksCaptured = 1024;
constexpr uint64_t kLargestFile = uint64_t{1} << 30;

struct CaptureOptions {
  std::vector<std::string> what;
  std::string file = "-";
  std::string filter;
  uint32_t every = 1;
  uint64_t count = 0;
  uint32_t seconds = 0;
  uint32_t snaplen = kSnaplenOfCapture;
  std::optional<uint64_t> max_bytes;  // none: kLargestFile for what lies on a disk
};

// Standard output, or a file. The first Write creates the file, so a capture that is refused leaves
// an older file of this name as it was.
class CaptureFile {
 public:
  CaptureFile(std::string path, std::optional<uint64_t> max_bytes)
      : path_(std::move(path)), max_bytes_(max_bytes) {}

  absl::Status Check() const {
    if (path_ != "-" || isatty(STDOUT_FILENO) != 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "standard output is a terminal, and a capture is not text; write to a file with --write "
        "FILE, or into a pipe, as in `| wireshark -k -i -`");
  }
  bool is_open() const { return stream_ != nullptr; }
  uint64_t room() const { return room_; }  // bytes that may still be written, once it is open
  std::string name() const { return path_ == "-" ? "standard output" : path_; }
  absl::Status Write(const std::string& bytes) {
    if (!is_open()) {
      stream_ = path_ == "-" ? stdout : std::fopen(path_.c_str(), "wb");
      if (!is_open()) return Failed("open");
      room_ = max_bytes_.value_or(IsOnDisk() ? kLargestFile : UINT64_MAX);
    }
    room_ -= std::min<uint64_t>(room_, bytes.size());
    const bool good = std::fwrite(bytes.data(), 1, bytes.size(), stream_) == bytes.size() &&
                      std::fflush(stream_) == 0;
    return good ? absl::OkStatus() : Failed("write");
  }
  absl::Status Close() const {
    if (!is_open() || stream_ == stdout) return absl::OkStatus();
    return std::fclose(stream_) == 0 ? absl::OkStatus() : Failed("write");
  }

 private:
  absl::Status Failed(const char* what) const {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", name()));
  }
  // Pipes and devices do not grow.
  bool IsOnDisk() const {
    struct stat what = {};
    return fstat(fileno(stream_), &what) == 0 && S_ISREG(what.st_mode);
  }

  const std::string path_;
  const std::optional<uint64_t> max_bytes_;
  std::FILE* stream_ = nullptr;
  uint64_t room_ = UINT64_MAX;
};

// Turns frames into blocks of pcapng. An interface comes before its first frame.
class FramesAsPcapng {
 public:
  explicit FramesAsPcapng(uint32_t snaplen) : snaplen_(snaplen) {}

  void Append(const v1::CapturedFrame& frame, std::string& out) {
    const auto [interface, is_new] = interfaces_.emplace(InterfaceOf(frame), interfaces_.size());
    if (is_new) {
      const char* const what =
          frame.place() == v1::CapturedFrame::LINK ? "link of the fabric" : "port of the fabric";
      out += PcapngInterface(interface->first, what, snaplen_);
    }
    PcapngFrame block;
    block.interface = static_cast<uint32_t>(interface->second);
    block.time_ns = frame.time_ns();
    block.length = frame.length();
    block.data = frame.data();
    if (frame.place() == v1::CapturedFrame::PORT_IN) block.direction = PcapngFrame::Direction::kIn;
    if (frame.place() == v1::CapturedFrame::PORT_OUT)
      block.direction = PcapngFrame::Direction::kOut;
    block.comment = CommentOf(frame);
    out += PcapngPacket(block);
  }

 private:
  const uint32_t snaplen_;
  std::map<std::string, size_t> interfaces_;
};

struct CaptureTotals {
  uint64_t written = 0;
  std::map<std::string, v1::CaptureCounts> planes;

  void Print() const {
    uint64_t seen = 0, dropped = 0;
    for (const auto& [plane, counts] : planes) {
      seen += counts.seen();
      dropped += counts.dropped();
    }
    fprintf(stderr, "captured %" PRIu64 " of %" PRIu64 " frames", written, seen);
    if (dropped > 0) fprintf(stderr, "; %" PRIu64 " copies were dropped, see --sample", dropped);
    fprintf(stderr, "\n");
  }
};

absl::StatusOr<v1::CaptureRequest> CaptureRequestOf(const CaptureOptions& options,
                                                    const FrameFilter& filter,
                                                    const Common& common) {
  absl::StatusOr<CaptureWords> words = CaptureWordsOf(options.what);
  if (!words.ok()) return words.status();
  v1::CaptureRequest request = std::move(words->request);
  if (words->has_selector) {
    const auto too_many = [](uint64_t wanted) {
      return absl::StrCat("the links are ", wanted, " together; 1 to ", kMostLinksCaptured,
                          " can be captured at once");
    };
    const auto links = LinksOf(words->selector, kMostLinksCaptured, too_many, common);
    if (!links.ok()) return links.status();
    request.mutable_links()->Add(links->begin(), links->end());
  }
  // The filter gets every byte that it looks at. What is written has --snaplen bytes.
  request.set_snaplen(std::max(options.snaplen, std::min(filter.bytes_read(), kLargestSnaplen)));
  request.set_every(options.every);
  request.set_max_seconds(options.seconds);
  // With a filter only this program knows which frames count.
  if (options.filter.empty()) request.set_max_frames(options.count);
  return request;
}

absl::Status Capture(const CaptureOptions& options, const Common& common) {
  if (common.json && options.file != "-") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--write ", options.file,
        ": with --json each frame is a line on standard output; leave out --json or --write"));
  }
  if (common.json && options.max_bytes.has_value()) {
    return absl::InvalidArgumentError(
        "--max-size is about a pcapng file; with --json, end the capture with --count or "
        "--seconds");
  }
  const absl::StatusOr<FrameFilter> filter = FrameFilter::Compile(options.filter, options.snaplen);
  if (!filter.ok()) return filter.status();
  SignalReader signals;  // before gRPC starts threads
  const absl::StatusOr<v1::CaptureRequest> request = CaptureRequestOf(options, *filter, common);
  if (!request.ok()) return request.status();
  signal(SIGPIPE, SIG_IGN);  // whoever reads may end first
  CaptureFile file(options.file,
                   common.json ? std::optional<uint64_t>(UINT64_MAX) : options.max_bytes);
  if (absl::Status status = common.json ? absl::OkStatus() : file.Check(); !status.ok()) {
    return status;
  }
  FramesAsPcapng frames(options.snaplen);
  CaptureTotals totals;
  absl::Status written;
  bool taken = false, full = false;
  const auto take = [&](v1::CaptureBatch& batch) {
    if (!common.json && !file.is_open()) {
      written = file.Write(PcapngSection("bfly " BFLY_VERSION));
      if (!written.ok()) return false;
    }
    taken = true;
    if (batch.began()) fprintf(stderr, "capturing\n");
    if (batch.has_counts()) totals.planes[batch.data_plane()] = batch.counts();
    std::string blocks;
    for (v1::CapturedFrame& frame : *batch.mutable_frames()) {
      if (options.count != 0 && totals.written == options.count) break;
      if (!filter->Passes(frame.data(), frame.length())) continue;
      if (frame.data().size() > options.snaplen) frame.mutable_data()->resize(options.snaplen);
      const size_t before = blocks.size();
      if (common.json) {
        blocks += ToJson(frame).dump() + "\n";
      } else {
        frames.Append(frame, blocks);
      }
      full = blocks.size() > file.room();
      if (full) {
        blocks.resize(before);
        break;
      }
      ++totals.written;
    }
    if (!blocks.empty()) written.Update(file.Write(blocks));
    return written.ok() && !full && (options.count == 0 || totals.written < options.count);
  };
  absl::Status status = ReadCapture(*request, common, signals, take);
  written.Update(file.Close());
  status.Update(written);
  if (full) fprintf(stderr, "%s is as large as --max-size allows\n", file.name().c_str());
  if (taken) totals.Print();
  return status;
}

}  // namespace

void AddCapture(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(app, invocation, "capture",
                           "Write the frames at links, ports or a circuit to a file for Wireshark",
                           "bfly capture 's1 r4 p1' --write link.pcapng\n"
                           "  bfly capture port h3 --filter icmp --count 10 --write ping.pcapng\n"
                           "  bfly capture '3 -> 6' | wireshark -k -i -");
  auto options = std::make_shared<CaptureOptions>();
  verb->add_option("what", options->what,
                   "Links, as for bfly link set; port NAME...; circuit ID...; or 'SRC -> DST', "
                   "the frames of two rows at each link of their path")
      ->required()
      ->type_name("WHAT");
  verb->add_option("-w,--write", options->file, "Where to; - is standard output")
      ->capture_default_str()
      ->type_name("FILE");
  verb->add_option("--filter", options->filter,
                   "Only frames that match, as for tcpdump: 'icmp', 'host 10.77.0.3 and tcp'")
      ->type_name("EXPR");
  verb->add_option("--sample", options->every, "Copy one frame in this many")
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX))
      ->capture_default_str();
  verb->add_option("--count", options->count, "End after this many frames");
  verb->add_option("--seconds", options->seconds, "End after this many seconds [3600]")
      ->check(CLI::Range(1u, 86'400u));
  verb->add_option("--snaplen", options->snaplen, "Keep this many of a frame's first bytes")
      ->check(CLI::Range(1u, kLargestSnaplen))
      ->capture_default_str();
  verb->add_option(
          "--max-size", options->max_bytes,
          "End before the file is larger, in bytes or as in 100MB [1GB, pipes: no limit]; 1 kB is "
          "1024 bytes")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{1024}, uint64_t{1} << 50))
      ->type_name("SIZE");
  verb->callback([&invocation, options] {
    const absl::Status status = CaptureWordsOf(options->what).status();
    if (!status.ok()) throw CLI::ValidationError("what", std::string(status.message()));
    invocation.action = [common = invocation.common, options] { return Capture(*options, common); };
  });
}

}  // namespace bfly::control
