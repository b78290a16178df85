#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>

#include "lifeguard/core/aligned.hpp"

namespace lifeguard {

/// A batch of trajectories in structure-of-arrays form: the trajectory is the fastest index, so a
/// loop over trajectories reads memory in order and can be vectorised.
///
/// Step m of trajectory i is live while m < length(i). Afterwards the trajectory is absorbed: its
/// features and actions are zero and each step costs the task's failure cost. Batches may come from
/// the simulators, from a file or from a robot; nothing in here knows which.
class Trajectories {
 public:
  /// Rows of storage are padded to an odd multiple of this many trajectories, which is a cache line
  /// and the widest vector; the padding is zero.
  static constexpr int kPadding = 8;

  Trajectories() = default;
  /// All zero, all live.
  Trajectories(int count, int steps, int features, int actions) {
    reshape(count, steps, features, actions);
  }

  /// A new shape, all live. If it is the old shape nothing is cleared, since the simulators
  /// overwrite every number; otherwise all is zero. Memory is reused where it is large enough.
  void reshape(int count, int steps, int features, int actions);

  int count() const { return count_; }
  int steps() const { return steps_; }
  int features() const { return features_; }
  int actions() const { return actions_; }
  /// Distance in memory between two values of the same trajectory: count and its padding.
  std::size_t stride() const { return stride_; }

  double& feature(int i, int m, int f) { return features_data_[row(m, features_, f) + i]; }
  double feature(int i, int m, int f) const { return features_data_[row(m, features_, f) + i]; }
  double& action(int i, int m, int a) { return actions_data_[row(m, actions_, a) + i]; }
  double action(int i, int m, int a) const { return actions_data_[row(m, actions_, a) + i]; }
  double& cost(int i, int m) { return costs_data_[row(m, 1, 0) + i]; }
  double cost(int i, int m) const { return costs_data_[row(m, 1, 0) + i]; }
  /// Number of live steps.
  int length(int i) const { return lengths_[i]; }
  void set_length(int i, int length) { lengths_[i] = length; }

  /// The stride() values of one quantity at one step, contiguous over trajectories.
  double* feature_row(int m, int f) { return &features_data_[row(m, features_, f)]; }
  const double* feature_row(int m, int f) const { return &features_data_[row(m, features_, f)]; }
  double* action_row(int m, int a) { return &actions_data_[row(m, actions_, a)]; }
  const double* action_row(int m, int a) const { return &actions_data_[row(m, actions_, a)]; }
  double* cost_row(int m) { return &costs_data_[row(m, 1, 0)]; }
  const double* cost_row(int m) const { return &costs_data_[row(m, 1, 0)]; }
  std::int32_t* lengths() { return lengths_.data(); }
  const std::int32_t* lengths() const { return lengths_.data(); }

  /// 1 for each trajectory whose state left the finite range, else 0.
  std::int32_t* diverged_flags() { return diverged_flags_.data(); }
  const std::int32_t* diverged_flags() const { return diverged_flags_.data(); }

  /// Trajectories that ended early, and those of them that diverged.
  int failed() const;
  int diverged() const;

  /// C(τ_i) = (1/M) Σ_m c_m of one trajectory, and its mean over the batch.
  double mean_cost(int i) const;
  double mean_cost() const;

  /// Throws InvalidInput unless every number is finite and every length lies in [0, steps].
  void validate() const;

  bool operator==(const Trajectories&) const = default;

 private:
  std::size_t row(int m, int width, int column) const {
    return (static_cast<std::size_t>(m) * width + column) * stride_;
  }

  int count_ = 0;
  int steps_ = 0;
  int features_ = 0;
  int actions_ = 0;
  std::size_t stride_ = 0;
  AlignedVector<double> features_data_;
  AlignedVector<double> actions_data_;
  AlignedVector<double> costs_data_;
  AlignedVector<std::int32_t> lengths_;
  AlignedVector<std::int32_t> diverged_flags_;
};

}  // namespace lifeguard
