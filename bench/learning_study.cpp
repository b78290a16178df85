// How fast and how well the lifelong learner learns, beside PG, one shared policy and PG-ELLA.
//
//   bench_learning_study                      all families and methods, seeds 0 to 19
//   bench_learning_study --families quadrotor --methods learner,shared --seeds 4 --first-seed 1000
//   bench_learning_study --set learner.decay=0.5,1     one run for each value, for tuning
//
// Ten tasks are drawn anew for each seed and visited in turn. "Improvement" runs from the cost of
// the initial policies to the best mean cost that any method, at any round, or LQR reaches.
#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/paper/reproduction.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::bench_learning_study {

constexpr int kTasks = 10;
constexpr int kNewTasks = 5;  // drawn after the last round, never seen before
using Values = std::map<std::string, double>;

struct StudySettings {
  int rounds = 300;
  int seeds = 20;
  std::uint64_t first_seed = 0;
  int trajectories = 50;
  int extra_trajectories = 50;  // for PG
  int start_states = 100;
  int steps = 150;
  int evaluate_every = 1;  // after the first 60 rounds
};

/// A method with the values that were set for it.
struct Candidate {
  std::string method;
  std::string label;
  Methods settings;  // as configs/paper has them for the family
  Values values;     // in place of these

  double get(const std::string& key, double otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : found->second;
  }
};

/// What bench/tune.py chose for each family, as the configurations of the paper's experiments have
/// it; "alternating" is their variant "ours-10", and the learner has its defaults everywhere.
Methods tuned(const std::string& method, const std::string& family) {
  const ExperimentConfig config = parse_config(paper_configuration(family), family + ".toml");
  return configuration_of(config, method == "alternating" ? "ours-10" : method, 0).settings;
}

/// What the learner itself is better with on the masses, found on the seeds 1000 to 1009.
Values tuned_learner(const std::string& family) {
  if (!family.ends_with("mass-spring")) return {};
  return {{"delta", 20}, {"newton", 4}, {"sure", 0}};
}

void set_round(const Candidate& c, RoundSettings& r) {
  r.adaptation.failure_horizon = c.get("failure_horizon", r.adaptation.failure_horizon);
  r.adaptation.trust_region_per_step = c.get("delta", r.adaptation.trust_region_per_step);
  r.adaptation.sure_noise_share = c.get("sure", r.adaptation.sure_noise_share);
  r.adaptation.newton_limit = c.get("newton", r.adaptation.newton_limit);
  r.base_learner.advantages.discount = c.get("discount", r.base_learner.advantages.discount);
  r.base_learner.advantages.trace = c.get("trace", r.base_learner.advantages.trace);
  r.base_learner.advantages.baseline_sweeps =
      static_cast<int>(c.get("sweeps", r.base_learner.advantages.baseline_sweeps));
  r.base_learner.advantages.baseline_stride =
      static_cast<int>(c.get("stride", r.base_learner.advantages.baseline_stride));
  r.base_learner.step.decay = c.get("decay", r.base_learner.step.decay);
  r.base_learner.step.shrinkage_floor = c.get("floor", r.base_learner.step.shrinkage_floor);
}

std::unique_ptr<PolicyLearner> learner_of(const Candidate& c, int features, int actions) {
  Methods methods = c.settings;
  for_each_method(methods, [&](auto& method) { set_round(c, method.round); });
  auto& ella = std::get<PgEllaSettings>(methods);
  ella.k = static_cast<int>(c.get("k", ella.k));
  ella.sparsity = c.get("sparsity", ella.sparsity);
  ella.lambda = c.get("lambda", ella.lambda);
  ella.warm_start = c.get("warm_start", ella.warm_start ? 1 : 0) != 0;
  auto& s = std::get<LearnerSettings>(methods);
  s.k = static_cast<int>(c.get("k", s.k));
  s.linearised.share_decay = c.get("share_decay", s.linearised.share_decay);
  s.linearised.minimum_share = c.get("minimum_share", s.linearised.minimum_share);
  s.linearised.own_memory = c.get("own_memory", s.linearised.own_memory);
  const bool alternating = c.method == "alternating";
  if (alternating) {
    s.update = UpdateRule::alternating;
    s.alternation.alternations =
        static_cast<int>(c.get("alternations", s.alternation.alternations));
    s.alternation.step = static_cast<BlockStep>(static_cast<int>(c.get("step", 0)));
    s.memory = c.get("memory", s.memory);
    s.regularisation.mu1 = c.get("mu1", s.regularisation.mu1);
    s.regularisation.mu2 = c.get("mu2", s.regularisation.mu2);
    s.regularisation.mean_weight = c.get("mean_weight", s.regularisation.mean_weight);
  }
  return make_learner(methods, alternating ? LearnerSettings::kMethod : std::string_view(c.method),
                      features, actions);
}

