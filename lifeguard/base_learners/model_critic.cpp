#include "lifeguard/base_learners/model_critic.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <bit>
#include <cmath>

#include "lifeguard/base_learners/adjoint_kernel.hpp"
#include "lifeguard/base_learners/batch_kernels.hpp"
#include "lifeguard/core/riccati.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// Added to the diagonal of a system whose diagonal is 1.
constexpr double kModelRidge = 1e-9;
/// Models are fitted to about so many steps for each unknown at most: more of them cost time and
/// say little that is new.
constexpr long kStepsForDynamics = 200;
constexpr long kStepsForCosts = 8;
/// The least number of steps for each unknown of a group's model.
constexpr long kLeastSteps = 2;
/// The largest share of what a step changes that dynamics may leave unexplained, and of the costs'
/// variance.
constexpr double kMostUnexplained = 0.25;
/// What is explained up to this share, which the ridge may cause, is explained.
constexpr double kAllExplained = 1e-8;
/// No eigenvalue of H is less than this share of their mean.
constexpr double kLeastCurvature = 0.05;
/// How many times H grows at most with twice as many steps to go, if the loop does not run away.
/// Where nothing decays it doubles.
constexpr double kMostRunaway = 3;
/// The variance of a feature that is always the same, as a share of its square.
constexpr double kSameEverywhere = 1e-12;
constexpr std::size_t kStepsOfTile = 128;

/// x ← S⁻¹ c for a symmetric S, in units in which its diagonal is 1.
bool solve_scaled(const Eigen::MatrixXd& s, const Eigen::Ref<const Eigen::MatrixXd>& c,
                  Eigen::MatrixXd& x) {
  const Eigen::Index n = s.rows();
  Eigen::VectorXd unit(n);
  for (Eigen::Index i = 0; i < n; ++i) unit(i) = s(i, i) > 0 ? 1 / std::sqrt(s(i, i)) : 0.0;
  Eigen::MatrixXd scaled = unit.asDiagonal() * s * unit.asDiagonal();
  for (Eigen::Index i = 0; i < n; ++i) scaled(i, i) = unit(i) > 0 ? 1 + kModelRidge : 1.0;
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(scaled);
  if (factor.info() != Eigen::Success) return false;
  x = unit.asDiagonal() * c;
  factor.solveInPlace(x);
  x = unit.asDiagonal() * x;
  return x.allFinite();
}

}  // namespace

void ModelCritic::lay_out(const Trajectories& t, const GaussianPolicy& played,
                          const ActionRange& range) {
  features_ = t.features();
  actions_ = t.actions();
  signals_ = features_ + actions_;
  groups_ = std::min(t.count(), kGroups);
  width_ = padded_count(t);
  lengths_.assign(width_, 0.0);
  live_ = 0;
  for (int i = 0; i < t.count(); ++i) {
    lengths_[i] = t.length(i);
    live_ += t.length(i);
  }
  sigma_ = played.noise().values(actions_);
  gains_ = sigma_.cwiseInverse().asDiagonal() * played.gains();
  low_ = Eigen::VectorXd::Constant(actions_, -kInfinity);
  high_ = Eigen::VectorXd::Constant(actions_, kInfinity);
  if (!range.known()) return;
  low_ = range.low.cwiseQuotient(sigma_);
  high_ = range.high.cwiseQuotient(sigma_);
}

void ModelCritic::load_signals(const Trajectories& t, int m, double* to, std::size_t stride) const {
  for (int f = 0; f < features_; ++f, to += stride) {
    std::copy_n(t.feature_row(m, f), width_, to);  // 0 behind the end
  }
  for (int a = 0; a < actions_; ++a, to += stride) {
    const double* u = t.action_row(m, a);
    for (std::size_t i = 0; i < width_; ++i) {
      to[i] = m < lengths_[i] ? std::min(std::max(u[i] / sigma_(a), low_(a)), high_(a)) : 0.0;
    }
  }
}

