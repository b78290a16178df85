#include "lifeguard/runs/json_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "lifeguard/core/check.hpp"
#include "tests/support/folder.hpp"

namespace lifeguard::json_input_test {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class ReadInput : public test_support::Folder {
 protected:
  std::string path(const std::string& name) const { return Folder::path(name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    make(name, text);
    return path(name);
  }
  static std::string refusal(const std::string& name, const InputLimits& limits = {},
                             double seconds = 5) {
    try {
      read_input(name, limits, Deadline::after(seconds));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(ReadInput, GivesEveryByte) {
  std::string text(100'000, 'x');
  text[5] = '\0';
  text[70'000] = '\xff';
  EXPECT_EQ(read_input(write("file", text)), text);
  EXPECT_EQ(read_input(write("empty", "")), "");
  EXPECT_EQ(read_input("/dev/null"), "");
}

TEST_F(ReadInput, RefusesWhatIsNoFile) {
  EXPECT_THAT(refusal(path("missing")), HasSubstr("No such file"));
  EXPECT_THAT(refusal(path("")), HasSubstr("Is a directory"));
  EXPECT_THAT(refusal(""), HasSubstr("must be a file that can be read"));
}

TEST_F(ReadInput, EndsAtTheLimit) {
  const InputLimits limits{.bytes = 100'000};
  EXPECT_EQ(read_input(write("file", std::string(100'000, 'x')), limits).size(), 100'000u);
  EXPECT_THAT(refusal(write("file", std::string(100'001, 'x')), limits), HasSubstr("at most"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("at most 67108864 bytes"));
}

TEST_F(ReadInput, PipesAreReadToTheirEnd) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream out(pipe);
    out << "one";
    out.flush();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    out << " two";
  });
  EXPECT_EQ(read_input(pipe, {}, Deadline::after(60)), "one two");
  writer.join();
}

TEST_F(ReadInput, PipesThatNobodyWritesToEndInTime) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(pipe, {}, 0.05), HasSubstr("before the time is over"));
}

TEST_F(ReadInput, ClosedStandardInputIsSaid) {
  const int saved = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  const std::string said = refusal("-");
  if (saved >= 0) {
    ::dup2(saved, STDIN_FILENO);
    ::close(saved);
  }
  EXPECT_THAT(said, HasSubstr("must be a file that can be read"));
}

TEST(ParseJson, IsJson) {
  const Json value = parse_json(R"({"a": [1, -2, 2.5e3, true, null, "x\u00e9"], "b": {"c": []}})");
  EXPECT_EQ(value, Json::parse(R"({"a": [1, -2, 2500.0, true, null, "xé"], "b": {"c": []}})"));
  EXPECT_EQ(parse_json("7"), 7);
  EXPECT_EQ(parse_json("0.0e-999"), 0.0);
  EXPECT_EQ(parse_json("-0.1e1"), -1.0);
  EXPECT_EQ(parse_json("123456789012345678901234567890"), 123456789012345678901234567890.0);
}

std::string said_of(const std::string& text, const InputLimits& limits = {}) {
  try {
    parse_json(text, limits);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ParseJson, SaysWhereItIsNotJson) {
  EXPECT_THAT(said_of("[1,\n2,,]"), HasSubstr("line 2, column 3"));
  EXPECT_THAT(said_of("[1, 2"), HasSubstr("must be JSON"));
  EXPECT_THAT(said_of("{\"a\": 1} x"), HasSubstr("line 1, column 10"));
  EXPECT_THAT(said_of("{\"a\": [1, {\"b\": 1e400}]}"), HasSubstr("a[1].b = 1e400"));
  EXPECT_THAT(said_of("[0, [-1e400]]"), HasSubstr("[1][0] = -1e400"));
  EXPECT_THAT(said_of("[1e-400]"), HasSubstr("[0] = 1e-400"));
  EXPECT_THAT(said_of("{\"a\": {\"b\": 1, \"b\": 1}}"), HasSubstr("a.b = another value"));
}

TEST(ParseJson, LimitsHold) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(said_of(deep), "accepted");
  EXPECT_THAT(said_of("[" + deep + "]"), HasSubstr("nested deeper than 64"));
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += "{\"a\":";
  EXPECT_THAT(said_of(objects), HasSubstr("nested deeper than 64"));
  EXPECT_EQ(said_of("[1, 2, 3]", {.values = 4}), "accepted");
  EXPECT_THAT(said_of("[1, 2, 3, 4]", {.values = 4}), HasSubstr("more than 4 values"));
  EXPECT_THAT(said_of("[1, 2, 3]", {.bytes = 8}), HasSubstr("at most 8 bytes"));
}

TEST(ParseJson, WhatIsShownIsShort) {
  EXPECT_EQ(shown(Json::parse(R"([1, {"a": "b"}, null])")), R"([1,{"a":"b"},null])");
  EXPECT_EQ(shown(std::string_view("\x1b[2J")), R"("\u001b[2J")");
  EXPECT_LE(shown(Json(std::vector<int>(100'000, 7))).size(), 60u);
  EXPECT_LE(shown(Json(std::string(100'000, 'x'))).size(), 70u);
  EXPECT_LE(shown(std::string_view(std::string(100'000, '\xff'))).size(), 500u);
}

}  // namespace lifeguard::json_input_test
