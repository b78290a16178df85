#include "lifeguard/base_learners/model_critic.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <bit>
#include <cmath>

#include "lifeguard/base_learners/lane_algebra.hpp"
#include "lifeguard/base_learners/product_features.hpp"
#include "lifeguard/core/riccati.hpp"
#include "lifeguard/policy/action_blocks.hpp"
#include "lifeguard/policy/action_coupling.hpp"

namespace lifeguard {
namespace {

/// Added to the diagonal of a system whose diagonal is 1.
constexpr double kModelRidge = 1e-9;
/// Models are fitted to about so many steps for each unknown at most: more of them cost time and
/// say little that is new.
constexpr long kStepsForDynamics = 200;
constexpr long kStepsForCosts = 8;
/// At how many moments of the longest trajectory at least: many trajectories may begin at the same
/// place, and say nothing of others there.
constexpr long kLeastMoments = 8;
/// The most unknowns of costs with products.
constexpr int kMostUnknowns = 400;
/// The least number of steps for each unknown of a group's model.
constexpr long kLeastSteps = 2;
/// The largest share of what a step changes that dynamics may leave unexplained, and of the costs'
/// variance.
constexpr double kMostUnexplained = 0.25;
/// What is explained up to this share, which the ridge may cause, is explained.
constexpr double kAllExplained = 1e-8;
/// What rounding alone may leave of it.
constexpr double kRoundedShare = 1e-12;
/// No eigenvalue of H is less than this share of their mean.
constexpr double kLeastCurvature = 0.05;
/// How many times H grows at most with twice as many steps to go, if the loop does not run away.
/// Where nothing decays it doubles.
constexpr double kMostRunaway = 3;
/// The variance of a feature that is always the same, as a share of its square.
constexpr double kSameEverywhere = 1e-12;
/// Trajectories times steps, so that a tile stays in the nearest cache.
constexpr std::size_t kStepsOfTile = 128;

/// Where an entry of a matrix by rows has its lanes.
std::size_t lane_of(int row, int columns, int column) {
  return (static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
          static_cast<std::size_t>(column)) *
         kSumLanes;
}

/// How many sampled steps of so many trajectories fit into a tile, at least one.
int steps_at_once(std::size_t width) {
  return static_cast<int>(std::max<std::size_t>(1, kStepsOfTile / width));
}

/// Those from m on, one in `every`.
int steps_left(const Trajectories& t, int m, int every) { return (t.steps() - m - 1) / every + 1; }

}  // namespace

void ModelCritic::lay_out(const Trajectories& t, const GaussianPolicy& played,
                          const ActionRange& range) {
  rows_ = features_without_products(t);
  features_ = static_cast<int>(rows_.size());
  all_features_ = t.features();
  actions_ = t.actions();
  signals_ = features_ + actions_;
  groups_ = std::min(t.count(), kGroups);
  width_ = padded_count(t);
  lengths_.assign(width_, 0.0);
  live_ = longest_ = 0;
  for (int i = 0; i < t.count(); ++i) {
    lengths_[i] = t.length(i);
    live_ += t.length(i);
    longest_ = std::max<long>(longest_, t.length(i));
  }
  sigma_ = played.noise().values(actions_);
  per_sigma_ = sigma_.cwiseInverse();
  gains_.resize(actions_, features_);
  for (int f = 0; f < features_; ++f) {
    gains_.col(f) = per_sigma_.cwiseProduct(played.gains().col(rows_[f]));
  }
  low_.setConstant(actions_, -kInfinity);
  high_.setConstant(actions_, kInfinity);
  if (!range.known()) return;
  low_ = range.low.cwiseProduct(per_sigma_);
  high_ = range.high.cwiseProduct(per_sigma_);
}

int ModelCritic::one_in(long steps) const {
  return static_cast<int>(std::max(1L, std::min(live_ / steps, longest_ / kLeastMoments)));
}

bool ModelCritic::fit_dynamics(const Trajectories& t) {
  const int inputs = signals_ + 1;
  const int columns = inputs + features_;
  const int every = one_in(kStepsForDynamics * inputs);
  if (live_ / every < kLeastSteps * inputs * groups_) return false;
  followed_.assign(width_, 0.0);
  for (int i = 0; i < t.count(); ++i) {
    followed_[i] = t.length(i) - (t.end(i) == EndReason::cut_short ? 0 : 1);
  }
  const bool cuts = t.cut_short() > 0;
  const int at_once = steps_at_once(width_);
  tile_.resize(static_cast<std::size_t>(columns) * at_once * width_);
  const std::size_t entries = static_cast<std::size_t>(inputs) * columns;
  moments_.resize(entries * kSumLanes);
  sums_.assign(static_cast<std::size_t>(features_) * kSumLanes, 0.0);  // of (Φ⁺)²
  for (int m = 0; m < t.steps();) {
    const int first = m;
    const int count = std::min(at_once, steps_left(t, m, every));
    const std::size_t stride = static_cast<std::size_t>(count) * width_;
    double* after = tile_.data() + static_cast<std::size_t>(inputs) * stride;
    load_signals(t, signals(), followed_.data(), first, every, count, 0, width_, tile_.data());
    load_next_features(t, signals(), followed_.data(), first, every, count, after, sums_.data());
    m += count * every;
    for (int i = 0; cuts && i < t.count(); ++i) {
      const int last = t.length(i) - 1 - first;
      if (t.end(i) != EndReason::cut_short || last < 0 || last % every != 0) continue;
      if (last / every >= count) continue;
      for (int f = 0; f < features_; ++f) {
        const double x = t.final_feature(i, rows_[f]);
        after[f * stride + static_cast<std::size_t>(last / every) * width_ + i] = x;
        sums_[static_cast<std::size_t>(f) * kSumLanes] += x * x;
      }
    }
    sum_triangle(tile_.data(), tile_.data(), stride, inputs, columns, first > 0, moments_.data());
  }
  system_.resize(moments_.size());
  leave_out_lanes(inputs, columns, moments_.data(), system_.data(), nullptr);
  if (!solve_in_lanes(inputs, features_, kModelRidge, system_.data())) return false;
  dynamics_.resize(inputs, features_);
  dynamics_rows_.resize(static_cast<std::size_t>(inputs) * features_);
  for (int r = 0; r < inputs; ++r) {
    for (int f = 0; f < features_; ++f) {
      const double x = system_[lane_of(r, columns, inputs + f)];
      dynamics_(r, f) = dynamics_rows_[static_cast<std::size_t>(r) * features_ + f] = x;
    }
  }
  for (int f = 0; f < features_; ++f) {
    // Σ (Φ⁺ - prediction)² beside Σ (Φ⁺ - Φ)².
    const double squares = add_lanes(&sums_[static_cast<std::size_t>(f) * kSumLanes]);
    double left = squares;
    for (int r = 0; r < inputs; ++r) left -= dynamics_(r, f) * moment(r, inputs + f);
    const double change = squares - 2 * moment(f, inputs + f) + moment(f, f);
    if (!std::isfinite(left)) return false;
    if (left > kMostUnexplained * change && left > kAllExplained * squares) return false;
  }
  system_ = moments_;
  if (!solve_in_lanes(inputs, features_, kModelRidge, system_.data())) return false;
  lane_dynamics_.resize(static_cast<std::size_t>(signals_) * features_ * kSumLanes);
  for (int r = 0; r < signals_; ++r) {
    std::copy_n(&system_[lane_of(r, columns, inputs)],
                static_cast<std::size_t>(features_) * kSumLanes,
                &lane_dynamics_[lane_of(r, features_, 0)]);
  }
  return true;
}

bool ModelCritic::fit_costs(const Trajectories& t, bool products, bool exactly) {
  const int second = products ? signals_ * (signals_ + 1) / 2 : signals_;
  const int unknowns = signals_ + 1 + second;
  const int columns = unknowns + 1;
  if (live_ < kLeastSteps * unknowns || unknowns > kMostUnknowns) return false;
  const int every = one_in(kStepsForCosts * unknowns);
  const int at_once = steps_at_once(width_);
  tile_.resize(static_cast<std::size_t>(columns) * at_once * width_);
  // Of (z, 1, second powers, cost) with themselves.
  const std::size_t entries = static_cast<std::size_t>(columns) * columns;
  sums_.resize(entries * kSumLanes);
  for (int m = 0; m < t.steps();) {
    const int first = m;
    const int count = std::min(at_once, steps_left(t, m, every));
    const std::size_t stride = static_cast<std::size_t>(count) * width_;
    const double* z = tile_.data();
    load_signals(t, signals(), lengths_.data(), first, every, count, 0, width_, tile_.data());
    double* to = tile_.data() + static_cast<std::size_t>(signals_ + 1) * stride;
    for (int a = 0; a < signals_; ++a) {
      for (int b = a; b < (products ? signals_ : a + 1); ++b, to += stride) {
        for (std::size_t i = 0; i < stride; ++i) to[i] = z[a * stride + i] * z[b * stride + i];
      }
    }
    const double* live = z + static_cast<std::size_t>(signals_) * stride;
    for (; m < first + count * every; m += every) {
      for (std::size_t i = 0; i < width_; ++i, ++live, ++to) {
        *to = *live > 0 ? t.cost_row(m)[i] : 0.0;
      }
    }
    sum_triangle(z, z, stride, columns, columns, first > 0, sums_.data());
  }
  system_.resize(sums_.size());
  leave_out_lanes(unknowns, columns, sums_.data(), system_.data(), nullptr);
  if (!solve_in_lanes(unknowns, 1, kModelRidge, system_.data())) return false;
  const auto found = [&](int k) { return system_[lane_of(k, columns, unknowns)]; };
  const auto with_cost = [&](int k) { return add_lanes(&sums_[lane_of(k, columns, unknowns)]); };
  const double squares = with_cost(unknowns);
  const double sum = with_cost(signals_);
  double left = squares;
  for (int k = 0; k < unknowns; ++k) left -= found(k) * with_cost(k);
  const double variance =
      squares - sum * sum / add_lanes(&sums_[lane_of(signals_, columns, signals_)]);
  // Costs that are much alike are nearly explained by a constant.
  const bool all = left <= kAllExplained * squares &&
                   left <= std::max(kMostUnexplained * variance, kRoundedShare * squares);
  if (!(exactly ? all : left <= kMostUnexplained * variance)) return false;
  cost_slope_.resize(signals_);
  for (int k = 0; k < signals_; ++k) cost_slope_(k) = found(k);
  cost_hessian_.setZero(signals_, signals_);
  int k = signals_ + 1;
  for (int a = 0; a < signals_; ++a) {
    for (int b = a; b < (products ? signals_ : a + 1); ++b, ++k) {
      cost_hessian_(a, b) = cost_hessian_(b, a) = (a == b ? 2 : 1) * found(k);
    }
  }
  sum_of_squares_ = !products;
  return true;
}

bool ModelCritic::find_curvature(int steps) {
  // P of 2^k steps to go, of the policy without limits: P ← P + (A + BK)ᵀ^r P (A + BK)^r, r ← 2r.
  // By rows of `width`, with zeros behind what they hold.
  const auto features = static_cast<std::size_t>(features_);
  const auto actions = static_cast<std::size_t>(actions_);
  const auto signals = static_cast<std::size_t>(signals_);
  const std::size_t width = (features + kSumLanes - 1) / kSumLanes * kSumLanes;
  policy_.assign(signals * width, 0.0);  // (I, K)
  for (std::size_t f = 0; f < features; ++f) policy_[f * width + f] = 1;
  for (std::size_t a = 0; a < actions; ++a) {
    std::copy_n(gains_.data() + a * features, features, &policy_[(features + a) * width]);
  }
  product_.resize(signals * width);
  value_.resize(features * width);
  power_.resize(features * width);
  const double* dynamics = dynamics_rows_.data();  // (A B)ᵀ
  multiply_rows(features_, signals_, width, dynamics, 1, features, policy_.data(), false,
                power_.data());
  multiply_rows(signals_, signals_, width, cost_hessian_.data(), signals, 1, policy_.data(), false,
                product_.data());
  multiply_rows(features_, signals_, width, policy_.data(), 1, width, product_.data(), false,
                value_.data());
  const auto find = [&] {  // H = ∂²c/∂v² + BᵀPB
    const double* b = dynamics + features * features;
    curvature_ = cost_hessian_.bottomRightCorner(actions_, actions_);
    multiply_rows(actions_, features_, width, b, features, 1, value_.data(), false,
                  product_.data());
    for (std::size_t i = 0; i < actions * actions; ++i) {
      const double* row = &product_[i / actions * width];
      const double* column = b + i % actions * features;
      double sum = 0;
      for (std::size_t f = 0; f < features; ++f) sum += row[f] * column[f];
      curvature_.data()[i] += sum;
    }
    return curvature_.trace();
  };
  double half = kInfinity;  // tr H with half as many steps to go
  for (int k = std::bit_width(static_cast<unsigned>(steps)); k > 1; --k) {
    if (k == 2) half = find();
    multiply_rows(features_, features_, width, value_.data(), width, 1, power_.data(), false,
                  product_.data());
    multiply_rows(features_, features_, width, power_.data(), 1, width, product_.data(), true,
                  value_.data());
    multiply_rows(features_, features_, width, power_.data(), width, 1, power_.data(), false,
                  product_.data());
    std::copy_n(product_.data(), power_.size(), power_.data());
  }
  runs_away_ = !(find() <= kMostRunaway * half);  // H with it
  if (runs_away_ || !curvature_.allFinite()) return false;
  const double mean = curvature_.trace() / actions_;
  if (!(mean > 0)) return false;
  // Few H have an eigenvalue that is too small, which a factorisation tells sooner.
  RowMajor shifted = curvature_;
  shifted.diagonal().array() -= kLeastCurvature * mean;
  if (actions_ == 1 || shifted.llt().info() == Eigen::Success) return true;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(curvature_);
  if (eigen.info() != Eigen::Success) return false;
  curvature_ = eigen.eigenvectors() *
               eigen.eigenvalues().cwiseMax(kLeastCurvature * mean).asDiagonal() *
               eigen.eigenvectors().transpose();
  return true;
}

void ModelCritic::value_ends(const Trajectories& t) {
  adjoints_.assign(2 * features_ * width_, 0.0);
  if (t.cut_short() == 0) return;
  // The gradient of V_r(Φ) = ½ΦᵀP_rΦ + p_rᵀΦ with r steps to go, of the policy without limits.
  Eigen::MatrixXd with_policy(signals_, features_);
  with_policy << Eigen::MatrixXd::Identity(features_, features_), gains_;
  const Eigen::MatrixXd closed = (dynamics_.topRows(signals_).transpose() * with_policy).eval();
  const Eigen::VectorXd constant = dynamics_.row(signals_).transpose();
  const Eigen::MatrixXd hessian = with_policy.transpose() * cost_hessian_ * with_policy;
  const Eigen::VectorXd slope = with_policy.transpose() * cost_slope_;
  Eigen::MatrixXd value = Eigen::MatrixXd::Zero(features_, features_);
  Eigen::VectorXd linear = Eigen::VectorXd::Zero(features_);
  Eigen::VectorXd x(features_);
  for (int to_go = 1; to_go <= t.steps(); ++to_go) {
    linear = (slope + closed.transpose() * (linear + value * constant)).eval();
    value = (hessian + closed.transpose() * value * closed).eval();
    for (int i = 0; i < t.count(); ++i) {
      if (t.end(i) != EndReason::cut_short || t.length(i) + to_go != t.steps()) continue;
      for (int f = 0; f < features_; ++f) x(f) = t.final_feature(i, rows_[f]);
      x = (value * x + linear).eval();
      for (int f = 0; f < features_; ++f) {
        adjoints_[f * width_ + i] = adjoints_[(features_ + f) * width_ + i] = x(f);
      }
    }
  }
}

void ModelCritic::close_loop(const double* dynamics, std::size_t width, double* closed) const {
  const std::size_t a = static_cast<std::size_t>(features_) * width;
  const std::size_t b = static_cast<std::size_t>(actions_) * width;
  std::copy_n(dynamics + a, b, closed);
  std::copy_n(dynamics, a, closed + b);
  for (int f = 0; f < features_; ++f) {
    for (int k = 0; k < actions_; ++k) {
      const double gain = gains_(k, f);
      double* to = closed + b + static_cast<std::size_t>(f) * width;
      const double* from = closed + static_cast<std::size_t>(k) * width;
      for (std::size_t i = 0; i < width; ++i) to[i] += gain * from[i];
    }
  }
}

bool ModelCritic::differentiate(const Trajectories& t, const double* step_weights) {
  const int parameters = actions_ * features_;
  const int columns = parameters + 1;
  const auto width = static_cast<std::size_t>(features_);
  // (B A + BK)ᵀ, of the whole model and of the lanes'.
  closed_loop_.resize(static_cast<std::size_t>(signals_) * width);
  lane_closed_loop_.resize(lane_dynamics_.size());
  close_loop(dynamics_rows_.data(), width, closed_loop_.data());
  close_loop(lane_dynamics_.data(), width * kSumLanes, lane_closed_loop_.data());
  const AdjointModel model{
      signals(),       gains_.data(),       cost_slope_.data(),       cost_hessian_.data(),
      sum_of_squares_, closed_loop_.data(), lane_closed_loop_.data(), step_weights};
  sum_adjoints(t, model, lengths_.data(), adjoints_.data(), adjoint_sums_);
  normals_.resize(static_cast<std::size_t>(parameters) * columns * kSumLanes);
  sum_normals(adjoint_sums_, features_, actions_, curvature_.data(), normals_.data());
  whole_.resize(normals_.size());
  without_.resize(normals_.size());
  leave_out_lanes(parameters, columns, normals_.data(), whole_.data(), without_.data());
  gradient_.resize(parameters);
  newton_step_.resize(parameters);
  noise_.resize(parameters, groups_);
  for (int k = 0; k < parameters; ++k) {
    gradient_(k) = whole_[lane_of(k, columns, parameters)];
    const double* lanes = &adjoint_sums_.gradients[lane_of(parameters + k, 1, 0)];
    const double sum = add_lanes(lanes);
    double* to = &without_[lane_of(k, columns, parameters)];
    for (std::size_t lane = 0; lane < kSumLanes; ++lane) to[lane] = sum - lanes[lane];
  }
  if (!solve_in_lanes(parameters, 1, kModelRidge, whole_.data()) ||
      !solve_in_lanes(parameters, 1, kModelRidge, without_.data())) {
    return false;
  }
  for (int k = 0; k < parameters; ++k) {
    const std::size_t at = lane_of(k, columns, parameters);
    newton_step_(k) = -whole_[at];
    for (int g = 0; g < groups_; ++g) noise_(k, g) = -without_[at + static_cast<std::size_t>(g)];
  }
  to_units_of_actions(t.count());
  return true;
}

bool ModelCritic::planned_change(const Eigen::MatrixXd& dynamics, int steps,
                                 Eigen::VectorXd& change) const {
  // Of the state (Φ, 1). The value of v that is best now, -R⁻¹Sx, is taken out of both equations.
  const int states = features_ + 1;
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(states, states);
  a.topLeftCorner(features_, features_) = dynamics.topRows(features_).transpose();
  a.topRightCorner(features_, 1) = dynamics.row(signals_).transpose();
  a(features_, features_) = 1;
  Eigen::MatrixXd b = Eigen::MatrixXd::Zero(states, actions_);
  b.topRows(features_) = dynamics.middleRows(features_, actions_).transpose();
  Eigen::MatrixXd q = Eigen::MatrixXd::Zero(states, states);
  q.topLeftCorner(features_, features_) = cost_hessian_.topLeftCorner(features_, features_);
  q.topRightCorner(features_, 1) = cost_slope_.head(features_);
  q.bottomLeftCorner(1, features_) = cost_slope_.head(features_).transpose();
  Eigen::MatrixXd s(actions_, states);
  s << cost_hessian_.bottomLeftCorner(actions_, features_), cost_slope_.tail(actions_);
  const Eigen::MatrixXd r = cost_hessian_.bottomRightCorner(actions_, actions_);
  const Eigen::LLT<Eigen::MatrixXd> r_factor(r);
  if (r_factor.info() != Eigen::Success) return false;
  const Eigen::MatrixXd now = r_factor.solve(s);
  RiccatiDoubling doubling(a - b * now, b, q - s.transpose() * now, r);
  for (int k = std::bit_width(static_cast<unsigned>(steps)); k > 1; --k) doubling.twice();
  const Eigen::MatrixXd h = r + b.transpose() * doubling.cost_to_go() * b;
  const Eigen::LLT<Eigen::MatrixXd> factor(h);
  if (!h.allFinite() || factor.info() != Eigen::Success) return false;
  const Eigen::MatrixXd best = -factor.solve(b.transpose() * doubling.cost_to_go() * a + s);
  change.resize(actions_ * features_);
  for (int i = 0; i < actions_; ++i) {
    auto gains = change.segment(i * features_, features_);
    gains = (best.row(i).head(features_) - gains_.row(i)).transpose();
    // What is best to add at all times only a feature that is always the same can say.
    if (constant_ >= 0) gains(constant_) += best(i, features_) / constant_value_;
  }
  return change.allFinite();
}

bool ModelCritic::plan(int steps) {
  const int inputs = signals_ + 1;
  constant_ = -1;
  for (int f = 0; f < features_; ++f) {
    const double mean = moment(f, signals_) / moment(signals_, signals_);
    const double square = moment(f, f) / moment(signals_, signals_);
    if (mean == 0 || std::abs(square - mean * mean) > kSameEverywhere * square) continue;
    constant_ = f;
    constant_value_ = mean;
  }
  if (!planned_change(dynamics_, steps, newton_step_)) return false;
  without_.resize(moments_.size());
  system_.resize(moments_.size());
  leave_out_lanes(inputs, inputs + features_, moments_.data(), system_.data(), without_.data());
  if (!solve_in_lanes(inputs, features_, kModelRidge, without_.data())) return false;
  noise_.resize(newton_step_.size(), groups_);
  Eigen::MatrixXd dynamics(inputs, features_);
  for (int g = 0; g < groups_; ++g) {
    for (int r = 0; r < inputs; ++r) {
      for (int f = 0; f < features_; ++f) {
        dynamics(r, f) = without_[lane_of(r, inputs + features_, inputs + f) + g];
      }
    }
    if (!planned_change(dynamics, steps, without_group_)) return false;
    noise_.col(g) = without_group_;
  }
  gradient_.resize(0);
  to_units_of_actions(1);
  return true;
}

void ModelCritic::to_units_of_actions(int trajectories) {
  const double share = std::sqrt((groups_ - 1.0) / groups_);
  for (int a = 0; a < actions_; ++a) {  // a change of α moves u, not u/σ
    for (int k = a * features_; k < (a + 1) * features_; ++k) {
      if (gradient_.size() > 0) gradient_(k) *= per_sigma_(a) / trajectories;
      newton_step_(k) *= sigma_(a);
      double mean = 0;
      for (int g = 0; g < groups_; ++g) mean += noise_(k, g) / groups_;
      for (int g = 0; g < groups_; ++g) noise_(k, g) = (noise_(k, g) - mean) * share * sigma_(a);
    }
  }
}

void ModelCritic::to_all_features() {
  if (features_ == all_features_) return;
  const auto place = [&](Eigen::Index k) {
    return k / features_ * all_features_ + rows_[static_cast<std::size_t>(k % features_)];
  };
  const Eigen::VectorXd step = newton_step_;
  const Eigen::VectorXd gradient = gradient_;
  const Eigen::MatrixXd noise = noise_;
  const Eigen::Index parameters = static_cast<Eigen::Index>(actions_) * all_features_;
  newton_step_.setZero(parameters);
  noise_.setZero(parameters, groups_);
  if (gradient.size() > 0) gradient_.setZero(parameters);
  for (Eigen::Index k = 0; k < step.size(); ++k) {
    newton_step_(place(k)) = step(k);
    noise_.row(place(k)) = noise.row(k);
    if (gradient.size() > 0) gradient_(place(k)) = gradient(k);
  }
}

bool ModelCritic::fit(const Trajectories& t, const GaussianPolicy& played, const ActionRange& range,
                      const double* step_weights) {
  lay_out(t, played, range);
  if (groups_ < 2 || features_ == 0 || signals_ > AdjointModel::kMostSignals) return false;
  // Most costs are sums of squares, which is found soon.
  if (!(fit_costs(t, false, true) || fit_costs(t, true, false)) || !fit_dynamics(t)) return false;
  const bool stable = find_curvature(t.steps());
  planned_ = runs_away_;
  if (planned_) {
    if (!plan(t.steps())) return false;
  } else {
    if (!stable || t.failed() > 0) return false;
    value_ends(t);
    if (!differentiate(t, step_weights)) return false;
  }
  to_all_features();
  return true;
}

double ModelCritic::step_noise(const Eigen::MatrixXd& metric) const {
  double noise = 0;
  for (Eigen::Index g = 0; g < noise_.cols(); ++g) {
    for (int a = 0; a < actions_; ++a) {
      const auto part = noise_.col(g).segment(a * all_features_, all_features_);
      noise += part.dot(action_block(metric, a) * part);
    }
  }
  return noise;
}

bool ModelCritic::couple_actions(const Eigen::MatrixXd& metric, Eigen::MatrixXd& coupling,
                                 double& length, double& noise) {
  if (actions_ == 1 || planned_) return false;
  const double unit = actions_ / curvature_.trace();
  coupling.resize(actions_, actions_);
  for (int a = 0; a < actions_; ++a) {  // symmetric to the bit
    for (int b = 0; b <= a; ++b) coupling(a, b) = coupling(b, a) = unit * curvature_(a, b);
  }
  const auto measure = [&](const auto& x) {
    weighed_.resize(x.rows(), x.cols());
    coupled_.resize(x.rows(), x.cols());
    for (int a = 0; a < actions_; ++a) {
      const Eigen::Index first = static_cast<Eigen::Index>(a) * all_features_;
      weighed_.middleRows(first, all_features_).noalias() =
          action_block(metric, a) * x.middleRows(first, all_features_);
    }
    couple(coupling, metric, weighed_, coupled_);
    return coupled_.cwiseProduct(x).sum();
  };
  length = measure(newton_step_);
  noise = measure(noise_);
  return std::isfinite(length) && std::isfinite(noise) && length > 0;
}

}  // namespace lifeguard
