#include "lifeguard/regret/leader_game.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/lane_math.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

namespace {

/// Blocks of another width with the same entries: one block over all parameters, or as they are.
Eigen::MatrixXd widened(const Eigen::MatrixXd& blocks, Eigen::Index width,
                        Eigen::Index parameters) {
  if (blocks.cols() == width) return blocks;
  Eigen::MatrixXd whole = Eigen::MatrixXd::Zero(parameters, parameters);
  for (Eigen::Index start = 0; start < parameters; start += blocks.cols()) {
    whole.block(start, start, blocks.cols(), blocks.cols()) =
        action_block(blocks, start / blocks.cols());
  }
  return whole;
}

Eigen::VectorXd times_blocks(const Eigen::MatrixXd& blocks, const Eigen::VectorXd& x) {
  const Eigen::Index width = blocks.cols();
  Eigen::VectorXd result(x.size());
  for (Eigen::Index start = 0; start < x.size(); start += width) {
    result.segment(start, width).noalias() =
        action_block(blocks, start / width) * x.segment(start, width);
  }
  return result;
}

/// Σ over all parameters of what belongs to the rows of the blocks: with one block for all actions
/// each row stands for several.
double copies(const Eigen::MatrixXd& blocks, Eigen::Index parameters) {
  return static_cast<double>(parameters) / static_cast<double>(blocks.rows());
}

/// Lower Cholesky factors of the blocks; false unless all are positive definite.
bool factorise_blocks(Eigen::MatrixXd& blocks) {
  const Eigen::Index width = blocks.cols();
  for (Eigen::Index b = 0; b < different_blocks(blocks); ++b) {
    Eigen::Ref<Eigen::MatrixXd> own = blocks.middleRows(b * width, width);
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(own);
    if (factor.info() != Eigen::Success) return false;
  }
  return true;
}

/// xᵀ (C Cᵀ)⁻¹ x for the factors C of the blocks.
double inverse_norm_squared(const Eigen::MatrixXd& factors, Eigen::VectorXd x) {
  const Eigen::Index width = factors.cols();
  for (Eigen::Index start = 0; start < x.size(); start += width) {
    auto part = x.segment(start, width);
    action_block(factors, start / width).triangularView<Eigen::Lower>().solveInPlace(part);
  }
  return x.squaredNorm();
}

double log_determinant(const Eigen::MatrixXd& factors, Eigen::Index parameters) {
  double sum = 0;
  for (Eigen::Index i = 0; i < factors.rows(); ++i) {
    sum += 2 * HWY_NAMESPACE::natural_log(factors(i, i % factors.cols()));
  }
  return sum * copies(factors, parameters);
}

}  // namespace

BoundTerms& BoundTerms::operator+=(const BoundTerms& other) {
  prior += other.prior;
  rounds += other.rounds;
  off_leader += other.off_leader;
  changes += other.changes;
  log_det += other.log_det;
  largest_excess = std::max(largest_excess, other.largest_excess);
  return *this;
}

LeaderGame::LeaderGame(const PolicyPrior& prior, const LossSum& losses, const SafeRegion& region) {
  set_prior(prior, losses.linear.size());
  add_prior(losses);
  find_leader(region);
  first_least_ = std::max(0.0, weight(leader_) - gap_);
}

void LeaderGame::set_prior(const PolicyPrior& prior, Eigen::Index parameters) {
  require_size("prior.mean", prior.mean.size(), parameters);
  const Eigen::Index width = prior.covariance.cols();
  require(width > 0 && parameters % width == 0 &&
              are_blocks(prior.covariance, width, parameters / width),
          "prior.covariance",
          fmt::format("{} x {}", prior.covariance.rows(), prior.covariance.cols()),
          "must have a block for each action, or one for all parameters");
  require(prior.mean.allFinite() && prior.covariance.allFinite(), "prior",
          "(a number that is not finite)", "must be finite");
  Eigen::MatrixXd factor = prior.covariance;
  require(factorise_blocks(factor), "prior.covariance", "not positive definite",
          "must be positive definite");
  prior_ = prior;
  precision_.resize(factor.rows(), width);
  for (Eigen::Index b = 0; b < different_blocks(factor); ++b) {
    const auto lower = action_block(factor, b).triangularView<Eigen::Lower>();
    const Eigen::MatrixXd root = lower.solve(Eigen::MatrixXd::Identity(width, width));
    precision_.middleRows(b * width, width).noalias() = root.transpose() * root;
  }
}

double LeaderGame::weight(const Eigen::VectorXd& alpha) const {
  const Eigen::VectorXd x = alpha - prior_.mean;
  return 0.5 * x.dot(times_blocks(precision_, x));
}