/// One family, one seed: its tasks, where every method starts, and what LQR costs.
struct DrawnTasks {
  std::string family;
  std::uint64_t seed;
  std::vector<Task> tasks;  // kTasks known and kNewTasks new ones
  Eigen::VectorXd start;    // the initial policy of every task
};

DrawnTasks draw_tasks(const std::string& family_name, std::uint64_t seed) {
  const Family family = family_by_name(family_name);
  DrawnTasks drawn{family_name, seed, family.draw_many(seed, kTasks + kNewTasks), {}};
  Eigen::MatrixXd gains = Eigen::MatrixXd::Zero(drawn.tasks[0].actions(), drawn.tasks[0].states());
  if (family_name == "quadrotor") {
    // 0.15 of the family's mean LQR gain.
    constexpr int kDraws = 100;
    for (const Task& task : family.draw_many(12345, kDraws)) {
      gains += 0.15 / kDraws * lqr_gains(task);
    }
  }
  drawn.start = parameters_from_gains(gains);
  return drawn;
}

double cost_of(const DrawnTasks& drawn, int task, const GaussianPolicy& policy,
               const StudySettings& study) {
  RolloutSettings rollouts;
  rollouts.trajectories = study.start_states;
  rollouts.steps = study.steps;
  rollouts.seed = derive_seed(drawn.seed, 1000000);
  return evaluate(drawn.tasks[task], policy.without_noise(), rollouts).mean_cost;
}

double lqr_cost(const DrawnTasks& drawn, int task, const StudySettings& study) {
  return cost_of(drawn, task, GaussianPolicy(lqr_gains(drawn.tasks[task]), 0.0), study);
}