bool ModelCritic::fit_dynamics(const Trajectories& t) {
  const int inputs = signals_ + 1;
  const int columns = inputs + features_;
  const auto every = static_cast<int>(std::max(1L, live_ / (kStepsForDynamics * inputs)));
  if (live_ / every < kLeastSteps * inputs * groups_) return false;
  const std::size_t at_once = std::max<std::size_t>(1, kStepsOfTile / width_);
  tile_.resize(columns * at_once * width_);
  sums_.resize(static_cast<std::size_t>(inputs) * columns * kSumLanes);
  tile_rows_.resize(inputs);
  for (int r = 0; r < inputs; ++r) tile_rows_[r] = r;
  Eigen::VectorXd squares = Eigen::VectorXd::Zero(features_);  // of Φ⁺
  bool begun = false;
  for (int m = 0; m < t.steps();) {
    const int first = m;
    const auto count = std::min(at_once, static_cast<std::size_t>((t.steps() - m - 1) / every + 1));
    const std::size_t stride = count * width_;
    for (; m < first + static_cast<int>(count) * every; m += every) {
      double* to = tile_.data() + static_cast<std::size_t>((m - first) / every) * width_;
      load_signals(t, m, to, stride);
      double* one = to + static_cast<std::size_t>(signals_) * stride;
      double* after = one + stride;
      std::fill_n(one, width_, 0.0);
      for (int f = 0; f < features_; ++f) std::fill_n(after + f * stride, width_, 0.0);
      for (int i = 0; i < t.count(); ++i) {
        const bool inside = m + 1 < t.length(i);
        const bool left = m + 1 == t.length(i) && t.end(i) == EndReason::cut_short;
        one[i] = inside || left ? 1.0 : 0.0;
        if (!inside && !left) {
          for (int k = 0; k < signals_; ++k) to[k * stride + i] = 0;
          continue;
        }
        for (int f = 0; f < features_; ++f) {
          const double x = left ? t.final_feature(i, f) : t.feature(i, m + 1, f);
          after[f * stride + i] = x;
          squares(f) += x * x;
        }
      }
    }
    sum_products(tile_.data(), stride, tile_rows_.data(), inputs, 0, columns, begun, sums_.data());
    begun = true;
  }
  group_moments_.resize(groups_);
  moments_.setZero(inputs, columns);
  for (int g = 0; g < groups_; ++g) {
    Eigen::MatrixXd& group = group_moments_[g];
    group.resize(inputs, columns);
    for (int r = 0; r < inputs; ++r) {
      for (int c = 0; c < columns; ++c) {
        group(r, c) = sums_[static_cast<std::size_t>(r * columns + c) * kSumLanes + g];
      }
    }
    moments_ += group;
  }
  if (!moments_.allFinite()) return false;
  if (!solve_scaled(moments_.leftCols(inputs), moments_.rightCols(features_), dynamics_)) {
    return false;
  }
  for (int f = 0; f < features_; ++f) {
    // Σ (Φ⁺ - prediction)² beside Σ (Φ⁺ - Φ)².
    const double left = squares(f) - dynamics_.col(f).dot(moments_.col(inputs + f));
    const double change = squares(f) - 2 * moments_(f, inputs + f) + moments_(f, f);
    if (left > kMostUnexplained * change && left > kAllExplained * squares(f)) return false;
  }
  dynamics_rows_.resize(static_cast<std::size_t>(signals_) * features_);
  lane_dynamics_.assign(dynamics_rows_.size() * kSumLanes, 0.0);
  for (int g = 0; g < groups_; ++g) {
    if (!solve_scaled(group_moments_[g].leftCols(inputs), group_moments_[g].rightCols(features_),
                      found_)) {
      return false;
    }
    for (int k = 0; k < signals_; ++k) {
      for (int f = 0; f < features_; ++f) {
        const std::size_t at = static_cast<std::size_t>(k) * features_ + f;
        lane_dynamics_[at * kSumLanes + g] = found_(k, f);
        dynamics_rows_[at] = dynamics_(k, f);
      }
    }
  }
  return true;
}

