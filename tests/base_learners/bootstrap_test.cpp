// Trajectories that were cut short: what they would still have cost, and the gradient with it.

#include "lifeguard/base_learners/bootstrap.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <vector>

#include "lifeguard/base_learners/adaptation.hpp"
#include "lifeguard/base_learners/advantages.hpp"
#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/base_learners/line_search.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/base_learners/linear_system.hpp"
#include "tests/support/allocation_count.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::bootstrap_test {

using test_support::LinearSystem;

/// A stable loop, so that V settles well before the last step.
struct Example {
  LinearSystem system = LinearSystem::example();
  Eigen::MatrixXd gains;
  explicit Example(int steps) {
    system.steps = steps;
    gains = 0.6 * system.optimal_gains();
  }
  GaussianPolicy policy() const { return system.policy(gains); }
  Trajectories simulate(int count, std::uint64_t seed) const {
    return system.simulate(policy(), count, seed);
  }
};

int random_step(std::uint64_t seed, int i, int low, int high) {
  const CounterRandom random(seed, RandomStream::user, static_cast<std::uint64_t>(i));
  return low + static_cast<int>(random.uniform(0, 0, 1) * (high - low + 1));
}

/// Ends the trajectories whose number has i % 10 < tenths at a random step in [low, high].
template <class End>
Trajectories ended(const Trajectories& whole, int tenths, int low, int high, const End& end) {
  Trajectories t = whole;
  for (int i = 0; i < t.count(); ++i) {
    if (i % 10 < tenths) end(t, i, random_step(31, i, low, high));
  }
  return t;
}

void cut(Trajectories& t, int i, int length) { test_support::cut(t, i, length); }

struct Gradient {
  Eigen::VectorXd mean, error;
};

Gradient gradient_of(const Trajectories& t, const GaussianPolicy& policy,
                     const AdvantageSettings& settings) {
  AdvantageWorkspace w;
  PolicyGradient g;
  compute_advantages(t, settings, w);
  compute_policy_gradient(t, policy, w.advantages.data(), g);
  Gradient result{g.gradient, Eigen::VectorXd::Zero(g.gradient.size())};
  for (int e = 0; e < g.gradient.size(); ++e) {
    double squares = 0;
    for (int i = 0; i < t.count(); ++i) {
      squares += std::pow(g.trajectory_gradient(e, i) - g.gradient(e), 2);
    }
    result.error(e) = std::sqrt(squares) / t.count();
  }
  return result;
}

/// Σ_m (share of trajectories live at m) · E[A_m ∇log π]: lengths have nothing to do with the rest.
Eigen::VectorXd expected_gradient(const Example& example, const Trajectories& t, double discount) {
  const auto steps = example.system.expected_step_gradients(example.gains, discount);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(steps[0].size());
  for (int m = 0; m < t.steps(); ++m) {
    double live = 0;
    for (int i = 0; i < t.count(); ++i) live += m < t.length(i) ? 1 : 0;
    sum += live / t.count() * steps[m];
  }
  return sum;
}

AdvantageSettings plain_settings(double discount) {
  AdvantageSettings s;
  s.discount = discount;
  s.trace = 1;
  s.normalise = false;
  s.baseline_stride = 1;
  return s;
}

TEST(LinearSystem, StepGradientsAddUpToTheGradient) {
  const Example example(12);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(6);
  for (const auto& g : example.system.expected_step_gradients(example.gains, 1.0)) sum += g / 12;
  EXPECT_LT((sum - example.system.expected_gradient(example.gains)).norm(), 1e-12 * sum.norm());
}

