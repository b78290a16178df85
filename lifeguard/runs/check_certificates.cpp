#include "lifeguard/runs/check_certificates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/systems/absent_system.hpp"

namespace lifeguard {
namespace {

class CertificatesCheck {
 public:
  explicit CertificatesCheck(CheckedRun& run) : run_(run) {}

  void check_evaluations() {
    std::vector<long> expected;
    if (run_.header().begun) {
      expected.push_back(0);
      const auto done = static_cast<long>(run_.view->rounds.size());
      for (long round = 1; round <= done;) {
        expected.push_back(round);
        const long next = next_evaluation(run_.config, round);
        if (next <= round) break;
        round = next;
      }
    }
    if (!run_.in_their_places(run_.evaluations, expected)) return;
    for (const StoredEvaluation& evaluation : run_.evaluations) {
      if (run_.absent.empty()) ++run_.result.evaluations;
      if (run_.observed()) {
        const long count = run_.view->tasks_after(evaluation.round);
        const Eigen::VectorXd costs = costs_after(evaluation.round).head(count);
        const auto same = [](double a, double b) {
          return a == b || (std::isnan(a) && std::isnan(b));
        };
        if (!std::equal(costs.begin(), costs.end(), evaluation.costs.begin(),
                        evaluation.costs.end(), same)) {
          run_.find(
              fmt::format("the evaluation after round {}: its costs are not those last observed",
                          evaluation.round));
          continue;
        }
      }
      run_.known_policies_after(evaluation.round, [&](int t, const Eigen::VectorXd& alpha) {
        const SafeSet& set = run_.view->safe_set(t);
        const Task& task = run_.view->tasks[static_cast<std::size_t>(t)];
        const double cost = run_.observed() || is_absent(task.system)
                                ? evaluation.costs(t)
                                : evaluation_cost(run_.config, task, alpha);
        if (!nearly_equal(evaluation.costs(t), cost, kEvaluatedAgain)) {
          run_.find(fmt::format("the evaluation after round {}: task {} costs {} and not {}",
                                evaluation.round, t, cost, evaluation.costs(t)));
        }
        const double margin = margins(set, alpha).worst();
        if (!nearly_equal(evaluation.margins(t), margin, kEvaluatedAgain, unit_of(set))) {
          run_.find(
              fmt::format("the evaluation after round {}: task {} has the margin {} and not {}",
                          evaluation.round, t, margin, evaluation.margins(t)));
        }
      });
    }
  }

  void check_certificates() {
    if (!run_.in_their_places(run_.view->certificates, run_.all_rounds(has_certificates()))) return;
    for (const StoredCertificate& certificate : run_.view->certificates) check(certificate);
  }

 private:
  /// What was observed last of each task, up to a round.
  Eigen::VectorXd costs_after(long round) const {
    Eigen::VectorXd costs = Eigen::VectorXd::Constant(run_.experiment().tasks, kNaN);
    for (const StoredRound& played : run_.view->rounds) {
      if (played.round <= round) costs(played.task) = played.mean_cost;
    }
    return costs;
  }

  /// The size of the numbers whose difference a margin is.
  static double unit_of(const SafeSet& set) {
    const double rows = set.rows() == 0 ? 0 : 1e-3 * (1 + set.limits().cwiseAbs().maxCoeff());
    return set.inequalities().empty() ? rows : std::max(1.0, rows);
  }

  bool has_certificates() const {
    return run_.experiment().base_method == "learner" && run_.view->constrained();
  }

