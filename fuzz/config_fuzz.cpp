// Whatever bytes are given as a configuration and as overrides of the command line: they are
// refused with InvalidInput, or they mean an experiment, and the same one when they are read again.
//
// The text ends at the first zero byte; what follows are overrides, each up to the next zero byte.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/run_description.hpp"

namespace {

constexpr std::size_t kMostOverrides = 8;

std::string_view take_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('\0'));
  text.remove_prefix(part.size() < text.size() ? part.size() + 1 : part.size());
  return part;
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "config_fuzz: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = take_part(input);
  std::vector<std::string> overrides;
  while (!input.empty() && overrides.size() < kMostOverrides) {
    overrides.emplace_back(take_part(input));
  }
  try {
    const lifeguard::ExperimentConfig config =
        lifeguard::parse_config(text, "fuzz.toml", overrides);
    const auto values = lifeguard::effective_values(config);
    lifeguard::experiment_of(config);
    const lifeguard::ExperimentConfig again =
        lifeguard::configuration_of(config, config.method, config.seed);
    if (again.method != config.method || again.seed != config.seed) fail("another method or seed");
    for (const auto& value : lifeguard::effective_values(again)) {
      if (value.first == "experiment.method") continue;
      bool found = false;
      for (const auto& before : values) found = found || before == value;
      if (!found) fail(("another value of " + value.first).c_str());
    }
  } catch (const lifeguard::InvalidInput&) {
    // What the documentation says of a configuration that is not valid.
  }
  return 0;
}
