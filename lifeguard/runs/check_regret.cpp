#include "lifeguard/runs/check_regret.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "lifeguard/regret/true_cost.hpp"

namespace lifeguard {
namespace {

class RegretCheck {
 public:
  explicit RegretCheck(CheckedRun& run) : run_(run) {}

  void check_regret() {
    std::vector<long> expected;
    if (run_.config.regret) {
      for (const long round : log_spaced_rounds(run_.config.rounds, kRegretRounds)) {
        if (round <= static_cast<long>(run_.view->rounds.size())) expected.push_back(round);
      }
    }
    if (!run_.in_their_places(run_.view->regrets, expected)) return;
    for (const StoredRegret& regret : run_.view->regrets) check_bound(regret);
  }

  void check_lemmas() {
    // Files of the first schemas have no lemmas.
    const bool wanted = !run_.observed() && run_.schema() >= 3 && run_.config.regret &&
                        theorem_bounds(run_.again->learner()).has_value();
    if (!run_.in_their_places(run_.view->lemmas, run_.all_rounds(wanted))) return;
    for (const StoredLemmas& lemmas : run_.view->lemmas) {
      ++run_.result.lemmas;
      if (!lemmas.values.hold()) {
        run_.find(fmt::format("round {}: a quantity of the regret theorem is above its bound",
                              lemmas.round));
      }
    }
  }

 private:
  /// The theorem of docs/theorem.md. The sums have rounding errors, of the size of what is added.
  void check_bound(const StoredRegret& regret) {
    if (run_.schema() < 6) return;
    ++run_.result.bounds;
    const double size = std::abs(regret.surrogate) + std::abs(regret.bound_prior) +
                        std::abs(regret.bound_rounds) + std::abs(regret.bound_off_leader) +
                        std::abs(regret.bound_changes);
    constexpr double kRounding = 1e-9;
    const double terms = regret.bound_of_leader() + regret.bound_off_leader;
    // The comparator's interval is all that the bound has beside its terms.
    if (!(regret.bound >= terms - kRounding * size && regret.bound <= terms + 1e-3 * (1 + size))) {
      run_.find(fmt::format("round {}: the bound of the regret is {} and its terms are {}",
                            regret.round, regret.bound, terms));
    }
    if (!(regret.surrogate <= regret.bound + kRounding * size)) {
      run_.find(fmt::format("round {}: the regret {} is above its bound {}", regret.round,
                            regret.surrogate, regret.bound));
    }
    if (!(regret.bound_rounds >= 0)) {
      run_.find(fmt::format("round {}: the rounds' part of the bound is {}", regret.round,
                            regret.bound_rounds));
    }
  }

  CheckedRun& run_;
};

}  // namespace

void check_regret(CheckedRun& run) {
  RegretCheck part(run);
  part.check_regret();
  part.check_lemmas();
}

}  // namespace lifeguard
