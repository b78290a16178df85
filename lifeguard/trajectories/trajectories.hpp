#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

/// Why a trajectory has no further steps.
enum class EndReason {
  finished,   // all steps of the task were taken
  failed,     // absorbed: each further step costs the failure cost
  cut_short,  // by a time limit, an operator, the end of a recording: no failure, and what would
              // have followed is not known
};
/// "finished", "failed" or "cut short".
const char* to_string(EndReason end);

/// A number that cannot be in a batch.
struct BadEntry {
  std::string field;  // "action (trajectory 3, step 17, column 0)"
  double value = 0;
  std::string rule;
};

/// A batch of trajectories in structure-of-arrays form: the trajectory is the fastest index, so a
/// loop over trajectories reads memory in order and can be vectorised.
///
/// The task has steps() steps. Step m of trajectory i is live while m < length(i). A trajectory
/// that ended before steps() has zero features and actions from there on, and
///   failed     each further step costs the task's failure cost;
///   cut short  further costs are zero because they are not known, and the features of the state
///              that the last action led to are kept (final_feature), to value it from there.
/// Batches may come from the simulators, whose trajectories finish or fail, from a file or from a
/// robot; nothing in here knows which.
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

  /// The shape.
  int count() const { return count_; }
  int steps() const { return steps_; }
  int features() const { return features_; }
  int actions() const { return actions_; }
  /// Distance in memory between two values of the same trajectory: count and its padding.
  std::size_t stride() const { return stride_; }

  /// Feature f, action a and the cost of step m of trajectory i.
  double& feature(int i, int m, int f) { return features_data_[row(m, features_, f) + i]; }
  double feature(int i, int m, int f) const { return features_data_[row(m, features_, f) + i]; }
  double& action(int i, int m, int a) { return actions_data_[row(m, actions_, a) + i]; }
  double action(int i, int m, int a) const { return actions_data_[row(m, actions_, a) + i]; }
  double& cost(int i, int m) { return costs_data_[row(m, 1, 0) + i]; }
  double cost(int i, int m) const { return costs_data_[row(m, 1, 0) + i]; }
  /// Number of live steps.
  int length(int i) const { return lengths_[i]; }
  /// Fewer than steps() mean a failure; what follows the end must be as described above. fail() and
  /// cut() also see to that.
  void set_length(int i, int length) {
    lengths_[i] = length;
    cut_short_flags_[i] = 0;
  }
  EndReason end(int i) const {
    if (lengths_[i] >= steps_) return EndReason::finished;
    return cut_short_flags_[i] != 0 ? EndReason::cut_short : EndReason::failed;
  }

  /// The trajectory fails after so many steps: the rest is zero but for the failure cost.
  void fail(int i, int length, double failure_cost);
  /// The trajectory is cut short after so many steps, in a state with these features: the rest
  /// becomes zero. At length = steps() it has finished, and the features are not needed.
  void cut(int i, int length, std::span<const double> features_after);
  /// The same if the state after the last action was not recorded. Then the last recorded step
  /// serves as that state and is a step no more: length(i) becomes length - 1, and nothing is
  /// learnt from the action whose outcome nobody saw. Write the numbers of the trajectory first.
  void cut(int i, int length);
  /// Features of the state that a trajectory was cut short in.
  double final_feature(int i, int f) const {
    return final_features_[static_cast<std::size_t>(f) * stride_ + i];
  }

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

  /// Trajectories that failed, and those of them that diverged.
  int failed() const;
  int diverged() const;
  /// Trajectories that were cut short.
  int cut_short() const;

  /// C(τ_i) = (1/M) Σ_m c_m; of a trajectory that was cut short the mean over its own steps, NaN if
  /// it has none.
  double mean_cost(int i) const;
  /// The mean of C(τ) over the batch, with completed totals for those that were cut short.
  double mean_cost() const;

  /// The first number that is not finite, length that does not lie in [0, steps], or number after
  /// the end of a trajectory that is not as described above.
  std::optional<BadEntry> find_bad_entry() const;
  /// Throws InvalidInput if there is one, or no trajectory.
  void validate() const;

  bool operator==(const Trajectories&) const = default;

 private:
  void end_at(int i, int length, double cost_after);
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
  AlignedVector<std::int32_t> cut_short_flags_;
  AlignedVector<double> final_features_;  // features × stride; empty before the first cut()
};

/// Sums of the costs and of the live steps of each trajectory over all steps of the task. What a
/// trajectory that was cut short lacks is taken from those that went on: from its last step on it
/// counts as their mean, in sums that are completed themselves. So each mean over the batch is that
/// of a batch without cuts, in expectation, if cuts have nothing to do with what would have
/// followed (Efron 1967, "redistribution to the right"); the means of trajectories over their own
/// steps would not be, where early steps cost more than late ones. Where nobody went on, a
/// trajectory goes on at the mean cost of its own steps, live to the end. NaN if no trajectory of
/// the batch has anything to go by.
void complete_totals(const Trajectories& trajectories, double* costs, double* live_steps);

/// For each step the weight with which its live trajectories stand for those that were cut short
/// before: 1/G_m, where G_m = Π_{k ≤ m} live_k / (live_k + cut_k) estimates the probability of not
/// being cut short by step m (Kaplan and Meier 1958). 1 up to the first cut, 0 where nobody is
/// live.
void observation_weights(const Trajectories& trajectories, double* weights);

}  // namespace lifeguard
