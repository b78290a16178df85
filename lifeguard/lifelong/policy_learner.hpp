#pragma once

#include <Eigen/Core>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/base_learners/adaptation.hpp"
#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/lifelong/safeguard.hpp"
#include "lifeguard/policy/gaussian_policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

enum class RoundStatus {
  not_run,
  /// The round was learnt from.
  ok,
  /// The round's data gave no direction (RoundLossStatus::no_signal); it counts as a visit.
  no_signal,
  /// A linear system of the update was singular to working precision; the learner is what it was
  /// before the round.
  singular,
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
  /// What kept the policies safe; not run for learners without constraints.
  SafeguardRecord safeguard;
};

/// How trajectories become a loss, in the same way for every learner.
struct RoundSettings {
  BaseLearnerSettings base_learner = default_base_learner();
  AdaptationSettings adaptation;

  /// eNAC with the advantages that served all families best (docs/learning.md): γ = 0.998, λ = 0.95
  /// and a baseline fitted twice; trust regions decay as 1 / (1 + visits).
  static BaseLearnerSettings default_base_learner();
  void validate() const;
  bool operator==(const RoundSettings&) const = default;
};

/// Anything that learns policies for several tasks from their rollouts: ask policy(), play it, tell
/// observe(). All tasks have the same features and actions. A call that throws, or a round that
/// ends in a status other than ok and no_signal, leaves the learner exactly as it was.
class PolicyLearner {
 public:
  PolicyLearner(int features, int actions, const RoundSettings& round);
  virtual ~PolicyLearner() = default;

  int features() const { return features_; }
  int actions() const { return actions_; }
  int parameters() const { return features_ * actions_; }
  int tasks() const { return static_cast<int>(tasks_.size()); }
  long rounds() const { return rounds_; }
  long visits(std::string_view id) const { return tasks_[index(id)].visits; }
  const RoundSettings& round_settings() const { return round_; }
  bool knows(std::string_view id) const { return index_.find(id) != index_.end(); }

  /// A new task, known before its first rollout. `anchor` is a policy that may be played at once
  /// (K as one vector, GaussianPolicy::parameters) and `sigma` its exploration noise.
  void add_task(const std::string& id, const Eigen::VectorXd& anchor, double sigma);

  /// What to play next.
  GaussianPolicy policy(std::string_view id) const;
  /// Its parameters α_t.
  virtual void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const = 0;

  /// Learns from one round of a task: trajectories gathered with policy(id), wherever they come
  /// from, or what another base learner made of them.
  RoundRecord observe(std::string_view id, const Trajectories& trajectories);
  RoundRecord observe(std::string_view id, const RoundLoss& loss);
  /// What the last observe() of trajectories made of them; its `played` is what was played.
  const RoundLoss& last_loss() const { return loss_; }

  /// All that rounds changed, as text. A learner made with the same settings and tasks that reads
  /// it goes on to the same bits. read_state throws InvalidInput for another learner's state.
  virtual void write_state(std::ostream& out) const = 0;
  virtual void read_state(std::istream& in) = 0;

 protected:
  struct TaskState {
    std::string id;
    double sigma;
    long visits;
  };

  /// add_task with a safe set, for learners that keep one; null otherwise.
  void add_task(const std::string& id, const Eigen::VectorXd& anchor, double sigma,
                const SafeSet* safe_set);
  /// The place of a task in the order of adding; an unknown one throws InvalidInput.
  int index(std::string_view id) const;
  const std::vector<TaskState>& task_states() const { return tasks_; }
  void restore_tasks(std::vector<TaskState> tasks, long rounds);
  /// Rounds, and the visits to each task, under the learner's own title.
  void write_visits(StateWriter& writer, const std::string& title) const;
  void read_visits(StateReader& reader, const std::string& title);
  /// A matrix of the same shape as `matrix` is now.
  static void read_matrix(StateReader& reader, std::string_view name, Eigen::MatrixXd& matrix);

 private:
  virtual void append_task(const Eigen::VectorXd& anchor, const SafeSet* safe_set) = 0;
  /// Must leave everything as it was unless it returns ok.
  virtual RoundStatus update(int task, const RoundLoss& loss, SafeguardRecord& safeguard) = 0;
  /// How often the policy of this task was improved before, for the base learner's decaying steps.
  /// Where every round improves all policies, this is the number of rounds for each task.
  virtual double visits_before(int /*task*/) const {
    return static_cast<double>(rounds_) / tasks();
  }
  void require_usable(const RoundLoss& loss) const;

  int features_;
  int actions_;
  RoundSettings round_;
  GaussianPolicy played_;  // in the round that is being observed
  BaseLearnerWorkspace workspace_;
  RoundLoss loss_;
  long rounds_ = 0;
  std::vector<TaskState> tasks_;
  std::map<std::string, int, std::less<>> index_;
  Eigen::VectorXd alpha_;
};

}  // namespace lifeguard