struct RunResult {
  std::vector<double> cost;  // mean over the tasks after 0, 1, 2, … rounds; NaN if not evaluated
  double rollout_seconds = 0;
  double learn_seconds = 0;
  // Of the new tasks, as parts of the way from the anchor's cost (1) to LQR's (0).
  double new_first = 0, new_first_worst = 0, new_second = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

RunResult run(const Candidate& candidate, const DrawnTasks& drawn, const StudySettings& study) {
  const int features = drawn.tasks[0].states();
  const int actions = drawn.tasks[0].actions();
  const std::unique_ptr<PolicyLearner> learner = learner_of(candidate, features, actions);
  const auto add = [&](int t) {
    learner->add_task(drawn.tasks[t].name, drawn.start, drawn.tasks[t].settings.sigma);
  };
  for (int t = 0; t < kTasks; ++t) add(t);

  RunResult result;
  std::vector<Eigen::VectorXd> evaluated(kTasks);
  std::vector<double> costs(kTasks, kNaN);
  const auto mean_cost = [&] {
    double sum = 0;
    for (int t = 0; t < kTasks; ++t) {
      const GaussianPolicy policy = learner->policy(drawn.tasks[t].name);
      const Eigen::VectorXd alpha = policy.parameters();
      if (evaluated[t].size() == 0 || evaluated[t] != alpha) {
        costs[t] = cost_of(drawn, t, policy, study);
        evaluated[t] = alpha;
      }
      sum += costs[t];
    }
    return sum / kTasks;
  };

  Trajectories batch;
  const auto play = [&](int t, int round) {
    RolloutSettings rollouts;
    rollouts.trajectories =
        study.trajectories + (candidate.method == "pg" ? study.extra_trajectories : 0);
    rollouts.steps = study.steps;
    rollouts.seed = derive_seed(drawn.seed, static_cast<std::uint64_t>(round));
    const std::string& id = drawn.tasks[t].name;
    const auto rollout_start = std::chrono::steady_clock::now();
    rollout(drawn.tasks[t], learner->policy(id), rollouts, batch);
    result.rollout_seconds += seconds_since(rollout_start);
    const auto learn_start = std::chrono::steady_clock::now();
    learner->observe(id, batch);
    result.learn_seconds += seconds_since(learn_start);
  };
  result.cost.push_back(mean_cost());
  for (int j = 1; j <= study.rounds; ++j) {
    play((j - 1) % kTasks, j);
    const bool evaluate_now = j <= 60 || j % study.evaluate_every == 0 || j > study.rounds - 10;
    result.cost.push_back(evaluate_now ? mean_cost() : kNaN);
  }
  const RunResult timed = result;  // the new tasks' rounds are not timed
  for (int t = kTasks; t < kTasks + kNewTasks; ++t) {
    add(t);
    const std::string& id = drawn.tasks[t].name;
    const double best = lqr_cost(drawn, t, study);
    const double anchor =
        cost_of(drawn, t, GaussianPolicy::from_parameters(drawn.start, actions, 0.0), study);
    const double first = (cost_of(drawn, t, learner->policy(id), study) - best) / (anchor - best);
    play(t, study.rounds + t);
    const double second = (cost_of(drawn, t, learner->policy(id), study) - best) / (anchor - best);
    result.new_first += first / kNewTasks;
    result.new_first_worst = std::max(result.new_first_worst, first);
    result.new_second += second / kNewTasks;
  }
  result.rollout_seconds = timed.rollout_seconds;
  result.learn_seconds = timed.learn_seconds;
  return result;
}

struct Row {
  std::string family;
  std::string method;
  OverSeeds rounds, gap, new_first, new_second;
  double new_first_worst = 0;
  int failures = 0;  // seeds that never reached 90 %
  double learn_microseconds = 0, rollout_microseconds = 0;
};

std::vector<Row> study_family(const std::string& family, const std::vector<Candidate>& candidates,
                              const StudySettings& study) {
  const int count = static_cast<int>(candidates.size());
  std::vector<std::vector<RunResult>> runs(study.seeds, std::vector<RunResult>(count));
  std::vector<double> best(study.seeds, 0.0);
  tbb::parallel_for(0, study.seeds * (count + 1), [&](int job) {
    const int s = job / (count + 1);
    const int c = job % (count + 1) - 1;
    const DrawnTasks drawn = draw_tasks(family, study.first_seed + static_cast<std::uint64_t>(s));
    if (c < 0) {
      for (int t = 0; t < kTasks; ++t) best[s] += lqr_cost(drawn, t, study) / kTasks;
    } else {
      runs[s][c] = run(candidates[c], drawn, study);
    }
  });
  for (int s = 0; s < study.seeds; ++s) {
    for (const RunResult& r : runs[s]) {
      for (const double cost : r.cost) {
        if (cost < best[s]) best[s] = cost;
      }
    }
  }
  std::vector<Row> rows;
  for (int c = 0; c < count; ++c) {
    Row row;
    row.family = family;
    row.method = candidates[c].method + candidates[c].label;
    std::vector<double> rounds, gaps, first, second;
    for (int s = 0; s < study.seeds; ++s) {
      const RunResult& r = runs[s][c];
      const double improvement = r.cost[0] - best[s];
      const double level = r.cost[0] - 0.9 * improvement;
      int j = 0;
      while (j <= study.rounds && !(r.cost[j] <= level)) ++j;
      row.failures += j > study.rounds ? 1 : 0;
      rounds.push_back(j > study.rounds ? kInfinity : j);
      double last = 0;  // the mean of the last ten rounds
      for (int i = 0; i < 10; ++i) last += r.cost[study.rounds - i] / 10;
      gaps.push_back(100 * (last - best[s]) / improvement);
      first.push_back(100 * r.new_first);
      second.push_back(100 * r.new_second);
      row.new_first_worst = std::max(row.new_first_worst, 100 * r.new_first_worst);
      row.learn_microseconds += 1e6 * r.learn_seconds / study.rounds / study.seeds;
      row.rollout_microseconds += 1e6 * r.rollout_seconds / study.rounds / study.seeds;
    }
    row.rounds = over_seeds(rounds, study.rounds);
    row.gap = over_seeds(gaps);
    row.new_first = over_seeds(first);
    row.new_second = over_seeds(second);
    rows.push_back(row);
  }
  return rows;
}

void print(const std::vector<Row>& rows) {
  for (const Row& r : rows) {
    fmt::print(
        "| {} | {} | {:.1f}, {:.1f} ± {:.1f} | {} | {:.4f} ({:.4f}), {:.4f} ± {:.4f} | "
        "{:.2f}, {:.2f} ± {:.2f} ({:.1f}) | {:.2f}, {:.2f} ± {:.2f} | {:.0f} / {:.0f} |\n",
        r.family, r.method, r.rounds.median, r.rounds.mean, r.rounds.ci95, r.failures, r.gap.median,
        r.gap.worst, r.gap.mean, r.gap.ci95, r.new_first.median, r.new_first.mean, r.new_first.ci95,
        r.new_first_worst, r.new_second.median, r.new_second.mean, r.new_second.ci95,
        r.learn_microseconds, r.rollout_microseconds);
  }
  std::fflush(stdout);
}

void write_json(const std::string& path, const std::vector<Row>& rows) {
  std::ofstream out(path);
  out << "[";
  const char* separator = "\n";
  for (const Row& r : rows) {
    out << separator
        << fmt::format(
               R"({{"family": "{}", "method": "{}", "rounds": {}, "rounds_95": {}, "failures": {}, )"
               R"("gap_percent": {}, "gap_percent_95": {}, "new_first_percent": {}, )"
               R"("new_first_worst_percent": {}, "new_second_percent": {}, )"
               R"("learn_microseconds": {}, "rollout_microseconds": {}}})",
               r.family, r.method, r.rounds.mean, r.rounds.ci95, r.failures, r.gap.mean, r.gap.ci95,
               r.new_first.mean, r.new_first_worst, r.new_second.mean, r.learn_microseconds,
               r.rollout_microseconds);
    separator = ",\n";
  }
  out << "\n]\n";
}

/// Every method once, then once more for each combination of the values in `sets`, which read
/// "method.key=value,value" or, for all methods, "key=value".
std::vector<Candidate> make_candidates(const std::vector<std::string>& methods,
                                       const std::vector<std::string>& sets,
                                       const std::string& family) {
  std::vector<Candidate> result;
  for (const std::string& name : methods) {
    const auto dash = name.find("alternating-");
    Candidate first{name, "", {}, {}};
    if (name == "tuned-learner") {
      first.method = "learner";
      first.label = " (tuned)";
      first.values = tuned_learner(family);
    }
    if (dash == 0) {
      first.method = "alternating";
      first.values["alternations"] = std::stod(name.substr(12));
      first.label = name.substr(11);
    }
    first.settings = tuned(first.method, family);
    std::vector<Candidate> list{first};
    for (const std::string& set : sets) {
      const auto equals = set.find('=');
      require(equals != std::string::npos, "set", set, "must be key=value");
      std::string key = set.substr(0, equals);
      const auto dot = key.find('.');
      if (dot != std::string::npos) {
        if (key.substr(0, dot) != first.method) continue;
        key = key.substr(dot + 1);
      }
      const auto values = CLI::detail::split(set.substr(equals + 1), ',');
      std::vector<Candidate> longer;
      for (const Candidate& c : list) {
        for (const std::string& value : values) {
          longer.push_back(c);
          longer.back().values[key] = std::stod(value);
          if (values.size() > 1) longer.back().label += fmt::format(" {}={}", key, value);
        }
      }
      list = longer;
    }
    result.insert(result.end(), list.begin(), list.end());
  }
  return result;
}

int run(int argc, char** argv) {
  StudySettings study;
  std::vector<std::string> families = family_names();
  std::vector<std::string> methods = {"pg", "shared", "pg-ella", "learner", "tuned-learner"};
  std::vector<std::string> sets;
  std::string json;
  int threads = 2;
  CLI::App app{"Compares the lifelong learner with PG, Shared and PG-ELLA"};
  app.add_option("--families", families)->delimiter(',');
  app.add_option("--methods", methods, "pg, shared, pg-ella, learner, tuned-learner, alternating-N")
      ->delimiter(',');
  app.add_option("--seeds", study.seeds);
  app.add_option("--first-seed", study.first_seed);
  app.add_option("--rounds", study.rounds);
  app.add_option("--start-states", study.start_states);
  app.add_option("--evaluate-every", study.evaluate_every);
  app.add_option("--set", sets, "method.key=value,value,… for tuning");
  app.add_option("--json", json, "write the table to this file as well");
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);

  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  fmt::print(
      "Median over seeds, mean ± 95 %\n\n"
      "| family | method | rounds to 90 % | never | final gap % (worst) | new task, first policy % "
      "(worst) | after one round % | µs learn / rollout |\n|---|---|---|---|---|---|---|---|\n");
  std::vector<Row> all;
  for (const std::string& family : families) {
    const auto rows = study_family(family, make_candidates(methods, sets, family), study);
    print(rows);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  if (!json.empty()) write_json(json, all);
  return 0;
}

}  // namespace lifeguard::bench_learning_study

int main(int argc, char** argv) { return lifeguard::bench_learning_study::run(argc, argv); }
