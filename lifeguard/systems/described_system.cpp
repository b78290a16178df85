#include "lifeguard/systems/described_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "lifeguard/core/check.hpp"
#include "lifeguard/systems/absent_system.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"

namespace lifeguard {
namespace {

using ConstVector = Eigen::Map<const Eigen::VectorXd>;

ConstVector as_vector(std::span<const double> values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

class DescribedMachine final : public CustomSystem {
 public:
  DescribedMachine(DescribedSystem description, TaskSettings settings)
      : description_(std::move(description)), settings_(std::move(settings)) {}

  const DescribedSystem& description() const { return description_; }

  int states() const override {
    return static_cast<int>(
        (description_.features.empty() ? description_.states : description_.features).size());
  }
  int actions() const override { return static_cast<int>(description_.actions.size()); }
  int own_features() const override { return static_cast<int>(description_.features.size()); }

  void start(const CounterRandom& random, std::span<double> x) const override {
    require_model();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto state = static_cast<Eigen::Index>(i);
      x[i] = random.uniform(static_cast<std::uint32_t>(i), settings_.start_low(state),
                            settings_.start_high(state));
    }
  }
  void step(std::span<const double> x, std::span<const double> u,
            std::span<double> next) const override {
    require_model();
    const LinearModel& model = *description_.model;
    Eigen::Map<Eigen::VectorXd>(next.data(), static_cast<Eigen::Index>(next.size())) =
        settings_.goal + model.a * (as_vector(x) - settings_.goal) + model.b * as_vector(u);
  }
  double cost(std::span<const double> x, std::span<const double> u) const override {
    return settings_.state_weights.dot((as_vector(x) - settings_.goal).cwiseAbs2()) +
           settings_.action_weights.dot(as_vector(u).cwiseAbs2());
  }
  bool failed(std::span<const double> /*x*/) const override { return false; }
  void features(std::span<const double> x, std::span<double> out) const override {
    // An external machine records what its policy sees.
    std::copy(x.begin(), x.end(), out.begin());
  }

  void step_all(SideBySide all, const double* u, double* x) const override {
    for (const int t : all.live) {
      const Eigen::VectorXd state = column(x, states(), t);
      const Eigen::VectorXd action = column(u, actions(), t);
      Eigen::VectorXd next(states());
      step(span_of(state), span_of(action), {next.data(), static_cast<std::size_t>(next.size())});
      write_column(next, x, t);
    }
  }
  void cost_all(SideBySide all, const double* x, const double* u, double* cost_of) const override {
    for (const int t : all.live) {
      const Eigen::VectorXd state = column(x, states(), t);
      const Eigen::VectorXd action = column(u, actions(), t);
      cost_of[t] = cost(span_of(state), span_of(action));
    }
  }
  void failed_all(SideBySide all, const double* /*x*/, bool* failed_of) const override {
    for (const int t : all.live) failed_of[t] = false;
  }
  void features_all(SideBySide all, const double* x, double* out) const override {
    for (const int t : all.live) write_column(column(x, own_features(), t), out, t);
  }
  bool simulate_chunk(const RolloutJob& /*job*/, int /*first*/) const override { return false; }

  SystemDescription describe() const override {
    SystemDescription d;
    d.name = description_.kind();
    d.meaning = description_.model ? "a linear model from a file" : "a machine outside";
    d.custom = true;
    d.states = description_.features.empty() ? description_.states : description_.features;
    d.actions = description_.actions;
    d.features = description_.features;
    if (description_.model) {
      const auto add = [&](char name, const Eigen::MatrixXd& matrix) {
        for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
          for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
            d.parameters.push_back(
                {fmt::format("{}_{}_{}", name, i + 1, j + 1), matrix(i, j), ParameterRule::any(),
                 "1", fmt::format("entry ({}, {}) of {}", i + 1, j + 1, name == 'a' ? "A" : "B")});
          }
        }
      };
      add('a', description_.model->a);
      add('b', description_.model->b);
    }
    return d;
  }
  TaskSettings default_settings() const override { return settings_; }
  Eigen::VectorXd equilibrium_action(const Eigen::VectorXd& /*goal*/) const override {
    return Eigen::VectorXd::Zero(actions());
  }
  void validate() const override { description_.validate(); }
  std::shared_ptr<const CustomSystem> with_parameter(std::size_t place,
                                                     double value) const override {
    DescribedSystem changed = description_;
    if (changed.model) {
      const auto in_a = static_cast<std::size_t>(changed.model->a.size());
      Eigen::MatrixXd& matrix = place < in_a ? changed.model->a : changed.model->b;
      const auto entry = static_cast<Eigen::Index>(place < in_a ? place : place - in_a);
      matrix(entry / matrix.cols(), entry % matrix.cols()) = value;
    }
    return std::make_shared<const DescribedMachine>(std::move(changed), settings_);
  }
  bool equals(const CustomSystem& other) const override {
    const auto* same_type = dynamic_cast<const DescribedMachine*>(&other);
    return same_type != nullptr && same_type->description_ == description_ &&
           same_type->settings_ == settings_;
  }

