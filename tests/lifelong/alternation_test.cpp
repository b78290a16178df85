#include "lifeguard/lifelong/alternation.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "lifeguard/policy/action_blocks.hpp"
#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::alternation_test {

struct Problem {
  int features, actions, basis_size;
  Knowledge knowledge;
  std::vector<SummedLoss> losses;
  RegularisationSettings regularisation;

  int parameters() const { return features * actions; }
};

Problem random_problem(std::uint64_t seed) {
  Draws draws(seed);
  Problem p;
  p.features = draws.integer(1, 6);
  p.actions = draws.integer(1, 4);
  p.basis_size = draws.integer(1, p.parameters());
  p.regularisation.eta = draws.uniform(0.1, 1);
  p.regularisation.mu1 = draws.uniform(0.01, 1);
  p.regularisation.mu2 = draws.uniform(0.01, 1);
  p.regularisation.mean_weight = draws.uniform(0.01, 1);
  p.knowledge = Knowledge(p.parameters(), p.basis_size, 1.0);
  const int tasks = draws.integer(1, 5);
  for (int t = 0; t < tasks; ++t) {
    p.knowledge.add_task(draws.normals(p.parameters(), 1));
    const RoundLoss loss = synthetic_loss(draws, p.features, draws.normals(p.parameters(), 1));
    SummedLoss& sum = p.losses.emplace_back(p.features, p.parameters());
    sum.curvature = loss.curvature;
    // Of every other problem the last task has actions with noises of their own.
    if (seed % 2 == 1 && t == tasks - 1) {
      sum.curvature.resize(p.parameters(), p.features);
      for (int a = 0; a < p.actions; ++a) {
        sum.curvature.middleRows(a * p.features, p.features) = (1 + 3.0 * a) * loss.curvature;
      }
    }
    apply_curvature(sum.curvature, loss.target, sum.linear);
  }
  p.knowledge.basis = draws.normals(p.parameters(), p.basis_size);
  p.knowledge.coefficients = draws.normals(p.basis_size, tasks);
  return p;
}

double value(const Problem& p, const Knowledge& knowledge) {
  return objective(p.regularisation, p.losses, knowledge);
}

TEST(Objective, GradientsAgreeWithFiniteDifferences) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Problem p = random_problem(seed);
    const auto compare = [&](Eigen::MatrixXd Knowledge::*block, const Eigen::MatrixXd& gradient) {
      const double h = 1e-4;  // central differences are exact for a quadratic, but for rounding
      for (Eigen::Index i = 0; i < gradient.size(); ++i) {
        Knowledge up = p.knowledge;
        Knowledge down = p.knowledge;
        (up.*block).data()[i] += h;
        (down.*block).data()[i] -= h;
        const double difference = (value(p, up) - value(p, down)) / (2 * h);
        EXPECT_NEAR(gradient.data()[i], difference, 1e-7 * (1 + std::abs(difference))) << seed;
      }
    };
    compare(&Knowledge::basis, basis_gradient(p.regularisation, p.losses, p.knowledge));
    compare(&Knowledge::coefficients,
            coefficient_gradient(p.regularisation, p.losses, p.knowledge));
  }
}

TEST(Objective, MeanWeightOneIsThePapersRegulariser) {
  Problem p = random_problem(3);
  p.regularisation.mean_weight = 1;
  const double with = value(p, p.knowledge);
  p.regularisation.mu1 *= 2;
  const double norm = p.knowledge.coefficients.squaredNorm();
  EXPECT_NEAR(value(p, p.knowledge) - with, 0.5 * p.regularisation.mu1 * norm, 1e-9 * (1 + norm));
}

TEST(Alternation, ClosedFormMakesTheGradientZero) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Problem p = random_problem(seed);
    AlternationSettings settings;
    settings.alternations = 1;
    Alternation alternation(p.features, p.actions, p.basis_size);
    Knowledge next = p.knowledge;
    ASSERT_EQ(alternation.update(settings, p.regularisation, p.losses, 0, 1, next),
              AlternationStatus::ok);
    // S was updated last, L before it with the old S.
    const Eigen::MatrixXd s_gradient = coefficient_gradient(p.regularisation, p.losses, next);
    EXPECT_LT(s_gradient.norm(), 1e-9 * (1 + next.coefficients.norm())) << seed;
    Knowledge after_basis = next;
    after_basis.coefficients = p.knowledge.coefficients;
    const Eigen::MatrixXd l_gradient = basis_gradient(p.regularisation, p.losses, after_basis);
    EXPECT_LT(l_gradient.norm(), 1e-9 * (1 + after_basis.basis.norm())) << seed;
  }
}

TEST(Alternation, ClosedFormOfOneTaskMakesItsGradientZeroAndKeepsTheOthers) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Problem p = random_problem(seed);
    const int task = p.knowledge.tasks() - 1;
    AlternationSettings settings;
    settings.alternations = 1;
    settings.all_coefficients = false;
    Alternation alternation(p.features, p.actions, p.basis_size);
    Knowledge next = p.knowledge;
    ASSERT_EQ(alternation.update(settings, p.regularisation, p.losses, task, 1, next),
              AlternationStatus::ok);
    const Eigen::MatrixXd gradient = coefficient_gradient(p.regularisation, p.losses, next);
    EXPECT_LT(gradient.col(task).norm(), 1e-9 * (1 + next.coefficients.norm())) << seed;
    EXPECT_EQ(next.coefficients.leftCols(task), p.knowledge.coefficients.leftCols(task));
  }
}

