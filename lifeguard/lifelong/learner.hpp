#pragma once

#include <Eigen/Core>
#include <atomic>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/base_learners/round_settings.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"

namespace lifeguard {

class KnowledgeKeeper;
class SafeSetPool;
class SettingVisitor;
enum class ProjectionFault;
enum class ProjectionStage;

/// How much of a round's step reaches the tasks that were not observed:
///   w_j = max(minimum_share, initial_share / (1 + j / (share_decay · T))) in round j = 0, 1, ….
struct LinearisedSettings {
  /// In [0, 1]. 1 treats the first steps as common to all tasks, which most of them are.
  double initial_share = 1.0;
  /// Visits to every task until the share has halved. > 0.
  double share_decay = 3.0;
  /// In [0, 1]. What stays common forever.
  double minimum_share = 0.0;
  /// ρ of the task's own part of the step, GradientMemory. In [0, 1). 0 is the round alone.
  double own_memory = 0.4;
  /// A task that is found to cost more than this multiple of the lowest cost it was ever observed
  /// at goes back to the policy which had that cost: the steps of other tasks have led it astray,
  /// perhaps to where its own gradient says nothing any more (a saturated controller). One that
  /// costs more than this multiple of what any other task ever cost, with a gradient that says
  /// nothing, was led astray before its first round: it goes to its anchor, once, and learns alone
  /// from then on. Both only if the batches' standard errors leave no doubt. Empirical Bayes goes
  /// by it as well. > 1.
  double retreat_factor = 2.0;

  /// w_j after so many rounds.
  double share(long rounds_before, int tasks) const;
  /// Its part of the table [learner].
  void visit(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const LinearisedSettings&) const = default;
};

/// How tasks are believed to differ (EmpiricalBayesRule).
struct EmpiricalBayesSettings {
  /// The most that is kept of what a task's rounds before said of it; a round that is surer of its
  /// step keeps less. In [0, 1).
  double posterior_memory = 0.97;
  /// How fast the share of common steps follows the agreement of different tasks' steps. In (0, 1].
  double agreement_rate = 0.05;
  /// L is learnt anew after every so many rounds; after 200 rounds half as often, after 400 half as
  /// often again, and so on. At least 1.
  int prior_interval = 5;
  /// How much of the mean curvature of all rounds, scaled to this round's, is added to it before
  /// the natural gradient is taken. A batch of short episodes has seen few states; in the
  /// directions that these say nothing of, a step within the trust region would be as long as one
  /// likes. At least 0.
  double common_damping = 0;

  /// Its part of the table [learner].
  void visit(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const EmpiricalBayesSettings&) const = default;
};

/// Follow-the-regularised-leader with a Gaussian prior (LeaderRule), the setting of the theorem.
struct LeaderSettings {
  /// Of each policy parameter, before any task was played: P = this times I. > 0.
  double prior_variance = 1.0;
  /// Whether the prior of a new task is learnt from the tasks before it; else it is N(ᾱ, P).
  bool share = true;
  /// What is kept of a task's rounds before, in [0, 1]. Less than 1 forgets, and has no theorem.
  double memory = 1.0;

  /// Its part of the table [learner].
  void visit(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const LeaderSettings&) const = default;
};

/// How one half of an alternation moves its block of (L, S).
enum class BlockStep {
  closed_form,       // to the block's minimum: L = Z_L⁻¹ v_L, S = the joint minimum in S
  gradient,          // x - rate ∇e
  natural_gradient,  // x - rate Z⁻¹ ∇e, with the Fisher information plus regularisation as Z
};

/// How far the gradient forms of BlockStep go.
enum class StepRate {
  decaying,     // c/j in round j, as in the paper's experiments
  line_search,  // the minimum along the direction, exact since e is quadratic in each block
};

/// How the paper's alternating form updates L and S.
struct AlternationSettings {
  BlockStep step = BlockStep::closed_form;
  StepRate rate = StepRate::line_search;
  /// c in the rate c/j. > 0; the paper asks for c < 1. Not used by the closed form.
  double rate_scale = 0.5;
  /// How often L and S are updated in turn in each round. At least 1.
  int alternations = 10;
  /// Whether a round updates the coefficients of all known tasks, or only of the current one.
  bool all_coefficients = true;