// The gradient of the same system in closed form: bootstrapped it is met, however many were cut and
// whichever baseline is subtracted. If cuts counted as the end of all costs, what the actions did
// later would be missing; if they counted as failures, their costs would drown the gradient. Both
// are off by many standard errors of the right estimate, and where all are cut at one step, by many
// of their own.
TEST(Bootstrap, KeepsTheGradientWhereOtherTreatmentsDoNot) {
  const Example example(40);
  const GaussianPolicy policy = example.policy();
  const Trajectories whole = example.simulate(8000, 21);
  struct Cuts {
    int tenths, low, high;
  };
  for (const double discount : {0.95, 1.0}) {
    for (const Cuts& cuts : {Cuts{5, 1, 8}, Cuts{10, 1, 8}, Cuts{10, 5, 5}}) {
      const Trajectories t = ended(whole, cuts.tenths, cuts.low, cuts.high, cut);
      ASSERT_EQ(t.cut_short(), cuts.tenths * 800);
      const Eigen::VectorXd expected = expected_gradient(example, t, discount);
      const auto off_by = [&](const Gradient& found) {
        return (found.mean - expected).norm() / expected.norm();
      };
      const auto errors_off = [&](const Gradient& found, const Gradient& errors) {
        return ((found.mean - expected).cwiseAbs().array() / errors.error.array()).maxCoeff();
      };
      AdvantageSettings s = plain_settings(discount);
      for (const bool step_mean : {false, true}) {
        for (const bool state_baseline : {false, true}) {
          s.step_mean = step_mean;
          s.state_baseline = state_baseline;
          const Gradient found = gradient_of(t, policy, s);
          EXPECT_LT(errors_off(found, found), 5) << discount << ' ' << cuts.tenths;
        }
      }
      const Gradient right = gradient_of(t, policy, s);
      EXPECT_LT(off_by(right), 0.06);
      s.trace = 0.9;
      EXPECT_LT(off_by(gradient_of(t, policy, s)), 0.06);
      s.trace = 1;
      for (const double cost : {0.0, 20.0}) {
        const auto fail = [&](Trajectories& to, int i, int length) { to.fail(i, length, cost); };
        const Gradient wrong =
            gradient_of(ended(whole, cuts.tenths, cuts.low, cuts.high, fail), policy, s);
        EXPECT_GT(errors_off(wrong, right), 15) << discount << ' ' << cuts.tenths << ' ' << cost;
        EXPECT_GT(off_by(wrong), 0.4);
        if (cuts.low == cuts.high) {
          EXPECT_GT(errors_off(wrong, wrong), 10) << discount << ' ' << cost;
        }
      }
    }
  }
}

// B is V at the state where the trajectory was cut short, known here in closed form.
TEST(Bootstrap, FindsTheValueOfTheState) {
  const Example example(60);
  for (const double discount : {0.9, 1.0}) {
    const auto v = example.system.expected_values(example.gains, discount);
    for (const int tenths : {5, 10}) {
      const Trajectories t = ended(example.simulate(4000, 5), tenths, 1, 40, cut);
      AdvantageWorkspace w;
      compute_advantages(t, plain_settings(discount), w);
      double error = 0, mean = 0, variance = 0, cuts = 0;
      std::vector<double> truths;
      for (int i = 0; i < t.count(); ++i) {
        if (t.end(i) != EndReason::cut_short) {
          EXPECT_EQ(w.bootstrap.bootstraps[i], 0);
          continue;
        }
        const Eigen::Vector3d x(t.final_feature(i, 0), t.final_feature(i, 1),
                                t.final_feature(i, 2));
        truths.push_back(x.dot(v.p[t.length(i)] * x) + v.constant[t.length(i)]);
        error += std::pow(w.bootstrap.bootstraps[i] - truths.back(), 2);
        mean += truths.back();
        cuts += 1;
      }
      for (const double truth : truths) variance += std::pow(truth - mean / cuts, 2);
      EXPECT_LT(error, 0.02 * variance);
    }
  }
}

