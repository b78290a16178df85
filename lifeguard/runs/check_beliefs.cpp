#include "lifeguard/runs/check_beliefs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "lifeguard/runs/followed_tasks.hpp"
#include "lifeguard/runs/run_beliefs.hpp"

namespace lifeguard {
namespace {

/// Whether no variance of a stored covariance is negative; if one is, where.
bool variances_hold(const Eigen::VectorXd& lower_half, Eigen::Index size, Eigen::Index& place) {
  place = 0;
  for (Eigen::Index c = 0; c < size; place += size - c++) {
    if (!(lower_half(place) >= 0)) return false;
  }
  return true;
}

class BeliefsCheck {
 public:
  explicit BeliefsCheck(CheckedRun& run) : run_(run) {}

  void check_beliefs() {
    const long first = first_belief();
    for (const StoredRound& round : run_.view->rounds) {
      const bool holds = round.round >= first ? round.agreement >= 0 && round.agreement <= 1
                                              : std::isnan(round.agreement);
      if (!holds) {
        run_.find(fmt::format("round {}: the steps of different tasks are said to agree by {}",
                              round.round, round.agreement));
      }
    }
    std::vector<long> expected;
    for (const StoredEvaluation& evaluation : run_.evaluations) {
      if (evaluation.round >= first) expected.push_back(evaluation.round);
    }
    if (!run_.in_their_places(run_.view->beliefs, expected)) return;
    for (const StoredBeliefs& beliefs : run_.view->beliefs) check(beliefs);
  }

  /// Before the first round of a task and after some of them.
  void check_task_beliefs() {
    std::vector<StoredTaskBelief> expected;
    const long first = first_belief();
    for (const StoredRound& round : run_.view->rounds) {
      const bool counts = round.status == RoundStatus::ok || round.status == RoundStatus::no_signal;
      if (!counts || !is_followed(round.task, run_.view->parameters())) continue;
      if (round.visit == 1 && round.round > first) {
        expected.push_back({.moment = 2 * round.round - 1, .task = round.task, .visit = 0});
      }
      if (round.round >= first && is_followed_visit(round.visit)) {
        expected.push_back({.moment = 2 * round.round, .task = round.task, .visit = round.visit});
      }
    }
    const std::vector<StoredTaskBelief>& found = run_.view->task_beliefs;
    for (std::size_t i = 0; i < std::max(found.size(), expected.size()); ++i) {
      const bool missing =
          i >= found.size() || (i < expected.size() && expected[i].moment < found[i].moment);
      if (missing || i >= expected.size() || found[i].moment < expected[i].moment) {
        run_.find(fmt::format("table task_beliefs, moment {}: {}",
                              missing ? expected[i].moment : found[i].moment,
                              missing ? "is missing" : "must not be there"));
        return;
      }
      if (found[i].task != expected[i].task || found[i].visit != expected[i].visit) {
        run_.find(fmt::format(
            "table task_beliefs, moment {}: is of visit {} of task {}, must be of "
            "visit {} of task {}",
            found[i].moment, found[i].visit, found[i].task, expected[i].visit, expected[i].task));
      }
      if (Eigen::Index next = 0;
          !variances_hold(found[i].covariance, run_.view->parameters(), next)) {
        run_.find(fmt::format("table task_beliefs, moment {}: the variance at place {} is negative",
                              found[i].moment, next));
      }
    }
  }

  /// The last ones, against the stored learner.
  void check_last_beliefs() {
    if (run_.view->beliefs.empty() ||
        run_.view->beliefs.back().round != run_.header().rounds_done) {
      return;
    }
    const auto restored =
        stored_beliefs(run_.again->learner(), run_.again->drawn().tasks, run_.header().rounds_done);
    if (!restored) {
      run_.find("the stored learner believes nothing");
      return;
    }
    // A machine that has come since is in the learner and not in what it believed then.
    if (run_.observed() && restored->places.cols() != run_.view->beliefs.back().places.cols()) {
      return;
    }
    run_.compare(table_of<StoredBeliefs>(), run_.view->beliefs.back(), *restored, kDrawnAgain,
                 "the stored learner: ");
  }

 private:
  // It believes from the first round on that taught it anything.

  bool has_beliefs() const {
    return run_.schema() >= 7 && run_.experiment().base_method == "learner" &&
           run_.config.learner().update == UpdateRule::empirical_bayes;
  }

  /// The first round after which there are beliefs; after the last one if there are none.
  long first_belief() const {
    const auto taught =
        std::find_if(run_.view->rounds.begin(), run_.view->rounds.end(),
                     [](const StoredRound& round) { return round.status == RoundStatus::ok; });
    return has_beliefs() && taught != run_.view->rounds.end() ? taught->round
                                                              : run_.header().rounds_done + 1;
  }

  void check(const StoredBeliefs& beliefs) {
    const auto wrong = [&](const std::string& what) {
      run_.find(fmt::format("the beliefs after round {}: {}", beliefs.round, what));
    };
    constexpr double kRounding = 1e-6;
    const Eigen::VectorXd& variances = beliefs.variances;
    if (!(beliefs.trust_in_mean >= 0 && beliefs.trust_in_mean <= 1)) {
      wrong(fmt::format("the trust in the mean is {}", beliefs.trust_in_mean));
    }
    if (!(beliefs.units.minCoeff() > 0)) wrong("a gain has no unit");
    if (!(variances.minCoeff() >= 0) ||
        !std::is_sorted(variances.begin(), variances.end(), std::greater<>())) {
      wrong("the variances do not descend to 0 or above");
    }
    const Eigen::Index count = beliefs.directions.cols();
    const Eigen::MatrixXd product = beliefs.readings.transpose() * beliefs.directions;
    if (!((product - Eigen::MatrixXd::Identity(count, count)).cwiseAbs().maxCoeff() < kRounding)) {
      wrong("the readings are not those of the directions");
    }
    const long tasks =
        run_.observed() ? run_.view->tasks_after(beliefs.round) : run_.experiment().tasks;
    const auto followed =
        static_cast<Eigen::Index>(followed_tasks(tasks, beliefs.mean.size()).size());
    if (beliefs.places.cols() != followed) {
      wrong(fmt::format("{} tasks are followed, must be {}", beliefs.places.cols(), followed));
      return;
    }
    for (Eigen::Index i = 0; i < followed; ++i) {
      const double a = beliefs.places(2, i);
      const double b = beliefs.places(3, i);
      const double c = beliefs.places(4, i);
      if (!(a >= 0 && c >= 0 && b * b <= a * c * (1 + kRounding))) {
        wrong(fmt::format("the {}th task that is followed has no covariance", i + 1));
      }
    }
  }

  CheckedRun& run_;
};

}  // namespace

void check_beliefs(CheckedRun& run) {
  BeliefsCheck part(run);
  part.check_beliefs();
  part.check_task_beliefs();
}

void check_last_beliefs(CheckedRun& run) { BeliefsCheck(run).check_last_beliefs(); }

}  // namespace lifeguard