bool ModelCritic::fit_costs(const Trajectories& t, bool products, bool exactly) {
  const int second = products ? signals_ * (signals_ + 1) / 2 : signals_;
  const int unknowns = 1 + signals_ + second;
  if (live_ < kLeastSteps * unknowns) return false;
  const auto every = static_cast<int>(std::max(1L, live_ / (kStepsForCosts * unknowns)));
  tile_.resize((unknowns + 1) * width_);
  sums_.resize(static_cast<std::size_t>(unknowns) * (unknowns + 1) * kSumLanes);
  tile_rows_.resize(unknowns);
  for (int r = 0; r < unknowns; ++r) tile_rows_[r] = r;
  double squares = 0;
  double sum = 0;
  long told = 0;
  for (int m = 0; m < t.steps(); m += every) {
    double* one = tile_.data();
    double* z = one + width_;
    double* to = z + static_cast<std::size_t>(signals_) * width_;
    for (std::size_t i = 0; i < width_; ++i) one[i] = m < lengths_[i] ? 1.0 : 0.0;
    load_signals(t, m, z, width_);
    for (int a = 0; a < signals_; ++a) {
      for (int b = a; b < (products ? signals_ : a + 1); ++b, to += width_) {
        for (std::size_t i = 0; i < width_; ++i) to[i] = z[a * width_ + i] * z[b * width_ + i];
      }
    }
    for (std::size_t i = 0; i < width_; ++i) {
      to[i] = m < lengths_[i] ? t.cost_row(m)[i] : 0.0;
      squares += to[i] * to[i];
      sum += to[i];
      told += m < lengths_[i] ? 1 : 0;
    }
    // The upper triangle, two rows at a time.
    for (int r = 0; r < unknowns; r += 2) {
      sum_products(tile_.data(), width_, tile_rows_.data() + r, std::min(2, unknowns - r), r,
                   unknowns + 1 - r, m > 0,
                   sums_.data() + static_cast<std::size_t>(r) * (unknowns + 1) * kSumLanes);
    }
  }
  moments_.resize(unknowns, unknowns + 1);
  for (int r = 0; r < unknowns; ++r) {
    const int first = r - r % 2;
    const int columns = unknowns + 1 - first;
    const double* row = sums_.data() +
                        static_cast<std::size_t>(first) * (unknowns + 1) * kSumLanes +
                        static_cast<std::size_t>(r % 2) * columns * kSumLanes;
    for (int c = r; c <= unknowns; ++c) {
      moments_(r, c) = add_lanes(row + static_cast<std::size_t>(c - first) * kSumLanes);
      if (c < unknowns) moments_(c, r) = moments_(r, c);
    }
  }
  if (!moments_.allFinite() ||
      !solve_scaled(moments_.leftCols(unknowns), moments_.rightCols(1), found_)) {
    return false;
  }
  const double left = squares - found_.col(0).dot(moments_.col(unknowns));
  const double variance = squares - sum * sum / static_cast<double>(told);
  if (left > (exactly ? kAllExplained * squares : kMostUnexplained * variance)) return false;
  cost_slope_ = found_.col(0).segment(1, signals_);
  cost_hessian_.setZero(signals_, signals_);
  int k = 1 + signals_;
  for (int a = 0; a < signals_; ++a) {
    for (int b = a; b < (products ? signals_ : a + 1); ++b, ++k) {
      cost_hessian_(a, b) = cost_hessian_(b, a) = (a == b ? 2 : 1) * found_(k, 0);
    }
  }
  return true;
}

