// Time of one alternation of the projection in closed loop with small steps, and of checking many
// tasks. With --dump FILE the L-steps are written for bench/projection_conic.py, which runs general
// conic solvers on the same problems.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <limits>

#include "lifeguard/safety/solve/basis_step.hpp"
#include "lifeguard/safety/solve/paper_basis.hpp"
#include "lifeguard/safety/solve/projection.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::bench_projection_speed {
using lifeguard::test_support::Draws;

struct Size {
  int d, k;
  double bar_milliseconds;
};

/// What binds. A box on every gain, whose goal lies outside in some of them, is the usual case; in
/// a vertex of random rows as many rows bind as there are coefficients, which is the hardest one.
enum class Scene { box, box_and_ball, vertex };

constexpr const char* kSceneNames[] = {"box", "box and ball", "vertex"};

/// Of this thread, so that other programs on the machine do not count.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

ProjectionTask box_task(Draws& draws, int d, bool ball) {
  Eigen::MatrixXd rows(2 * d, d);
  rows << Eigen::MatrixXd::Identity(d, d), -Eigen::MatrixXd::Identity(d, d);
  Eigen::VectorXd limits(2 * d);
  for (int i = 0; i < 2 * d; ++i) limits[i] = draws.uniform(0.7, 1.3);
  const double slack =
      ball ? limits.norm() * draws.uniform(1.01, 1.2) : std::numeric_limits<double>::infinity();
  return {rows, limits, Eigen::VectorXd::Zero(d), slack};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void write_matrix(std::ofstream& file, const Eigen::MatrixXd& matrix) {
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
    for (Eigen::Index i = 0; i < matrix.rows(); ++i) file << fmt::format("{} ", matrix(i, j));
  }
  file << "\n";
}

