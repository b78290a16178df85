#pragma once

#include <Eigen/Core>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/base_learners/round_settings.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/action_range.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/policy/policy_prior.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

struct BaseLearnerWorkspace;
class StateReader;
class StateWriter;

/// How a round ended, and what that means for the learner.
enum class RoundStatus {
  not_run,
  /// The round was learnt from.
  ok,
  /// The round's data gave no direction (RoundLossStatus::no_signal); it counts as a visit.
  no_signal,
  /// A linear system of the update was singular to working precision; the learner is what it was
  /// before the round.
  singular,
  /// The actions are the policy's mean, without exploration noise (TrajectoryStatus::no_noise): the
  /// data are refused, and the learner is what it was before.
  no_noise,
};

/// What the safeguard did in a round, without the matrices.
struct SafeguardRecord {
  ProjectionStatus status = ProjectionStatus::not_run;
  BasisPath basis_path = BasisPath::not_run;
  CoefficientPathCounts coefficient_paths;
  int alternations = 0;
  long iterations = 0;  // of all solver steps
  /// The smallest margin over all rows and slack limits of all tasks, a lower bound; and where.
  double worst_margin = kNaN;
  int worst_task = -1;
  std::string_view worst_row;  // its name; valid until the task's safe set changes
  double retraction = kNaN;
  double seconds = kNaN;
};

/// What happened in one round.
struct RoundRecord {
  RoundStatus status = RoundStatus::not_run;
  RoundLossStatus loss_status = RoundLossStatus::not_run;
  std::string_view task;  // valid as long as the learner
  long round = 0;         // counts from 1
  long visit = 0;         // to this task, counts from 1
  double mean_cost = kNaN;
  /// l_j at the policy that was played, and at the task's policy after the round.
  double loss_before = kNaN;
  double loss_after = kNaN;
  double step_kl = kNaN;
  double noise_share = kNaN;
  /// What a look at the trajectories said; not run if a loss was observed.
  TrajectoryCheck trajectories;
  /// What kept the policies safe; not run for learners without constraints.
  SafeguardRecord safeguard;
};

/// More parameters than any policy has; a damaged file must not ask for all memory.
inline constexpr int kMostParameters = 1 << 20;

/// Anything that learns policies for several tasks from their rollouts: ask policy(), play it, tell
/// observe(). All tasks have the same features and actions. A call that throws, or a round that
/// ends in a status other than ok and no_signal, leaves the learner exactly as it was.
class PolicyLearner {
 public:
  /// No tasks yet.
  PolicyLearner(int features, int actions, const RoundSettings& round);
  virtual ~PolicyLearner();

  /// Sizes, settings, and what was played so far; d = features · actions.
  int features() const { return features_; }
  int actions() const { return actions_; }
  int parameters() const { return features_ * actions_; }
  int tasks() const { return static_cast<int>(tasks_.size()); }
  long rounds() const { return rounds_; }
  long visits(std::string_view id) const { return tasks_[index(id)].visits; }
  const RoundSettings& round_settings() const { return round_; }
  bool knows(std::string_view id) const { return index_.find(id) != index_.end(); }

  /// A new task, known before its first rollout. `anchor` is a policy that may be played at once
  /// (K as one vector, GaussianPolicy::parameters) and `sigma` its exploration noise,
  /// for all actions or for each.
  void add_task(const std::string& id, const Eigen::VectorXd& anchor, const PerAction& sigma);

  /// Another exploration noise for a known task.
  void set_sigma(std::string_view id, const PerAction& sigma);
  /// What its actions are limited to before they act, infinite where they are not: with this known
  /// the base learner may use its critic (CriticUse::automatic). Nothing is known unless it is
  /// told.
  void set_action_range(std::string_view id, const ActionRange& range);
  const ActionRange& action_range(std::string_view id) const { return tasks_[index(id)].range; }

  /// What to play next.
  GaussianPolicy policy(std::string_view id) const;
  /// Its parameters α_t.
  virtual void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const = 0;
  /// What it believed of a task's policy before the task's first loss, or believes now if there was
  /// none; nothing for learners that have no such belief.
  virtual std::optional<PolicyPrior> belief_of(int /*task*/) const { return std::nullopt; }

