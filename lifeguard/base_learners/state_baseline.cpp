#include "lifeguard/base_learners/state_baseline.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/base_learners/batch_kernels.hpp"

namespace lifeguard {

namespace {

// Added to the diagonal of the normal equations once they are scaled to a unit diagonal: terms that
// the batch cannot tell apart then share their coefficient instead of making the system singular.
constexpr double kRidge = 1e-8;
// In place of an index: the sum is that of a term itself.
constexpr auto kOwnSum = static_cast<std::size_t>(-1);

}  // namespace

void StateBaseline::set_features(int features) {
  if (features == features_) return;
  features_ = features;
  // The first column of each f: pairs are sorted by their first feature.
  std::vector<int> first_pair(static_cast<std::size_t>(features) + 1);
  first_pair[0] = features;
  for (int f = 0; f < features; ++f) first_pair[f + 1] = first_pair[f] + features - f;
  const int count = first_pair[features];
  const auto pair = [&](int f, int h) { return first_pair[f] + h - f; };  // f ≤ h

  blocks_.clear();
  std::size_t at = 0;
  for (int f = 0; f < features; ++f) {
    Block block{{f}, first_pair[f], count - first_pair[f], at};
    for (int e = 0; e <= f; ++e) block.rows.push_back(pair(e, f));
    at += block.rows.size() * static_cast<std::size_t>(block.columns);
    blocks_.push_back(std::move(block));
  }
  sums_.resize(at * kSumLanes);

  // A term is the list of its one or two features.
  std::vector<std::vector<int>> terms;
  for (int f = 0; f < features; ++f) terms.push_back({f});
  for (int f = 0; f < features; ++f) {
    for (int h = f; h < features; ++h) terms.push_back({f, h});
  }
  sum_of_.clear();
  all_terms_.clear();
  for (int p = 0; p < count; ++p) {
    all_terms_.push_back(p);
    for (int q = 0; q <= p; ++q) {
      std::vector<int> monomial = terms[p];
      monomial.insert(monomial.end(), terms[q].begin(), terms[q].end());
      std::sort(monomial.begin(), monomial.end());
      if (monomial.size() == 2) {  // Φ_f Φ_h is a term itself: its own sum
        sum_of_.push_back(kOwnSum);
        continue;
      }
      // Φ_e Φ_f Φ_g Φ_h is row Φ_e Φ_f of block f, column Φ_g Φ_h; Φ_f Φ_g Φ_h is row Φ_f.
      const bool quartic = monomial.size() == 4;
      const Block& block = blocks_[monomial[quartic ? 1 : 0]];
      const int row = quartic ? 1 + monomial[0] : 0;
      const int column = pair(monomial[quartic ? 2 : 1], monomial[quartic ? 3 : 2]);
      sum_of_.push_back(
          block.at + static_cast<std::size_t>(row * block.columns + column - block.first_column));
    }
  }
  means_.setZero(count);
  scale_.setZero(count);
  normal_.setZero(count, count);
  coefficients_.setZero(count);
}

void StateBaseline::add_numbers(const Trajectories& trajectories, const double* lengths, int k,
                                const double* numbers, double mean) {
  const std::size_t width = padded_count(trajectories);
  const int m = k * stride_;
  subtract_live(numbers + static_cast<std::size_t>(m) * trajectories.stride(), mean, lengths, m,
                width, numbers_.data());
  const std::size_t at = static_cast<std::size_t>(k * features_) * width;
  add_terms(rows_.data() + at, features_, width, numbers_.data(), products_.data(), right_.data());
}

void StateBaseline::fit(const Trajectories& trajectories, const double* lengths, int stride,
                        bool centre_each_step, const double* numbers, const double* means) {
  set_features(trajectories.features());
  stride_ = stride;
  centre_each_step_ = centre_each_step;
  const int count = terms();
  const auto size = static_cast<std::size_t>(count);
  const std::size_t width = padded_count(trajectories);
  const int steps = (trajectories.steps() + stride - 1) / stride;
  const std::size_t centre_width =
      (static_cast<std::size_t>(steps) + kSumLanes - 1) / kSumLanes * kSumLanes;
  const std::size_t feature_block = static_cast<std::size_t>(features_) * width;
  tile_.resize((size + 1) * width);
  std::fill_n(tile_.begin() + static_cast<std::ptrdiff_t>(size * width), width, 1.0);  // ones
  rows_.resize(static_cast<std::size_t>(steps) * feature_block);
  numbers_.resize(width);
  products_.resize(width);
  centre_.assign(size * centre_width, 0.0);
  step_sums_.resize(size * kSumLanes);
  centre_sums_.resize(size * size * kSumLanes);
  right_.assign(size * kSumLanes, 0.0);
  means_.setZero();
  live_ = 0;

  for (int k = 0; k < steps; ++k) {
    const int m = k * stride;
    load_terms(trajectories, m, tile_.data());
    std::copy_n(tile_.data(), feature_block,
                rows_.data() + static_cast<std::size_t>(k) * feature_block);
    for (const Block& block : blocks_) {
      sum_products(tile_.data(), width, block.rows.data(), static_cast<int>(block.rows.size()),
                   block.first_column, block.columns, k > 0, sums_.data() + block.at * kSumLanes);
    }
    sum_products(tile_.data(), width, &count, 1, 0, count, false, step_sums_.data());
    add_numbers(trajectories, lengths, k, numbers, means[m]);
    int live = 0;
    for (int i = 0; i < trajectories.count(); ++i) live += m < trajectories.length(i) ? 1 : 0;
    live_ += live;
    const double share = live > 0 ? 1.0 / std::sqrt(static_cast<double>(live)) : 0.0;
    for (std::size_t p = 0; p < size; ++p) {
      const double sum = add_lanes(&step_sums_[p * kSumLanes]);
      means_(static_cast<Eigen::Index>(p)) += sum;
      centre_[p * centre_width + static_cast<std::size_t>(k)] = sum * share;
    }
  }
  if (live_ > 0) means_ /= live_;
  if (centre_each_step) {
    sum_products(centre_.data(), centre_width, all_terms_.data(), count, 0, count, false,
                 centre_sums_.data());
  }
  factorise();
  solve();
}

void StateBaseline::factorise() {
  const Eigen::Index count = normal_.rows();
  std::size_t entry = 0;
  for (Eigen::Index p = 0; p < count; ++p) {
    for (Eigen::Index q = 0; q <= p; ++q, ++entry) {
      // The term that Φ_q Φ_p, q ≤ p, is: pairs follow the features, sorted by their first one.
      const std::size_t at = sum_of_[entry];
      const double sum = at == kOwnSum
                             ? live_ * means_(features_ + q * features_ - q * (q - 1) / 2 + (p - q))
                             : add_lanes(&sums_[at * kSumLanes]);
      normal_(p, q) =
          sum - (centre_each_step_
                     ? add_lanes(&centre_sums_[static_cast<std::size_t>(p * count + q) * kSumLanes])
                     : live_ * means_(p) * means_(q));
    }
  }
  // Rounding can leave a hair below zero where a term is constant; such a term is left out.
  for (Eigen::Index p = 0; p < count; ++p) {
    scale_(p) = normal_(p, p) > 0 ? 1.0 / std::sqrt(normal_(p, p)) : 0.0;
  }
  for (Eigen::Index p = 0; p < count; ++p) {
    for (Eigen::Index q = 0; q < p; ++q) normal_(p, q) *= scale_(p) * scale_(q);
    normal_(p, p) = 1.0 + kRidge;
  }
  factor_.compute(normal_);
}

void StateBaseline::refit(const Trajectories& trajectories, const double* lengths,
                          const double* numbers, const double* means) {
  std::fill(right_.begin(), right_.end(), 0.0);
  for (int k = 0; k * stride_ < trajectories.steps(); ++k) {
    add_numbers(trajectories, lengths, k, numbers, means[k * stride_]);
  }
  solve();
}

void StateBaseline::solve() {
  // The numbers are centred, by steps or over the fit, so the terms need not be.
  for (Eigen::Index p = 0; p < coefficients_.size(); ++p) {
    coefficients_(p) = scale_(p) * add_lanes(&right_[static_cast<std::size_t>(p) * kSumLanes]);
  }
  if (factor_.info() == Eigen::Success) {
    factor_.solveInPlace(coefficients_);
    coefficients_.array() *= scale_.array();
  } else {
    coefficients_.setZero();  // no baseline is better than a wild one
  }
}

void StateBaseline::values(const Trajectories& trajectories, const double* lengths, int every,
                           double* v, double* sums) const {
  evaluate_quadratic(trajectories, coefficients_.data(), lengths, every, v, sums);
}

double StateBaseline::mean_value() const {
  double mean = 0;
  for (Eigen::Index p = 0; p < means_.size(); ++p) mean += coefficients_(p) * means_(p);
  return mean;
}

}  // namespace lifeguard
