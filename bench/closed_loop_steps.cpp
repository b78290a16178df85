// S- and L-steps of tasks with closed-loop sets: our time for each whole step, and the steps
// themselves as JSON for bench/closed_loop_conic.py, which gives the same ones to general conic
// solvers. Ten tasks of a configuration are pulled towards policies outside of their sets.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "bench/timing.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/safety/solve/basis_step.hpp"
#include "lifeguard/safety/solve/projection.hpp"
#include "lifeguard/safety/solve/safe_coefficients.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::bench_closed_loop_steps {
using lifeguard::test_support::Draws;

/// Of this thread, so that other programs on the machine do not count.
double processor_seconds_of(const auto& body) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  body();
  return now() - start;
}

std::string json(const Eigen::VectorXd& vector) {
  return fmt::format("[{}]", fmt::join(vector.begin(), vector.end(), ","));
}

std::string json(const Eigen::MatrixXd& matrix) {
  std::vector<std::string> rows;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    rows.push_back(json(Eigen::VectorXd(matrix.row(i))));
  }
  return fmt::format("[{}]", fmt::join(rows, ","));
}

std::string json(const ProjectionTask& task) {
  std::vector<std::string> inequalities;
  for (const GainInequality& inequality : task.inequalities()) {
    inequalities.push_back(fmt::format(R"({{"name":"{}","theta":{},"limit":{}}})",
                                       inequality.name(), json(inequality.theta()),
                                       json(inequality.limit())));
  }
  return fmt::format(R"({{"anchor":{},"inequalities":[{}]}})", json(task.anchor()),
                     fmt::join(inequalities, ","));
}

/// How far a task may go from its anchor in a direction.
double distance_to_edge(const ProjectionTask& task, const Eigen::VectorXd& direction) {
  const CurvedConstraints curved = curved_constraints(task);
  double low = 0, high = 1;
  while (curved.largest_ratio(task.anchor() + high * direction) < 1) high *= 2;
  for (int i = 0; i < 50; ++i) {
    const double middle = 0.5 * (low + high);
    (curved.largest_ratio(task.anchor() + middle * direction) < 1 ? low : high) = middle;
  }
  return low;
}

/// A step, how far it ends from its target, and how often planes were cut.
struct Measured {
  double milliseconds = 0;
  double objective = 0;
  int cuts = 0;
  double ratio = 0;  // the largest of any inequality at the answer
};

constexpr int kRepeats = 21;

/// The S-step of one task as the projection takes it, verified.
Measured coefficient_step(const ProjectionTask& task, double margin, const Eigen::MatrixXd& basis,
                          const Eigen::VectorXd& last, const Eigen::VectorXd& target) {
  const std::vector<ProjectionTask> tasks = {task};
  SafeCoefficients step;
  TightenedTasks tightened;
  Eigen::VectorXd answer;
  Measured measured;
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    answer = last;
    seconds.push_back(processor_seconds_of([&] {
      tightened.tighten(tasks, margin);
      step.set_basis(basis);
      step.solve(tasks, tightened, 0, target, ProjectionFault::none, answer);
    }));
  }
  measured.milliseconds = 1e3 * median(seconds);
  measured.objective = (answer - target).squaredNorm();
  measured.cuts = static_cast<int>(tightened[0].rows->rows());
  measured.ratio = curved_constraints(task).largest_ratio(task.anchor() + basis * answer);
  return measured;
}

/// The L-step to the end: cut where an inequality is violated and taken again until none is.
Measured basis_step(const std::vector<ProjectionTask>& tasks, const ProjectionSettings& settings,
                    const Knowledge& last, const Eigen::MatrixXd& target) {
  BasisStep step;
  TightenedTasks tightened;
  Eigen::MatrixXd answer;
  Measured measured;
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    seconds.push_back(processor_seconds_of([&] {
      tightened.tighten(tasks, settings.margin);
      step.restart();
      for (measured.cuts = 0; measured.cuts < kMostCuttingSteps; ++measured.cuts) {
        step.solve({tightened.tasks(), last.coefficients, target, std::sqrt(settings.p),
                    std::sqrt(settings.q)},
                   last.basis, answer);
        measured.ratio = 0;
        for (std::size_t t = 0; t < tasks.size(); ++t) {
          const Eigen::VectorXd policy =
              tasks[t].anchor() + answer * last.coefficients.col(static_cast<Eigen::Index>(t));
          const double ratio = curved_constraints(tasks[t]).largest_ratio(policy);
          measured.ratio = std::max(measured.ratio, ratio);
          if (ratio > 1 + kRatioTolerance) tightened.cut(t, policy);
        }
        if (measured.ratio <= 1 + kRatioTolerance) break;
      }
    }));
  }
  measured.milliseconds = 1e3 * median(seconds);
  measured.objective = (answer - target).squaredNorm();
  return measured;
}

std::string json(const Measured& m) {
  return fmt::format(R"("milliseconds":{},"objective":{},"cuts":{},"ratio":{})", m.milliseconds,
                     m.objective, m.cuts, m.ratio);
}

