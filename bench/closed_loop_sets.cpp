// How long a machine's closed-loop set takes to make and to prove, beside a set that must hold the
// LQR controllers of all corners of its tolerance.
//
//   bench_closed_loop_sets [--repeats 5]

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bench/timing.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/plant_inclusion.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {
namespace {

struct MeasuredMachine {
  Task task;
  InclusionSettings known;
  ClosedLoopSettings asked;
};

std::vector<std::string> varied(const Family& family) {
  std::vector<std::string> names;
  for (const ParameterRange& range : family.ranges) names.push_back(range.parameter);
  return names;
}

MeasuredMachine machine_of(const Family& family, double share, Eigen::VectorXd state_limits,
                           double noise) {
  MeasuredMachine machine;
  machine.task = family.draw(0, 0);
  machine.known.ranges = tolerance(machine.task, varied(family), share);
  machine.known.state_limits = std::move(state_limits);
  machine.asked.start_low = machine.task.settings.start_low - machine.task.settings.goal;
  machine.asked.start_high = machine.task.settings.start_high - machine.task.settings.goal;
  machine.asked.noise_limits = Eigen::VectorXd::Constant(machine.task.actions(), noise);
  return machine;
}

MeasuredMachine cart_pole() {
  MeasuredMachine machine =
      machine_of(cart_pole_family(), 0.1, Eigen::Vector4d(3, kInfinity, 0.6, 5), 0.2);
  machine.asked.decay = 0.998;
  machine.asked.least_start_share = 0.7;
  return machine;
}

MeasuredMachine quadrotor() {
  Family family = quadrotor_family();
  family.settings.state_weights << 1, 1, 1, 0.1, 0.1, 0.1;
  family.settings.action_weights.setConstant(1);
  family.settings.start_high << 0.3, 0.3, 0.15, 0.15, 0.15, 0.15;
  family.settings.start_low = -family.settings.start_high;
  Eigen::VectorXd limits(6);
  limits << 1.2, 1.2, 1.2, 6, 6, 1.5;
  MeasuredMachine machine = machine_of(family, 0.2, limits, 0.006);
  machine.known.combined_limits = {
      {"rotors 4 - 2", 1.2}, {"rotors 1 - 3", 1.2}, {"rotors 2 + 4", 0.5}, {"rotors 1 + 3", 0.5}};
  machine.asked.decay = 0.992;
  machine.asked.least_start_share = 0.4;
  return machine;
}

/// The machine's own LQR controller, and those of all corners of its tolerance if asked for.
std::vector<RequiredGains> controllers(const MeasuredMachine& machine, bool corners) {
  std::vector<RequiredGains> all = {{"LQR", lqr_gains(machine.task)}};
  const std::vector<ParameterRange>& ranges = machine.known.ranges;
  for (std::size_t bits = 0; corners && bits < std::size_t{1} << ranges.size(); ++bits) {
    Task corner = machine.task;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      set_parameter(corner.system, ranges[i].parameter,
                    (bits >> i & 1U) != 0 ? ranges[i].high : ranges[i].low);
    }
    all.push_back({fmt::format("LQR of corner {}", bits), lqr_gains(corner)});
  }
  return all;
}

void measure(const std::string& name, MeasuredMachine machine, int repeats) {
  const UncertainPlant plant = inclusion(machine.task, machine.known);
  for (const bool corners : {false, true}) {
    machine.asked.required_gains = controllers(machine, corners);
    ClosedLoopResult result;
    std::vector<double> makes, proofs;
    for (int i = 0; i < repeats; ++i) {
      makes.push_back(seconds_of([&] { result = make_closed_loop(plant, machine.asked); }));
      if (!result.closed_loop) break;
      proofs.push_back(seconds_of([&] { check_closed_loop(*result.closed_loop); }));
    }
    if (!result.closed_loop) {
      fmt::print("{}: {}\n", name, result.message);
      continue;
    }
    fmt::print("{}, {} controllers inside: made in {:.3f} s, proven exactly in {:.3f} s; {}\n",
               name, machine.asked.required_gains.size(), median(makes), median(proofs),
               result.message);
  }
}

}  // namespace
}  // namespace lifeguard

int main(int argc, char** argv) {
  CLI::App app("How long closed-loop sets take");
  int repeats = 5;
  app.add_option("--repeats", repeats, "of which the median counts")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  lifeguard::measure("cart-pole", lifeguard::cart_pole(), repeats);
  lifeguard::measure("quadrotor", lifeguard::quadrotor(), repeats);
  return 0;
}
