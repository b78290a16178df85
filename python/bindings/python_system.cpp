#include "bindings/python_system.hpp"

#include <fmt/format.h>

#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/task_keywords.hpp"
#include "lifeguard/core/check.hpp"

namespace lifeguard::python {
namespace {

nb::object attribute(const nb::object& object, const char* name) {
  return nb::hasattr(object, name) ? nb::object(object.attr(name)) : nb::none();
}

/// [("angle", "rad"), …], or how many there are.
std::vector<Signal> signals(const nb::object& object, const char* field, bool needed) {
  const nb::object given = attribute(object, field);
  if (given.is_none()) {
    require(!needed, field, "None", "must be a list of (name, unit), or how many there are");
    return {};
  }
  std::vector<Signal> result;
  int count = 0;
  if (nb::try_cast(given, count)) {
    require(count > 0, field, count, "must be at least 1");
    // "states" become "state 1", "state 2", …
    const std::string name(field, std::string_view(field).size() - 1);
    for (int i = 0; i < count; ++i) result.push_back({fmt::format("{} {}", name, i + 1), ""});
    return result;
  }
  std::vector<std::pair<std::string, std::string>> named;
  require(nb::try_cast(given, named), field, nb::cast<std::string>(nb::repr(given)),
          "must be a list of (name, unit), or how many there are");
  for (auto& [name, unit] : named) result.push_back({name, unit});
  return result;
}

ParameterRule rule_of(const std::string& name, const nb::handle& rule) {
  std::pair<double, double> range;
  if (nb::try_cast(rule, range)) return ParameterRule::between(range.first, range.second);
  const std::string text = nb::cast<std::string>(nb::str(rule));
  if (text == "positive") return ParameterRule::positive();
  if (text == "not negative") return ParameterRule::not_negative();
  require(text == "any", "parameters." + name, text,
          "must have the rule \"positive\", \"not negative\", \"any\" or (low, high)");
  return ParameterRule::any();
}

std::vector<ParameterDescription> parameters(const nb::object& object) {
  std::vector<ParameterDescription> result;
  const nb::object given = attribute(object, "parameters");
  if (given.is_none()) return result;
  require(nb::isinstance<nb::dict>(given), "parameters", nb::cast<std::string>(nb::repr(given)),
          "must be a dictionary of name: (unit, meaning) or (unit, meaning, rule)");
  for (const auto& [key, value] : nb::borrow<nb::dict>(given)) {
    ParameterDescription p;
    p.name = nb::cast<std::string>(key);
    const nb::tuple about = nb::tuple(nb::borrow<nb::object>(value));
    require(about.size() == 2 || about.size() == 3, "parameters." + p.name,
            nb::cast<std::string>(nb::repr(value)),
            "must be (unit, meaning) or (unit, meaning, rule)");
    p.unit = nb::cast<std::string>(about[0]);
    p.meaning = nb::cast<std::string>(about[1]);
    if (about.size() == 3) p.rule = rule_of(p.name, about[2]);
    require(nb::hasattr(object, p.name.c_str()), "parameters." + p.name, "missing",
            "must be an attribute of the system");
    p.value = nb::cast<double>(object.attr(p.name.c_str()));
    result.push_back(std::move(p));
  }
  return result;
}

nb::object row(std::span<const double> values) {
  NewArray array({1, values.size()});
  std::copy(values.begin(), values.end(), array.data());
  return array.finish();
}

/// The rows that are meant, one trajectory each.
nb::object rows(SideBySide all, const double* values, int columns) {
  NewArray array({all.live.size(), static_cast<std::size_t>(columns)});
  double* next = array.data();
  for (const int t : all.live) {
    for (int i = 0; i < columns; ++i) *next++ = values[i * SideBySide::kWidth + t];
  }
  return array.finish();
}

}  // namespace

std::shared_ptr<nb::object> kept(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* last) {
            // After the end of the interpreter there is nothing to give the object back to.
            if (!nb::is_alive()) return;
            const nb::gil_scoped_acquire acquire;
            delete last;
          }};
}

