#include "lifeguard/core/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <sstream>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "tests/support/invalid_input.hpp"

namespace lifeguard::settings_test {

constexpr std::array<std::string_view, 3> kColours = {"red", "light green", "blue"};

enum class Colour { red, light_green, blue };

struct Everything {
  double size = 1.5;
  int count = 3;
  bool on = true;
  std::string title = "a title";
  Colour colour = Colour::light_green;
  std::vector<std::string> several = {"blue", "red"};

  void visit(SettingVisitor& v) {
    v.section("everything", "One of each kind.");
    v.number("size", size, Range::above_to(0, 2), "m", "how large");
    v.integer("count", count, Range::at_least(1), "", "how many");
    v.flag("on", on, "whether");
    v.text("title", title, "what it is called");
    visit_choice(v, "colour", colour, kColours, "one colour");
    v.list("several", several, kColours, "some colours");
  }
  bool operator==(const Everything&) const = default;
};

TEST(Settings, RulesAreCheckedAndNamed) {
  EXPECT_NO_THROW(check_settings(Everything{}));
  const auto broken = [](auto change) {
    Everything e;
    change(e);
    return [e] { check_settings(e); };
  };
  using test_support::expect_invalid;
  expect_invalid(broken([](Everything& e) { e.size = 2.5; }), "everything.size", "2.5",
                 "must be greater than 0 and at most 2");
  expect_invalid(broken([](Everything& e) { e.size = 0; }), "everything.size", "0",
                 "must be greater than 0 and at most 2");
  expect_invalid(broken([](Everything& e) { e.size = kNaN; }), "everything.size", "nan",
                 "must be greater than 0 and at most 2");
  expect_invalid(broken([](Everything& e) { e.count = 0; }), "everything.count", "0",
                 "must be at least 1");
  expect_invalid(broken([](Everything& e) { e.title.clear(); }), "everything.title", "",
                 "must be a text that is not empty");
  expect_invalid(broken([](Everything& e) { e.colour = static_cast<Colour>(3); }),
                 "everything.colour", "3", "must be one of \"red\", \"light green\", \"blue\"");
  expect_invalid(broken([](Everything& e) { e.several = {"pink"}; }), "everything.several", "pink",
                 "must be one of \"red\", \"light green\", \"blue\"");
}

TEST(Settings, ARangeMayAllowZeroAsOff) {
  const Range range{.low = 1, .high = 5, .high_open = true, .or_zero = true};
  EXPECT_TRUE(range.contains(0));
  EXPECT_FALSE(range.contains(0.5));
  EXPECT_TRUE(range.contains(1));
  EXPECT_FALSE(range.contains(5));
  EXPECT_EQ(range.rule(), "must be 0 or at least 1 and less than 5");
}

std::string saved(Everything e) {
  std::ostringstream out;
  StateWriter writer(out);
  SettingSaver saver(writer);
  e.visit(saver);
  return out.str();
}

Everything loaded(const std::string& text) {
  std::istringstream in(text);
  StateReader reader(in);
  SettingLoader loader(reader);
  Everything e{0.1, 9, false, "other", Colour::red, {}};
  e.visit(loader);
  return e;
}

TEST(Settings, WhatIsSavedIsLoaded) {
  Everything e;
  e.size = 0.1 + 0.2;
  e.on = false;
  EXPECT_EQ(loaded(saved(e)), e);
}

TEST(Settings, ADamagedFileIsRefused) {
  const std::string text = saved({});
  for (const auto& [from, to] : {std::pair{"size 1.5", "size 7"},
                                 {"count 3", "count 0"},
                                 {"on 1", "on 2"},
                                 {"colour light green", "colour pink"},
                                 {"several 2", "several 9"},
                                 {"several blue", "several pink"},
                                 {"everything.on", "everything.off"}}) {
    std::string damaged = text;
    const auto place = damaged.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    damaged.replace(place, std::string_view(from).size(), to);
    EXPECT_THROW(loaded(damaged), InvalidInput) << to;
  }
}

/// Moves every setting that it sees to another value that obeys its rule.
class Changer : public SettingVisitor {
 public:
  void section(std::string_view name, std::string_view /*meaning*/) override { section_ = name; }
  void number(std::string_view name, double& value, const Range& range, std::string_view /*unit*/,
              std::string_view meaning) override {
    see(name, meaning);
    const double wanted = value * 0.9375 + 0.01;
    value = range.contains(wanted) ? wanted : 0.5 * value;
  }
  void integer(std::string_view name, int& value, const Range& range, std::string_view /*unit*/,
               std::string_view meaning) override {
    see(name, meaning);
    value = range.contains(value + 1) ? value + 1 : value - 1;
  }
  void flag(std::string_view name, bool& value, std::string_view meaning) override {
    see(name, meaning);
    value = !value;
  }
  void text(std::string_view name, std::string& value, std::string_view meaning) override {
    see(name, meaning);
    value += "!";
  }
  void choice(std::string_view name, int& value, std::span<const std::string_view> choices,
              std::string_view meaning) override {
    see(name, meaning);
    value = (value + 1) % static_cast<int>(choices.size());
  }
  void list(std::string_view name, std::vector<std::string>& values,
            std::span<const std::string_view> /*choices*/, std::string_view meaning) override {
    see(name, meaning);
    values.pop_back();
  }

