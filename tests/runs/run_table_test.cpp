#include "lifeguard/runs/run_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/run_checksums.hpp"
#include "lifeguard/runs/run_rows.hpp"

namespace lifeguard::run_table_test {

using testing::HasSubstr;

const RunSizes kSizes{3, 2, 1, 2};

template <class Value>
std::string taken(const Cell& cell, Fit fit, Value& value) {
  return from_cell(cell, fit, kSizes, value);
}

TEST(RunTables, ValuesComeBackAsTheyWere) {
  for (const double value : {0.1, -1e300, kInfinity, 5e-324}) {
    double back = 0;
    EXPECT_EQ(taken(to_cell(value), Fit::any, back), "");
    EXPECT_EQ(back, value);
  }
  double back = 0;
  EXPECT_EQ(taken(to_cell(kNaN), Fit::any, back), "");
  EXPECT_TRUE(std::isnan(back));
  const Eigen::VectorXd vector = Eigen::Vector3d(1, -0.0, kInfinity);
  Eigen::VectorXd vector_back;
  EXPECT_EQ(taken(to_cell(vector), Fit::each_task, vector_back), "");
  EXPECT_EQ(vector_back, vector);
  EXPECT_TRUE(std::signbit(vector_back(1)));
  const Eigen::MatrixXd matrix = Eigen::MatrixXd::Random(2, 3);
  Eigen::MatrixXd matrix_back;
  EXPECT_EQ(taken(to_cell(matrix), Fit::anchors, matrix_back), "");
  EXPECT_EQ(matrix_back, matrix);
  std::string text;
  EXPECT_EQ(taken(to_cell(std::string("Λ 1")), Fit::one_line, text), "");
  EXPECT_EQ(text, "Λ 1");
}

TEST(RunTables, WhatDoesNotFitIsSaid) {
  int whole = 0;
  EXPECT_THAT(taken(Cell(std::int64_t{3}), Fit::task, whole), HasSubstr("[0, 2]"));
  EXPECT_EQ(taken(Cell(std::int64_t{-1}), Fit::task_or_none, whole), "");
  EXPECT_THAT(taken(Cell(std::int64_t{1} << 40), Fit::any, whole), HasSubstr("too large"));
  EXPECT_THAT(taken(Cell(std::int64_t{-1}), Fit::not_negative, whole), HasSubstr("is -1"));
  EXPECT_THAT(taken(Cell(0.5), Fit::any, whole), HasSubstr("must be a whole number"));
  bool flag = false;
  EXPECT_THAT(taken(Cell(std::int64_t{2}), Fit::any, flag), HasSubstr("0 or 1"));
  double number = 0;
  EXPECT_THAT(taken(Cell(std::string_view("1")), Fit::any, number), HasSubstr("is a text"));
  EXPECT_THAT(taken(Cell(), Fit::positive, number), HasSubstr("is nothing"));
  std::string text;
  EXPECT_THAT(taken(Cell(std::string_view("\xff")), Fit::any, text), HasSubstr("UTF-8"));
  EXPECT_THAT(taken(Cell(std::string_view("\xc0\x80")), Fit::any, text), HasSubstr("UTF-8"));
  EXPECT_THAT(taken(Cell(std::string_view("\xed\xa0\x80")), Fit::any, text), HasSubstr("UTF-8"));
  EXPECT_THAT(taken(Cell(std::string_view("a\nb")), Fit::one_line, text), HasSubstr("one line"));
  EXPECT_THAT(taken(Cell(std::string_view("")), Fit::one_line, text), HasSubstr("empty"));
  Eigen::VectorXd vector;
  const Eigen::VectorXd long_one = Eigen::VectorXd::Zero(3);
  EXPECT_EQ(taken(to_cell(long_one), Fit::each_parameter, vector), "has 24 bytes, must have 16");
  EXPECT_THAT(taken(Cell(std::as_bytes(std::span("1234567", 7))), Fit::any, vector),
              HasSubstr("multiple of 8"));
  const Eigen::VectorXd not_finite = Eigen::Vector2d(0, kNaN);
  EXPECT_THAT(taken(to_cell(not_finite), Fit::each_parameter, vector), HasSubstr("not finite"));
  EXPECT_EQ(taken(to_cell(not_finite), Fit::each_state, vector), "");
  RoundStatus status{};
  EXPECT_THAT(taken(Cell(std::string_view("fine")), Fit::any, status), HasSubstr("no status"));
}

TEST(RunTables, DifferencesAreToTheBitOrToATolerance) {
  EXPECT_EQ(difference(Cell(0.5), Cell(0.5)), "");
  EXPECT_EQ(difference(Cell(std::int64_t{7}), Cell(std::int64_t{0})), "is 7 instead of 0");
  EXPECT_NE(difference(Cell(0.5), Cell(std::nextafter(0.5, 1))), "");
  EXPECT_EQ(difference(Cell(0.5), Cell(std::nextafter(0.5, 1)), 1e-9), "");
  EXPECT_NE(difference(Cell(0.5), Cell(0.51), 1e-9), "");
  EXPECT_NE(difference(Cell(), Cell(0.5)), "");
  EXPECT_EQ(difference(Cell(), Cell()), "");
  const Eigen::VectorXd a = Eigen::Vector2d(1, 2);
  const Eigen::VectorXd b = Eigen::Vector2d(1, 2 + 1e-12);
  EXPECT_EQ(difference(to_cell(a), to_cell(b)), "has 2 instead of 2.000000000001 at place 1");
  EXPECT_EQ(difference(to_cell(a), to_cell(b), 1e-9), "");
}

TEST(RunTables, TheSchemaIsTheDescription) {
  EXPECT_EQ(
      create_sql(table_of<StoredRegret>()),
      "CREATE TABLE regret (round INTEGER PRIMARY KEY, surrogate REAL, true_cost REAL, bound REAL, "
      "bound_prior REAL, bound_rounds REAL, bound_off_leader REAL, bound_changes REAL, "
      "bound_logarithmic REAL, bound_without_knowledge REAL)");
  EXPECT_EQ(insert_sql(table_of<StoredPolicy>(), false),
            "INSERT INTO policies (task,parameters) VALUES (?,?)");
  EXPECT_EQ(select_sql(table_of<StoredRegret>(), 5, false),
            "SELECT round,surrogate,true_cost FROM regret ORDER BY round");
  EXPECT_EQ(select_sql(table_of<StoredCheckpoint>(), 4, false),
            "SELECT id,round,state,checksum FROM checkpoint ORDER BY id");
  EXPECT_EQ(select_sql(table_of<StoredCheckpoint>(), 3, true),
            "SELECT id,round,state FROM checkpoint WHERE id >= ? ORDER BY id");
}

// Wherever it stands among letters of one byte, of which several are looked at together.
TEST(RunTables, TextsAreUtf8WhateverStandsAroundWhatIsNot) {
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, bool>> parts = {
      {"", true},
      {"\0"s, true},
      {"\x7f", true},
      {"\xc3\xbc", true},          // ü
      {"\xe2\x88\x9e", true},      // ∞
      {"\xf0\x9f\x9b\x9f", true},  // beyond 16 bits
      {"\x80", false},             // goes on without a beginning
      {"\xc3", false},             // begins and does not go on
      {"\xe2\x88", false},
      {"\xc0\xaf", false},          // longer than it must be
      {"\xed\xa0\x80", false},      // half of a pair of UTF-16
      {"\xf4\x90\x80\x80", false},  // above all that there is
      {"\xff", false},
  };
  for (const auto& [part, whole] : parts) {
    for (std::size_t before = 0; before <= 17; ++before) {
      for (std::size_t after = 0; after <= 17; ++after) {
        const std::string text = std::string(before, 'a') + part + std::string(after, 'z');
        EXPECT_EQ(is_utf8(text), whole) << before << " letters before, " << after << " after";
        EXPECT_TRUE(is_utf8(as_utf8(text)));
      }
    }
  }
}

TEST(RunChecksums, EveryColumnCountsAndTimesCountApart) {
  RoundOutcome outcome;
  outcome.round.round = 1;
  outcome.round.played = Eigen::Vector2d(1, 2);
  outcome.evaluation = StoredEvaluation{1, Eigen::Vector2d(1, 2), Eigen::Vector2d(3, 4)};
  const StoredChecksum last{0, "before", ""};
  const StoredChecksum hash = next_checksum(last, outcome);
  EXPECT_EQ(next_checksum(last, outcome).results, hash.results);
  EXPECT_NE(next_checksum({0, "befors", ""}, outcome).results, hash.results);
  RoundOutcome slower = outcome;
  slower.round.learn_seconds = 1;
  EXPECT_EQ(next_checksum(last, slower).results, hash.results);
  EXPECT_NE(next_checksum(last, slower).times, hash.times);
  RoundOutcome moved = outcome;  // the same numbers, elsewhere
  std::swap(moved.evaluation->costs, moved.evaluation->margins);
  EXPECT_NE(next_checksum(last, moved).results, hash.results);
  RoundOutcome without = outcome;
  without.evaluation.reset();
  EXPECT_NE(next_checksum(last, without).results, hash.results);
  // A file of an older schema has the hashes that it always had: of its own columns.
  outcome.regret = StoredRegret{1, 2.0, 3.0};
  const StoredChecksum old_hash = next_checksum(last, outcome, 5);
  outcome.regret->bound = 4.0;
  EXPECT_EQ(next_checksum(last, outcome, 5).results, old_hash.results);
  EXPECT_NE(next_checksum(last, outcome).results, old_hash.results);
}

}  // namespace lifeguard::run_table_test
