// The theorem of docs/theorem.md on small games: whoever chooses the losses, whatever is played,
// whatever the set, no regret is above its bound on any prefix; and each of its terms is needed.
#include "lifeguard/regret/leader_game.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "tests/support/curved_sets.hpp"

namespace lifeguard::leader_game_test {

using test_support::Draws;

Eigen::MatrixXd random_precision(Draws& draws, int size, int rank) {
  const Eigen::MatrixXd root = draws.normals(size, rank);
  Eigen::MatrixXd matrix = draws.power(0.01, 100) * root * root.transpose();
  return (0.5 * (matrix + matrix.transpose())).eval();
}

PolicyPrior random_prior(Draws& draws, int features, int actions) {
  const int width = draws.chance(0.5) ? features : features * actions;
  Eigen::MatrixXd covariance = random_precision(draws, width, width);
  covariance.diagonal().array() += draws.power(1e-3, 1);
  return {draws.normals(features * actions, 1), covariance};
}

RoundLoss random_loss(Draws& draws, int features, const Eigen::VectorXd& target) {
  RoundLoss loss;
  loss.status = RoundLossStatus::ok;
  loss.curvature = random_precision(draws, features, draws.integer(1, features));
  loss.target = target;
  loss.constant = draws.normal();
  return loss;
}

/// Sets of every kind: none, boxes, random rows, rows with a slack limit, matrix inequalities.
struct RandomSet {
  SafeSet set;
  Eigen::VectorXd inside;
};

RandomSet random_set(Draws& draws, int features, int actions) {
  const int d = features * actions;
  switch (draws.integer(0, 4)) {
    case 0:
      return {SafeSet(d), Eigen::VectorXd::Zero(d)};
    case 1: {
      const Eigen::VectorXd centre = draws.normals(d, 1);
      const Eigen::VectorXd half = Eigen::VectorXd::Constant(d, draws.power(0.01, 3));
      return {gain_box(centre - half, centre + half, default_gain_names(actions, features)),
              centre};
    }
    case 2:
    case 3: {
      const int rows = draws.integer(1, 3 * d);
      const Eigen::MatrixXd a = draws.normals(rows, d);
      const Eigen::VectorXd centre = draws.normals(d, 1);
      Eigen::VectorXd slack(rows);
      std::vector<std::string> names;
      for (int i = 0; i < rows; ++i) {
        slack(i) = draws.power(0.01, 3);
        names.push_back("row " + std::to_string(i));
      }
      const double limit = draws.chance(0.5) ? kInfinity : slack.norm() * draws.uniform(1.01, 2);
      return {SafeSet(a, a * centre + slack, names, limit), centre};
    }
    default: {
      const test_support::CurvedSet curved =
          test_support::random_curved_set(draws, features, actions, draws.integer(1, 2));
      return {curved.set, curved.inside};
    }
  }
}

/// A safe policy on the way from the inside to somewhere.
Eigen::VectorXd random_safe(Draws& draws, const RandomSet& set) {
  const Eigen::VectorXd direction = draws.power(0.01, 10) * draws.normals(set.inside.size(), 1);
  double share = 1;
  while (!strictly_safe(set.set, set.inside + share * direction)) share *= 0.7;
  return set.inside + share * draws.uniform(0, 1) * direction;
}

enum class Play { leader, anything };
enum class Changes { none, some };

/// The excess of the regret over the bound and its parts, at the end of a prefix.
struct Margin {
  double bound = 0;  // total - regret; never below rounding
  double without_prior = 0, without_rounds = 0, without_off_leader = 0, without_changes = 0;
  double half_of_rounds = 0;
  double size = 0;  // of what was added up, for rounding
};

class Game {
 public:
  Game(Draws& draws, Play play, Changes changes)
      : draws_(draws),
        play_(play),
        changes_(changes),
        features_(draws.integer(1, 3)),
        actions_(draws.integer(1, 2)),
        set_(random_set(draws, features_, actions_)),
        ledger_(features_, actions_) {
    ledger_.add_task(set_.set);
    ledger_.set_prior(0, random_prior(draws, features_, actions_));
  }

