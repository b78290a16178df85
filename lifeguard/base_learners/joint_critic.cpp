#include "lifeguard/base_learners/joint_critic.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "lifeguard/base_learners/batch_kernels.hpp"
#include "lifeguard/base_learners/exponential.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// Four states and an action have 36, three and two 30. The 91 of six and four are too many: of 8
/// trajectories a critic of them says nothing, and of 50 less than it believes.
constexpr int kMostUnknowns = 64;
/// The time scales of V, as shares of the horizon: where the closed loop is fast, and where it is
/// hardly faster than the task.
constexpr double kTimeScales[2] = {1 / 7.5, 1 / 1.5};
/// Added to the diagonal of the scaled system, which is the share of V that a few steps change. The
/// second time scale is what the first leaves over; a loop much faster than the task does not need
/// it, and could not tell it from the first.
constexpr double kCriticRidge = 1e-8;
constexpr double kSlowRidge = 1e-3;
/// Lanes that are multiplied with each other at a time: few enough to stay in the fastest cache.
constexpr std::size_t kTileWidth = 128;
constexpr double kHuberLimit = 3 * 1.4826;  // of the median, which is that of 3 deviations
/// Up to this share of steps that begin or end with a mean action beyond its limits, these are left
/// out, and V is that of states in which none is. Where there are more, V has terms for it, of
/// actions that overflowed at least kSeenOften times.
constexpr double kFewOverflows = 0.1;
constexpr long kSeenOften = 50;

double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }

/// Moments of η = clip(u) - clip(μ) for u ~ N(μ, 1).
struct ClippedDeviation {
  double inside = 1;       // probability that u is within the limits
  double mean = 0;         // E[η]
  double mean_inside = 0;  // E[η 1(u within)]
};

double normal_density(double x) { return 0.39894228040143267794 * exponential(-0.5 * x * x); }

/// P(z > x), to 8e-8 (Abramowitz and Stegun 26.2.17), by operations that round alike everywhere.
double normal_tail(double x) {
  const double t = 1 / (1 + 0.2316419 * std::abs(x));
  const double tail =
      normal_density(x) * t *
      (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return x >= 0 ? tail : 1 - tail;
}

ClippedDeviation clipped_deviation(double mean, double low, double high) {
  const double below = low - mean;  // in deviations
  const double above = high - mean;
  const double p_below = std::isinf(below) ? 0 : normal_tail(-below);
  const double p_above = std::isinf(above) ? 0 : normal_tail(above);
  const double d_below = std::isinf(below) ? 0 : normal_density(below);
  const double d_above = std::isinf(above) ? 0 : normal_density(above);
  const double held = clip(mean, low, high);
  ClippedDeviation result;
  result.inside = std::max(0.0, 1 - p_below - p_above);
  const double first = mean * result.inside + d_below - d_above;  // E[u 1(u within)]
  result.mean_inside = first - held * result.inside;
  result.mean =
      first - held + (p_below > 0 ? low * p_below : 0) + (p_above > 0 ? high * p_above : 0);
  return result;
}

}  // namespace

void JointCritic::lay_out(const Trajectories& t) {
  at_.count = t.count();
  at_.steps = t.steps();
  at_.features = t.features();
  at_.actions = t.actions();
  at_.pieces = std::max(1, kGroups / at_.count);
  at_.rows = (at_.steps + at_.pieces - 1) / at_.pieces;
  at_.lanes = at_.count * at_.pieces;
  at_.groups = std::min(at_.lanes, kGroups);
  at_.width = (static_cast<std::size_t>(at_.lanes) + kSumLanes - 1) / kSumLanes * kSumLanes;
  at_.live = 0;
  for (int i = 0; i < at_.count; ++i) at_.live += t.length(i);
  const std::size_t size = 3 * (static_cast<std::size_t>(at_.steps) + 1);
  if (basis_.size() == size) return;
  basis_.resize(size);
  for (int r = 0; r <= at_.steps; ++r) {
    const double fast = exponential(-r / (kTimeScales[0] * at_.steps));
    basis_[3 * r] = 1 - fast;
    basis_[3 * r + 1] = exponential(-r / (kTimeScales[1] * at_.steps)) - fast;
    basis_[3 * r + 2] = static_cast<double>(r) / at_.steps;
  }
}

