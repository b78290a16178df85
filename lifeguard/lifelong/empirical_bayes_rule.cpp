#include "lifeguard/lifelong/empirical_bayes_rule.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "lifeguard/base_learners/adaptation.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/lifelong/safeguard.hpp"
#include "lifeguard/policy/action_blocks.hpp"
#include "lifeguard/policy/action_coupling.hpp"

namespace lifeguard {
namespace {

/// How much of the steps before counts in their common direction.
constexpr double kDirectionMemory = 0.7;
/// How often a policy that cannot be proven is taken half of its way back to the anchor.
constexpr int kMostRetractions = 40;
/// How many rounds tell what tasks cost at least, and how often a task that is stuck goes
/// elsewhere.
constexpr std::size_t kFewestRounds = 5;
constexpr int kMostAttempts = 10;
/// How many times what others cost a task may cost by nature.
constexpr double kDearestTask = 5;
/// A stay of so many rounds in a row is long.
constexpr long kLongStay = 5;
/// Where machines have controllers of their own, how much less far than others went on average, in
/// deviations of how far they went, one goes unseen.
constexpr double kCarefulDeviations = 2;
/// How much what the rounds before had in noise counts beside a round's own estimate.
constexpr double kPooledNoise = 0.75;
/// How many rounds that is at least.
constexpr double kFewestNoises = 20;
/// How many times as often L is learnt from rounds of a critic where machines have controllers of
/// their own.
constexpr int kSoonerWithCritic = 5;
/// After twice as many rounds L is learnt half as often.
constexpr long kRoundsBeforeDoubling = 100;

}  // namespace

EmpiricalBayesRule::EmpiricalBayesRule(const LearnerSettings& settings, int features, int actions)
    : settings_(settings.empirical_bayes),
      projection_settings_(settings.projection),
      sure_noise_share_(settings.round.adaptation.sure_noise_share),
      whole_steps_(settings.round.base_learner.step.shrinkage == NoiseShrinkage::none),
      directions_(settings.k == 0 ? features * actions : settings.k),
      features_(features),
      parameters_(features * actions),
      zero_(Eigen::VectorXd::Zero(parameters_)),
      retreat_(settings.linearised.retreat_factor, parameters_),
      shared_(TaskPrior(features, actions, settings.zeta, settings.projection.p,
                        settings.projection.q)),
      next_(shared_) {
  for (SharedBelief* shared : {&shared_, &next_}) {
    shared->recent.reserve(SharedBelief::kRecentRounds);
  }
}

bool EmpiricalBayesRule::guarded(int task) const {
  return projection_settings_.mode != ProjectionMode::none && safe_sets_[task].constrained();
}

double EmpiricalBayesRule::trust_in_mean() const {
  if (!(shared_.way_length > 0)) return own_controllers_ ? 0 : 1;
  const double share = shared_.way_along / shared_.way_length;
  // A controller that works is not to be lost where this machine is one that needs less of it.
  const double careful = own_controllers_ ? kCarefulDeviations * std::sqrt(shared_.way_spread) : 0;
  return std::clamp(share - careful, 0.0, 1.0);
}

void EmpiricalBayesRule::add_tasks(const std::vector<KeptTask>& tasks, long /*rounds*/) {
  for (const KeptTask& task : tasks) Safeguard::require_task(task.safe_set, task.anchor);
  for (const KeptTask& task : tasks) {
    tasks_.push_back({task.anchor, {}, {}, {}, {}, 0, 0, false, {}});
    own_controllers_ = own_controllers_ || task.anchor != tasks_.front().anchor;
    safe_sets_.push_back(task.safe_set);
    retreat_.add_task(task.anchor);
  }
  knowledge_.reset();
}

void EmpiricalBayesRule::change_task(int task, const KeptTask& changed) {
  Safeguard::require_task(changed.safe_set, changed.anchor);
  TaskBelief& moved = tasks_[task];
  // What it learnt is a change of the controller that it began with.
  if (moved.visited() && moved.began.size() == 0) moved.began = moved.anchor;
  moved.anchor = changed.anchor;
  own_controllers_ = std::any_of(tasks_.begin(), tasks_.end(), [&](const TaskBelief& belief) {
    return belief.anchor != tasks_.front().anchor;
  });
  safe_sets_[task] = changed.safe_set;
  handed_out_.task = -1;
  knowledge_.reset();
}

void EmpiricalBayesRule::inject_faults(FaultInjection faults) {
  faults_ = std::move(faults);
  handed_out_.task = -1;
  knowledge_.reset();
}

void EmpiricalBayesRule::inject_refusals(LastLookInjection refuses) {
  refuses_ = std::move(refuses);
}

RoundStatus EmpiricalBayesRule::learn(int task, const RoundLoss& loss, long rounds_before) {
  last_safeguard_ = {};
  {
    const std::lock_guard lock(mutex_);
    policy_ = handed_out(task).policy;
  }
  played_ = loss.played.size() == parameters_ ? loss.played : policy_;
  next_ = shared_;
  next_belief_ = tasks_[task];
  next_takes_part_ = retreat_.takes_part(task);
  if (!next_.begun()) {
    next_.common.setZero(parameters_);
    next_.offset.setZero(parameters_);
    next_.places.setZero(parameters_);
    next_.squares.setZero(parameters_, parameters_);
    next_.uncertainty.setZero(parameters_, parameters_);
  }
  mean_ = next_.common + next_.offset;
  if (next_belief_.visited()) {
    unsettle();
    // Of the deviation from m, until the round is over.
    shift_evidence(-1, mean_);
  } else {
    next_belief_.information.setZero(features_, features_);
    next_belief_.evidence.setZero(parameters_);
  }
  if (!observation_.look_at(loss, played_, next_.metric, settings_.common_damping)) {
    return RoundStatus::singular;
  }
  if (observation_.by_critic) pool_noise(learn_coupling(loss));
  const double rate = 1.0 / std::min(static_cast<double>(rounds_before + 1), 2.0 * tasks());
  if (next_.metric.size() == 0) {
    next_.metric = loss.curvature;
  } else {
    scaled_ = rate * loss.curvature;
    add_blocks(1 - rate, next_.metric, scaled_);
  }
  next_policy_ = policy_;
  if (retreat_.astray(task, loss)) {
    return_to(retreat_.cheapest_policy(task), loss);
  } else if (retreat_.lost(task, loss)) {
    next_takes_part_ = false;
    return_to(tasks_[task].anchor, loss);
  } else if (stuck(task, loss)) {
    return_to(another_place(task), loss);
  } else if (!learn_from(task, loss, rounds_before, rate)) {
    return RoundStatus::singular;
  }
  const auto start = std::chrono::steady_clock::now();
  if (guarded(task)) {
    CoefficientPathCounts& paths = last_safeguard_.coefficient_paths;
    const CoefficientPath path = cut(task, loss.curvature, next_policy_);
    paths.inside += path == CoefficientPath::inside;
    paths.rows += path == CoefficientPath::rows;
    paths.ball += path == CoefficientPath::ball;
    paths.scaled += path == CoefficientPath::scaled;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!next_policy_.allFinite() || !next_.common.allFinite()) return RoundStatus::singular;
  place(task);
  if (!centre()) return RoundStatus::singular;
  if (learns_prior_in(rounds_before) && next_.prior.known() && !learn_prior()) {
    return RoundStatus::singular;
  }
  commit(task, loss);
  last_safeguard_.seconds += seconds.count();
  return RoundStatus::ok;
}

bool EmpiricalBayesRule::learns_prior_in(long round) const {
  // Half as often whenever the rounds have doubled: what many rounds say changes slowly.
  const auto doublings =
      static_cast<int>(std::bit_width(static_cast<unsigned long>(round / kRoundsBeforeDoubling)));
  // Where no step is common L alone shares what was seen, and what a critic saw is worth sharing.
  const bool sooner = own_controllers_ && observation_.by_critic;
  const long interval =
      sooner ? std::max(1, settings_.prior_interval / kSoonerWithCritic) : settings_.prior_interval;
  return round % (interval << std::clamp(doublings - 1, 0, 30)) == 0;
}

void EmpiricalBayesRule::pool_noise(double share) {
  // A round's own estimate is of a few groups of trajectories, and comes out small where the step
  // happens to: weighed by it alone, short steps would count most. The logarithm, since noise
  // shrinks by orders of magnitude while tasks are learnt.
  RoundObservation& seen = observation_;
  const double own = std::max(share, RoundObservation::kLeastNoiseShare) * seen.noise_norm;
  if (!(own > 0) || !std::isfinite(own)) return;
  ++next_.noise_rounds;
  const double window = std::max(kFewestNoises, 2.0 * tasks());
  const double rate = 1 / std::min(static_cast<double>(next_.noise_rounds), window);
  next_.log_noise += rate * (std::log(own) - next_.log_noise);
  const double pooled = (1 - kPooledNoise) * own + kPooledNoise * std::exp(next_.log_noise);
  seen.noise_share = std::max(pooled / seen.noise_norm, RoundObservation::kLeastNoiseShare);
}

void EmpiricalBayesRule::return_to(const Eigen::VectorXd& policy, const RoundLoss& loss) {
  // As if what was learnt before had been seen there.
  TaskBelief& belief = next_belief_;
  next_policy_ = policy;
  deviation_ = policy - belief.start() - mean_;
  belief.information = loss.curvature / observation_.noise_of(observation_.trust_step);
  belief.evidence.resize(parameters_);
  apply_curvature(belief.information, deviation_, belief.evidence);
  if (!next_.prior.known()) return;
  // M(H̄Aδ + P⁻¹δ) is δ.
  weighed_.noalias() = next_.prior.precision() * deviation_;
  if (next_.coupling.size() > 0) {
    const Eigen::MatrixXd inverse =
        next_.coupling.llt().solve(Eigen::MatrixXd::Identity(actions(), actions()));
    step_.resize(parameters_);
    couple(inverse, belief.information, weighed_, step_);
    weighed_ = step_;
  }
  belief.evidence += weighed_;
}

double EmpiricalBayesRule::learn_coupling(const RoundLoss& loss) {
  if (std::isnan(loss.coupled_noise_share)) return loss.noise_share;
  ++next_.coupling_rounds;
  if (next_.coupling.size() == 0) next_.coupling = loss.action_coupling;
  const double rate = 1.0 / std::min(static_cast<double>(next_.coupling_rounds), 2.0 * tasks());
  next_.coupling += rate * (loss.action_coupling - next_.coupling);
  weighed_.resize(parameters_);
  step_.resize(parameters_);
  apply_curvature(loss.curvature, observation_.direction, weighed_);
  couple(next_.coupling, loss.curvature, weighed_, step_);
  observation_.noise_norm = step_.dot(observation_.direction);
  return loss.coupled_noise_share;
}

void EmpiricalBayesRule::solve_evidence(const Eigen::MatrixXd& information) {
  if (next_.coupling.size() > 0) {
    coupled_evidence_.resize(parameters_);
    couple(next_.coupling, information, moved_, coupled_evidence_);
    moved_ = coupled_evidence_;
  }
  factor_.solveInPlace(moved_);
}

bool EmpiricalBayesRule::stuck(int task, const RoundLoss& loss) const {
  const TaskBelief& belief = tasks_[task];
  if (!belief.visited() || belief.attempts >= kMostAttempts || !(belief.first_cost > 0)) {
    return false;
  }
  if (own_controllers_) return false;  // another one's may be the end of a machine that works
  std::array<double, SharedBelief::kRecentRounds> costs{};
  std::array<double, SharedBelief::kRecentRounds> gains{};
  std::size_t count = 0;
  for (const SharedBelief::Visit& visit : shared_.recent) {
    if (visit.task == task || !(visit.first_cost > 0)) continue;
    costs.at(count) = visit.cost;
    gains.at(count++) = visit.cost / visit.first_cost;
  }
  if (count < kFewestRounds) return false;
  const auto median = [&](auto& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(count));
    return *middle;
  };
  // The less a task has gained beside the others, the less its own cost has to do with it; but
  // first costs of tasks that came when others knew the way say little of what can be gained.
  const double typical = median(costs);
  const double own = std::min(median(gains) * belief.first_cost, kDearestTask * typical);
  return retreat_.stuck(task, loss, std::max(typical, own));
}