  int parameters() const { return features_ * actions_; }
  int features() const { return features_; }
  const RandomSet& set() const { return set_; }
  const RegretLedger& ledger() const { return ledger_; }

  void round(const RoundLoss& loss) {
    if (changes_ == Changes::some && draws_.chance(0.3)) {
      ledger_.set_prior(0, random_prior(draws_, features_, actions_));
    }
    const Eigen::VectorXd alpha =
        play_ == Play::leader ? ledger_.game(0)->leader() : random_safe(draws_, set_);
    ledger_.record(0, loss, alpha);
    losses_.push_back(loss);
    played_.push_back(alpha);
    size_ += std::abs(loss.value(alpha)) + std::abs(loss.value(ledger_.game(0)->leader()));
  }

  Margin margin() const {
    const SurrogateRegret regret = ledger_.surrogate_regret();
    const RegretBound& bound = *regret.bound;
    Margin m;
    m.bound = bound.total - regret.most;
    m.without_prior = m.bound - bound.terms.prior;
    m.without_rounds = m.bound - bound.terms.rounds;
    m.without_off_leader = m.bound - bound.terms.off_leader;
    m.without_changes = m.bound - bound.terms.changes;
    m.half_of_rounds = m.bound - 0.5 * bound.terms.rounds;
    m.size = size_ + std::abs(bound.total) + std::abs(bound.terms.changes) + 1;
    return m;
  }

  /// By plain sums over the rounds, against any safe comparator: none of the ledger's sums.
  double margin_against(const Eigen::VectorXd& u) const {
    double regret = 0;
    for (std::size_t j = 0; j < losses_.size(); ++j) {
      regret += losses_[j].value(played_[j]) - losses_[j].value(u);
    }
    return ledger_.game(0)->terms(u).total() - regret;
  }

 private:
  Draws& draws_;
  Play play_;
  Changes changes_;
  int features_;
  int actions_;
  RandomSet set_;
  RegretLedger ledger_;
  std::vector<RoundLoss> losses_;
  std::vector<Eigen::VectorXd> played_;
  double size_ = 0;
};

constexpr double kRounding = 1e-9;

/// Targets that keep away from what is played, that go back and forth, or that are all alike.
Eigen::VectorXd next_target(Draws& draws, const Game& game, int order, int round) {
  const Eigen::Index d = game.parameters();
  switch (order) {
    case 0:
      return 3 * draws.normals(d, 1);
    case 1:
      return Eigen::VectorXd::Constant(d, round % 2 == 0 ? 2.0 : -2.0);
    case 2:  // as far as possible on the other side of the leader
      return -5 * game.ledger().game(0)->leader() + 0.1 * draws.normals(d, 1);
    default:
      return Eigen::VectorXd::Constant(d, 4.0);
  }
}

class RandomGames : public ::testing::TestWithParam<std::tuple<Play, Changes>> {};
INSTANTIATE_TEST_SUITE_P(Players, RandomGames,
                         ::testing::Combine(::testing::Values(Play::leader, Play::anything),
                                            ::testing::Values(Changes::none, Changes::some)));

// 4 × 700 games of 1 to 12 rounds, every prefix.
TEST_P(RandomGames, NoPrefixHasARegretAboveItsBound) {
  const auto [play, changes] = GetParam();
  Margin least;  // of each margin, over all games; relative to what was added up
  double worst_sample = 0;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    Draws draws(10000 + seed);
    Game game(draws, play, changes);
    const int rounds = draws.integer(1, 12);
    const int order = draws.integer(0, 3);
    for (int j = 0; j < rounds; ++j) {
      const Eigen::VectorXd target = next_target(draws, game, order, j);
      game.round(random_loss(draws, game.features(), target));
      const Margin m = game.margin();
      ASSERT_GE(m.bound, -kRounding * m.size) << "seed " << seed << ", round " << j;
      least.without_prior = std::min(least.without_prior, m.without_prior / m.size);
      least.without_rounds = std::min(least.without_rounds, m.without_rounds / m.size);
      least.without_off_leader = std::min(least.without_off_leader, m.without_off_leader / m.size);
      least.without_changes = std::min(least.without_changes, m.without_changes / m.size);
      least.half_of_rounds = std::min(least.half_of_rounds, m.half_of_rounds / m.size);
      for (int sample = 0; sample < 5; ++sample) {
        const double margin = game.margin_against(random_safe(draws, game.set()));
        worst_sample = std::min(worst_sample, margin / m.size);
      }
      const BoundTerms terms = game.ledger().game(0)->terms(game.set().inside);
      // The corollary, for leaders that are exact up to rounding.
      EXPECT_LE(terms.rounds, terms.largest_excess * terms.log_det * (1 + 1e-3) + 1e-4 * m.size);
    }
  }
  EXPECT_GE(worst_sample, -kRounding);
  // Each term is needed: without it there are games with a regret far above what is left.
  EXPECT_LT(least.without_prior, -1e-3);
  EXPECT_LT(least.without_rounds, -1e-3);
  EXPECT_LT(least.half_of_rounds, -1e-3);
  if (play == Play::anything) {
    EXPECT_LT(least.without_off_leader, -1e-3);
  }
  if (changes == Changes::some) {
    EXPECT_LT(least.without_changes, -1e-3);
  }
}

