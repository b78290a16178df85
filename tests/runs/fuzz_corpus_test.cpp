// What the fuzz targets begin with must be read to its end: a target that begins with what is
// refused in the first line tries nothing else.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/projection_problem.hpp"
#include "lifeguard/runs/recording_file.hpp"

namespace lifeguard::fuzz_corpus_test {

struct Input {
  std::string name;
  std::string text;
};

std::vector<Input> corpus(const std::string& target) {
  const std::filesystem::path folder =
      std::filesystem::path(LIFEGUARD_SOURCE_DIR) / "fuzz" / (target + "_corpus");
  std::vector<Input> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.push_back({entry.path().filename(), {std::istreambuf_iterator<char>(file), {}}});
  }
  EXPECT_GT(inputs.size(), 4U) << folder;
  return inputs;
}

TEST(FuzzCorpus, ConfigurationsAreValid) {
  int closed_loops = 0;
  for (const Input& input : corpus("config")) {
    const std::string text = input.text.substr(0, input.text.find('\0'));
    EXPECT_NO_THROW(parse_config(text, input.name)) << input.name;
    closed_loops += text.find("[safe_set.closed_loop]") == std::string::npos ? 0 : 1;
  }
  EXPECT_GE(closed_loops, 2);
}

TEST(FuzzCorpus, ProblemsAreValid) {
  bool curved = false;
  for (const Input& input : corpus("projection_problem")) {
    ProjectionProblem problem;
    EXPECT_NO_THROW(problem = read_projection_problem(input.text)) << input.name;
    for (const SafeSet& set : problem.safe_sets) curved = curved || !set.inequalities().empty();
  }
  EXPECT_TRUE(curved);
}

TEST(FuzzCorpus, RecordingsAreValid) {
  for (const Input& input : corpus("recording")) {
    EXPECT_NO_THROW(read_recording(input.text, recording_format(input.name), input.name))
        << input.name;
  }
}

TEST(FuzzCorpus, LearnerStatesAreReadToTheirEnd) {
  constexpr const char* kAnew = ": fuzz/learner_states.py makes the states anew";
  std::set<std::string> kinds;
  for (const Input& input : corpus("learner_state")) {
    std::istringstream in(input.text);
    if (input.text.starts_with("format lifeguard learner")) {
      std::unique_ptr<Learner> learner;
      EXPECT_NO_THROW(learner = std::make_unique<Learner>(Learner::load(in)))
          << input.name << kAnew;
      if (!learner) continue;
      kinds.insert("learner");
      if (input.text.find("\ncoupling ") != std::string::npos) kinds.insert("coupled actions");
      for (const SafeSet& set : learner->safe_sets()) {
        if (!set.closed_loops().empty()) kinds.insert("closed loop");
      }
    } else if (input.text.starts_with("format lifeguard regret")) {
      EXPECT_NO_THROW(RegretLedger::load(in)) << input.name << kAnew;
      kinds.insert("regret");
    } else {
      const std::string method = input.text.substr(8, input.text.find('\n') - 8);
      const std::unique_ptr<PolicyLearner> learner = make_learner(Methods{}, method, 2, 1);
      learner->add_task("one", Eigen::Vector2d(0.5, -0.5), 0.5);
      learner->add_task("two", Eigen::Vector2d(0.25, 1), 0.5);
      EXPECT_NO_THROW(learner->read_state(in)) << input.name << kAnew;
      kinds.insert(method);
    }
    EXPECT_EQ(in.peek(), std::istringstream::traits_type::eof()) << input.name << kAnew;
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"closed loop", "coupled actions", "learner", "lpg-ftw",
                                          "pg", "pg-ella", "regret", "shared"}));
}

}  // namespace lifeguard::fuzz_corpus_test