const Eigen::VectorXd& EmpiricalBayesRule::another_place(int task) {
  const int attempt = next_belief_.attempts++;
  const Eigen::VectorXd& anchor = tasks_[task].anchor;
  if (attempt % 2 == 1) {
    moved_ = anchor + std::ldexp(1.0, -1 - attempt / 2) * (policy_ - anchor);
    return moved_;
  }
  // The one that was visited so many rounds ago, or the next before it.
  const auto& recent = shared_.recent;
  std::size_t i = recent.size() - 1 - static_cast<std::size_t>(attempt / 2) % recent.size();
  while (i > 0 && recent[i].task == task) --i;
  wanted(recent[i].task, moved_);
  moved_ += tasks_[task].start() - tasks_[recent[i].task].start();
  return moved_;
}

bool EmpiricalBayesRule::learn_from(int task, const RoundLoss& loss, long rounds_before,
                                    double rate) {
  const RoundObservation& seen = observation_;
  if (!(seen.norm_squared > 0)) return true;  // it is where it wants to be
  step_ = seen.trust_step * seen.direction;
  // A step that is right for one machine may be wrong for another that has a controller of its own.
  const bool common = next_takes_part_ && !own_controllers_;
  const double share = common ? agreement_after(task, step_) : 0.0;
  next_.common += (share * seen.shrinkage) * step_;
  const double spread =
      seen.shrinkage * seen.trust_step * seen.trust_step * seen.norm_squared / parameters_;
  next_.first_spread =
      rounds_before == 0 ? spread : next_.first_spread + rate * (spread - next_.first_spread);
  if (!next_.prior.known() && !learn_prior()) return false;
  return move_own_part(loss, share);
}

