#include "lifeguard/lifelong/learner.hpp"

#include <fmt/format.h>

#include <Eigen/LU>
#include <Eigen/QR>
#include <set>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/learning_rule.hpp"
#include "lifeguard/lifelong/safeguard.hpp"
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
      safeguard_(std::make_unique<Safeguard>(settings.projection)),
      knowledge_(features * actions, settings.columns(features * actions), settings.zeta),
      next_(knowledge_),
      rule_(make_learning_rule(settings, features, actions)) {}

Learner::~Learner() = default;
Learner::Learner(Learner&&) noexcept = default;
Learner& Learner::operator=(Learner&&) noexcept = default;

const std::vector<SafeSet>& Learner::safe_sets() const { return safeguard_->safe_sets(); }

std::optional<PolicyPrior> Learner::belief_of(int task) const { return rule_->belief_of(task); }

Certificate Learner::certificate() const { return safeguard_->certify(knowledge_); }

void Learner::inject_faults(FaultInjection faults) { safeguard_->inject_faults(std::move(faults)); }

void Learner::inject_refusals(LastLookInjection refuses) {
  safeguard_->inject_refusals(std::move(refuses));
}

/// Lines 7 to 11 of Algorithm 1.
RoundStatus Learner::update(int task, const RoundLoss& loss) {
  const LearningRound round{task, loss, rounds(), knowledge_, safe_sets()};
  last_safeguard_ = {};
  next_ = knowledge_;
  const RoundStatus status = rule_->solve(round, next_);
  if (status != RoundStatus::ok) return status;
  last_safeguard_ = safeguard_->protect(knowledge_, next_);
  // From here on nothing can fail.
  rule_->accept(round, next_);
  std::swap(knowledge_, next_);
  return RoundStatus::ok;
}

void Learner::policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const {
  knowledge_.policy_parameters(task, alpha);
  // The knowledge was verified when it was made. This is the last look at the very numbers that
  // leave; the anchor is strictly safe whatever happened. That is counted: it should never happen.
  if (safeguard_->allows(task, alpha)) return;
  ++*fallbacks_;
  alpha = knowledge_.anchors.col(task);
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
  const Eigen::VectorXd anchor = anchor_for(id, safe_set, given);
  require_new_task(id, anchor, sigma);
  append_task(anchor, safe_set);
  enter_task(id, sigma);
}

bool Learner::begins_at_anchors() const {
  const ProjectionSettings& projection = settings_.projection;
  const bool keeps_what_is_safe =
      projection.mode == ProjectionMode::exact ||
      (projection.mode == ProjectionMode::none && !projection.none_limits_spectrum);
  return rounds() == 0 && tasks() > 0 && keeps_what_is_safe && knowledge_.coefficients.isZero(0);
}

void Learner::add_tasks(const std::vector<NewTask>& tasks) {
  std::vector<Eigen::VectorXd> anchors;
  std::set<std::string_view> ids;
  for (const NewTask& task : tasks) {
    anchors.push_back(anchor_for(task.id, task.safe_set, task.anchor));
    require_new_task(task.id, anchors.back(), task.sigma);
    safeguard_->require_task(task.safe_set, anchors.back());
    require(ids.insert(task.id).second, "task", task.id, "must not appear twice");
  }
  std::size_t next = 0;
  // The first task of all fixes L; later on a new task begins where those before it are.
  while (next < tasks.size() && !begins_at_anchors()) {
    append_task(anchors[next], tasks[next].safe_set);
    enter_task(tasks[next].id, tasks[next].sigma);
    ++next;
  }
  if (next == tasks.size()) return;
  Knowledge wanted = knowledge_;
  const auto count = static_cast<Eigen::Index>(this->tasks() + tasks.size() - next);
  wanted.coefficients.setZero(Eigen::NoChange, count);
  wanted.anchors.conservativeResize(Eigen::NoChange, count);
  for (std::size_t i = next; i < tasks.size(); ++i) {
    wanted.anchors.col(this->tasks() + static_cast<Eigen::Index>(i - next)) = anchors[i];
    safeguard_->add_task(tasks[i].safe_set, anchors[i]);
  }
  const Knowledge last = wanted;
  safeguard_->protect(last, wanted);
  next_ = wanted;
  knowledge_ = std::move(wanted);
  for (; next < tasks.size(); ++next) {
    rule_->add_task(anchors[next]);
    enter_task(tasks[next].id, tasks[next].sigma);
  }
}

void Learner::append_task(const Eigen::VectorXd& anchor) {
  append_task(anchor, SafeSet(parameters()));
}

void Learner::append_task(const Eigen::VectorXd& anchor, const SafeSet& safe_set) {
  safeguard_->add_task(safe_set, anchor);
  // The new task starts at the mean of the known coefficients, or as close to it as is safe. What
  // is verified already, s = 0, is the point to start from.
  Knowledge last = knowledge_;
  last.add_task(anchor);
  Knowledge wanted = last;
  last.coefficients.rightCols(1).setZero();
  if (const std::optional<Eigen::VectorXd> first = rule_->first_policy(anchor)) {
    wanted.coefficients.rightCols(1) = wanted.basis.partialPivLu().solve(*first - anchor);
  }
  try {
    safeguard_->protect(last, wanted);
  } catch (...) {
    safeguard_->remove_last_task();
    throw;
  }
  next_ = wanted;
  knowledge_ = std::move(wanted);
  rule_->add_task(anchor);
}

void Learner::set_safe_set(std::string_view id, const SafeSet& safe_set,
                           const std::optional<Eigen::VectorXd>& anchor) {
  const int task = index(id);
  const Eigen::VectorXd old_anchor = knowledge_.anchors.col(task);
  require_size("safe set", safe_set.parameters(), parameters());
  const bool keep = !anchor && strictly_safe(safe_set, old_anchor);
  const Eigen::VectorXd new_anchor =
      anchor_for(id, safe_set, keep ? std::optional(old_anchor) : anchor);
  // The policy stays where it was, as far as L reaches from the new anchor and the set allows.
  Knowledge wanted = knowledge_;
  wanted.anchors.col(task) = new_anchor;
  if (new_anchor != old_anchor) {
    wanted.coefficients.col(task) +=
        wanted.basis.colPivHouseholderQr().solve(old_anchor - new_anchor);
  }
  Knowledge last = wanted;
  last.coefficients.col(task).setZero();
  const SafeSet old_set = safeguard_->safe_sets()[task];
  safeguard_->replace_task(task, safe_set, new_anchor);
  try {
    safeguard_->protect(last, wanted);
  } catch (...) {
    safeguard_->replace_task(task, old_set, old_anchor);
    throw;
  }
  knowledge_ = std::move(wanted);
}

}  // namespace lifeguard
