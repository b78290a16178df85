#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <fstream>
#include <string>

#include "lifeguard/safety/solve/basis_step.hpp"
#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::basis_projection_test {

using test_support::Draws;

Eigen::MatrixXd clipped(const Eigen::MatrixXd& x, double low, double high) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(x, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return svd.matrixU() * svd.singularValues().cwiseMax(low).cwiseMin(high).asDiagonal() *
         svd.matrixV().transpose();
}

TEST(SpectralClip, AgreesWithSvd) {
  SpectralClip clip;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws(seed);
    const long d = draws.integer(1, 28);
    const long k = draws.integer(1, static_cast<int>(d));
    const Eigen::MatrixXd x = draws.power(0.1, 1e6) * draws.normals(d, k);
    clip.restart();
    if (!clip.compute(x, 0.7, 1.3)) continue;
    EXPECT_LE((clip.result() - clipped(x, 0.7, 1.3)).norm(), 1e-9) << "seed " << seed;
    // A second time it starts from the first one's vectors.
    const Eigen::MatrixXd near = x + 1e-3 * draws.normals(d, k);
    ASSERT_TRUE(clip.compute(near, 0.7, 1.3));
    EXPECT_LE((clip.result() - clipped(near, 0.7, 1.3)).norm(), 1e-9) << "seed " << seed;
  }
}

TEST(SpectralClip, MetricIsItsDerivative) {
  SpectralClip clip;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draws draws(seed);
    const long d = draws.integer(1, 10);
    const long k = draws.integer(1, static_cast<int>(d));
    const Eigen::MatrixXd x = draws.normals(d, k);
    const Eigen::VectorXd a = draws.normals(d, 1);
    const Eigen::VectorXd b = draws.normals(d, 1);
    const Eigen::VectorXd s = draws.normals(k, 1);
    const Eigen::VectorXd t = draws.normals(k, 1);
    const double h = 1e-6;
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(x);
    if (svd.singularValues().minCoeff() < 0.05) continue;
    if (((svd.singularValues().array() - 0.7).abs().minCoeff() < 1e-4) ||
        ((svd.singularValues().array() - 1.3).abs().minCoeff() < 1e-4)) {
      continue;  // a kink
    }
    const Eigen::MatrixXd step = h * b * t.transpose();
    const double numerical =
        a.dot((clipped(x + step, 0.7, 1.3) - clipped(x - step, 0.7, 1.3)) * s) / (2 * h);
    clip.restart();
    ASSERT_TRUE(clip.compute(x, 0.7, 1.3));
    if (!clip.clipped()) continue;
    const Eigen::VectorXd ua = clip.left().transpose() * a;
    const Eigen::VectorXd ub = clip.left().transpose() * b;
    const Eigen::VectorXd vs = clip.right().transpose() * s;
    const Eigen::VectorXd vt = clip.right().transpose() * t;
    Eigen::MatrixXd inner;
    const double outer = clip.metric(vs, vt, inner);
    const double analytic = ua.dot(inner * ub) + outer * a.dot(b);
    EXPECT_NEAR(analytic, numerical, 1e-5 * (1 + std::fabs(numerical))) << "seed " << seed;
  }
}

struct Problem {
  std::vector<Eigen::MatrixXd> rows;
  std::vector<Eigen::VectorXd> bounds;
  std::vector<Eigen::VectorXd> lengths;
  std::vector<double> slack_limits;
  Eigen::MatrixXd start, target, coefficients;
  double low = 0, high = 0, reference = 0;

  std::vector<TightenedTask> tasks() const {
    std::vector<TightenedTask> result;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      result.push_back({&rows[t], &lengths[t], &bounds[t], slack_limits[t]});
    }
    return result;
  }

  double violation(const Eigen::MatrixXd& basis) const {
    double worst = 0;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const Eigen::VectorXd image =
          rows[t] * (basis * coefficients.col(static_cast<Eigen::Index>(t)));
      worst = std::max(worst, (image.cwiseQuotient(bounds[t])).maxCoeff() - 1);
      worst = std::max(worst, (bounds[t] - image).norm() / slack_limits[t] - 1);
    }
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(basis);
    worst = std::max(worst, svd.singularValues()[0] / high - 1);
    return std::max(worst, 1 - svd.singularValues()[basis.cols() - 1] / low);
  }
};

std::vector<Problem> reference_problems() {
  std::ifstream file(std::string(LIFEGUARD_SOURCE_DIR) + "/tests/data/basis_step_reference.txt");
  const auto number = [&file] {
    std::string word;  // streams do not read "inf"
    file >> word;
    return word.empty() ? 0.0 : std::stod(word);
  };
  const auto matrix = [&number](long rows, long cols) {
    Eigen::MatrixXd result(rows, cols);
    for (long j = 0; j < cols; ++j) {
      for (long i = 0; i < rows; ++i) result(i, j) = number();
    }
    return result;
  };
  std::vector<Problem> problems;
  long d = 0, k = 0, count = 0;
  while (file >> d >> k >> count) {
    Problem p;
    p.low = number();
    p.high = number();
    p.reference = number();
    p.start = matrix(d, k);
    p.target = matrix(d, k);
    p.coefficients = matrix(k, count);
    for (long t = 0; t < count; ++t) {
      const long m = static_cast<long>(number());
      p.slack_limits.push_back(number());
      p.rows.push_back(matrix(m, d));
      p.bounds.push_back(matrix(m, 1));
      p.lengths.push_back(p.rows.back().rowwise().norm());
    }
    problems.push_back(p);
  }
  return problems;
}

TEST(BasisStep, NoWorseThanConicReference) {
  const std::vector<Problem> problems = reference_problems();
  ASSERT_GE(problems.size(), 50u);
  BasisStep step;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Problem& p = problems[i];
    const std::vector<TightenedTask> tasks = p.tasks();
    Eigen::MatrixXd solution;
    const BasisPath path =
        step.solve({tasks, p.coefficients, p.target, p.low, p.high}, p.start, solution);
    const double distance = (solution - p.target).squaredNorm();
    EXPECT_LE(p.violation(solution), 2e-8) << i;
    EXPECT_LE(distance, p.reference * (1 + 1e-3) + 1e-9) << i << " path " << static_cast<int>(path);
  }
}

TEST(BasisStep, RememberedMultipliersSaveStepsAndChangeNothing) {
  long remembered_steps = 0, fresh_steps = 0, compared = 0;
  for (const Problem& p : reference_problems()) {
    BasisStep step;
    const std::vector<TightenedTask> tasks = p.tasks();
    Eigen::MatrixXd first, again, fresh;
    step.solve({tasks, p.coefficients, p.target, p.low, p.high}, p.start, first);
    // Near to what was solved, from its solution, as the next alternation is.
    const Eigen::MatrixXd target = p.target + 0.01 * (p.target - first);
    const BasisPath path = step.solve({tasks, p.coefficients, target, p.low, p.high}, first, again);
    const long steps = step.iterations();
    step.restart();
    const BasisPath fresh_path =
        step.solve({tasks, p.coefficients, target, p.low, p.high}, first, fresh);
    if (path != BasisPath::spectrum || fresh_path != path) continue;
    ++compared;
    remembered_steps += steps;
    fresh_steps += step.iterations();
    const double distance = (fresh - target).norm();
    EXPECT_NEAR((again - target).norm(), distance, 1e-6 * distance);
    EXPECT_LE(p.violation(again), 2e-8);
  }
  EXPECT_GT(compared, 5);
  EXPECT_LT(remembered_steps, 0.8 * static_cast<double>(fresh_steps));
}

}  // namespace lifeguard::basis_projection_test
