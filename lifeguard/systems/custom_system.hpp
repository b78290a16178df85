#pragma once

#include <Eigen/Core>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lifeguard/core/random.hpp"
#include "lifeguard/systems/task.hpp"

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
///
///     // Optional: what tables, files and pages say of it. A system that is registered
///     // (register_system) needs the name.
///     static constexpr std::string_view kName = "pendulum";
///     static constexpr std::string_view kMeaning = "a rod that a motor swings up";
///     static constexpr std::array<SignalName, 2> kStateNames =
///         {{{"angle", "rad"}, {"rate", "rad/s"}}};
///     static constexpr std::array<SignalName, 1> kActionNames = {{{"torque", "N m"}}};
///     static constexpr std::array<SignalName, 3> kFeatureNames = …;
///     static constexpr std::string_view kDrawing = "cart-pole";   // one that the page knows,
///     static constexpr std::array<int, 2> kPositions = {0, 1};    // and the states it draws
///
///     // Optional: parameters that configurations can set and families vary.
///     double length_metres = 1.0;
///     static constexpr auto parameters() {
///       return std::to_array<Parameter<Pendulum>>({{"length_metres", &Pendulum::length_metres,
///           ParameterRule::positive(), "m", "length of the rod"}});
///     }
///
///     // Optional: the settings of its tasks, the action that holds a goal, the share of LQR in
///     // first policies, and rules between parameters (throws InvalidInput).
///     static TaskSettings default_settings();
///     Eigen::VectorXd equilibrium_action(const Eigen::VectorXd& goal) const;
///     static constexpr double kStartShare = 0.15;
///     void validate() const;
///   };
///
/// All of it is const and without hidden state: `start` may draw from the given random numbers
/// only, so a batch of trajectories stays a pure function of its seed. A type that can be compared
/// with == makes tasks that can.
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
  /// The sizes of state and action.
  virtual int states() const = 0;
  virtual int actions() const = 0;
  /// Number of features of its own, 0 if the policy sees Features of the state.
  virtual int own_features() const = 0;
  /// As in the user's type, writing into the given memory.
  virtual void start(const CounterRandom& random, std::span<double> x) const = 0;
  virtual void step(std::span<const double> x, std::span<const double> u,
                    std::span<double> next) const = 0;
  virtual double cost(std::span<const double> x, std::span<const double> u) const = 0;
  virtual bool failed(std::span<const double> x) const = 0;
  virtual void features(std::span<const double> x, std::span<double> out) const = 0;

  /// Names and units, parameters, and how it is drawn; the settings of its tasks; what holds a
  /// goal.
  virtual SystemDescription describe() const = 0;
  virtual TaskSettings default_settings() const = 0;
  virtual Eigen::VectorXd equilibrium_action(const Eigen::VectorXd& goal) const = 0;
  /// Throws InvalidInput if a parameter breaks its rule.
  virtual void validate() const = 0;
  /// The same system with another value of parameter `place` of its description.
  virtual std::shared_ptr<const CustomSystem> with_parameter(std::size_t place,
                                                             double value) const = 0;
  /// Whether both are the same system with the same parameters.
  virtual bool equals(const CustomSystem& other) const = 0;
};

