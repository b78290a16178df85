#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "lifeguard/core/random.hpp"

namespace lifeguard {

/// A user's own system is one small type like this one (examples/pendulum.hpp is a whole one):
///
///   struct Pendulum {
///     static constexpr int kStates = 2;
///     static constexpr int kActions = 1;
///     std::array<double, 2> start(const CounterRandom& random) const;
///     std::array<double, 2> step(const std::array<double, 2>& x,
///                                const std::array<double, 1>& u) const;
///     double cost(const std::array<double, 2>& x, const std::array<double, 1>& u) const;
///
///     // Optional: an absorbing failure, and features of its own instead of Features.
///     bool failed(const std::array<double, 2>& x) const;
///     static constexpr int kFeatures = 3;
///     std::array<double, 3> features(const std::array<double, 2>& x) const;
///   };
///
/// All of it is const and without hidden state: `start` may draw from the given random numbers
/// only, so a batch of trajectories stays a pure function of its seed.
template <class S>
concept UserSystem = requires(const S system, const CounterRandom random,
                              std::array<double, S::kStates> x, std::array<double, S::kActions> u) {
  { system.start(random) } -> std::convertible_to<std::array<double, S::kStates>>;
  { system.step(x, u) } -> std::convertible_to<std::array<double, S::kStates>>;
  { system.cost(x, u) } -> std::convertible_to<double>;
};

/// The same with its type forgotten, so that a Task can hold it. One virtual call a step: a
/// user's own dynamics cost more than that.
class CustomSystem {
 public:
  virtual ~CustomSystem() = default;
  virtual int states() const = 0;
  virtual int actions() const = 0;
  /// Number of features of its own, 0 if the policy sees Features of the state.
  virtual int own_features() const = 0;
  virtual void start(const CounterRandom& random, std::span<double> x) const = 0;
  virtual void step(std::span<const double> x, std::span<const double> u,
                    std::span<double> next) const = 0;
  virtual double cost(std::span<const double> x, std::span<const double> u) const = 0;
  virtual bool failed(std::span<const double> x) const = 0;
  virtual void features(std::span<const double> x, std::span<double> out) const = 0;
};

template <UserSystem S>
class CustomSystemOf final : public CustomSystem {
 public:
  explicit CustomSystemOf(S system) : system_(std::move(system)) {}
  int states() const override { return S::kStates; }
  int actions() const override { return S::kActions; }
  int own_features() const override {
    if constexpr (requires { S::kFeatures; }) return S::kFeatures;
    return 0;
  }
  void start(const CounterRandom& random, std::span<double> x) const override {
    write<S::kStates>(system_.start(random), x);
  }
  void step(std::span<const double> x, std::span<const double> u,
            std::span<double> next) const override {
    write<S::kStates>(system_.step(read<S::kStates>(x), read<S::kActions>(u)), next);
  }
  double cost(std::span<const double> x, std::span<const double> u) const override {
    return system_.cost(read<S::kStates>(x), read<S::kActions>(u));
  }
  bool failed([[maybe_unused]] std::span<const double> x) const override {
    if constexpr (requires { system_.failed(read<S::kStates>(x)); }) {
      return system_.failed(read<S::kStates>(x));
    }
    return false;
  }
  void features([[maybe_unused]] std::span<const double> x,
                [[maybe_unused]] std::span<double> out) const override {
    if constexpr (requires { S::kFeatures; }) {
      write<S::kFeatures>(system_.features(read<S::kStates>(x)), out);
    }
  }

 private:
  template <int kSize>
  static std::array<double, kSize> read(std::span<const double> from) {
    std::array<double, kSize> to{};
    for (int i = 0; i < kSize; ++i) to[i] = from[i];
    return to;
  }
  template <int kSize>
  static void write(const std::array<double, kSize>& from, std::span<double> to) {
    for (int i = 0; i < kSize; ++i) to[i] = from[i];
  }

  S system_;
};

template <UserSystem S>
std::shared_ptr<const CustomSystem> make_custom_system(S system) {
  return std::make_shared<const CustomSystemOf<S>>(std::move(system));
}

}  // namespace lifeguard
