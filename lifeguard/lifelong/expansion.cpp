#include "lifeguard/lifelong/expansion.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// A of an action, its lower triangle.
Eigen::MatrixXd basis_matrix(const std::vector<Expansion>& expansions,
                             const Eigen::MatrixXd& coefficients, int f, int action) {
  const auto k = static_cast<int>(coefficients.rows());
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(f * k, f * k);
  for (std::size_t t = 0; t < expansions.size(); ++t) {
    if (!expansions[t].known()) continue;
    const auto s = coefficients.col(static_cast<Eigen::Index>(t));
    for (int j = 0; j < k; ++j) {
      for (int i = j; i < k; ++i) {
        matrix.block(i * f, j * f, f, f) +=
            s(i) * s(j) * action_block(expansions[t].curvature, action);
      }
    }
  }
  return matrix;
}

}  // namespace

bool fit_basis(const std::vector<Expansion>& expansions, const Eigen::MatrixXd& coefficients,
               double lambda, int f, int actions, Eigen::MatrixXd& basis) {
  // The system splits into one for each action, with the same matrix where all noises are equal.
  const auto k = static_cast<int>(coefficients.rows());
  Eigen::MatrixXd b_matrix = Eigen::MatrixXd::Zero(f * k, actions);
  Eigen::VectorXd curved(f * actions);
  int count = 0;
  for (std::size_t t = 0; t < expansions.size(); ++t) {
    if (!expansions[t].known()) continue;
    ++count;
    const auto s = coefficients.col(static_cast<Eigen::Index>(t));
    apply_curvature(expansions[t].curvature, expansions[t].target, curved);
    for (int j = 0; j < k; ++j) {
      for (int a = 0; a < actions; ++a) {
        b_matrix.col(a).segment(j * f, f) += s(j) * curved.segment(a * f, f);
      }
    }
  }
  b_matrix /= count;
  const bool common = std::all_of(expansions.begin(), expansions.end(),
                                  [](const Expansion& e) { return has_common_block(e.curvature); });
  const int alike = common ? actions : 1;  // actions that share a matrix
  for (int a = 0; a < actions; a += alike) {
    Eigen::MatrixXd a_matrix = basis_matrix(expansions, coefficients, f, a);
    a_matrix /= count;
    a_matrix.diagonal().array() += lambda;
    const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> cholesky(a_matrix);
    if (cholesky.info() != Eigen::Success) return false;
    auto columns = b_matrix.middleCols(a, alike);
    cholesky.solveInPlace(columns);
  }
  for (int a = 0; a < actions; ++a) {
    basis.middleRows(a * f, f) = b_matrix.col(a).reshaped(f, k);
  }
  return true;
}

void write_expansions(StateWriter& writer, const std::vector<Expansion>& expansions) {
  for (const Expansion& expansion : expansions) {
    writer.field("observed", expansion.known());
    if (!expansion.known()) continue;
    writer.field("curvature", expansion.curvature);
    writer.field("target", expansion.target);
  }
}

std::vector<Expansion> read_expansions(StateReader& reader, int tasks, int features, int actions) {
  std::vector<Expansion> expansions(static_cast<std::size_t>(tasks));
  for (Expansion& expansion : expansions) {
    bool known = false;
    reader.field("observed", known);
    if (!known) continue;
    reader.field("curvature", expansion.curvature);
    require(are_blocks(expansion.curvature, features, actions), "curvature",
            fmt::format("{} x {}", expansion.curvature.rows(), expansion.curvature.cols()),
            fmt::format("must be {0} x {0}, or so for each action", features));
    reader.field("target", expansion.target);
    require_size("target", expansion.target.size(), features * actions);
  }
  return expansions;
}

}  // namespace lifeguard
