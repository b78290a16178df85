#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/common.hpp"
#include "lifeguard/systems/custom_system.hpp"

namespace lifeguard::python {

/// A Python object that C++ may drop on any thread, and after the interpreter has ended.
std::shared_ptr<nb::object> kept(nb::object object);

/// A user's own system, written in Python: an object whose methods take batches, one trajectory in
/// each row. python/lifeguard/own_system.py describes what it has. Its methods are called with the
/// interpreter's lock, which whoever simulates must not hold where it waits for other threads.
class PythonSystem final : public CustomSystem {
 public:
  /// Throws InvalidInput unless it has what a system must have.
  explicit PythonSystem(nb::object object);

  /// The user's object.
  const nb::object& object() const { return *object_; }

  int states() const override { return static_cast<int>(description_.states.size()); }
  int actions() const override { return static_cast<int>(description_.actions.size()); }
  int own_features() const override { return static_cast<int>(description_.features.size()); }
  void start(const CounterRandom& random, std::span<double> x) const override;
  void step(std::span<const double> x, std::span<const double> u,
            std::span<double> next) const override;
  double cost(std::span<const double> x, std::span<const double> u) const override;
  bool failed(std::span<const double> x) const override;
  void features(std::span<const double> x, std::span<double> out) const override;
  void step_all(SideBySide all, const double* u, double* x) const override;
  void cost_all(SideBySide all, const double* x, const double* u, double* cost) const override;
  void failed_all(SideBySide all, const double* x, bool* failed) const override;
  void features_all(SideBySide all, const double* x, double* out) const override;
  bool simulate_chunk(const RolloutJob& /*job*/, int /*first*/) const override { return false; }
  SystemDescription describe() const override { return description_; }
  TaskSettings default_settings() const override { return settings_; }
  Eigen::VectorXd equilibrium_action(const Eigen::VectorXd& goal) const override;
  void validate() const override;
  std::shared_ptr<const CustomSystem> with_parameter(std::size_t place,
                                                     double value) const override;
  bool equals(const CustomSystem& other) const override;

 private:
  struct Method {
    const char* name;
    int columns;
  };
  /// What a method says of some states, one row each; its shape is checked.
  template <class Take>
  void ask(const Method& method, const nb::object& x, const nb::object* u, std::size_t rows,
           const Take& take) const;

  std::shared_ptr<nb::object> object_;
  SystemDescription description_;
  TaskSettings settings_;
  Eigen::VectorXd start_low_;
  Eigen::VectorXd start_high_;
  bool has_start_ = false;
  bool has_failed_ = false;
};

}  // namespace lifeguard::python
