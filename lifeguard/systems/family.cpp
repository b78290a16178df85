#include "lifeguard/systems/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"

namespace lifeguard {

void Family::validate() const {
  require(!name.empty(), "name", "\"\"", "must not be empty");
  for (const ParameterRange& range : ranges) {
    const auto field = [&](const char* end) {
      return fmt::format("{}.ranges.{}.{}", name, range.parameter, end);
    };
    parameter(nominal, range.parameter);
    const auto same = [&](const ParameterRange& r) { return r.parameter == range.parameter; };
    require(std::count_if(ranges.begin(), ranges.end(), same) == 1, "ranges", range.parameter,
            "must have one range only");
    require_finite(field("low"), range.low);
    require_finite(field("high"), range.high);
    require(range.low <= range.high, field("low"), range.low,
            fmt::format("must not exceed high = {}", range.high));
    require(!range.logarithmic || range.low > 0, field("low"), range.low,
            "must be greater than 0 in a logarithmic range");
  }
  // The rules on parameters are intervals, so tasks at both ends being valid makes all so.
  for (const bool high : {false, true}) {
    Task corner{name, nominal, settings};
    for (const ParameterRange& range : ranges) {
      set_parameter(corner.system, range.parameter, high ? range.high : range.low);
    }
    corner.validate();
  }
}

Task Family::draw(std::uint64_t seed, std::uint64_t index) const {
  validate();
  Task task{fmt::format("{} {}", name, index), nominal, settings};
  const CounterRandom random(seed, RandomStream::parameters, index);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const ParameterRange& range = ranges[i];
    const auto n = static_cast<std::uint32_t>(i);
    double value = range.logarithmic
                       ? std::exp(random.uniform(n, std::log(range.low), std::log(range.high)))
                       : random.uniform(n, range.low, range.high);
    // Rounding must not leave the range.
    value = std::clamp(value, range.low, range.high);
    set_parameter(task.system, range.parameter, value);
  }
  return task;
}

std::vector<Task> Family::draw_many(std::uint64_t seed, int count) const {
  require(count > 0, "tasks", count, "must be at least 1");
  std::vector<Task> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(draw(seed, static_cast<std::uint64_t>(i)));
  return tasks;
}

Family make_family(std::string name, System nominal, std::vector<ParameterRange> ranges) {
  TaskSettings settings = default_settings(nominal);
  return {std::move(name), std::move(nominal), std::move(ranges), std::move(settings)};
}

}  // namespace lifeguard