void JointCritic::load_means(const Trajectories& batch) {
  const std::size_t rows = static_cast<std::size_t>(at_.rows) + 1;
  features_.assign(rows * at_.features * at_.width, 0.0);
  present_.assign(rows * at_.width, 0.0);
  means_.assign(rows * at_.actions * at_.width, 0.0);
  for (int t = 0; t <= at_.rows; ++t) {
    double* present = &present_[place(t, 1, 0)];
    for (int j = 0; j < at_.pieces; ++j) {
      const int m = j * at_.rows + t;
      for (int i = 0; i < at_.count; ++i) {
        const int lane = j * at_.count + i;
        const bool left_here = m == batch.length(i) && batch.end(i) == EndReason::cut_short;
        if (m >= batch.length(i) && !left_here) continue;
        present[lane] = 1;
        for (int f = 0; f < at_.features; ++f) {
          features_[place(t, at_.features, f) + lane] =
              left_here ? batch.final_feature(i, f) : batch.feature(i, m, f);
        }
      }
    }
    for (int a = 0; a < at_.actions; ++a) {
      double* mean = &means_[place(t, at_.actions, a)];
      for (int f = 0; f < at_.features; ++f) {
        const double gain = gains_(a, f);
        const double* x = feature_row(t, f);
        for (std::size_t i = 0; i < at_.width; ++i) mean[i] += gain * x[i];
      }
    }
  }
}

void JointCritic::find_overflows(const Trajectories& batch) {
  live_.assign(at_.rows * at_.width, 0.0);
  told_.assign(at_.rows * at_.width, 0.0);
  overflowing_.clear();
  const auto overflows = [&](int t, std::size_t i, int a) {
    const double mean = mean_row(t, a)[i];
    return mean < low_(a) || mean > high_(a);
  };
  long counts = 0;
  std::vector<long> count_of(at_.actions, 0);
  for (int t = 0; t < at_.rows; ++t) {
    for (int lane = 0; lane < at_.lanes; ++lane) {
      const int m = lane / at_.count * at_.rows + t;
      if (m >= batch.length(lane % at_.count)) continue;
      live_[place(t, 1, 0) + lane] = 1;
      bool any = false;
      for (int a = 0; a < at_.actions; ++a) {
        const bool here = overflows(t, lane, a);
        count_of[a] += here ? 1 : 0;
        any = any || here || overflows(t + 1, lane, a);
      }
      counts += any ? 1 : 0;
      told_[place(t, 1, 0) + lane] = any ? 0 : 1;
    }
  }
  if (static_cast<double>(counts) <= kFewOverflows * static_cast<double>(at_.live)) {
    at_.told = at_.live - counts;
    return;
  }
  told_ = live_;
  at_.told = at_.live;
  for (int a = 0; a < at_.actions; ++a) {
    if (count_of[a] >= kSeenOften) overflowing_.push_back(a);
  }
}

void JointCritic::load_values(int t) {
  const std::size_t width = at_.width;
  const double* present = &present_[place(t, 1, 0)];
  std::copy(present, present + width, value_row(t, 0));
  int p = 1;
  for (int f = 0; f < at_.features; ++f) {
    std::copy(feature_row(t, f), feature_row(t, f) + width, value_row(t, p++));
  }
  for (int f = 0; f < at_.features; ++f) {
    const double* x = feature_row(t, f);
    for (int h = f; h < at_.features; ++h) {
      const double* y = feature_row(t, h);
      double* to = value_row(t, p++);
      for (std::size_t i = 0; i < width; ++i) to[i] = x[i] * y[i];
    }
  }
  for (const int a : overflowing_) {
    const double* mean = mean_row(t, a);
    double* square = value_row(t, p++);
    double* size = value_row(t, p++);
    for (std::size_t i = 0; i < width; ++i) {
      const double over = mean[i] - clip(mean[i], low_(a), high_(a));
      square[i] = over * over;
      size[i] = std::abs(over);
    }
  }
}

