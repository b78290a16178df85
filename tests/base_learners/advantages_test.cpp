#include "lifeguard/base_learners/advantages.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <cmath>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "tests/base_learners/linear_system.hpp"

namespace lifeguard::advantages_test {

Eigen::VectorXd quadratic_terms(const Trajectories& t, int i, int m) {
  std::vector<double> terms;
  for (int f = 0; f < t.features(); ++f) terms.push_back(t.feature(i, m, f));
  for (int f = 0; f < t.features(); ++f) {
    for (int h = f; h < t.features(); ++h) terms.push_back(t.feature(i, m, f) * t.feature(i, m, h));
  }
  return Eigen::Map<Eigen::VectorXd>(terms.data(), static_cast<Eigen::Index>(terms.size()));
}

/// V by dense least squares with one intercept for each step, or one for all.
Eigen::MatrixXd plain_values(const Trajectories& t, const AdvantageSettings& s,
                             const Eigen::MatrixXd& returns) {
  const int intercepts = s.step_mean ? t.steps() : 1;
  const int terms = s.state_baseline ? static_cast<int>(quadratic_terms(t, 0, 0).size()) : 0;
  Eigen::MatrixXd values = Eigen::MatrixXd::Zero(t.count(), t.steps());
  for (int i = 0; i < t.count(); ++i) {
    for (int m = t.length(i); m < t.steps(); ++m) values(i, m) = returns(i, m);
  }
  if (!s.step_mean && !s.state_baseline) return values;
  std::vector<Eigen::VectorXd> rows;
  std::vector<double> right;
  const auto row_of = [&](int i, int m) {
    Eigen::VectorXd row = Eigen::VectorXd::Zero(intercepts + terms);
    row(s.step_mean ? m : 0) = 1;
    if (terms > 0) row.tail(terms) = quadratic_terms(t, i, m);
    return row;
  };
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.length(i); ++m) {
      rows.push_back(row_of(i, m));
      right.push_back(returns(i, m));
    }
  }
  Eigen::MatrixXd design(rows.size(), intercepts + terms);
  for (std::size_t k = 0; k < rows.size(); ++k) design.row(static_cast<Eigen::Index>(k)) = rows[k];
  const Eigen::VectorXd solution = design.colPivHouseholderQr().solve(
      Eigen::Map<Eigen::VectorXd>(right.data(), static_cast<Eigen::Index>(right.size())));
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.length(i); ++m) values(i, m) = row_of(i, m).dot(solution);
  }
  return values;
}

/// The definition, written down as it stands: sums over the future, least squares by QR.
Eigen::MatrixXd plain_advantages(const Trajectories& t, const AdvantageSettings& s) {
  Eigen::MatrixXd returns = Eigen::MatrixXd::Zero(t.count(), t.steps());
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.steps(); ++m) {
      const int from = s.cost_to_go ? m : 0;
      for (int k = from; k < t.steps(); ++k) {
        returns(i, m) += std::pow(s.discount, k - from) * t.cost(i, k);
      }
    }
  }
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(t.count(), t.steps());
  for (int sweep = 0; sweep < s.baseline_sweeps; ++sweep) {
    const Eigen::MatrixXd values = plain_values(t, s, returns);
    for (int i = 0; i < t.count(); ++i) {
      for (int m = 0; m < t.length(i); ++m) {
        if (!s.cost_to_go) {
          result(i, m) = returns(i, m) - values(i, m);
          continue;
        }
        result(i, m) = 0;
        for (int k = m; k < t.steps(); ++k) {
          if (k >= t.length(i)) break;  // beyond failure V is exact: no errors
          const double next = k + 1 < t.steps() ? values(i, k + 1) : 0.0;
          result(i, m) += std::pow(s.discount * s.trace, k - m) *
                          (t.cost(i, k) + s.discount * next - values(i, k));
        }
      }
    }
    for (int i = 0; i < t.count(); ++i) {
      for (int m = 0; m < t.length(i); ++m) returns(i, m) = result(i, m) + values(i, m);
    }
  }
  if (!s.normalise) return result;
  double live = 0, sum = 0, squares = 0;
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.length(i); ++m) live += 1, sum += result(i, m);
  }
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.length(i); ++m) squares += std::pow(result(i, m) - sum / live, 2);
  }
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.length(i); ++m) {
      result(i, m) = (result(i, m) - sum / live) / std::sqrt(squares / live);
    }
  }
  return result;
}

