#include "lifeguard/safety/solve/semidefinite_program.hpp"

#include <fmt/format.h>

#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/safety/solve/csdp.hpp"

namespace lifeguard {

namespace {

// Programs of closed loops take a part of one.
constexpr int kMostSeconds = 5;

}  // namespace
namespace {

// Of the magnitude of a matrix: what may separate it from its transpose.
constexpr double kAsymmetry = 1e-9;

Eigen::MatrixXd checked(const Eigen::MatrixXd& matrix) {
  require(matrix.rows() > 0, "matrix", "0 rows", "must have at least 1");
  require_size("matrix (columns)", matrix.cols(), matrix.rows());
  require(matrix.allFinite(), "matrix", "not finite", "must be finite");
  const double asymmetry = (matrix - matrix.transpose()).cwiseAbs().maxCoeff();
  require(asymmetry <= kAsymmetry * matrix.cwiseAbs().maxCoeff(), "matrix", asymmetry,
          "must be symmetric; this is its largest difference from its transpose");
  return 0.5 * (matrix + matrix.transpose());
}

SemidefiniteStatus status_of(int code) {
  switch (code) {
    case 0:
    case 3:
      return SemidefiniteStatus::solved;
    case 1:  // CSDP's primal is our dual
      return SemidefiniteStatus::unbounded;
    case 2:
      return SemidefiniteStatus::infeasible;
    case 9:
      return SemidefiniteStatus::failed;
    default:
      return SemidefiniteStatus::not_converged;
  }
}

}  // namespace

const char* to_string(SemidefiniteStatus status) {
  switch (status) {
    case SemidefiniteStatus::not_run:
      return "not run";
    case SemidefiniteStatus::solved:
      return "solved";
    case SemidefiniteStatus::infeasible:
      return "infeasible";
    case SemidefiniteStatus::unbounded:
      return "unbounded";
    case SemidefiniteStatus::not_converged:
      return "not converged";
    case SemidefiniteStatus::deadline_passed:
      return "deadline passed";
    case SemidefiniteStatus::failed:
      return "failed";
  }
  return "unknown";
}

SemidefiniteProgram::SemidefiniteProgram(int variables) : variables_(variables) {
  require(variables > 0, "variables", variables, "must be at least 1");
  objective_ = Eigen::VectorXd::Zero(variables);
}

int SemidefiniteProgram::require_semidefinite(
    const std::function<Eigen::MatrixXd(const Eigen::VectorXd&)>& matrix) {
  Condition condition;
  condition.constant = checked(matrix(Eigen::VectorXd::Zero(variables_)));
  for (int i = 0; i < variables_; ++i) {
    const Eigen::MatrixXd value = checked(matrix(Eigen::VectorXd::Unit(variables_, i)));
    require_size("matrix (rows)", value.rows(), condition.constant.rows());
    condition.factors.emplace_back(value - condition.constant);
  }
  conditions_.push_back(std::move(condition));
  return static_cast<int>(conditions_.size()) - 1;
}

int SemidefiniteProgram::require_not_negative(double constant, const Eigen::VectorXd& factors) {
  require_finite("constant", constant);
  require_size("factors", factors.size(), variables_);
  require(factors.allFinite(), "factors", "not finite", "must be finite");
  Condition condition{Eigen::MatrixXd::Constant(1, 1, constant), {}};
  for (const double factor : factors) {
    condition.factors.emplace_back(Eigen::MatrixXd::Constant(1, 1, factor));
  }
  conditions_.push_back(std::move(condition));
  return static_cast<int>(conditions_.size()) - 1;
}

void SemidefiniteProgram::maximise(const Eigen::VectorXd& objective) {
  require_size("objective", objective.size(), variables_);
  require(objective.allFinite(), "objective", "not finite", "must be finite");
  objective_ = objective;
}

SemidefiniteResult SemidefiniteProgram::solve(const Deadline& deadline) const {
  require(!conditions_.empty(), "conditions", "none", "must have at least 1");
  SemidefiniteResult result;
  result.status = SemidefiniteStatus::deadline_passed;
  if (deadline.passed()) return result;

  // CSDP's dual, min aᵀy with Σ y_i A_i − C ⪰ 0, is our program with a = −c, A_i = F_i, C = −F_0.
  // All numbers stand in one diagonal block, the last.
  struct Place {
    int block, row;
  };
  std::vector<Place> places;
  CsdpProblem problem;
  int numbers = 0;
  for (const Condition& condition : conditions_) {
    if (condition.constant.size() == 1) {
      places.push_back({-1, numbers++});
    } else {
      places.push_back({static_cast<int>(problem.blocks.size()), 0});
      problem.blocks.push_back(
          {static_cast<int>(condition.constant.rows()), false, -condition.constant});
    }
  }
  const int last = static_cast<int>(problem.blocks.size());
  if (numbers > 0) {
    Eigen::VectorXd diagonal(numbers);
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      if (places[i].block < 0) diagonal(places[i].row) = -conditions_[i].constant(0, 0);
    }
    problem.blocks.push_back({numbers, true, diagonal});
  }
  problem.values = -objective_;
  for (int v = 0; v < variables_; ++v) {
    std::vector<CsdpProblem::ConstraintBlock> blocks;
    CsdpProblem::ConstraintBlock diagonal{last, {}};
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      const Eigen::MatrixXd& factor = conditions_[i].factors[static_cast<std::size_t>(v)];
      if (factor.isZero(0)) continue;
      if (places[i].block < 0) {
        diagonal.entries.push_back({places[i].row, places[i].row, factor(0, 0)});
        continue;
      }
      std::vector<CsdpProblem::Entry> entries;
      for (int c = 0; c < factor.cols(); ++c) {
        for (int r = 0; r <= c; ++r) {
          if (factor(r, c) != 0) entries.push_back({r, c, factor(r, c)});
        }
      }
      blocks.push_back({places[i].block, std::move(entries)});
    }
    if (!diagonal.entries.empty()) blocks.push_back(std::move(diagonal));
    require(!blocks.empty(), "variables", v, "must each stand in a condition");
    problem.constraints.push_back(std::move(blocks));
  }

  const CsdpSolution solution = solve_with_csdp_apart(problem, deadline, kMostSeconds);
  result.status = status_of(solution.code);
  if (!solution.y.allFinite()) result.status = SemidefiniteStatus::failed;
  // A solver that was told to stop calls it a failure of another kind.
  if (result.status == SemidefiniteStatus::not_converged && deadline.passed()) {
    result.status = SemidefiniteStatus::deadline_passed;
  }
  result.y = solution.y;
  result.objective = objective_.dot(solution.y);
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    const Place& place = places[i];
    result.weights.push_back(place.block < 0
                                 ? solution.primal[static_cast<std::size_t>(last)](place.row, 0)
                                 : solution.primal[static_cast<std::size_t>(place.block)].trace());
  }
  return result;
}

}  // namespace lifeguard
