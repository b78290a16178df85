#include "lifeguard/lifelong/task_directions.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>

#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// R of Ḡ = R Rᵀ, for all gains. A block that is singular to working precision counts by its
/// diagonal, so that there always is an answer.
Eigen::MatrixXd factor_of(const Eigen::MatrixXd& metric, Eigen::Index parameters) {
  Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(parameters, parameters);
  const Eigen::Index width = metric.cols();
  for (Eigen::Index a = 0; a < parameters / width; ++a) {
    const Eigen::MatrixXd block = action_block(metric, a);
    auto part = factor.block(a * width, a * width, width, width);
    const Eigen::LLT<Eigen::MatrixXd> cholesky(block);
    if (cholesky.info() == Eigen::Success) {
      part = cholesky.matrixL();
    } else {
      part.diagonal() = block.diagonal().cwiseMax(1e-300).cwiseSqrt();
    }
  }
  return factor;
}

}  // namespace

Eigen::VectorXd TaskDirections::shares(Eigen::Index direction) const {
  const Eigen::VectorXd squares = axes.col(direction).cwiseQuotient(units).cwiseAbs2();
  return squares / squares.sum();
}

TaskDirections task_directions(const TaskBeliefs& beliefs) {
  const Eigen::Index parameters = beliefs.basis.rows();
  const Eigen::MatrixXd factor = factor_of(beliefs.metric, parameters);
  // With y = Rᵀδ the metric is the identity, and v = R⁻ᵀ y.
  const Eigen::MatrixXd whitened = factor.transpose() * beliefs.basis;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(whitened * whitened.transpose());
  TaskDirections directions;
  directions.variances = solver.eigenvalues().reverse().cwiseMax(0.0);
  const Eigen::MatrixXd axes = solver.eigenvectors().rowwise().reverse();
  directions.axes = factor.transpose().triangularView<Eigen::Upper>().solve(axes);
  directions.readings.noalias() = factor * axes;
  directions.units = factor.rowwise().norm().cwiseInverse();
  for (Eigen::Index i = 0; i < parameters; ++i) {
    Eigen::Index largest = 0;
    directions.shares(i).maxCoeff(&largest);
    if (directions.axes(largest, i) >= 0) continue;
    directions.axes.col(i) *= -1;
    directions.readings.col(i) *= -1;
  }
  return directions;
}

TaskPlace place_of(const TaskPosterior& posterior, const TaskBeliefs& beliefs,
                   const TaskDirections& directions) {
  const Eigen::Index count = std::min<Eigen::Index>(2, directions.readings.cols());
  const Eigen::MatrixXd readings = directions.readings.leftCols(count);
  TaskPlace place;
  place.mean.head(count) = readings.transpose() * (posterior.mean - beliefs.mean);
  place.covariance.topLeftCorner(count, count) =
      readings.transpose() * posterior.covariance * readings;
  return place;
}

}  // namespace lifeguard
