#include "lifeguard/safety/solve/projection_settings.hpp"

#include <array>
#include <string_view>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/settings.hpp"

namespace lifeguard {
namespace {

constexpr std::array<std::string_view, 3> kProjectionModes = {"exact", "paper", "none"};

}  // namespace

void ProjectionSettings::visit(SettingVisitor& v) {
  visit_choice(
      v, "mode", mode, kProjectionModes,
      "none is the unconstrained learner; to empirical Bayes exact and paper are the same");
  v.number("p", p, Range::above(0), "", "smallest eigenvalue allowed of LᵀL");
  v.number("q", q, Range::above(0), "", "largest eigenvalue allowed of LᵀL");
  v.number("mu1", mu1, Range::above(0), "",
           "linearised, alternating, leader: weight of the distance in S");
  v.number("mu2", mu2, Range::above(0), "",
           "linearised, alternating, leader: weight of the distance in L");
  v.integer("max_alternations", max_alternations, Range::between(1, 100000), "",
            "linearised, alternating, leader: of L- and S-steps in a round");
  v.number("objective_tolerance", objective_tolerance, Range::at_least(0), "",
           "linearised, alternating, leader: alternations end when the distance falls by a smaller "
           "part");
  v.number("margin", margin, Range{.low = 0, .high = 0.1, .low_open = true, .high_open = true}, "",
           "share of every bound that solvers keep free for their rounding errors");
  v.flag("descend", descend,
         "linearised, alternating, leader: go on with steps in L and S together, to a stationary "
         "point of the joint problem");
  v.flag("none_limits_spectrum", none_limits_spectrum,
         "linearised, alternating, leader: whether mode none keeps p and q all the same");
}

void ProjectionSettings::validate() const {
  check_settings(*this);
  require(p < q, "p", p, "must be less than q");
}

}  // namespace lifeguard
