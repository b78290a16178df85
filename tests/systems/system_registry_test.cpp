// A user's own system by its name: from a configuration through a run, its file, its check, its
// report and its exported policy, as if it were built in.

#include "lifeguard/systems/custom_system.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "examples/pendulum.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/comparison.hpp"
#include "lifeguard/runs/family_config.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/policy_header.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/system_reference.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/invalid_input.hpp"

namespace lifeguard::system_registry_test {

using Json = nlohmann::ordered_json;
using test_support::expect_invalid;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A cart without friction that says nothing of itself but its name.
struct BareCart {
  static constexpr std::string_view kName = "bare-cart";
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  std::array<double, 2> start(const CounterRandom& random) const { return {random.uniform(0), 0}; }
  std::array<double, 2> step(const std::array<double, 2>& x, const std::array<double, 1>& u) const {
    return {x[0] + 0.1 * x[1], x[1] + 0.1 * u[0]};
  }
  double cost(const std::array<double, 2>& x, const std::array<double, 1>&) const {
    return x[0] * x[0];
  }
};

void register_own_systems() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_system(Pendulum{}, {{"mass", 0.8, 1.2}, {"length", 0.9, 1.1, true}});
    register_system(BareCart{});
  });
}

class OwnSystem : public test_support::Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    register_own_systems();
  }

  static ExperimentConfig config(const std::string& base, const std::string& rest) {
    return parse_config(fmt::format("[experiment]\nname = \"own\"\nrounds = 12\ntasks = 3\n"
                                    "trajectories = 12\nsteps = 40\n"
                                    "[evaluation]\nstart_states = 4\n[family]\nbase = \"{}\"\n{}",
                                    base, rest),
                        "own.toml");
  }
};

constexpr const char* kBox = "[safe_set.gain_box]\nlower = -20\nupper = 20\n";

TEST_F(OwnSystem, GoesFromAConfigurationToAnExportedPolicy) {
  const ExperimentConfig own = config("pendulum", kBox);
  const auto path = folder_ / "a.run";
  ASSERT_EQ(start_run(own, path), RunStatus::finished);

  const RunCheck check = check_run(path, /*replay=*/true);
  EXPECT_THAT(check.findings, IsEmpty());
  EXPECT_EQ(check.rounds, 12);
  EXPECT_TRUE(check.certificate_checked);
  EXPECT_TRUE(check.replayed);

  // The file has the parameters of the drawn tasks.
  const std::vector<Task> tasks = own.family.draw_many(0, 3);
  SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
  SQLite::Statement query(database, "SELECT parameters FROM tasks ORDER BY task");
  for (const Task& task : tasks) {
    ASSERT_TRUE(query.executeStep());
    const Json stored = Json::parse(query.getColumn(0).getString());
    EXPECT_EQ(stored.size(), 4);
    EXPECT_EQ(stored["mass"].get<double>(), parameter(task.system, "mass"));
    EXPECT_NE(stored["mass"].get<double>(), 1.0);
    EXPECT_EQ(stored["gravity"].get<double>(), 10.0);
  }

  const Json report = report_data({path});
  const Json& run = report["experiments"][0]["runs"][0];
  EXPECT_EQ(run["system"], "pendulum");
  EXPECT_EQ(run["drawing"], "");
  EXPECT_EQ(run["signals"], Json::parse(R"([{"name": "angle from upright", "unit": "rad"},
                                            {"name": "angular velocity", "unit": "rad/s"}])"));
  EXPECT_EQ(run["parameters"], Json({"gain on cos angle (N m)", "gain on sin angle (N m)",
                                     "gain on angular velocity (N m/(rad/s))"}));
  EXPECT_EQ(run["frame_seconds"].get<double>(), 0.1);
  ASSERT_EQ(run["tasks"].size(), 3);
  for (const Json& task : run["tasks"]) {
    EXPECT_EQ(task["policy"].size(), 3);
    for (const char* flights : {"first_flights", "last_flights"}) {
      ASSERT_EQ(task[flights].size(), 3);
      EXPECT_EQ(task[flights][0].size(), 20);
      EXPECT_EQ(task[flights][0][0].size(), 2);
    }
    // The first policies do nothing: the pendulum starts anywhere and falls as it must.
    EXPECT_NE(task["first_flights"][0][0], task["first_flights"][1][0]);
  }

  const ExportedPolicy policy = export_policy(RunReader(path), "1");
  EXPECT_EQ(policy.system, "pendulum");
  EXPECT_EQ(policy.gains.cols(), 3);
  EXPECT_TRUE(policy.goal.isZero(0));
  EXPECT_GE(policy.margin, 0);
  const Json json = policy_to_json(policy);
  EXPECT_EQ(json["inputs"][1]["name"], "sin angle");
  EXPECT_EQ(json["actions"][0], Json({{"name", "torque"}, {"unit", "N m"}}));
  const std::string header = policy_to_header(policy);
  EXPECT_THAT(header, HasSubstr("constexpr int kFeatures = 3;"));
  EXPECT_THAT(header, HasSubstr("act(const double features[kFeatures]"));
  EXPECT_THAT(header, HasSubstr("cos angle, sin angle, angular velocity [rad/s]"));
}