double EmpiricalBayesRule::agreement_after(int task, const Eigen::VectorXd& step) {
  Eigen::VectorXd& common = next_.direction;
  if (common.size() == 0) {
    common = step;
  } else {
    if (next_.last_task != task) {
      weighed_.resize(parameters_);
      apply_curvature(next_.metric, common, weighed_);
      const double common_square = weighed_.dot(common);
      apply_curvature(next_.metric, step, weighed_);
      const double lengths = std::sqrt(weighed_.dot(step) * common_square);
      const double cosine = lengths > 0 ? weighed_.dot(common) / lengths : 0.0;
      next_.agreement += settings_.agreement_rate * (cosine - next_.agreement);
    }
    common = kDirectionMemory * common + step;
  }
  next_.last_task = task;
  return std::clamp(next_.agreement, 0.0, 1.0);
}

bool EmpiricalBayesRule::move_own_part(const RoundLoss& loss, double share) {
  const Eigen::MatrixXd& curvature = loss.curvature;
  TaskBelief& belief = next_belief_;
  deviation_ = played_ - belief.start() - mean_;
  newton_ = observation_.newton_step * observation_.direction;
  // Of d numbers that are estimated with their own scale, f of the noise is theirs.
  const double part = std::max(0.25, 1 - 2.0 / parameters_);
  const double noise = std::max(1e-300, part * observation_.noise_of(observation_.newton_step));
  double memory = settings_.posterior_memory * std::min(1.0, observation_.noise_share);
  double noise_share = 1;
  double energy = 0;
  const auto gather = [&](double length) {  // moved_ ← ρ b + (G/r)(δ + κΔ)
    step_ = deviation_ + length * newton_;
    moved_.resize(parameters_);
    apply_curvature(curvature, step_, moved_);
    moved_ = memory * belief.evidence + moved_ / noise;
  };
  for (const bool last : {false, true}) {
    // First with the memory that this round's own noise asks for, then with that of the
    // posterior's.
    scaled_ = curvature / noise;
    block_ = belief.information;
    add_blocks(memory, block_, scaled_);
    if (!factorise(next_.prior, block_)) return false;
    covariance_.setIdentity(parameters_, parameters_);
    factor_.solveInPlace(covariance_);
    gather(1);
    solve_evidence(block_);
    moved_ -= deviation_;
    weighed_.resize(parameters_);
    apply_curvature(curvature, moved_, weighed_);
    energy = moved_.dot(weighed_);
    // tr(G M K M) / r, K = H̄G: how long the step would be by noise alone.
    system_.resize(parameters_, parameters_);
    for (Eigen::Index a = 0; a < parameters_ / features_; ++a) {
      system_.middleRows(a * features_, features_).noalias() =
          action_block(curvature, a) * covariance_.middleRows(a * features_, features_);
    }
    double by_noise = 0;
    if (next_.coupling.size() == 0) {
      by_noise = system_.cwiseProduct(system_.transpose()).sum() / noise;
    } else {
      coupled_.resize(parameters_, parameters_);
      couple(next_.coupling, curvature, system_, coupled_);
      by_noise = system_.cwiseProduct(coupled_.transpose()).sum() / noise;
    }
    noise_share = energy > by_noise ? by_noise / energy : 1.0;
    if (!last) memory = settings_.posterior_memory * std::sqrt(noise_share);
  }
  // A critic's step is Newton's own, which ends where its model has the minimum.
  const double growth = observation_.by_critic
                            ? std::max(1.0, sure_noise_share_ / std::max(1e-9, noise_share))
                            : sure_growth(sure_noise_share_, noise_share);
  const double radius = observation_.radius * growth;
  double length = energy > 0 ? std::min(1.0, std::sqrt(2 * radius / energy)) : 1.0;
  if (whole_steps_ && !(loss.newton_radius > 0) && energy < 2 * radius) {
    // The posterior takes a noisy step for the most part as noise and hardly moves, which is right
    // for machines that are visited again and again, and for one long stay is a stay without
    // learning. κ with |u + κv|² = 2 radius, where u + κv is how far its mean moves, and moved_ is
    // u + v.
    whole_ = moved_;
    gather(0);
    solve_evidence(block_);
    moved_ -= deviation_;
    moved_ = whole_ - moved_;  // v
    const double across = moved_.dot(weighed_);
    apply_curvature(curvature, moved_, weighed_);
    const double square = moved_.dot(weighed_);
    const double left = 2 * radius - energy;
    if (square > 0) length += (std::sqrt(across * across + square * left) - across) / square;
  }
  length *= 1 - share;
  gather(length);
  belief.information = block_;
  belief.evidence = moved_;
  solve_evidence(block_);
  next_policy_ = belief.start() + next_.common + next_.offset + moved_;
  if (!next_takes_part_) return true;
  const double visits = static_cast<double>(next_.count) + (belief.visited() ? 0 : 1);
  next_.uncertainty += (2 / (visits + 1)) * (covariance_ - next_.uncertainty);
  return true;
}

