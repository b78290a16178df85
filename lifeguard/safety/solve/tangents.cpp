#include "lifeguard/safety/solve/tangents.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lifeguard {

double CurvedConstraints::largest_ratio(const Eigen::Ref<const Eigen::VectorXd>& policy) const {
  double largest = 0;
  for (const GainInequality& inequality : inequalities) {
    largest = std::max(largest, inequality.ratio(policy));
  }
  if (std::isfinite(slack_limit)) {
    largest = std::max(largest, (limits - rows * policy).norm() / slack_limit);
  }
  return largest;
}

void CurvedConstraints::add_tangents(const Eigen::Ref<const Eigen::VectorXd>& policy, double least,
                                     std::vector<GainInequality::Tangent>& tangents) const {
  for (const GainInequality& inequality : inequalities) {
    inequality.add_tangents(policy, least, tangents);
  }
  if (!std::isfinite(slack_limit)) return;
  const Eigen::VectorXd slack = limits - rows * policy;
  const double length = slack.norm();
  if (length < least * slack_limit || !(length > 0)) return;
  GainInequality::Tangent tangent{-rows.transpose() * slack / (length * slack_limit), 0};
  tangent.bound = 1 - length / slack_limit + tangent.row.dot(policy);
  tangents.push_back(std::move(tangent));
}

double convex_scale(double anchor_ratio, double ratio, double most) {
  if (ratio <= most) return 1;
  if (!(anchor_ratio < most) || !std::isfinite(ratio)) return 0;
  return (most - anchor_ratio) / (ratio - anchor_ratio);
}

}  // namespace lifeguard
