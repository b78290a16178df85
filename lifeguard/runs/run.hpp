#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/regret/theorem_bounds.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// One configuration, one method, one seed, played round by round. Everything in an outcome but its
/// times is a pure function of the configuration.
class Run {
 public:
  /// Draws the tasks and makes the learner; nothing is played yet. `work` is told and asked while
  /// the run is set up and wherever a round takes long; then each of these throws Stopped, and the
  /// run is not to be used any more.
  explicit Run(const ExperimentConfig& config, const LongWork& work = {});
  /// With tasks that were drawn before.
  Run(const ExperimentConfig& config, DrawnTasks drawn, LongWork work = {});

  /// A run whose trajectories come from outside, with a learner that knows its tasks already.
  Run(const ExperimentConfig& config, DrawnTasks drawn, std::unique_ptr<Learner> learner);

  /// What is played, with what, and how far.
  const ExperimentConfig& config() const { return config_; }
  const DrawnTasks& drawn() const { return drawn_; }
  const PolicyLearner& learner() const { return *learner_; }
  long rounds_done() const { return learner_rounds_; }
  bool finished() const { return learner_rounds_ >= config_.rounds; }

  /// The evaluation of the initial policies.
  StoredEvaluation evaluate_now();
  /// Plays the next round.
  const RoundOutcome& play();
  /// A round from outside: trajectories of a task that were gathered with this policy. Throws
  /// InvalidInput if they cannot be learnt from; then, and if they hold no exploration noise, the
  /// run is what it was before.
  const RoundOutcome& observe(int task, const GaussianPolicy& played, const Trajectories& batch);

  /// One more task, or another description of a known one, of a run from outside. Throws
  /// InvalidInput if the safe set is refused; the run is then what it was.
  void add_task(const DrawnTask& added);
  void set_task(int task, const DrawnTask& changed);

  /// To go on from later, to the same bits.
  std::string state() const;
  void restore(const std::string& state);

  /// α of every task, one column each.
  Eigen::MatrixXd policies() const;

  /// What a file says of the run before its first round; of a run that was not played yet.
  RunDescription description() const;
  /// What a commit stores.
  RunState stored_state() const;
  /// The certificate of what the learner knows, as JSON; empty if its method has none.
  std::string certificate_json() const;

 private:
  /// What is learnt from batch, and what is written down of it.
  const RoundOutcome& learn(int task, const GaussianPolicy& policy, const Trajectories& batch);
  void record(const RoundRecord& from, StoredRound& to) const;
  int count_unsafe();
  void certify(RoundOutcome& outcome) const;
  /// What is believed of a task before its first round, if that is followed.
  void believe_before(int task);
  /// And of it and of all tasks after the round of the outcome.
  void believe_after(RoundOutcome& outcome) const;
  void open_ledger();
  void keep_ledger(RoundOutcome& outcome);
  /// What is known of the regret now.
  StoredRegret regret_now(double true_cost) const;
  /// Of the best known safe policies, mean over the tasks. Looked for when it is first needed,
  /// since those who only look at a run's state do not need it.
  double best_cost();

  ExperimentConfig config_;
  bool observed_ = false;  // trajectories come from outside
  LongWork work_;
  DrawnTasks drawn_;
  std::unique_ptr<PolicyLearner> learner_;
  long learner_rounds_ = 0;
  long next_evaluation_ = 1;
  RoundOutcome outcome_;
  Trajectories batch_;
  // Costs are a pure function of the policy, so an unchanged one is not evaluated again.
  Eigen::MatrixXd evaluated_policies_;
  Eigen::VectorXd evaluated_costs_;
  Eigen::VectorXd observed_costs_;  // of each task's last round from outside
  Eigen::VectorXd alpha_;
  // Whether a policy is safe is likewise only asked anew when it changed.
  Eigen::MatrixXd judged_policies_;
  std::vector<bool> judged_unsafe_;
  long fallbacks_before_ = 0;                        // the round
  std::optional<StoredTaskBelief> believed_before_;  // likewise
  // The regret so far, if it is kept.
  std::optional<RegretLedger> ledger_;
  std::optional<PolicyPrior> belief_;  // of the round's task, before it
  std::vector<long> regret_rounds_;    // in which it is written down
  std::optional<double> best_cost_;    // what best_cost() found
  double true_regret_ = 0;             // up to the last evaluation
  double last_gap_ = 0;                // at that evaluation, above best_cost_
  long last_gap_round_ = 0;
  std::optional<TheoremBounds> bounds_;
  Knowledge played_;  // in this round
};

/// The regret is written down in so many rounds of each decade.
inline constexpr int kRegretRounds = 12;

/// The theorem's bounds for the tasks of a learner; nothing where it does not speak of it, which it
/// does of the safe learner with losses in nats and bounded sets.
std::optional<TheoremBounds> theorem_bounds(const PolicyLearner& learner);

}  // namespace lifeguard
