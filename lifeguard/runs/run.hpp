#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/regret/theorem_bounds.hpp"
#include "lifeguard/runs/config.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/runs/setting.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// What one round left behind, to be stored and shown.
struct RoundOutcome {
  StoredRound round;
  std::optional<StoredEvaluation> evaluation;
  std::optional<StoredCertificate> certificate;
  std::optional<StoredRegret> regret;
  std::optional<StoredLemmas> lemmas;
};

/// One configuration, one method, one seed, played round by round. Everything in an outcome but its
/// times is a pure function of the configuration.
class Run {
 public:
  explicit Run(const ExperimentConfig& config);

  const ExperimentConfig& config() const { return config_; }
  const Setting& setting() const { return setting_; }
  const PolicyLearner& learner() const { return *learner_; }
  long rounds_done() const { return learner_rounds_; }
  bool finished() const { return learner_rounds_ >= config_.rounds; }

  /// The evaluation of the initial policies.
  StoredEvaluation evaluate_now();
  /// Plays the next round.
  const RoundOutcome& play();

  /// To go on from later, to the same bits.
  std::string state() const;
  void restore(const std::string& state);

  /// α of every task, one column each.
  Eigen::MatrixXd policies() const;

 private:
  void record(const RoundRecord& from, StoredRound& to) const;
  int count_unsafe();
  void certify(RoundOutcome& outcome) const;
  void open_ledger();
  void keep_ledger(RoundOutcome& outcome);
  /// Of the best known safe policies, mean over the tasks. Looked for when it is first needed,
  /// since those who only look at a run's state do not need it.
  double best_cost();

  ExperimentConfig config_;
  Setting setting_;
  std::unique_ptr<PolicyLearner> learner_;
  long learner_rounds_ = 0;
  long next_evaluation_ = 1;
  RoundOutcome outcome_;
  Trajectories batch_;
  // Costs are a pure function of the policy, so an unchanged one is not evaluated again.
  Eigen::MatrixXd evaluated_policies_;
  Eigen::VectorXd evaluated_costs_;
  Eigen::VectorXd alpha_;
  // The regret so far, if it is kept.
  std::optional<RegretLedger> ledger_;
  std::vector<long> regret_rounds_;  // in which it is written down
  std::optional<double> best_cost_;  // what best_cost() found
  double true_regret_ = 0;           // up to the last evaluation
  double last_gap_ = 0;              // at that evaluation, above best_cost_
  long last_gap_round_ = 0;
  std::optional<TheoremBounds> bounds_;
  Knowledge played_;  // in this round
};

/// The theorem's bounds for the tasks of a learner; nothing where it does not speak of it, which it
/// does of the safe learner with losses in nats and bounded sets.
std::optional<TheoremBounds> theorem_bounds(const PolicyLearner& learner);

enum class RunStatus { finished, stopped };

struct RunOptions {
  /// Called after every round; false stops the run after it, ready to resume.
  std::function<bool(const Run&, const RoundOutcome&)> after_round = {};
  /// A commit is made when so much time has passed since the last one, and at the end. 0 commits
  /// every round. Decides nothing but how much is played again after a crash.
  double commit_seconds = 0.25;
};

/// Plays a run into a new file, or goes on with one that was left unfinished.
RunStatus start_run(const ExperimentConfig& config, const std::filesystem::path& path,
                    const RunOptions& options = {});
RunStatus resume_run(const std::filesystem::path& path, const RunOptions& options = {});

}  // namespace lifeguard