/// The fixed point by dense least squares and plain sums, iterated to the end.
std::vector<double> plain_bootstraps(const Trajectories& t, double discount) {
  const int n = t.count(), steps = t.steps();
  std::vector<double> b(static_cast<std::size_t>(n), 0.0);
  const auto terms = [&](const auto& feature) {
    std::vector<double> x;
    for (int f = 0; f < t.features(); ++f) x.push_back(feature(f));
    for (int f = 0; f < t.features(); ++f) {
      for (int h = f; h < t.features(); ++h) x.push_back(feature(f) * feature(h));
    }
    return Eigen::VectorXd(Eigen::Map<Eigen::VectorXd>(x.data(), static_cast<int>(x.size())));
  };
  const auto terms_at = [&](int i, int m) {
    return terms([&](int f) { return t.feature(i, m, f); });
  };
  const auto end_terms = [&](int i) { return terms([&](int f) { return t.final_feature(i, f); }); };
  const auto is_cut = [&](int i) { return t.end(i) == EndReason::cut_short; };
  const int size = static_cast<int>(terms_at(0, 0).size());
  Eigen::VectorXd w = Eigen::VectorXd::Zero(size);
  const auto return_from = [&](int i, int m) {
    double sum = 0;
    for (int k = m; k < steps; ++k) sum += std::pow(discount, k - m) * t.cost(i, k);
    return is_cut(i) ? sum + std::pow(discount, t.length(i) - m) * b[i] : sum;
  };
  for (int iteration = 0; iteration < 60; ++iteration) {
    for (int step = steps - 1; step > 0; --step) {
      double live = 0, offset = 0;
      for (int j = 0; j < n; ++j) {
        if (step >= t.length(j)) continue;
        offset += return_from(j, step) - w.dot(terms_at(j, step));
        live += 1;
      }
      double factor = 0;
      if (live > 0) {
        factor = 1;
        offset /= live;
      } else {
        for (int d = 0; d < steps - step; ++d) factor += std::pow(discount, d);
        double sum = 0, count = 0;
        for (int j = 0; j < n; ++j) {
          for (int m = 0; m < t.length(j); ++m) {
            const bool last = m + 1 == t.length(j);
            if (last && !is_cut(j)) continue;
            const double next = last ? w.dot(end_terms(j)) : w.dot(terms_at(j, m + 1));
            sum += t.cost(j, m) + discount * next - w.dot(terms_at(j, m));
            count += 1;
          }
        }
        offset = sum / count;
      }
      for (int i = 0; i < n; ++i) {
        if (is_cut(i) && t.length(i) == step) b[i] = factor * offset + w.dot(end_terms(i));
      }
    }
    // One intercept for each step.
    std::vector<Eigen::VectorXd> rows;
    std::vector<double> right;
    for (int i = 0; i < n; ++i) {
      for (int m = 0; m < t.length(i); ++m) {
        Eigen::VectorXd row = Eigen::VectorXd::Zero(size + steps);
        row.head(size) = terms_at(i, m);
        row(size + m) = 1;
        rows.push_back(row);
        right.push_back(return_from(i, m));
      }
    }
    Eigen::MatrixXd design(rows.size(), size + steps);
    for (std::size_t r = 0; r < rows.size(); ++r) design.row(static_cast<int>(r)) = rows[r];
    w = design.colPivHouseholderQr()
            .solve(Eigen::Map<Eigen::VectorXd>(right.data(), static_cast<int>(right.size())))
            .head(size);
  }
  return b;
}

TEST(Bootstrap, AgreesWithTheDefinition) {
  const Example example(12);
  for (const int tenths : {4, 10}) {
    Trajectories t = ended(example.simulate(60, 3), tenths, 1, 8, cut);
    t.fail(5, 4, 6.0);
    t.fail(7, 9, 6.0);
    for (const double discount : {0.9, 1.0}) {
      AdvantageWorkspace w;
      compute_advantages(t, plain_settings(discount), w);
      const std::vector<double> expected = plain_bootstraps(t, discount);
      double low = kInfinity, high = -kInfinity;
      for (int i = 0; i < t.count(); ++i) {
        if (t.end(i) != EndReason::cut_short) continue;
        low = std::min(low, expected[i]);
        high = std::max(high, expected[i]);
      }
      ASSERT_GT(high, low + 1);
      for (int i = 0; i < t.count(); ++i) {
        if (t.end(i) != EndReason::cut_short) continue;
        // The sweeps end a thousandth of the range before the fixed point.
        EXPECT_NEAR(w.bootstrap.bootstraps[i], expected[i], 0.005 * (high - low)) << i;
        // The returns have it, from each step on.
        double sum = w.bootstrap.bootstraps[i];
        for (int m = t.length(i) - 1; m >= 0; --m) {
          sum = t.cost(i, m) + discount * sum;
          EXPECT_NEAR(w.returns[static_cast<std::size_t>(m) * t.stride() + i], sum,
                      1e-9 * std::abs(sum));
        }
      }
    }
  }
}

