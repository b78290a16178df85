// Files of recordings: round trips to the bit, the examples of the documentation, and what is
// refused, with its place.

#include "lifeguard/runs/recording_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/runs/recording_text.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/invalid_input.hpp"

namespace lifeguard::recording_file_test {

using test_support::expect_invalid;
class RecordingFile : public test_support::Folder {};

constexpr RecordingFormat kFormats[] = {RecordingFormat::csv, RecordingFormat::json_lines};

/// All kinds of ends, names, numbers and gaps.
Recording colourful() {
  Recording r;
  r.machine = "arm, \"left\" – 2";
  r.policy = "# 0123: abc";
  r.dt_seconds = 1.0 / 3.0;
  r.states = {{"angle [of the hip]", "rad"}, {"a, b: \"c\"", ""}};
  r.actions = {{"torque", "N m"}, {"state: x", "1"}, {"µ", "µm/s²"}};
  const double least = std::numeric_limits<double>::denorm_min();
  const double most = std::numeric_limits<double>::max();
  const std::vector<double> special = {0.0,
                                       -0.0,
                                       least,
                                       -least,
                                       most,
                                       -most,
                                       0.1,
                                       1e22,
                                       123456789012345680000.0,
                                       9007199254740993.0,
                                       -1e-300,
                                       1.0,
                                       -42,
                                       std::numeric_limits<double>::min(),
                                       5e-324 * 3};
  std::size_t next = 0;
  const auto take = [&] { return special[next++ % special.size()]; };
  const auto add = [&](const std::string& name, int steps, bool after, bool costs, EndReason end) {
    RecordedTrajectory t;
    t.name = name;
    t.states = Eigen::MatrixXd::NullaryExpr(2, steps + (after ? 1 : 0), take);
    t.actions = Eigen::MatrixXd::NullaryExpr(3, steps, take);
    if (costs) t.costs = Eigen::VectorXd::NullaryExpr(steps, take);
    t.end = end;
    r.trajectories.push_back(t);
  };
  add("", 4, true, true, EndReason::finished);
  add("second, with \"quotes\"", 3, false, false, EndReason::failed);
  add("", 0, true, false, EndReason::cut_short);
  add("# not a remark", 1, true, true, EndReason::cut_short);
  add("7", 2, true, false, EndReason::failed);
  return r;
}

/// Equality that tells -0 from 0.
void expect_same_bits(const Recording& a, const Recording& b) {
  ASSERT_TRUE(a == b);
  for (std::size_t i = 0; i < a.trajectories.size(); ++i) {
    const auto same = [&](const auto& x, const auto& y) {
      for (Eigen::Index n = 0; n < x.size(); ++n) {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(x.data()[n]),
                  std::bit_cast<std::uint64_t>(y.data()[n]));
      }
    };
    same(a.trajectories[i].states, b.trajectories[i].states);
    same(a.trajectories[i].actions, b.trajectories[i].actions);
    if (a.trajectories[i].costs) same(*a.trajectories[i].costs, *b.trajectories[i].costs);
  }
}