bool EmpiricalBayesRule::factorise(const TaskPrior& prior, const Eigen::MatrixXd& information) {
  system_ = prior.precision();
  add_coupled_blocks(next_.coupling, information, system_);
  factor_.compute(system_);
  return factor_.info() == Eigen::Success;
}

void EmpiricalBayesRule::place(int task) {
  const TaskBelief& before = tasks_[task];
  if (before.visited() && retreat_.takes_part(task)) {
    --next_.count;
    next_.places -= before.place;
    next_.squares.noalias() -= before.place * before.place.transpose();
  }
  TaskBelief& belief = next_belief_;
  mean_ = next_.common + next_.offset;
  shift_evidence(1, mean_);
  belief.place = next_policy_ - belief.start() - next_origin();
  if (!next_takes_part_) return;
  ++next_.count;
  next_.places += belief.place;
  next_.squares.noalias() += belief.place * belief.place.transpose();
}

void EmpiricalBayesRule::unsettle() {
  TaskBelief& belief = next_belief_;
  if (!belief.settled) return;
  step_ = belief.settled_at - next_origin();
  weighed_.resize(parameters_);
  apply_curvature(belief.information, step_, weighed_);
  belief.evidence += weighed_;
  belief.place += step_;
  belief.settled = false;
}

void EmpiricalBayesRule::shift_evidence(double sign, const Eigen::VectorXd& mean) {
  step_ = mean - next_origin();
  weighed_.resize(parameters_);
  apply_curvature(next_belief_.information, step_, weighed_);
  next_belief_.evidence += sign * weighed_;
}

