#include "cli/incident_lines.hpp"

#include "cli/output.hpp"

namespace lifeguard {

void put_incident_lines(const RunSummary& summary, int label_width) {
  put("  {:<{}}{} falls, {} limit violations, {} saturations in {} trajectories\n", "machines",
      label_width, summary.falls, summary.violations, summary.saturations, summary.trajectories);
  if (summary.exit_probability > 0) {
    put("  {:<{}}not clipped: may take {:.2g} of the trajectories out of what is guaranteed\n",
        "noise", label_width, summary.exit_probability);
  }
}

}  // namespace lifeguard