TEST(Alternation, KroneckerSplitAgreesWithTheDenseSystem) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Problem p = random_problem(seed);
    AlternationSettings settings;
    settings.alternations = 1;
    Alternation alternation(p.features, p.actions, p.basis_size);
    Knowledge next = p.knowledge;
    ASSERT_EQ(alternation.update(settings, p.regularisation, p.losses, 0, 1, next),
              AlternationStatus::ok);
    // Z_L = η Σ_t (s_t s_tᵀ) ⊗ Γ_t + 2μ₂ I and v_L, written out with Γ_t = diag(G_t).
    const int d = p.parameters();
    const int size = d * p.basis_size;
    Eigen::MatrixXd z = 2 * p.regularisation.mu2 * Eigen::MatrixXd::Identity(size, size);
    Eigen::VectorXd v = Eigen::VectorXd::Zero(size);
    for (int t = 0; t < p.knowledge.tasks(); ++t) {
      Eigen::MatrixXd gamma = Eigen::MatrixXd::Zero(d, d);
      for (int a = 0; a < p.actions; ++a) {
        gamma.block(a * p.features, a * p.features, p.features, p.features) =
            action_block(p.losses[t].curvature, a);
      }
      const Eigen::VectorXd s = p.knowledge.coefficients.col(t);
      for (int i = 0; i < p.basis_size; ++i) {
        for (int j = 0; j < p.basis_size; ++j) {
          z.block(i * d, j * d, d, d) += p.regularisation.eta * s(i) * s(j) * gamma;
        }
        v.segment(i * d, d) +=
            p.regularisation.eta * s(i) * (p.losses[t].linear - gamma * p.knowledge.anchors.col(t));
      }
    }
    const Eigen::VectorXd dense = z.llt().solve(v);
    EXPECT_LT((next.basis.reshaped() - dense).norm(), 1e-9 * (1 + dense.norm())) << seed;
  }
}

/// Every form with a line search, and the closed form, never makes the objective worse.
TEST(Alternation, NeverIncreasesTheObjective) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Problem p = random_problem(seed);
    for (const BlockStep step :
         {BlockStep::closed_form, BlockStep::gradient, BlockStep::natural_gradient}) {
      for (const bool all : {true, false}) {
        AlternationSettings settings;
        settings.step = step;
        settings.alternations = 1;
        settings.all_coefficients = all;
        Alternation alternation(p.features, p.actions, p.basis_size);
        Knowledge next = p.knowledge;
        double before = value(p, next);
        for (int i = 0; i < 5; ++i) {
          ASSERT_EQ(alternation.update(settings, p.regularisation, p.losses, 0, 1, next),
                    AlternationStatus::ok);
          const double after = value(p, next);
          EXPECT_LE(after, before + 1e-10 * (1 + std::abs(before)));
          before = after;
        }
      }
    }
  }
}

TEST(Alternation, DecayingGradientStepIsTheGradientTimesTheRate) {
  const Problem p = random_problem(11);
  AlternationSettings settings;
  settings.step = BlockStep::gradient;
  settings.rate = StepRate::decaying;
  settings.rate_scale = 0.3;
  settings.alternations = 1;
  Alternation alternation(p.features, p.actions, p.basis_size);
  Knowledge next = p.knowledge;
  ASSERT_EQ(alternation.update(settings, p.regularisation, p.losses, 0, 4, next),
            AlternationStatus::ok);
  Knowledge expected = p.knowledge;
  expected.basis -= 0.3 / 4 * basis_gradient(p.regularisation, p.losses, expected);
  expected.coefficients -= 0.3 / 4 * coefficient_gradient(p.regularisation, p.losses, expected);
  EXPECT_LT((next.basis - expected.basis).norm(), 1e-12 * expected.basis.norm());
  EXPECT_LT((next.coefficients - expected.coefficients).norm(),
            1e-12 * (1 + expected.coefficients.norm()));
}

/// The gradient form, iterated, ends where the closed form does.
TEST(Alternation, GradientFormsReachTheClosedForm) {
  const Problem p = random_problem(5);
  AlternationSettings settings;
  settings.alternations = 3000;
  const auto solve = [&](BlockStep step) {
    settings.step = step;
    Alternation alternation(p.features, p.actions, p.basis_size);
    Knowledge next = p.knowledge;
    EXPECT_EQ(alternation.update(settings, p.regularisation, p.losses, 0, 1, next),
              AlternationStatus::ok);
    return value(p, next);
  };
  const double closed = solve(BlockStep::closed_form);
  EXPECT_NEAR(solve(BlockStep::natural_gradient), closed, 1e-6 * (1 + std::abs(closed)));
  EXPECT_NEAR(solve(BlockStep::gradient), closed, 1e-3 * (1 + std::abs(closed)));
}

}  // namespace lifeguard::alternation_test