// An adversary who changes the targets, curvatures and the whole order by hill climbing, to bring
// the regret above the bound.
TEST(LeaderGame, NoAdversaryFindsARegretAboveItsBound) {
  double nearest = kInfinity;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draws genes(seed);
    const int rounds = genes.integer(1, 4);
    const Play play = genes.chance(0.5) ? Play::leader : Play::anything;
    std::vector<double> best(static_cast<std::size_t>(rounds) * 9);
    for (double& gene : best) gene = genes.normal();
    const auto margin = [&](const std::vector<double>& from) {
      Draws draws(20000 + seed);
      Game game(draws, play, Changes::none);
      const int d = game.parameters();
      for (int j = 0; j < rounds; ++j) {
        const double* gene = from.data() + static_cast<std::ptrdiff_t>(j) * 9;
        Eigen::VectorXd target(d);
        for (int i = 0; i < d; ++i) target(i) = 3 * gene[i];
        RoundLoss loss = random_loss(draws, game.features(), target);
        Eigen::VectorXd direction(game.features());
        for (int i = 0; i < game.features(); ++i) direction(i) = gene[6 + i];
        loss.curvature = direction * direction.transpose();
        game.round(loss);
      }
      const Margin m = game.margin();
      EXPECT_GE(m.bound, -kRounding * m.size) << "seed " << seed;
      return m.bound / m.size;
    };
    double least = margin(best);
    double step = 1;
    for (int trial = 0; trial < 150; ++trial) {
      std::vector<double> tried = best;
      for (double& gene : tried) gene += step * genes.normal();
      const double found = margin(tried);
      step *= found < least ? 1.3 : 0.96;
      if (found < least) {
        least = found;
        best = std::move(tried);
      }
    }
    nearest = std::min(nearest, least);
  }
  EXPECT_LT(nearest, 1e-3);  // the adversaries come close, so the bound is not just loose
}

