#include "lifeguard/safety/sets/closed_loop.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <sstream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/saved_closed_loop.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/plant_inclusion.hpp"
#include "lifeguard/systems/task.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::closed_loop_test {

using test_support::Draws;

/// A machine with what is known of it and what it has to do.
struct Machine {
  Task task;
  InclusionSettings known;
  ClosedLoopSettings asked;

  UncertainPlant plant() const { return inclusion(task, known); }
};

/// The LQR controllers of a task and of the corners of its tolerance.
std::vector<RequiredGains> corner_controllers(const Task& task,
                                              const std::vector<ParameterRange>& ranges) {
  std::vector<RequiredGains> all{{"nominal", lqr_gains(task)}};
  for (std::size_t bits = 0; bits < std::size_t{1} << ranges.size(); ++bits) {
    Task corner = task;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      set_parameter(corner.system, ranges[i].parameter,
                    (bits >> i & 1U) != 0 ? ranges[i].high : ranges[i].low);
    }
    all.push_back({"corner " + std::to_string(bits), lqr_gains(corner)});
  }
  return all;
}

Machine cart_pole(double cart, double pole, double length, double damping, double share) {
  Machine machine;
  machine.task = make_task("cart-pole", CartPole{.cart_mass_kilograms = cart,
                                                 .pole_mass_kilograms = pole,
                                                 .pole_length_metres = length,
                                                 .damping_newton_seconds_per_metre = damping});
  machine.known.ranges =
      tolerance(machine.task,
                std::vector<std::string>{"cart_mass_kilograms", "pole_mass_kilograms",
                                         "pole_length_metres", "damping_newton_seconds_per_metre"},
                share);
  machine.known.state_limits = Eigen::Vector4d(3, kInfinity, 0.6, length > 0.3 ? 3 : 5);
  machine.asked.decay = 0.99;
  machine.asked.start_low = machine.task.settings.start_low;
  machine.asked.start_high = machine.task.settings.start_high;
  machine.asked.noise_limits = Eigen::VectorXd::Constant(1, 0.2);
  // The damping hardly matters to LQR.
  std::vector<ParameterRange> varied = machine.known.ranges;
  varied.pop_back();
  machine.asked.required_gains = corner_controllers(machine.task, varied);
  return machine;
}

Machine quadrotor(std::vector<ParameterRange> ranges) {
  Machine machine;
  machine.task = make_task("quadrotor", Quadrotor{});
  TaskSettings& settings = machine.task.settings;
  settings.state_weights << 1, 1, 1, 0.1, 0.1, 0.1;
  settings.action_weights.setConstant(1);
  settings.start_high << 0.3, 0.3, 0.15, 0.15, 0.15, 0.15;
  settings.start_low = -settings.start_high;
  machine.known.ranges = std::move(ranges);
  machine.known.state_limits.resize(6);
  machine.known.state_limits << 1.2, 1.2, 1.2, 6, 6, 1.5;
  machine.known.combined_limits = {
      {"rotors 4 - 2", 1.2}, {"rotors 1 - 3", 1.2}, {"rotors 2 + 4", 0.5}, {"rotors 1 + 3", 0.5}};
  machine.asked.start_low = settings.start_low;
  machine.asked.start_high = settings.start_high;
  machine.asked.noise_limits = Eigen::VectorXd::Constant(4, 0.008);
  machine.asked.required_gains = corner_controllers(machine.task, machine.known.ranges);
  return machine;
}

Machine mass(double share) {
  Machine machine;
  machine.task = make_task("mass", MassSpring{});
  machine.task.settings.action_weights.setConstant(0.05);
  machine.known.ranges =
      tolerance(machine.task,
                std::vector<std::string>{"spring_newtons_per_metre",
                                         "damping_newton_seconds_per_metre", "mass_kilograms"},
                share);
  machine.known.state_limits = Eigen::Vector2d(6, 8);
  machine.asked.start_low = machine.task.settings.start_low;
  machine.asked.start_high = machine.task.settings.start_high;
  machine.asked.noise_limits = Eigen::VectorXd::Constant(1, 0.5);
  machine.asked.required_gains = corner_controllers(machine.task, machine.known.ranges);
  return machine;
}

