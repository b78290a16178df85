// A learner as text, and back: Learner::save, load and read_state.

#include <fmt/format.h>

#include <istream>
#include <ostream>
#include <unordered_map>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/core/settings.hpp"
#include "lifeguard/lifelong/knowledge_keeper.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/safe_set_pool.hpp"
#include "lifeguard/safety/sets/saved_safe_set.hpp"

namespace lifeguard {
namespace {

constexpr const char* kFormat = "lifeguard learner 11";

void visit_all(SettingVisitor& visitor, LearnerSettings& settings) {
  settings.round.visit_base_learner(visitor);
  settings.visit(visitor);
}

}  // namespace

void Learner::save(std::ostream& out) const {
  StateWriter writer(out);
  writer.field("format", std::string(kFormat));
  writer.field("features", features());
  writer.field("actions", actions());
  LearnerSettings settings = settings_;
  SettingSaver saver(writer);
  visit_all(saver, settings);
  writer.field("rounds", rounds());
  writer.field("tasks", tasks());
  writer.field("basis", keeper_->basis());
  keeper_->save_first(writer);
  std::unordered_map<const void*, int> first_with;  // the first task that has a set
  for (int t = 0; t < tasks(); ++t) {
    writer.field("task", task_states()[t].id);
    writer.field("sigma", task_states()[t].sigma);
    writer.field("visits", task_states()[t].visits);
    const ActionRange& range = task_states()[t].range;
    writer.field("limits_known", range.known());
    // One by one: a limit may be infinite, which no number of a vector may be.
    for (Eigen::Index a = 0; a < range.low.size(); ++a) {
      writer.field("action_low", range.low(a));
      writer.field("action_high", range.high(a));
    }
    // Equal sets are written once.
    const int same = first_with.emplace(&safe_sets()[t].names(), t).first->second;
    writer.field("safe_set_of", same);
    if (same == t) write_safe_set(writer, safe_sets()[t]);
    keeper_->save_task(t, writer);
  }
  keeper_->save_last(writer);
}

Learner Learner::load(std::istream& in) {
  StateReader reader(in);
  std::string format;
  reader.field("format", format);
  require(format == kFormat, "format", format, fmt::format("must be \"{}\"", kFormat));
  int features = 0;
  int actions = 0;
  reader.field("features", features);
  reader.field("actions", actions);
  require(features >= 1 && actions >= 1 && features <= kMostParameters / actions, "features",
          features, fmt::format("must be at least 1, with at most {} parameters", kMostParameters));
  LearnerSettings settings;
  SettingLoader loader(reader);
  visit_all(loader, settings);
  const int parameters = features * actions;
  settings.validate(parameters);
  long rounds = 0;
  int tasks = 0;
  reader.field("rounds", rounds);
  reader.field("tasks", tasks);
  require(rounds >= 0, "rounds", static_cast<double>(rounds), "must not be negative");
  require(tasks >= 0, "tasks", tasks, "must not be negative");
  Eigen::MatrixXd basis;
  reader.field("basis", basis);
  require_size("basis (rows)", basis.rows(), parameters);
  require_size("basis (columns)", basis.cols(), settings.columns(parameters));
  // Only now: sizes that the values above do not have must not ask for all memory.
  Learner learner(features, actions, settings);
  KnowledgeKeeper& keeper = *learner.keeper_;
  keeper.load_first(reader, std::move(basis), tasks);
  std::vector<TaskState> states;
  for (int t = 0; t < tasks; ++t) {
    TaskState& state = states.emplace_back();
    reader.field("task", state.id);
    reader.field("sigma", state.sigma);
    reader.field("visits", state.visits);
    bool limits_known = false;
    reader.field("limits_known", limits_known);
    if (limits_known) {
      state.range.low.resize(actions);
      state.range.high.resize(actions);
      for (int a = 0; a < actions; ++a) {
        reader.field("action_low", state.range.low(a));
        reader.field("action_high", state.range.high(a));
      }
      state.range.require_fits(actions);
    }
    state.sigma.require_fits("sigma", actions);
    require_positive("sigma", state.sigma);
    require(state.visits >= 0, "visits", static_cast<double>(state.visits), "must not be negative");
    int same = 0;
    reader.field("safe_set_of", same);
    require(same >= 0 && same <= t, "safe_set_of", same, "must be this task or one before it");
    keeper.load_task(reader, same == t
                                 ? learner.safe_sets_->stored(read_safe_set(reader, parameters))
                                 : SafeSet(learner.safe_sets()[same]));
  }
  keeper.load_last(reader);
  learner.restore_tasks(std::move(states), rounds);
  if (settings.projection.mode != ProjectionMode::none) {
    const Certificate certificate = learner.certificate();
    for (int t = 0; t < tasks; ++t) {
      require(certificate.tasks[t].safe(), fmt::format("policy of task {}", t), "unsafe",
              fmt::format("must obey \"{}\"", certificate.tasks[t].worst_row_name));
    }
    require(certificate.spectrum_holds, "basis", "spectrum", "must lie between p and q");
  }
  return learner;
}

void Learner::read_state(std::istream& in) {
  Learner loaded = load(in);
  require(loaded.settings_ == settings_, "saved settings", "of another learner",
          "must be those of this learner");
  require(loaded.features() == features() && loaded.actions() == actions(), "saved policies",
          fmt::format("{} features, {} actions", loaded.features(), loaded.actions()),
          fmt::format("must have {} features and {} actions", features(), actions()));
  require_size("saved tasks", loaded.tasks(), tasks());
  for (int t = 0; t < tasks(); ++t) {
    const std::string& id = task_states()[t].id;
    require(loaded.task_states()[t].id == id, "saved task", loaded.task_states()[t].id,
            fmt::format("must be \"{}\"", id));
    require(loaded.safe_sets()[t] == safe_sets()[t], fmt::format("saved safe set of \"{}\"", id),
            "another set", "must be the one this learner has");
  }
  *this = std::move(loaded);
}

}  // namespace lifeguard