  /// Learns from one round of a task: trajectories gathered with policy(id), wherever they come
  /// from, or what another base learner made of them.
  ///
  /// Trajectories that cannot be learnt from (TrajectoryStatus) throw InvalidInput: wrong shapes
  /// and lengths, numbers that are not finite, actions that are not draws of policy(id) as it is
  /// now. The latter does not hold for fit_demonstrations, which imitates whoever acted.
  RoundRecord observe(std::string_view id, const Trajectories& trajectories);
  RoundRecord observe(std::string_view id, const RoundLoss& loss);
  /// The same with trajectories that were gathered with a policy which was handed out earlier, and
  /// which other tasks' rounds have moved since.
  RoundRecord observe(std::string_view id, const Trajectories& trajectories,
                      const GaussianPolicy& played);
  /// What the last observe() of trajectories made of them; its `played` is what was played.
  const RoundLoss& last_loss() const { return loss_; }

  /// How often policy_parameters() handed out the anchor, since its last look at a policy failed.
  virtual long fallbacks() const { return 0; }

  /// All that rounds changed, as text. A learner made with the same settings and tasks that reads
  /// it goes on to the same bits. read_state throws InvalidInput for another learner's state.
  virtual void write_state(std::ostream& out) const = 0;
  virtual void read_state(std::istream& in) = 0;

 protected:
  /// A known task.
  struct TaskState {
    std::string id;
    PerAction sigma;
    long visits = 0;
    ActionRange range = {};
  };

  /// Moved by those who derive from it.
  PolicyLearner(PolicyLearner&&) noexcept;
  /// As the constructor.
  PolicyLearner& operator=(PolicyLearner&&) noexcept;

  /// The first and the last part of add_task, for learners that know more of their tasks.
  void require_new_task(const std::string& id, const Eigen::VectorXd& anchor,
                        const PerAction& sigma) const;
  void enter_task(const std::string& id, const PerAction& sigma);
  /// The place of a task in the order of adding; an unknown one throws InvalidInput.
  int index(std::string_view id) const;
  /// All known tasks, to read and to put back.
  const std::vector<TaskState>& task_states() const { return tasks_; }
  void restore_tasks(std::vector<TaskState> tasks, long rounds);
  /// Rounds, and the visits to each task, under the learner's own title. What was read is put back
  /// when the rest was read as well: a state that is refused changes nothing.
  struct SavedVisits {
    std::vector<TaskState> tasks;
    long rounds;
  };
  /// Writes, reads without changing anything, and puts back.
  void write_visits(StateWriter& writer, std::string_view title) const;
  SavedVisits read_visits(StateReader& reader, std::string_view title) const;
  void restore_visits(SavedVisits visits);
  /// A matrix of the same shape as `matrix` is now.
  static void read_matrix(StateReader& reader, std::string_view name, Eigen::MatrixXd& matrix);

 private:
  /// From trajectories of played_.
  RoundRecord observe_played(std::string_view id, const Trajectories& trajectories);
  /// Before the task is counted by tasks().
  virtual void append_task(const Eigen::VectorXd& anchor) = 0;
  /// Must leave everything as it was unless it returns ok.
  virtual RoundStatus update(int task, const RoundLoss& loss) = 0;
  /// What a learner wants to say of the round that update() has just finished.
  virtual void describe_update(RoundRecord& /*record*/) const {}
  /// How often the policy of this task was improved before, for the base learner's decaying steps.
  /// Where every round improves all policies, this is the number of rounds for each task.
  virtual double visits_before(int /*task*/) const {
    return static_cast<double>(rounds_) / tasks();
  }
  void require_usable(const RoundLoss& loss) const;
  void require_noise(const PerAction& sigma) const;
  RoundRecord refuse(int task, const TrajectoryCheck& check, double mean_cost) const;

  int features_;
  int actions_;
  RoundSettings round_;
  GaussianPolicy played_;  // in the round that is being observed
  std::unique_ptr<BaseLearnerWorkspace> workspace_;
  RoundLoss loss_;
  RoundLoss next_loss_;  // until its trajectories are known to be usable
  long rounds_ = 0;
  std::vector<TaskState> tasks_;
  std::map<std::string, int, std::less<>> index_;
  Eigen::VectorXd alpha_;
};

}  // namespace lifeguard
