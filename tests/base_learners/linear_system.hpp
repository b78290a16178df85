#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <cstdint>
#include <vector>

#include "lifeguard/core/random.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard::test_support {

/// x⁺ = A x + B u with costs x'Qx + u'Ru, a normal start and a Gaussian policy: every expectation
/// over trajectories has a closed form, by propagating second moments.
struct LinearSystem {
  Eigen::MatrixXd a, b, q, r;
  Eigen::VectorXd start_deviation;
  double sigma = 0.5;
  int steps = 10;

  /// Three states, two actions, mildly unstable.
  static LinearSystem example() {
    LinearSystem s;
    s.a.resize(3, 3);
    s.a << 1.02, 0.1, 0.0, -0.1, 0.95, 0.2, 0.05, 0.0, 0.9;
    s.b.resize(3, 2);
    s.b << 0.0, 0.1, 0.3, 0.0, 0.1, 0.2;
    s.q = Eigen::Vector3d(1.0, 0.3, 0.5).asDiagonal();
    s.r = Eigen::Vector2d(0.05, 0.1).asDiagonal();
    s.start_deviation = Eigen::Vector3d(1.0, 0.7, 0.5);
    return s;
  }
  static Eigen::MatrixXd example_gains() {
    Eigen::MatrixXd k(2, 3);
    k << -0.2, -0.1, 0.05, 0.1, 0.0, -0.15;
    return k;
  }

  int states() const { return static_cast<int>(a.rows()); }
  int actions() const { return static_cast<int>(b.cols()); }
  GaussianPolicy policy(const Eigen::MatrixXd& gains) const { return {gains, sigma}; }

  Trajectories simulate(const GaussianPolicy& policy, int count, std::uint64_t seed) const {
    Trajectories t(count, steps, states(), actions());
    for (int i = 0; i < count; ++i) {
      const CounterRandom random(seed, RandomStream::user, static_cast<std::uint64_t>(i));
      std::uint32_t next = 0;
      Eigen::VectorXd x(states());
      for (int f = 0; f < states(); ++f) x(f) = start_deviation(f) * random.normal(next++);
      for (int m = 0; m < steps; ++m) {
        Eigen::VectorXd u = policy.mean(x);
        for (int k = 0; k < actions(); ++k) u(k) += policy.sigma(k) * random.normal(next++);
        for (int f = 0; f < states(); ++f) t.feature(i, m, f) = x(f);
        for (int k = 0; k < actions(); ++k) t.action(i, m, k) = u(k);
        t.cost(i, m) = x.dot(q * x) + u.dot(r * u);
        x = (a * x + b * u).eval();
      }
    }
    return t;
  }

  /// E[C(τ)] = (1/M) Σ_m tr((Q + K'RK) P_m) + σ² tr R, with P_m = E[x_m x_m'].
  double expected_cost(const Eigen::MatrixXd& k) const {
    Eigen::MatrixXd p = start_moment();
    double sum = 0;
    for (int m = 0; m < steps; ++m) {
      sum += ((q + k.transpose() * r * k) * p).trace() + sigma * sigma * r.trace();
      p = next_moment(p, k);
    }
    return sum / steps;
  }

  /// Its gradient, with the cost-to-go matrices V_m of the noise-free closed loop:
  ///   ∂E[C]/∂K = (2/M) Σ_m (R K + B' V_{m+1} (A + B K)) P_m.
  Eigen::VectorXd expected_gradient(const Eigen::MatrixXd& k) const {
    const Eigen::MatrixXd closed = a + b * k;
    std::vector<Eigen::MatrixXd> v(static_cast<std::size_t>(steps) + 1,
                                   Eigen::MatrixXd::Zero(states(), states()));
    for (int m = steps - 1; m >= 0; --m) {
      v[m] = q + k.transpose() * r * k + closed.transpose() * v[m + 1] * closed;
    }
    Eigen::MatrixXd gradient = Eigen::MatrixXd::Zero(actions(), states());
    Eigen::MatrixXd p = start_moment();
    for (int m = 0; m < steps; ++m) {
      gradient += 2.0 / steps * (r * k + b.transpose() * v[m + 1] * closed) * p;
      p = next_moment(p, k);
    }
    return parameters_from_gains(gradient);
  }

