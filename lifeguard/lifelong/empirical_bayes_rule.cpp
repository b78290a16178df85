#include "lifeguard/lifelong/empirical_bayes_rule.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// No round is believed to be without noise.
constexpr double kLeastNoiseShare = 1e-4;
/// How much of the steps before counts in their common direction.
constexpr double kDirectionMemory = 0.7;

Eigen::VectorXd times(const Eigen::MatrixXd& blocks, const Eigen::VectorXd& x) {
  Eigen::VectorXd result(x.size());
  apply_curvature(blocks, x, result);
  return result;
}

/// x ← G⁻¹ x. False if a block is not positive definite.
bool solve_in_place(const Eigen::MatrixXd& blocks, Eigen::VectorXd& x) {
  const Eigen::Index width = blocks.cols();
  const Eigen::Index alike = x.size() / width / different_blocks(blocks);
  for (Eigen::Index b = 0; b < different_blocks(blocks); ++b) {
    const Eigen::LLT<Eigen::MatrixXd> factor(action_block(blocks, b));
    if (factor.info() != Eigen::Success) return false;
    for (Eigen::Index a = b * alike; a < (b + 1) * alike; ++a) {
      auto part = x.segment(a * width, width);
      factor.solveInPlace(part);
    }
  }
  return true;
}

void require_fits(std::string_view field, const Eigen::MatrixXd& matrix, bool fits) {
  require(fits, field, static_cast<double>(matrix.rows()), "must have the size that it has here");
  require(matrix.allFinite(), field, "(a number that is not finite)", "must be finite");
}

}  // namespace

EmpiricalBayesRule::EmpiricalBayesRule(const LearnerSettings& settings, int features, int actions)
    : settings_(settings.empirical_bayes),
      sure_noise_share_(settings.round.adaptation.sure_noise_share),
      directions_(settings.k == 0 ? features * actions : settings.k),
      features_(features),
      parameters_(features * actions),
      retreat_(settings.linearised.retreat_factor, features * actions),
      limits_(settings.projection),
      shared_(TaskPrior(features, actions, settings.projection.p, settings.projection.q)),
      next_(shared_),
      policy_(features * actions),
      other_(features * actions) {}

void EmpiricalBayesRule::add_task(const Eigen::VectorXd& anchor) {
  beliefs_.push_back({false,
                      Eigen::MatrixXd::Zero(features_, features_),
                      Eigen::VectorXd::Zero(parameters_),
                      Eigen::VectorXd::Zero(parameters_),
                      {}});
  anchors_.push_back(anchor);
  retreat_.add_task(anchor);
}

RoundStatus EmpiricalBayesRule::solve(const LearningRound& round, Knowledge& next) {
  round.knowledge.policy_parameters(round.task, policy_);
  played_ = round.loss.played.size() == parameters_ ? round.loss.played : policy_;
  next_ = shared_;
  next_belief_ = beliefs_[round.task];
  next_takes_part_ = retreat_.takes_part(round.task);
  prior_changed_ = false;
  steps_.setZero(parameters_, tasks());
  shift_.setZero(parameters_);
  common_.setZero(parameters_);
  if (next_.mean.size() == 0) next_.mean = round.knowledge.anchors.rowwise().mean();
  if (!look_at(round)) return RoundStatus::singular;
  const double rate = 1.0 / std::min(static_cast<double>(round.rounds_before + 1), 2.0 * tasks());
  if (next_.metric.size() == 0) {
    next_.metric = round.loss.curvature;
  } else {
    add_blocks(1 - rate, next_.metric, rate * round.loss.curvature);
  }
  if (retreat_.astray(round)) {
    return_to(retreat_.cheapest_policy(round.task), round);
  } else if (retreat_.lost(round)) {
    next_takes_part_ = false;
    return_to(anchors_[round.task], round);
  } else if (!learn(round, rate)) {
    return RoundStatus::singular;
  }
  choose_steps(round);
  limits_.cut(round, steps_);
  express(round, next);
  const bool finite = next.basis.allFinite() && next.coefficients.allFinite();
  return finite ? RoundStatus::ok : RoundStatus::singular;
}

