#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lifeguard/core/check.hpp"

namespace lifeguard::test_support {

/// Runs `action`, which must throw InvalidInput with this field and value, a rule that contains
/// `rule`, and a message that holds all three.
template <class Action>
void expect_invalid(const Action& action, const std::string& field, const std::string& value,
                    const std::string& rule) {
  try {
    action();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.field(), field);
    EXPECT_EQ(error.value(), value);
    EXPECT_THAT(error.rule(), ::testing::HasSubstr(rule));
    EXPECT_EQ(std::string(error.what()), field + " = " + value + ": " + error.rule());
    return;
  }
  ADD_FAILURE() << "nothing was thrown for " << field << " = " << value;
}

}  // namespace lifeguard::test_support