// A learner that pulls towards a goal outside the safe set, a little in each round.
void closed_loop(const Size& size, Scene scene, int rounds, std::ofstream* dump) {
  constexpr int kTasks = 10;
  Draws draws(derive_seed(
      11, static_cast<std::uint64_t>(size.d) * 100 + static_cast<std::uint64_t>(size.k)));
  ProjectionSettings settings;
  settings.p = 0.25;
  settings.q = 4;
  Projection projection(settings);
  std::vector<ProjectionTask> tasks;
  for (int t = 0; t < kTasks; ++t) {
    tasks.push_back(scene == Scene::vertex
                        ? lifeguard::test_support::random_task(draws, 2 * size.d, size.d, {})
                        : box_task(draws, size.d, scene == Scene::box_and_ball));
  }
  Knowledge last;
  last.basis = lifeguard::test_support::random_basis(draws, size.d, size.k, 0.25, 4);
  last.coefficients = Eigen::MatrixXd::Zero(size.k, kTasks);
  last.anchors = lifeguard::test_support::anchors_of(tasks, size.d);
  // The goal's gains are normal with deviation 0.7: about 15 % of them are outside the box.
  const Eigen::MatrixXd goal_basis = draws.normals(size.d, size.k) / std::sqrt(size.k);
  const Eigen::MatrixXd goal_coefficients = 0.7 * draws.normals(size.k, kTasks);

  std::vector<double> milliseconds, alternations, newton, basis_milliseconds;
  long rows = 0, balls = 0, spectrum = 0, constrained = 0, direct = 0;
  BasisStep step;
  for (int round = 0; round < 2 * rounds; ++round) {
    Knowledge target = last;
    target.basis += 0.02 * (goal_basis - last.basis) + 0.002 * draws.normals(size.d, size.k);
    target.coefficients +=
        0.02 * (goal_coefficients - last.coefficients) + 0.002 * draws.normals(size.k, kTasks);
    const bool measured = round >= rounds;  // after the learner has run into its constraints
    if (measured) {
      // The L-step alone, for the comparison with solvers that do nothing else.
      std::vector<TightenedTask> step_tasks;
      for (const ProjectionTask& task : tasks) {
        step_tasks.push_back(
            {&task.rows(), &task.row_lengths(), &task.reduced(), task.slack_limit()});
      }
      Eigen::MatrixXd solution;
      step.restart();
      const double start = processor_seconds();
      step.solve({step_tasks, last.coefficients, target.basis, 0.5, 2}, last.basis, solution);
      basis_milliseconds.push_back(1e3 * (processor_seconds() - start));
    }
    if (dump != nullptr && round == 2 * rounds - 1) {
      *dump << fmt::format("{} {} {} {} {} {}\n", size.d, size.k, kTasks, 0.5, 2.0,
                           median(basis_milliseconds));
      write_matrix(*dump, last.basis);
      write_matrix(*dump, target.basis);
      write_matrix(*dump, last.coefficients);
      for (const ProjectionTask& task : tasks) {
        *dump << fmt::format("{} {}\n", task.rows().rows(), task.slack_limit());
        write_matrix(*dump, task.rows());
        write_matrix(*dump, task.reduced());
      }
    }
    const double start = processor_seconds();
    const ProjectionResult& result = projection.project({tasks}, target, last);
    const double seconds = processor_seconds() - start;
    last = result.knowledge;
    if (!measured) continue;
    milliseconds.push_back(1e3 * seconds / std::max(1, result.alternations));
    alternations.push_back(result.alternations);
    newton.push_back(static_cast<double>(result.basis_iterations));
    rows += result.coefficient_paths.rows;
    balls += result.coefficient_paths.ball;
    constrained += result.basis_path == BasisPath::rows;
    spectrum += result.basis_path == BasisPath::spectrum;
    direct += result.basis_path == BasisPath::direct;
  }
  double mean = 0;
  for (const double value : milliseconds) mean += value / static_cast<double>(milliseconds.size());
  fmt::print(
      "{}x{}, m = {}, {}: median {:.3f} ms, mean {:.3f} ms an alternation (bar {:.1f}), {:.1f} "
      "alternations a round; L-step alone {:.3f} ms\n"
      "    L-step bound by rows {} %, by the spectrum {} %, direct {} %; S-steps with rows {:.1f}, "
      "with the ball {:.1f} a round; Newton steps {:.1f}\n",
      size.d, size.k, 2 * size.d, kSceneNames[static_cast<int>(scene)], median(milliseconds), mean,
      size.bar_milliseconds, median(alternations), median(basis_milliseconds),
      100 * constrained / rounds, 100 * spectrum / rounds, 100 * direct / rounds,
      static_cast<double>(rows) / rounds, static_cast<double>(balls) / rounds, median(newton));
}

void check_many() {
  constexpr int kTasks = 1000;
  Draws draws(12);
  std::vector<ProjectionTask> tasks;
  for (int t = 0; t < kTasks; ++t) {
    tasks.push_back(lifeguard::test_support::random_task(draws, 48, 24, {false, false, true}));
  }
  const Eigen::MatrixXd basis = lifeguard::test_support::random_basis(draws, 24, 12, 0.25, 4);
  const Eigen::MatrixXd coefficients = 1e-3 * draws.normals(12, kTasks);
  TaskVerifier verifier;
  std::vector<TaskMargin> margins;
  std::vector<double> milliseconds;
  bool safe = true;
  for (int i = 0; i < 50; ++i) {
    const double start = processor_seconds();
    safe = verifier.all_safe(tasks, basis, coefficients, &margins) && safe;
    milliseconds.push_back(1e3 * (processor_seconds() - start));
  }
  fmt::print("checking 1000 tasks, 24x12, m=48: median {:.2f} ms (bar 5), all safe: {}\n",
             median(milliseconds), safe);
}

