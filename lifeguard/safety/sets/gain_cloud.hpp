#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// Safe sets from gains that are known to be good. `points` has one α in each column. Both rest on
/// the belief that what lies between good gains is good; the second also goes beyond them.

/// The convex hull. The facets are found in exact arithmetic, so points in a plane, repeated points
/// and regular grids do no harm; rounding the rows lets the set exceed the hull by rounding errors,
/// and every point is inside. The number of facets grows fast with the number of parameters (100
/// points: 10 facets or so with 2 parameters, hundreds with 4): throws InvalidInput if there are
/// more than max_rows on the way, or if the points lie in a plane, so that the hull has no inside.
/// Rows are named "<name> 0", "<name> 1" …
SafeSet gain_cloud_hull(const Eigen::MatrixXd& points, const std::string& name = "known-good facet",
                        int max_rows = 1000);

/// The smallest set with the given directions as rows that contains all points:
///   v_jᵀα ≤ max over the points p of v_jᵀp.
/// As many rows as directions (columns), for any number of parameters; but corners without any
/// known-good point belong to it.
SafeSet gain_cloud_bounds(const Eigen::MatrixXd& points, const Eigen::MatrixXd& directions,
                          const std::vector<std::string>& names);

}  // namespace lifeguard