bool ModelCritic::find_curvature(int steps) {
  // P of 2^k steps to go, of the policy without limits: P ← P + (A + BK)ᵀ^r P (A + BK)^r, r ← 2r.
  const auto b = dynamics_.middleRows(features_, actions_).transpose();
  Eigen::MatrixXd power = dynamics_.topRows(features_).transpose() + b * gains_;
  Eigen::MatrixXd with_policy(signals_, features_);
  with_policy << Eigen::MatrixXd::Identity(features_, features_), gains_;
  Eigen::MatrixXd value = with_policy.transpose() * cost_hessian_ * with_policy;
  const auto curvature = [&] {
    return (cost_hessian_.bottomRightCorner(actions_, actions_) + b.transpose() * value * b).eval();
  };
  double half = kInfinity;  // tr H with half as many steps to go
  for (int k = std::bit_width(static_cast<unsigned>(steps)); k > 1; --k) {
    if (k == 2) half = curvature().trace();
    const Eigen::MatrixXd carried = value * power;
    value += power.transpose() * carried;
    const Eigen::MatrixXd squared = power * power;
    power = squared;
  }
  curvature_ = curvature();
  runs_away_ = !(curvature_.trace() <= kMostRunaway * half);  // H with it
  if (runs_away_ || !curvature_.allFinite()) return false;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(curvature_);
  const double mean = eigen.eigenvalues().mean();
  if (eigen.info() != Eigen::Success || !(mean > 0)) return false;
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
      for (int f = 0; f < features_; ++f) x(f) = t.final_feature(i, f);
      x = (value * x + linear).eval();
      for (int f = 0; f < features_; ++f) {
        adjoints_[f * width_ + i] = adjoints_[(features_ + f) * width_ + i] = x(f);
      }
    }
  }
}

void ModelCritic::differentiate(const Trajectories& t, const double* step_weights) {
  const std::size_t parameters = static_cast<std::size_t>(actions_) * features_;
  gradients_.assign(parameters * width_, 0.0);
  lane_gradients_.assign(parameters * width_, 0.0);
  products_.assign(static_cast<std::size_t>(features_) * (features_ + 1) / 2 * width_, 0.0);
  const AdjointModel model{sigma_.data(),         gains_.data(),         low_.data(),
                           high_.data(),          cost_slope_.data(),    cost_hessian_.data(),
                           dynamics_rows_.data(), lane_dynamics_.data(), step_weights};
  add_adjoints(t, model, lengths_.data(), adjoints_.data(),
               {gradients_.data(), lane_gradients_.data(), products_.data()});
}

