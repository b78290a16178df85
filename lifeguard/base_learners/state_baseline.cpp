#include "lifeguard/base_learners/state_baseline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace lifeguard {

namespace {

// Sums run in 8 lanes, whatever vectors the processor has, so that their order is always the same.
constexpr std::size_t kLanes = 8;

// Added to the diagonal of the normal equations once they are scaled to a unit diagonal: terms that
// the batch cannot tell apart then share their coefficient instead of making the system singular.
constexpr double kRidge = 1e-8;

double sum_lanes(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// lanes += x ⊙ y, folded into 8 lanes; n is a multiple of 8.
inline void add_products(const double* x, const double* y, std::size_t n, double* lanes) {
  std::array<double, kLanes> sum{};
  for (std::size_t i = 0; i < n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) sum[l] += x[i + l] * y[i + l];
  }
  for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += sum[l];
}

}  // namespace

void StateBaseline::set_features(int features) {
  if (features == features_) return;
  features_ = features;
  // A term is the list of its one or two features; -1 stands for none.
  std::vector<std::array<int, 2>> terms;
  for (int f = 0; f < features; ++f) terms.push_back({-1, f});
  for (int f = 0; f < features; ++f) {
    for (int h = f; h < features; ++h) terms.push_back({f, h});
  }
  first_.clear();
  second_.clear();
  monomial_of_.clear();
  std::map<std::array<int, 4>, int> known;
  for (std::size_t p = 0; p < terms.size(); ++p) {
    for (std::size_t q = 0; q <= p; ++q) {
      std::array<int, 4> monomial = {terms[p][0], terms[p][1], terms[q][0], terms[q][1]};
      std::sort(monomial.begin(), monomial.end());
      const auto [at, is_new] = known.try_emplace(monomial, static_cast<int>(first_.size()));
      if (is_new) {
        first_.push_back(static_cast<int>(p));
        second_.push_back(static_cast<int>(q));
      }
      monomial_of_.push_back(at->second);
    }
  }
  const auto count = static_cast<Eigen::Index>(terms.size());
  sums_.assign(first_.size() * kLanes, 0.0);
  right_lanes_.assign(terms.size() * kLanes, 0.0);
  scale_.setZero(count);
  normal_.setZero(count, count);
  coefficients_.setZero(count);
  batch_means_.setZero(count);
  tile_width_ = 0;
}

void StateBaseline::load_tile(const Trajectories& trajectories, int m) {
  const std::size_t n = static_cast<std::size_t>(trajectories.count());
  double* quadratic = tile_.data() + static_cast<std::size_t>(features_) * tile_width_;
  for (int f = 0; f < features_; ++f) {
    const double* x = trajectories.feature_row(m, f);
    std::copy(x, x + n, tile_.data() + static_cast<std::size_t>(f) * tile_width_);
  }
  for (int f = 0; f < features_; ++f) {
    const double* x = tile_.data() + static_cast<std::size_t>(f) * tile_width_;
    for (int h = f; h < features_; ++h) {
      const double* y = tile_.data() + static_cast<std::size_t>(h) * tile_width_;
      for (std::size_t i = 0; i < tile_width_; ++i) quadratic[i] = x[i] * y[i];
      quadratic += tile_width_;
    }
  }
}