bool EmpiricalBayesRule::look_at(const LearningRound& round) {
  const RoundLoss& loss = round.loss;
  Observation& seen = observation_;
  seen.noise_share = std::isnan(loss.noise_share) ? 1.0 : loss.noise_share;
  seen.noise_share = std::clamp(seen.noise_share, kLeastNoiseShare, 1.0);
  const bool tells_gradient =
      loss.cost_gradient.size() == parameters_ && loss.natural_norm_squared > 0 && loss.radius > 0;
  seen.direction = tells_gradient ? -loss.cost_gradient : played_;
  if (!solve_in_place(loss.curvature, seen.direction)) return false;
  if (loss.newton_step.size() == parameters_ && loss.radius > 0) {
    seen.direction = loss.newton_step;
    seen.norm_squared = seen.direction.dot(times(loss.curvature, seen.direction));
    if (!(seen.norm_squared > 0)) return false;
    seen.newton_step = 1;
    seen.trust_step = std::sqrt(2 * loss.radius / seen.norm_squared);
    seen.shrinkage = loss.shrinkage;
    seen.radius = loss.trust_region;
    return true;
  }
  if (!tells_gradient) {
    // All that this base learner says is where to go.
    seen.direction = loss.target - played_;
    seen.norm_squared = seen.direction.dot(times(loss.curvature, seen.direction));
    seen.trust_step = seen.newton_step = seen.shrinkage = 1;
    seen.radius = 0.5 * seen.norm_squared;
    return std::isfinite(seen.norm_squared);
  }
  seen.norm_squared = -loss.cost_gradient.dot(seen.direction);
  if (!(seen.norm_squared > 0)) return false;
  const auto step_of = [&](double radius) { return std::sqrt(2 * radius / seen.norm_squared); };
  seen.trust_step = step_of(loss.radius);
  seen.newton_step = loss.newton_radius > 0 ? step_of(loss.newton_radius) : seen.trust_step;
  seen.shrinkage = loss.shrinkage;
  seen.radius = loss.trust_region > 0 ? loss.trust_region : loss.radius;
  return true;
}

double EmpiricalBayesRule::noise_of(double step) const {
  return std::max(1e-300,
                  step * step * observation_.noise_share * observation_.norm_squared / parameters_);
}

void EmpiricalBayesRule::return_to(const Eigen::VectorXd& policy, const LearningRound& round) {
  // As if what was learnt before had been seen there.
  Belief& belief = next_belief_;
  belief.visited = true;
  belief.deviation = policy - next_.mean;
  belief.information = round.loss.curvature / noise_of(observation_.trust_step);
  belief.evidence = times(belief.information, belief.deviation);
  if (next_.prior.known()) belief.evidence += next_.prior.precision() * belief.deviation;
  if (!next_takes_part_) belief.moments.resize(0, 0);
}

bool EmpiricalBayesRule::learn(const LearningRound& round, double rate) {
  const Observation& seen = observation_;
  if (!(seen.norm_squared > 0)) return true;  // it is where it wants to be
  const Eigen::VectorXd step = seen.trust_step * seen.direction;
  // A step that is right for one machine may be wrong for another that has a controller of its own.
  const bool common = next_takes_part_ && !own_controllers();
  const double share = common ? agreement_after(round.task, step) : 0.0;
  common_ = share * seen.shrinkage * step;
  next_.mean += common_;
  const double spread =
      seen.shrinkage * seen.trust_step * seen.trust_step * seen.norm_squared / parameters_;
  next_.first_spread =
      round.rounds_before == 0 ? spread : next_.first_spread + rate * (spread - next_.first_spread);
  if (!next_.prior.known() && !learn_prior(round.task)) return false;
  if (!move_own_part(round, share)) return false;
  centre(round.task);
  if (round.rounds_before % settings_.prior_interval == 0) return learn_prior(round.task);
  return true;
}

