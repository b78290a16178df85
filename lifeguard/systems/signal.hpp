#pragma once

#include <string>
#include <string_view>

namespace lifeguard {

/// A state, an action or a feature as people read it: "pole angle" in "rad".
struct Signal {
  std::string name;
  std::string unit;  // "1" for a pure number

  bool operator==(const Signal&) const = default;
};

/// The same as a type writes it down: kStateNames = {{{"position", "m"}, {"speed", "m/s"}}}.
struct SignalName {
  std::string_view name;
  std::string_view unit;

  Signal signal() const { return {std::string(name), std::string(unit)}; }
};

}  // namespace lifeguard
