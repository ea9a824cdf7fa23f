// SPDX-License-Identifier: Apache-2.0
// Where packets wait between windows. A line is a list of packets that wait for one link, in the
// order in which they came. The lines of a block of rows lie one behind the other in one array, so
// that a window reads and writes memory in order. A line that has grown long has memory of its own
// and is not copied every window.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace bfly::dataplane {

// The working memory of one worker, used for one block after the other.
template <typename Entry>
struct LineScratch {
  std::vector<Entry> room;  // memory of the open lines
  std::vector<Entry> kept;  // the packets that wait after the window
  size_t bytes() const { return (room.capacity() + kept.capacity()) * sizeof(Entry); }
};

template <typename Entry>
class LineStore {
  static_assert(std::is_trivially_copyable_v<Entry>);

 public:
  static constexpr size_t kLong = 128;  // a line with more packets has memory of its own
  // An open line has this many places behind its last packet that no other line uses.
  static constexpr size_t kSpare = 4;

  explicit LineStore(size_t lines) : waiting_(lines), packets_(kSpare) {}

  // Begins a window in which at most `arrivals` packets come. In the window the caller opens every
  // line once and closes every line once, both in the order of lines.
  void Begin(size_t arrivals, LineScratch<Entry>& scratch) {
    // Long lines may become short.
    const size_t most = packets_.size() + arrivals + kSpare + long_.size() * kLong / 2;
    if (scratch.kept.size() < most) scratch.kept.resize(most);
    from_ = packets_.data();
    kept_ = scratch.kept.data();
  }

  size_t waiting(size_t line) const {
    return IsLong(line) ? long_[line]->count : size_t{waiting_[line]};
  }

  // The most places in `room` that a line takes if `more` packets may join it.
  static constexpr size_t PlacesOf(size_t more) { return kLong + more + kSpare; }

  // Returns the first of the line's waiting(line) packets. At most `more` packets may be put behind
  // them. A line of normal length stands in `room`, which moves behind it.
  Entry* Open(size_t line, size_t more, Entry*& room) {
    if (IsLong(line)) [[unlikely]]
      return OpenLong(*long_[line], more);
    Entry* const first = room;
    const size_t count = waiting_[line];
    CopyByStrides(from_, count, first);
    from_ += count;
    room += count + more + kSpare;
    return first;
  }

  // The packets that have not left are [first, end), in the places that Open gave.
  void Close(size_t line, const Entry* first, const Entry* end) {
    const auto count = static_cast<size_t>(end - first);
    if (IsLong(line) || count > kLong) [[unlikely]]
      return KeepLong(line, first, count);
    CopyByStrides(first, count, kept_);
    kept_ += count;
    waiting_[line] = static_cast<uint32_t>(count);
  }

  // Ends the window. Lines come and go, so the block keeps the memory that it needs now, and a
  // little more.
  void End(const LineScratch<Entry>& scratch) {
    const auto size = static_cast<size_t>(kept_ - scratch.kept.data()) + kSpare;
    if (size > packets_.capacity() || size + size / 4 + 64 < packets_.capacity()) {
      packets_ = {};
      packets_.reserve(size + size / 8);
    }
    packets_.assign(scratch.kept.data(), scratch.kept.data() + size);
  }

  uint64_t queued() const {
    uint64_t sum = packets_.size() - kSpare;
    for (const auto& line : long_) sum += line ? line->count : 0;
    return sum;
  }
  size_t bytes() const {
    size_t sum = waiting_.capacity() * sizeof(waiting_[0]) + packets_.capacity() * sizeof(Entry) +
                 long_.capacity() * sizeof(long_[0]);
    for (const auto& line : long_) {
      if (line) sum += sizeof(*line) + line->places.capacity() * sizeof(Entry);
    }
    return sum;
  }

 private:
  struct LongLine {
    std::vector<Entry> places;
    size_t first = 0;  // place of the first packet
    size_t count = 0;
  };

  bool IsLong(size_t line) const { return !long_.empty() && long_[line] != nullptr; }

  // Reads and writes up to kSpare - 1 places behind the last packet. A loop that ended at the last
  // packet would be mispredicted at nearly every line.
  static void CopyByStrides(const Entry* from, size_t count, Entry* to) {
    for (size_t at = 0; at < count; at += kSpare) {
      for (size_t i = 0; i < kSpare; ++i) to[at + i] = from[at + i];
    }
  }

  static Entry* OpenLong(LongLine& line, size_t more) {
    // At least half of the places hold packets that have left: moving the rest costs less than one
    // step for each of these.
    if (2 * line.first >= line.first + line.count) {
      std::copy_n(line.places.data() + line.first, line.count, line.places.data());
      line.first = 0;
    }
    const size_t needed = line.first + line.count + more + kSpare;
    if (line.places.size() < needed) line.places.resize(needed + needed / 2);
    return line.places.data() + line.first;
  }

  void KeepLong(size_t line, const Entry* first, size_t count) {
    if (long_.empty()) long_.resize(waiting_.size());
    if (long_[line] == nullptr) {
      long_[line] = std::make_unique<LongLine>();
      long_[line]->places.assign(first, first + count);
    } else {
      long_[line]->first = static_cast<size_t>(first - long_[line]->places.data());
    }
    long_[line]->count = count;
    waiting_[line] = 0;
    if (count > kLong / 2) return;
    std::copy_n(first, count, kept_);
    kept_ += count;
    waiting_[line] = static_cast<uint32_t>(count);
    long_[line].reset();
  }

  std::vector<uint32_t> waiting_;  // for each line: how many packets wait; 0 for a long line
  std::vector<Entry> packets_;     // the packets of lines that are not long, and kSpare places
  std::vector<std::unique_ptr<LongLine>> long_;  // one for each line; empty until a line is long
  const Entry* from_ = nullptr;                  // in a window: the next line to open
  Entry* kept_ = nullptr;                        // in a window: the place of the next line to close
};

}  // namespace bfly::dataplane