ClosedLoop made(const Machine& machine) {
  const ClosedLoopResult result = make_closed_loop(machine.plant(), machine.asked);
  EXPECT_EQ(result.status, ClosedLoopStatus::found) << result.message;
  if (!result.closed_loop) throw std::runtime_error(result.message);
  for (const ClosedLoopFinding& finding : check_closed_loop(*result.closed_loop)) {
    ADD_FAILURE() << finding.message;
  }
  return *result.closed_loop;
}

/// Gains at the border of the set, in a random direction from the anchor.
Eigen::MatrixXd gains_at_the_border(const ClosedLoop& loop, Draws& draws) {
  Eigen::MatrixXd direction = draws.normals(loop.anchor.rows(), loop.anchor.cols());
  direction = direction.cwiseProduct(
      loop.anchor.cwiseAbs() +
      Eigen::MatrixXd::Constant(loop.anchor.rows(), loop.anchor.cols(), 1e-3));
  double inside = 0;
  double outside = 1;
  while (loop.largest_ratio(loop.anchor + outside * direction) < 1) outside *= 2;
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (inside + outside);
    (loop.largest_ratio(loop.anchor + middle * direction) < 1 ? inside : outside) = middle;
  }
  return loop.anchor + inside * direction;
}

/// Real machines with parameters in the tolerance, gains inside the set, starts in E and noise at
/// its limits, partly such that it pushes outwards: how often E, a state limit or an action limit
/// is left.
int violations(const Machine& machine, const ClosedLoop& loop, int runs, int steps) {
  Draws draws(23);
  const Eigen::LLT<Eigen::MatrixXd> factor(loop.p);
  int count = 0;
  double largest = 0;
  Eigen::MatrixXd gains;
  for (int run = 0; run < runs; ++run) {
    if (run % 20 == 0) gains = gains_at_the_border(loop, draws);
    const Eigen::MatrixXd used =
        draws.chance(0.5) ? gains
                          : Eigen::MatrixXd(loop.anchor + draws.uniform() * (gains - loop.anchor));
    Task task = machine.task;
    for (const ParameterRange& range : machine.known.ranges) {
      const double share = draws.chance(0.5) ? draws.integer(0, 1) : draws.uniform();
      set_parameter(task.system, range.parameter, range.low + share * (range.high - range.low));
    }
    Eigen::VectorXd x =
        factor.matrixU().solve(Eigen::VectorXd(draws.normals(task.states(), 1)).normalized());
    x *= 1 - 1e-12;
    const bool adverse = draws.chance(0.5);
    for (int step = 0; step < steps; ++step) {
      Eigen::VectorXd noise(task.actions());
      const Eigen::VectorXd slope = loop.plant.corners[0].b.transpose() * loop.p * x;
      for (int a = 0; a < noise.size(); ++a) {
        const bool up = adverse ? slope(a) > 0 : draws.chance(0.5);
        noise(a) = up ? loop.noise_limits(a) : -loop.noise_limits(a);
      }
      const Eigen::VectorXd u = used * x + noise;
      for (Eigen::Index r = 0; r < loop.plant.action_limits.size(); ++r) {
        if (std::fabs(loop.plant.action_directions.row(r).dot(u)) >
            loop.plant.action_limits(r) * (1 + 1e-12)) {
          ++count;
        }
      }
      x = task.step(x, u);
      const double value = x.dot(loop.p * x);
      largest = std::max(largest, value);
      if (value > 1 + 1e-12) ++count;
      for (int s = 0; s < x.size(); ++s) {
        if (std::fabs(x(s)) > loop.plant.state_limits(s)) ++count;
      }
    }
  }
  // The set is no larger than it must be by much: noise does push to its border.
  EXPECT_GT(largest, 0.9) << machine.task.name;
  return count;
}