bool EmpiricalBayesRule::weigh_mean() {
  // Of a task's change z ~ N(m, P) its rounds say N(b, A) in canonical form, so that of m they say
  // W = (A⁻¹ + P)⁻¹ = P⁻¹MA and P⁻¹Mb with M = (P⁻¹ + A)⁻¹. Means of the tasks' places would count
  // those that hardly saw anything, and so stayed near m, as much as all others.
  const Eigen::MatrixXd& precision = next_.prior.precision();
  if (next_takes_part_) {
    if (!factorise(next_.prior, next_belief_.information)) return false;
    system_.setZero();  // A
    add_coupled_blocks(next_.coupling, next_belief_.information, system_);
    factor_.solveInPlace(system_);
    covariance_.noalias() = precision * system_;
    system_ = 0.5 * covariance_;
    system_ += 0.5 * covariance_.transpose();  // W
    step_.resize(parameters_);
    couple(next_.coupling, next_belief_.information, next_belief_.evidence, step_);
    factor_.solveInPlace(step_);
    weighed_.noalias() = precision * step_;
    if (next_.mean_rounds == 0) {
      // The tasks that were there before any had a controller of its own are known by their mean.
      next_.mean_rounds = std::max(0L, next_.count - 1);
      next_.mean_weight = system_;
      next_.mean_pull.noalias() = system_ * next_.offset;
    }
    ++next_.mean_rounds;
    const double rate = 1 / std::min(static_cast<double>(next_.mean_rounds), 2.0 * tasks());
    next_.mean_weight += rate * (system_ - next_.mean_weight);
    next_.mean_pull += rate * (weighed_ - next_.mean_pull);
  }
  if (next_.mean_rounds == 0) return true;
  // Before all of them m is as likely to be anywhere as a task is.
  const double count = std::max(1.0, static_cast<double>(next_.count));
  system_ = next_.mean_weight + precision / count;
  factor_.compute(system_);
  if (factor_.info() != Eigen::Success) return false;
  next_.offset = next_.mean_pull;
  factor_.solveInPlace(next_.offset);
  return next_.offset.allFinite();
}

