#pragma once

#include <Eigen/Core>

#include "lifeguard/lifelong/learner.hpp"

namespace lifeguard {

/// The directions in which tasks differ, the one in which they differ most first.
///
/// The eigenvectors of P = L Lᵀ itself depend on what gains are counted in. These are its principal
/// axes in the metric Ḡ, in which the learner compares policies: P Ḡ v = λ v with vᵀ Ḡ v = 1. A
/// change of units, or of the features altogether, gives the same directions, and if tasks differ
/// in one gain only, that gain alone is the first of them, whatever is believed of the others.
///
/// Lengths are in units of the exploration noise, as Ḡ is the Fisher information of a whole
/// trajectory: two policies that are 1 apart differ by half a nat in what a trajectory looks like.
struct TaskDirections {
  Eigen::VectorXd variances;  // λ, of tasks along each
  Eigen::MatrixXd axes;       // V, whose columns are the directions, as changes of gains
  Eigen::MatrixXd readings;   // Ḡ V: readingsᵀ (α - m) is the place of a policy
  /// Of each gain alone: a change by so much is 1 long. 1 / √Ḡ_ii.
  Eigen::VectorXd units;

  /// How large a part each gain has in a direction: the squares of its changes in their units. They
  /// sum up to 1.
  Eigen::VectorXd shares(Eigen::Index direction) const;
};

/// Of which the sign is such that the gain with the largest share grows.
TaskDirections task_directions(const TaskBeliefs& beliefs);

/// The place of a task along the first two directions, and how sure that is.
struct TaskPlace {
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  Eigen::Matrix2d covariance = Eigen::Matrix2d::Zero();
};

/// With one gain there is no second direction, and all is 0 along it.
TaskPlace place_of(const TaskPosterior& posterior, const TaskBeliefs& beliefs,
                   const TaskDirections& directions);

}  // namespace lifeguard