// What the paper's semi-definite program gives beside the exact projection, on the same problems.
void compare_paper() {
  constexpr int kProblems = 100;
  constexpr int kTasks = 8;
  ProjectionSettings settings;
  settings.p = 0.25;
  settings.q = 4;
  Projection exact(settings);
  settings.mode = ProjectionMode::paper;
  Projection paper(settings);
  TaskVerifier verifier;
  std::vector<TaskMargin> margins;
  std::vector<double> ratios, paper_milliseconds, exact_milliseconds;
  int unsafe = 0, solved = 0, worse_than_last = 0;
  for (std::uint64_t seed = 0; seed < kProblems; ++seed) {
    Draws draws(derive_seed(14, seed));
    std::vector<ProjectionTask> tasks;
    for (int t = 0; t < kTasks; ++t) tasks.push_back(box_task(draws, 8, false));
    // A last point at the boundary: the exact projection of a goal outside.
    Knowledge goal;
    goal.coefficients = draws.normals(4, kTasks);
    goal.basis = lifeguard::test_support::random_basis(draws, 8, 4, 0.25, 4);
    goal.anchors = lifeguard::test_support::anchors_of(tasks, 8);
    Knowledge first = goal;
    first.coefficients.setZero();
    const Knowledge last = exact.project({tasks}, goal, first).knowledge;
    Knowledge target = last;
    target.basis += 0.1 * draws.normals(8, 4);
    target.coefficients += 0.1 * draws.normals(4, kTasks);
    Eigen::MatrixXd basis = last.basis;
    if (paper_basis(last.coefficients, target.basis, last.basis, 0.25, 4, basis) ==
        PaperBasisStatus::solved) {
      ++solved;
      verifier.all_safe(tasks, basis, last.coefficients, &margins);
      for (const TaskMargin& margin : margins) unsafe += !margin.safe();
    }
    double start = processor_seconds();
    const double paper_objective = paper.project({tasks}, target, last).objective;
    paper_milliseconds.push_back(1e3 * (processor_seconds() - start));
    start = processor_seconds();
    const ProjectionResult& best = exact.project({tasks}, target, last);
    exact_milliseconds.push_back(1e3 * (processor_seconds() - start));
    ratios.push_back(paper_objective / best.objective);
    worse_than_last += paper_objective > best.objectives.front();
  }
  fmt::print(
      "paper mode, 8x4, box, {} problems: program solved in {}; then {} of {} tasks unsafe before "
      "the "
      "S-step; objective {:.1f} times the exact one's (median), above that of doing nothing in {}; "
      "{:.2f} ms against {:.3f} ms a round\n",
      kProblems, solved, unsafe, kTasks * solved, median(ratios), worse_than_last,
      median(paper_milliseconds), median(exact_milliseconds));
}

int run(int argc, char** argv) {
  CLI::App app("Speed of the projection");
  std::string file;
  std::string only;
  int rounds = 500;
  app.add_option("--dump", file, "write the L-steps for bench/projection_conic.py");
  app.add_option("--rounds", rounds, "measured rounds, after as many to warm up");
  app.add_option("--scene", only, "this scene alone")
      ->check(CLI::IsMember(std::vector<std::string>{"box", "box and ball", "vertex"}));
  CLI11_PARSE(app, argc, argv);
  std::ofstream dump;
  if (!file.empty()) dump.open(file);
  fmt::print("T = 10 tasks, one core, processor time\n");
  for (const Scene scene : {Scene::box, Scene::box_and_ball, Scene::vertex}) {
    if (!only.empty() && only != kSceneNames[static_cast<int>(scene)]) continue;
    for (const Size& size : {Size{4, 4, 0.1}, Size{24, 12, 0.5}, Size{24, 24, 1.2}}) {
      closed_loop(size, scene, rounds, dump.is_open() && scene == Scene::box ? &dump : nullptr);
    }
  }
  if (!only.empty()) return 0;
  check_many();
  compare_paper();
  return 0;
}

}  // namespace lifeguard::bench_projection_speed

int main(int argc, char** argv) { return lifeguard::bench_projection_speed::run(argc, argv); }