double EmpiricalBayesRule::agreement_after(int task, const Eigen::VectorXd& step) {
  Eigen::VectorXd& common = next_.direction;
  if (common.size() == 0) {
    common = step;
  } else {
    if (next_.last_task != task) {
      const Eigen::VectorXd weighed = times(next_.metric, step);
      const double lengths = std::sqrt(weighed.dot(step) * common.dot(times(next_.metric, common)));
      const double cosine = lengths > 0 ? weighed.dot(common) / lengths : 0.0;
      next_.agreement += settings_.agreement_rate * (cosine - next_.agreement);
    }
    common = kDirectionMemory * common + step;
  }
  next_.last_task = task;
  return std::clamp(next_.agreement, 0.0, 1.0);
}

bool EmpiricalBayesRule::move_own_part(const LearningRound& round, double share) {
  const Eigen::MatrixXd& curvature = round.loss.curvature;
  const Belief& before = beliefs_[round.task];
  Belief& belief = next_belief_;
  const Eigen::VectorXd deviation = played_ - (next_.mean - common_);
  const Eigen::VectorXd newton = observation_.newton_step * observation_.direction;
  // Of d numbers that are estimated with their own scale, f of the noise is theirs.
  const double part = std::max(0.25, 1 - 2.0 / parameters_);
  const double noise = std::max(1e-300, part * noise_of(observation_.newton_step));
  Eigen::VectorXd moved;
  double memory = settings_.posterior_memory * observation_.noise_share;
  double noise_share = 1;
  double energy = 0;
  for (const bool last : {false, true}) {
    // First with the memory that this round's own noise asks for, then with that of the
    // posterior's.
    belief.information = before.information;
    add_blocks(memory, belief.information, curvature / noise);
    belief.evidence = memory * before.evidence + times(curvature, deviation + newton) / noise;
    if (!factorise(belief)) return false;
    covariance_ = factor_.solve(Eigen::MatrixXd::Identity(parameters_, parameters_));
    moved = factor_.solve(belief.evidence) - deviation;
    energy = moved.dot(times(curvature, moved));
    // tr(G M G M) / r: how long the step would be by noise alone.
    system_.resize(parameters_, parameters_);
    for (Eigen::Index a = 0; a < parameters_ / features_; ++a) {
      system_.middleRows(a * features_, features_).noalias() =
          action_block(curvature, a) * covariance_.middleRows(a * features_, features_);
    }
    const double by_noise = system_.cwiseProduct(system_.transpose()).sum() / noise;
    noise_share = energy > by_noise ? by_noise / energy : 1.0;
    if (!last) memory = settings_.posterior_memory * std::sqrt(noise_share);
  }
  const double radius =
      observation_.radius * std::max(1.0, sure_noise_share_ / std::max(1e-9, noise_share));
  const double length =
      (1 - share) * (energy > 0 ? std::min(1.0, std::sqrt(2 * radius / energy)) : 1.0);
  belief.evidence =
      memory * before.evidence + times(curvature, deviation + length * newton) / noise;
  belief.deviation = factor_.solve(belief.evidence);
  belief.visited = true;
  if (next_takes_part_) {
    belief.moments = belief.deviation * belief.deviation.transpose() + covariance_;
  }
  return belief.deviation.allFinite();
}

bool EmpiricalBayesRule::factorise(const Belief& belief) {
  system_ = next_.prior.precision();
  for (Eigen::Index a = 0; a < parameters_ / features_; ++a) {
    system_.block(a * features_, a * features_, features_, features_) +=
        action_block(belief.information, a);
  }
  factor_.compute(system_);
  return factor_.info() == Eigen::Success;
}

const EmpiricalBayesRule::Belief& EmpiricalBayesRule::belief_after(int task, int observed) const {
  return task == observed ? next_belief_ : beliefs_[task];
}