std::string with_crlf(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

TEST_F(RecordingFile, ComesBackToTheBit) {
  const Recording recording = colourful();
  for (const RecordingFormat format : kFormats) {
    const std::string text = recording_text(recording, format);
    expect_same_bits(read_recording(text, format, "text"), recording);
    expect_same_bits(read_recording("\xef\xbb\xbf" + with_crlf(text), format, "text"), recording);
    expect_same_bits(read_recording("\n" + text.substr(0, text.size() - 1), format, "text"),
                     recording);
    std::istringstream stream(text);
    expect_same_bits(read_recording(stream, format, "stream"), recording);
    EXPECT_EQ(recording_text(read_recording(text, format, "text"), format), text);
  }
  for (const char* name : {"a.csv", "b.jsonl", "c.json"}) {
    write_recording(recording, path(name));
    expect_same_bits(read_recording(path(name)), recording);
  }
  EXPECT_EQ(text_of("b.jsonl"), text_of("c.json"));
  Recording bare = recording;
  bare.machine = bare.policy = "";
  bare.dt_seconds = kNaN;
  bare.trajectories.clear();
  for (const RecordingFormat format : kFormats) {
    expect_same_bits(read_recording(recording_text(bare, format), format, "text"), bare);
  }
}

TEST_F(RecordingFile, OfASimulationIsItsRollout) {
  Task task = family_by_name("cart-pole").draw(3, 1);
  task.settings.goal(0) = 0.3;
  const GaussianPolicy policy(0.7 * lqr_gains(task), 2.0);
  RolloutSettings settings;
  settings.trajectories = 20;
  settings.steps = 100;
  const Trajectories batch = rollout(task, policy, settings);
  for (const char* name : {"a.csv", "b.jsonl"}) {
    write_recording(recorded(task, policy, settings), path(name));
    EXPECT_TRUE(to_trajectories(read_recording(path(name)), task, {}, 100) == batch);
  }
}

/// The code block of the page that begins so.
std::string example(const std::string& fence) {
  std::ifstream file(LIFEGUARD_SOURCE_DIR "/docs/trajectories.md");
  std::ostringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const std::size_t begin = text.find("```" + fence + "\n") + fence.size() + 4;
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST_F(RecordingFile, ExamplesOfTheDocumentationAreOneRecording) {
  const Recording csv = read_recording(example("csv"), RecordingFormat::csv, "docs");
  const Recording json = read_recording(example("json"), RecordingFormat::json_lines, "docs");
  expect_same_bits(csv, json);
  EXPECT_EQ(recording_text(json, RecordingFormat::json_lines), example("json"));
  ASSERT_EQ(csv.trajectories.size(), 3u);
  EXPECT_EQ(csv.trajectories[0].steps(), 2);
  EXPECT_TRUE(csv.trajectories[0].has_final_state());
  EXPECT_EQ(csv.trajectories[2].end, EndReason::cut_short);
  EXPECT_EQ(csv.dt_seconds, 0.02);
  Task task = make_task("cart", system_by_name("cart-pole"));
  task.settings.dt_seconds = 0.02;
  const Trajectories batch = to_trajectories(csv, task, {}, 2);
  EXPECT_EQ(batch.end(0), EndReason::finished);
  EXPECT_EQ(batch.end(1), EndReason::failed);
  EXPECT_EQ(batch.end(2), EndReason::cut_short);
}

TEST_F(RecordingFile, HasTheFormatOfItsEnding) {
  EXPECT_EQ(recording_format("a/b.csv"), RecordingFormat::csv);
  EXPECT_EQ(recording_format("b.jsonl"), RecordingFormat::json_lines);
  expect_invalid([&] { read_recording(path("flight.parquet")); }, "recording",
                 fmt::format("\"{}\"", path("flight.parquet").string()), "must end in .csv");
  EXPECT_THROW(read_recording(path("nothing.csv")), InvalidInput);
  Recording wrong = colourful();
  wrong.dt_seconds = 0;
  EXPECT_THROW(write_recording(wrong, path("wrong.csv")), InvalidInput);
  EXPECT_EQ(files(), 0);
}

const std::string kTitle = "# lifeguard trajectories 1\n";
const std::string kHead =
    kTitle + "# dt: 0.1 s\ntrajectory,step,time [s],state: x [m],action: u [N],cost,end\n";

TEST_F(RecordingFile, CsvRefusesWithLineAndColumn) {
  const std::string good = kHead + "a,0,1,2,3,4,\na,1,1.1,2,,,failed\n";
  EXPECT_NO_THROW(read_recording(good, RecordingFormat::csv, "f.csv"));
  const auto refused = [](const std::string& text, const std::string& field,
                          const std::string& value, const std::string& rule) {
    SCOPED_TRACE(text);
    expect_invalid([&] { read_recording(text, RecordingFormat::csv, "f.csv"); }, field, value,
                   rule);
  };
  refused("", "f.csv", "nothing", "must begin with the line \"# lifeguard trajectories 1\"");
  refused("a,b\n", "f.csv, line 1", "\"a,b\"", "must begin with the line");
  // Lines that end with a carriage return alone are one line.
  refused("# lifeguard trajectories 1\r# dt: 3 s\r", "f.csv, line 1",
          "\"# lifeguard trajectories 1\\r# dt: 3 s\"", "must be of version 1");
  refused("# lifeguard trajectories 2\n", "f.csv, line 1", "\"# lifeguard trajectories 2\"",
          "must be of version 1");
  refused(kTitle, "f.csv", "nothing", "names of the columns");
  refused(kTitle + "# dT: 3 s\n", "f.csv, line 2", "\"dT\"", "must be machine, policy or dt");
  refused(kTitle + "# dt: 3\n", "f.csv, line 2", "\"3\"", "number of seconds");
  refused(kTitle + "# dt: -3 s\n", "f.csv, line 2", "\"-3 s\"", "number of seconds");
  refused(kTitle + "# dt: 3 s\n# dt: 3 s\n", "f.csv, line 3", "\"dt: 3 s\"", "once only");
  refused(kTitle + "trajectory,step,end,x\n", "f.csv, line 2, column 4 (\"x\")", "\"x\"",
          "must be trajectory, step, time [s], \"state: NAME [UNIT]\"");
  refused(kTitle + "trajectory,step,step\n", "f.csv, line 2, column 3", "\"step\"", "twice");
  refused(kTitle + "trajectory,step,state: x,action: u\n", "f.csv, line 2",
          "the names of the columns", "must have \"end\"");
  refused(kTitle + "trajectory,step,state: x,end\n", "f.csv, line 2: actions", "none",
          "at least 1");
  refused(kTitle + "trajectory,step,time [s],state: x,action: u,end\n", "f.csv, line 2", "time [s]",
          "# dt");
  const std::string row = "f.csv, line 4, column ";
  refused(kHead + "a,0,1,2,3,4\n", "f.csv, line 4", "6 columns", "must be 7");
  refused(kHead + ",0,1,2,3,4,\n", row + "1 (\"trajectory\")", "\"\"", "empty");
  refused(kHead + "a,1,1,2,3,4,\n", row + "2 (\"step\")", "\"1\"", "must be 0: steps count");
  refused(kHead + "a,0,1,nan,3,4,\n", row + "4 (\"state: x [m]\")", "\"nan\"", "finite number");
  refused(kHead + "a,0,1,2,1e999,4,\n", row + "5 (\"action: u [N]\")", "\"1e999\"", "double");
  refused(kHead + "a,0,1,2,3x,4,\n", row + "5 (\"action: u [N]\")", "\"3x\"", "finite number");
  refused(kHead + "a,0,1,,3,4,\n", row + "4 (\"state: x [m]\")", "\"\"", "finite number");
  refused(kHead + "a,0,1,2,3,4,done\n", row + "7 (\"end\")", "\"done\"", "must be \"finished\"");
  refused(kHead + "a,0,1,2,,,\n", row + "7 (\"end\")", "\"\"", "in a row without actions");
  refused(kHead + "a,0,1,2,,4,failed\n", row + "6 (\"cost\")", "\"4\"", "must be empty");
  refused(kHead + "a,0,1,2,3,4,\n", "f.csv, line 4, column \"end\"", "\"\"", "in the last row");
  refused(kHead + "a,0,\"1,2,3,4,\n", "f.csv, line 4", "column 3", "second quotation mark");
  refused(kHead + "\"a\"b,0,1,2,3,4,\n", "f.csv, line 4", "column 1", "nothing between");
  refused(kHead + "a,0,1,2,3,4,\na,1,1.2,2,3,4,failed\n", "f.csv, line 5, column 3 (\"time [s]\")",
          "\"1.2\"", "about 0.1 s after the row before");
  refused(kHead + "a,0,1,2,3,4,\na,1,1.1,2,3,,failed\n", "f.csv, line 5, column 6 (\"cost\")",
          "\"\"", "all steps of a trajectory or for none");
  refused(kHead + "a,0,1,2,3,4,failed\na,1,1.1,2,3,4,failed\n",
          "f.csv, line 5, column 1 (\"trajectory\")", "\"a\"", "ended in line 4");
  refused(kHead + "a,0,1,2,3,4,failed\nb,0,1,2,3,4,failed\na,0,1,2,3,4,failed\n",
          "f.csv, line 6, column 1 (\"trajectory\")", "\"a\"", "must not come back");
  refused(kHead + "a,0,1,2,3,4,\nb,0,1,2,3,4,failed\n", "f.csv, line 4, column \"end\"", "\"\"",
          "in the last row");
}

TEST_F(RecordingFile, JsonRefusesWithLineAndPlace) {
  const std::string head =
      R"({"format":"lifeguard trajectories","version":1,"states":[{"name":"x","unit":"m"}],"actions":[{"name":"u","unit":"N"}]})"
      "\n";
  EXPECT_NO_THROW(read_recording(head + R"({"states":[[1]],"actions":[],"end":"failed"})",
                                 RecordingFormat::json_lines, "f"));
  const auto refused = [](const std::string& text, const std::string& field,
                          const std::string& value, const std::string& rule) {
    SCOPED_TRACE(text);
    expect_invalid([&] { read_recording(text, RecordingFormat::json_lines, "f"); }, field, value,
                   rule);
  };
  refused("", "f", "nothing", "must begin with a line");
  refused("[]", "f, line 1: input", "[]", "must be an object");
  refused("{}", "f, line 1: format", "nothing", "must be there");
  refused(R"({"format":"x"})", "f, line 1: format", "\"x\"", "lifeguard trajectories");
  refused(R"({"format":"lifeguard trajectories","version":2})", "f, line 1: version", "2",
          "must be 1");
  refused(R"({"formt":"x"})", "f, line 1: \"formt\"", "\"x\"", "must be one of the keys format");
  const auto trajectory = [&](const std::string& line, const std::string& field,
                              const std::string& value, const std::string& rule) {
    refused(head + "\n" + line + "\n", "f, line 3: " + field, value, rule);
  };
  trajectory(R"({"actions":[]})", "states", "nothing", "must be there");
  trajectory(R"({"states":[[1]],"actions":[[1]],"end":"over"})", "end", "\"over\"", "finished");
  trajectory(R"({"states":[[1,2]],"actions":[[1]],"end":"failed"})", "states[0]", "2 numbers",
             "must have 1");
  trajectory(R"({"states":[["1"]],"actions":[[1]],"end":"failed"})", "states[0][0]", "\"1\"",
             "must be a number");
  trajectory(R"({"states":[[1]],"actions":[[1],[2]],"end":"failed"})", "states (trajectory 0)",
             "1 for 2 actions", "one more");
  trajectory(R"({"states":[[1]],"actions":[[1]],"costs":[1,2],"end":"failed"})",
             "costs (trajectory 0)", "2 for 1 actions", "as many");
  trajectory(R"({"states":[[1e999]],"actions":[[1]],"end":"failed"})", "states[0][0]", "1e999",
             "double");
  refused(head + "{", "f, line 2: input",
          "parse error at line 1, column 2: syntax error while parsing object key - unexpected end "
          "of input; expected string literal",
          "must be JSON");
}

/// Whatever is done to a file: it is refused, or it is a recording that can be written again.
TEST_F(RecordingFile, SurvivesAnyDamage) {
  const std::string pieces[] = {",",
                                "\n",
                                "\"",
                                "nan",
                                "1e400",
                                "#",
                                "-",
                                "end",
                                "[",
                                "]",
                                "{",
                                "}",
                                ":",
                                "\xff",
                                "failed",
                                "0",
                                "99999999999999999999",
                                "\r",
                                "null",
                                " "};
  long valid = 0, refused = 0;
  for (const RecordingFormat format : kFormats) {
    const std::string original = recording_text(colourful(), format);
    for (std::uint64_t n = 0; n < 4000; ++n) {
      const CounterRandom random(11, RandomStream::user, n);
      std::string text = original;
      const auto below = [&, k = std::uint32_t{0}](std::size_t bound) mutable {
        return static_cast<std::size_t>(random.uniform(k++) * static_cast<double>(bound));
      };
      auto draw = below;
      const std::size_t changes = 1 + draw(3);
      for (std::size_t c = 0; c < changes && !text.empty(); ++c) {
        const std::size_t at = draw(text.size());
        switch (draw(5)) {
          case 0:
            text[at] = static_cast<char>(draw(256));
            break;
          case 1:
            text.erase(at, 1 + draw(20));
            break;
          case 2:
            text.insert(at, pieces[draw(std::size(pieces))]);
            break;
          case 3:
            text.insert(at, text.substr(draw(text.size()), draw(40)));
            break;
          default:
            text.resize(at);
        }
      }
      try {
        const Recording recording = read_recording(text, format, "damaged");
        ++valid;
        EXPECT_TRUE(read_recording(recording_text(recording, format), format, "again") ==
                    recording);
      } catch (const InvalidInput&) {
        ++refused;
      }
    }
  }
  // Both happen: the test is about something.
  EXPECT_GT(valid, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace lifeguard::recording_file_test