bool EmpiricalBayesRule::centre() {
  const auto count = static_cast<double>(next_.count);
  if (own_controllers_ && next_.prior.known()) {
    if (!weigh_mean()) return false;
  } else {
    next_.offset = (next_.places + next_.offset) / (count + 1);
  }
  if (!next_takes_part_) return true;
  deviation_ = next_.common + next_.offset;
  apply_curvature(next_.metric, deviation_, weighed_);
  const double rate = 2 / (count + 1);
  step_ = next_policy_ - next_belief_.start();
  const double along = weighed_.dot(step_);
  const double length = weighed_.dot(deviation_);
  next_.way_along += rate * (along - next_.way_along);
  next_.way_length += rate * (length - next_.way_length);
  if (!(length > 0) || !(next_.way_length > 0)) return true;
  const double off = along / length - next_.way_along / next_.way_length;
  next_.way_spread += rate * (off * off - next_.way_spread);
  return true;
}

bool EmpiricalBayesRule::learn_prior() {
  // Σ_t (z_t - H)(z_t - H)ᵀ + their covariances.
  const auto count = static_cast<double>(next_.count);
  system_ = next_.squares + count * next_.uncertainty;
  system_.noalias() -= next_.offset * next_.places.transpose();
  system_.noalias() -= next_.places * next_.offset.transpose();
  system_.noalias() += (count * next_.offset) * next_.offset.transpose();
  return next_.prior.maximise(system_, count, next_.metric, next_.first_spread, directions_,
                              prior_workspace_);
}

