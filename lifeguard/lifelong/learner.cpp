#include "lifeguard/lifelong/learner.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/knowledge_keeper.hpp"
#include "lifeguard/lifelong/safe_set_pool.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"

namespace lifeguard {

namespace {

const LearnerSettings& validated(const LearnerSettings& settings, int parameters) {
  settings.validate(parameters);
  return settings;
}

}  // namespace

Learner::Learner(int features, int actions, const LearnerSettings& settings)
    : PolicyLearner(features, actions, settings.round),
      settings_(validated(settings, features * actions)),
      safe_sets_(std::make_unique<SafeSetPool>()),
      keeper_(make_keeper(settings_, features, actions)) {}

Learner::~Learner() = default;
Learner::Learner(Learner&&) noexcept = default;
Learner& Learner::operator=(Learner&&) noexcept = default;

const Knowledge& Learner::knowledge() const { return keeper_->knowledge(); }

const std::vector<SafeSet>& Learner::safe_sets() const { return keeper_->safe_sets(); }

std::optional<PolicyPrior> Learner::belief_of(int task) const { return keeper_->belief_of(task); }

Certificate Learner::certificate() const { return keeper_->certificate(); }

std::optional<TaskBeliefs> Learner::beliefs() const { return keeper_->beliefs(); }

std::optional<TaskPosterior> Learner::posterior(std::string_view id) const {
  return keeper_->posterior(index(id));
}

void Learner::inject_faults(FaultInjection faults) { keeper_->inject_faults(std::move(faults)); }

void Learner::inject_refusals(LastLookInjection refuses) {
  keeper_->inject_refusals(std::move(refuses));
}

RoundStatus Learner::update(int task, const RoundLoss& loss) {
  return keeper_->learn(task, loss, rounds());
}

void Learner::describe_update(RoundRecord& record) const {
  record.safeguard = keeper_->last_safeguard();
}

void Learner::policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const {
  // It should never happen that an anchor leaves instead, so that is counted.
  if (!keeper_->policy_parameters(task, alpha)) ++*fallbacks_;
}

Eigen::VectorXd Learner::anchor_for(std::string_view id, const SafeSet& safe_set,
                                    const std::optional<Eigen::VectorXd>& given) const {
  const std::string field = fmt::format("safe set of task \"{}\"", id);
  require_size(field, safe_set.parameters(), parameters());
  if (given) require_size("anchor", given->size(), parameters());
  if (settings_.require_bounded_sets) {
    const BoundednessResult bounded = check_boundedness(safe_set);
    require(bounded.status == BoundednessStatus::bounded, field, "unbounded",
            "must be bounded, since require_bounded_sets is on");
  }
  // Never replaced silently: who names a first policy wants that one.
  if (given) {
    const std::string reason = why_not_safe(safe_set, *given);
    require(reason.empty(), fmt::format("anchor of task \"{}\"", id), "not strictly safe",
            reason + "; leave it out to have one chosen");
    return *given;
  }
  const Anchor anchor = choose_anchor(safe_set);
  require(anchor.source != AnchorSource::none, field, to_string(anchor.feasibility.status),
          anchor.feasibility.message());
  return anchor.parameters;
}

void Learner::add_task(const std::string& id, const SafeSet& safe_set, const PerAction& sigma,
                       const std::optional<Eigen::VectorXd>& given) {
  add_tasks({{id, safe_set, sigma, given}});
}

void Learner::add_tasks(const std::vector<NewTask>& tasks) {
  std::vector<KeptTask> kept;
  kept.reserve(tasks.size());
  std::set<std::string_view> ids;
  for (const NewTask& task : tasks) {
    kept.push_back(
        {anchor_for(task.id, task.safe_set, task.anchor), safe_sets_->stored(task.safe_set)});
    require_new_task(task.id, kept.back().anchor, task.sigma);
    require(ids.insert(task.id).second, "task", task.id, "must not appear twice");
  }
  keeper_->add_tasks(kept, rounds());
  for (const NewTask& task : tasks) enter_task(task.id, task.sigma);
}

void Learner::append_task(const Eigen::VectorXd& anchor) {
  keeper_->add_tasks({{anchor, safe_sets_->stored(SafeSet(parameters()))}}, rounds());
}

void Learner::set_safe_set(std::string_view id, const SafeSet& safe_set,
                           const std::optional<Eigen::VectorXd>& anchor) {
  const int task = index(id);
  require_size("safe set", safe_set.parameters(), parameters());
  const Eigen::VectorXd old_anchor = keeper_->anchor(task);
  const bool keep = !anchor && strictly_safe(safe_set, old_anchor);
  keeper_->change_task(task, {anchor_for(id, safe_set, keep ? std::optional(old_anchor) : anchor),
                              safe_sets_->stored(safe_set)});
}

}  // namespace lifeguard
