#include "lifeguard/systems/absent_system.hpp"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "lifeguard/core/check.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"

namespace lifeguard {
namespace {

bool same_parameters(const SystemDescription& a, const SystemDescription& b) {
  if (a.parameters.size() != b.parameters.size()) return false;
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    const ParameterDescription& p = a.parameters[i];
    const ParameterDescription& q = b.parameters[i];
    if (p.name != q.name || p.value != q.value || p.unit != q.unit || p.meaning != q.meaning) {
      return false;
    }
  }
  return true;
}

class AbsentMachine final : public CustomSystem {
 public:
  AbsentMachine(SystemDescription description, TaskSettings settings)
      : description_(std::move(description)), settings_(std::move(settings)) {}

  int states() const override { return static_cast<int>(description_.states.size()); }
  int actions() const override { return static_cast<int>(description_.actions.size()); }
  int own_features() const override { return static_cast<int>(description_.features.size()); }

  void start(const CounterRandom&, std::span<double>) const override { refuse(); }
  void step(std::span<const double>, std::span<const double>, std::span<double>) const override {
    refuse();
  }
  double cost(std::span<const double>, std::span<const double>) const override { refuse(); }
  bool failed(std::span<const double>) const override { refuse(); }
  void features(std::span<const double>, std::span<double>) const override { refuse(); }
  void step_all(SideBySide, const double*, double*) const override { refuse(); }
  void cost_all(SideBySide, const double*, const double*, double*) const override { refuse(); }
  void failed_all(SideBySide, const double*, bool*) const override { refuse(); }
  void features_all(SideBySide, const double*, double*) const override { refuse(); }
  bool simulate_chunk(const RolloutJob&, int) const override { refuse(); }
  Eigen::VectorXd equilibrium_action(const Eigen::VectorXd&) const override { refuse(); }

  SystemDescription describe() const override { return description_; }
  TaskSettings default_settings() const override { return settings_; }
  void validate() const override {
    const SystemDescription& d = description_;
    require(!d.name.empty(), "system", "\"\"", "must have a name");
    require(!d.states.empty(), "states", "none", "must be at least one");
    require(!d.actions.empty(), "actions", "none", "must be at least one");
    for (const int place : d.positions) {
      require(place >= 0 && place < states(), "positions", place,
              fmt::format("must be places in a state of {}", states()));
    }
    std::set<std::string> names;
    for (const ParameterDescription& p : d.parameters) {
      require(names.insert(p.name).second, "parameters", p.name, "must not appear twice");
    }
  }
  std::shared_ptr<const CustomSystem> with_parameter(std::size_t place,
                                                     double value) const override {
    SystemDescription changed = description_;
    changed.parameters.at(place).value = value;
    return std::make_shared<const AbsentMachine>(std::move(changed), settings_);
  }
  bool equals(const CustomSystem& other) const override {
    const auto* same_type = dynamic_cast<const AbsentMachine*>(&other);
    if (same_type == nullptr) return false;
    const SystemDescription& a = description_;
    const SystemDescription& b = same_type->description_;
    return a.name == b.name && a.meaning == b.meaning && a.states == b.states &&
           a.actions == b.actions && a.features == b.features && a.drawing == b.drawing &&
           a.positions == b.positions && same_parameters(a, b) && settings_ == same_type->settings_;
  }

 private:
  [[noreturn]] void refuse() const {
    throw InvalidInput("system", description_.name,
                       "is not known to this program, which can show what was stored of it and "
                       "not play it: that takes a program in which it is registered");
  }

  SystemDescription description_;
  TaskSettings settings_;
};

}  // namespace

System make_absent_system(SystemDescription description, const TaskSettings& settings) {
  description.custom = true;
  return CustomSystemPointer(
      std::make_shared<const AbsentMachine>(std::move(description), settings));
}

bool is_absent(const System& system) {
  const auto* custom = std::get_if<CustomSystemPointer>(&system.model().machine);
  return custom != nullptr && dynamic_cast<const AbsentMachine*>(custom->get()) != nullptr;
}

}  // namespace lifeguard
