#include "lifeguard/lifelong/coupled_keeper.hpp"

#include <Eigen/LU>
#include <Eigen/QR>
#include <optional>
#include <utility>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

CoupledKeeper::CoupledKeeper(const LearnerSettings& settings, int features, int actions)
    : settings_(settings.projection),
      safeguard_(settings.projection),
      knowledge_(features * actions, settings.columns(features * actions), settings.zeta),
      next_(knowledge_),
      rule_(make_learning_rule(settings, features, actions)) {}

void CoupledKeeper::inject_faults(FaultInjection faults) {
  safeguard_.inject_faults(std::move(faults));
}

void CoupledKeeper::inject_refusals(LastLookInjection refuses) {
  safeguard_.inject_refusals(std::move(refuses));
}

RoundStatus CoupledKeeper::learn(int task, const RoundLoss& loss, long rounds_before) {
  const LearningRound round{task, loss, rounds_before, knowledge_, safe_sets()};
  last_safeguard_ = {};
  next_ = knowledge_;
  const RoundStatus status = rule_->solve(round, next_);
  if (status != RoundStatus::ok) return status;
  last_safeguard_ = safeguard_.protect(knowledge_, next_);
  // From here on nothing can fail.
  rule_->accept(round, next_);
  std::swap(knowledge_, next_);
  return RoundStatus::ok;
}

bool CoupledKeeper::policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const {
  knowledge_.policy_parameters(task, alpha);
  // The knowledge was verified when it was made. This is the last look at the very numbers that
  // leave; the anchor is strictly safe whatever happened.
  if (safeguard_.allows(task, alpha)) return true;
  alpha = knowledge_.anchors.col(task);
  return false;
}

bool CoupledKeeper::begins_at_anchors(long rounds) const {
  const bool keeps_what_is_safe =
      settings_.mode == ProjectionMode::exact ||
      (settings_.mode == ProjectionMode::none && !settings_.none_limits_spectrum);
  return rounds == 0 && knowledge_.tasks() > 0 && keeps_what_is_safe &&
         knowledge_.coefficients.isZero(0);
}

void CoupledKeeper::add_tasks(const std::vector<KeptTask>& tasks, long rounds) {
  for (const KeptTask& task : tasks) Safeguard::require_task(task.safe_set, task.anchor);
  std::size_t next = 0;
  // The first task of all fixes L; later on a new task begins where those before it are.
  while (next < tasks.size() && (tasks.size() == 1 || !begins_at_anchors(rounds))) {
    append_task(tasks[next++]);
  }
  if (next == tasks.size()) return;
  // Before the first round, all at once: a time that is linear in their number, where one by one
  // it is quadratic, since each new task is proven to be safe together with all others.
  Knowledge wanted = knowledge_;
  const auto known = static_cast<Eigen::Index>(knowledge_.tasks());
  const auto count = known + static_cast<Eigen::Index>(tasks.size() - next);
  wanted.coefficients.setZero(Eigen::NoChange, count);
  wanted.anchors.conservativeResize(Eigen::NoChange, count);
  for (std::size_t i = next; i < tasks.size(); ++i) {
    wanted.anchors.col(known + static_cast<Eigen::Index>(i - next)) = tasks[i].anchor;
    safeguard_.add_task(tasks[i].safe_set, tasks[i].anchor);
  }
  const Knowledge last = wanted;
  safeguard_.protect(last, wanted);
  next_ = wanted;
  knowledge_ = std::move(wanted);
  for (; next < tasks.size(); ++next) rule_->add_task(tasks[next].anchor);
}

void CoupledKeeper::append_task(const KeptTask& task) {
  safeguard_.add_task(task.safe_set, task.anchor);
  // The new task starts at the mean of the known coefficients, or as close to it as is safe. What
  // is verified already, s = 0, is the point to start from.
  Knowledge last = knowledge_;
  last.add_task(task.anchor);
  Knowledge wanted = last;
  last.coefficients.rightCols(1).setZero();
  if (const std::optional<Eigen::VectorXd> first = rule_->first_policy(task.anchor)) {
    wanted.coefficients.rightCols(1) = wanted.basis.partialPivLu().solve(*first - task.anchor);
  }
  try {
    safeguard_.protect(last, wanted);
  } catch (...) {
    safeguard_.remove_last_task();
    throw;
  }
  next_ = wanted;
  knowledge_ = std::move(wanted);
  rule_->add_task(task.anchor);
}

void CoupledKeeper::change_task(int task, const KeptTask& changed) {
  const Eigen::VectorXd old_anchor = knowledge_.anchors.col(task);
  // The policy stays where it was, as far as L reaches from the new anchor and the set allows.
  Knowledge wanted = knowledge_;
  wanted.anchors.col(task) = changed.anchor;
  if (changed.anchor != old_anchor) {
    wanted.coefficients.col(task) +=
        wanted.basis.colPivHouseholderQr().solve(old_anchor - changed.anchor);
  }
  Knowledge last = wanted;
  last.coefficients.col(task).setZero();
  const SafeSet old_set = safe_sets()[task];
  safeguard_.replace_task(task, changed.safe_set, changed.anchor);
  try {
    safeguard_.protect(last, wanted);
  } catch (...) {
    safeguard_.replace_task(task, old_set, old_anchor);
    throw;
  }
  knowledge_ = std::move(wanted);
}

void CoupledKeeper::save_first(StateWriter& writer) const {
  writer.field("coefficients", knowledge_.coefficients);
  writer.field("anchors", knowledge_.anchors);
}

void CoupledKeeper::load_first(StateReader& reader, Eigen::MatrixXd basis, int tasks) {
  Knowledge read;
  read.basis = std::move(basis);
  reader.field("coefficients", read.coefficients);
  reader.field("anchors", read.anchors);
  read.validate();
  require_size("coefficients (columns)", read.tasks(), tasks);
  next_ = read;
  knowledge_ = std::move(read);
}

void CoupledKeeper::load_task(StateReader& reader, const SafeSet& set) {
  rule_->load_task(reader);
  safeguard_.add_task(set, knowledge_.anchors.col(static_cast<Eigen::Index>(safe_sets().size())));
}

}  // namespace lifeguard