// A_m = Σ_k (γλ)^k δ_{m+k} with δ_{L-1} = c_{L-1} + γ B - V_{L-1}.
TEST(Bootstrap, EntersTheLastErrorOfTheTrace) {
  const Example example(15);
  const Trajectories t = ended(example.simulate(50, 8), 6, 1, 12, cut);
  AdvantageSettings s = plain_settings(0.95);
  s.trace = 0.8;
  s.baseline_sweeps = 2;
  AdvantageWorkspace w;
  compute_advantages(t, s, w);
  for (int i = 0; i < t.count(); ++i) {
    double after = 0;                         // A_{m+1}
    double next = w.bootstrap.bootstraps[i];  // V_{m+1}; 0 behind the last step of all
    for (int m = t.steps() - 1; m >= 0; --m) {
      const std::size_t at = static_cast<std::size_t>(m) * t.stride() + i;
      if (m >= t.length(i)) {
        EXPECT_EQ(w.advantages[at], 0);
        continue;
      }
      const double value = w.values[at] - w.advantages[at];  // values leave as A + V
      after = t.cost(i, m) + s.discount * next - value + s.discount * s.trace * after;
      EXPECT_NEAR(w.advantages[at], after, 1e-9) << i << ' ' << m;
      next = value;
    }
  }
}

TEST(Bootstrap, OfNothingChangesNoBit) {
  const Example example(20);
  const Trajectories whole = example.simulate(40, 2);
  Trajectories t = whole;
  for (int i = 0; i < t.count(); ++i) t.cut(i, t.steps());
  BaseLearnerWorkspace w, used;
  // A workspace that has seen cuts must not remember them.
  BaseLearnerSettings s;
  make_round_loss(ended(whole, 5, 1, 10, cut), example.policy(), 0, s, used);
  const RoundLoss a = make_round_loss(whole, example.policy(), 0, s, w);
  const RoundLoss b = make_round_loss(t, example.policy(), 0, s, used);
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.curvature, b.curvature);
  EXPECT_EQ(a.cost_gradient, b.cost_gradient);
  EXPECT_EQ(a.mean_cost, b.mean_cost);
  EXPECT_EQ(a.cost_error, b.cost_error);
}

TEST(Bootstrap, MeanCostAndItsErrorAreThoseOfTheWholeBatch) {
  const Example example(40);
  std::vector<double> means, errors;
  constexpr int kBatches = 400;
  for (int b = 0; b < kBatches; ++b) {
    const Trajectories whole = example.simulate(50, 1000 + static_cast<std::uint64_t>(b));
    AdvantageWorkspace w;
    const Trajectories t = ended(whole, 5, 2, 39, cut);
    const AdvantageSummary summary = compute_advantages(t, {}, w);
    EXPECT_NEAR(summary.mean_cost, t.mean_cost(), 1e-9 * t.mean_cost());
    means.push_back(summary.mean_cost);
    errors.push_back(summary.cost_error);
    double all = 0;
    for (int i = 0; i < t.count(); ++i) all += t.length(i);
    EXPECT_NEAR(summary.observed_share, all / (50.0 * 40.0), 1e-12);  // nobody failed
  }
  double mean = 0, error = 0, squares = 0;
  for (int b = 0; b < kBatches; ++b) {
    mean += means[b] / kBatches;
    error += errors[b] / kBatches;
  }
  for (const double m : means) squares += (m - mean) * (m - mean);
  const double deviation = std::sqrt(squares / (kBatches - 1));
  EXPECT_NEAR(mean, example.system.expected_cost(example.gains),
              4 * deviation / std::sqrt(kBatches));
  EXPECT_NEAR(error, deviation, 0.15 * deviation);
}

/// Means over rounds of what a learner would be told, with batches whole and cut at random.
struct Comparison {
  Eigen::VectorXd whole, other;            // cost gradients
  Eigen::VectorXd whole_step, other_step;  // directions of steps, of length 1

  double cosine() const { return whole.dot(other) / whole.norm() / other.norm(); }
  double step_cosine() const {
    return whole_step.dot(other_step) / whole_step.norm() / other_step.norm();
  }
  double length() const { return other.norm() / whole.norm(); }
};

template <class End>
Comparison compare(const Task& task, int rounds, const End& end) {
  const Eigen::MatrixXd gains = 0.5 * lqr_gains(task);
  const GaussianPolicy policy(gains, task.settings.sigma);
  const BaseLearnerSettings settings = RoundSettings::default_base_learner();
  Comparison c;
  const Eigen::Index size = gains.size();
  c.whole = c.other = c.whole_step = c.other_step = Eigen::VectorXd::Zero(size);
  BaseLearnerWorkspace w;
  RoundLoss loss;
  for (int round = 0; round < rounds; ++round) {
    const Trajectories whole =
        rollout(task, policy, {.seed = 100 + static_cast<std::uint64_t>(round)});
    make_round_loss(whole, policy, 0, settings, w, loss);
    c.whole += loss.cost_gradient / rounds;
    c.whole_step += (loss.target - loss.played).normalized() / rounds;
    Trajectories t = whole;
    for (int i = 0; i < t.count(); ++i) {
      const int length = random_step(static_cast<std::uint64_t>(round), i, 50, 149);
      if (length < t.length(i)) end(t, i, length);
    }
    make_round_loss(t, policy, 0, settings, w, loss);
    c.other += loss.cost_gradient / rounds;
    c.other_step += (loss.target - loss.played).normalized() / rounds;
  }
  return c;
}