void EmpiricalBayesRule::centre(int observed) {
  int count = 0;
  for (int t = 0; t < tasks(); ++t) {
    const Belief& belief = belief_after(t, observed);
    if (!belief.visited || !takes_part_after(t, observed)) continue;
    shift_ += belief.deviation;
    ++count;
  }
  shift_ /= count + 1.0;
  next_.mean += shift_;
  recentre(next_belief_);
}

void EmpiricalBayesRule::recentre(Belief& belief) const {
  if (!belief.visited) return;
  belief.deviation -= shift_;
  belief.evidence -= times(belief.information, shift_);
}

bool EmpiricalBayesRule::learn_prior(int observed) {
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(parameters_, parameters_);
  int count = 0;
  for (int t = 0; t < tasks(); ++t) {
    const Belief& belief = belief_after(t, observed);
    if (belief.moments.size() == 0) continue;
    sum += belief.moments;
    ++count;
  }
  prior_changed_ = next_.prior.maximise(sum, count, next_.metric, next_.first_spread, directions_);
  return prior_changed_;
}

bool EmpiricalBayesRule::own_controllers() const {
  return std::any_of(anchors_.begin(), anchors_.end(),
                     [&](const Eigen::VectorXd& anchor) { return anchor != anchors_.front(); });
}

double EmpiricalBayesRule::trust_in_mean(int observed) const {
  if (own_controllers()) return 0;
  double along = 0;
  double length = 0;
  for (int t = 0; t < tasks(); ++t) {
    const Belief& belief = belief_after(t, observed);
    if (!belief.visited || !takes_part_after(t, observed)) continue;
    const Eigen::VectorXd to_mean = next_.mean - anchors_[t];
    Eigen::VectorXd to_policy = to_mean + belief.deviation;
    if (t != observed) to_policy -= shift_;
    const Eigen::VectorXd weighed = times(next_.metric, to_mean);
    along += weighed.dot(to_policy);
    length += weighed.dot(to_mean);
  }
  return length > 0 ? std::clamp(along / length, 0.0, 1.0) : 1.0;
}

void EmpiricalBayesRule::choose_steps(const LearningRound& round) {
  const double trust = trust_in_mean(round.task);
  next_.trust_in_mean = trust;
  for (int t = 0; t < tasks(); ++t) {
    if (t == round.task) {
      steps_.col(t) = next_.mean + next_belief_.deviation - policy_;
    } else if (beliefs_[t].visited) {
      if (retreat_.takes_part(t)) steps_.col(t) = common_;
    } else {
      round.knowledge.policy_parameters(t, other_);
      steps_.col(t) = anchors_[t] + trust * (next_.mean - anchors_[t]) - other_;
    }
  }
}

void EmpiricalBayesRule::express(const LearningRound& round, Knowledge& next) {
  if (!prior_changed_ && next.basis == next_.prior.basis()) {
    next.coefficients += next_.prior.coefficients(steps_);
    return;
  }
  // L has moved: the policies have not.
  for (int t = 0; t < tasks(); ++t) {
    round.knowledge.policy_parameters(t, other_);
    steps_.col(t) += other_ - anchors_[t];
  }
  next.basis = next_.prior.basis();
  next.coefficients = next_.prior.coefficients(steps_);
}

void EmpiricalBayesRule::accept(const LearningRound& round, const Knowledge& accepted) {
  retreat_.accept(round, played_, next_takes_part_);
  for (int t = 0; t < tasks(); ++t) {
    if (t != round.task) recentre(beliefs_[t]);
  }
  std::swap(shared_, next_);
  std::swap(beliefs_[round.task], next_belief_);
  // Where the safe set allowed it to go.
  accepted.policy_parameters(round.task, policy_);
  beliefs_[round.task].deviation = policy_ - shared_.mean;
}

