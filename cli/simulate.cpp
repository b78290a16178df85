#include "cli/simulate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_codes.hpp"
#include "cli/memory.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/recording_file.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {
namespace {

struct SimulateOptions {
  std::string what = "quadrotor";
  std::optional<int> tasks;
  std::optional<int> trajectories;
  std::optional<int> steps;
  std::uint64_t seed = 1;
  int threads = 0;
  std::string csv;
  std::string record;
  bool json = false;
};

/// What there is to simulate: tasks of a family, or the machines of a fleet as they are known.
struct Plan {
  std::string name;
  Family family;
  std::vector<Task> machines;  // empty: tasks are drawn from the family
  int tasks = 0;
  int trajectories = 0;
  int steps = 0;

  bool fleet() const { return !machines.empty(); }
  Task task(std::uint64_t seed, int place) const {
    return fleet() ? machines[static_cast<std::size_t>(place)]
                   : family.draw(seed, static_cast<std::uint64_t>(place));
  }
};

Plan plan_of(const SimulateOptions& options) {
  ExperimentConfig config;  // also says how many, where a family is named
  if (std::filesystem::path(options.what).extension() == ".toml") {
    config = load_config(options.what);
  } else {
    config.family = family_by_name(options.what);
  }
  Plan plan;
  plan.family = config.family;
  plan.name = config.machines.empty() ? config.family.name : config.name;
  for (const int place : config.active) {
    plan.machines.push_back(config.machines[static_cast<std::size_t>(place)].task);
  }
  require(!plan.fleet() || !options.tasks, "--tasks", options.tasks.value_or(0),
          "must not be given: a fleet has the machines that it names");
  plan.tasks =
      plan.fleet() ? static_cast<int>(plan.machines.size()) : options.tasks.value_or(config.tasks);
  plan.trajectories = options.trajectories.value_or(config.trajectories);
  plan.steps = options.steps.value_or(config.steps);
  return plan;
}

/// The value of a parameter where a system has it.
std::optional<double> find_parameter(const System& system, const std::string& name) {
  for (const ParameterDescription& p : describe(system).parameters) {
    if (p.name == name) return p.value;
  }
  return std::nullopt;
}

/// The parameters that are not the same in all tasks.
std::vector<std::string> varied_parameters(const Plan& plan) {
  std::vector<std::string> varied;
  if (!plan.fleet()) {
    for (const ParameterRange& range : plan.family.ranges) varied.push_back(range.parameter);
    return varied;
  }
  for (const ParameterDescription& p : describe(plan.machines.front().system).parameters) {
    std::vector<std::optional<double>> values;
    for (const Task& task : plan.machines) values.push_back(find_parameter(task.system, p.name));
    const bool all = std::find(values.begin(), values.end(), std::nullopt) == values.end();
    const bool same = std::count(values.begin(), values.end(), values.front()) ==
                      static_cast<long>(values.size());
    if (all && !same) varied.push_back(p.name);
  }
  return varied;
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

void print_table(const Plan& plan, const std::vector<Task>& tasks,
                 const std::vector<std::string>& varied, const std::vector<TaskCosts>& costs,
                 std::uint64_t seed) {
  put("{}: {} {}, {} trajectories of {} steps each, seed {}\n", plan.name, plan.tasks,
      plan.fleet() ? "machines" : "tasks", plan.trajectories, plan.steps, seed);
  put("Cost of a step: LQR as flown with exploration noise, LQR without noise, no control.\n");
  if (plan.fleet()) {
    put("Not the same in all machines: {}\n\n",
        varied.empty() ? "nothing" : fmt::format("{}", fmt::join(varied, ", ")));
  } else {
    put("Varied from task to task: {}\n\n", fmt::join(varied, ", "));
  }
  std::vector<std::string> names;
  std::size_t width = 5;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    names.push_back(plan.fleet() ? tasks[t].name : fmt::format("{}", t));
    width = std::max(width, names.back().size());
  }
  width = std::min<std::size_t>(width, 40);
  put("{:>{}}", plan.fleet() ? "machine" : "task", width);
  for (std::size_t i = 0; i < varied.size(); ++i) put("{:>11}", fmt::format("({})", i + 1));
  put("{:>20}{:>12}{:>12}{:>8}\n", "with noise", "no noise", "no control", "failed");
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    put("{:>{}}", names[t], width);
    for (const std::string& name : varied) {
      put("{:>11.4g}", parameter(tasks[t].system, name));
    }
    const TaskCosts& cost = costs[t];
    put("{:>20}{:>12.4f}{:>12.4f}{:>8}\n",
        fmt::format("{:.4f} ± {:.4f}", cost.with_noise.mean, cost.with_noise.ci95),
        cost.without_noise, cost.no_control, cost.failed);
  }
}

