// How the regret grows with the number of rounds R.
//
//   bench_regret_growth                                   all systems and methods
//   bench_regret_growth --families mass-spring --seeds 2 --last 3000 --methods learner-safe
//
// Methods: "theorem" is the theorem's setting (alternating update on all rounds so far, memory 1,
// η = 1/√R, steps that decay, safe sets that bind), one run for each R. The others do not depend on
// R, and each run serves all R up to its end: "learner-safe" is the default learner inside the same
// safe sets; "learner", "pg", "pg-ella" and "shared" learn without constraints. "leader-safe" and
// "leader" are the setting of docs/theorem.md, with and without safe sets; "leader-alone-safe" and
// "leader-alone" the same with the prior N(ᾱ, I) for every task, and "leader-forgets-safe" keeps
// 0.3 of its rounds. With --blocks each task is played to its end before the next one, so that new
// tasks meet what was learnt.
//
// A second table has the bound of docs/theorem.md beside the regret: at the largest R, and the
// largest ratio and the least margin of all log-spaced rounds at which both were looked at.
//
// Surrogate regret is the ledger's, in nats and in units of cost. True-cost regret is
// Σ_j (J(α_j) - J(best known)), without noise, from common start states; it is measured at
// log-spaced rounds for all tasks and is linear in between (integrated_regret).
#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/regret/true_cost.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::bench_regret_growth {

struct Study {
  int tasks = 5;
  int trajectories = 20;  // twice as many for PG, as in bench_learning_study
  int start_states = 100;
  int per_decade = 20;  // rounds at which the true cost is measured
  int trials = 400;     // of the search for the best policy
  int search_states = 100;
  bool exploration = false;
  int seeds = 5;
  std::uint64_t first_seed = 0;
  long last = 30000;
  double decay = 1.0;  // of the trust regions in the theorem's setting
  int basis_size = 0;  // k in the theorem's setting; 0 means d
  double retreat_factor = LinearisedSettings{}.retreat_factor;
  double prior_variance = LeaderSettings{}.prior_variance;
  bool blocks = false;
  bool bounds_only = false;  // without true costs
};

/// One family and seed: tasks, their safe sets, and the policies to start from.
struct DrawnTasks {
  std::uint64_t seed;
  std::vector<Task> tasks;
  std::vector<SafeSet> sets;
  std::vector<Eigen::VectorXd> starts;
};

/// Every gain may go only `reach` of the way to LQR's, which cuts the best policy off.
DrawnTasks draw_tasks(const std::string& family, std::uint64_t seed, const Study& study) {
  DrawnTasks drawn{seed, family_by_name(family).draw_many(seed, study.tasks), {}, {}};
  const double reach = family == "cart-pole" ? 0.7 : 0.5;
  for (const Task& task : drawn.tasks) {
    const Eigen::VectorXd best = parameters_from_gains(lqr_gains(task));
    const double least = 0.05 * best.cwiseAbs().maxCoeff();
    const Eigen::VectorXd room = best.cwiseAbs().cwiseMax(least);
    const Eigen::VectorXd edge = (reach * best.cwiseAbs()).cwiseMax(least);
    drawn.sets.push_back(gain_box((best.array() < 0).select(-edge, -room),
                                  (best.array() < 0).select(room, edge),
                                  default_gain_names(task.actions(), task.states())));
    drawn.starts.push_back((family == "quadrotor" ? 0.15 : 0.0) * best);
  }
  return drawn;
}

bool is_safe_method(const std::string& method) {
  return method == "theorem" || method.ends_with("-safe");
}

std::unique_ptr<PolicyLearner> learner_of(const std::string& method, long rounds,
                                          const DrawnTasks& drawn, const Study& study) {
  Methods methods;
  auto& settings = std::get<LearnerSettings>(methods);
  settings.linearised.retreat_factor = study.retreat_factor;
  if (method == "theorem") {
    settings.update = UpdateRule::alternating;
    settings.memory = 1.0;
    settings.k = study.basis_size;
    settings.regularisation.eta = 1 / std::sqrt(static_cast<double>(rounds));
    settings.round.base_learner.step.decay = study.decay;
    // The rounds sum up, so that one alternation a round keeps up with the minimum.
    settings.alternation.alternations = 1;
  }
  if (method.starts_with("leader")) {
    settings.update = UpdateRule::leader;
    settings.leader.prior_variance = study.prior_variance;
    settings.leader.share = !method.starts_with("leader-alone");
    if (method.starts_with("leader-forgets")) settings.leader.memory = 0.3;
  }
  const bool ours = is_safe_method(method) || settings.update == UpdateRule::leader;
  return make_learner(methods, ours ? LearnerSettings::kMethod : std::string_view(method),
                      drawn.tasks[0].states(), drawn.tasks[0].actions());
}

