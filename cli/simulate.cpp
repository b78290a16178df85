#include "cli/simulate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/memory.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/runs/family_config.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/recording_file.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {
namespace {

struct SimulateOptions {
  std::string family = "quadrotor";
  int tasks = 10;
  int trajectories = 50;
  int steps = 150;
  std::uint64_t seed = 1;
  int threads = 0;
  std::string csv;
  std::string record;
  bool json = false;
};

Family find_family(const std::string& name) {
  return std::filesystem::path(name).extension() == ".toml" ? load_family(name)
                                                            : family_by_name(name);
}

/// Over trajectories.
MeanInterval summarise(const Trajectories& batch) {
  std::vector<double> costs;
  for (int i = 0; i < batch.count(); ++i) costs.push_back(batch.mean_cost(i));
  return mean_interval(costs);
}

/// One line a step: time, then the features of the first trajectory of each task.
void write_csv(const std::string& path, const std::vector<Task>& tasks,
               const std::vector<Trajectories>& batches) {
  OutputFile file(path);
  file.write("task,trajectory,time_seconds,cost");
  for (int f = 0; f < batches[0].features(); ++f) file.write(fmt::format(",x{}", f + 1));
  for (int a = 0; a < batches[0].actions(); ++a) file.write(fmt::format(",u{}", a + 1));
  file.write("\n");
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Trajectories& batch = batches[t];
    for (int i = 0; i < batch.count(); ++i) {
      stop_token().throw_if_requested();
      for (int m = 0; m < batch.length(i); ++m) {
        file.write(fmt::format("{},{},{:.6g},{:.9g}", t, i, m * tasks[t].settings.dt_seconds,
                               batch.cost(i, m)));
        for (int f = 0; f < batch.features(); ++f) {
          file.write(fmt::format(",{:.9g}", batch.feature(i, m, f)));
        }
        for (int a = 0; a < batch.actions(); ++a) {
          file.write(fmt::format(",{:.9g}", batch.action(i, m, a)));
        }
        file.write("\n");
      }
    }
  }
  file.finish();
}

/// Where the recording of a task goes: a file holds one machine, so that of several each gets its
/// number, "flights-3.csv".
std::filesystem::path record_path(const std::string& path, std::size_t task, std::size_t tasks) {
  if (tasks == 1) return path;
  const std::filesystem::path whole(path);
  return whole.parent_path() /
         fmt::format("{}-{}{}", whole.stem().string(), task, whole.extension().string());
}

void write_recordings(const std::string& path, const std::vector<Task>& tasks,
                      const RolloutSettings& settings, const std::vector<Trajectories>& batches) {
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    stop_token().throw_if_requested();
    write_recording(recorded(tasks[t], settings, batches[t]), record_path(path, t, tasks.size()));
  }
}

/// What one task costs a step.
struct TaskCosts {
  MeanInterval with_noise;  // LQR as flown
  double without_noise = 0;
  double no_control = 0;
  int failed = 0;
};

void print_table(const Family& family, const std::vector<Task>& tasks,
                 const std::vector<std::string>& varied, const std::vector<TaskCosts>& costs,
                 const SimulateOptions& options) {
  put("{}: {} tasks, {} trajectories of {} steps each, seed {}\n", family.name, options.tasks,
      options.trajectories, options.steps, options.seed);
  put("Cost of a step: LQR as flown with exploration noise, LQR without noise, no control.\n");
  put("Varied from task to task: {}\n\n", fmt::join(varied, ", "));
  put("{:>5}", "task");
  for (std::size_t i = 0; i < varied.size(); ++i) put("{:>11}", fmt::format("({})", i + 1));
  put("{:>20}{:>12}{:>12}{:>8}\n", "with noise", "no noise", "no control", "failed");
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    put("{:>5}", t);
    for (const std::string& name : varied) {
      put("{:>11.4g}", parameter(tasks[t].system, name));
    }
    const TaskCosts& cost = costs[t];
    put("{:>20}{:>12.4f}{:>12.4f}{:>8}\n",
        fmt::format("{:.4f} ± {:.4f}", cost.with_noise.mean, cost.with_noise.ci95),
        cost.without_noise, cost.no_control, cost.failed);
  }
}

void print_result(const Family& family, const std::vector<Task>& tasks,
                  const std::vector<std::string>& varied, const std::vector<TaskCosts>& costs,
                  const SimulateOptions& options, double steps_per_second) {
  nlohmann::ordered_json json;
  json["family"] = family.name;
  json["seed"] = options.seed;
  json["steps_per_second"] = steps_per_second;
  json["tasks"] = nlohmann::ordered_json::array();
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    nlohmann::ordered_json task;
    task["name"] = tasks[t].name;
    for (const std::string& name : varied) {
      task["parameters"][name] = parameter(tasks[t].system, name);
    }
    task["cost_with_noise"]["mean"] = costs[t].with_noise.mean;
    task["cost_with_noise"]["ci95"] = costs[t].with_noise.ci95;
    task["cost_without_noise"] = costs[t].without_noise;
    task["cost_without_control"] = costs[t].no_control;
    task["failed"] = costs[t].failed;
    json["tasks"].push_back(std::move(task));
  }
  print_json(json);
}

