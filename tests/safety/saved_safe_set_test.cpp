#include "lifeguard/safety/sets/saved_safe_set.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "lifeguard/core/saved_state.hpp"
#include "tests/support/invalid_input.hpp"

namespace lifeguard::saved_safe_set_test {

void expect_refused(const std::string& text, const std::string& field, const std::string& value) {
  std::istringstream in(text);
  StateReader reader(in);
  test_support::expect_invalid([&] { read_inequalities(reader, SafeSet(2)); }, field, value,
                               "must");
}

// A matrix without values may have any number of rows, for which there must not be any memory.
TEST(SavedSafeSet, SizesWithoutValuesAreRefused) {
  const std::string begin = "inequalities 0\nclosed_loops 1\ncorners 1\ncorner nominal\n";
  const std::string end = "channels 0\nstate_limit 1\n";
  expect_refused(begin + "a 1000000000 0\nb 1000000000 0\n" + end, "a, b", "no values");
  expect_refused(begin + "a 0 0\nb 0 1000000000\n" + end, "a, b", "no values");
  expect_refused(begin + "a 1000000000 0\nb 0 1000000000\n" + end, "a (columns)", "0 entries");
  expect_refused(begin + "a 1 1 0.5\nb 0 1000000000\n" + end, "b (rows)", "0 entries");
}

TEST(SavedSafeSet, ManyLimitsNeedAsManyLines) {
  const std::string plant = "a 1 1 0.5\nb 1 1 1\nchannels 0\nstate_limit 1\n";
  expect_refused("inequalities 0\nclosed_loops 1\ncorners 1\ncorner nominal\n" + plant +
                     "action_limits 100000\naction_limit force\ndirection 1 1 1\nlimit 1\n",
                 "action_limit", "end of file");
}

}  // namespace lifeguard::saved_safe_set_test