PythonSystem::PythonSystem(nb::object object) : object_(kept(std::move(object))) {
  const nb::object& self = *object_;
  description_.custom = true;
  const nb::object name = attribute(self, "name");
  description_.name = name.is_none() ? "custom" : nb::cast<std::string>(name);
  const nb::object meaning = attribute(self, "meaning");
  if (!meaning.is_none()) description_.meaning = nb::cast<std::string>(meaning);
  description_.states = signals(self, "states", true);
  description_.actions = signals(self, "actions", true);
  for (const char* method : {"step", "cost"}) {
    require(nb::hasattr(self, method), "system", nb::cast<std::string>(nb::repr(self)),
            fmt::format("must have the method {}", method));
  }
  description_.features = signals(self, "own_features", false);
  require(description_.features.empty() || nb::hasattr(self, "features"), "own_features", "given",
          "needs the method features");
  description_.parameters = parameters(self);
  const nb::object drawing = attribute(self, "drawing");
  if (!drawing.is_none()) description_.drawing = nb::cast<std::string>(drawing);
  const nb::object positions = attribute(self, "positions");
  if (!positions.is_none()) description_.positions = nb::cast<std::vector<int>>(positions);
  const nb::object share = attribute(self, "start_share");
  if (!share.is_none()) description_.start_share = nb::cast<double>(share);
  settings_ = TaskSettings::unlimited(states(), actions());
  const nb::object settings = attribute(self, "settings");
  if (!settings.is_none()) {
    read_task_settings(nb::cast<nb::dict>(settings), states(), actions(), settings_);
  }
  settings_.validate(states(), actions());
  start_low_ = settings_.start_low;
  start_high_ = settings_.start_high;
  has_start_ = nb::hasattr(self, "start");
  has_failed_ = nb::hasattr(self, "failed");
}

template <class Take>
void PythonSystem::ask(const Method& method, const nb::object& x, const nb::object* u,
                       std::size_t rows, const Take& take) const {
  const nb::object callable = object_->attr(method.name);
  const nb::object answer = u == nullptr ? callable(x) : callable(x, *u);
  if (method.columns == 1) {
    Numbers1 numbers;
    require(nb::try_cast(answer, numbers) && numbers.shape(0) == rows, method.name,
            nb::cast<std::string>(nb::repr(attribute(answer, "shape"))),
            fmt::format("must give an array of {} numbers, one for each row", rows));
    for (std::size_t i = 0; i < rows; ++i) take(i, 0, numbers(i));
    return;
  }
  const auto columns = static_cast<std::size_t>(-method.columns);
  Numbers2 numbers;
  require(nb::try_cast(answer, numbers) && numbers.shape(0) == rows && numbers.shape(1) == columns,
          method.name, nb::cast<std::string>(nb::repr(attribute(answer, "shape"))),
          fmt::format("must give an array of {} x {} numbers", rows, columns));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) take(i, static_cast<int>(j), numbers(i, j));
  }
}

