#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "lifeguard/report/report_run.hpp"

namespace lifeguard {

/// Rows of several runs by round: a round counts if every run has it.
template <typename Row>
std::vector<std::vector<const Row*>> rows_in_all(const std::vector<const RunView*>& runs,
                                                 std::vector<Row> RunView::*rows) {
  std::map<long, std::vector<const Row*>> by_round;
  for (const RunView* run : runs) {
    for (const Row& row : run->*rows) by_round[row.round].push_back(&row);
  }
  std::vector<std::vector<const Row*>> result;
  for (auto& [round, of_runs] : by_round) {
    if (of_runs.size() == runs.size()) result.push_back(std::move(of_runs));
  }
  return result;
}

}  // namespace lifeguard