void StateBaseline::prepare(const Trajectories& trajectories, int stride, bool centre_each_step) {
  set_features(trajectories.features());
  stride_ = stride;
  centre_each_step_ = centre_each_step;
  const auto count = static_cast<std::size_t>(terms());
  const auto n = static_cast<std::size_t>(trajectories.count());
  tile_width_ = (n + kLanes - 1) / kLanes * kLanes;
  tile_.assign(count * tile_width_, 0.0);  // zero beyond the last trajectory
  std::fill(sums_.begin(), sums_.end(), 0.0);
  normal_.setZero();
  batch_means_.setZero();
  double all_live = 0;
  for (int m = 0; m < trajectories.steps(); m += stride) {
    load_tile(trajectories, m);
    for (std::size_t k = 0; k < first_.size(); ++k) {
      add_products(tile_.data() + static_cast<std::size_t>(first_[k]) * tile_width_,
                   tile_.data() + static_cast<std::size_t>(second_[k]) * tile_width_, tile_width_,
                   sums_.data() + k * kLanes);
    }
    double live = 0;
    for (int i = 0; i < trajectories.count(); ++i) live += m < trajectories.length(i) ? 1 : 0;
    all_live += live;
    // scale_ is free until the end: the sums of this step's terms.
    for (std::size_t p = 0; p < count; ++p) {
      std::array<double, kLanes> sum{};
      const double* x = tile_.data() + p * tile_width_;
      for (std::size_t i = 0; i < tile_width_; i += kLanes) {
        for (std::size_t l = 0; l < kLanes; ++l) sum[l] += x[i + l];
      }
      scale_(static_cast<Eigen::Index>(p)) = sum_lanes(sum.data());
    }
    batch_means_ += scale_;
    if (centre_each_step && live > 0) {
      const double weight = 1.0 / live;
      for (Eigen::Index q = 0; q < scale_.size(); ++q) {
        const double factor = weight * scale_(q);
        for (Eigen::Index p = q; p < scale_.size(); ++p) normal_(p, q) -= scale_(p) * factor;
      }
    }
  }
  if (all_live > 0) batch_means_ /= all_live;
  std::size_t entry = 0;
  for (Eigen::Index p = 0; p < scale_.size(); ++p) {
    for (Eigen::Index q = 0; q <= p; ++q) {
      normal_(p, q) +=
          sum_lanes(sums_.data() + static_cast<std::size_t>(monomial_of_[entry++]) * kLanes);
      if (!centre_each_step) normal_(p, q) -= all_live * batch_means_(p) * batch_means_(q);
    }
  }
  // Rounding can leave a hair below zero where a term is constant.
  for (Eigen::Index p = 0; p < scale_.size(); ++p) {
    scale_(p) = normal_(p, p) > 0 ? 1.0 / std::sqrt(normal_(p, p)) : 0.0;
  }
  for (Eigen::Index p = 0; p < scale_.size(); ++p) {
    for (Eigen::Index q = 0; q < p; ++q) normal_(p, q) *= scale_(p) * scale_(q);
    normal_(p, p) = 1.0 + kRidge;
  }
  factor_.compute(normal_);
}

void StateBaseline::fit(const Trajectories& trajectories, const double* numbers) {
  const auto count = static_cast<std::size_t>(terms());
  const auto n = static_cast<std::size_t>(trajectories.count());
  std::fill(right_lanes_.begin(), right_lanes_.end(), 0.0);
  double sum = 0;
  for (int m = 0; m < trajectories.steps(); m += stride_) {
    load_tile(trajectories, m);
    const double* row = numbers + static_cast<std::size_t>(m) * trajectories.stride();
    for (std::size_t p = 0; p < count; ++p) {
      add_products(tile_.data() + p * tile_width_, row, tile_width_,
                   right_lanes_.data() + p * kLanes);
    }
    for (std::size_t i = 0; i < n; ++i) sum += row[i];
  }
  for (Eigen::Index p = 0; p < scale_.size(); ++p) {
    coefficients_(p) = sum_lanes(right_lanes_.data() + static_cast<std::size_t>(p) * kLanes);
    // Centred by steps, the numbers of each step already add up to zero.
    if (!centre_each_step_) coefficients_(p) -= batch_means_(p) * sum;
    coefficients_(p) *= scale_(p);
  }
  if (factor_.info() == Eigen::Success) {
    factor_.solveInPlace(coefficients_);
    coefficients_.array() *= scale_.array();
  } else {
    coefficients_.setZero();  // no baseline is better than a wild one
  }
}

void StateBaseline::add_values(const Trajectories& trajectories, double* values) const {
  const int n = trajectories.count();
  constexpr int kBlock = 64;
  for (int m = 0; m < trajectories.steps(); ++m) {
    double* row = values + static_cast<std::size_t>(m) * trajectories.stride();
    double sum = 0;
    int live = 0;
    for (int start = 0; start < n; start += kBlock) {
      const int width = std::min(kBlock, n - start);
      double v[kBlock] = {};
      Eigen::Index quadratic = features_;
      for (int f = 0; f < features_; ++f) {
        double slope[kBlock];
        for (int i = 0; i < width; ++i) slope[i] = coefficients_(f);
        for (int h = f; h < features_; ++h) {
          const double w = coefficients_(quadratic++);
          const double* x = trajectories.feature_row(m, h) + start;
          for (int i = 0; i < width; ++i) slope[i] += w * x[i];
        }
        const double* x = trajectories.feature_row(m, f) + start;
        for (int i = 0; i < width; ++i) v[i] += slope[i] * x[i];
      }
      for (int i = 0; i < width; ++i) {
        row[start + i] += v[i];
        sum += v[i];  // zero where the trajectory is no longer live
        live += m < trajectories.length(start + i) ? 1 : 0;
      }
    }
    const double mean =
        centre_each_step_ ? (live > 0 ? sum / live : 0.0) : coefficients_.dot(batch_means_);
    for (int i = 0; i < n; ++i) row[i] -= mean;
  }
}

}  // namespace lifeguard