struct Run {
  std::vector<long> rounds;                     // R at which regrets are taken
  std::vector<double> nats, cost;               // surrogate regret
  std::vector<double> nats_width;               // of its certified interval
  std::vector<long> measured;                   // rounds with measured true cost
  std::vector<std::vector<double>> true_costs;  // J of each task's policy then
  std::vector<Eigen::VectorXd> policies;        // at the end
  std::vector<double> true_cost;                // regret, filled in when the best is known
  int unsafe = 0;
  // Of the theorem's bound: at the end, and over all rounds at which it was looked at.
  RegretBound bound;
  double largest_ratio = kNaN;      // bound / regret where the regret is positive
  double least_margin = kInfinity;  // (bound - regret) / (|bound| + |regret|)
};

/// What the learner believes of a task before its next loss; at the first round of one that
/// believes nothing in particular, what it plays, with a variance of 1.
void tell_prior(const PolicyLearner& learner, int task, RegretLedger& ledger) {
  std::optional<PolicyPrior> prior = learner.belief_of(task);
  if (!prior) {
    if (ledger.rounds(task) > 0) return;
    Eigen::VectorXd alpha(learner.parameters());
    learner.policy_parameters(task, alpha);
    prior = PolicyPrior{alpha, Eigen::MatrixXd::Identity(learner.features(), learner.features())};
  }
  ledger.set_prior(task, *prior);
}

void look_at_bound(const SurrogateRegret& regret, Run& run) {
  run.bound = *regret.bound;
  const double margin = (run.bound.total - regret.most) /
                        (std::abs(run.bound.total) + std::abs(regret.most) + 1e-300);
  run.least_margin = std::min(run.least_margin, margin);
  if (regret.most > 0)
    run.largest_ratio = std::fmax(run.largest_ratio, run.bound.total / regret.most);
}

TrueCostSettings cost_settings(const DrawnTasks& drawn, const Study& study) {
  return {study.start_states, 150, derive_seed(drawn.seed, 1000000), study.exploration};
}

Run play(const std::string& method, const std::vector<long>& checkpoints, const DrawnTasks& drawn,
         const Study& study) {
  const long last = checkpoints.back();
  const auto learner = learner_of(method, last, drawn, study);
  const int features = learner->features();
  const int actions = learner->actions();
  const bool safe = is_safe_method(method);
  RegretLedger nats(features, actions), cost(features, actions);
  for (int t = 0; t < study.tasks; ++t) {
    const PerAction sigma = drawn.tasks[t].settings.sigma;
    if (safe) {
      static_cast<Learner&>(*learner).add_task(drawn.tasks[t].name, drawn.sets[t], sigma,
                                               drawn.starts[t]);
    } else {
      learner->add_task(drawn.tasks[t].name, drawn.starts[t], sigma);
    }
    const auto set = safe ? std::optional(drawn.sets[t]) : std::nullopt;
    nats.add_task(set);
    cost.add_task(set);
  }

  Run run;
  run.rounds = checkpoints;
  run.measured = log_spaced_rounds(last, study.per_decade);
  const std::vector<long> looked_at = log_spaced_rounds(last, study.per_decade);
  std::size_t next_measured = 0, next_checkpoint = 0, next_look = 0;
  Trajectories batch;
  Eigen::VectorXd alpha(learner->parameters());
  for (long j = 1; j <= last; ++j) {
    if (!study.bounds_only && run.measured[next_measured] == j) {
      ++next_measured;
      auto& costs = run.true_costs.emplace_back();
      for (int t = 0; t < study.tasks; ++t) {
        learner->policy_parameters(t, alpha);
        costs.push_back(true_cost(drawn.tasks[t], alpha, cost_settings(drawn, study)));
      }
    }
    const int t =
        static_cast<int>(study.blocks ? (j - 1) * study.tasks / last : (j - 1) % study.tasks);
    const Task& task = drawn.tasks[t];
    RolloutSettings rollouts;
    rollouts.trajectories = study.trajectories * (method == "pg" ? 2 : 1);
    rollouts.seed = derive_seed(drawn.seed, static_cast<std::uint64_t>(j));
    const GaussianPolicy policy = learner->policy(task.name);
    if (safe && !strictly_safe(drawn.sets[t], policy.parameters())) ++run.unsafe;
    rollout(task, policy, rollouts, batch);
    tell_prior(*learner, t, nats);
    learner->observe(task.name, batch);
    const RoundLoss& loss = learner->last_loss();
    nats.record(t, loss, loss.played);
    const RoundLoss priced = in_cost_units(loss);
    cost.record(t, priced, priced.played);
    if (looked_at[next_look] == j) {
      ++next_look;
      look_at_bound(nats.surrogate_regret(), run);
    }
    if (checkpoints[next_checkpoint] == j) {
      ++next_checkpoint;
      const SurrogateRegret regret = nats.surrogate_regret();
      run.nats.push_back(regret.most);
      run.nats_width.push_back(regret.most - regret.least);
      run.cost.push_back(cost.surrogate_regret().most);
    }
  }
  for (int t = 0; t < study.tasks; ++t) {
    learner->policy_parameters(t, alpha);
    run.policies.push_back(alpha);
  }
  return run;
}

