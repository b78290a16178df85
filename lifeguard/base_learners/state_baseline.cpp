#include "lifeguard/base_learners/state_baseline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lifeguard/base_learners/batch_kernels.hpp"

namespace lifeguard {

namespace {

// Added to the diagonal of the normal equations once they are scaled to a unit diagonal: terms that
// the batch cannot tell apart then share their coefficient instead of making the system singular.
constexpr double kRidge = 1e-8;

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
  all_first_.clear();
  all_second_.clear();
  monomial_of_.clear();
  term_rows_.clear();
  std::map<std::array<int, 4>, int> known;
  const int count = static_cast<int>(terms.size());
  for (int p = 0; p < count; ++p) {
    term_rows_.push_back(p);
    for (int q = 0; q <= p; ++q) {
      std::array<int, 4> monomial = {terms[p][0], terms[p][1], terms[q][0], terms[q][1]};
      std::sort(monomial.begin(), monomial.end());
      const auto [at, is_new] = known.try_emplace(monomial, static_cast<int>(first_.size()));
      if (is_new) {
        first_.push_back(p);
        second_.push_back(q);
      }
      all_first_.push_back(p);
      all_second_.push_back(q);
      monomial_of_.push_back(at->second);
    }
  }
  term_rows_.push_back(count + 1);  // ones: the sum of the numbers themselves
  numbers_row_.assign(terms.size() + 1, count);
  ones_row_.assign(terms.size(), count + 1);
  means_.setZero(count);
  scale_.setZero(count);
  normal_.setZero(count, count);
  coefficients_.setZero(count);
}

void StateBaseline::load_tile(const Trajectories& trajectories, int m, const double* numbers) {
  load_terms(trajectories, m, tile_.data());
  const std::size_t width = padded_count(trajectories);
  const double* row = numbers + static_cast<std::size_t>(m) * trajectories.stride();
  std::copy(row, row + width, tile_.data() + static_cast<std::size_t>(terms()) * width);
}

void StateBaseline::fit(const Trajectories& trajectories, int stride, bool centre_each_step,
                        const double* numbers) {
  set_features(trajectories.features());
  stride_ = stride;
  centre_each_step_ = centre_each_step;
  const auto count = static_cast<std::size_t>(terms());
  const std::size_t width = padded_count(trajectories);
  const auto steps = static_cast<std::size_t>((trajectories.steps() + stride - 1) / stride);
  const std::size_t centre_width = (steps + kSumLanes - 1) / kSumLanes * kSumLanes;
  tile_.resize((count + 2) * width);
  std::fill(tile_.end() - static_cast<std::ptrdiff_t>(width), tile_.end(), 1.0);
  sums_.assign(first_.size() * kSumLanes, 0.0);
  right_.assign((count + 1) * kSumLanes, 0.0);
  centre_.assign(count * centre_width, 0.0);
  step_sums_.resize(count * kSumLanes);
  means_.setZero();
  live_ = 0;

  for (std::size_t k = 0; k < steps; ++k) {
    const int m = static_cast<int>(k) * stride;
    load_tile(trajectories, m, numbers);
    add_products(tile_.data(), width, first_.data(), second_.data(), first_.size(), sums_.data());
    add_products(tile_.data(), width, numbers_row_.data(), term_rows_.data(), count + 1,
                 right_.data());
    std::fill(step_sums_.begin(), step_sums_.end(), 0.0);
    add_products(tile_.data(), width, ones_row_.data(), term_rows_.data(), count,
                 step_sums_.data());
    int live = 0;
    for (int i = 0; i < trajectories.count(); ++i) live += m < trajectories.length(i) ? 1 : 0;
    live_ += live;
    const double share = live > 0 ? 1.0 / std::sqrt(static_cast<double>(live)) : 0.0;
    for (std::size_t p = 0; p < count; ++p) {
      const double sum = add_lanes(&step_sums_[p * kSumLanes]);
      means_(static_cast<Eigen::Index>(p)) += sum;
      centre_[p * centre_width + k] = sum * share;
    }
  }
  if (live_ > 0) means_ /= live_;
  if (centre_each_step) {
    centre_sums_.assign(all_first_.size() * kSumLanes, 0.0);
    add_products(centre_.data(), centre_width, all_first_.data(), all_second_.data(),
                 all_first_.size(), centre_sums_.data());
  }
  factorise();
  solve();
}

void StateBaseline::factorise() {
  std::size_t entry = 0;
  for (Eigen::Index p = 0; p < normal_.rows(); ++p) {
    for (Eigen::Index q = 0; q <= p; ++q, ++entry) {
      const double sum =
          add_lanes(&sums_[static_cast<std::size_t>(monomial_of_[entry]) * kSumLanes]);
      normal_(p, q) = sum - (centre_each_step_ ? add_lanes(&centre_sums_[entry * kSumLanes])
                                               : live_ * means_(p) * means_(q));
    }
  }
  // Rounding can leave a hair below zero where a term is constant; such a term is left out.
  for (Eigen::Index p = 0; p < normal_.rows(); ++p) {
    scale_(p) = normal_(p, p) > 0 ? 1.0 / std::sqrt(normal_(p, p)) : 0.0;
  }
  for (Eigen::Index p = 0; p < normal_.rows(); ++p) {
    for (Eigen::Index q = 0; q < p; ++q) normal_(p, q) *= scale_(p) * scale_(q);
    normal_(p, p) = 1.0 + kRidge;
  }
  factor_.compute(normal_);
}

void StateBaseline::refit(const Trajectories& trajectories, const double* numbers) {
  const std::size_t width = padded_count(trajectories);
  std::fill(right_.begin(), right_.end(), 0.0);
  for (int m = 0; m < trajectories.steps(); m += stride_) {
    load_tile(trajectories, m, numbers);
    add_products(tile_.data(), width, numbers_row_.data(), term_rows_.data(),
                 static_cast<std::size_t>(terms()) + 1, right_.data());
  }
  solve();
}

void StateBaseline::solve() {
  const double sum = add_lanes(&right_[static_cast<std::size_t>(terms()) * kSumLanes]);
  for (Eigen::Index p = 0; p < coefficients_.size(); ++p) {
    coefficients_(p) = add_lanes(&right_[static_cast<std::size_t>(p) * kSumLanes]);
    // Centred by steps, the numbers of each step already add up to zero.
    if (!centre_each_step_) coefficients_(p) -= means_(p) * sum;
    coefficients_(p) *= scale_(p);
  }
  if (factor_.info() == Eigen::Success) {
    factor_.solveInPlace(coefficients_);
    coefficients_.array() *= scale_.array();
  } else {
    coefficients_.setZero();  // no baseline is better than a wild one
  }
}

void StateBaseline::values(const Trajectories& trajectories, int m, double* v) const {
  evaluate_quadratic(trajectories, m, coefficients_.data(), v);
}

double StateBaseline::mean_value() const {
  double mean = 0;
  for (Eigen::Index p = 0; p < means_.size(); ++p) mean += coefficients_(p) * means_(p);
  return mean;
}

}  // namespace lifeguard
