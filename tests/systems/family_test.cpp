#include "lifeguard/systems/task.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/invalid_input.hpp"
#include "tests/support/statistics.hpp"
#include "tests/support/tasks.hpp"

#include "lifeguard/systems/built_in_systems.hpp"

namespace lifeguard::family_test {

using test_support::expect_invalid;

constexpr int kDraws = 2000;

std::vector<double> drawn_values(const Family& family, const std::string& name) {
  std::vector<double> values;
  for (int i = 0; i < kDraws; ++i) {
    values.push_back(parameter(family.draw(77, static_cast<std::uint64_t>(i)).system, name));
  }
  return values;
}

TEST(Family, DrawsStayInTheirRangesAndFollowTheirDistribution) {
  for (const Family& family : test_support::built_in_families()) {
    for (const ParameterRange& range : family.ranges) {
      const std::vector<double> values = drawn_values(family, range.parameter);
      for (const double value : values) {
        ASSERT_GE(value, range.low);
        ASSERT_LE(value, range.high);
      }
      const auto distribution = [&](double x) {
        return range.logarithmic ? std::log(x / range.low) / std::log(range.high / range.low)
                                 : (x - range.low) / (range.high - range.low);
      };
      EXPECT_LT(test_support::kolmogorov_smirnov(values, distribution), 1.95)
          << family.name << ' ' << range.parameter;
    }
  }
}

TEST(Family, WideFamiliesDrawTheGainLogUniformly) {
  const Family family = wide_mass_spring_family();
  ASSERT_TRUE(family.ranges.back().logarithmic);
  int weak = 0;
  for (const double gain : drawn_values(family, "actuator_gain")) weak += gain < 1 ? 1 : 0;
  // Half of [1/3, 3] in the logarithm; a quarter if the gain itself were uniform.
  EXPECT_NEAR(weak, kDraws / 2.0, 5 * std::sqrt(kDraws) / 2);
}

TEST(Family, ParametersOfATaskAreUncorrelated) {
  const Family family = quadrotor_family();
  for (std::size_t i = 0; i < family.ranges.size(); ++i) {
    for (std::size_t j = i + 1; j < family.ranges.size(); ++j) {
      const double correlation =
          test_support::scaled_correlation(drawn_values(family, family.ranges[i].parameter),
                                           drawn_values(family, family.ranges[j].parameter));
      EXPECT_LT(std::fabs(correlation), 4);
    }
  }
}

TEST(Family, ATaskIsAPureFunctionOfSeedAndIndex) {
  for (const Family& family : test_support::built_in_families()) {
    const std::vector<Task> tasks = family.draw_many(9, 20);
    for (std::uint64_t i = 20; i-- > 0;) EXPECT_EQ(tasks[i], family.draw(9, i));
    EXPECT_EQ(family.draw_many(9, 5)[4], tasks[4]);
    EXPECT_NE(family.draw(10, 0).system, tasks[0].system);
    EXPECT_NE(tasks[1].system, tasks[0].system);
  }
}

TEST(Family, ParametersWithoutARangeAreNominal) {
  Family family = quadrotor_family();
  family.ranges.resize(1);
  set_parameter(family.nominal, "mass_kilograms", 0.8);
  const Task task = family.draw(1, 2);
  for (const std::string& name : parameter_names(family.nominal)) {
    if (name == family.ranges[0].parameter) {
      EXPECT_NE(parameter(task.system, name), parameter(family.nominal, name));
    } else {
      EXPECT_EQ(parameter(task.system, name), parameter(family.nominal, name)) << name;
    }
  }
  EXPECT_EQ(task.settings, family.settings);
}

TEST(Family, ARangeOfOnePointIsThatPoint) {
  Family family = mass_spring_family();
  for (const bool logarithmic : {false, true}) {
    family.ranges = {{"mass_kilograms", 1.1, 1.1, logarithmic}};
    EXPECT_EQ(parameter(family.draw(1, 1).system, "mass_kilograms"), 1.1);
  }
}

TEST(Family, EveryParameterCanBeReadAndWrittenByName) {
  for (const Task& task : test_support::built_in_tasks()) {
    System system = task.system;
    double value = 10;
    for (const std::string& name : parameter_names(system)) set_parameter(system, name, value++);
    value = 10;
    for (const std::string& name : parameter_names(system)) {
      EXPECT_EQ(parameter(static_cast<const System&>(system), name), value++);
    }
  }
}

TEST(Family, NamesFindTheirFamilies) {
  for (const std::string& name : family_names()) EXPECT_EQ(family_by_name(name).name, name);
  expect_invalid([] { family_by_name("bicycle"); }, "family", "bicycle", "cart-pole");
}

struct Expected {
  std::string family;
  std::string parameter;
  double low;
  double high;
};

TEST(Family, DefaultRanges) {
  const std::vector<Expected> table = {
      {"mass-spring", "spring_newtons_per_metre", 1, 10},
      {"mass-spring", "damping_newton_seconds_per_metre", 0.01, 0.2},
      {"mass-spring", "mass_kilograms", 0.5, 5},
      {"cart-pole", "cart_mass_kilograms", 0.5, 1.5},
      {"cart-pole", "pole_mass_kilograms", 0.1, 0.2},
      {"cart-pole", "pole_length_metres", 0.2, 0.8},
      {"cart-pole", "damping_newton_seconds_per_metre", 0.01, 0.09},
      {"quadrotor", "inertia_x_kilogram_metres2", 4.5e-3, 6.5e-3},
      {"quadrotor", "inertia_y_kilogram_metres2", 4.2e-3, 5.2e-3},
      {"quadrotor", "inertia_z_kilogram_metres2", 1.5e-2, 2.1e-2},
      {"quadrotor", "arm_metres", 0.27, 0.30}};
  std::size_t ranges = 0;
  for (const char* name : {"mass-spring", "cart-pole", "quadrotor"}) {
    ranges += family_by_name(name).ranges.size();
  }
  EXPECT_EQ(ranges, table.size());
  for (const Expected& row : table) {
    bool found = false;
    for (const ParameterRange& range : family_by_name(row.family).ranges) {
      if (range.parameter != row.parameter) continue;
      found = range.low == row.low && range.high == row.high && !range.logarithmic;
    }
    EXPECT_TRUE(found) << row.family << ' ' << row.parameter;
  }
  const Quadrotor nominal = built_in_as<Quadrotor>(quadrotor_family().nominal);
  EXPECT_EQ(nominal.mass_kilograms, 0.65);
  EXPECT_EQ(nominal.thrust_newton_seconds2, 3.13e-5);
  EXPECT_EQ(nominal.drag_newton_metre_seconds2, 7.5e-7);
  EXPECT_EQ(nominal.rotor_inertia_kilogram_metres2, 6e-5);
}

TEST(FamilyInput, LowAboveHigh) {
  Family family = mass_spring_family();
  family.ranges[0].low = 11;
  expect_invalid([&] { family.draw(0, 0); }, "mass-spring.ranges.spring_newtons_per_metre.low",
                 "11", "must not exceed high = 10");
}

TEST(FamilyInput, NotFinite) {
  Family family = cart_pole_family();
  family.ranges[2].high = std::numeric_limits<double>::quiet_NaN();
  expect_invalid([&] { family.validate(); }, "cart-pole.ranges.pole_length_metres.high", "nan",
                 "must be finite");
  family.ranges[2].high = 1;
  family.ranges[2].low = -std::numeric_limits<double>::infinity();
  expect_invalid([&] { family.validate(); }, "cart-pole.ranges.pole_length_metres.low", "-inf",
                 "must be finite");
}

TEST(FamilyInput, UnknownParameter) {
  Family family = mass_spring_family();
  family.ranges.push_back({"colour", 1, 2});
  expect_invalid([&] { family.validate(); }, "parameter", "colour",
                 "must be one of spring_newtons");
}

TEST(FamilyInput, NegativeMass) {
  Family family = mass_spring_family();
  family.ranges[2].low = -1;
  expect_invalid([&] { family.validate(); }, "mass_kilograms", "-1", "greater than 0");
  family = quadrotor_family();
  set_parameter(family.nominal, "mass_kilograms", -0.5);
  expect_invalid([&] { family.draw(0, 0); }, "mass_kilograms", "-0.5", "greater than 0");
}

TEST(FamilyInput, LogarithmicRangeFromZero) {
  Family family = mass_spring_family();
  family.ranges[1].low = 0;
  EXPECT_NO_THROW(family.validate());
  family.ranges[1].logarithmic = true;
  expect_invalid([&] { family.validate(); },
                 "mass-spring.ranges.damping_newton_seconds_per_metre.low", "0",
                 "greater than 0 in a logarithmic range");
}

TEST(FamilyInput, NoNameOrNoTasks) {
  Family family = mass_spring_family();
  expect_invalid([&] { family.draw_many(0, 0); }, "tasks", "0", "at least 1");
  family.name.clear();
  expect_invalid([&] { family.validate(); }, "name", "\"\"", "must not be empty");
}

}  // namespace lifeguard::family_test