/// The theorem's setting depends on R, so that it takes one run for each.
Run play_all(const std::string& method, const std::vector<long>& checkpoints,
             const DrawnTasks& drawn, const Study& study) {
  if (method != "theorem") return play(method, checkpoints, drawn, study);
  Run all;
  for (const long rounds : checkpoints) {
    const Run run = play(method, {rounds}, drawn, study);
    all.rounds.push_back(rounds);
    all.nats.push_back(run.nats[0]);
    all.nats_width.push_back(run.nats_width[0]);
    all.cost.push_back(run.cost[0]);
    all.measured.push_back(static_cast<long>(run.measured.size()));
    for (std::size_t i = 0; i < run.measured.size(); ++i) {
      all.measured.push_back(run.measured[i]);
      all.true_costs.push_back(run.true_costs[i]);
    }
    all.policies.insert(all.policies.end(), run.policies.begin(), run.policies.end());
    all.unsafe += run.unsafe;
    all.bound = run.bound;
    all.largest_ratio = std::fmax(all.largest_ratio, run.largest_ratio);
    all.least_margin = std::min(all.least_margin, run.least_margin);
  }
  return all;
}

double summed_gap(const std::vector<long>& measured,
                  const std::vector<std::vector<double>>& true_costs,
                  const std::vector<double>& best, long last) {
  std::vector<double> gaps;
  for (const auto& costs : true_costs) {
    double mean = 0;
    for (std::size_t t = 0; t < best.size(); ++t) {
      mean += (costs[t] - best[t]) / static_cast<double>(best.size());
    }
    gaps.push_back(mean);
  }
  return integrated_regret(measured, gaps, last);
}

void fill_true_regret(const std::string& method, const std::vector<double>& best, Run& run) {
  if (method != "theorem") {
    for (const long rounds : run.rounds) {
      run.true_cost.push_back(summed_gap(run.measured, run.true_costs, best, rounds));
    }
    return;
  }
  std::size_t m = 0, c = 0;  // runs lie behind each other, each with its number of measurements
  for (const long rounds : run.rounds) {
    const auto count = static_cast<std::ptrdiff_t>(run.measured[m++]);
    const auto first = run.measured.begin() + static_cast<std::ptrdiff_t>(m);
    const auto costs = run.true_costs.begin() + static_cast<std::ptrdiff_t>(c);
    run.true_cost.push_back(
        summed_gap({first, first + count}, {costs, costs + count}, best, rounds));
    m += static_cast<std::size_t>(count);
    c += static_cast<std::size_t>(count);
  }
}

/// Slope of log regret on log R for each seed, then mean and 95 % interval over the seeds. Seeds
/// with fewer than two positive regrets in the range have no slope; points that are not positive
/// are left out and counted.
struct Exponent {
  MeanInterval slope;
  int seeds = 0;
  int left_out = 0;
  double last_mean = kNaN;  // the regret itself at the largest R
};

Exponent fit(const std::vector<long>& rounds, const std::vector<std::vector<double>>& regrets,
             long from) {
  Exponent result;
  std::vector<double> slopes;
  double last = 0;
  for (const auto& regret : regrets) {
    double n = 0, x1 = 0, y1 = 0, xx = 0, xy = 0;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      if (rounds[i] < from) continue;
      if (!(regret[i] > 0)) {
        ++result.left_out;
        continue;
      }
      const double x = std::log(static_cast<double>(rounds[i]));
      const double y = std::log(regret[i]);
      n += 1, x1 += x, y1 += y, xx += x * x, xy += x * y;
    }
    last += regret.back() / static_cast<double>(regrets.size());
    if (n >= 2) slopes.push_back((n * xy - x1 * y1) / (n * xx - x1 * x1));
  }
  result.last_mean = last;
  result.seeds = static_cast<int>(slopes.size());
  if (slopes.empty()) return result;
  result.slope = mean_interval(slopes);
  return result;
}