/// All trajectories of all tasks are kept.
void require_memory_for(const SimulateOptions& options, const Task& task) {
  require_memory("--tasks x --trajectories x --steps",
                 fmt::format("{} x {} x {}", options.tasks, options.trajectories, options.steps),
                 options.tasks * trajectory_bytes(options.trajectories, options.steps,
                                                  task.states(), task.actions()));
}

void simulate(const SimulateOptions& options) {
  require_distinct_files("family, --csv and --record",
                         {options.family, options.csv, options.record});
  if (!options.record.empty()) recording_format(options.record);  // another ending is refused now
  const Family family = find_family(options.family);
  require_memory_for(options, family.draw(options.seed, 0));
  when_stopped(kStopped,
               [] { return std::string("nothing is kept, the same command begins again"); });
  Progress progress(/*quiet=*/false);
  const LongWork work = progress.work();
  std::vector<Task> tasks;
  for (int t = 0; t < options.tasks; ++t) {
    work.step("drawing tasks", t, options.tasks);
    tasks.push_back(family.draw(options.seed, static_cast<std::uint64_t>(t)));
  }
  RolloutSettings settings;
  settings.trajectories = options.trajectories;
  settings.steps = options.steps;
  settings.seed = derive_seed(options.seed, 1);
  settings.threads = options.threads;

  std::vector<GaussianPolicy> policies;
  for (const Task& task : tasks) {
    work.step("computing LQR gains", static_cast<long>(policies.size()), options.tasks);
    policies.emplace_back(lqr_gains(task), task.settings.sigma);
  }
  std::vector<Trajectories> batches(tasks.size());
  std::vector<RolloutRequest> requests;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    requests.push_back({&tasks[t], &policies[t], settings, &batches[t]});
  }
  work.step("simulating", 0, 1);
  rollout_all(requests, options.threads);  // the first pass pays for memory and threads
  const auto begin = std::chrono::steady_clock::now();
  rollout_all(requests, options.threads);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  std::vector<std::string> varied;
  for (const ParameterRange& range : family.ranges) varied.push_back(range.parameter);
  std::vector<TaskCosts> costs;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    work.step("evaluating", static_cast<long>(t), options.tasks);
    const GaussianPolicy idle(Eigen::MatrixXd::Zero(policies[t].actions(), policies[t].features()),
                              0.0);
    costs.push_back({summarise(batches[t]),
                     evaluate(tasks[t], policies[t].without_noise(), settings).mean_cost,
                     evaluate(tasks[t], idle, settings).mean_cost, batches[t].failed()});
  }
  progress.finish();
  const double count = static_cast<double>(options.tasks) * options.trajectories * options.steps;
  if (options.json) {
    print_result(family, tasks, varied, costs, options, count / seconds);
  } else {
    print_table(family, tasks, varied, costs, options);
    put("\n{:.0f} steps in {:.2f} ms: {:.1f} million steps a second ({})\n", count, 1e3 * seconds,
        1e-6 * count / seconds, current_simd_target());
  }
  if (!options.csv.empty()) {
    write_csv(options.csv, tasks, batches);
    say("Trajectories written to {}", options.csv);
  }
  if (!options.record.empty()) {
    write_recordings(options.record, tasks, settings, batches);
    say("Recordings written to {}{}", record_path(options.record, 0, tasks.size()).string(),
        tasks.size() > 1 ? fmt::format(" and {} more", tasks.size() - 1) : "");
  }
}

}  // namespace

void add_simulate_command(CLI::App& app) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Draw the tasks of a family, simulate each under LQR, print a table of costs");
  command
      ->add_option("family", options->family,
                   fmt::format("a family ({}) or a TOML file that describes one",
                               fmt::join(family_names(), ", ")))
      ->capture_default_str();
  add_number(*command, "--tasks", options->tasks, 1, 100000, "tasks to draw");
  add_number(*command, "--trajectories", options->trajectories, 1, 1000000,
             "trajectories for each task");
  add_number(*command, "--steps", options->steps, 1, 1000000, "steps of each trajectory");
  add_number(*command, "--seed", options->seed, 0, std::numeric_limits<std::uint64_t>::max(),
             "same seed, same results to the bit");
  add_threads(*command, options->threads);
  add_path(*command, "--csv", options->csv, "write all trajectories to this file");
  add_path(*command, "--record", options->record,
           "write all trajectories with every bit to this file, as docs/trajectories.md says: .csv "
           "or .jsonl; of several tasks one file each, FILE-0.csv, FILE-1.csv ...");
  command->add_flag("--json", options->json, "print the result as JSON");
  command->callback([options] { simulate(*options); });
}

}  // namespace lifeguard