  /// Its part of the table [learner].
  void visit(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const AlternationSettings&) const = default;
};

/// How strongly the knowledge is held together (Ω₀ of the paper).
struct RegularisationSettings {
  /// Weight of a round's loss in the objective. > 0. The theorem has 1/√R for R rounds.
  double eta = 1.0;
  /// Weight μ₁ of the coefficients. > 0.
  double mu1 = 1e-3;
  /// Weight μ₂ of the basis. > 0.
  double mu2 = 1e-3;
  /// κ in μ₁ (‖S - s̄1ᵀ‖² + κ T ‖s̄‖²), s̄ the mean of the columns. 0 < κ ≤ 1. κ = 1 is the paper's
  /// μ₁‖S‖²; a small κ lets the tasks share a mean freely and ties each task to it.
  double mean_weight = 1e-3;

  /// Its part of the table [learner].
  void visit(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const RegularisationSettings&) const = default;
};

/// How a round's loss becomes the unconstrained solution (L̃, S̃).
enum class UpdateRule {
  linearised,       // LinearisedUpdate: L stands still
  alternating,      // Alternation on the summed losses
  empirical_bayes,  // EmpiricalBayesRule, the default: L is learnt from how tasks differ
  leader,           // LeaderRule: the setting of the regret theorem
};

/// Everything that can be chosen of a Learner.
struct LearnerSettings {
  RoundSettings round;
  /// For empirical Bayes, whose L has d columns, the number of directions in which tasks may differ
  /// by more than in the others; 0: in all, and the evidence says by how much in each. For the
  /// other rules k, the number of columns of L, at most d; 0 means d: with a common mean nothing is
  /// gained by fewer, and docs/learning.md has the numbers.
  int k = 0;
  /// Whoever makes a learner for a family of tasks shall choose k by cross-validation over other
  /// tasks of it (cross_validate_basis_size). The learner itself has no such tasks.
  bool cross_validate_k = false;
  /// ζ, the diagonal of the first L. > 0.
  double zeta = 1.0;
  UpdateRule update = UpdateRule::empirical_bayes;
  LinearisedSettings linearised;
  EmpiricalBayesSettings empirical_bayes;
  LeaderSettings leader;
  AlternationSettings alternation;
  RegularisationSettings regularisation;
  /// ρ in q_t ← ρ q_t + l_j, for the alternating rule. In [0, 1]. 1 is
  /// follow-the-regularised-leader over all rounds, as in the theorem; 0 keeps the last round of
  /// each task only.
  double memory = 0.3;

  /// The projection onto what is safe; its μ₁ and μ₂ weigh coefficients against the basis.
  ProjectionSettings projection;
  /// Whether an unbounded safe set is refused, as the theorem asks.
  bool require_bounded_sets = false;

  /// The name of the method that has these settings, and what it is.
  static constexpr std::string_view kMethod = "learner";
  /// A learner with these settings, without tasks.
  std::unique_ptr<PolicyLearner> make(int features, int actions) const;
  /// The number of columns of L for policies with so many parameters.
  int columns(int parameters) const {
    const bool whole = update == UpdateRule::empirical_bayes || update == UpdateRule::leader;
    return k == 0 || whole ? parameters : k;
  }

  /// The tables [learner] and [projection].
  void visit(SettingVisitor& visitor);
  void validate(int parameters) const;
  bool operator==(const LearnerSettings&) const = default;
};

/// What empirical Bayes believes of tasks: α_t = ᾱ_t + m + L s_t with s_t ~ N(0, I), where ᾱ_t is
/// the anchor that the task began with.
struct TaskBeliefs {
  Eigen::VectorXd mean;       // m, from the mean of the anchors
  Eigen::MatrixXd basis;      // L, whose columns are the directions in which tasks differ
  Eigen::VectorXd variances;  // along them, the longest first: the eigenvalues of LᵀL
  /// w: how far the steps of different tasks agree, so that others take them as well. In [0, 1]; 0
  /// where tasks begin with controllers of their own, since no step is common then.
  double agreement = 1;
  /// How far a task that was never visited goes from its anchor along m. In [0, 1].
  double trust_in_mean = 1;
  /// Ḡ, in which policies are compared: the running mean of the rounds' curvatures, with a block
  /// for each action or one for all of them. task_directions() says what L means in it.
  Eigen::MatrixXd metric = {};
};

/// What empirical Bayes believes of one task, N(mean, covariance). Before its first round this is
/// what it believes of any task.
struct TaskPosterior {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  bool visited = false;
};

/// Algorithm 1 of the paper: every round turns one task's loss into the unconstrained (L̃, S̃), and
/// what it hands out is verified to be safe after the last operation on it. The cost of a round
/// does not depend on the number of rounds before it; with empirical Bayes it does not depend on
/// the number of known tasks either, else it is linear in them.
class Learner : public PolicyLearner {
 public:
  /// No tasks yet. Throws InvalidInput if the settings break a rule.
  Learner(int features, int actions, const LearnerSettings& settings = {});
  ~Learner() override;
  /// Moved, never copied.
  Learner(Learner&&) noexcept;
  /// As the constructor.
  Learner& operator=(Learner&&) noexcept;

