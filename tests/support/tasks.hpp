#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/core/random.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard::test_support {

inline constexpr std::array kIntegrators = {
    Integrator::explicit_euler, Integrator::semi_implicit_euler, Integrator::runge_kutta_4};

/// One task of each built-in system, so that a property can be tested on all of them.
inline std::vector<Task> built_in_tasks() {
  std::vector<Task> tasks;
  BuiltInSystems::for_each(
      [&]<class S>() { tasks.push_back(make_task(std::string(S::kName), S{})); });
  return tasks;
}

inline std::vector<Family> built_in_families() {
  std::vector<Family> families;
  BuiltInSystems::for_each([&]<class S>() {
    for (Family& family : S::families()) families.push_back(std::move(family));
  });
  return families;
}

inline Task with_integrator(Task task, Integrator integrator, double dt_seconds) {
  task.settings.integrator = integrator;
  task.settings.dt_seconds = dt_seconds;
  return task;
}

/// Entries uniform in ±scale.
inline Eigen::VectorXd random_vector(int size, double scale, std::uint64_t index) {
  const CounterRandom random(2026, RandomStream::user, index);
  Eigen::VectorXd v(size);
  for (int i = 0; i < size; ++i)
    v(i) = random.uniform(static_cast<std::uint32_t>(i), -scale, scale);
  return v;
}

inline Eigen::MatrixXd random_matrix(int rows, int columns, double scale, std::uint64_t index) {
  return random_vector(rows * columns, scale, index).reshaped(rows, columns);
}

}  // namespace lifeguard::test_support
