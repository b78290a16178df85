#include "lifeguard/safety/solve/paper_basis.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <cmath>
#include <utility>
#include <vector>

#include "lifeguard/safety/solve/csdp.hpp"

namespace lifeguard {
namespace {

// The paper's programs take milliseconds.
constexpr int kMostSecondsOfPaperBasis = 5;

std::vector<CsdpProblem::Entry> identity(int size, double value) {
  std::vector<CsdpProblem::Entry> entries;
  for (int i = 0; i < size; ++i) entries.push_back({i, i, value});
  return entries;
}

// The semi-definite program in CSDP's form, max ⟨C, Z⟩ with ⟨A_i, Z⟩ = a_i, Z ⪰ 0, over three
// blocks: X − pI, qI − X and [tr X, w; w, 1].
bool solve_program(const Eigen::MatrixXd& coefficients, const Eigen::MatrixXd& last_basis,
                   double target_length, double p, double q, const Deadline& deadline,
                   Eigen::MatrixXd& x) {
  const int k = static_cast<int>(last_basis.cols());
  std::vector<Eigen::Index> tasks;
  for (Eigen::Index t = 0; t < coefficients.cols(); ++t) {
    // For s = 0 the equation says 0 = 0. As many equations as X has entries fix it completely, and
    // more would only be dependent.
    if (coefficients.col(t).norm() > 1e-9 && static_cast<int>(tasks.size()) < k * (k + 1) / 2) {
      tasks.push_back(t);
    }
  }
  CsdpProblem problem;
  const Eigen::MatrixXd nothing = Eigen::MatrixXd::Zero(k, k);
  // max 2‖L̃‖ w − tr X, where w stands twice in the symmetric block.
  Eigen::MatrixXd lengths(2, 2);
  lengths << -1, target_length, target_length, 0;
  problem.blocks = {{k, false, nothing}, {k, false, nothing}, {2, false, lengths}};
  std::vector<double> values;
  const auto add = [&](double value, std::vector<CsdpProblem::ConstraintBlock> blocks) {
    problem.constraints.push_back(std::move(blocks));
    values.push_back(value);
  };
  for (int j = 0; j < k; ++j) {  // (X − pI) + (qI − X) = (q − p) I
    for (int i = 0; i <= j; ++i) {
      add(i == j ? q - p : 0.0, {{0, {{i, j, 1.0}}}, {1, {{i, j, 1.0}}}});
    }
  }
  add(p * k, {{0, identity(k, -1.0)}, {2, {{0, 0, 1.0}}}});  // tr X
  add(1, {{2, {{1, 1, 1.0}}}});
  for (const Eigen::Index t : tasks) {
    const Eigen::VectorXd s = coefficients.col(t).normalized();
    std::vector<CsdpProblem::Entry> entries;
    for (int j = 0; j < k; ++j) {
      for (int i = 0; i <= j; ++i) entries.push_back({i, j, s[i] * s[j]});
    }
    add((last_basis * s).squaredNorm() - p, {{0, std::move(entries)}});
  }
  problem.values =
      Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  const CsdpSolution solution = solve_with_csdp_apart(problem, deadline, kMostSecondsOfPaperBasis);
  x = solution.primal.front();
  x = (0.5 * (x + x.transpose())).eval() + p * Eigen::MatrixXd::Identity(k, k);
  // 3: solved to reduced accuracy
  return (solution.code == 0 || solution.code == 3) && x.allFinite();
}

}  // namespace

PaperBasisStatus paper_basis(const Eigen::MatrixXd& coefficients,
                             const Eigen::MatrixXd& target_basis, const Eigen::MatrixXd& last_basis,
                             double p, double q, Eigen::MatrixXd& basis, const Deadline& deadline) {
  if (deadline.passed()) return PaperBasisStatus::solver_failed;
  Eigen::MatrixXd x;
  const bool solved =
      solve_program(coefficients, last_basis, target_basis.norm(), p, q, deadline, x);
  if (!solved) return PaperBasisStatus::solver_failed;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(x);
  const Eigen::VectorXd roots = eigen.eigenvalues().cwiseMax(p).cwiseMin(q).cwiseSqrt();
  const Eigen::MatrixXd root =
      eigen.eigenvectors() * roots.asDiagonal() * eigen.eigenvectors().transpose();
  const Eigen::JacobiSVD<Eigen::MatrixXd> polar(target_basis * root,
                                                Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::MatrixXd candidate = polar.matrixU() * polar.matrixV().transpose() * root;
  if (!candidate.allFinite()) return PaperBasisStatus::solver_failed;
  basis = candidate;
  return PaperBasisStatus::solved;
}

}  // namespace lifeguard
