// SPDX-License-Identifier: Apache-2.0
#include "topologies/switch_settings.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "topologies/random.h"

namespace bfly {
namespace {

absl::Status NeedsTwoFold(const Network& network) {
  if (network.kind() == NetworkKind::kTwoFoldButterfly) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("kind: random switch settings belong to two_fold_butterfly, not to ",
                   KindName(network.kind())));
}

// The bit of the row address that the cross links of BB_n's transition `stage` flip.
Row CrossMask(int stage, int dimension) { return MaskOfPosition(stage % dimension + 1, dimension); }

}  // namespace

SwitchSettings::SwitchSettings(const Network& network)
    : dimension_(network.dimension()),
      half_(dimension_ / 2),
      bits_((static_cast<uint64_t>(dimension_) * network.rows() + 63) / 64) {}

absl::StatusOr<SwitchSettings> SwitchSettings::AllStraight(const Network& network) {
  if (absl::Status status = NeedsTwoFold(network); !status.ok()) return status;
  return SwitchSettings(network);
}

absl::StatusOr<SwitchSettings> SwitchSettings::Make(const Network& network) {
  absl::StatusOr<SwitchSettings> settings = AllStraight(network);
  if (!settings.ok()) return settings;
  for (size_t word = 0; word < settings->bits_.size(); ++word) {
    settings->bits_[word] = Random64(network.spec().seed, RandomStream::kSwitchSettings, word);
  }
  return settings;
}

CandidatePaths::CandidatePaths(const SwitchSettings& settings)
    : CandidatePaths(settings, *std::make_unique<Crew>(1)) {}

CandidatePaths::CandidatePaths(const SwitchSettings& settings, Crew& crew)
    : dimension_(settings.dimension()), half_(settings.half()) {
  const int d = dimension_;
  const size_t paths = size_t{2} << d;
  const Row left_positions = ((Row{1} << d) - 1) & ~((Row{1} << (d - half_)) - 1);
  left_.resize(paths);
  right_.resize(paths);
  // The loop goes level by level, so that the settings of one level stay in the cache. A direction
  // is 1 where a path takes a cross link.
  const size_t share = (paths + crew.workers() - 1) / crew.workers();
  crew.ForEachPart(paths, share, [&](int, size_t first, size_t last) {
    std::vector<uint8_t> crosses(last - first);
    const auto start = [&](std::vector<Row>& row) {
      for (size_t path = first; path < last; ++path) {
        row[path] = static_cast<Row>(path / 2);
        crosses[path - first] = path % 2;
      }
    };
    const auto step = [&](std::vector<Row>& row, int level, Row mask) {
      for (size_t path = first; path < last; ++path) {
        const uint8_t cross = crosses[path - first] ^ settings.setting(level, row[path]);
        crosses[path - first] = cross;
        row[path] ^= mask & (Row{0} - cross);
      }
    };
    start(left_);
    for (int level = 0; level < half_; ++level) step(left_, level, CrossMask(level, d));
    for (size_t path = first; path < last; ++path) left_[path] &= left_positions;
    // The right half of a path is followed backwards from its output.
    start(right_);
    for (int level = 2 * d; level > d + half_; --level) {
      step(right_, level, CrossMask(level - 1, d));
    }
    for (size_t path = first; path < last; ++path) right_[path] &= ~left_positions;
  });
}

}  // namespace bfly