 private:
  /// One trajectory out of several that stand side by side.
  static Eigen::VectorXd column(const double* all, int size, int t) {
    return Eigen::Map<const Eigen::VectorXd, 0, Eigen::InnerStride<SideBySide::kWidth>>(all + t,
                                                                                        size);
  }
  static void write_column(const Eigen::VectorXd& from, double* all, int t) {
    Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<SideBySide::kWidth>>(all + t, from.size()) =
        from;
  }
  static std::span<const double> span_of(const Eigen::VectorXd& values) {
    return {values.data(), static_cast<std::size_t>(values.size())};
  }

  void require_model() const {
    require(description_.model.has_value(), "system", "external",
            "cannot be simulated: its trajectories come from outside (lifeguard observe)");
  }

  DescribedSystem description_;
  TaskSettings settings_;
};

const DescribedMachine* machine_of(const System& system) {
  const auto* custom = std::get_if<CustomSystemPointer>(&system.model().machine);
  return custom == nullptr ? nullptr : dynamic_cast<const DescribedMachine*>(custom->get());
}

void require_names(std::string_view field, const std::vector<Signal>& signals,
                   std::set<std::string>& names) {
  for (const Signal& signal : signals) {
    require(!signal.name.empty(), field, "\"\"", "must have names that are not empty");
    require(names.insert(signal.name).second, field, signal.name, "must not appear twice");
  }
}

void require_matrix(std::string_view field, const Eigen::MatrixXd& matrix, std::size_t rows,
                    std::size_t columns) {
  require(matrix.rows() == static_cast<Eigen::Index>(rows) &&
              matrix.cols() == static_cast<Eigen::Index>(columns),
          field, fmt::format("{} x {}", matrix.rows(), matrix.cols()),
          fmt::format("must be {} x {}", rows, columns));
  require(matrix.allFinite(), field, "(a number that is not finite)", "must be finite");
}

}  // namespace

void DescribedSystem::validate() const {
  require(!states.empty() || !features.empty(), "states", "none", "must be at least one");
  require(!actions.empty(), "actions", "none", "must be at least one");
  std::set<std::string> names;
  require_names("states", states, names);
  require_names("actions", actions, names);
  require_names("features", features, names);
  if (!model) return;
  require(states.size() <= kMostStates, "states", static_cast<double>(states.size()),
          fmt::format("must be at most {} of a linear model", kMostStates));
  require(features.empty(), "features", features.empty() ? "" : features.front().name,
          "must not be given for a linear model: its policy sees the state");
  require_matrix("a", model->a, states.size(), states.size());
  require_matrix("b", model->b, states.size(), actions.size());
}

bool DescribedSystem::operator==(const DescribedSystem& other) const {
  if (states != other.states || actions != other.actions || features != other.features ||
      model.has_value() != other.model.has_value()) {
    return false;
  }
  return !model || (model->a == other.model->a && model->b == other.model->b);
}

System make_described_system(DescribedSystem description, const TaskSettings& settings) {
  return CustomSystemPointer(
      std::make_shared<const DescribedMachine>(std::move(description), settings));
}

const DescribedSystem* described(const System& system) {
  const DescribedMachine* machine = machine_of(system);
  return machine == nullptr ? nullptr : &machine->description();
}

void settle(Task& task) {
  if (const DescribedSystem* description = described(task.system)) {
    task.system = make_described_system(*description, task.settings);
  }
}

bool can_simulate(const System& system) {
  if (is_absent(system)) return false;
  const DescribedSystem* description = described(system);
  return description == nullptr || description->model.has_value();
}

}  // namespace lifeguard
