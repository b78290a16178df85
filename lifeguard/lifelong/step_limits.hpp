#pragma once

#include <Eigen/Core>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/learning_rule.hpp"
#include "lifeguard/safety/solve/metric_projection.hpp"

namespace lifeguard {

/// Cuts the steps of a rule to the safe sets in the metric of the round, where the safeguard would
/// cut them in another one (MetricProjection says what is lost then).
class StepLimits {
 public:
  explicit StepLimits(const ProjectionSettings& settings)
      : active_(settings.mode != ProjectionMode::none), margin_(settings.margin) {}

  /// `steps` has one column for each task's policy.
  void cut(const LearningRound& round, Eigen::MatrixXd& steps);

 private:
  bool active_;
  double margin_;  // of the sets' bounds
  Eigen::VectorXd policy_;
  Eigen::VectorXd wanted_;
  MetricProjection projection_;
};

}  // namespace lifeguard