bool ModelCritic::choose_step(const Trajectories& t, const double* step_weights) {
  const int features = features_;
  const int parameters = actions_ * features;
  // S_ab = Σ D_a D_b ΦΦᵀ of each group: first as if no action had been at its limit.
  std::vector<Eigen::MatrixXd>& normals = group_normals_;
  normals.resize(groups_);
  Eigen::MatrixXd square(features, features);
  for (int g = 0; g < groups_; ++g) {
    std::size_t at = 0;
    for (int f = 0; f < features; ++f) {
      for (int h = f; h < features; ++h, at += width_) {
        double sum = 0;
        for (int i = g; i < t.count(); i += kGroups) sum += products_[at + i];
        square(f, h) = square(h, f) = sum;
      }
    }
    normals[g].resize(parameters, parameters);
    for (int a = 0; a < actions_; ++a) {
      for (int b = 0; b < actions_; ++b) {
        normals[g].block(a * features, b * features, features, features) =
            curvature_(a, b) * square;
      }
    }
  }
  Eigen::VectorXd x(features);
  std::vector<char> held(actions_);
  for (int i = 0; i < t.count(); ++i) {
    Eigen::MatrixXd& normal = normals[i % kGroups];
    for (int m = 0; m < t.length(i); ++m) {
      bool any = false;
      for (int a = 0; a < actions_; ++a) {
        held[a] = is_free(t, i, m, a) ? 0 : 1;
        any = any || held[a] != 0;
      }
      if (!any) continue;
      for (int f = 0; f < features; ++f) x(f) = t.feature(i, m, f);
      square.noalias() = x * x.transpose();
      if (step_weights != nullptr) square *= step_weights[m];
      for (int a = 0; a < actions_; ++a) {
        for (int b = 0; b < actions_; ++b) {
          if (held[a] == 0 && held[b] == 0) continue;
          normal.block(a * features, b * features, features, features) -= curvature_(a, b) * square;
        }
      }
    }
  }
  normal_ = normals[0];
  for (int g = 1; g < groups_; ++g) normal_ += normals[g];
  gradient_.setZero(parameters);
  Eigen::MatrixXd lanes = Eigen::MatrixXd::Zero(parameters, groups_);
  for (int k = 0; k < parameters; ++k) {
    for (int i = 0; i < t.count(); ++i) {
      gradient_(k) += gradients_[k * width_ + i];
      lanes(k, i % kGroups) += lane_gradients_[k * width_ + i];
    }
  }
  if (!gradient_.allFinite() || !lanes.allFinite()) return false;
  if (!solve_scaled(normal_, -gradient_, found_)) return false;
  newton_step_ = found_.col(0);
  const Eigen::VectorXd all_lanes = lanes.rowwise().sum();
  noise_.resize(parameters, groups_);
  for (int g = 0; g < groups_; ++g) {
    if (!solve_scaled(normal_ - normals[g], lanes.col(g) - all_lanes, found_)) return false;
    noise_.col(g) = found_.col(0);
  }
  gradient_ /= t.count();
  to_units_of_actions();
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
    const double mean = moments_(f, signals_) / moments_(signals_, signals_);
    const double square = moments_(f, f) / moments_(signals_, signals_);
    if (mean == 0 || std::abs(square - mean * mean) > kSameEverywhere * square) continue;
    constant_ = f;
    constant_value_ = mean;
  }
  if (!planned_change(dynamics_, steps, newton_step_)) return false;
  noise_.resize(newton_step_.size(), groups_);
  for (int g = 0; g < groups_; ++g) {
    const Eigen::MatrixXd without = moments_ - group_moments_[g];
    if (!solve_scaled(without.leftCols(inputs), without.rightCols(features_), found_) ||
        !planned_change(found_, steps, without_group_)) {
      return false;
    }
    noise_.col(g) = without_group_;
  }
  gradient_.resize(0);
  to_units_of_actions();
  return true;
}

void ModelCritic::to_units_of_actions() {
  const Eigen::VectorXd mean = noise_.rowwise().mean();
  noise_.colwise() -= mean;
  noise_ *= std::sqrt((groups_ - 1.0) / groups_);
  for (int a = 0; a < actions_; ++a) {  // a change of α moves u, not u/σ
    if (gradient_.size() > 0) gradient_.segment(a * features_, features_) /= sigma_(a);
    newton_step_.segment(a * features_, features_) *= sigma_(a);
    noise_.middleRows(a * features_, features_) *= sigma_(a);
  }
}

bool ModelCritic::fit(const Trajectories& t, const GaussianPolicy& played, const ActionRange& range,
                      const double* step_weights) {
  lay_out(t, played, range);
  if (groups_ < 2 || signals_ > AdjointModel::kMostSignals) return false;
  // Most costs are sums of squares, which is found soon. They are fitted first: those of the
  // dynamics are the moments that plan() has use for.
  if (!(fit_costs(t, false, true) || fit_costs(t, true, false)) || !fit_dynamics(t)) return false;
  const bool stable = find_curvature(t.steps());
  planned_ = runs_away_;
  if (planned_) return plan(t.steps());
  if (!stable || t.failed() > 0) return false;
  value_ends(t);
  differentiate(t, step_weights);
  return choose_step(t, step_weights);
}

double ModelCritic::step_noise(const Eigen::MatrixXd& metric) const {
  double noise = 0;
  for (Eigen::Index g = 0; g < noise_.cols(); ++g) {
    for (int a = 0; a < actions_; ++a) {
      const auto part = noise_.col(g).segment(a * features_, features_);
      noise += part.dot(action_block(metric, a) * part);
    }
  }
  return noise;
}

}  // namespace lifeguard
