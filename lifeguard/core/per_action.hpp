#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>

namespace lifeguard {

/// A number for each action of a policy: the same for all, whatever their number, or one for each.
/// The noise of a force and that of a torque have nothing in common but the policy.
class PerAction {
 public:
  /// The same for every action.
  PerAction(double all = 0) : all_(all) {}  // NOLINT(google-explicit-constructor)
  /// One for each action; must not be empty.
  explicit PerAction(Eigen::VectorXd each);

  /// Whether every action has the same.
  bool is_common() const;
  /// Of an action.
  double of(Eigen::Index action) const { return each_.size() == 0 ? all_ : each_(action); }
  /// Of all; throws InvalidInput that names the field unless every action has the same.
  double common(std::string_view field) const;
  /// Over the actions.
  double least() const { return each_.size() == 0 ? all_ : each_.minCoeff(); }
  double largest() const { return each_.size() == 0 ? all_ : each_.maxCoeff(); }
  /// One for each of so many actions.
  Eigen::VectorXd values(Eigen::Index actions) const;
  /// The list if there is one, else empty.
  const Eigen::VectorXd& each() const { return each_; }

  /// Throws InvalidInput if there is a list of another length.
  void require_fits(std::string_view field, Eigen::Index actions) const;
  /// "sigma", or "sigma[1]" of a list: how a message calls the number of an action.
  std::string name_of(std::string_view field, Eigen::Index action) const;
  /// "0.1" or "[0.1, 0.5]".
  std::string text() const;

  /// Whether all actions have the same in both; a list of equal numbers is that number.
  bool operator==(const PerAction& other) const;

 private:
  double all_;
  Eigen::VectorXd each_;  // empty: all_ for every action
};

/// Throw InvalidInput that names the action's number, its value and the rule.
void require_positive(std::string_view field, const PerAction& value);
void require_not_negative(std::string_view field, const PerAction& value);

}  // namespace lifeguard
