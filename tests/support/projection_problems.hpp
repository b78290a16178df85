// Random projection problems for tests and benchmarks, from easy to nasty.
#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lifeguard/core/random.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/prove/verification.hpp"

namespace lifeguard::test_support {

/// Numbers drawn one after the other from one counter-based sequence.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed, RandomStream::user, 0) {}
  double uniform() { return random_.uniform(next_++); }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal() { return random_.normal(next_++); }
  bool chance(double probability) { return uniform() < probability; }
  int integer(int low, int high) {  // both included
    return std::min(high, low + static_cast<int>(uniform() * (high - low + 1)));
  }
  double power(double low, double high) {  // uniform in the logarithm
    return std::exp(uniform(std::log(low), std::log(high)));
  }
  Eigen::MatrixXd normals(long rows, long cols) {
    Eigen::MatrixXd result(rows, cols);
    for (long j = 0; j < cols; ++j) {
      for (long i = 0; i < rows; ++i) result(i, j) = normal();
    }
    return result;
  }

 private:
  CounterRandom random_;
  std::uint32_t next_ = 0;
};

struct SetKind {
  bool nearly_parallel = false;  // half of the rows are another row, turned by 1e-9 to 1e-3
  bool thin = false;             // pairs of opposite rows, down to 1e-6 apart
  bool ball = false;             // a slack limit between 1.01 and 3 times the anchor's slack
};

inline SetKind random_kind(Draws& draws) {
  return {draws.chance(0.3), draws.chance(0.3), draws.chance(0.4)};
}

inline ProjectionTask random_task(Draws& draws, long m, long d, const SetKind& kind) {
  Eigen::MatrixXd rows = draws.normals(m, d);
  Eigen::VectorXd reduced(m);
  for (long i = 0; i < m; ++i) reduced[i] = draws.power(0.05, 3.0);
  for (long i = 1; i < m; ++i) {
    if (kind.nearly_parallel && draws.chance(0.5)) {
      const long other = draws.integer(0, static_cast<int>(i) - 1);
      const Eigen::MatrixXd turn = draws.normals(1, d);
      rows.row(i) = rows.row(other) + draws.power(1e-9, 1e-3) * turn;
    }
    if (kind.thin && draws.chance(0.3)) {
      const double half_width = draws.power(5e-7, 1e-2);
      const double turn = draws.chance(0.5) ? 0.0 : draws.power(1e-6, 1e-1);
      rows.row(i) = -rows.row(i - 1) + turn * draws.normals(1, d);
      reduced[i - 1] = half_width * rows.row(i - 1).norm();
      reduced[i] = half_width * rows.row(i).norm();
    }
  }
  const Eigen::VectorXd anchor = draws.chance(0.3) ? Eigen::VectorXd(Eigen::VectorXd::Zero(d))
                                                   : Eigen::VectorXd(draws.normals(d, 1));
  const Eigen::VectorXd limits = reduced + rows * anchor;
  const double slack = kind.ball && m > 0 ? reduced.norm() * draws.uniform(1.01, 3.0)
                                          : std::numeric_limits<double>::infinity();
  return {rows, limits, anchor, slack};
}

/// A d × k matrix with singular values inside [√p, √q].
inline Eigen::MatrixXd random_basis(Draws& draws, long d, long k, double p, double q) {
  const Eigen::MatrixXd u =
      Eigen::HouseholderQR<Eigen::MatrixXd>(draws.normals(d, k)).householderQ() *
      Eigen::MatrixXd::Identity(d, k);
  const Eigen::MatrixXd v =
      Eigen::HouseholderQR<Eigen::MatrixXd>(draws.normals(k, k)).householderQ();
  Eigen::VectorXd sigma(k);
  for (long i = 0; i < k; ++i) sigma[i] = std::sqrt(p + (q - p) * draws.uniform(0.1, 0.9));
  return u * sigma.asDiagonal() * v.transpose();
}