std::string show(const Exponent& e) {
  if (e.seeds == 0) return "not positive";
  return fmt::format("{:.2f} ± {:.2f}{}", e.slope.mean, e.slope.ci95,
                     e.left_out > 0 ? fmt::format(" ({} left out)", e.left_out) : "");
}

std::string json(const Exponent& e) {
  const auto number = [](double x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; };
  return fmt::format(R"({{"mean": {}, "ci95": {}, "seeds": {}, "left_out": {}, "regret": {}}})",
                     number(e.slope.mean), number(e.slope.ci95), e.seeds, e.left_out,
                     number(e.last_mean));
}

std::string json(const std::vector<std::vector<double>>& rows) {
  std::string text = "[";
  for (const auto& row : rows) {
    text += fmt::format("{}[{}]", text.size() > 1 ? ", " : "", fmt::join(row, ", "));
  }
  return text + "]";
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

/// Medians over the seeds at the largest R; the largest ratio and the least margin over all seeds
/// and rounds.
std::string bound_rows(const std::string& family, const std::vector<std::string>& methods,
                       const std::vector<std::vector<Run>>& runs) {
  std::string rows;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    const auto over_seeds = [&](auto quantity) {
      std::vector<double> values;
      for (const auto& of_seed : runs) values.push_back(quantity(of_seed[m]));
      return median(values);
    };
    double ratio = kNaN, margin = kInfinity;
    for (const auto& of_seed : runs) {
      ratio = std::fmax(ratio, of_seed[m].largest_ratio);
      margin = std::min(margin, of_seed[m].least_margin);
    }
    rows += fmt::format(
        "| {} | {} | {:.4g} | {:.4g} | {:.3g} | {:.2g} | {:.4g} | {:.4g} | {:.4g} | {:.4g} | "
        "{:.4g} "
        "| {:.4g} |\n",
        family, methods[m], over_seeds([](const Run& r) { return r.nats.back(); }),
        over_seeds([](const Run& r) { return r.bound.total; }), ratio, margin,
        over_seeds([](const Run& r) { return r.bound.terms.prior; }),
        over_seeds([](const Run& r) { return r.bound.terms.rounds; }),
        over_seeds([](const Run& r) { return r.bound.terms.off_leader; }),
        over_seeds([](const Run& r) { return r.bound.logarithmic; }),
        over_seeds([](const Run& r) { return r.bound.of_leader; }),
        over_seeds([](const Run& r) { return r.bound.without_knowledge; }));
  }
  return rows;
}

