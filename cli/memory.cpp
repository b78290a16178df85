#include "cli/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"

namespace lifeguard {
namespace {

std::string readable(double bytes) {
  const char* unit = "MB";
  double amount = bytes / 1e6;
  for (const char* larger : {"GB", "TB", "PB", "EB"}) {
    if (amount < 1000) break;
    amount /= 1000;
    unit = larger;
  }
  return fmt::format("{:.3g} {}", amount, unit);
}

}  // namespace

double memory_limit() {
  double limit =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  // What a container may have, in either version of the kernel's interface.
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    double allowed = 0;
    if (std::ifstream(path) >> allowed && allowed > 0) limit = std::min(limit, allowed);
  }
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit allowed{};
    if (getrlimit(resource, &allowed) == 0 && allowed.rlim_cur != RLIM_INFINITY) {
      limit = std::min(limit, static_cast<double>(allowed.rlim_cur));
    }
  }
  return limit;
}

void require_memory(std::string_view field, std::string_view value, double bytes) {
  const double limit = memory_limit();
  require(bytes <= limit, field, value,
          fmt::format("must fit into memory: it needs about {}, and there are {}", readable(bytes),
                      readable(limit)));
}

double trajectory_bytes(double trajectories, double steps, int states, int actions) {
  return trajectories * steps * (states + actions + 1) * sizeof(double);
}

void require_memory_for(const ExperimentConfig& config, int runs) {
  const Task first = config.family.draw(static_cast<std::uint64_t>(config.seed), 0);
  const double parameters = static_cast<double>(first.states()) * first.actions();
  // The batch, and as much again for advantages and what else is worked out for each step.
  require_memory(
      "experiment.trajectories x experiment.steps",
      fmt::format("{} x {}", batch_size(config), config.steps),
      runs * 2 *
          trajectory_bytes(batch_size(config), config.steps, first.states(), first.actions()));
  // Measured: some for each task, and several matrices of its safe set, its knowledge and its
  // ledger.
  const double of_task = 8000 + static_cast<double>(sizeof(double)) * parameters * parameters *
                                    (config.regret ? 8 : 5);
  require_memory("experiment.tasks", std::to_string(config.tasks), runs * config.tasks * of_task);
}

}  // namespace lifeguard