void JointCritic::load_effects(const Trajectories& batch, int t) {
  const std::size_t width = at_.width;
  double* costs = &costs_[place(t, 1, 0)];
  double* times = &times_[place(t, 6, 0)];
  double* deviations = deviations_.data();
  std::fill_n(costs, width, 0.0);
  std::fill_n(times, 6 * width, 0.0);
  std::fill_n(deviations, at_.actions * width, 0.0);
  for (int j = 0; j < at_.pieces; ++j) {
    const int m = j * at_.rows + t;
    for (int i = 0; i < at_.count; ++i) {
      const int lane = j * at_.count + i;
      if (!(told_[place(t, 1, 0) + lane] > 0)) continue;
      costs[lane] = batch.cost(i, m);
      if (m + 1 == batch.length(i) && batch.end(i) == EndReason::failed) {
        // What follows is known.
        for (int k = m + 1; k < at_.steps; ++k) costs[lane] += batch.cost(i, k);
      }
      for (int k = 0; k < 3; ++k) {
        times[k * width + lane] = basis(k, at_.steps - m);
        times[(3 + k) * width + lane] = basis(k, at_.steps - m - 1);
      }
      for (int a = 0; a < at_.actions; ++a) {
        deviations[a * width + lane] = clip(batch.action(i, m, a) / sigma_(a), low_(a), high_(a)) -
                                       clip(mean_row(t, a)[lane], low_(a), high_(a));
      }
    }
  }
  double* to = &effects_of_[place(t, effects_, 0)];
  for (int a = 0; a < at_.actions; ++a) {
    const double* eta = deviations + a * width;
    for (int f = 0; f < at_.features; ++f, to += width) {
      const double* x = feature_row(t, f);
      for (std::size_t i = 0; i < width; ++i) to[i] = eta[i] * x[i];
    }
  }
  for (int a = 0; a < at_.actions; ++a) {
    const double* first = deviations + a * width;
    for (int b = a; b < at_.actions; ++b, to += width) {
      const double* second = deviations + b * width;
      for (std::size_t i = 0; i < width; ++i) to[i] = first[i] * second[i];
      if (a != b) continue;
      const double* told = &told_[place(t, 1, 0)];
      for (std::size_t i = 0; i < width; ++i) to[i] -= told[i];
    }
  }
}

void JointCritic::write_differences(int t, bool add, double* to, std::size_t stride) const {
  const std::size_t width = at_.width;
  for (int u = 0; u < value_unknowns_; ++u, to += stride) {
    const int k = u / values_;
    const int p = u % values_;  // the last is the constant's part that is linear in time
    const double* here = value_row(t, p);
    const double* after = value_row(t + 1, p);
    const double* now = time_row(t, k);
    const double* then = time_row(t, 3 + k);
    if (add) {
      for (std::size_t i = 0; i < width; ++i) to[i] += now[i] * here[i] - then[i] * after[i];
    } else {
      for (std::size_t i = 0; i < width; ++i) to[i] = now[i] * here[i] - then[i] * after[i];
    }
  }
}

void JointCritic::gather_groups(int first_row, int rows) {
  const double* sum = sums_.data();
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c <= unknowns_; ++c, sum += kSumLanes) {
      for (int g = 0; g < at_.groups; ++g) group_moments_[g](first_row + r, c) = sum[g];
    }
  }
}