TEST_F(OwnSystem, IsPlayedByEveryMethod) {
  for (const std::string_view name : method_names()) {
    const std::string method(name);
    const ExperimentConfig own = configuration_of(config("pendulum", kBox), method, 1);
    const auto path = folder_ / (method + ".run");
    ASSERT_EQ(start_run(own, path), RunStatus::finished);
    EXPECT_THAT(
        check_run(path, /*replay=*/true).findings,
        method == "learner" ? testing::Matcher<std::vector<std::string>>(IsEmpty()) : testing::_);
  }
}

TEST_F(OwnSystem, HasSafeSetsAroundItsLqrControllerAndFirstPoliciesOnTheWayThere) {
  const ExperimentConfig own = config("pendulum",
                                      "[safe_set]\nslack_limit = 100\n"
                                      "[safe_set.lqr_box]\nreach = 0.5\n");
  for (const Task& task : own.family.draw_many(0, 3)) {
    const Eigen::VectorXd lqr = parameters_from_gains(lqr_gains(task));
    ASSERT_EQ(lqr.size(), 3);
    EXPECT_TRUE(safe_set_of(own, task).rows() > 0);
    EXPECT_LT(margins(safe_set_of(own, task), lqr).worst(), 0);
    EXPECT_GT(margins(safe_set_of(own, task), 0.4 * lqr).worst(), 0);
  }
  ExperimentConfig with_start = own;
  with_start.start_lqr_share = 0.2;
  EXPECT_GT(draw_tasks(with_start).start.norm(), 1);
}

TEST_F(OwnSystem, WithoutWeightsHasNoLqrAndNeedsNone) {
  const ExperimentConfig own = config("bare-cart", "[safe_set.gain_box]\nlower = -2\nupper = 2\n");
  const auto path = folder_ / "bare.run";
  ASSERT_EQ(start_run(own, path), RunStatus::finished);
  EXPECT_THAT(check_run(path, /*replay=*/true).findings, IsEmpty());
  const Json report = report_data({path});
  const Json& run = report["experiments"][0]["runs"][0];
  EXPECT_FALSE(run["tasks"][0].contains("lqr"));
  EXPECT_EQ(run["parameters"], Json({"gain on state 1", "gain on state 2"}));
  EXPECT_EQ(run["signals"][1], Json({{"name", "state 2"}, {"unit", ""}}));
  EXPECT_EQ(export_policy(RunReader(path), "0").inputs[0].name, "state 1");
  EXPECT_THROW(config("bare-cart", "[safe_set.lqr_box]\nreach = 0.5\n"), InvalidInput);
}