void EmpiricalBayesRule::commit(int task, const RoundLoss& loss) {
  retreat_.accept(task, loss, played_, next_takes_part_);
  next_.stay_rounds = next_.stay_task == task ? next_.stay_rounds + 1 : 1;
  next_.stay_task = task;
  next_belief_.settled = next_takes_part_ && next_.stay_rounds >= kLongStay;
  next_belief_.settled_at = next_.common;
  if (std::isfinite(loss.mean_cost)) {
    if (next_.recent.size() == SharedBelief::kRecentRounds)
      next_.recent.erase(next_.recent.begin());
    if (!tasks_[task].visited()) next_belief_.first_cost = loss.mean_cost;
    next_.recent.push_back({task, loss.mean_cost, next_belief_.first_cost});
  }
  std::swap(shared_, next_);
  std::swap(tasks_[task], next_belief_);
  const std::lock_guard lock(mutex_);
  handed_out_.task = -1;
  knowledge_.reset();
  const auto start = std::chrono::steady_clock::now();
  const HandedOut& handed = handed_out(task);
  SafeguardRecord& record = last_safeguard_;
  record.status = ProjectionStatus::not_checked;
  if (projection_settings_.mode != ProjectionMode::none) {
    record.status = handed.refused ? ProjectionStatus::kept_last : ProjectionStatus::converged;
    record.worst_margin = kInfinity;
    record.retraction = handed.retraction;
  }
  if (guarded(task)) {
    const Margins& margins = margins_of(task, handed);
    record.worst_margin = margins.worst();
    record.worst_task = task;
    record.worst_row = safe_sets_[task].name(margins.worst_row());
  }
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool EmpiricalBayesRule::policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const {
  const std::lock_guard lock(mutex_);
  const HandedOut& handed = handed_out(task);
  const bool refused = handed.refused || (refuses_ && refuses_(task));
  alpha = refused ? tasks_[task].anchor : handed.policy;
  return !refused;
}

void EmpiricalBayesRule::wanted(int task, Eigen::VectorXd& policy) const {
  const TaskBelief& belief = tasks_[task];
  policy = belief.start();
  if (belief.visited()) {
    policy += origin(task) + belief.place;
  } else if (shared_.begun()) {
    policy += trust_in_mean() * (shared_.common + shared_.offset);
  }
}

CoefficientPath EmpiricalBayesRule::cut(int task, const Eigen::MatrixXd& metric,
                                        Eigen::VectorXd& policy) const {
  const ProjectionFault fault =
      faults_ ? faults_(ProjectionStage::coefficient_step) : ProjectionFault::none;
  if (fault == ProjectionFault::failure) return CoefficientPath::scaled;
  const CoefficientPath path = projection_.project(safe_sets_[task], tasks_[task].anchor, metric,
                                                   projection_settings_.margin, policy);
  if (fault == ProjectionFault::not_finite) policy.setConstant(kNaN);
  if (fault == ProjectionFault::unsafe) policy.setConstant(1e9);
  return path;
}

const Margins& EmpiricalBayesRule::margins_of(int task, const HandedOut& handed) const {
  return margins(safe_sets_[task], handed.policy, handed.error, margins_);
}

const EmpiricalBayesRule::HandedOut& EmpiricalBayesRule::handed_out(int task) const {
  HandedOut& handed = handed_out_;
  if (handed.task == task) return handed;
  handed.task = -1;
  handed.retraction = 1;
  handed.refused = false;
  const Eigen::VectorXd& anchor = tasks_[task].anchor;
  const Eigen::MatrixXd& basis = shared_.prior.basis();
  wanted(task, handed.policy);
  const bool guarded = this->guarded(task);
  if (guarded && shared_.begun()) cut(task, shared_.metric, handed.policy);
  from_anchor_ = handed.policy - anchor;
  shared_.prior.express(from_anchor_, handed.coefficients);
  for (int retractions = 0;; ++retractions) {
    handed.policy = anchor;
    handed.policy.noalias() += basis * handed.coefficients;
    // As in policy_parameters() of certificates: twice what a sum of k products and ᾱ is off by.
    const auto k = static_cast<double>(parameters_);
    handed.error = anchor.cwiseAbs();
    for (Eigen::Index j = 0; j < parameters_; ++j) {
      handed.error += std::abs(handed.coefficients(j)) * basis.col(j).cwiseAbs();
    }
    handed.error *= 2 * rounding_gamma(parameters_ + 8);
    handed.error.array() += 4 * (k + 2) * std::numeric_limits<double>::denorm_min();
    if (!guarded || handed.refused) break;
    if (handed.policy.allFinite() && margins_of(task, handed).worst() > 0) break;
    // On the way to the anchor, which is strictly inside, it becomes so; at the anchor at last.
    handed.refused = retractions == kMostRetractions || !handed.coefficients.allFinite();
    handed.retraction = handed.refused ? 0 : 0.5 * handed.retraction;
    if (handed.refused) {
      handed.coefficients.setZero();
    } else {
      handed.coefficients *= 0.5;
    }
  }
  handed.task = task;
  return handed;
}

const Knowledge& EmpiricalBayesRule::knowledge() const {
  const std::lock_guard lock(mutex_);
  if (!knowledge_) {
    Knowledge all;
    all.basis = shared_.prior.basis();
    all.coefficients.resize(parameters_, tasks());
    all.anchors.resize(parameters_, tasks());
    for (int t = 0; t < tasks(); ++t) {
      all.coefficients.col(t) = handed_out(t).coefficients;
      all.anchors.col(t) = tasks_[t].anchor;
    }
    knowledge_ = std::move(all);
  }
  return *knowledge_;
}

Certificate EmpiricalBayesRule::certificate() const {
  const Knowledge& all = knowledge();
  std::vector<Eigen::VectorXd> anchors;
  anchors.reserve(tasks_.size());
  for (const TaskBelief& belief : tasks_) anchors.push_back(belief.anchor);
  return certify({all.basis, all.coefficients, anchors, safe_sets_, projection_settings_.p,
                  projection_settings_.q});
}

std::optional<TaskBeliefs> EmpiricalBayesRule::beliefs() const {
  if (!shared_.begun()) return {};
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(parameters_);
  for (const TaskBelief& belief : tasks_) mean += belief.start();
  mean = mean / static_cast<double>(tasks()) + shared_.common + shared_.offset;
  return TaskBeliefs{
      std::move(mean),           shared_.prior.basis(),
      shared_.prior.variances(), own_controllers_ ? 0.0 : std::clamp(shared_.agreement, 0.0, 1.0),
      trust_in_mean(),           shared_.metric};
}

std::optional<TaskPosterior> EmpiricalBayesRule::posterior(int task) const {
  if (!shared_.begun() || !shared_.prior.known()) return {};
  const TaskBelief& belief = tasks_[task];
  const Eigen::VectorXd mean = shared_.common + shared_.offset;
  TaskPosterior posterior{belief.start() + mean, {}, belief.visited()};
  Eigen::MatrixXd system = shared_.prior.precision();
  if (belief.visited()) add_coupled_blocks(shared_.coupling, belief.information, system);
  posterior.covariance = system.llt().solve(Eigen::MatrixXd::Identity(parameters_, parameters_));
  if (!belief.visited()) return posterior;
  const Eigen::VectorXd shift = mean - origin(task);
  Eigen::VectorXd evidence(parameters_);
  apply_curvature(belief.information, shift, evidence);
  Eigen::VectorXd pull(parameters_);
  couple(shared_.coupling, belief.information, belief.evidence - evidence, pull);
  posterior.mean += posterior.covariance * pull;
  return posterior;
}

void EmpiricalBayesRule::save_first(StateWriter& writer) const { shared_.prior.save(writer); }

void EmpiricalBayesRule::save_task(int task, StateWriter& writer) const {
  const TaskBelief& belief = tasks_[task];
  belief.save_anchor(writer);
  retreat_.save_task(task, writer);
  if (belief.visited()) belief.save_rounds(writer);
}

void EmpiricalBayesRule::save_last(StateWriter& writer) const { shared_.save(writer); }

void EmpiricalBayesRule::load_first(StateReader& reader, Eigen::MatrixXd basis, int /*tasks*/) {
  shared_.prior.load(reader, std::move(basis));
}

void EmpiricalBayesRule::load_task(StateReader& reader, const SafeSet& set) {
  TaskBelief belief;
  const bool visited = belief.load_anchor(reader, parameters_);
  retreat_.load_task(reader);
  if (visited) belief.load_rounds(reader, features_, parameters_);
  Safeguard::require_task(set, belief.anchor);
  tasks_.push_back(std::move(belief));
  own_controllers_ = own_controllers_ || tasks_.back().anchor != tasks_.front().anchor;
  safe_sets_.push_back(set);
}

void EmpiricalBayesRule::load_last(StateReader& reader) {
  shared_.load(reader, features_, parameters_, tasks());
  for (int t = 0; t < tasks(); ++t) {
    shared_.count += tasks_[t].visited() && retreat_.takes_part(t) ? 1 : 0;
    require(shared_.begun() || !tasks_[t].visited(), "begun", "false",
            "must be true: a task was visited");
  }
  next_ = shared_;
  const std::lock_guard lock(mutex_);
  for (int t = 0; t < tasks(); ++t) {
    const HandedOut& handed = handed_out(t);
    require(!handed.refused && handed.policy.allFinite(), fmt::format("policy of task {}", t),
            "unsafe", "must be one that can be proven");
  }
}

}  // namespace lifeguard
