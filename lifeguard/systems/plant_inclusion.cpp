#include "lifeguard/systems/plant_inclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/overloaded.hpp"
#include "lifeguard/systems/acceleration_inclusion.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {
namespace {

/// Every combination of the ends of the ranges, as systems with a name.
struct ParameterCorner {
  std::string name;
  System system;
};
std::vector<ParameterCorner> parameter_corners(const System& nominal,
                                               const std::vector<ParameterRange>& ranges) {
  std::vector<ParameterCorner> corners{{"", nominal}};
  for (const ParameterRange& range : ranges) {
    if (range.low == range.high) continue;
    std::vector<ParameterCorner> more;
    for (const ParameterCorner& corner : corners) {
      for (const double value : {range.low, range.high}) {
        ParameterCorner next = corner;
        set_parameter(next.system, range.parameter, value);
        next.name +=
            fmt::format("{}{} = {:.6g}", corner.name.empty() ? "" : ", ", range.parameter, value);
        more.push_back(std::move(next));
      }
    }
    corners = std::move(more);
  }
  if (corners.size() == 1) corners.front().name = "nominal";
  return corners;
}

void require_ranges(const Task& task, const std::vector<ParameterRange>& ranges) {
  // More would be millions of corners.
  constexpr std::size_t kMostRanges = 12;
  require(ranges.size() <= kMostRanges, "ranges", static_cast<double>(ranges.size()),
          "must be at most 12");
  for (const ParameterRange& range : ranges) {
    const std::string field = fmt::format("ranges.{}", range.parameter);
    const double value = parameter(task.system, range.parameter);
    const auto same = [&](const ParameterRange& r) { return r.parameter == range.parameter; };
    require(std::count_if(ranges.begin(), ranges.end(), same) == 1, "ranges", range.parameter,
            "must have one range only");
    require(range.low <= value && value <= range.high, field,
            fmt::format("[{}, {}]", range.low, range.high),
            fmt::format("must hold the task's own value {}", value));
  }
  // The rules on parameters are intervals.
  for (const bool high : {false, true}) {
    System end = task.system;
    for (const ParameterRange& range : ranges) {
      set_parameter(end, range.parameter, high ? range.high : range.low);
    }
    validate_system(end);
  }
}

/// The settings with all limits filled in, each no more than what the task itself allows.
InclusionSettings with_all_limits(const Task& task, InclusionSettings settings) {
  task.validate();
  require(task.own_features() == 0, "system", system_name(task.system),
          "must not have features of its own: gains act on the state");
  require_ranges(task, settings.ranges);
  const TaskSettings& t = task.settings;
  const Eigen::VectorXd held = task.equilibrium_action();
  for (const ParameterCorner& corner : parameter_corners(task.system, settings.ranges)) {
    const Task other{task.name, corner.system, t};
    const double difference = (other.equilibrium_action() - held).cwiseAbs().maxCoeff();
    require(difference == 0, "goal", difference,
            fmt::format("must be held by the same action for all parameters in the ranges; this "
                        "is the difference for {}",
                        corner.name));
  }
  const Eigen::VectorXd room = (t.action_high - held).cwiseMin(held - t.action_low).cwiseMax(0);
  const Eigen::VectorXd space = t.failure_bounds - t.goal.cwiseAbs();
  if (settings.action_limits.size() == 0) settings.action_limits = room;
  if (settings.state_limits.size() == 0) settings.state_limits = space;
  require_size("action_limits", settings.action_limits.size(), task.actions());
  require_size("state_limits", settings.state_limits.size(), task.states());
  for (Eigen::Index a = 0; a < room.size(); ++a) {
    const double limit = settings.action_limits(a);
    require(limit > 0, indexed("action_limits", a), limit, "must be greater than 0");
    require(limit <= room(a), indexed("action_limits", a), limit,
            fmt::format("must be at most {}, beyond which the action is cut", room(a)));
  }
  for (Eigen::Index s = 0; s < space.size(); ++s) {
    const double limit = settings.state_limits(s);
    require(limit > 0, indexed("state_limits", s), limit, "must be greater than 0");
    require(limit <= space(s), indexed("state_limits", s), limit,
            fmt::format("must be at most {}, beyond which the task has failed", space(s)));
  }
  for (const auto& combined : settings.combined_limits) {
    require_positive("combined_limits." + combined.name, combined.limit);
  }
  return settings;
}

void add_action_limits(UncertainPlant& plant, std::span<const std::string> action_names,
                       const Eigen::VectorXd& limits) {
  const Eigen::Index m = limits.size();
  std::vector<double> finite;
  for (Eigen::Index a = 0; a < m; ++a) {
    if (limits(a) == kInfinity) continue;
    const auto rows = static_cast<Eigen::Index>(finite.size());
    plant.action_directions.conservativeResize(rows + 1, m);
    plant.action_directions.row(rows) = Eigen::RowVectorXd::Unit(m, a);
    plant.action_limit_names.push_back(action_names[static_cast<std::size_t>(a)]);
    finite.push_back(limits(a));
  }
  plant.action_limits =
      Eigen::Map<const Eigen::VectorXd>(finite.data(), static_cast<Eigen::Index>(finite.size()));
}

}  // namespace

std::vector<ParameterRange> tolerance(const Task& task, std::span<const std::string> parameters,
                                      double share) {
  require_not_negative("tolerance", share);
  std::vector<ParameterRange> ranges;
  for (const std::string& name : parameters) {
    const double value = parameter(task.system, name);
    const double width = share * std::fabs(value);
    ranges.push_back({name, value - width, value + width});
  }
  return ranges;
}

