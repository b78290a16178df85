#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

#include <gtest/gtest.h>

#include "tests/support/invalid_input.hpp"

namespace lifeguard::check_test {

using test_support::expect_invalid;

constexpr double kNan = kNaN;
TEST(Check, MessageNamesFieldValueAndRule) {
  const InvalidInput error("mass_kilograms", "-1", "must be finite and greater than 0");
  EXPECT_STREQ(error.what(), "mass_kilograms = -1: must be finite and greater than 0");
  EXPECT_EQ(error.field(), "mass_kilograms");
  EXPECT_EQ(error.value(), "-1");
  EXPECT_EQ(error.rule(), "must be finite and greater than 0");
}

TEST(Check, RequireThrowsOnlyIfTheConditionIsFalse) {
  EXPECT_NO_THROW(require(true, "steps", 3, "must be odd"));
  EXPECT_NO_THROW(require(true, "name", "a", "must be short"));
  expect_invalid([] { require(false, "steps", 4, "must be odd"); }, "steps", "4", "must be odd");
  expect_invalid([] { require(false, "name", "abc", "must be short"); }, "name", "abc", "short");
}

TEST(Check, ValuesAreWrittenWithAllTheirDigits) {
  expect_invalid([] { require(false, "x", 0.1, "rule"); }, "x", "0.1", "rule");
  expect_invalid([] { require(false, "x", 1.0 / 3.0, "rule"); }, "x", "0.3333333333333333", "rule");
  expect_invalid([] { require(false, "x", kNan, "rule"); }, "x", "nan", "rule");
}

TEST(Check, FiniteRefusesNanAndInfinity) {
  for (const double x : {-1e308, -1.0, 0.0, 1e-308, 1e308}) {
    EXPECT_NO_THROW(require_finite("x", x));
  }
  expect_invalid([] { require_finite("x", kNan); }, "x", "nan", "finite");
  expect_invalid([] { require_finite("x", kInfinity); }, "x", "inf", "finite");
  expect_invalid([] { require_finite("x", -kInfinity); }, "x", "-inf", "finite");
}

TEST(Check, PositiveRefusesZeroAndBelow) {
  EXPECT_NO_THROW(require_positive("x", 1e-300));
  expect_invalid([] { require_positive("x", 0); }, "x", "0", "greater than 0");
  expect_invalid([] { require_positive("x", -2.5); }, "x", "-2.5", "greater than 0");
  expect_invalid([] { require_positive("x", kInfinity); }, "x", "inf", "finite");
  expect_invalid([] { require_positive("x", kNan); }, "x", "nan", "finite");
}

TEST(Check, NotNegativeAllowsZero) {
  EXPECT_NO_THROW(require_not_negative("x", 0));
  expect_invalid([] { require_not_negative("x", -1e-300); }, "x", "-1e-300", "at least 0");
  expect_invalid([] { require_not_negative("x", kInfinity); }, "x", "inf", "finite");
  expect_invalid([] { require_not_negative("x", kNan); }, "x", "nan", "finite");
}

TEST(Check, SizeNamesBothSizes) {
  EXPECT_NO_THROW(require_size("goal", 4, 4));
  expect_invalid([] { require_size("goal", 3, 4); }, "goal", "3 entries", "must have 4 entries");
}

TEST(Check, IndexedNamesOneEntry) { EXPECT_EQ(indexed("actions", 2), "actions[2]"); }

TEST(Check, AFileNameHasNoFoldersAndNothingThatIsTakenForSomethingElse) {
  for (const char* name : {"a", "some name", "pg-ella", "größe", "a.b", "x%y"}) {
    EXPECT_NO_THROW(require_file_name("name", name)) << name;
  }
  EXPECT_NO_THROW(require_file_name("name", std::string(kLongestFileName, 'x')));
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../evil"),
        std::string("/etc"), std::string("a/b"), std::string("a\\b"), std::string(".hidden"),
        std::string("-o"), std::string("a\nb"), std::string("a\x1b[31m"), std::string("a\x7f"),
        std::string(kLongestFileName + 1, 'x')}) {
    expect_invalid([&] { require_file_name("name", name); }, "name", "\"" + name + "\"",
                   "must be the name of a file");
  }
  EXPECT_THROW(require_file_name("name", std::string("a\0b", 3)), InvalidInput);
}

}  // namespace lifeguard::check_test