// Every trajectory is cut at a random step of the last two thirds: on average the learner is told
// the same. Taken for failures, or for the end of all costs, it is not.
TEST(Bootstrap, CutsAtRandomLeaveTheGradientOfTheSystemsAsItWas) {
  for (const Task& task : test_support::built_in_tasks()) {
    const Comparison right = compare(task, 100, cut);
    // The 48 gains of a quadrotor that flies are known less well from as many trajectories.
    const bool flies = system_name(task.system) == FlyingQuadrotor::kName;
    EXPECT_GT(right.cosine(), flies ? 0.995 : 0.999) << task.name;
    EXPECT_GT(right.step_cosine(), 0.999) << task.name;
    EXPECT_NEAR(right.length(), 1, 0.03) << task.name;
    const double cost = task.settings.failure_cost;
    const Comparison failed =
        compare(task, 100, [&](Trajectories& t, int i, int length) { t.fail(i, length, cost); });
    EXPECT_LT(failed.cosine(), 0.9) << task.name;
    EXPECT_GT(failed.length(), 10) << task.name;
    // The mass has long come to rest.
    if (system_name(task.system) == MassSpring::kName) continue;
    const Comparison ended_there =
        compare(task, 100, [](Trajectories& t, int i, int length) { t.fail(i, length, 0.0); });
    // What flies is still on its way then: there each end looks like a gain.
    if (flies) {
      EXPECT_GT(ended_there.length(), 1.3) << task.name;
    } else {
      EXPECT_LT(ended_there.length(), 0.85) << task.name;
    }
  }
}

TEST(Bootstrap, NumbersStayFiniteWhateverTheLengths) {
  std::uint64_t draw = 0;
  for (const int steps : {1, 2, 15}) {
    const Example example(steps);
    for (const int count : {1, 2, 3, 9, 30}) {
      const Trajectories whole = example.simulate(count, 4);
      for (int trial = 0; trial < 12; ++trial) {
        Trajectories t = whole;
        for (int i = 0; i < count; ++i) {
          // All cut at 0 or 1, then mixtures of all ends and lengths.
          const int length = trial < 2 ? trial : random_step(++draw, i, 0, steps);
          const int kind = trial < 2 ? 0 : random_step(++draw, i, 0, 2);
          if (length >= steps) continue;
          if (kind == 0) cut(t, i, length);
          if (kind == 1) t.fail(i, length, 5.0);
        }
        for (const BaseLearnerMethod method :
             {BaseLearnerMethod::reinforce, BaseLearnerMethod::natural_actor_critic,
              BaseLearnerMethod::natural_actor_critic_regression,
              BaseLearnerMethod::weighted_likelihood, BaseLearnerMethod::fit_demonstrations}) {
          for (const StepRule rule : {StepRule::trust_region, StepRule::line_search}) {
            BaseLearnerSettings s;
            s.method = method;
            s.step.rule = rule;
            s.advantages.baseline_sweeps = 2;
            BaseLearnerWorkspace w;
            bool nothing = true;
            for (int i = 0; i < count; ++i) {
              nothing = nothing && t.length(i) == 0 && t.end(i) == EndReason::cut_short;
            }
            if (nothing) {
              EXPECT_THROW(make_round_loss(t, example.policy(), 0, s, w), InvalidInput);
              continue;
            }
            const RoundLoss loss = make_round_loss(t, example.policy(), 0, s, w);
            EXPECT_TRUE(loss.target.allFinite()) << steps << ' ' << count << ' ' << trial;
            EXPECT_TRUE(loss.curvature.allFinite());
            EXPECT_TRUE(std::isfinite(loss.mean_cost));
            EXPECT_TRUE(std::isfinite(loss.cost_error));
            EXPECT_TRUE(std::isfinite(loss.step_kl));
            if (method != BaseLearnerMethod::fit_demonstrations) {
              EXPECT_TRUE(loss.cost_gradient.allFinite());
            }
            const AdaptationSettings adaptation;
            EXPECT_TRUE(std::isfinite(adapted(s, adaptation, t).advantages.discount));
          }
        }
      }
    }
  }
}

