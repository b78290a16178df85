// What holds for every built-in system, whichever these are: what a file of a system must say, and
// that everything that is derived from the list of them knows every one.

#include "lifeguard/systems/system.hpp"
#include "lifeguard/systems/plant_inclusion.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/signal_text.hpp"
#include "lifeguard/systems/system_reference.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/tasks.hpp"

namespace lifeguard::system_test {

using test_support::expect_invalid;
using testing::Contains;
using testing::HasSubstr;

std::string text_of_file(const std::string& path) {
  std::ifstream file(LIFEGUARD_SOURCE_DIR "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class S>
class EverySystem : public testing::Test {};
using All = BuiltInSystems::As<testing::Types>;
TYPED_TEST_SUITE(EverySystem, All);

TYPED_TEST(EverySystem, IsInEveryListThatIsDerived) {
  using S = TypeParam;
  const std::string name(S::kName);
  EXPECT_THAT(system_names(), Contains(name));
  EXPECT_EQ(system_by_name(name), System(S{}));
  ASSERT_FALSE(S::families().empty());
  EXPECT_EQ(S::families().front().name, name);
  for (const Family& family : S::families()) {
    EXPECT_THAT(family_names(), Contains(family.name));
    const Family found = family_by_name(family.name);
    EXPECT_TRUE(std::holds_alternative<S>(found.nominal.model().machine)) << family.name;
    EXPECT_EQ(found.ranges.size(), family.ranges.size());
    EXPECT_NO_THROW(found.validate());
  }
  EXPECT_THAT(built_in_systems_reference(), HasSubstr(system_reference(name)));
}

TEST(BuiltInSystems, AreInTheDocumentation) {
  EXPECT_THAT(text_of_file("docs/systems.md"), HasSubstr(built_in_systems_reference()));
}

TYPED_TEST(EverySystem, HasDistinctNamesWithUnits) {
  using S = TypeParam;
  const SystemDescription about = describe(S{});
  EXPECT_EQ(about.name, S::kName);
  EXPECT_FALSE(about.meaning.empty());
  EXPECT_EQ(about.states.size(), S::kStates);
  EXPECT_EQ(about.actions.size(), S::kActions);
  EXPECT_TRUE(about.features.empty());
  std::set<std::string> names;
  for (const auto& signals : {about.states, about.actions}) {
    for (const Signal& signal : signals) {
      EXPECT_FALSE(signal.name.empty());
      EXPECT_FALSE(signal.unit.empty());
      EXPECT_TRUE(names.insert(signal.name).second) << signal.name;
    }
  }
  EXPECT_EQ(about.gain_names().size(), S::kStates * S::kActions);
}

TYPED_TEST(EverySystem, DescribesEveryParameter) {
  using S = TypeParam;
  const SystemDescription about = describe(S{});
  ASSERT_EQ(about.parameters.size(), sizeof(S) / sizeof(double));
  EXPECT_EQ(parameter_names(S{}).size(), about.parameters.size());
  const std::string reference = system_reference(about.name);
  for (const ParameterDescription& p : about.parameters) {
    EXPECT_EQ(parameter(S{}, p.name), p.value);
    EXPECT_TRUE(p.rule.allows(p.value)) << p.name;
    EXPECT_THAT(reference, HasSubstr("`" + p.name + "`"));
    EXPECT_THAT(reference, HasSubstr(p.meaning));
  }
}

TYPED_TEST(EverySystem, RefusesEveryParameterThatBreaksItsRule) {
  using S = TypeParam;
  for (const ParameterDescription& p : describe(S{}).parameters) {
    std::vector<double> broken = {kNaN, kInfinity, -kInfinity};
    if (p.rule.low > -kInfinity) broken.push_back(p.rule.low - 1);
    if (p.rule.low_open) broken.push_back(p.rule.low);
    if (p.rule.high < kInfinity) broken.push_back(p.rule.high + 1);
    EXPECT_GE(broken.size(), 4) << p.name << ": every parameter of these has a limit";
    for (const double value : broken) {
      System system = S{};
      set_parameter(system, p.name, value);
      expect_invalid([&] { make_task("broken", system); }, p.name, fmt::format("{}", value),
                     p.rule.text());
    }
  }
}

TYPED_TEST(EverySystem, StaysAtItsGoalUnderTheActionThatHoldsIt) {
  using S = TypeParam;
  Task task = make_task("goal", S{});
  task.settings.goal(0) = 0.3;
  for (const auto integrator : test_support::kIntegrators) {
    task.settings.integrator = integrator;
    EXPECT_TRUE(task.step(task.settings.goal, task.equilibrium_action())
                    .isApprox(task.settings.goal, 1e-12));
  }
}

// The kernels follow from the list: each system's own is used, not a neighbour's.
TYPED_TEST(EverySystem, RollsOutAsItSteps) {
  using S = TypeParam;
  const Task task = make_task("steps", S{});
  const Eigen::MatrixXd gains = test_support::random_matrix(S::kActions, S::kStates, 0.3, 3);
  const GaussianPolicy policy(gains, 0.0);
  for (const Eigen::MatrixXd& path :
       state_paths(task, policy, {.trajectories = 3, .steps = 20, .seed = 5})) {
    ASSERT_GT(path.cols(), 2);
    for (Eigen::Index m = 0; m + 1 < path.cols(); ++m) {
      const Eigen::VectorXd x = path.col(m) + task.settings.goal;
      const Eigen::VectorXd next = task.step(x, gains * path.col(m)) - task.settings.goal;
      ASSERT_LT((next - path.col(m + 1)).cwiseAbs().maxCoeff(), 1e-12);
    }
  }
}

TYPED_TEST(EverySystem, HasADrawingThatThePageKnows) {
  using S = TypeParam;
  const std::string page = text_of_file("web/src/animation.ts");
  const std::size_t begin = page.find("kDrawings: Record");
  ASSERT_NE(begin, std::string::npos);
  const std::string table = page.substr(begin, page.find("};", begin) - begin);
  EXPECT_THAT(table, HasSubstr("\"" + std::string(S::kDrawing) + "\":"));
  EXPECT_EQ(describe(S{}).drawn_states().size(), S::kPositions.size());
}

TEST(BuiltInSystems, AreAllThatIsRegisteredAtFirst) {
  std::vector<std::string> names;
  BuiltInSystems::for_each([&]<class S>() { names.emplace_back(S::kName); });
  std::vector<std::string> known = system_names();
  known.resize(names.size());  // other tests may have registered more
  EXPECT_EQ(known, names);
}

// The compiler refuses a system whose file leaves something out.
enum class Flaw {
  none,
  no_unit,
  an_entry_twice,
  a_field_not_described,
  no_meaning,
  two_names,
  no_inclusion,
  no_conversion
};

template <Flaw kFlaw>
struct Sample {
  static constexpr std::string_view kName = "sample";
  static constexpr std::string_view kMeaning = "a sample";
  static constexpr std::string_view kDrawing = {};
  static constexpr double kStartShare = 0;
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  static constexpr std::array<SignalName, 2> kStateNames = {
      {{"x", "m"}, {"v", kFlaw == Flaw::no_unit ? "" : "m/s"}}};
  static constexpr std::array<SignalName, 1> kActionNames = {{{"u", "N"}}};
  static constexpr std::array<int, 1> kPositions = {0};
  static constexpr std::array<int, 1> kVelocities = {kFlaw == Flaw::an_entry_twice ? 0 : 1};
  double a = 1, b = 2;
  static constexpr auto parameters() {
    const Parameter<Sample> first{"a", &Sample::a, ParameterRule::any(), "1",
                                  kFlaw == Flaw::no_meaning ? "" : "the first"};
    const Parameter<Sample> second{kFlaw == Flaw::two_names ? "a" : "b", &Sample::b,
                                   ParameterRule::any(), "1", "the second"};
    if constexpr (kFlaw == Flaw::a_field_not_described) {
      return std::array{first};
    } else {
      return std::array{first, second};
    }
  }
  static TaskSettings default_settings();
  static std::vector<Family> families();
  LinearModel linearise() const;
  Eigen::VectorXd equilibrium_action(const Eigen::VectorXd& goal) const;
  UncertainPlant inclusion(const TaskSettings& task, const InclusionSettings& settings) const
      requires(kFlaw != Flaw::no_inclusion);
  operator System() const requires(kFlaw != Flaw::no_conversion);
  bool operator==(const Sample&) const = default;
};
static_assert(BuiltInSystem<Sample<Flaw::none>>);
static_assert(!BuiltInSystem<Sample<Flaw::no_unit>>);
static_assert(!BuiltInSystem<Sample<Flaw::an_entry_twice>>);
static_assert(!BuiltInSystem<Sample<Flaw::a_field_not_described>>);
static_assert(!BuiltInSystem<Sample<Flaw::no_meaning>>);
static_assert(!BuiltInSystem<Sample<Flaw::two_names>>);
static_assert(!BuiltInSystem<Sample<Flaw::no_inclusion>>);
static_assert(!BuiltInSystem<Sample<Flaw::no_conversion>>);

TEST(ParameterRule, SaysWhatItAllows) {
  EXPECT_EQ(ParameterRule::any().text(), "must be finite");
  EXPECT_EQ(ParameterRule::positive().text(), "must be finite and greater than 0");
  EXPECT_EQ(ParameterRule::not_negative().text(), "must be finite and at least 0");
  EXPECT_EQ(ParameterRule::between(-1, 2).text(), "must be finite and at least -1 and at most 2");
  EXPECT_TRUE(ParameterRule::between(-1, 2).allows(2));
  EXPECT_FALSE(ParameterRule::between(-1, 2).allows(2.1));
  EXPECT_FALSE(ParameterRule::positive().allows(0));
  EXPECT_TRUE(ParameterRule::not_negative().allows(0));
  EXPECT_FALSE(ParameterRule::any().allows(kNaN));
  EXPECT_FALSE(ParameterRule::any().allows(kInfinity));
}

TEST(SystemDescription, NamesTheGainsOfEveryPolicy) {
  const SystemDescription mass = describe(MassSpring{});
  EXPECT_THAT(mass.gain_names(), testing::ElementsAre("gain on position", "gain on speed"));
  EXPECT_THAT(
      mass.gain_names({.bias = true, .second_order = true}),
      testing::ElementsAre("gain on position", "gain on speed", "gain on 1", "gain on position²",
                           "gain on position · speed", "gain on speed²"));
  EXPECT_THAT(describe(Quadrotor{}).gain_names(), Contains("rotor 2 on yaw rate"));
  for (const Features& features : {Features{true, false}, Features{true, true}}) {
    EXPECT_EQ(describe(Quadrotor{}).gain_names(features).size(), 4 * features.count(6));
  }
}

TEST(SystemParameters, AnUnknownNameListsTheKnownOnes) {
  expect_invalid([] { parameter(MassSpring{}, "colour"); }, "parameter", "colour",
                 "must be one of spring_newtons_per_metre");
  System system = MassSpring{};
  expect_invalid([&] { set_parameter(system, "colour", 1); }, "parameter", "colour",
                 "must be one of spring_newtons_per_metre");
}

TEST(SignalText, HasUnitsWhereThereAreAny) {
  EXPECT_EQ(signal_text({"speed", "m/s"}), "speed [m/s]");
  EXPECT_EQ(signal_text({"share", "1"}), "share");
  EXPECT_EQ(signal_text({"share", ""}), "share");
  EXPECT_EQ(signals_text({{"position", "m"}, {"share", "1"}}), "position [m], share");
  EXPECT_EQ(value_text(0.25, {"force", "N"}), "0.25 N");
  EXPECT_EQ(value_text(0.25, {"share", "1"}), "0.25");
  EXPECT_EQ(values_text(PerAction(Eigen::VectorXd(Eigen::Vector2d(0.25, 3))),
                        {{"force", "N"}, {"share", "1"}}),
            "force 0.25 N; share 3");
}

TEST(SignalText, GainsAreActionsPerInput) {
  EXPECT_EQ(gain_unit({"force", "N"}, {"speed", "m/s"}), "N/(m/s)");
  EXPECT_EQ(gain_unit({"force", "N"}, {"position", "m"}), "N/m");
  EXPECT_EQ(gain_unit({"force", "N"}, {"share", "1"}), "N");
  EXPECT_EQ(gain_unit({"share", "1"}, {"speed", "m/s"}), "1/(m/s)");
  EXPECT_EQ(gain_unit({"share", "1"}, {"other share", "1"}), "");
  const SystemDescription mass = describe(system_by_name("mass-spring"));
  const std::vector<std::string> meanings = gain_meanings(mass, {.bias = true});
  ASSERT_EQ(meanings.size(), 3U);
  EXPECT_EQ(meanings[0], "force per position [N/m]");
  EXPECT_EQ(meanings[1], "force per speed [N/(m/s)]");
  EXPECT_EQ(meanings[2], "force, constant part [N]");
}

TEST(SignalText, NumbersInRowsAreExplained) {
  const SystemDescription mass = describe(system_by_name("mass-spring"));
  EXPECT_EQ(row_meaning("gain(0, 1) upper limit", mass), "force per speed [N/(m/s)]");
  EXPECT_EQ(row_meaning("action 0 lower limit at state corner +-", mass), "force [N]");
  for (const char* name :
       {"speed gain upper limit", "gain(0, 2) upper limit", "gain(1, 0)", "gain(0, ",
        "gain(99999999999999999999, 0)", "action 1 upper limit", "action 0", ""}) {
    EXPECT_EQ(row_meaning(name, mass), "") << name;
    EXPECT_EQ(with_row_meanings(name, mass), name);
  }
  EXPECT_EQ(with_row_meanings("\"gain(0, 0) upper limit\" and gain(0, 1) and gain(0, 0)", mass),
            "\"gain(0, 0) upper limit\" and gain(0, 1) and gain(0, 0); gain(0, 0): force per "
            "position [N/m]; gain(0, 1): force per speed [N/(m/s)]");
}

}  // namespace lifeguard::system_test
