// SPDX-License-Identifier: Apache-2.0
#include "topologies/edge_colouring.h"

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace bfly {
namespace {

// The links of one stage by the ports 2k and 2k+1, one of each direction: who shares a head.
class PortPair {
 public:
  PortPair(const Network& network, int stage, int k)
      : network_(network),
        stage_(stage),
        ports_{k, network.multiplicity() + k},
        tails_(network.rows()) {}

  absl::Status FindTails() {
    std::vector<uint8_t> found(network_.rows());
    for (Row row = 0; row < network_.rows(); ++row) {
      for (const int port : ports_) {
        const Row head = network_.next_row(stage_, row, port);
        if (found[head] < 2) tails_[head][found[head]] = row;
        ++found[head];
      }
    }
    for (Row head = 0; head < network_.rows(); ++head) {
      if (found[head] != 2) {
        return absl::InvalidArgumentError(
            absl::StrCat("the links of stage ", stage_, " cannot be coloured: ports ", ports_[0],
                         " and ", ports_[1], " lead to row ", head, " ",
                         static_cast<int>(found[head]), " times and not twice"));
      }
    }
    return absl::OkStatus();
  }

  int port(int direction) const { return ports_[static_cast<size_t>(direction)]; }

  // The other row whose link leads to the head of this row's link.
  Row Partner(Row row, int direction) const {
    const std::array<Row, 2>& tails = tails_[network_.next_row(stage_, row, port(direction))];
    return tails[0] == row ? tails[1] : tails[0];
  }

 private:
  const Network& network_;
  const int stage_;
  const std::array<int, 2> ports_;
  std::vector<std::array<Row, 2>> tails_;  // by head
};

}  // namespace

absl::StatusOr<EdgeColouring> EdgeColouring::Make(const Network& network) {
  EdgeColouring colouring(network.stages(), network.ports(), network.rows());
  const Row rows = network.rows();
  for (int stage = 0; stage < network.stages(); ++stage) {
    for (int k = 0; k < network.multiplicity(); ++k) {
      PortPair pair(network, stage, k);
      if (absl::Status status = pair.FindTails(); !status.ok()) return status;
      std::vector<bool> coloured(rows);
      for (Row first = 0; first < rows; ++first) {
        // The walk leaves a row by its link of direction 0 and comes back to a row by a link of
        // direction 1, so every second row has its link of direction 0 in the other colour.
        for (Row row = first; !coloured[row];) {
          for (const int side : {0, 1}) {
            coloured[row] = true;
            for (const int direction : {0, 1}) {
              colouring.ports_[colouring.Index(stage, 2 * k + (side ^ direction)) + row] =
                  static_cast<uint8_t>(pair.port(direction));
            }
            row = pair.Partner(row, side);
          }
        }
      }
    }
  }
  return colouring;
}

}  // namespace bfly