UncertainPlant inclusion(const Task& task, const InclusionSettings& settings) {
  const InclusionSettings with_limits = with_all_limits(task, settings);
  require(task.settings.integrator != Integrator::runge_kutta_4, "integrator", "runge_kutta_4",
          "must be explicit_euler or semi_implicit_euler: a step of Runge and Kutta is no affine "
          "function of the accelerations (the linearisation of it, which proves less, is there as "
          "linearised_plant)");
  UncertainPlant plant = std::visit(
      Overloaded{
          [&](const BuiltInSystem auto& s) { return s.inclusion(task.settings, with_limits); },
          [](const CustomSystemPointer& custom) -> UncertainPlant {
            throw InvalidInput("system", custom->describe().name,
                               "must be a built-in system: of a user's own, give the "
                               "corners, or use linearised_plant");
          }},
      task.system.model().machine);
  plant.validate();
  return plant;
}

namespace {

/// A linear statement with the task's limits and no corners yet.
UncertainPlant limits_of(const Task& task, const InclusionSettings& with_limits) {
  UncertainPlant plant;
  plant.statement = PlantStatement::linear;
  plant.state_limits = with_limits.state_limits;
  std::vector<std::string> names;
  for (const Signal& action : describe(task.system).actions) names.push_back(action.name);
  add_action_limits(plant, names, with_limits.action_limits);
  return plant;
}

void require_linear(const InclusionSettings& settings) {
  require(settings.statement == PlantStatement::linear, "statement", "nonlinear",
          "must be linear: differences at the goal say nothing of other places");
  require(settings.combined_limits.empty(), "combined_limits", "some",
          "must be none: only an inclusion knows their names");
}

}  // namespace

UncertainPlant linearised_plant(const Task& task, const InclusionSettings& settings) {
  require_linear(settings);
  const InclusionSettings with_limits = with_all_limits(task, settings);
  UncertainPlant plant = limits_of(task, with_limits);
  const auto add = [&](const std::string& name, const System& system) {
    LinearModel model = Task{task.name, system, task.settings}.linearise();
    plant.corners.push_back({name, std::move(model.a), std::move(model.b)});
  };
  std::vector<ParameterCorner> corners = parameter_corners(task.system, with_limits.ranges);
  if (corners.size() > 1) add("nominal", task.system);
  for (const ParameterCorner& corner : corners) add(corner.name, corner.system);
  plant.validate();
  return plant;
}

UncertainPlant given_plant(const Task& task, const InclusionSettings& settings,
                           std::vector<UncertainPlant::Corner> corners) {
  require_linear(settings);
  UncertainPlant plant = limits_of(task, with_all_limits(task, settings));
  plant.corners = std::move(corners);
  plant.validate();
  return plant;
}

void AccelerationInclusion::remove_repeated_corners() {
  std::vector<Corner> kept;
  for (Corner& corner : corners) {
    const auto same = [&](const Corner& other) { return other.name == corner.name; };
    if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(std::move(corner));
  }
  corners = std::move(kept);
}

void AccelerationInclusion::add_state_channel(int acceleration, int state, double radius) {
  if (radius == 0) return;
  const Corner& any = corners.front();
  channels.push_back({radius * Eigen::VectorXd::Unit(any.a.rows(), acceleration),
                      Eigen::VectorXd::Unit(any.a.cols(), state),
                      Eigen::VectorXd::Zero(any.b.cols())});
}

void AccelerationInclusion::add_action_channel(int acceleration, const Eigen::VectorXd& actions,
                                               double radius) {
  if (radius == 0) return;
  const Corner& any = corners.front();
  channels.push_back({radius * Eigen::VectorXd::Unit(any.a.rows(), acceleration),
                      Eigen::VectorXd::Zero(any.a.cols()), actions});
}

UncertainPlant discretise(const AccelerationInclusion& accelerations,
                          std::span<const int> positions, std::span<const int> velocities,
                          std::span<const std::string> action_names, const TaskSettings& task,
                          const InclusionSettings& settings) {
  const double dt = task.dt_seconds;
  // What an acceleration of 1 adds to the state in one step.
  const Eigen::Index n = accelerations.corners.front().a.cols();
  const auto count = static_cast<Eigen::Index>(positions.size());
  Eigen::MatrixXd push = Eigen::MatrixXd::Zero(n, count);
  Eigen::MatrixXd drift = Eigen::MatrixXd::Identity(n, n);
  for (Eigen::Index i = 0; i < count; ++i) {
    const int position = positions[static_cast<std::size_t>(i)];
    const int velocity = velocities[static_cast<std::size_t>(i)];
    push(velocity, i) = dt;
    if (task.integrator == Integrator::semi_implicit_euler) push(position, i) = dt * dt;
    drift(position, velocity) = dt;
  }
  UncertainPlant plant;
  plant.statement = settings.statement;
  for (const AccelerationInclusion::Corner& corner : accelerations.corners) {
    plant.corners.push_back({corner.name, drift + push * corner.a, push * corner.b});
  }
  const auto channels = static_cast<Eigen::Index>(accelerations.channels.size());
  const Eigen::Index m = plant.corners.front().b.cols();
  plant.spreads.resize(n, channels);
  plant.state_factors.resize(channels, n);
  plant.action_factors.resize(channels, m);
  for (Eigen::Index j = 0; j < channels; ++j) {
    const auto& channel = accelerations.channels[static_cast<std::size_t>(j)];
    plant.spreads.col(j) = push * channel.spread;
    plant.state_factors.row(j) = channel.state_factor.transpose();
    plant.action_factors.row(j) = channel.action_factor.transpose();
  }
  plant.state_limits = settings.state_limits;
  add_action_limits(plant, action_names, settings.action_limits);
  return plant;
}

double limit_for_coefficients(const InclusionSettings& settings, double limit) {
  return settings.statement == PlantStatement::nonlinear ? limit : 0;
}

}  // namespace lifeguard
