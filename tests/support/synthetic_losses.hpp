#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/random.hpp"

namespace lifeguard {

/// Random numbers in order, for tests.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed, RandomStream::user, 0) {}
  double uniform(double low, double high) { return random_.uniform(next_++, low, high); }
  double normal() { return random_.normal(next_++); }
  int integer(int low, int high) {
    return low + static_cast<int>(uniform(0, 1) * (high - low + 1));
  }
  Eigen::MatrixXd normals(Eigen::Index rows, Eigen::Index columns) {
    Eigen::MatrixXd matrix(rows, columns);
    for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = normal();
    return matrix;
  }

 private:
  CounterRandom random_;
  std::uint32_t next_ = 0;
};

/// A loss with a random well-conditioned curvature and the given target.
inline RoundLoss synthetic_loss(Draws& draws, int features, const Eigen::VectorXd& target) {
  RoundLoss loss;
  loss.status = RoundLossStatus::ok;
  const Eigen::MatrixXd root = draws.normals(features, features);
  loss.curvature = root * root.transpose() / features;
  loss.curvature.diagonal().array() += 0.5;
  loss.target = target;
  loss.constant = 0;
  loss.trajectories = 1;
  loss.mean_cost = 1;
  return loss;
}

}  // namespace lifeguard