// One parameter: the leader and the best policy in closed form and on a grid.
TEST(LeaderGame, IsWhatAPlainGridSays) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draws draws(30000 + seed);
    const double low = -draws.power(0.05, 2), high = draws.power(0.05, 2);
    Eigen::MatrixXd rows(2, 1);
    rows << 1, -1;
    const SafeSet set(rows, Eigen::Vector2d(high, -low), {"high", "low"});
    RegretLedger ledger(1, 1);
    ledger.add_task(set);
    const double m = 2 * draws.normal(), variance = draws.power(0.1, 10);
    ledger.set_prior(0,
                     {Eigen::VectorXd::Constant(1, m), Eigen::MatrixXd::Constant(1, 1, variance)});
    struct Loss {
      double curvature, target;
    };
    std::vector<Loss> losses;
    const auto leader = [&] {
      double curvature = 1 / variance, pull = m / variance;
      for (const Loss& loss : losses) {
        curvature += loss.curvature;
        pull += loss.curvature * loss.target;
      }
      return std::clamp(pull / curvature, low, high);
    };
    double regret_of_leader = 0, stability = 0, curvature = 1 / variance;
    const double first = leader();
    for (int j = 0; j < 8; ++j) {
      const double x = leader();
      EXPECT_NEAR(ledger.game(0)->leader()(0), x, 1e-9);
      const Loss next{draws.power(0.1, 10), 3 * draws.normal()};
      RoundLoss loss;
      loss.status = RoundLossStatus::ok;
      loss.curvature = Eigen::MatrixXd::Constant(1, 1, next.curvature);
      loss.target = Eigen::VectorXd::Constant(1, next.target);
      loss.constant = 0;
      ledger.record(0, loss, Eigen::VectorXd::Constant(1, x));
      losses.push_back(next);
      regret_of_leader += 0.5 * next.curvature * (x - next.target) * (x - next.target);
      curvature += next.curvature;
      stability += 0.5 * std::pow(next.curvature * (x - next.target), 2) / curvature;
      double best = kInfinity, at = 0;
      for (int i = 0; i <= 2000; ++i) {
        const double u = low + (high - low) * i / 2000;
        double sum = 0;
        for (const Loss& l : losses) sum += 0.5 * l.curvature * (u - l.target) * (u - l.target);
        if (sum < best) best = sum, at = u;
      }
      const SurrogateRegret regret = ledger.surrogate_regret();
      EXPECT_NEAR(regret.most, regret_of_leader - best, 1e-4 * (1 + best));
      EXPECT_NEAR(regret.bound->terms.rounds, stability, 1e-4 * (1 + stability));
      const double prior = 0.5 * ((at - m) * (at - m) - (first - m) * (first - m)) / variance;
      EXPECT_NEAR(regret.bound->terms.prior, prior, 1e-2 * (1 + std::abs(prior)));
    }
  }
}

// Without constraints, with one prior, the bound of a leader is its regret but for what the prior
// still weighs at the end.
TEST(LeaderGame, IsTightWithoutConstraints) {
  Draws draws(1);
  RegretLedger ledger(3, 2);
  ledger.add_task();
  ledger.set_prior(0, {Eigen::VectorXd::Zero(6), Eigen::MatrixXd::Identity(3, 3)});
  for (int j = 0; j < 300; ++j) {
    RoundLoss loss = random_loss(draws, 3, draws.normals(6, 1));
    loss.curvature.diagonal().array() += 0.5;
    ledger.record(0, loss, ledger.game(0)->leader());
  }
  const SurrogateRegret regret = ledger.surrogate_regret();
  EXPECT_EQ(regret.bound->terms.off_leader, 0);
  EXPECT_GT(regret.most, 0);
  EXPECT_LT(regret.bound->total, 1.01 * regret.most);
  EXPECT_NEAR(regret.bound->without_knowledge, regret.bound->of_leader, 1e-9 * regret.most);
}