/// CustomSystem for one user's type.
template <UserSystem S>
class CustomSystemOf final : public CustomSystem {
 public:
  /// Keeps a copy.
  explicit CustomSystemOf(S system) : system_(std::move(system)) {}
  int states() const override { return S::kStates; }
  int actions() const override { return S::kActions; }
  int own_features() const override { return kOwnFeatures; }
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
    if constexpr (kOwnFeatures > 0) {
      write<kOwnFeatures>(system_.features(read<S::kStates>(x)), out);
    }
  }

  SystemDescription describe() const override {
    SystemDescription d;
    d.name = "custom";
    d.custom = true;
    if constexpr (requires { S::kName; }) d.name = S::kName;
    if constexpr (requires { S::kMeaning; }) d.meaning = S::kMeaning;
    d.states = numbered<S::kStates>("state");
    d.actions = numbered<S::kActions>("action");
    d.features = numbered<kOwnFeatures>("feature");
    if constexpr (requires { S::kStateNames; }) d.states = named<S::kStates>(S::kStateNames);
    if constexpr (requires { S::kActionNames; }) d.actions = named<S::kActions>(S::kActionNames);
    if constexpr (requires { S::kFeatureNames; }) {
      d.features = named<kOwnFeatures>(S::kFeatureNames);
    }
    if constexpr (HasParameters<S>) {
      static_assert(parameters_are_described<S>());
      for (const Parameter<S>& p : kParametersOf<S>) {
        d.parameters.push_back({std::string(p.name), system_.*p.field, p.rule, std::string(p.unit),
                                std::string(p.meaning)});
      }
    }
    if constexpr (requires { S::kDrawing; }) d.drawing = S::kDrawing;
    if constexpr (requires { S::kPositions; }) {
      d.positions.assign(S::kPositions.begin(), S::kPositions.end());
    }
    if constexpr (requires { S::kStartShare; }) d.start_share = S::kStartShare;
    return d;
  }
  TaskSettings default_settings() const override {
    if constexpr (requires { S::default_settings(); }) {
      return S::default_settings();
    } else {
      return TaskSettings::unlimited(S::kStates, S::kActions);
    }
  }
  Eigen::VectorXd equilibrium_action([[maybe_unused]] const Eigen::VectorXd& goal) const override {
    if constexpr (requires { system_.equilibrium_action(goal); }) {
      return system_.equilibrium_action(goal);
    } else {
      return Eigen::VectorXd::Zero(S::kActions);
    }
  }
  void validate() const override {
    if constexpr (HasParameters<S>) require_parameters(system_);
    if constexpr (requires { system_.validate(); }) system_.validate();
  }
  std::shared_ptr<const CustomSystem> with_parameter([[maybe_unused]] std::size_t place,
                                                     [[maybe_unused]] double value) const override {
    S changed = system_;
    if constexpr (HasParameters<S>) changed.*kParametersOf<S>.at(place).field = value;
    return std::make_shared<const CustomSystemOf>(std::move(changed));
  }
  bool equals(const CustomSystem& other) const override {
    if constexpr (std::equality_comparable<S>) {
      const auto* same_type = dynamic_cast<const CustomSystemOf*>(&other);
      return same_type != nullptr && same_type->system_ == system_;
    }
    return this == &other;
  }

 private:
  static constexpr int kOwnFeatures = [] {
    if constexpr (requires { S::kFeatures; }) {
      return S::kFeatures;
    } else {
      return 0;
    }
  }();

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
  template <int kSize>
  static std::vector<Signal> named(const std::array<SignalName, kSize>& names) {
    std::vector<Signal> signals;
    for (const SignalName& name : names) signals.push_back(name.signal());
    return signals;
  }
  /// "state 1", "state 2", … of unknown units.
  template <int kSize>
  static std::vector<Signal> numbered(const std::string& name) {
    std::vector<Signal> signals;
    for (int i = 0; i < kSize; ++i) signals.push_back({name + ' ' + std::to_string(i + 1), ""});
    return signals;
  }

  S system_;
};

/// A user's own system, ready for make_task.
template <UserSystem S>
std::shared_ptr<const CustomSystem> make_custom_system(S system) {
  return std::make_shared<const CustomSystemOf<S>>(std::move(system));
}

/// Makes a user's type known by its name, with a family in which these parameters vary.
template <UserSystem S>
void register_system(S system, std::vector<ParameterRange> ranges = {}) {
  const System custom = make_custom_system(std::move(system));
  register_system(custom, {make_family(system_name(custom), custom, std::move(ranges))});
}

}  // namespace lifeguard