void JointCritic::sum_moments() {
  const std::size_t width = at_.width;
  const int at_once = static_cast<int>(std::max<std::size_t>(1, kTileWidth / width));
  group_moments_.resize(kGroups);
  for (int g = 0; g < at_.groups; ++g) group_moments_[g].resize(unknowns_, unknowns_ + 1);
  scale_.setZero(unknowns_);
  // Each deviation of an action with its own step: differences of V, effects, cost.
  sums_.resize(static_cast<std::size_t>(std::max(effects_, value_unknowns_)) * (unknowns_ + 1) *
               kSumLanes);
  tile_rows_.resize(static_cast<std::size_t>(std::max(effects_, value_unknowns_)));
  tile_.resize(static_cast<std::size_t>(value_unknowns_ + unknowns_ + 1) * at_once * width);
  for (int k = 0; k < effects_; ++k) tile_rows_[k] = value_unknowns_ + k;
  for (int first = 0; first < at_.rows; first += at_once) {
    const int count = std::min(at_once, at_.rows - first);
    const std::size_t stride = count * width;
    for (int t = first; t < first + count; ++t) {
      double* to = tile_.data() + (t - first) * width;
      write_differences(t, false, to, stride);
      to += value_unknowns_ * stride;
      for (int k = 0; k < effects_; ++k, to += stride) {
        std::copy_n(effect_row(t, k), width, to);
      }
      std::copy_n(&costs_[place(t, 1, 0)], width, to);
    }
    sum_products(tile_.data(), stride, tile_rows_.data(), effects_, 0, unknowns_ + 1, first > 0,
                 sums_.data());
  }
  gather_groups(value_unknowns_, effects_);
  // Each state of a stride with all that happens in it.
  const int blocks = (at_.rows + kStride - 1) / kStride;
  for (int u = 0; u < value_unknowns_; ++u) tile_rows_[u] = u;
  for (int first = 0; first < blocks; first += at_once) {
    const int count = std::min(at_once, blocks - first);
    const std::size_t stride = count * width;
    for (int block = first; block < first + count; ++block) {
      const int start = block * kStride;
      double* to = tile_.data() + (block - first) * width;
      for (int u = 0; u < value_unknowns_; ++u, to += stride) {
        const double* now = time_row(start, u / values_);
        const double* here = value_row(start, u % values_);
        double squares = 0;
        for (std::size_t i = 0; i < width; ++i) {
          to[i] = now[i] * here[i];
          squares += to[i] * to[i];
        }
        scale_(u) += squares;
      }
      for (int t = start; t < std::min(start + kStride, at_.rows); ++t) {
        double* sum = to;
        write_differences(t, t > start, sum, stride);
        sum += value_unknowns_ * stride;
        for (int k = 0; k <= effects_; ++k, sum += stride) {
          const double* from = k < effects_ ? effect_row(t, k) : &costs_[place(t, 1, 0)];
          if (t == start) {
            std::copy_n(from, width, sum);
          } else {
            for (std::size_t i = 0; i < width; ++i) sum[i] += from[i];
          }
        }
      }
    }
    sum_products(tile_.data(), stride, tile_rows_.data(), value_unknowns_, value_unknowns_,
                 unknowns_ + 1, first > 0, sums_.data());
  }
  gather_groups(0, value_unknowns_);
  for (int k = value_unknowns_; k < unknowns_; ++k) {
    for (int g = 0; g < at_.groups; ++g) scale_(k) += group_moments_[g](k, k);
  }
  scale_ = scale_.cwiseSqrt();
}

bool JointCritic::solve() {
  moments_ = group_moments_[0];
  for (int g = 1; g < at_.groups; ++g) moments_ += group_moments_[g];
  if (!moments_.allFinite()) return false;
  // In units in which every instrument has length 1; one that never occurs has no say.
  system_.resize(unknowns_, unknowns_);
  for (int c = 0; c < unknowns_; ++c) {
    for (int r = 0; r < unknowns_; ++r) {
      const double unit = scale_(r) * scale_(c);
      system_(r, c) = unit > 0 ? moments_(r, c) / unit : 0.0;
    }
    const bool slow = c >= values_ && c < 2 * values_;
    const double share = slow && scale_(c) > 0 ? scale_(c - values_) / scale_(c) : 1.0;
    system_(c, c) += scale_(c) > 0 ? (slow ? kSlowRidge * share * share : kCriticRidge) : 1.0;
  }
  factor_.compute(system_);
  solution_ = moments_.col(unknowns_);
  for (int k = 0; k < unknowns_; ++k) solution_(k) = scale_(k) > 0 ? solution_(k) / scale_(k) : 0.0;
  solution_ = factor_.solve(solution_);
  for (int k = 0; k < unknowns_; ++k) solution_(k) = scale_(k) > 0 ? solution_(k) / scale_(k) : 0.0;
  return solution_.allFinite();
}

