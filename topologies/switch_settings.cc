// SPDX-License-Identifier: Apache-2.0
#include "topologies/switch_settings.h"

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

// What transition `stage` of BB_n crosses.
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
    : dimension_(settings.dimension()), half_(settings.half()) {
  const int d = dimension_;
  const Row rows = Row{1} << d;
  // Level by level, so that the settings of one level stay in the cache. A direction is 1 where a
  // path runs over a cross link.
  std::vector<uint8_t> crosses(2 * size_t{rows});
  const auto start = [&](std::vector<Row>& row) {
    row.resize(2 * size_t{rows});
    for (size_t path = 0; path < row.size(); ++path) {
      row[path] = static_cast<Row>(path / 2);
      crosses[path] = path % 2;
    }
  };
  const auto step = [&](std::vector<Row>& row, int level, Row mask) {
    for (size_t path = 0; path < row.size(); ++path) {
      const uint8_t cross = crosses[path] ^ settings.setting(level, row[path]);
      crosses[path] = cross;
      row[path] ^= mask & (Row{0} - cross);
    }
  };
  const Row left_positions = (rows - 1) & ~((Row{1} << (d - half_)) - 1);
  start(left_);
  for (int level = 0; level < half_; ++level) step(left_, level, CrossMask(level, d));
  for (Row& row : left_) row &= left_positions;
  // Backwards from the outputs.
  start(right_);
  for (int level = 2 * d; level > d + half_; --level) step(right_, level, CrossMask(level - 1, d));
  for (Row& row : right_) row &= ~left_positions;
}

}  // namespace bfly
