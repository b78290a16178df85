#include "lifeguard/runs/check_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/safety/prove/certificate.hpp"

namespace lifeguard {
namespace {

class RoundsCheck {
 public:
  explicit RoundsCheck(CheckedRun& run) : run_(run) {}

  /// Everything that was handed out is proven again, whether or not anybody played it.
  void check_issues() {
    if (!run_.observed()) return;
    for (const StoredIssue& issue : run_.view->issues) {
      run_.options.work.step("proving policies that were handed out", issue.place,
                             static_cast<long>(run_.view->issues.size()));
      const std::string& name = run_.view->tasks[static_cast<std::size_t>(issue.task)].name;
      if (issue.fingerprint != policy_fingerprint(name, issue.parameters, issue.sigma)) {
        run_.find(fmt::format("table issues, place {}: has another fingerprint", issue.place));
      }
      const SafeSet& set = run_.view->safe_sets()[static_cast<std::size_t>(issue.safe_set)];
      for (const Finding& finding : check_policy(set, issue.parameters)) {
        run_.find_unsafe(
            fmt::format("policy {} for {}: {}", issue.fingerprint, name, finding.message));
      }
      ++run_.result.issues;
    }
  }

  // Each round by itself, and its place.

  void check_rounds() {
    if (!run_.observed() && run_.header().rounds_done > run_.config.rounds) {
      run_.find(fmt::format("{} rounds are done of {} planned", run_.header().rounds_done,
                            run_.config.rounds));
    }
    if (!run_.observed() &&
        run_.header().finished != (run_.header().rounds_done >= run_.config.rounds)) {
      run_.find(fmt::format("after {} of {} rounds the run says it is {}finished",
                            run_.header().rounds_done, run_.config.rounds,
                            run_.header().finished ? "" : "not "));
    }
    std::vector<long> visits(run_.view->tasks.size(), 0);
    long expected = 0;
    for (const StoredRound& round : run_.view->rounds) {
      run_.options.work.step("checking rounds", round.round, run_.header().rounds_done);
      if (round.round != ++expected) {
        run_.find(fmt::format("round {} is missing", expected));
        return;
      }
      if (run_.observed()) {
        check_observation(round);
      } else if (round.task != scheduled_task(run_.config, round.round)) {
        run_.find(fmt::format("round {}: is of task {}, must be of task {}", round.round,
                              round.task, scheduled_task(run_.config, round.round)));
      }
      const auto t = static_cast<std::size_t>(round.task);
      if (round.status == RoundStatus::ok || round.status == RoundStatus::no_signal) ++visits[t];
      if (round.visit != visits[t]) {
        run_.find(fmt::format("round {}: is visit {} of its task, must be {}", round.round,
                              round.visit, visits[t]));
      }
      if (!run_.observed() && round.round == 1 &&
          round.played != run_.view->first_policies.col(round.task)) {
        run_.find("round 1: the policy that was played is not the task's first one");
      }
      check_safeguard(round);
      if (round.fallbacks > 0) {
        run_.find(fmt::format(
            "round {}: {} times a policy that was proven safe was refused when it was handed out, "
            "and its anchor took its place",
            round.round, round.fallbacks));
      }
      ++run_.result.policies;
      for (const Finding& finding : check_policy(run_.view->safe_set_played(round), round.played)) {
        run_.find_unsafe(fmt::format("round {}, {}: {}", round.round, run_.view->tasks[t].name,
                                     finding.message));
      }
    }
    if (expected != run_.header().rounds_done) {
      run_.find(fmt::format("{} rounds are stored, the state is after {}", expected,
                            run_.header().rounds_done));
    }
  }

  /// The number of unsafe policies after each round, against what proves policies safe or unsafe.
  void check_counts() {
    std::vector<bool> safe(run_.view->tasks.size());
    for (const StoredRound& round : run_.view->rounds) {
      const StoredCertificate* certificate = row_of(run_.view->certificates, round.round);
      const StoredEvaluation* evaluation = row_of(run_.evaluations, round.round);
      const bool grown_since = run_.view->tasks_after(round.round) < run_.experiment().tasks;
      for (int t = 0; t < run_.experiment().tasks; ++t) {
        safe[static_cast<std::size_t>(t)] =
            !run_.view->constrained() || (certificate != nullptr && certificate->margins(t) > 0) ||
            (evaluation != nullptr && t < evaluation->margins.size() &&
             evaluation->margins(t) >= 0) ||
            (grown_since && t >= run_.view->tasks_after(round.round));
      }
      long least = 0;
      run_.known_policies_after(round.round, [&](int t, const Eigen::VectorXd& alpha) {
        const bool obeys = obeys_exactly(run_.view->safe_set(t), alpha);
        safe[static_cast<std::size_t>(t)] = obeys;
        least += obeys ? 0 : 1;
      });
      const long most = std::count(safe.begin(), safe.end(), false);
      if (round.unsafe < least || round.unsafe > most) {
        run_.find(fmt::format(
            "round {}: {} policies are said to be unsafe, {} are", round.round, round.unsafe,
            least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most)));
      }
    }
  }

 private:
  void check_observation(const StoredRound& round) {
    const StoredObservation& o = run_.view->observations[static_cast<std::size_t>(round.round - 1)];
    const StoredIssue& issue = run_.view->issues[static_cast<std::size_t>(o.issue)];
    if (round.played != issue.parameters) {
      run_.find(fmt::format("round {}: the policy that was played is not the one handed out",
                            round.round));
    }
    if (!o.id.empty() && !observation_ids_.insert(o.id).second) {
      run_.find(
          fmt::format("round {}: the observation \"{}\" was counted twice", round.round, o.id));
    }
    if (o.cut_short > o.trajectories) {
      run_.find(
          fmt::format("round {}: more trajectories were cut short than there are", round.round));
    }
  }

  void check_safeguard(const StoredRound& round) {
    if (round.projection.empty()) {
      if (!round.basis_path.empty() || round.alternations != 0 || round.iterations != 0 ||
          round.worst_task != -1 || !round.worst_row.empty() || !std::isnan(round.worst_margin) ||
          !std::isnan(round.retraction)) {
        run_.find(
            fmt::format("round {}: says what a projection did that was not made", round.round));
      }
      return;
    }
    if (round.worst_row.empty()) return;
    if (round.worst_task < 0) {
      run_.find(fmt::format("round {}: has a worst row of no task", round.round));
      return;
    }
    const std::vector<std::string>& names =
        run_.view->safe_set_after(round.round, round.worst_task).names();
    if (std::find(names.begin(), names.end(), round.worst_row) == names.end()) {
      run_.find(fmt::format("round {}: the worst row \"{}\" is none of task {}", round.round,
                            round.worst_row, round.worst_task));
    }
  }

  CheckedRun& run_;
  std::set<std::string> observation_ids_;
};

}  // namespace

void check_rounds(CheckedRun& run) {
  RoundsCheck part(run);
  part.check_issues();
  part.check_rounds();
}

void check_counts(CheckedRun& run) { RoundsCheck(run).check_counts(); }

}  // namespace lifeguard