void JointCritic::find_residuals() {
  // φᵀv of both time scales at every state, and what remains of a step's cost.
  const std::size_t width = at_.width;
  level_.assign(2 * (static_cast<std::size_t>(at_.rows) + 1) * width, 0.0);
  for (int t = 0; t <= at_.rows; ++t) {
    for (int k = 0; k < 2; ++k) {
      double* level = &level_[place(t, 2, k)];
      for (int p = 0; p < values_; ++p) {
        const double v = solution_(k * values_ + p);
        const double* phi = value_row(t, p);
        for (std::size_t i = 0; i < width; ++i) level[i] += v * phi[i];
      }
    }
  }
  residuals_ = costs_;
  const double linear = solution_(2 * values_);
  for (int t = 0; t < at_.rows; ++t) {
    double* residual = &residuals_[place(t, 1, 0)];
    for (int k = 0; k < 2; ++k) {
      const double* now = time_row(t, k);
      const double* then = time_row(t, 3 + k);
      const double* here = &level_[place(t, 2, k)];
      const double* after = &level_[place(t + 1, 2, k)];
      for (std::size_t i = 0; i < width; ++i) residual[i] -= now[i] * here[i] - then[i] * after[i];
    }
    const double* here = value_row(t, 0);
    const double* after = value_row(t + 1, 0);
    const double* now = time_row(t, 2);
    const double* then = time_row(t, 5);
    for (std::size_t i = 0; i < width; ++i) {
      residual[i] -= linear * (now[i] * here[i] - then[i] * after[i]);
    }
    for (int k = 0; k < effects_; ++k) {
      const double v = solution_(value_unknowns_ + k);
      const double* effect = effect_row(t, k);
      for (std::size_t i = 0; i < width; ++i) residual[i] -= v * effect[i];
    }
  }
}

void JointCritic::reweigh() {
  sorted_.clear();
  for (int t = 0; t < at_.rows; ++t) {
    for (int lane = 0; lane < at_.lanes; ++lane) {
      const std::size_t at = place(t, 1, 0) + lane;
      if (told_[at] > 0) sorted_.push_back(std::abs(residuals_[at]));
    }
  }
  const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>(sorted_.size() / 2);
  std::nth_element(sorted_.begin(), middle, sorted_.end());
  const double limit = kHuberLimit * *middle;
  if (!(limit > 0)) return;
  Eigen::VectorXd instruments(unknowns_);
  Eigen::VectorXd row(unknowns_ + 1);
  for (int t = 0; t < at_.rows; ++t) {
    const int start = t / kStride * kStride;
    for (int lane = 0; lane < at_.lanes; ++lane) {
      const double size = std::abs(residuals_[place(t, 1, 0) + lane]);
      if (!(size > limit)) continue;
      const double less = 1 - limit / size;
      for (int u = 0; u < value_unknowns_; ++u) {
        const int k = u / values_;
        const int p = u % values_;
        instruments(u) = less * time_row(start, k)[lane] * value_row(start, p)[lane];
        row(u) = time_row(t, k)[lane] * value_row(t, p)[lane] -
                 time_row(t, 3 + k)[lane] * value_row(t + 1, p)[lane];
      }
      for (int k = 0; k < effects_; ++k) {
        row(value_unknowns_ + k) = effect_row(t, k)[lane];
        instruments(value_unknowns_ + k) = less * effect_row(t, k)[lane];
      }
      row(unknowns_) = costs_[place(t, 1, 0) + lane];
      group_moments_[lane % kGroups].noalias() -= instruments * row.transpose();
    }
  }
}

