#pragma once

#include "lifeguard/runs/run_summary.hpp"

namespace lifeguard {

/// Prints what the machines of a run went through, in lines whose labels are so wide.
void put_incident_lines(const RunSummary& summary, int label_width);

}  // namespace lifeguard
