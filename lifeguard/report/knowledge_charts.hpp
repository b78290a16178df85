#pragma once

#include <cstddef>
#include <optional>

#include "lifeguard/report/chart.hpp"
#include "lifeguard/report/report_run.hpp"

namespace lifeguard {

// What L knows, of runs of empirical Bayes. There are none of other methods.

/// How far tasks differ along each direction, over rounds.
std::optional<Chart> knowledge_spectrum_chart(const RunDetails& details, long since);
/// The first directions as gains.
std::optional<Chart> knowledge_directions_chart(const RunDetails& details, long since);
/// Each task on the first two directions, with how sure that is.
std::optional<Chart> knowledge_tasks_chart(const RunDetails& details, long since);
/// How far the steps of different tasks agree, over rounds.
std::optional<Chart> knowledge_agreement_chart(const RunDetails& details, long since);
/// What is believed of one task along the first direction: before its first round, and after them.
std::optional<Chart> knowledge_belief_chart(const RunDetails& details, std::size_t task,
                                            long since);

}  // namespace lifeguard
