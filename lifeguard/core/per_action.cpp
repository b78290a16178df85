#include "lifeguard/core/per_action.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

PerAction::PerAction(Eigen::VectorXd each) : all_(0), each_(std::move(each)) {
  require(each_.size() > 0, "list with one number for each action", "[]", "must not be empty");
}

bool PerAction::is_common() const { return each_.size() == 0 || (each_.array() == each_(0)).all(); }

double PerAction::common(std::string_view field) const {
  require(is_common(), field, text(), "must be the same for every action here");
  return of(0);
}

Eigen::VectorXd PerAction::values(Eigen::Index actions) const {
  if (each_.size() == 0) return Eigen::VectorXd::Constant(actions, all_);
  require_fits("list", actions);
  return each_;
}

void PerAction::require_fits(std::string_view field, Eigen::Index actions) const {
  if (each_.size() == 0 || each_.size() == actions) return;
  throw InvalidInput(std::string(field), text(),
                     fmt::format("must be one number, or {}: one for each action", actions));
}

std::string PerAction::name_of(std::string_view field, Eigen::Index action) const {
  return each_.size() == 0 ? std::string(field) : indexed(field, action);
}

std::string PerAction::text() const {
  if (each_.size() == 0) return fmt::format("{}", all_);
  return fmt::format("[{}]", fmt::join(each_.begin(), each_.end(), ", "));
}

bool PerAction::operator==(const PerAction& other) const {
  if (is_common() && other.is_common()) return of(0) == other.of(0);
  return each_.size() == other.each_.size() && (each_.array() == other.each_.array()).all();
}

void require_positive(std::string_view field, const PerAction& value) {
  for (Eigen::Index a = 0; a < std::max<Eigen::Index>(1, value.each().size()); ++a) {
    if (value.of(a) > 0 && std::isfinite(value.of(a))) continue;  // names cost memory
    require_positive(value.name_of(field, a), value.of(a));
  }
}

void require_not_negative(std::string_view field, const PerAction& value) {
  for (Eigen::Index a = 0; a < std::max<Eigen::Index>(1, value.each().size()); ++a) {
    if (value.of(a) >= 0 && std::isfinite(value.of(a))) continue;
    require_not_negative(value.name_of(field, a), value.of(a));
  }
}

}  // namespace lifeguard