void LeaderGame::add_prior(const LossSum& losses) {
  // ½‖α - m‖² around the losses' reference r: -(P⁻¹(m - r))ᵀ(α - r) + ½‖m - r‖².
  const Eigen::VectorXd x = prior_.mean - losses.reference;
  const Eigen::VectorXd pull = times_blocks(precision_, x);
  sum_.curvature = precision_;
  add_blocks(1, sum_.curvature, widened(losses.curvature, precision_.cols(), x.size()));
  sum_.linear = losses.linear + pull;
  sum_.reference = losses.reference;
  sum_.constant = losses.constant + 0.5 * x.dot(pull);
  factor_ = sum_.curvature;
  require(factorise_blocks(factor_), "losses", "not positive semi-definite",
          "must have curvatures that are");
  log_det_ = log_determinant(factor_, x.size());
}

void LeaderGame::find_leader(const SafeRegion& region) {
  const ComparatorResult best = best_in_hindsight(sum_, region.set, region.interior);
  leader_ = best.alpha;
  // How far above the minimum it may be, by the multipliers (docs/regret.md). The two ends of the
  // comparator's interval say the same, but with the rounding errors of large sums.
  gap_ = std::max(0.0, best.value - best.lower_bound);
  Eigen::VectorXd residual = sum_.gradient(leader_);
  double slackness = 0;
  if (region.set.rows() > 0 && best.multipliers.size() == region.set.rows()) {
    const Eigen::VectorXd slack = region.set.limits() - region.set.coefficients() * leader_;
    residual +=
        region.set.coefficients().transpose() * (best.multipliers - best.ball_multiplier * slack);
    slackness = best.multipliers.dot(slack.cwiseMax(0.0));
    if (best.ball_multiplier > 0) {
      const double limit = region.set.slack_limit();
      slackness += best.ball_multiplier * 0.5 * std::max(0.0, limit * limit - slack.squaredNorm());
    }
  }
  gap_ = std::min(gap_, slackness + 0.5 * inverse_norm_squared(factor_, residual));
}

void LeaderGame::record(const RoundLoss& loss, const Eigen::VectorXd& played, const LossSum& losses,
                        const SafeRegion& region) {
  const double at_leader = loss.value(leader_);
  const Eigen::VectorXd gradient = loss.gradient(leader_);
  const double before = log_det_;
  add_prior(losses);
  const double stability = 0.5 * inverse_norm_squared(factor_, gradient);
  terms_.rounds += stability + 2 * std::sqrt(stability * gap_);
  terms_.off_leader += loss.value(played) - at_leader;
  terms_.log_det += log_det_ - before;
  terms_.largest_excess = std::max(terms_.largest_excess, at_leader - loss.constant);
  find_leader(region);
}

void LeaderGame::change(const PolicyPrior& prior, const LossSum& losses, const SafeRegion& region) {
  const double before = sum_.value(leader_);  // at least the minimum that was
  if (!(prior == prior_)) set_prior(prior, losses.linear.size());
  add_prior(losses);
  find_leader(region);
  terms_.changes += before - (sum_.value(leader_) - gap_);
}

BoundTerms LeaderGame::terms(const Eigen::VectorXd& comparator) const {
  BoundTerms terms = terms_;
  terms.prior = weight(comparator) - first_least_;
  return terms;
}

void LeaderGame::save(StateWriter& writer) const {
  writer.field("prior_mean", prior_.mean);
  writer.field("prior_covariance", prior_.covariance);
  writer.field("leader", leader_);
  writer.field("leader_gap", gap_);
  writer.field("first_least", first_least_);
  writer.field("bound_rounds", terms_.rounds);
  writer.field("bound_off_leader", terms_.off_leader);
  writer.field("bound_changes", terms_.changes);
  writer.field("bound_log_det", terms_.log_det);
  writer.field("largest_excess", terms_.largest_excess);
}

LeaderGame LeaderGame::load(StateReader& reader, const LossSum& losses) {
  LeaderGame game;
  PolicyPrior prior;
  reader.field("prior_mean", prior.mean);
  reader.field("prior_covariance", prior.covariance);
  reader.field("leader", game.leader_);
  reader.field("leader_gap", game.gap_);
  reader.field("first_least", game.first_least_);
  reader.field("bound_rounds", game.terms_.rounds);
  reader.field("bound_off_leader", game.terms_.off_leader);
  reader.field("bound_changes", game.terms_.changes);
  reader.field("bound_log_det", game.terms_.log_det);
  reader.field("largest_excess", game.terms_.largest_excess);
  const Eigen::Index parameters = losses.linear.size();
  require(
      prior.covariance.cols() == parameters || prior.covariance.cols() == losses.curvature.cols(),
      "prior_covariance", static_cast<double>(prior.covariance.cols()),
      "must have a block for each action, or one for all parameters");
  require_size("leader", game.leader_.size(), parameters);
  require(game.leader_.allFinite(), "leader", "(a number that is not finite)", "must be finite");
  require_not_negative("leader_gap", game.gap_);
  game.set_prior(prior, parameters);
  game.add_prior(losses);
  return game;
}

}  // namespace lifeguard
