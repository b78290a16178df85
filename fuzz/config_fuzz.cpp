// Whatever bytes are given as a configuration and as overrides of the command line: they are
// refused with InvalidInput, or they mean an experiment, and the same one when they are read again.
//
// The text ends at the first zero byte; what follows are overrides, each up to the next zero byte.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/run_description.hpp"

namespace lifeguard::config_fuzz {

constexpr std::size_t kMostOverrides = 8;
// A configuration is read once, and one of so many, chosen by its bytes, again as the run of a
// comparison.
constexpr std::size_t kAgainShare = 16;

std::string_view take_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('\0'));
  text.remove_prefix(part.size() < text.size() ? part.size() + 1 : part.size());
  return part;
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "config_fuzz: %s\n", what);
  std::abort();
}

void try_input(std::string_view input) {
  const std::size_t number = std::hash<std::string_view>{}(input);
  const std::string_view text = take_part(input);
  std::vector<std::string> overrides;
  while (!input.empty() && overrides.size() < kMostOverrides) {
    overrides.emplace_back(take_part(input));
  }
  try {
    const ExperimentConfig config = parse_config(text, "fuzz.toml", overrides);
    if (number % kAgainShare != 0) return;
    const auto values = effective_values(config);
    experiment_of(config);
    const ExperimentConfig again = configuration_of(config, config.method, config.seed);
    if (again.method != config.method || again.seed != config.seed) fail("another method or seed");
    for (const auto& value : effective_values(again)) {
      if (value.first == "experiment.method") continue;
      bool found = false;
      for (const auto& before : values) found = found || before == value;
      if (!found) fail(("another value of " + value.first).c_str());
    }
  } catch (const InvalidInput&) {
    // What the documentation says of a configuration that is not valid.
  }
}

}  // namespace lifeguard::config_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lifeguard::config_fuzz::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
