#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lifeguard/base_learners/round_settings.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"

namespace lifeguard {

class SettingVisitor;

/// Settings of PG, in which every task learns alone (independent.hpp).
struct IndependentSettings {
  static constexpr std::string_view kMethod = "pg";
  RoundSettings round;
  /// Trajectories of a round beyond those of the other methods. The learner takes what it is given;
  /// whoever plays it looks here.
  int extra_trajectories = 50;

  /// A learner with these settings, without tasks.
  std::unique_ptr<PolicyLearner> make(int features, int actions) const;
  /// The table [pg].
  void visit(SettingVisitor& visitor);
  void validate(int parameters) const;
};

/// Settings of PG-ELLA (pg_ella.hpp), named as in its paper.
struct PgEllaSettings {
  static constexpr std::string_view kMethod = "pg-ella";
  RoundSettings round;
  /// k, the number of columns of L, at most d; 0 means d.
  int k = 0;
  /// Weight μ ≥ 0 of ‖s‖₁ in the coefficients' LASSO.
  double sparsity = 1e-3;
  /// Weight λ > 0 of ‖L‖².
  double lambda = 1e-3;
  /// Whether a task that was not observed yet plays the mean of the observed coefficients. Its
  /// authors let it play its own start policy; this makes the baseline stronger.
  bool warm_start = true;

  /// A learner with these settings, without tasks.
  std::unique_ptr<PolicyLearner> make(int features, int actions) const;
  /// The table [pg_ella].
  void visit(SettingVisitor& visitor);
  void validate(int parameters) const;
};

/// Settings of LPG-FTW (lpg_ftw.hpp).
struct LpgFtwSettings {
  static constexpr std::string_view kMethod = "lpg-ftw";
  RoundSettings round;
  /// k_max ≥ 1, the columns that L grows to; no more than d are used.
  int k = 5;
  /// k₀ ≥ 1: so many tasks train a column each before anything is shared.
  int first_tasks = 1;
  /// Weight λ > 0 of ‖L‖².
  double lambda = 1e-5;
  /// In [0, 1]: what the smallest eigenvalue of a task's curvature is shifted to, as a share of the
  /// mean one. Its authors shift to 10⁻³, with features of about unit size and F of one step.
  double smallest_eigenvalue = 1e-3;

  /// A learner with these settings, without tasks.
  std::unique_ptr<PolicyLearner> make(int features, int actions) const;
  /// The table [lpg_ftw].
  void visit(SettingVisitor& visitor);
  void validate(int parameters) const;
};

/// Settings of the method with one policy for all tasks (shared.hpp).
struct SharedSettings {
  static constexpr std::string_view kMethod = "shared";
  RoundSettings round;

  /// A learner with these settings, without tasks.
  std::unique_ptr<PolicyLearner> make(int features, int actions) const;
  /// The table [shared].
  void visit(SettingVisitor& visitor);
  void validate(int parameters) const;
};

/// Every method of the library, by its settings. To add one, write its file, and its settings and
/// its name here. The settings of a method have
///   static constexpr std::string_view kMethod;     its name in configurations
///   RoundSettings round;                           how its trajectories become losses
///   void visit(SettingVisitor&);                   its tables in a configuration
///   void validate(int parameters) const;
///   std::unique_ptr<PolicyLearner> make(int features, int actions) const;
using Methods = std::tuple<LearnerSettings, IndependentSettings, PgEllaSettings, SharedSettings,
                           LpgFtwSettings>;

/// Calls `visitor` with the settings of every method in turn.
template <typename MethodsOrConst, typename Visitor>
void for_each_method(MethodsOrConst& methods, const Visitor& visitor) {
  std::apply([&](auto&... settings) { (visitor(settings), ...); }, methods);
}

/// Their names in the order of the list.
inline std::vector<std::string_view> method_names() {
  std::vector<std::string_view> names;
  const Methods methods;
  for_each_method(methods, [&](const auto& settings) { names.push_back(settings.kMethod); });
  return names;
}

/// Calls `visitor` with the settings of the method of this name; throws InvalidInput if there is
/// none.
template <typename MethodsOrConst, typename Visitor>
void visit_method(MethodsOrConst& methods, std::string_view name, const Visitor& visitor) {
  bool found = false;
  for_each_method(methods, [&](auto& settings) {
    if (settings.kMethod != name) return;
    found = true;
    visitor(settings);
  });
  require(found, "method", name, "must be a method of this library");
}

/// A new learner of the method of this name, without tasks.
inline std::unique_ptr<PolicyLearner> make_learner(const Methods& methods, std::string_view name,
                                                   int features, int actions) {
  std::unique_ptr<PolicyLearner> learner;
  visit_method(methods, name,
               [&](const auto& settings) { learner = settings.make(features, actions); });
  return learner;
}

}  // namespace lifeguard