TEST_F(OwnSystem, IsVariedByConfigurations) {
  const Family family = parse_family(
      "[family]\nbase = \"pendulum\"\nname = \"heavy\"\n"
      "[family.parameters]\nmass = [2, 3]\ngravity = 9.81\n[family.settings]\nsigma = 0.1\n",
      "heavy.toml");
  const Task task = family.draw(1, 0);
  EXPECT_GE(parameter(task.system, "mass"), 2);
  EXPECT_NE(parameter(task.system, "mass"), parameter(family.draw(1, 1).system, "mass"));
  EXPECT_EQ(parameter(task.system, "gravity"), 9.81);
  EXPECT_NE(parameter(task.system, "length"), 1);
  EXPECT_EQ(task.settings.sigma, 0.1);
  EXPECT_EQ(task, family.draw(1, 0));
  EXPECT_NE(task, family.draw(1, 1));
  // The parameters reach the dynamics.
  Pendulum pendulum;
  pendulum.mass = parameter(task.system, "mass");
  pendulum.length = parameter(task.system, "length");
  pendulum.gravity = 9.81;
  const Pendulum::State next = pendulum.step({0.3, 0.2}, {0.7});
  EXPECT_EQ(task.step(Eigen::Vector2d(0.3, 0.2), Eigen::VectorXd::Constant(1, 0.7)),
            Eigen::Vector2d(next[0], next[1]));
}

TEST_F(OwnSystem, MistakesInConfigurationsAreFoundAsForBuiltInSystems) {
  const auto error_of = [](const std::string& rest) -> std::string {
    try {
      parse_family("[family]\nbase = \"pendulum\"\n" + rest, "p.toml");
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("[family.parameters]\nmass = -1"),
            "p.toml:4: family.parameters.mass = -1: must be finite and greater than 0");
  EXPECT_EQ(error_of("[family.parameters]\nmass = [-1, 2]"),
            "p.toml:4: family.parameters.mass = -1: must be finite and greater than 0");
  EXPECT_THAT(error_of("[family.parameters]\ncolour = 1"),
              HasSubstr("the parameters are gravity, mass, length, max_torque"));
  EXPECT_THAT(error_of("[family.settings]\ndt_seconds = 0.1"),
              HasSubstr("cannot be chosen: a custom system has its own"));
  EXPECT_THAT(error_of("[family.settings]\nstart_low = 0"), HasSubstr("has its own"));
  EXPECT_EQ(error_of("[family.settings]\nfailure_cost = 3"), "");
  // Constraints that speak of states need a policy that sees them.
  EXPECT_THROW(config("pendulum",
                      "[safe_set.action_limits]\nstate_low = -1\nstate_high = 1\n"
                      "action_low = -1\naction_high = 1\n"),
               InvalidInput);
}

TEST_F(OwnSystem, FlightsAreTheStatesBehindTheFeatures) {
  const Task task = family_by_name("pendulum").draw(3, 0);
  const GaussianPolicy policy(Eigen::RowVector3d(0.1, -8, -2), 0.5);
  const RolloutSettings settings{.trajectories = 5, .steps = 30, .seed = 8, .first_index = 2};
  const Trajectories batch = rollout(task, policy, settings);
  const std::vector<Eigen::MatrixXd> paths = state_paths(task, policy, settings);
  ASSERT_EQ(paths.size(), 5);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(paths[static_cast<std::size_t>(i)].cols(), 30);
    for (int m = 0; m < 30; ++m) {
      const Eigen::VectorXd seen = task.input(paths[static_cast<std::size_t>(i)].col(m));
      for (int f = 0; f < 3; ++f) ASSERT_EQ(seen(f), batch.feature(i, m, f));
    }
  }
}

/// The pendulum with a policy that sees its state, or only the cosine of its angle.
struct StatePendulum : Pendulum {
  static constexpr int kFeatures = 0;
  static constexpr std::array<SignalName, 0> kFeatureNames = {};
};
struct BlindPendulum : Pendulum {
  static constexpr int kFeatures = 1;
  static constexpr std::array<SignalName, 1> kFeatureNames = {{{"cos angle", "1"}}};
  std::array<double, 1> features(const State& x) const { return {std::cos(x[0])}; }
};