  /// What it was made with, and what it knows: all policies as (L, S), which takes a time that is
  /// linear in their number.
  const LearnerSettings& settings() const { return settings_; }
  const Knowledge& knowledge() const;
  /// One for each task, in the order of adding.
  const std::vector<SafeSet>& safe_sets() const;

  /// A task without constraints (PolicyLearner::add_task), or one whose every policy must lie in
  /// `safe_set`, the first one included. The anchor is the given policy, which must be strictly
  /// safe; without one it is the origin if that is strictly safe, else the centre of the set. A set
  /// without strictly safe policies throws InvalidInput that names the rows that contradict each
  /// other, with their multipliers.
  using PolicyLearner::add_task;
  /// A task whose every policy, the first one included, must lie in `safe_set`; see above.
  void add_task(const std::string& id, const SafeSet& safe_set, const PerAction& sigma,
                const std::optional<Eigen::VectorXd>& anchor = {});
  /// Many at once, as if they were added one after the other: all of them, or none if one is
  /// refused. Where tasks are coupled this takes a time that is linear in their number before the
  /// first round, and one by one it is quadratic, since each is proven together with all others.
  struct NewTask {
    std::string id;
    SafeSet safe_set;
    PerAction sigma;
    std::optional<Eigen::VectorXd> anchor = {};
  };
  /// All of them, or none if one is refused.
  void add_tasks(const std::vector<NewTask>& tasks);
  /// New constraints for a known task; the next policy already obeys. Without an anchor the old one
  /// stays if it is still strictly safe, else one is chosen as in add_task. Throws as add_task
  /// does, and the learner is then what it was.
  void set_safe_set(std::string_view id, const SafeSet& safe_set,
                    const std::optional<Eigen::VectorXd>& anchor = {});
  /// For each task the worst row and its margin, the spectrum of L, and the hash of the parameters
  /// they speak of. check_certificate verifies it independently.
  Certificate certificate() const;

  /// What empirical Bayes believes of tasks, and of one of them; nothing with another rule, or
  /// before the first round.
  std::optional<TaskBeliefs> beliefs() const;
  std::optional<TaskPosterior> posterior(std::string_view id) const;

  /// For tests: how the projection's solver steps shall fail. Not part of the saved state.
  void inject_faults(std::function<ProjectionFault(ProjectionStage)> faults);
  /// For tests: which policies the last look before they leave shall refuse. Not saved either.
  void inject_refusals(std::function<bool(int task)> refuses);

  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override;
  std::optional<PolicyPrior> belief_of(int task) const override;
  /// How often the last look at a policy that was about to leave failed, so that its anchor left.
  long fallbacks() const override { return *fallbacks_; }

  /// Everything, as text that load() reads back to the same bits.
  void save(std::ostream& out) const;
  /// A file that was not written by save() throws InvalidInput.
  static Learner load(std::istream& in);

  void write_state(std::ostream& out) const override { save(out); }
  /// Verified as load() does; settings, tasks and safe sets must be the ones this learner has.
  void read_state(std::istream& in) override;

 private:
  void append_task(const Eigen::VectorXd& anchor) override;
  RoundStatus update(int task, const RoundLoss& loss) override;
  void describe_update(RoundRecord& record) const override;
  /// A new task may take large steps, however experienced the learner is.
  double visits_before(int task) const override {
    return static_cast<double>(task_states()[task].visits);
  }
  Eigen::VectorXd anchor_for(std::string_view id, const SafeSet& safe_set,
                             const std::optional<Eigen::VectorXd>& given) const;

  LearnerSettings settings_;
  std::unique_ptr<SafeSetPool> safe_sets_;
  std::unique_ptr<KnowledgeKeeper> keeper_;
  std::unique_ptr<std::atomic<long>> fallbacks_ = std::make_unique<std::atomic<long>>(0);
};

}  // namespace lifeguard