int run(int argc, char** argv) {
  Study study;
  std::vector<std::string> families = {"mass-spring", "cart-pole", "quadrotor"};
  std::vector<std::string> methods = {"theorem", "learner-safe", "learner",
                                      "pg",      "pg-ella",      "shared"};
  std::string json_file;
  int threads = 2;
  CLI::App app{"Growth of surrogate and true-cost regret with the number of rounds"};
  app.add_option("--families", families)->delimiter(',');
  app.add_option("--methods", methods)->delimiter(',');
  app.add_option("--seeds", study.seeds)->capture_default_str();
  app.add_option("--first-seed", study.first_seed)->capture_default_str();
  app.add_option("--tasks", study.tasks)->capture_default_str();
  app.add_option("--trajectories", study.trajectories)->capture_default_str();
  app.add_option("--trials", study.trials)->capture_default_str();
  app.add_flag("--exploration", study.exploration, "true costs with exploration noise");
  app.add_option("--start-states", study.start_states)->capture_default_str();
  app.add_option("--search-states", study.search_states)->capture_default_str();
  app.add_option("--last", study.last, "largest R; the others are half decades from 100")
      ->capture_default_str();
  app.add_option("--decay", study.decay, "of the theorem's trust regions")->capture_default_str();
  app.add_option("--basis-size", study.basis_size, "k in the theorem's setting; 0 means d")
      ->capture_default_str();
  app.add_option("--retreat-factor", study.retreat_factor, "of the learner")->capture_default_str();
  app.add_option("--prior-variance", study.prior_variance, "of the leader, before any task")
      ->capture_default_str();
  app.add_flag("--blocks", study.blocks, "one task after the other, not in turn");
  app.add_flag("--bounds-only", study.bounds_only, "without true costs");
  app.add_option("--json", json_file);
  app.add_option("--threads", threads)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));

  std::vector<long> checkpoints;
  for (const long r : {100L, 300L, 1000L, 3000L, 10000L, 30000L}) {
    if (r <= study.last) checkpoints.push_back(r);
  }
  const int count = static_cast<int>(methods.size());
  fmt::print(
      "| system | method | surrogate, nats | surrogate, cost | true cost | last decade: nats | "
      "cost | true cost | regrets at R = {}: nats, cost, true | unsafe |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      checkpoints.back());
  std::string text, bounds;
  for (const std::string& family : families) {
    std::vector<std::vector<Run>> runs(study.seeds, std::vector<Run>(count));
    tbb::parallel_for(0, study.seeds * count, [&](int job) {
      const int s = job / count;
      const DrawnTasks drawn =
          draw_tasks(family, study.first_seed + static_cast<std::uint64_t>(s), study);
      runs[s][job % count] = play_all(methods[job % count], checkpoints, drawn, study);
    });
    bounds += bound_rows(family, methods, runs);
    if (study.bounds_only) continue;
    // The best known policy of each task: safe for the methods that are, any for the others.
    tbb::parallel_for(0, study.seeds, [&](int s) {
      const DrawnTasks drawn =
          draw_tasks(family, study.first_seed + static_cast<std::uint64_t>(s), study);
      for (const bool safe : {true, false}) {
        std::vector<double> best;
        for (int t = 0; t < study.tasks; ++t) {
          std::vector<Eigen::VectorXd> candidates;
          for (const Run& run : runs[s]) {
            for (std::size_t i = static_cast<std::size_t>(t); i < run.policies.size();
                 i += static_cast<std::size_t>(study.tasks)) {
              candidates.push_back(run.policies[i]);
            }
          }
          const SafeSet set = safe ? drawn.sets[t] : SafeSet(drawn.sets[t].parameters());
          // Found on other start states than it is measured on, or it would be the best for these
          // few states only, and every learner would seem to stay behind it forever.
          TrueCostSettings found_on{study.search_states, 150, derive_seed(drawn.seed, 1000001),
                                    study.exploration};
          const BestPolicy found =
              best_known_policy(drawn.tasks[t], set, candidates, {found_on, study.trials, 0.1, 1});
          best.push_back(true_cost(drawn.tasks[t], found.alpha, cost_settings(drawn, study)));
        }
        for (int m = 0; m < count; ++m) {
          if (is_safe_method(methods[m]) == safe) fill_true_regret(methods[m], best, runs[s][m]);
        }
      }
    });
    for (int m = 0; m < count; ++m) {
      std::vector<std::vector<double>> nats, cost, real;
      int unsafe = 0;
      for (int s = 0; s < study.seeds; ++s) {
        nats.push_back(runs[s][m].nats);
        cost.push_back(runs[s][m].cost);
        real.push_back(runs[s][m].true_cost);
        unsafe += runs[s][m].unsafe;
      }
      const long decade = checkpoints.back() / 10;
      const Exponent all[] = {fit(checkpoints, nats, 0),      fit(checkpoints, cost, 0),
                              fit(checkpoints, real, 0),      fit(checkpoints, nats, decade),
                              fit(checkpoints, cost, decade), fit(checkpoints, real, decade)};
      fmt::print("| {} | {} |", family, methods[m]);
      for (const Exponent& e : all) fmt::print(" {} |", show(e));
      fmt::print(" {:.4g}, {:.4g}, {:.4g} | {} |\n", all[0].last_mean, all[1].last_mean,
                 all[2].last_mean, is_safe_method(methods[m]) ? std::to_string(unsafe) : "-");
      std::fflush(stdout);
      text += fmt::format(
          R"({}{{"system": "{}", "method": "{}", "rounds": [{}], "nats": {}, "cost": {}, )"
          R"("true_cost": {}, "nats_last_decade": {}, "cost_last_decade": {}, )"
          R"("true_cost_last_decade": {}, "regret_nats": {}, "regret_cost": {}, )"
          R"("regret_true_cost": {}}})",
          text.empty() ? "" : ",\n", family, methods[m], fmt::join(checkpoints, ", "), json(all[0]),
          json(all[1]), json(all[2]), json(all[3]), json(all[4]), json(all[5]), json(nats),
          json(cost), json(real));
    }
  }
  fmt::print(
      "\n| system | method | regret | bound | largest ratio | least margin | prior | rounds | off "
      "leader | with log det | leader: with knowledge | without |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n{}",
      bounds);
  if (!json_file.empty()) std::ofstream(json_file) << "[\n" << text << "\n]\n";
  return 0;
}

}  // namespace lifeguard::bench_regret_growth

int main(int argc, char** argv) { return lifeguard::bench_regret_growth::run(argc, argv); }