void JointCritic::measure_noise() {
  // θ without group g is θ - (S - S_g)⁻¹ q_g, q_g = (y c)_g - S_g θ, by the first terms of
  // (S - S_g)⁻¹ q = S⁻¹q + S⁻¹S_g S⁻¹q + …, and the rest as if they shrank as the last did.
  constexpr int kTerms = 3;
  constexpr double kSlowest = 0.95;
  Eigen::VectorXd units(unknowns_);
  for (int k = 0; k < unknowns_; ++k) units(k) = scale_(k) > 0 ? 1 / scale_(k) : 0.0;
  changes_.resize(effects_, at_.groups);
  Eigen::VectorXd term(unknowns_);
  Eigen::VectorXd sum(unknowns_);
  for (int g = 0; g < at_.groups; ++g) {
    const auto group = group_moments_[g].leftCols(unknowns_);
    term = group_moments_[g].col(unknowns_);
    term.noalias() -= group * solution_;
    term = units.asDiagonal() * factor_.solve(units.asDiagonal() * term).eval();
    sum = term;
    double shrunk = 0;
    for (int k = 0; k < kTerms; ++k) {
      const double before = term.cwiseProduct(scale_).tail(effects_).norm();
      const Eigen::VectorXd next = group * term;
      term = units.asDiagonal() * factor_.solve(units.asDiagonal() * next).eval();
      const double after = term.cwiseProduct(scale_).tail(effects_).norm();
      shrunk = before > 0 ? std::min(after / before, kSlowest) : 0.0;
      sum += term;
    }
    sum += shrunk / (1 - shrunk) * term;
    changes_.col(g) = -sum.tail(effects_);
  }
  const Eigen::VectorXd mean = changes_.rowwise().mean();
  changes_.colwise() -= mean;
  changes_ *= std::sqrt((at_.groups - 1.0) / at_.groups);
}

bool JointCritic::choose_step() {
  const int actions = at_.actions;
  const int features = at_.features;
  const double* theta = solution_.data() + value_unknowns_;
  Eigen::MatrixXd second(actions, actions);
  double variance = 0;  // mean of the diagonal's
  int k = actions * features;
  for (int a = 0; a < actions; ++a) {
    for (int b = a; b < actions; ++b, ++k) {
      second(a, b) = second(b, a) = (a == b ? 2 : 1) * theta[k];
      if (a == b) variance += 4 * changes_.row(k).squaredNorm() / actions;
    }
  }
  const double error = std::sqrt(variance);
  const double mean =
      std::max(second.trace() / actions, 2 * error / std::sqrt(static_cast<double>(actions)));
  const double floor = std::max(2 * error, 0.25 * mean);
  if (!(floor > 0) || !std::isfinite(floor)) return false;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(second);
  if (eigen.info() != Eigen::Success) return false;
  step_factor_ = eigen.eigenvectors() *
                 eigen.eigenvalues().cwiseMax(floor).cwiseInverse().asDiagonal() *
                 eigen.eigenvectors().transpose();
  newton_step_.setZero(actions * features);
  for (int a = 0; a < actions; ++a) {
    for (int b = 0; b < actions; ++b) {
      newton_step_.segment(a * features, features) -=
          sigma_(a) * step_factor_(a, b) *
          solution_.segment(value_unknowns_ + b * features, features);
    }
  }
  return newton_step_.allFinite();
}

bool JointCritic::fit(const Trajectories& batch, const GaussianPolicy& played,
                      const ActionRange& range) {
  lay_out(batch);
  const int actions = at_.actions;
  const int features = at_.features;
  effects_ = actions * features + actions * (actions + 1) / 2;
  values_ = 1 + features + features * (features + 1) / 2;
  if (at_.groups < 2 || 2 * values_ + 1 + effects_ > kMostUnknowns) return false;
  sigma_ = played.noise().values(actions);
  gains_ = sigma_.cwiseInverse().asDiagonal() * played.gains();
  low_ = range.limited() ? Eigen::VectorXd(range.low.cwiseQuotient(sigma_))
                         : Eigen::VectorXd::Constant(actions, -kInfinity);
  high_ = range.limited() ? Eigen::VectorXd(range.high.cwiseQuotient(sigma_))
                          : Eigen::VectorXd::Constant(actions, kInfinity);
  load_means(batch);
  find_overflows(batch);
  values_ += 2 * static_cast<int>(overflowing_.size());
  value_unknowns_ = 2 * values_ + 1;
  unknowns_ = value_unknowns_ + effects_;
  if (at_.told < 2L * unknowns_) return false;
  const auto rows = static_cast<std::size_t>(at_.rows);
  phi_.resize((rows + 1) * values_ * at_.width);
  effects_of_.resize(rows * effects_ * at_.width);
  times_.resize(rows * 6 * at_.width);
  costs_.resize(rows * at_.width);
  deviations_.resize(actions * at_.width);
  for (int t = 0; t <= at_.rows; ++t) load_values(t);
  for (int t = 0; t < at_.rows; ++t) load_effects(batch, t);
  sum_moments();
  if (!solve()) return false;
  find_residuals();
  reweigh();
  if (!solve()) return false;
  measure_noise();
  return changes_.allFinite() && choose_step();
}