  std::set<std::string> names;

 private:
  void see(std::string_view name, std::string_view meaning) {
    EXPECT_TRUE(names.insert(section_ + "." + std::string(name)).second) << name << " twice";
    EXPECT_FALSE(meaning.empty()) << name;
  }
  std::string section_;
};

/// Stands for a field of any type.
struct AnyField {
  template <class Field>
  operator Field() const;
};

/// How many fields a struct has: that many can be given and no more.
template <class Struct, class... Given>
constexpr std::size_t field_count() {
  if constexpr (requires { Struct{Given{}..., AnyField{}}; }) {
    return field_count<Struct, Given..., AnyField>();
  } else {
    return sizeof...(Given);
  }
}

/// How many numbers there are in the first of these structs, which has all others in it.
template <class... Structs>
constexpr std::size_t number_count() {
  return (field_count<Structs>() + ...) - (sizeof...(Structs) - 1);
}

// A number that is added to the settings must be listed here, and if it is not described it stays
// as it was.
TEST(Settings, EveryNumberOfALearnerIsDescribed) {
  LearnerSettings changed;
  Changer changer;
  changed.round.visit_base_learner(changer);
  changed.visit(changer);
  const auto numbers = [](const LearnerSettings& l) {
    const BaseLearnerSettings& b = l.round.base_learner;
    const AdvantageSettings& a = b.advantages;
    const StepSettings& t = b.step;
    const AdaptationSettings& n = l.round.adaptation;
    const ProjectionSettings& p = l.projection;
    const auto list = [](auto... values) {
      return std::vector<double>{static_cast<double>(values)...};
    };
    return list(
        a.cost_to_go, a.discount, a.trace, a.step_mean, a.state_baseline, a.baseline_sweeps,
        a.baseline_stride, a.normalise, t.rule, t.size, t.trust_region, t.decay, t.shrinkage,
        t.shrinkage_floor, t.line_search_trajectories, t.line_search_candidates,
        t.line_search_effective_share, b.method, b.critic, b.loss_scale, b.discount_scores,
        b.temperature, b.relative_damping, n.failure_horizon, n.trust_region_per_step,
        n.sure_noise_share, n.newton_limit, l.k, l.cross_validate_k, l.zeta, l.update, l.memory,
        l.require_bounded_sets, l.linearised.initial_share, l.linearised.share_decay,
        l.linearised.minimum_share, l.linearised.own_memory, l.linearised.retreat_factor,
        l.empirical_bayes.posterior_memory, l.empirical_bayes.agreement_rate,
        l.empirical_bayes.prior_interval, l.empirical_bayes.common_damping, l.leader.prior_variance,
        l.leader.share, l.leader.memory, l.alternation.step, l.alternation.rate,
        l.alternation.rate_scale, l.alternation.alternations, l.alternation.all_coefficients,
        l.regularisation.eta, l.regularisation.mu1, l.regularisation.mu2,
        l.regularisation.mean_weight, p.mode, p.p, p.q, p.mu1, p.mu2, p.max_alternations,
        p.objective_tolerance, p.margin, p.descend, p.none_limits_spectrum);
  };
  const std::vector<double> before = numbers(LearnerSettings{});
  const std::vector<double> after = numbers(changed);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NE(after[i], before[i]) << "entry " << i;
  EXPECT_EQ(changer.names.size(), before.size());
  constexpr std::size_t kNumbers =
      number_count<LearnerSettings, RoundSettings, BaseLearnerSettings, AdvantageSettings,
                   StepSettings, AdaptationSettings, LinearisedSettings, EmpiricalBayesSettings,
                   LeaderSettings, AlternationSettings, RegularisationSettings,
                   ProjectionSettings>();
  EXPECT_EQ(before.size(), kNumbers);
}

TEST(Settings, NamesOfMethodsAndTheirTablesAreUnique) {
  Methods methods;
  Changer changer;
  std::set<std::string_view> names;
  for_each_method(methods, [&](auto& settings) {
    EXPECT_TRUE(names.insert(settings.kMethod).second);
    settings.visit(changer);
    EXPECT_NE(settings.make(2, 1), nullptr);
  });
  EXPECT_EQ(names.size(), method_names().size());
  EXPECT_THROW(make_learner(methods, "magic", 2, 1), InvalidInput);
}

}  // namespace lifeguard::settings_test