Trajectories example_batch(int count, bool failures, std::uint64_t seed) {
  const auto system = test_support::LinearSystem::example();
  Trajectories t =
      system.simulate(system.policy(test_support::LinearSystem::example_gains()), count, seed);
  if (failures) {
    test_support::fail(t, 1, 4, 7.0);
    test_support::fail(t, 3, 9, 7.0);
    test_support::fail(t, 6, 0, 7.0);
  }
  return t;
}

class EverySwitch : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Combinations, EverySwitch, ::testing::Range(0, 32));

TEST_P(EverySwitch, AgreesWithTheDefinition) {
  AdvantageSettings s;
  s.cost_to_go = GetParam() & 1;
  s.step_mean = GetParam() & 2;
  s.state_baseline = GetParam() & 4;
  s.normalise = GetParam() & 8;
  const bool failures = GetParam() & 16;
  s.discount = 0.95;
  s.trace = 0.8;
  s.baseline_stride = 1;
  AdvantageWorkspace w;
  for (const int count :
       {27, 70}) {  // one workspace: the second call finds the first one's numbers
    const Trajectories t = example_batch(count, failures, 5);
    const AdvantageSummary summary = compute_advantages(t, s, w);
    EXPECT_NEAR(summary.mean_cost, t.mean_cost(), 1e-12 * t.mean_cost());
    const Eigen::MatrixXd expected = plain_advantages(t, s);
    const double tolerance = 1e-5 * expected.cwiseAbs().maxCoeff();
    for (int m = 0; m < t.steps(); ++m) {
      for (int i = 0; i < count; ++i) {
        ASSERT_NEAR(w.advantages[static_cast<std::size_t>(m) * t.stride() + i], expected(i, m),
                    tolerance)
            << "trajectory " << i << ", step " << m;
      }
    }
  }
}

TEST(Advantages, FurtherSweepsFitTheLambdaReturns) {
  AdvantageSettings s;
  s.baseline_stride = 1;
  s.baseline_sweeps = 4;
  s.trace = 0.5;
  AdvantageWorkspace w;
  const Trajectories t = example_batch(60, true, 9);
  compute_advantages(t, s, w);
  const Eigen::MatrixXd expected = plain_advantages(t, s);
  for (int m = 0; m < t.steps(); ++m) {
    for (int i = 0; i < t.count(); ++i) {
      ASSERT_NEAR(w.advantages[static_cast<std::size_t>(m) * t.stride() + i], expected(i, m), 1e-5);
    }
  }
}

// With a stride the sweeps before the last see a coarser problem: the steps of the fit, the costs
// between them added up. That is a batch of its own.
TEST(Advantages, SweepsWithAStrideAreSweepsOfTheCoarserBatch) {
  constexpr int kStride = 3;
  const Trajectories t = example_batch(60, true, 9);
  const int rows = (t.steps() + kStride - 1) / kStride;
  AdvantageSettings s;
  s.discount = 0.95;
  s.trace = 0.8;
  s.normalise = false;
  s.baseline_stride = kStride;
  s.baseline_sweeps = 2;
  for (const bool step_mean : {true, false}) {
    s.step_mean = step_mean;
    Trajectories coarse(t.count(), rows, t.features(), t.actions());
    for (int i = 0; i < t.count(); ++i) {
      coarse.set_length(i, (t.length(i) + kStride - 1) / kStride);
      for (int k = 0; k < rows; ++k) {
        for (int f = 0; f < t.features(); ++f) {
          coarse.feature(i, k, f) = t.feature(i, k * kStride, f);
        }
        double cost = 0;
        for (int j = kStride - 1; j >= 0; --j) {
          const int m = k * kStride + j;
          cost = (m < t.steps() ? t.cost(i, m) : 0.0) + s.discount * cost;
        }
        coarse.cost(i, k) = cost;
      }
    }
    AdvantageSettings coarse_settings = s;
    coarse_settings.baseline_stride = 1;
    coarse_settings.discount = std::pow(s.discount, kStride);
    coarse_settings.trace = std::pow(s.trace, kStride);
    AdvantageWorkspace fine, whole;
    compute_advantages(t, s, fine);
    compute_advantages(coarse, coarse_settings, whole);
    for (Eigen::Index k = 0; k < whole.baseline.coefficients().size(); ++k) {
      EXPECT_NEAR(fine.baseline.coefficients()(k), whole.baseline.coefficients()(k), 1e-9);
    }
  }
}

