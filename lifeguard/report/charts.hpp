#pragma once

#include <string>
#include <vector>

#include "lifeguard/report/chart.hpp"
#include "lifeguard/report/report_run.hpp"
#include "lifeguard/runs/statistics.hpp"

namespace lifeguard {

/// The runs of one method, in the order of their seeds.
struct MethodRuns {
  std::string name;
  std::vector<const RunView*> runs;
};

/// What the charts of an experiment are made from. With `since` >= 0 their tables hold only what
/// came after that round.
struct ChartSource {
  std::vector<MethodRuns> methods;
  std::vector<RunDetails> details;  // of one run of each method
  long since = -1;
};

/// A quantity over the seeds of a method, as a row of a table and what its columns are: one seed
/// that went wrong moves neither the median nor, of ten and more, the band around it.
inline const std::vector<std::string> kOverSeedsHeads = {"median", "10 %", "90 %"};
std::vector<double> over_seeds_row(const OverSeeds& value);

/// The line of method `m` over the rounds of a table with those columns: a method looks the same in
/// all charts.
ChartLine method_line(const ChartSource& source, std::size_t m, std::size_t table);

/// Every chart there is of an experiment: of all its methods, of each run that is known in detail,
/// and of each task of such a run. A new kind of chart is a function and a line in the list in
/// charts.cpp; the page and `lifeguard figures` then have it.
std::vector<Chart> charts_of(const ChartSource& source);

}  // namespace lifeguard