  void check(const StoredCertificate& certificate) {
    const auto wrong = [&](const std::string& what) {
      run_.find(fmt::format("the certificate of round {}: {}", certificate.round, what));
    };
    for (int t = 0; t < run_.view->tasks_after(certificate.round); ++t) {
      const int row = certificate.worst_rows[static_cast<std::size_t>(t)];
      const int rows = run_.view->safe_set_after(certificate.round, t).constraints();
      if (row < (rows > 0 ? 0 : -1) || row >= rows) {
        wrong(fmt::format("task {} has no row {}", t, row));
        return;
      }
      if (std::isnan(certificate.margins(t))) wrong(fmt::format("task {} has no margin", t));
    }
    check_spectrum(certificate, wrong);
    run_.known_policies_after(certificate.round, [&](int t, const Eigen::VectorXd& alpha) {
      const SafeSet& set = run_.view->safe_set(t);
      const double claimed = certificate.margins(t);
      TaskCertificate claim;
      claim.worst_row = certificate.worst_rows[static_cast<std::size_t>(t)];
      claim.row_margin = claimed;
      claim.slack_margin = set.has_slack_limit() ? claimed : kInfinity;
      // Of a policy that is not safe another one may have been handed out.
      if (!(claimed > 0) || !set.constrained()) return;
      if (!claim_holds(set, alpha, claim)) {
        wrong(fmt::format("task {}: a margin of {} is claimed, which is more than there is", t,
                          claimed));
      }
      const Margins found = margins(set, alpha);
      if (!nearly_equal(found.worst(), claimed, kEvaluatedAgain, unit_of(set))) {
        wrong(fmt::format("task {}: the margin is {} and not {}", t, found.worst(), claimed));
      }
      if (!nearly_equal(found.rows(claim.worst_row), found.rows.minCoeff(), kEvaluatedAgain,
                        unit_of(set))) {
        wrong(fmt::format("task {}: \"{}\" is not the worst row", t, set.name(claim.worst_row)));
      }
    });
    const StoredEvaluation* evaluation = row_of(run_.evaluations, certificate.round);
    for (int t = 0; evaluation != nullptr && t < evaluation->margins.size(); ++t) {
      if (certificate.margins(t) > 0 &&
          !nearly_equal(evaluation->margins(t), certificate.margins(t), kEvaluatedAgain,
                        unit_of(run_.view->safe_set_after(certificate.round, t)))) {
        wrong(fmt::format("task {} has another margin in the round's evaluation", t));
      }
    }
    const StoredRound* round = row_of(run_.view->rounds, certificate.round);
    if (round != nullptr && round->worst_task >= 0 && std::isfinite(round->worst_margin)) {
      // Of the visited task where no other one is touched by a round.
      const double least = run_.config.learner().update == UpdateRule::empirical_bayes
                               ? certificate.margins(round->worst_task)
                               : certificate.margins.minCoeff();
      if (!nearly_equal(least, round->worst_margin, kEvaluatedAgain,
                        unit_of(run_.view->safe_set_after(round->round, round->worst_task)))) {
        wrong(
            fmt::format("the least margin is {}, the projection's {}", least, round->worst_margin));
      }
    }
  }

  template <class Wrong>
  void check_spectrum(const StoredCertificate& certificate, const Wrong& wrong) {
    const Eigen::VectorXd& spectrum = certificate.spectrum;
    if (spectrum.size() == 0) {
      wrong("there is no spectrum");
      return;
    }
    if (!std::is_sorted(spectrum.begin(), spectrum.end())) wrong("the spectrum does not ascend");
    constexpr double kRoom = 1e-6;
    const double least = spectrum.minCoeff();
    const double largest = spectrum.maxCoeff();
    const double p = run_.experiment().p;
    const double q = run_.experiment().q;
    const double rounding = 1e-12 * largest;  // of the eigenvalues, which are not what was proven
    const bool outside = !(least >= p * (1 - kRoom) - rounding && largest <= q * (1 + kRoom));
    const bool inside = least >= p * (1 + kRoom) + rounding && largest <= q * (1 - kRoom);
    if (certificate.spectrum_holds ? outside : inside) {
      wrong(fmt::format("the spectrum lies in [{}, {}] and is said {}to lie in [{}, {}]", least,
                        largest, certificate.spectrum_holds ? "" : "not ", p, q));
    }
  }

  CheckedRun& run_;
};

}  // namespace

void check_certificates(CheckedRun& run) {
  CertificatesCheck part(run);
  part.check_evaluations();
  part.check_certificates();
}

}  // namespace lifeguard