// Where the loop is unstable there is no V to find, and v is asked about states beyond all others.
TEST(Bootstrap, StaysWithinReasonOnAnUnstableLoop) {
  Example example(40);
  example.system.a *= 1.3;
  example.gains.setZero();
  const Trajectories whole = example.simulate(30, 4);
  for (const int length : {1, 3, 20}) {
    const Trajectories t = ended(whole, 10, length, length, cut);
    AdvantageWorkspace w;
    compute_advantages(t, plain_settings(1.0), w);
    double largest_return = 0;
    for (int i = 0; i < 30; ++i) {
      double sum = 0;
      for (int m = 0; m < 40; ++m) sum += whole.cost(i, m);
      largest_return = std::max(largest_return, sum);
    }
    for (int i = 0; i < 30; ++i) {
      EXPECT_LT(std::abs(w.bootstrap.bootstraps[i]), 20 * largest_return) << length;
    }
  }
}

TEST(Bootstrap, StatesAfterACutAreChecked) {
  const Example example(10);
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    Trajectories t = example.simulate(10, 4);
    t.cut(3, 5, std::vector<double>{0.0, bad, 1.0});
    BaseLearnerWorkspace w;
    try {
      make_round_loss(t, example.policy(), 0, {}, w);
      ADD_FAILURE() << "accepted " << bad;
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.field(), "final feature (trajectory 3, column 1)");
    }
  }
}

TEST(Bootstrap, AllocatesNothingInTheSteadyState) {
  if (!test_support::allocations_are_counted()) GTEST_SKIP() << "cannot count in this build";
  const Example example(20);
  const GaussianPolicy policy = example.policy();
  const Trajectories t = ended(example.simulate(40, 2), 5, 1, 15, cut);
  BaseLearnerWorkspace w;
  RoundLoss loss;
  make_round_loss(t, policy, 0, {}, w, loss);
  const std::int64_t before = test_support::allocation_count();
  make_round_loss(t, policy, 1, {}, w, loss);
  EXPECT_EQ(test_support::allocation_count(), before);
}

TEST(Adaptation, CutsAreNotFailures) {
  Trajectories t(4, 30, 2, 1);
  t.cut(0, 11);
  t.cut(1, 21);
  const BaseLearnerSettings base;
  AdaptationSettings adaptation;
  adaptation.trust_region_per_step = 1;
  EXPECT_DOUBLE_EQ(adapted(base, adaptation, t).advantages.discount, base.advantages.discount);
  EXPECT_NEAR(adapted(base, adaptation, t).step.trust_region, 22.5, 1e-12);
  t.fail(0, 10, 1.0);
  EXPECT_NEAR(1 - adapted(base, adaptation, t).advantages.discount, 0.75 * 0.01 + 0.25 * 0.2,
              1e-12);
}

// Steps that nobody saw are no samples, and do not make up for those whose weights say little.
TEST(ImportanceLine, KnowsNothingOfStepsThatWereCutOff) {
  const Example example(20);
  Trajectories t = ended(example.simulate(10, 2), 10, 5, 5, cut);
  Trajectories short_batch(10, 5, 3, 2);
  for (int i = 0; i < 10; ++i) {
    for (int m = 0; m < 5; ++m) {
      for (int f = 0; f < 3; ++f) short_batch.feature(i, m, f) = t.feature(i, m, f);
      for (int a = 0; a < 2; ++a) short_batch.action(i, m, a) = t.action(i, m, a);
    }
  }
  const AlignedVector<double> advantages(20 * t.stride(), 0.5);
  const Eigen::VectorXd direction = Eigen::VectorXd::LinSpaced(6, -0.3, 0.5);
  ImportanceLine line, expected;
  line.prepare(t, example.policy(), advantages.data(), direction, 10);
  expected.prepare(short_batch, example.policy(), advantages.data(), direction, 10);
  EXPECT_EQ(line.at(0.7).effective_share, expected.at(0.7).effective_share);
  EXPECT_EQ(line.at(0.7).value, expected.at(0.7).value);
  EXPECT_LT(line.at(0.7).effective_share, 0.99);
}

}  // namespace lifeguard::bootstrap_test