TEST(ClosedLoop, KeepsEveryCartPoleThatIsKnownToTenPercent) {
  struct Kind {
    std::array<double, 4> parameters;
    double decay;
  };
  // The long and light one: its own LQR controller needs 0.9901.
  for (const Kind& kind : {Kind{{1.0, 0.15, 0.5, 0.05}, 0.99}, Kind{{0.5, 0.2, 0.2, 0.01}, 0.99},
                           Kind{{1.5, 0.1, 0.8, 0.09}, 0.99}, Kind{{1.5, 0.1, 0.2, 0.05}, 0.99},
                           Kind{{0.5, 0.2, 0.8, 0.05}, 0.995}}) {
    const auto& p = kind.parameters;
    Machine machine = cart_pole(p[0], p[1], p[2], p[3], 0.1);
    machine.asked.decay = kind.decay;
    machine.asked.least_start_share = 0.7;
    const ClosedLoop loop = made(machine);
    EXPECT_GE(loop.start_share, 0.7);
    EXPECT_EQ(loop.plant.statement, PlantStatement::nonlinear);
    for (const RequiredGains& required : machine.asked.required_gains) {
      EXPECT_LT(loop.largest_ratio(required.gains), 1) << required.name;
    }
    EXPECT_LT(loop.largest_ratio(loop.anchor), 1);
    EXPECT_EQ(violations(machine, loop, 2000, 100), 0);
  }
}

TEST(ClosedLoop, KeepsCartPolesThatAreKnownToTwentyPercentWithinTighterLimits) {
  Machine machine = cart_pole(1.0, 0.15, 0.5, 0.05, 0.2);
  machine.known.state_limits = Eigen::Vector4d(3, kInfinity, 0.35, 2.5);
  machine.asked.decay = 0.995;
  machine.asked.least_start_share = 0.6;
  const ClosedLoop loop = made(machine);
  EXPECT_GE(loop.start_share, 0.6);
  EXPECT_EQ(violations(machine, loop, 2000, 100), 0);
}

TEST(ClosedLoop, KeepsMasses) {
  const Machine machine = mass(0.2);
  const ClosedLoop loop = made(machine);
  EXPECT_EQ(loop.start_share, 1);
  EXPECT_EQ(violations(machine, loop, 2000, 100), 0);
}

TEST(ClosedLoop, KeepsTheWholeFamilyOfQuadrotorsAndEachToTwentyPercent) {
  const Task task = make_task("quadrotor", Quadrotor{});
  std::vector<std::string> varied;
  for (const ParameterRange& range : quadrotor_family().ranges) varied.push_back(range.parameter);
  for (const bool family : {true, false}) {
    Machine machine = quadrotor(family ? quadrotor_family().ranges : tolerance(task, varied, 0.2));
    machine.asked.least_start_share = 0.6;
    const ClosedLoop loop = made(machine);
    EXPECT_LE(loop.contractions.size() + loop.action_bounds.size(), 6U);
    EXPECT_EQ(violations(machine, loop, 1000, 100), 0);
  }
}

// What tilt makes of the angles' rates leaves room for a quarter of a radian.
TEST(ClosedLoop, KeepsARigidQuadrotorThatTiltsALittle) {
  std::vector<std::string> varied;
  for (const ParameterRange& range : quadrotor_family().ranges) varied.push_back(range.parameter);
  Machine machine = quadrotor({});
  machine.task.system = RigidQuadrotor{};
  machine.known.ranges = tolerance(machine.task, varied, 0.05);
  machine.known.state_limits << 0.25, 0.25, 0.4, 1.5, 1.5, 0.6;
  machine.asked.noise_limits.setConstant(0.006);
  machine.asked.decay = 0.999;
  machine.asked.least_start_share = 0.05;
  const ClosedLoop loop = made(machine);
  EXPECT_EQ(violations(machine, loop, 500, 50), 0);
}

/// A plant of the inclusion: between the corners, and with channels of any strength up to 1.
UncertainPlant::Corner drawn_plant(const UncertainPlant& plant, Draws& draws) {
  UncertainPlant::Corner drawn = plant.corners[0];
  drawn.a.setZero();
  drawn.b.setZero();
  double sum = 0;
  const auto only =
      static_cast<std::size_t>(draws.integer(0, static_cast<int>(plant.corners.size()) - 1));
  const bool at_a_corner = draws.chance(0.3);
  for (std::size_t i = 0; i < plant.corners.size(); ++i) {
    const double weight = at_a_corner ? (i == only ? 1 : 0) : draws.uniform();
    drawn.a += weight * plant.corners[i].a;
    drawn.b += weight * plant.corners[i].b;
    sum += weight;
  }
  drawn.a /= sum;
  drawn.b /= sum;
  for (Eigen::Index j = 0; j < plant.channels(); ++j) {
    const double strength = draws.chance(0.5) ? 2 * draws.integer(0, 1) - 1 : draws.uniform(-1, 1);
    drawn.a += strength * plant.spreads.col(j) * plant.state_factors.row(j);
    drawn.b += strength * plant.spreads.col(j) * plant.action_factors.row(j);
  }
  return drawn;
}

