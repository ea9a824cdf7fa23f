// SPDX-License-Identifier: Apache-2.0
// The checks of requests to LoadedInBand.
#include <string>

#include "absl/strings/str_cat.h"
#include "dataplane/in_band/loaded_in_band.h"

namespace bfly::dataplane {
absl::Status LoadedInBand::CheckTwoFold() const {
  if (candidates_.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("in_band: the inputs choose among the two paths of a two_fold_butterfly; on a ",
                   KindName(network_.kind()), " only reads of the data server are set up in band"));
}

absl::Status LoadedInBand::CheckFree(const std::vector<InBandRequest>& requests) const {
  if (absl::Status status = CheckTwoFold(); !status.ok()) return status;
  std::vector<bool> input_used(network_.rows()), output_used(network_.rows());
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto check = [&](const char* field, Row row, std::vector<bool>& used,
                           const auto& is_busy) -> absl::Status {
      const std::string at = absl::StrCat(field, "[", i, "]: ", row);
      if (row >= network_.rows()) {
        return absl::InvalidArgumentError(absl::StrCat(at, " is outside 0..", network_.rows() - 1));
      }
      if (used[row]) return absl::InvalidArgumentError(absl::StrCat(at, " is used twice"));
      used[row] = true;
      if (is_busy(row)) {
        return absl::FailedPreconditionError(absl::StrCat(at, " is busy with a circuit"));
      }
      return absl::OkStatus();
    };
    const absl::Status input =
        check("inputs", requests[i].input, input_used, [this](Row row) { return book_.busy(row); });
    if (!input.ok()) return input;
    const absl::Status output = check("outputs", requests[i].output, output_used,
                                      [this](Row row) { return book_.at_output(row) != 0; });
    if (!output.ok()) return output;
  }
  return absl::OkStatus();
}

absl::Status LoadedInBand::CheckReads(const std::vector<InBandRead>& reads) const {
  if (candidates_.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("in_band: the data server needs a randomly_wired_butterfly; this is a ",
                     KindName(network_.kind())));
  }
  const Row rows = network_.rows();
  std::vector<bool> asked(rows);
  for (size_t i = 0; i < reads.size(); ++i) {
    const auto& [user, disks, copies] = reads[i];
    const auto wrong = [i](const char* field, Row row, const auto&... what) {
      return absl::InvalidArgumentError(absl::StrCat(field, "[", i, "]: ", row, what...));
    };
    if (user >= rows) return wrong("users", user, " is outside 0..", rows - 1);
    if (asked[user]) return wrong("users", user, " is used twice");
    asked[user] = true;
    if (copies != reads[0].copies) {
      return wrong("users", user, " reads an object in ", copies, " copies, the first one ",
                   reads[0].copies);
    }
    const Row disks_of_first = copies == 1 ? rows : rows / 2;
    if (disks[0] >= disks_of_first) {
      return wrong("disks", disks[0], " is outside 0..", disks_of_first - 1);
    }
    if (copies == 2 && (disks[1] < rows / 2 || disks[1] >= rows)) {
      return wrong("second_disks", disks[1], " is outside ", rows / 2, "..", rows - 1);
    }
    if (book_.busy(user)) {
      return absl::FailedPreconditionError(
          absl::StrCat("users[", i, "]: ", user, " is busy with a circuit"));
    }
  }
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