void PythonSystem::start(const CounterRandom& random, std::span<double> x) const {
  if (!has_start_) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto place = static_cast<Eigen::Index>(i);
      x[i] = random.uniform(static_cast<std::uint32_t>(i), start_low_(place), start_high_(place));
    }
    return;
  }
  const nb::gil_scoped_acquire acquire;
  const nb::object answer = object_->attr("start")(nb::cast(random));
  Numbers1 numbers;
  require(nb::try_cast(answer, numbers) && numbers.shape(0) == x.size(), "start",
          nb::cast<std::string>(nb::repr(answer)),
          fmt::format("must give {} numbers, the state", x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = numbers(i);
}

void PythonSystem::step(std::span<const double> x, std::span<const double> u,
                        std::span<double> next) const {
  const nb::gil_scoped_acquire acquire;
  const nb::object action = row(u);
  ask({"step", -states()}, row(x), &action, 1,
      [&](std::size_t, int j, double value) { next[static_cast<std::size_t>(j)] = value; });
}

double PythonSystem::cost(std::span<const double> x, std::span<const double> u) const {
  const nb::gil_scoped_acquire acquire;
  const nb::object action = row(u);
  double result = 0;
  ask({"cost", 1}, row(x), &action, 1, [&](std::size_t, int, double value) { result = value; });
  return result;
}

bool PythonSystem::failed(std::span<const double> x) const {
  if (!has_failed_) return false;
  const nb::gil_scoped_acquire acquire;
  bool result = false;
  ask({"failed", 1}, row(x), nullptr, 1,
      [&](std::size_t, int, double value) { result = value != 0; });
  return result;
}

void PythonSystem::features(std::span<const double> x, std::span<double> out) const {
  if (out.empty()) return;
  const nb::gil_scoped_acquire acquire;
  ask({"features", -own_features()}, row(x), nullptr, 1,
      [&](std::size_t, int j, double value) { out[static_cast<std::size_t>(j)] = value; });
}

void PythonSystem::step_all(SideBySide all, const double* u, double* x) const {
  const nb::gil_scoped_acquire acquire;
  const nb::object action = rows(all, u, actions());
  ask({"step", -states()}, rows(all, x, states()), &action, all.live.size(),
      [&](std::size_t i, int j, double value) { x[j * SideBySide::kWidth + all.live[i]] = value; });
}

void PythonSystem::cost_all(SideBySide all, const double* x, const double* u, double* cost) const {
  const nb::gil_scoped_acquire acquire;
  const nb::object action = rows(all, u, actions());
  ask({"cost", 1}, rows(all, x, states()), &action, all.live.size(),
      [&](std::size_t i, int, double value) { cost[all.live[i]] = value; });
}

void PythonSystem::failed_all(SideBySide all, const double* x, bool* failed) const {
  if (!has_failed_) {
    for (const int t : all.live) failed[t] = false;
    return;
  }
  const nb::gil_scoped_acquire acquire;
  ask({"failed", 1}, rows(all, x, states()), nullptr, all.live.size(),
      [&](std::size_t i, int, double value) { failed[all.live[i]] = value != 0; });
}

void PythonSystem::features_all(SideBySide all, const double* x, double* out) const {
  const nb::gil_scoped_acquire acquire;
  ask({"features", -own_features()}, rows(all, x, states()), nullptr, all.live.size(),
      [&](std::size_t i, int j, double value) {
        out[j * SideBySide::kWidth + all.live[i]] = value;
      });
}

Eigen::VectorXd PythonSystem::equilibrium_action(const Eigen::VectorXd& goal) const {
  const nb::gil_scoped_acquire acquire;
  if (!nb::hasattr(*object_, "equilibrium_action")) return Eigen::VectorXd::Zero(actions());
  return nb::cast<Eigen::VectorXd>(object_->attr("equilibrium_action")(nb::cast(goal)));
}

void PythonSystem::validate() const {
  for (const ParameterDescription& p : description_.parameters) {
    require(p.rule.allows(p.value), p.name, p.value, p.rule.text());
  }
}

std::shared_ptr<const CustomSystem> PythonSystem::with_parameter(std::size_t place,
                                                                 double value) const {
  const nb::gil_scoped_acquire acquire;
  nb::object changed = nb::module_::import_("copy").attr("copy")(*object_);
  nb::setattr(changed, description_.parameters.at(place).name.c_str(), nb::float_(value));
  return std::make_shared<const PythonSystem>(std::move(changed));
}

bool PythonSystem::equals(const CustomSystem& other) const {
  const auto* same_kind = dynamic_cast<const PythonSystem*>(&other);
  if (same_kind == nullptr) return false;
  const nb::gil_scoped_acquire acquire;
  if (object_->is(*same_kind->object_)) return true;
  if (!object_->type().is(same_kind->object_->type())) return false;
  const auto& a = description_.parameters;
  const auto& b = same_kind->description_.parameters;
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].value != b[i].value) return false;
  }
  return settings_ == same_kind->settings_;
}

}  // namespace lifeguard::python