TEST_F(OwnSystem, LqrInItsOwnFeaturesIsLqrOfTheState) {
  const auto with_weights = [](const System& system) {
    return make_task("pendulum", system, Pendulum::default_settings());
  };
  const Eigen::MatrixXd on_features = lqr_gains(with_weights(make_custom_system(Pendulum{})));
  const Eigen::MatrixXd on_state = lqr_gains(with_weights(make_custom_system(StatePendulum{})));
  ASSERT_EQ(on_state.cols(), 2);
  EXPECT_NEAR(on_features(0, 0), 0, 1e-9);
  EXPECT_NEAR(on_features(0, 1), on_state(0, 0), 1e-6 * on_state.norm());
  EXPECT_NEAR(on_features(0, 2), on_state(0, 1), 1e-6 * on_state.norm());
  const Task blind = with_weights(make_custom_system(BlindPendulum{}));
  EXPECT_FALSE(find_lqr_policy_gains(blind).has_value());
  expect_invalid([&] { lqr_gains(blind); }, "task", "pendulum", "features that can express LQR");
}

TEST_F(OwnSystem, IsDescribedInTheReference) {
  const std::string text = system_reference("pendulum");
  EXPECT_THAT(text, HasSubstr("| `mass` | kg | 1 | must be finite and greater than 0 |"));
  EXPECT_THAT(text, HasSubstr("| angle from upright | rad | its own | none | 1 |"));
  EXPECT_THAT(text, HasSubstr("`mass` in [0.8, 1.2], `length` in [0.9, 1.1] log-uniformly"));
}

struct Nameless : BareCart {
  static constexpr std::string_view kName = {};
};
struct Quadrotor2 : BareCart {
  static constexpr std::string_view kName = "quadrotor";
};
struct OtherCart : BareCart {
  static constexpr std::string_view kName = "other-cart";
};

TEST_F(OwnSystem, NamesAreUniqueAndUnknownOnesListTheKnown) {
  EXPECT_THAT(system_names(), Contains("pendulum"));
  EXPECT_THAT(family_names(), Contains("pendulum"));
  expect_invalid([] { register_system(Pendulum{}); }, "system", "pendulum", "is taken");
  expect_invalid([] { register_system(Quadrotor2{}); }, "system", "quadrotor", "is taken");
  expect_invalid([] { register_system(Nameless{}); }, "system", "", "must have a name");
  expect_invalid([] { register_system(MassSpring{}); }, "system", "mass-spring", "is taken");
  const System cart = make_custom_system(OtherCart{});
  expect_invalid([&] { register_system(cart, {make_family("another", cart, {})}); },
                 "families[0].name", "another", "must be the system's name");
  expect_invalid(
      [&] {
        register_system(
            cart, {make_family("other-cart", cart, {}), make_family("wide-cart-pole", cart, {})});
      },
      "families[1].name", "wide-cart-pole", "is taken");
  expect_invalid([&] { register_system(cart, {make_family("other-cart", MassSpring{}, {})}); },
                 "families[0].nominal", "mass-spring", "must be a other-cart");
  expect_invalid(
      [&] {
        register_system(OtherCart{}, {{"mass", 1, 2}});
      },
      "parameter", "mass", "other-cart has no parameters");
  EXPECT_THAT(system_names(), testing::Not(Contains("other-cart")));  // nothing was left behind
  expect_invalid([] { system_by_name("boat"); }, "system", "boat", "quadrotor, ");
  expect_invalid([] { family_by_name("boat"); }, "family", "boat", "pendulum");
}

TEST(UnregisteredSystem, HasNumberedNamesAndCannotBeNamedInAConfiguration) {
  const SystemDescription about = describe(make_custom_system(OtherCart{}));
  EXPECT_EQ(about.name, "other-cart");
  EXPECT_TRUE(about.custom);
  EXPECT_EQ(about.states[1], (Signal{"state 2", ""}));
  EXPECT_EQ(about.actions[0], (Signal{"action 1", ""}));
  EXPECT_THAT(about.gain_names(), ElementsAre("gain on state 1", "gain on state 2"));
  EXPECT_THROW(parse_family("[family]\nbase = \"other-cart\"", "f.toml"), InvalidInput);
}

}  // namespace lifeguard::system_registry_test