void print_result(const Plan& plan, const std::vector<Task>& tasks,
                  const std::vector<std::string>& varied, const std::vector<TaskCosts>& costs,
                  std::uint64_t seed, double steps_per_second) {
  nlohmann::ordered_json json;
  json[plan.fleet() ? "fleet" : "family"] = plan.name;
  json["seed"] = seed;
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
void require_memory_for(const Plan& plan, const Task& task) {
  require_memory(
      "--tasks x --trajectories x --steps",
      fmt::format("{} x {} x {}", plan.tasks, plan.trajectories, plan.steps),
      plan.tasks * trajectory_bytes(plan.trajectories, plan.steps, task.states(), task.actions()));
}

void simulate(const SimulateOptions& options) {
  require_distinct_files("family, --csv and --record", {options.what, options.csv, options.record});
  if (!options.record.empty()) recording_format(options.record);  // another ending is refused now
  const Plan plan = plan_of(options);
  require_memory_for(plan, plan.task(options.seed, 0));
  when_stopped(kStopped,
               [] { return std::string("nothing is kept, the same command begins again"); });
  Progress progress(/*quiet=*/false);
  const LongWork work = progress.work();
  std::vector<Task> tasks;
  for (int t = 0; t < plan.tasks; ++t) {
    work.step("drawing tasks", t, plan.tasks);
    tasks.push_back(plan.task(options.seed, t));
  }
  RolloutSettings settings;
  settings.trajectories = plan.trajectories;
  settings.steps = plan.steps;
  settings.seed = derive_seed(options.seed, 1);
  settings.threads = options.threads;

  std::vector<GaussianPolicy> policies;
  for (const Task& task : tasks) {
    work.step("computing LQR gains", static_cast<long>(policies.size()), plan.tasks);
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

  const std::vector<std::string> varied = varied_parameters(plan);
  std::vector<TaskCosts> costs;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    work.step("evaluating", static_cast<long>(t), plan.tasks);
    const GaussianPolicy idle(Eigen::MatrixXd::Zero(policies[t].actions(), policies[t].features()),
                              0.0);
    costs.push_back({summarise(batches[t]),
                     evaluate(tasks[t], policies[t].without_noise(), settings).mean_cost,
                     evaluate(tasks[t], idle, settings).mean_cost, batches[t].failed()});
  }
  progress.finish();
  const double count = static_cast<double>(plan.tasks) * plan.trajectories * plan.steps;
  if (options.json) {
    print_result(plan, tasks, varied, costs, options.seed, count / seconds);
  } else {
    print_table(plan, tasks, varied, costs, options.seed);
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
      "simulate",
      "Simulate the tasks of a family or the machines of a fleet under LQR, print their costs");
  command
      ->add_option("family", options->what,
                   fmt::format("a family ({}), or the TOML file of a family, an experiment or a "
                               "fleet",
                               fmt::join(family_names(), ", ")))
      ->capture_default_str();
  add_number(*command, "--tasks", options->tasks, 1, 100000,
             "tasks to draw (10, or as the file says, if left out)");
  add_number(*command, "--trajectories", options->trajectories, 1, 1000000,
             "trajectories for each task (50, or as the file says)");
  add_number(*command, "--steps", options->steps, 1, 1000000,
             "steps of each trajectory (150, or as the file says)");
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
