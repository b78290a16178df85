#include <algorithm>
#include <cmath>
#include <span>

#include "lifeguard/core/random.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/kernel.hpp"

namespace lifeguard {
namespace {

bool is_bounded(std::span<const double> values, double bound) {
  return std::all_of(values.begin(), values.end(),
                     [bound](double x) { return std::fabs(x) <= bound; });
}

/// One trajectory of a user's system; the same rules as in kernel.cpp.
class CustomTrajectory {
 public:
  CustomTrajectory(const RolloutJob& job, const CustomSystem& system, int trajectory)
      : job_(job), system_(system), settings_(job.task->settings), trajectory_(trajectory) {}

  void run() {
    const std::uint64_t index = job_.first_index + static_cast<std::uint64_t>(trajectory_);
    system_.start(CounterRandom(job_.seed, RandomStream::start_state, index), state());
    bool alive = absorb_failure();
    const CounterRandom noise(job_.seed, RandomStream::exploration, index);
    double total = 0;
    int length = 0;
    for (int m = 0; m < job_.steps; ++m) {
      double cost = settings_.failure_cost;
      if (alive && choose_action(noise, m)) {
        cost = system_.cost(state(), applied());
        if (!(std::fabs(cost) <= 1e100)) {
          cost = settings_.failure_cost;
          alive = false;
          diverged_ = true;
        }
      } else if (alive) {
        alive = false;
        diverged_ = true;
      }
      total += cost;
      store(m, alive, cost);
      if (!alive) continue;
      ++length;
      system_.step(state(), applied(), {next_, static_cast<std::size_t>(system_.states())});
      std::copy_n(next_, system_.states(), state_);
      alive = absorb_failure();
    }
    if (job_.lengths_out != nullptr) job_.lengths_out[trajectory_] = length;
    if (job_.total_costs_out != nullptr) job_.total_costs_out[trajectory_] = total;
    if (job_.diverged_out != nullptr) job_.diverged_out[trajectory_] = diverged_ ? 1 : 0;
  }

 private:
  std::span<double> state() { return {state_, static_cast<std::size_t>(system_.states())}; }
  std::span<double> applied() { return {applied_, static_cast<std::size_t>(system_.actions())}; }

  /// Whether the state is one to go on from.
  bool absorb_failure() {
    if (!is_bounded(state(), kDivergenceBound)) {
      diverged_ = true;
      return false;
    }
    for (int i = 0; i < system_.states(); ++i) {
      if (std::fabs(state_[i]) > settings_.failure_bounds(i)) return false;
    }
    return !system_.failed(state());
  }

  /// Features, the noisy action and the action as applied; false if one is not finite.
  bool choose_action(const CounterRandom& noise, int m) {
    const int columns = job_.feature_count;
    if (system_.own_features() > 0) {
      system_.features(state(), {features_, static_cast<std::size_t>(columns)});
      if (!is_bounded({features_, static_cast<std::size_t>(columns)}, 1e100)) return false;
    } else {
      int next = 0;
      for (int i = 0; i < system_.states(); ++i) {
        features_[next++] = state_[i] - settings_.goal(i);
      }
      if (job_.features.bias) features_[next++] = 1;
      if (job_.features.second_order) {
        for (int i = 0; i < system_.states(); ++i) {
          for (int j = i; j < system_.states(); ++j) {
            features_[next++] = features_[i] * features_[j];
          }
        }
      }
    }
    for (int a = 0; a < system_.actions(); ++a) {
      double u = 0;
      for (int f = 0; f < columns; ++f) u += job_.gains[a * columns + f] * features_[f];
      if (job_.sigma > 0) {
        u += std::clamp(
            job_.sigma * noise.normal(static_cast<std::uint32_t>(m * system_.actions() + a)),
            -job_.noise_limit, job_.noise_limit);
      }
      if (!(std::fabs(u) <= 1e100)) return false;
      action_[a] = u;
      applied_[a] = std::clamp(u, settings_.action_low(a), settings_.action_high(a));
    }
    return true;
  }

  void store(int m, bool live, double cost) {
    if (job_.features_out == nullptr) return;
    const std::size_t row = static_cast<std::size_t>(m);
    const std::size_t columns = static_cast<std::size_t>(job_.feature_count);
    const std::size_t actions = static_cast<std::size_t>(system_.actions());
    for (std::size_t f = 0; f < columns; ++f) {
      job_.features_out[(row * columns + f) * job_.stride + trajectory_] = live ? features_[f] : 0;
    }
    for (std::size_t a = 0; a < actions; ++a) {
      job_.actions_out[(row * actions + a) * job_.stride + trajectory_] = live ? action_[a] : 0;
    }
    job_.costs_out[row * job_.stride + trajectory_] = cost;
  }

  const RolloutJob& job_;
  const CustomSystem& system_;
  const TaskSettings& settings_;
  const int trajectory_;
  bool diverged_ = false;
  double state_[kMaxCustomStates], next_[kMaxCustomStates];
  double action_[kMaxCustomActions], applied_[kMaxCustomActions];
  double features_[kMaxCustomFeatures];
};

}  // namespace

void simulate_custom_chunk(const RolloutJob& job, const CustomSystem& system, int first) {
  const int end = std::min(first + kKernelChunk, job.count);
  for (int i = first; i < end; ++i) CustomTrajectory(job, system, i).run();
}

}  // namespace lifeguard