/// One configuration: the learner's steps go 5 % of the way to policies outside, rounds after
/// rounds.
std::string measure(const std::string& file, int rounds, int dumped) {
  const ExperimentConfig config = load_config(file);
  const DrawnTasks drawn = draw_tasks(config);
  std::vector<ProjectionTask> tasks;
  for (std::size_t t = 0; t < drawn.tasks.size(); ++t) {
    tasks.emplace_back(drawn.safe_sets[t], drawn.first[t].parameters);
  }
  const Eigen::Index d = drawn.parameters();
  const auto count = static_cast<Eigen::Index>(tasks.size());
  Draws draws(derive_seed(17, static_cast<std::uint64_t>(d)));
  // As the learner begins: L is the identity, policies are the anchors.
  Knowledge last;
  last.basis = Eigen::MatrixXd::Identity(d, d);
  last.coefficients = Eigen::MatrixXd::Zero(d, count);
  last.anchors = lifeguard::test_support::anchors_of(tasks, d);
  const Eigen::MatrixXd goal_basis =
      last.basis + 0.3 / std::sqrt(static_cast<double>(d)) * draws.normals(d, d);
  Eigen::MatrixXd goal_coefficients(d, count);
  for (Eigen::Index t = 0; t < count; ++t) {
    const Eigen::VectorXd direction = draws.normals(d, 1);
    goal_coefficients.col(t) =
        2 * distance_to_edge(tasks[static_cast<std::size_t>(t)], direction) * direction;
  }
  const double size = goal_coefficients.colwise().norm().mean();
  Projection projection(ProjectionSettings{});
  const ProjectionSettings& settings = projection.settings();
  std::vector<std::string> steps;
  std::vector<double> coefficient_times, basis_times, projection_times;
  for (int round = 0; round < 2 * rounds; ++round) {
    Knowledge target = last;
    target.basis += 0.05 * (goal_basis - last.basis) +
                    0.02 / std::sqrt(static_cast<double>(d)) * draws.normals(d, d);
    target.coefficients +=
        0.05 * (goal_coefficients - last.coefficients) +
        1e-3 * size / std::sqrt(static_cast<double>(d)) * draws.normals(d, count);
    if (round >= rounds) {
      const bool dump = (round - rounds) % std::max(1, rounds / dumped) == 0;
      for (Eigen::Index t = 0; t < count; ++t) {
        const ProjectionTask& task = tasks[static_cast<std::size_t>(t)];
        const Eigen::VectorXd wanted = target.coefficients.col(t);
        if (curved_constraints(task).largest_ratio(task.anchor() + last.basis * wanted) <= 1) {
          continue;
        }
        const Measured step =
            coefficient_step(task, settings.margin, last.basis, last.coefficients.col(t), wanted);
        coefficient_times.push_back(step.milliseconds);
        if (!dump) continue;
        steps.push_back(fmt::format(
            R"({{"kind":"S","task":{},"basis":{},"last":{},"target":{},{}}})", t, json(last.basis),
            json(Eigen::VectorXd(last.coefficients.col(t))), json(wanted), json(step)));
      }
      const Measured step = basis_step(tasks, settings, last, target.basis);
      basis_times.push_back(step.milliseconds);
      if (dump && step.objective > 0) {
        steps.push_back(fmt::format(R"({{"kind":"L","coefficients":{},"last":{},"target":{},{}}})",
                                    json(last.coefficients), json(last.basis), json(target.basis),
                                    json(step)));
      }
    }
    const double seconds =
        processor_seconds_of([&] { last = projection.project({tasks}, target, last).knowledge; });
    if (round >= rounds) projection_times.push_back(1e3 * seconds);
  }
  fmt::print(
      "{}: {} tasks, {}x{}: S-step {:.4f} ms ({} with a bound), L-step {:.3f} ms, whole "
      "projection {:.3f} ms (medians)\n",
      config.name, count, d, d, coefficient_times.empty() ? 0 : median(coefficient_times),
      coefficient_times.size(), median(basis_times), median(projection_times));
  std::vector<std::string> task_texts;
  for (const ProjectionTask& task : tasks) task_texts.push_back(json(task));
  return fmt::format(R"({{"name":"{}","low":{},"high":{},"tasks":[{}],"steps":[{}]}})", config.name,
                     std::sqrt(settings.p), std::sqrt(settings.q), fmt::join(task_texts, ","),
                     fmt::join(steps, ",\n"));
}

int run(int argc, char** argv) {
  CLI::App app("S- and L-steps of tasks with closed-loop sets");
  std::string file;
  int rounds = 60;
  int dumped = 3;
  app.add_option("--dump", file, "write steps for bench/closed_loop_conic.py");
  app.add_option("--rounds", rounds, "measured rounds, after as many to come to the edges")
      ->capture_default_str();
  app.add_option("--dumped", dumped, "rounds whose steps are written")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::vector<std::string> results;
  for (const char* name : {"safe-cart-pole", "safe-quadrotor"}) {
    results.push_back(measure(fmt::format("configs/examples/{}.toml", name), rounds, dumped));
  }
  if (!file.empty()) std::ofstream(file) << fmt::format("[{}]\n", fmt::join(results, ",\n"));
  return 0;
}

}  // namespace lifeguard::bench_closed_loop_steps

int main(int argc, char** argv) { return lifeguard::bench_closed_loop_steps::run(argc, argv); }
