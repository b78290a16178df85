#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <optional>
#include <utility>
#include <vector>

#include "lifeguard/lifelong/learning_rule.hpp"
#include "lifeguard/lifelong/retreat.hpp"
#include "lifeguard/lifelong/step_limits.hpp"
#include "lifeguard/lifelong/task_prior.hpp"

namespace lifeguard {

/// α_t = m + L s_t with an L that is learnt: tasks are draws of N(m, P), L = P^½, and a round is an
/// observation Δ = -G⁻¹ĝ/c of where the task's own optimum lies from the policy that was played,
/// with the covariance r G⁻¹ of its noise (docs/knowledge.md). What a round says of a task is
/// weighed against what the tasks before it say of tasks; what all of them say is m and P.
///
/// Early on the steps of different tasks agree, and a share w of each reaches all of them through
/// m; w is how far they still agree. A step of one task alone is filtered by its posterior first
/// and cut to the trust region after, so that noise uses up none of it.
class EmpiricalBayesRule : public LearningRule {
 public:
  EmpiricalBayesRule(const LearnerSettings& settings, int features, int actions);

  void add_task(const Eigen::VectorXd& anchor) override;
  RoundStatus solve(const LearningRound& round, Knowledge& next) override;
  void accept(const LearningRound& round, const Knowledge& accepted) override;
  std::optional<Eigen::VectorXd> first_policy(const Eigen::VectorXd& anchor) const override;
  void save_task(int task, StateWriter& writer) const override;
  void load_task(StateReader& reader) override;
  void save_shared(StateWriter& writer) const override;
  void load_shared(StateReader& reader) override;

  /// What is believed of tasks, and how far their steps agree.
  const TaskPrior& prior() const { return shared_.prior; }
  const Eigen::VectorXd& mean() const { return shared_.mean; }
  double agreement() const { return shared_.agreement; }

 private:
  /// The posterior of a task's deviation δ_t from m is N((P⁻¹ + I ⊗ A)⁻¹ b, (P⁻¹ + I ⊗ A)⁻¹).
  struct Belief {
    bool visited = false;
    Eigen::MatrixXd information;  // A, F × F
    Eigen::VectorXd evidence;     // b
    Eigen::VectorXd deviation;    // δ_t of the policy that it has
    Eigen::MatrixXd moments;      // E[δδᵀ] of its last round; empty if it does not count
  };
  /// What belongs to no single task.
  struct Shared {
    explicit Shared(TaskPrior first) : prior(std::move(first)) {}
    TaskPrior prior;
    Eigen::VectorXd mean;       // m; empty before the first round
    Eigen::MatrixXd metric;     // Ḡ, the running mean of the rounds' curvatures
    double first_spread = 0;    // ψ₀: the running mean of what a step is, for each parameter
    double agreement = 1;       // the running mean of the steps' cosines
    double trust_in_mean = 1;   // how far m is right for tasks, where their anchors are not
    Eigen::VectorXd direction;  // D ← 0.7 D + Δ, what the steps before had in common
    int last_task = -1;
  };
  /// What a round says: along `direction`, the natural one, how far to go.
  struct Observation {
    Eigen::VectorXd direction;  // -G⁻¹ĝ
    double norm_squared = 0;    // of it, in the metric G
    double trust_step = 0;      // of the base learner, without its shrinkage
    double newton_step = 0;
    double noise_share = 0;
    double shrinkage = 1;
    double radius = 0;  // of the trust region that was asked for
  };

  int tasks() const { return static_cast<int>(beliefs_.size()); }
  /// Fills observation_. False if the curvature is singular.
  bool look_at(const LearningRound& round);
  /// r: the covariance of a step so long along the observed direction is r G⁻¹.
  double noise_of(double step) const;
  /// The observed task goes where it was before, and its belief says so.
  void return_to(const Eigen::VectorXd& policy, const LearningRound& round);
  bool learn(const LearningRound& round, double rate);
  /// w, how much of the step is common to all tasks: the agreement with the steps before.
  double agreement_after(int task, const Eigen::VectorXd& step);
  /// The posterior of the observed task after the round, of which m has taken a share.
  bool move_own_part(const LearningRound& round, double share);
  /// Factorises P⁻¹ + I ⊗ A.
  bool factorise(const Belief& belief);
  /// m moves to the mean of the visited tasks. No policy of theirs moves.
  void centre(int observed);
  void recentre(Belief& belief) const;
  bool learn_prior(int observed);
  const Belief& belief_after(int task, int observed) const;
  bool takes_part_after(int task, int observed) const {
    return task == observed ? next_takes_part_ : retreat_.takes_part(task);
  }
  /// Whether tasks begin with controllers of their own. Then no step is common, and each begins
  /// with its own; what the others know reaches it through the prior.
  bool own_controllers() const;
  /// How far towards m a task that was never visited goes from its anchor: the multiple of the way
  /// from the visited tasks' anchors to m that is nearest to the way they went. 1 where all begin
  /// at the same anchor, 0 where each has a controller of its own that m has nothing to add to.
  double trust_in_mean(int observed) const;
  /// How far each task's policy wants to go.
  void choose_steps(const LearningRound& round);
  void express(const LearningRound& round, Knowledge& next);

  EmpiricalBayesSettings settings_;
  double sure_noise_share_;
  int directions_;  // of L_k
  int features_;
  int parameters_;
  Retreat retreat_;
  StepLimits limits_;
  std::vector<Belief> beliefs_;
  std::vector<Eigen::VectorXd> anchors_;
  Shared shared_;
  // This round's, until it is accepted.
  Belief next_belief_;
  Shared next_;
  Eigen::VectorXd shift_;  // of m to the mean of the tasks
  bool next_takes_part_ = true;
  bool prior_changed_ = false;
  // Workspace.
  Observation observation_;
  Eigen::VectorXd policy_;  // of the observed task
  Eigen::VectorXd played_;
  Eigen::VectorXd common_;  // step of m that all who take part make
  Eigen::MatrixXd steps_;   // d × T
  Eigen::VectorXd other_;   // policy of another task
  Eigen::MatrixXd system_;
  Eigen::LLT<Eigen::MatrixXd> factor_{Eigen::MatrixXd::Identity(1, 1)};
  Eigen::MatrixXd covariance_;
};

}  // namespace lifeguard