TEST(ClosedLoop, EveryPlantWithEveryPolicyHasASpectralRadiusOfAtMostTheDecay) {
  const Task task = make_task("quadrotor", Quadrotor{});
  std::vector<std::string> varied;
  for (const ParameterRange& range : quadrotor_family().ranges) varied.push_back(range.parameter);
  Machine pole = cart_pole(1.0, 0.15, 0.5, 0.05, 0.1);
  pole.asked.least_start_share = 0.7;
  Machine drone = quadrotor(tolerance(task, varied, 0.2));
  drone.asked.least_start_share = 0.6;
  for (const auto& [machine, pairs] :
       {std::pair{mass(0.2), 20000}, {pole, 60000}, {drone, 20000}}) {
    const ClosedLoop loop = made(machine);
    Draws draws(29);
    Eigen::MatrixXd border = loop.anchor;
    double largest_radius = 0;
    double largest_shrinkage = 0;
    const Eigen::LLT<Eigen::MatrixXd> p(loop.p);
    for (int pair = 0; pair < pairs; ++pair) {
      if (pair % 100 == 0) border = gains_at_the_border(loop, draws);
      const double way = draws.chance(0.5) ? 1 : draws.uniform();
      const Eigen::MatrixXd gains = loop.anchor + way * (border - loop.anchor);
      const UncertainPlant::Corner plant = drawn_plant(loop.plant, draws);
      const Eigen::MatrixXd closed = plant.a + plant.b * gains;
      largest_radius = std::max(largest_radius, closed.eigenvalues().cwiseAbs().maxCoeff());
      // ‖P^½ (A + B K) P^-½‖, which is what is proven to be at most λ.
      const Eigen::MatrixXd scaled =
          p.matrixU() * closed *
          p.matrixU().solve(Eigen::MatrixXd::Identity(closed.rows(), closed.cols()));
      largest_shrinkage = std::max(largest_shrinkage, scaled.operatorNorm());
    }
    EXPECT_LE(largest_radius, loop.decay) << machine.task.name;
    EXPECT_LE(largest_shrinkage, loop.decay * (1 + 1e-9)) << machine.task.name;
    // Nothing much larger would be true of the set.
    EXPECT_GT(largest_shrinkage, 1 - 1.5 * (1 - loop.decay)) << machine.task.name;
  }
}

TEST(ClosedLoop, FindsGainsByItselfIfNoneAreRequired) {
  Machine machine = cart_pole(1.0, 0.15, 0.5, 0.05, 0.1);
  machine.asked.required_gains.clear();
  const ClosedLoop loop = made(machine);
  EXPECT_EQ(loop.start_share, 1);
  EXPECT_EQ(violations(machine, loop, 500, 100), 0);
}

TEST(ClosedLoop, TakesAnAnchorThatItCanProveAndRefusesAnother) {
  Machine machine = cart_pole(1.0, 0.15, 0.5, 0.05, 0.1);
  machine.asked.least_start_share = 0.5;
  machine.asked.anchor = lqr_gains(machine.task);
  const ClosedLoop loop = made(machine);
  EXPECT_TRUE(loop.anchor == *machine.asked.anchor);
  machine.asked.anchor = Eigen::MatrixXd::Zero(1, 4);  // a pole that falls
  const ClosedLoopResult refused = make_closed_loop(machine.plant(), machine.asked);
  EXPECT_NE(refused.status, ClosedLoopStatus::found);
  EXPECT_FALSE(refused.closed_loop);
  EXPECT_NE(refused.message.find("it is the anchor that cannot be proven"), std::string::npos)
      << refused.message;
}

