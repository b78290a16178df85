#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

/// The values that a parameter may have. Always an interval, so that a family whose two ends obey
/// it obeys it in between.
struct ParameterRule {
  double low = -kInfinity;
  double high = kInfinity;
  bool low_open = false;  // low itself is not allowed

  /// The rules there are, by name.
  static constexpr ParameterRule any() { return {}; }
  static constexpr ParameterRule positive() { return {.low = 0, .low_open = true}; }
  static constexpr ParameterRule not_negative() { return {.low = 0}; }
  static constexpr ParameterRule between(double low, double high) {
    return {.low = low, .high = high};
  }

  /// Never for NaN or an infinity.
  constexpr bool allows(double value) const {
    return value > -kInfinity && value < kInfinity && value <= high &&
           (low_open ? value > low : value >= low);
  }
  /// "must be finite and greater than 0"
  std::string text() const;

  bool operator==(const ParameterRule&) const = default;
};

/// A parameter of the system S, described once: whoever checks, reads, writes, draws or documents
/// parameters walks the list S::parameters().
template <class S>
struct Parameter {
  std::string_view name;  // as the field is called
  double S::*field;
  ParameterRule rule;
  std::string_view unit;  // "1" for a pure number
  std::string_view meaning;
};

template <class S>
concept HasParameters = requires {
  { S::parameters()[0] } -> std::convertible_to<Parameter<S>>;
};

/// The list, made once.
template <HasParameters S>
inline constexpr auto kParametersOf = S::parameters();

/// Throws InvalidInput that names the first parameter that breaks its rule.
template <HasParameters S>
void require_parameters(const S& system) {
  for (const Parameter<S>& parameter : kParametersOf<S>) {
    const double value = system.*parameter.field;
    if (!parameter.rule.allows(value)) {
      require(false, parameter.name, value, parameter.rule.text());
    }
  }
}

/// Whether every description is whole and no two are of the same name or field.
template <HasParameters S>
consteval bool parameters_are_described() {
  const auto list = S::parameters();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Parameter<S>& p = list[i];
    if (p.name.empty() || p.unit.empty() || p.meaning.empty() || p.field == nullptr) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (list[j].name == p.name || list[j].field == p.field) return false;
    }
  }
  return true;
}

/// Where a parameter of a family is drawn from: uniformly in [low, high], or with its logarithm
/// uniform.
struct ParameterRange {
  std::string parameter;  // its name
  double low = 0;
  double high = 0;
  bool logarithmic = false;
};

}  // namespace lifeguard
