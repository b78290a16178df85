#include "lifeguard/runs/family_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "lifeguard/core/check.hpp"

namespace lifeguard::family_config_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::string& toml) {
  try {
    parse_family(toml, "drones.toml");
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "no error";
}

TEST(FamilyConfig, TheWrittenOutQuadrotorIsTheBuiltInOne) {
  const Family file = load_family(LIFEGUARD_SOURCE_DIR "/configs/families/quadrotor.toml");
  const Family built_in = quadrotor_family();
  EXPECT_EQ(file.name, built_in.name);
  EXPECT_EQ(file.settings, built_in.settings);
  EXPECT_EQ(file.nominal, built_in.nominal);
  for (const ParameterRange& range : built_in.ranges) {
    const auto found = std::find_if(file.ranges.begin(), file.ranges.end(),
                                    [&](const auto& r) { return r.parameter == range.parameter; });
    ASSERT_NE(found, file.ranges.end());
    EXPECT_EQ(found->low, range.low);
    EXPECT_EQ(found->high, range.high);
  }
}

TEST(FamilyConfig, ReplacesOnlyWhatTheFileSays) {
  const Family family = parse_family(R"(
    [family]
    base = "cart-pole"
    name = "long poles"
    [family.parameters]
    pole_length_metres = { low = 0.5, high = 2, scale = "logarithmic" }
    cart_mass_kilograms = 2
    [family.settings]
    integrator = "runge_kutta_4"
    action_high = 5
    failure_bounds = [inf, inf, 1.5, inf]
  )",
                                     "poles.toml");
  EXPECT_EQ(family.name, "long poles");
  EXPECT_EQ(family.settings.integrator, Integrator::runge_kutta_4);
  EXPECT_EQ(family.settings.action_high(0), 5);
  EXPECT_EQ(family.settings.action_low(0), -20);
  EXPECT_EQ(family.settings.failure_bounds(2), 1.5);
  for (int i = 0; i < 20; ++i) {
    const Task task = family.draw(1, static_cast<std::uint64_t>(i));
    EXPECT_EQ(parameter(task.system, "cart_mass_kilograms"), 2);
    EXPECT_GE(parameter(task.system, "pole_length_metres"), 0.5);
    EXPECT_LE(parameter(task.system, "pole_length_metres"), 2);
    EXPECT_LE(parameter(task.system, "pole_mass_kilograms"), 0.2);
  }
}

TEST(FamilyConfig, EveryFileInConfigsIsValid) {
  for (const auto& entry :
       std::filesystem::directory_iterator(LIFEGUARD_SOURCE_DIR "/configs/families")) {
    EXPECT_NO_THROW(load_family(entry.path())) << entry.path();
  }
}

TEST(FamilyConfig, ErrorsNameFileLineKeyValueAndRule) {
  const std::string head = "[family]\nbase = \"quadrotor\"\n";
  EXPECT_EQ(error_of(head + "[family.settings]\nsigma = \"much\""),
            "drones.toml:4: family.settings.sigma = 'much': must be a number");
  EXPECT_THAT(error_of(head + "colour = 3"),
              HasSubstr("drones.toml:3: family.colour = 3: unknown"));
  EXPECT_THAT(
      error_of(head + "[family.parameters]\nmass = 1"),
      HasSubstr("drones.toml:4: family.parameters.mass = 1: unknown key; the parameters are"));
  EXPECT_THAT(
      error_of(head + "[family.parameters]\nmass_kilograms = [2, 1]"),
      HasSubstr("drones.toml:4: family.parameters.mass_kilograms = [ 2, 1 ]: must have low"));
  EXPECT_THAT(error_of(head + "[family.parameters]\nmass_kilograms = -1"),
              HasSubstr("mass_kilograms = -1: must be finite and greater than 0"));
  EXPECT_THAT(error_of(head + "[family.settings]\ngoal = [1, 2]"),
              HasSubstr("must have 6 entries"));
  EXPECT_THAT(error_of(head + "[family.settings]\nintegrator = \"rk45\""),
              HasSubstr("\"runge_kutta_4\""));
  EXPECT_THAT(error_of(head + "[family.settings]\nsigma = nan"), HasSubstr("sigma = nan"));
  EXPECT_THAT(error_of("[family]\nbase = \"boat\""), HasSubstr("drones.toml:2: family.base"));
  EXPECT_THAT(error_of("[family]\n"), HasSubstr("family.base = (missing)"));
  EXPECT_THAT(error_of("x = 1"), HasSubstr("drones.toml:1: x = 1: unknown key"));
  EXPECT_THAT(error_of("[family"), HasSubstr("drones.toml:1 = (not TOML)"));
  EXPECT_THROW(load_family("no/such/file.toml"), InvalidInput);
}

TEST(FamilyConfig, SettingsThatBreakARuleAreNamedWithTheirKeyAndLine) {
  const std::string settings = "[family]\nbase = \"quadrotor\"\n[family.settings]\n";
  EXPECT_THAT(error_of(settings + "goal = 0\nsigma = -1"),
              StartsWith("drones.toml:5: family.settings.sigma = -1: "));
  EXPECT_THAT(error_of(settings + "goal = [0, 0, 0,\n2e6, 0, 0]"),
              StartsWith("drones.toml:5: family.settings.goal[3] = 2000000: "));
  EXPECT_THAT(error_of(settings + "goal = 2e6"),
              StartsWith("drones.toml:4: family.settings.goal[0] = 2000000: "));
  // Of the two that do not fit together the base has one, which stands in no line.
  EXPECT_THAT(error_of(settings + "start_high = -50"),
              StartsWith("drones.toml:3: family.settings.start_low[0] = "));
  // What other rules are about is no setting.
  EXPECT_THAT(error_of("[family]\nbase = \"quadrotor\"\nname = \"\""),
              StartsWith("drones.toml: name = "));
}

}  // namespace lifeguard::family_config_test