TEST(ClosedLoop, SaysWhatWouldBeFeasible) {
  Machine machine = mass(0.2);
  machine.task.settings.action_weights.setConstant(0.001);  // gains that the limits do not allow
  machine.asked.required_gains = corner_controllers(machine.task, machine.known.ranges);
  const ClosedLoopResult too_large = make_closed_loop(machine.plant(), machine.asked);
  ASSERT_EQ(too_large.status, ClosedLoopStatus::infeasible);
  EXPECT_GT(too_large.largest_start_share, 0.1);
  EXPECT_LT(too_large.largest_start_share, 0.4);
  machine.asked.least_start_share = 0.9 * too_large.largest_start_share;
  EXPECT_EQ(make_closed_loop(machine.plant(), machine.asked).status, ClosedLoopStatus::found);

  Machine loud = mass(0.2);
  loud.asked.noise_limits.setConstant(5);
  const ClosedLoopResult noisy = make_closed_loop(loud.plant(), loud.asked);
  ASSERT_EQ(noisy.status, ClosedLoopStatus::infeasible);
  EXPECT_GT(noisy.largest_noise_share, 0.05);
  EXPECT_LT(noisy.largest_noise_share, 1);
  loud.asked.noise_limits *= 0.9 * noisy.largest_noise_share;
  EXPECT_EQ(make_closed_loop(loud.plant(), loud.asked).status, ClosedLoopStatus::found);

  // The same of a set that was found, in one program.
  const ClosedLoopResult found = make_closed_loop(loud.plant(), loud.asked);
  const double share =
      largest_noise_share(loud.plant(), loud.asked, found.closed_loop->start_share);
  EXPECT_GT(share, 1);
  loud.asked.least_start_share = found.closed_loop->start_share;
  loud.asked.noise_limits *= 0.95 * share;
  EXPECT_EQ(make_closed_loop(loud.plant(), loud.asked).status, ClosedLoopStatus::found);
  loud.asked.noise_limits *= 1.2;
  EXPECT_EQ(make_closed_loop(loud.plant(), loud.asked).status, ClosedLoopStatus::infeasible);

  Machine hasty = cart_pole(0.5, 0.2, 0.8, 0.05, 0.1);
  hasty.asked.least_start_share = 0.5;
  hasty.asked.decay = 0.98;
  const ClosedLoopResult slow = make_closed_loop(hasty.plant(), hasty.asked);
  ASSERT_EQ(slow.status, ClosedLoopStatus::infeasible);
  EXPECT_GT(slow.smallest_decay, 0.98);
  EXPECT_LT(slow.smallest_decay, 0.996);
  EXPECT_FALSE(slow.conflicts.empty());
}

TEST(ClosedLoop, KeepsADeadline) {
  const Machine machine = mass(0.2);
  EXPECT_EQ(make_closed_loop(machine.plant(), machine.asked, Deadline::after(0)).status,
            ClosedLoopStatus::deadline_passed);
}

TEST(ClosedLoop, RefusesSettingsThatDoNotFit) {
  const Machine machine = mass(0.2);
  const auto refused = [&](const auto& spoil, const std::string& field, const std::string& value) {
    ClosedLoopSettings settings = machine.asked;
    spoil(settings);
    test_support::expect_invalid([&] { make_closed_loop(machine.plant(), settings); }, field, value,
                                 "must");
  };
  refused([](ClosedLoopSettings& s) { s.decay = 1; }, "decay", "1");
  refused([](ClosedLoopSettings& s) { s.start_low(0) = 3; }, "start_low[0]", "3");
  refused([](ClosedLoopSettings& s) { s.least_start_share = 0; }, "least_start_share", "0");
  refused([](ClosedLoopSettings& s) { s.noise_limits(0) = -1; }, "noise_limits[0]", "-1");
  refused([](ClosedLoopSettings& s) { s.noise_limits(0) = 20; }, "noise_limits", "20");
  refused([](ClosedLoopSettings& s) { s.required_gains[0].name.clear(); }, "required_gains[0].name",
          "\"\"");
  refused([](ClosedLoopSettings& s) { s.anchor = Eigen::MatrixXd::Zero(1, 3); }, "anchor (columns)",
          "3 entries");
}

