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
  const Row left_positions = ~((Row{1} << (d - half_)) - 1) & (rows - 1);
  left_.resize(2 * size_t{rows});
  right_.resize(2 * size_t{rows});
  for (Row end = 0; end < rows; ++end) {
    for (int which = 0; which < 2; ++which) {
      // Forwards from the input. A direction is true where the path runs over a cross link.
      Row row = end;
      bool crosses = which;
      for (int level = 0; level < half_; ++level) {
        crosses ^= settings.setting(level, row);
        if (crosses) row ^= CrossMask(level, d);
      }
      left_[2 * size_t{end} + which] = row & left_positions;
      // Backwards from the output.
      row = end;
      crosses = which;
      for (int level = 2 * d; level > d + half_; --level) {
        crosses ^= settings.setting(level, row);
        if (crosses) row ^= CrossMask(level - 1, d);
      }
      right_[2 * size_t{end} + which] = row & ~left_positions;
    }
  }
}

}  // namespace bfly