// Forgetting breaks the proof: targets that go back and forth make a learner which forgets pay in
// every round, where the leader's bound grows like a logarithm. The measured difference is the term
// of what was played in place of the leader, and with it the bound holds.
TEST(LeaderGame, ForgettingPaysALinearRegret) {
  std::vector<double> regrets, of_leader;
  for (const int rounds : {100, 1000}) {
    RegretLedger ledger(1, 1);
    ledger.add_task();
    ledger.set_prior(0, {Eigen::VectorXd::Zero(1), Eigen::MatrixXd::Identity(1, 1)});
    double curvature = 1, pull = 0;  // of a leader with memory 0.3
    for (int j = 0; j < rounds; ++j) {
      RoundLoss loss;
      loss.status = RoundLossStatus::ok;
      loss.curvature = Eigen::MatrixXd::Identity(1, 1);
      loss.target = Eigen::VectorXd::Constant(1, j % 2 == 0 ? 1.0 : -1.0);
      loss.constant = 0;
      ledger.record(0, loss, Eigen::VectorXd::Constant(1, pull / curvature));
      curvature = 1 + 0.3 * (curvature - 1) + 1;
      pull = 0.3 * pull + loss.target(0);
    }
    const SurrogateRegret regret = ledger.surrogate_regret();
    regrets.push_back(regret.most);
    of_leader.push_back(regret.bound->of_leader);
    EXPECT_GT(regret.most, regret.bound->of_leader);
    EXPECT_LE(regret.most, regret.bound->total * (1 + 1e-12));
  }
  EXPECT_GT(regrets[1], 9 * regrets[0]);
  EXPECT_LT(of_leader[1], 2 * of_leader[0]);
}

TEST(LeaderGame, KnowledgeThatFitsLowersTheBound) {
  Draws draws(3);
  const Eigen::VectorXd best = Eigen::VectorXd::Constant(4, 5.0);
  const auto bound = [&](const PolicyPrior& prior) {
    Draws same(4);
    RegretLedger ledger(4, 1);
    ledger.add_task();
    ledger.set_prior(0, prior);
    for (int j = 0; j < 50; ++j) {
      const RoundLoss loss = random_loss(same, 4, best + 0.1 * same.normals(4, 1));
      ledger.record(0, loss, ledger.game(0)->leader());
    }
    return *ledger.surrogate_regret().bound;
  };
  const RegretBound with = bound({best, 0.01 * Eigen::MatrixXd::Identity(4, 4)});
  const RegretBound without = bound({Eigen::VectorXd::Zero(4), Eigen::MatrixXd::Identity(4, 4)});
  EXPECT_LT(with.of_leader, 0.1 * without.of_leader);
  EXPECT_NEAR(with.without_knowledge, without.of_leader, 1e-9 * without.of_leader);
}

TEST(LeaderGame, SavedLedgersGoOnToTheSameBits) {
  Draws draws(8);
  Game game(draws, Play::anything, Changes::some);
  for (int j = 0; j < 5; ++j) {
    game.round(random_loss(draws, game.features(), draws.normals(game.parameters(), 1)));
  }
  std::stringstream text;
  game.ledger().save(text);
  RegretLedger loaded = RegretLedger::load(text);
  RegretLedger kept = game.ledger();
  const RoundLoss loss = random_loss(draws, game.features(), draws.normals(game.parameters(), 1));
  for (RegretLedger* ledger : {&loaded, &kept}) ledger->record(0, loss, game.set().inside);
  std::stringstream one, other;
  loaded.save(one);
  kept.save(other);
  EXPECT_EQ(one.str(), other.str());
  EXPECT_EQ(loaded.surrogate_regret().bound->total, kept.surrogate_regret().bound->total);
}

TEST(LeaderGame, BadPriorsAreRefused) {
  RegretLedger ledger(2, 2);
  ledger.add_task();
  EXPECT_THROW(ledger.set_prior(0, {Eigen::VectorXd::Zero(3), Eigen::MatrixXd::Identity(2, 2)}),
               InvalidInput);
  EXPECT_THROW(ledger.set_prior(0, {Eigen::VectorXd::Zero(4), Eigen::MatrixXd::Identity(3, 3)}),
               InvalidInput);
  EXPECT_THROW(ledger.set_prior(0, {Eigen::VectorXd::Zero(4), -Eigen::MatrixXd::Identity(2, 2)}),
               InvalidInput);
  ledger.set_prior(0, {Eigen::VectorXd::Zero(4), Eigen::MatrixXd::Identity(4, 4)});
  EXPECT_FALSE(RegretLedger(2, 2).surrogate_regret().bound == std::nullopt);
}

}  // namespace lifeguard::leader_game_test