TEST(Advantages, EqualCostsCarryNoSignal) {
  Trajectories t = example_batch(20, false, 1);
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.steps(); ++m) t.cost(i, m) = 0.1;
  }
  AdvantageWorkspace w;
  const AdvantageSummary summary = compute_advantages(t, AdvantageSettings{}, w);
  EXPECT_EQ(summary.scale, 0.0);
  for (const double a : w.advantages) ASSERT_EQ(a, 0.0);
}

TEST(Advantages, SettingsAreChecked) {
  AdvantageWorkspace w;
  const Trajectories t = example_batch(3, false, 1);
  const auto rejects = [&](auto change) {
    AdvantageSettings s;
    change(s);
    EXPECT_THROW(compute_advantages(t, s, w), InvalidInput);
  };
  rejects([](AdvantageSettings& s) { s.discount = 0; });
  rejects([](AdvantageSettings& s) { s.discount = 1.01; });
  rejects([](AdvantageSettings& s) { s.discount = std::nan(""); });
  rejects([](AdvantageSettings& s) { s.trace = -0.1; });
  rejects([](AdvantageSettings& s) { s.baseline_sweeps = 0; });
  rejects([](AdvantageSettings& s) { s.baseline_stride = 0; });
  EXPECT_THROW(compute_advantages(Trajectories{}, AdvantageSettings{}, w), InvalidInput);
}

TEST(StateBaseline, FindsAQuadraticFunction) {
  const Trajectories t = example_batch(33, true, 3);
  AlignedVector<double> numbers(static_cast<std::size_t>(t.steps()) * t.stride(), 0.0);
  AlignedVector<double> values = numbers;
  AlignedVector<double> lengths(t.stride(), 0.0);
  for (int i = 0; i < t.count(); ++i) lengths[i] = t.length(i);
  std::vector<double> means, sums(t.steps());
  for (int m = 0; m < t.steps(); ++m) {
    double sum = 0, live = 0;
    for (int i = 0; i < t.count(); ++i) {
      if (m >= t.length(i)) continue;
      const Eigen::VectorXd terms = quadratic_terms(t, i, m);
      double v = m;  // an offset for each step
      for (Eigen::Index k = 0; k < terms.size(); ++k) v += (1.0 - 0.3 * double(k)) * terms(k);
      numbers[static_cast<std::size_t>(m) * t.stride() + i] = v;
      sum += v;
      live += 1;
    }
    means.push_back(sum / live);
  }
  for (const int stride : {1, 3}) {
    StateBaseline baseline;
    baseline.fit(t, lengths.data(), stride, true, numbers.data(), means.data());
    ASSERT_EQ(baseline.terms(), 9);
    for (int k = 0; k < 9; ++k) EXPECT_NEAR(baseline.coefficients()(k), 1.0 - 0.3 * k, 1e-5);
    baseline.values(t, lengths.data(), 1, values.data(), sums.data());
    for (int m = 0; m < t.steps(); ++m) {
      double sum = 0;
      for (int i = 0; i < t.count(); ++i) {
        const std::size_t at = static_cast<std::size_t>(m) * t.stride() + i;
        sum += values[at];
        ASSERT_NEAR(values[at] + (m < t.length(i) ? m : 0), numbers[at], 1e-4);
      }
      EXPECT_NEAR(sums[m], sum, 1e-9);
    }
  }
}

TEST(StateBaseline, ConstantAndEqualFeaturesDoNotBreakIt) {
  Trajectories t = example_batch(33, false, 3);
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.steps(); ++m) {
      t.feature(i, m, 1) = 1.0;
      t.feature(i, m, 2) = t.feature(i, m, 0);
    }
  }
  AdvantageWorkspace w;
  const AdvantageSummary summary = compute_advantages(t, AdvantageSettings{}, w);
  EXPECT_GT(summary.scale, 0.0);
  for (const double a : w.advantages) ASSERT_TRUE(std::abs(a) < 20);
}

}  // namespace lifeguard::advantages_test