std::optional<Eigen::VectorXd> EmpiricalBayesRule::first_policy(
    const Eigen::VectorXd& anchor) const {
  if (shared_.mean.size() == 0) return std::nullopt;
  return anchor + shared_.trust_in_mean * (shared_.mean - anchor);
}

void EmpiricalBayesRule::save_task(int task, StateWriter& writer) const {
  const Belief& belief = beliefs_[task];
  writer.field("anchor", anchors_[task]);
  writer.field("visited", belief.visited);
  writer.field("information", belief.information);
  writer.field("evidence", belief.evidence);
  writer.field("deviation", belief.deviation);
  writer.field("counts", belief.moments.size() > 0);
  if (belief.moments.size() > 0) writer.field("moments", belief.moments);
  retreat_.save_task(task, writer);
}

void EmpiricalBayesRule::load_task(StateReader& reader) {
  Belief belief;
  Eigen::VectorXd anchor;
  bool counts = false;
  reader.field("anchor", anchor);
  reader.field("visited", belief.visited);
  reader.field("information", belief.information);
  reader.field("evidence", belief.evidence);
  reader.field("deviation", belief.deviation);
  reader.field("counts", counts);
  if (counts) {
    reader.field("moments", belief.moments);
    require_fits("moments", belief.moments,
                 belief.moments.rows() == parameters_ && belief.moments.cols() == parameters_);
  }
  require_fits("information", belief.information,
               are_blocks(belief.information, features_, parameters_ / features_));
  for (const Eigen::VectorXd* vector : {&anchor, &belief.evidence, &belief.deviation}) {
    require_size("belief", vector->size(), parameters_);
    require(vector->allFinite(), "belief", "(a number that is not finite)", "must be finite");
  }
  retreat_.load_task(reader);
  beliefs_.push_back(std::move(belief));
  anchors_.push_back(std::move(anchor));
}

void EmpiricalBayesRule::save_shared(StateWriter& writer) const {
  const bool begun = shared_.mean.size() > 0;
  writer.field("begun", begun);
  if (!begun) return;
  shared_.prior.save(writer);
  writer.field("mean", shared_.mean);
  writer.field("mean_metric", shared_.metric);
  writer.field("first_spread", shared_.first_spread);
  writer.field("agreement", shared_.agreement);
  writer.field("trust_in_mean", shared_.trust_in_mean);
  writer.field("last_task", shared_.last_task);
  writer.field("has_direction", shared_.direction.size() > 0);
  if (shared_.direction.size() > 0) writer.field("common_direction", shared_.direction);
}

void EmpiricalBayesRule::load_shared(StateReader& reader) {
  bool begun = false;
  reader.field("begun", begun);
  if (!begun) return;
  bool has_direction = false;
  shared_.prior.load(reader);
  reader.field("mean", shared_.mean);
  reader.field("mean_metric", shared_.metric);
  reader.field("first_spread", shared_.first_spread);
  reader.field("agreement", shared_.agreement);
  reader.field("trust_in_mean", shared_.trust_in_mean);
  reader.field("last_task", shared_.last_task);
  reader.field("has_direction", has_direction);
  if (has_direction) {
    reader.field("common_direction", shared_.direction);
    require_size("common_direction", shared_.direction.size(), parameters_);
  }
  require_size("mean", shared_.mean.size(), parameters_);
  require(shared_.mean.allFinite(), "mean", "(a number that is not finite)", "must be finite");
  require_fits("mean_metric", shared_.metric,
               are_blocks(shared_.metric, features_, parameters_ / features_));
  require_not_negative("first_spread", shared_.first_spread);
  require(std::abs(shared_.agreement) <= 1, "agreement", shared_.agreement, "must be a cosine");
  require(shared_.trust_in_mean >= 0 && shared_.trust_in_mean <= 1, "trust_in_mean",
          shared_.trust_in_mean, "must be in [0, 1]");
  require(shared_.last_task >= -1 && shared_.last_task < tasks(), "last_task", shared_.last_task,
          "must be a task");
}

}  // namespace lifeguard
