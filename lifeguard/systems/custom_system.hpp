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

/// A type with equations for doubles; see UserSystem.
template <class S>
concept SimpleSystem = requires(const S system, std::array<double, S::kStates> x,
                                std::array<double, S::kActions> u) {
  { system.step(x, u) } -> std::convertible_to<std::array<double, S::kStates>>;
  { system.cost(x, u) } -> std::convertible_to<double>;
};

struct RolloutJob;  // a batch as the simulation kernels see it: trajectories/rollout_job.hpp

/// Equations of motion that trajectories/compile_system.hpp has compiled: for one state of doubles,
/// and for chunks of trajectories on the widest vectors that the processor has. `system` is the
/// user's type.
struct CompiledEquations {
  void (*step)(const void* system, const double* x, const double* u, double* next);
  double (*cost)(const void* system, const double* x, const double* u);
  bool (*failed)(const void* system, const double* x);
  void (*features)(const void* system, const double* x, double* out);
  void (*simulate_chunk)(const void* system, const RolloutJob& job, int first);
};

/// A type with equations for any number type, compiled for vectors; see UserSystem.
template <class S>
concept CompiledSystem = requires {
  { S::equations() } -> std::convertible_to<CompiledEquations>;
};

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
/// Its rollouts run at the speed of the built-in systems if the equations are written for a generic
/// number type instead and compiled for vectors: then the type has no step(), cost(), features()
/// and failed() but the one line
///
///     static lifeguard::CompiledEquations equations();
///
/// and the rest is said in trajectories/compile_system.hpp (examples/fast_pendulum.hpp).
///
/// All of it is const and without hidden state: `start` may draw from the given random numbers
/// only, so a batch of trajectories stays a pure function of its seed. A type that can be compared
/// with == makes tasks that can.
// clang-format off
template <class S>
concept UserSystem = (SimpleSystem<S> || CompiledSystem<S>) &&
    requires(const S system, const CounterRandom random) {
  { system.start(random) } -> std::convertible_to<std::array<double, S::kStates>>;
};
// clang-format on

/// Some trajectories out of several whose numbers stand side by side: number i of trajectory t is
/// at [i * kWidth + t].
struct SideBySide {
  static constexpr int kWidth = 16;
  std::span<const int> live;  // the trajectories that are meant
};

/// A user's system with its type forgotten, so that a Task can hold it.
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

  /// The same for several trajectories: one virtual call for all of them.
  virtual void step_all(SideBySide all, const double* u, double* x) const = 0;
  virtual void cost_all(SideBySide all, const double* x, const double* u, double* cost) const = 0;
  virtual void failed_all(SideBySide all, const double* x, bool* failed) const = 0;
  virtual void features_all(SideBySide all, const double* x, double* out) const = 0;
  /// Simulates a whole chunk with equations that are compiled for vectors; false if there are none.
  virtual bool simulate_chunk(const RolloutJob& job, int first) const = 0;

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
    write<S::kStates>(step_of(read<S::kStates>(x), read<S::kActions>(u)), next);
  }
  double cost(std::span<const double> x, std::span<const double> u) const override {
    return cost_of(read<S::kStates>(x), read<S::kActions>(u));
  }
  bool failed(std::span<const double> x) const override { return failed_of(read<S::kStates>(x)); }
  void features(std::span<const double> x, std::span<double> out) const override {
    write<kOwnFeatures>(features_of(read<S::kStates>(x)), out);
  }

  void step_all(SideBySide all, const double* u, double* x) const override {
    for (const int t : all.live) {
      write_column<S::kStates>(step_of(column<S::kStates>(x, t), column<S::kActions>(u, t)), x, t);
    }
  }
  void cost_all(SideBySide all, const double* x, const double* u, double* cost) const override {
    for (const int t : all.live) {
      cost[t] = cost_of(column<S::kStates>(x, t), column<S::kActions>(u, t));
    }
  }
  void failed_all(SideBySide all, const double* x, bool* failed) const override {
    for (const int t : all.live) failed[t] = failed_of(column<S::kStates>(x, t));
  }
  void features_all(SideBySide all, const double* x, double* out) const override {
    for (const int t : all.live) {
      write_column<kOwnFeatures>(features_of(column<S::kStates>(x, t)), out, t);
    }
  }
  bool simulate_chunk([[maybe_unused]] const RolloutJob& job,
                      [[maybe_unused]] int first) const override {
    if constexpr (CompiledSystem<S>) {
      S::equations().simulate_chunk(&system_, job, first);
      return true;
    }
    return false;
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

  using State = std::array<double, S::kStates>;
  using Action = std::array<double, S::kActions>;

  /// The equations in whichever form they are.
  State step_of(const State& x, const Action& u) const {
    if constexpr (CompiledSystem<S>) {
      State next{};
      S::equations().step(&system_, x.data(), u.data(), next.data());
      return next;
    } else {
      return system_.step(x, u);
    }
  }
  double cost_of(const State& x, const Action& u) const {
    if constexpr (CompiledSystem<S>) {
      return S::equations().cost(&system_, x.data(), u.data());
    } else {
      return system_.cost(x, u);
    }
  }
  bool failed_of([[maybe_unused]] const State& x) const {
    if constexpr (CompiledSystem<S>) {
      return S::equations().failed(&system_, x.data());
    } else if constexpr (requires { system_.failed(x); }) {
      return system_.failed(x);
    }
    return false;
  }
  std::array<double, kOwnFeatures> features_of([[maybe_unused]] const State& x) const {
    std::array<double, kOwnFeatures> out{};
    if constexpr (kOwnFeatures > 0) {
      if constexpr (CompiledSystem<S>) {
        S::equations().features(&system_, x.data(), out.data());
      } else {
        out = system_.features(x);
      }
    }
    return out;
  }

  /// The numbers of trajectory t.
  template <int kSize>
  static std::array<double, kSize> column(const double* all, int t) {
    std::array<double, kSize> to{};
    for (int i = 0; i < kSize; ++i) to[i] = all[i * SideBySide::kWidth + t];
    return to;
  }
  template <int kSize>
  static void write_column(const std::array<double, kSize>& from, double* all, int t) {
    for (int i = 0; i < kSize; ++i) all[i * SideBySide::kWidth + t] = from[i];
  }
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