/// The anchors of tasks as knowledge holds them.
inline Eigen::MatrixXd anchors_of(const std::vector<ProjectionTask>& tasks, long d) {
  Eigen::MatrixXd anchors(d, static_cast<long>(tasks.size()));
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    anchors.col(static_cast<long>(t)) = tasks[t].anchor();
  }
  return anchors;
}

/// Tasks, a safe last point and a target for one projection.
struct RandomProjection {
  double p = 0, q = 0;
  std::vector<ProjectionTask> tasks;
  Knowledge last, target;
};

struct ProjectionSize {
  int d = 28, k = 28, m = 120, tasks = 100;  // at most these
};

/// A new target, mostly near the last point, sometimes up to 1e6 away.
inline void draw_target(Draws& draws, RandomProjection& r) {
  const double far = draws.chance(0.2) ? draws.power(1.0, 1e6) : draws.power(1e-6, 1.0);
  r.target = r.last;
  r.target.basis += far * draws.normals(r.last.parameters(), r.last.basis_size());
  r.target.coefficients += far * draws.normals(r.last.basis_size(), r.last.tasks());
}

inline RandomProjection random_projection(Draws& draws, const ProjectionSize& limit) {
  RandomProjection r;
  const int d = draws.integer(1, limit.d);
  const int most = std::min(d, limit.k);
  const int k = draws.chance(0.2) ? most : draws.chance(0.1) ? 1 : draws.integer(1, most);
  const int count = draws.integer(1, limit.tasks);
  r.p = draws.power(1e-2, 1.0);
  r.q = r.p * (draws.chance(0.2) ? 1 + 1e-6 : draws.power(1.01, 1e3));
  for (int t = 0; t < count; ++t) {
    // One draw after the other: arguments of a call are evaluated in any order.
    const SetKind kind = random_kind(draws);
    const int rows = draws.integer(0, limit.m);
    r.tasks.push_back(random_task(draws, rows, d, kind));
  }
  r.last.basis = random_basis(draws, d, k, r.p, r.q);
  r.last.coefficients = draws.normals(k, count);
  r.last.coefficients *= draws.power(1e-3, 1.0);
  r.last.anchors = anchors_of(r.tasks, d);
  TaskVerifier verifier;
  for (int t = 0; t < count; ++t) {  // strictly safe, often near the boundary
    const auto column = r.last.coefficients.col(t);
    while (!verifier
                .margin(r.tasks[static_cast<std::size_t>(t)], r.last.basis,
                        rounded_up_length(r.last.basis), column)
                .safe()) {
      r.last.coefficients.col(t) *= 0.8;
    }
  }
  draw_target(draws, r);
  return r;
}

/// How many tasks are unsafe, plus 1 if the spectrum is, in extended precision (64 bits), computed
/// here without anything of the projection's own.
inline int unsafe_count(const RandomProjection& r, const Knowledge& knowledge) {
  using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const Wide wide = knowledge.basis.cast<long double>();
  const Wide gram = wide.transpose() * wide;
  const Eigen::SelfAdjointEigenSolver<Wide> spectrum(gram, Eigen::EigenvaluesOnly);
  const bool inside = spectrum.eigenvalues()[0] >= static_cast<long double>(r.p) &&
                      spectrum.eigenvalues()[gram.rows() - 1] <= static_cast<long double>(r.q);
  int count = inside ? 0 : 1;
  for (std::size_t t = 0; t < r.tasks.size(); ++t) {
    const ProjectionTask& task = r.tasks[t];
    const Wide policy =
        task.anchor().cast<long double>() +
        wide * knowledge.coefficients.col(static_cast<Eigen::Index>(t)).cast<long double>();
    const Wide slack = task.limits().cast<long double>() - task.rows().cast<long double>() * policy;
    const bool safe =
        (slack.array() >= 0).all() && slack.norm() <= static_cast<long double>(task.slack_limit());
    count += safe ? 0 : 1;
  }
  return count;
}

}  // namespace lifeguard::test_support
