#pragma once

// Rollouts of a user's system as version 0.2 began with: one trajectory at a time, one virtual call
// for every step, cost and feature, and four normals drawn for every one that is used. Kept so that
// what took its place is measured against it in the same run.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "lifeguard/core/random.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {

class PlainCustomLoop {
 public:
  PlainCustomLoop(const CustomSystem& system, const Task& task, const GaussianPolicy& policy,
                  const RolloutSettings& settings)
      : system_(system),
        task_(task.settings),
        policy_(policy),
        settings_(settings),
        state_(task.states()),
        next_(task.states()),
        action_(task.actions()),
        applied_(task.actions()),
        features_(task.own_features()) {
    for (int a = 0; a < policy.actions(); ++a) {
      for (int f = 0; f < policy.features(); ++f) gains_.push_back(policy.gains()(a, f));
    }
  }

  void run(Trajectories& out) {
    out.reshape(settings_.trajectories, settings_.steps, policy_.features(), policy_.actions());
    for (int i = 0; i < settings_.trajectories; ++i) run(i, out);
  }

 private:
  static bool is_bounded(std::span<const double> values, double bound) {
    return std::all_of(values.begin(), values.end(),
                       [bound](double x) { return std::fabs(x) <= bound; });
  }

  void run(int i, Trajectories& out) {
    const std::uint64_t index = settings_.first_index + static_cast<std::uint64_t>(i);
    system_.start(CounterRandom(settings_.seed, RandomStream::start_state, index), state_);
    const CounterRandom noise(settings_.seed, RandomStream::exploration, index);
    bool alive = goes_on();
    int length = 0;
    for (int m = 0; m < settings_.steps; ++m) {
      alive = alive && choose_action(noise, m);
      double cost = alive ? system_.cost(state_, applied_) : task_.failure_cost;
      if (!(std::fabs(cost) <= 1e100)) {
        cost = task_.failure_cost;
        alive = false;
      }
      for (int f = 0; f < out.features(); ++f) out.feature(i, m, f) = alive ? features_[f] : 0;
      for (int a = 0; a < out.actions(); ++a) out.action(i, m, a) = alive ? action_[a] : 0;
      out.cost(i, m) = cost;
      if (!alive) continue;
      ++length;
      system_.step(state_, applied_, next_);
      std::copy(next_.begin(), next_.end(), state_.begin());
      alive = goes_on();
    }
    out.set_length(i, length);
  }

  bool goes_on() {
    if (!is_bounded(state_, kDivergenceBound)) return false;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (std::fabs(state_[i]) > task_.failure_bounds(static_cast<Eigen::Index>(i))) return false;
    }
    return !system_.failed(state_);
  }

  bool choose_action(const CounterRandom& noise, int m) {
    const int actions = policy_.actions();
    const int columns = policy_.features();
    system_.features(state_, features_);
    if (!is_bounded(features_, 1e100)) return false;
    for (int a = 0; a < actions; ++a) {
      double u = 0;
      for (int f = 0; f < columns; ++f) u += gains_[a * columns + f] * features_[f];
      u += std::clamp(policy_.sigma(a) * noise.normal(static_cast<std::uint32_t>(m * actions + a)),
                      -task_.noise_limit.of(a), task_.noise_limit.of(a));
      if (!(std::fabs(u) <= 1e100)) return false;
      action_[a] = u;
      applied_[a] = std::clamp(u, task_.action_low(a), task_.action_high(a));
    }
    return true;
  }

  const CustomSystem& system_;
  const TaskSettings& task_;
  const GaussianPolicy& policy_;
  const RolloutSettings settings_;
  std::vector<double> gains_, state_, next_, action_, applied_, features_;
};

}  // namespace lifeguard
