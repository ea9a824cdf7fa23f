// SPDX-License-Identifier: Apache-2.0
// The only file of topologies/ that sees Eigen.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <limits>

#include "topologies/expansion.h"

namespace bfly {

double SecondSingularValueSquared(const SplitterSide& side) {
  const auto outputs = static_cast<Eigen::Index>(side.outputs());
  if (outputs < 2) return 0;
  // The product of the matrix with itself over the inputs: its eigenvalues are the squares of the
  // singular values. Its entries are counts, so it is exact.
  Eigen::MatrixXd products = Eigen::MatrixXd::Zero(outputs, outputs);
  const auto degree = static_cast<size_t>(side.degree);
  for (uint32_t input = 0; input < side.inputs; ++input) {
    const uint32_t* const heads = &side.heads[input * degree];
    for (size_t a = 0; a < degree; ++a) {
      for (size_t b = 0; b < degree; ++b) products(heads[a], heads[b]) += 1;
    }
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(products, Eigen::EigenvaluesOnly);
  const double largest = FirstSingularValueSquared(side);
  if (solver.info() != Eigen::Success) return largest;
  // The solver is backward stable: it finds the eigenvalues of a matrix that differs by a small
  // multiple of n * epsilon * |A|, and they differ by no more than the matrix does (Weyl).
  const double rounding =
      16.0 * static_cast<double>(outputs) * std::numeric_limits<double>::epsilon() * largest;
  return std::clamp(solver.eigenvalues()(outputs - 2) + rounding, 0.0, largest);
}

}  // namespace bfly