TEST(ClosedLoop, IsSavedToTheSameBits) {
  for (const Machine& machine : {mass(0.2), cart_pole(1.0, 0.15, 0.5, 0.05, 0.05)}) {
    Machine quiet = machine;
    quiet.asked.least_start_share = 0.5;
    for (const double noise : {0.0, 0.1}) {
      quiet.asked.noise_limits.setConstant(noise);
      const ClosedLoop loop = made(quiet);
      std::stringstream text;
      StateWriter writer(text);
      write_closed_loop(writer, loop);
      StateReader reader(text);
      const ClosedLoop again = read_closed_loop(reader);
      EXPECT_TRUE(again == loop);
      ClosedLoop other = loop;
      other.p(0, 0) = std::nextafter(other.p(0, 0), 2 * other.p(0, 0));
      EXPECT_FALSE(other == loop);
    }
  }
}

TEST(ClosedLoopChecker, FindsEveryChangedNumber) {
  const Machine machine = cart_pole(1.0, 0.15, 0.5, 0.05, 0.1);
  Machine asked = machine;
  asked.asked.least_start_share = 0.7;
  const ClosedLoop loop = made(asked);
  const auto found = [&](const auto& spoil, const std::string& what) {
    ClosedLoop other = loop;
    spoil(other);
    const std::vector<ClosedLoopFinding> findings = check_closed_loop(other);
    bool said = false;
    for (const ClosedLoopFinding& finding : findings) {
      said = said || finding.message.find(what) != std::string::npos;
    }
    EXPECT_TRUE(said) << what << ": " << findings.size() << " findings";
  };
  // One digit of P, up and down.
  for (const double factor : {1.001, 0.999}) {
    for (int i = 0; i < 4; ++i) {
      found([&](ClosedLoop& l) { l.p(i, i) *= factor; }, "");
      found([&](ClosedLoop& l) { l.p(i, (i + 1) % 4) = l.p((i + 1) % 4, i) *= factor; }, "");
    }
  }
  found([](ClosedLoop& l) { l.p = -l.p; }, "P is not positive definite");
  found([](ClosedLoop& l) { l.contractions.pop_back(); }, "inequalities for");
  found([](ClosedLoop& l) { std::swap(l.contractions[0], l.contractions[3]); }, "asks for less");
  found([](ClosedLoop& l) { l.plant.corners[1].b *= 1.01; }, "asks for less");
  found([](ClosedLoop& l) { l.decay -= 1e-4; }, "allows more than the decay");
  found([](ClosedLoop& l) { l.decay += 1e-4; }, "noise within its limits can leave");
  found(
      [](ClosedLoop& l) {
        l.start_low *= 2;
        l.start_high *= 2;
      },
      "start box");
  found([](ClosedLoop& l) { l.noise_limits *= 1.5; }, "channels and noise");
  found([](ClosedLoop& l) { l.noise_limits *= 1.5; }, "action limit");
  found([](ClosedLoop& l) { l.plant.state_limits(2) *= 0.5; }, "limit");
  found([](ClosedLoop& l) { l.plant.action_limits(0) *= 0.99; }, "action limit");
  found([](ClosedLoop& l) { l.plant.action_directions(0, 0) = 1.001; }, "action limit");
  found([](ClosedLoop& l) { l.multipliers[0](0) *= 0.9; }, "channels and noise");
  found([](ClosedLoop& l) { l.multipliers[0](0) *= 1.1; }, "asks for less");
  found([](ClosedLoop& l) { l.noise_multipliers[0](0) *= 1.5; }, "noise");
  found([](ClosedLoop& l) { l.inflated[0] *= 0.999; }, "channels and noise");
  found([](ClosedLoop& l) { l.plant.spreads *= 1.01; }, "channels and noise");
  found([](ClosedLoop& l) { l.p(0, 0) = kNaN; }, "not finite");
}

TEST(ClosedLoop, GuaranteesWhatLiesInTheSetAndNothingBeyond) {
  const Machine machine = mass(0.2);
  const ClosedLoop loop = made(machine);
  const Eigen::LLT<Eigen::MatrixXd> factor(loop.p);
  Draws draws(9);
  for (int i = 0; i < 1000; ++i) {
    const Eigen::VectorXd border =
        factor.matrixU().solve(Eigen::VectorXd(draws.normals(2, 1)).normalized());
    EXPECT_TRUE(loop.guarantees((1 - 1e-9) * border));
    EXPECT_FALSE(loop.guarantees((1 + 1e-15) * border));
  }
  EXPECT_TRUE(loop.guarantees(loop.start_high));
}

}  // namespace lifeguard::closed_loop_test