  /// The gains of the infinite horizon, by iterating the Riccati equation.
  Eigen::MatrixXd optimal_gains() const {
    Eigen::MatrixXd p = q, k;
    for (int iteration = 0; iteration < 2000; ++iteration) {
      k = -(r + b.transpose() * p * b).inverse() * b.transpose() * p * a;
      p = q + k.transpose() * r * k + (a + b * k).transpose() * p * (a + b * k);
    }
    return k;
  }

  /// V_m(x) = x'P_m x + c_m, the expected Σ_{j ≥ m} γ^{j-m} c_j of the noisy closed loop.
  struct Values {
    std::vector<Eigen::MatrixXd> p;
    std::vector<double> constant;
  };
  Values expected_values(const Eigen::MatrixXd& k, double discount) const {
    const Eigen::MatrixXd closed = a + b * k;
    const auto count = static_cast<std::size_t>(steps) + 1;
    Values v{std::vector<Eigen::MatrixXd>(count, Eigen::MatrixXd::Zero(states(), states())),
             std::vector<double>(count, 0.0)};
    for (int m = steps - 1; m >= 0; --m) {
      v.p[m] = q + k.transpose() * r * k + discount * closed.transpose() * v.p[m + 1] * closed;
      const double noise = (r + discount * b.transpose() * v.p[m + 1] * b).trace();
      v.constant[m] = sigma * sigma * noise + discount * v.constant[m + 1];
    }
    return v;
  }

  /// E[A_m ∇log π] of each step, for the discounted cost-to-go: what a step adds to the gradient.
  std::vector<Eigen::VectorXd> expected_step_gradients(const Eigen::MatrixXd& k,
                                                       double discount) const {
    const Values v = expected_values(k, discount);
    const Eigen::MatrixXd closed = a + b * k;
    std::vector<Eigen::VectorXd> gradients;
    Eigen::MatrixXd p = start_moment();
    for (int m = 0; m < steps; ++m) {
      gradients.push_back(
          parameters_from_gains(2 * (r * k + discount * b.transpose() * v.p[m + 1] * closed) * p));
      p = next_moment(p, k);
    }
    return gradients;
  }

  /// The block of the Fisher information of a trajectory: Σ_m P_m / σ².
  Eigen::MatrixXd expected_fisher(const Eigen::MatrixXd& k) const {
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(states(), states());
    Eigen::MatrixXd p = start_moment();
    for (int m = 0; m < steps; ++m) {
      sum += p / (sigma * sigma);
      p = next_moment(p, k);
    }
    return sum;
  }

  Eigen::VectorXd expected_natural_gradient(const Eigen::MatrixXd& k) const {
    const Eigen::MatrixXd g = gains_from_parameters(expected_gradient(k), actions());
    return parameters_from_gains(g * expected_fisher(k).inverse());
  }

 private:
  Eigen::MatrixXd start_moment() const {
    return start_deviation.array().square().matrix().asDiagonal();
  }
  Eigen::MatrixXd next_moment(const Eigen::MatrixXd& p, const Eigen::MatrixXd& k) const {
    const Eigen::MatrixXd closed = a + b * k;
    return closed * p * closed.transpose() + sigma * sigma * b * b.transpose();
  }
};

inline void fail(Trajectories& t, int i, int length, double failure_cost) {
  t.fail(i, length, failure_cost);
}

/// Cuts a trajectory that has a step `length`, whose features are then those of its end.
inline void cut(Trajectories& t, int i, int length) { t.cut(i, length + 1); }

}  // namespace lifeguard::test_support