Eigen::MatrixXd JointCritic::slopes() const {
  Eigen::MatrixXd result(at_.actions, at_.features);
  for (int a = 0; a < at_.actions; ++a) {
    result.row(a) =
        solution_.segment(value_unknowns_ + a * at_.features, at_.features).transpose() / sigma_(a);
  }
  return result;
}

Eigen::MatrixXd JointCritic::curvatures() const {
  Eigen::MatrixXd result(at_.actions, at_.actions);
  int k = value_unknowns_ + at_.actions * at_.features;
  for (int a = 0; a < at_.actions; ++a) {
    for (int b = a; b < at_.actions; ++b, ++k) {
      result(a, b) = result(b, a) = (a == b ? 2 : 1) * solution_(k) / (sigma_(a) * sigma_(b));
    }
  }
  return result;
}

double JointCritic::step_noise(const Eigen::MatrixXd& metric) const {
  const int features = at_.features;
  double noise = 0;
  Eigen::VectorXd change(features);
  for (int g = 0; g < at_.groups; ++g) {
    for (int a = 0; a < at_.actions; ++a) {
      change.setZero();
      for (int b = 0; b < at_.actions; ++b) {
        change += sigma_(a) * step_factor_(a, b) * changes_.col(g).segment(b * features, features);
      }
      noise += change.dot(action_block(metric, a) * change);
    }
  }
  return noise;
}

Eigen::VectorXd JointCritic::cost_gradient(const Eigen::MatrixXd& fisher,
                                           const double* step_weights) const {
  const int features = at_.features;
  const int actions = at_.actions;
  const auto slopes = [&](int a) {
    return solution_.segment(value_unknowns_ + a * features, features);
  };
  // In units of noise first: the Fisher information of an action is Σ ΦΦᵀ there.
  Eigen::VectorXd gradient(actions * features);
  for (int a = 0; a < actions; ++a) {
    gradient.segment(a * features, features) =
        sigma_(a) * sigma_(a) * (action_block(fisher, a) * slopes(a));
  }
  Eigen::VectorXd x(features);
  std::vector<ClippedDeviation> clipped(actions);
  constexpr double kFar = 6;  // deviations
  for (int t = 0; t < at_.rows; ++t) {
    for (int lane = 0; lane < at_.lanes; ++lane) {
      if (!(live_[place(t, 1, 0) + lane] > 0)) continue;
      bool any = false;
      for (int a = 0; a < actions; ++a) {
        const double mean = mean_row(t, a)[lane];
        const bool far = mean - low_(a) > kFar && high_(a) - mean > kFar;
        clipped[a] = far ? ClippedDeviation{} : clipped_deviation(mean, low_(a), high_(a));
        any = any || !far;
      }
      if (!any) continue;
      const int m = lane / at_.count * at_.rows + t;
      const double weight = (step_weights != nullptr ? step_weights[m] : 1.0) / at_.count;
      for (int f = 0; f < features; ++f) x(f) = feature_row(t, f)[lane];
      int k = value_unknowns_ + actions * features;
      Eigen::VectorXd more = Eigen::VectorXd::Zero(actions);  // than without limits
      for (int a = 0; a < actions; ++a) more(a) = (clipped[a].inside - 1) * slopes(a).dot(x);
      for (int a = 0; a < actions; ++a) {
        for (int b = a; b < actions; ++b, ++k) {
          if (a == b) {
            more(a) += 2 * solution_(k) * clipped[a].mean_inside;
          } else {
            more(a) += solution_(k) * clipped[b].mean * clipped[a].inside;
            more(b) += solution_(k) * clipped[a].mean * clipped[b].inside;
          }
        }
      }
      for (int a = 0; a < actions; ++a)
        gradient.segment(a * features, features) += weight * more(a) * x;
    }
  }
  for (int a = 0; a < actions; ++a) gradient.segment(a * features, features) /= sigma_(a);
  return gradient;
}

}  // namespace lifeguard
