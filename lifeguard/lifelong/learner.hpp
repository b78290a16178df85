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

#include "lifeguard/lifelong/learner_settings.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/policy/knowledge.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

class LearningRule;
class Safeguard;
enum class ProjectionFault;
enum class ProjectionStage;

/// Algorithm 1 of the paper: every round turns one task's loss into the unconstrained (L̃, S̃), and
/// the safeguard projects these to knowledge that is verified to be safe for all known tasks. The
/// cost of a round is linear in the number of known tasks and does not depend on the number of
/// rounds before it.
class Learner : public PolicyLearner {
 public:
  /// No tasks yet. Throws InvalidInput if the settings break a rule.
  Learner(int features, int actions, const LearnerSettings& settings = {});
  ~Learner() override;
  /// Moved, never copied.
  Learner(Learner&&) noexcept;
  /// As the constructor.
  Learner& operator=(Learner&&) noexcept;

  /// What it was made with, what it knows, and the summed losses of the alternating rule.
  const LearnerSettings& settings() const { return settings_; }
  const Knowledge& knowledge() const { return knowledge_; }
  /// One for each task, in the order of adding.
  const std::vector<SafeSet>& safe_sets() const;

  /// A task without constraints (PolicyLearner::add_task), or one whose every policy must lie in
  /// `safe_set`, the first one included. The anchor is the given policy, which must be strictly
  /// safe; without one it is the origin if that is strictly safe, else the centre of the set. A set
  /// without strictly safe policies throws InvalidInput that names the rows that contradict each
  /// other, with their multipliers.
  using PolicyLearner::add_task;
  /// A task whose every policy, the first one included, must lie in `safe_set`; see above.
  void add_task(const std::string& id, const SafeSet& safe_set, double sigma,
                const std::optional<Eigen::VectorXd>& anchor = {});
  /// Many at once, as if they were added one after the other: all of them, or none if one is
  /// refused. Before the first round this takes a time that is linear in their number, where one by
  /// one it is quadratic, since each new task is proven to be safe together with all others.
  struct NewTask {
    std::string id;
    SafeSet safe_set;
    double sigma = 0;
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

  /// For tests: how the projection's solver steps shall fail. Not part of the saved state.
  void inject_faults(std::function<ProjectionFault(ProjectionStage)> faults);
  /// For tests: which policies the last look before they leave shall refuse. Not saved either.
  void inject_refusals(std::function<bool(int task)> refuses);

  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override;
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
  void append_task(const Eigen::VectorXd& anchor, const SafeSet& safe_set);
  /// Whether new tasks begin at s = 0, where they need no projection.
  bool begins_at_anchors() const;
  RoundStatus update(int task, const RoundLoss& loss) override;
  void describe_update(RoundRecord& record) const override { record.safeguard = last_safeguard_; }
  /// A new task may take large steps, however experienced the learner is.
  double visits_before(int task) const override {
    return static_cast<double>(task_states()[task].visits);
  }
  Eigen::VectorXd anchor_for(std::string_view id, const SafeSet& safe_set,
                             const std::optional<Eigen::VectorXd>& given) const;

  LearnerSettings settings_;
  std::unique_ptr<Safeguard> safeguard_;
  Knowledge knowledge_;
  Knowledge next_;  // the round in the making; it becomes the knowledge at the end or not at all
  std::unique_ptr<LearningRule> rule_;
  SafeguardRecord last_safeguard_;
  std::unique_ptr<std::atomic<long>> fallbacks_ = std::make_unique<std::atomic<long>>(0);
};

}  // namespace lifeguard
