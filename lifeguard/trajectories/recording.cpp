#include "lifeguard/trajectories/recording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/systems/signal_text.hpp"

namespace lifeguard {
namespace {

/// The bytes of one letter of UTF-8 at the beginning, 0 if there is none.
std::size_t letter_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  // Nothing in more bytes than needed, no halves of UTF-16, nothing beyond the last letter.
  const bool wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                     (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
  return wrong ? 0 : size;
}

bool is_plain_line(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t bytes = letter_bytes(text.substr(i));
    if (bytes == 0 || c < ' ' || c == 0x7f) return false;
    i += bytes;
  }
  return text.empty() || (text.front() != ' ' && text.back() != ' ');
}

void require_plain_line(std::string_view field, std::string_view text) {
  if (text.size() <= Recording::kLongestText && is_plain_line(text)) return;
  // What is not text would spoil the message.
  std::string shown(text.substr(0, 60));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  throw InvalidInput(
      field, fmt::format("\"{}\"", shown),
      fmt::format("must be a line of at most {} bytes of UTF-8, without control characters and "
                  "without spaces at its ends",
                  Recording::kLongestText));
}

void require_signals(std::string_view kind, const std::vector<Signal>& signals) {
  require(!signals.empty(), fmt::format("{}s", kind), "none", "must have at least 1");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const Signal& signal = signals[i];
    const std::string field = fmt::format("{}s[{}]", kind, i);
    require_plain_line(field + ".name", signal.name);
    require_plain_line(field + ".unit", signal.unit);
    require(!signal.name.empty(), field + ".name", "\"\"", "must not be empty");
    require(signal.unit.find_first_of("[]") == std::string::npos, field + ".unit", signal.unit,
            "must not have brackets in it");
    require(names.insert(signal.name).second, field + ".name", signal.name,
            "must not be there twice");
  }
}

/// "trajectory 3" or "trajectory 3 "second flight"".
std::string trajectory_title(const Recording& recording, std::size_t i) {
  const std::string& name = recording.trajectories[i].name;
  return name.empty() ? fmt::format("trajectory {}", i)
                      : fmt::format("trajectory {} \"{}\"", i, name);
}

void require_finite_entries(const Recording& recording, std::size_t i, std::string_view kind,
                            const std::vector<Signal>& signals, const Eigen::MatrixXd& values) {
  if (values.allFinite()) return;
  for (Eigen::Index m = 0; m < values.cols(); ++m) {
    for (Eigen::Index s = 0; s < values.rows(); ++s) {
      if (std::isfinite(values(s, m))) continue;
      require_finite(fmt::format("{} \"{}\" ({}, step {}, column {})", kind,
                                 signal_text(signals[static_cast<std::size_t>(s)]),
                                 trajectory_title(recording, i), m, s),
                     values(s, m));
    }
  }
}

/// A pure number has the unit 1, which nobody writes.
bool same_unit(const std::string& a, const std::string& b) {
  return (a == "1" ? "" : a) == (b == "1" ? "" : b);
}

/// For each signal of the system, where the recording has it.
std::vector<Eigen::Index> places_of(std::string_view kind, const std::vector<Signal>& wanted,
                                    const std::vector<Signal>& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool known = std::any_of(wanted.begin(), wanted.end(),
                                   [&](const Signal& s) { return s.name == given[i].name; });
    require(known, fmt::format("{}s[{}].name", kind, i), given[i].name,
            fmt::format("must be a {} of the system: {}", kind, signals_text(wanted)));
  }
  std::vector<Eigen::Index> places;
  for (const Signal& signal : wanted) {
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const Signal& s) { return s.name == signal.name; });
    require(found != given.end(), fmt::format("{}s", kind),
            fmt::format("{} of {}", given.size(), wanted.size()),
            fmt::format("must have \"{}\", a {} of the system", signal_text(signal), kind));
    require(same_unit(found->unit, signal.unit), fmt::format("{} \"{}\"", kind, signal.name),
            fmt::format("[{}]", found->unit), fmt::format("must be in [{}]", signal.unit));
    places.push_back(found - given.begin());
  }
  return places;
}

/// Fills one trajectory of the batch.
class BatchFiller {
 public:
  BatchFiller(const Recording& recording, const Task& task, const Features& features,
              Trajectories& out)
      : recording_(recording), task_(task), features_(features), out_(out) {
    const SystemDescription system = describe(task.system);
    state_places_ = places_of("state", system.states, recording.states);
    action_places_ = places_of("action", system.actions, recording.actions);
  }

  void fill(int i) {
    const RecordedTrajectory& t = recording_.trajectories[static_cast<std::size_t>(i)];
    require_steps(t, i);
    for (int m = 0; m < t.steps(); ++m) {
      const Eigen::VectorXd state = t.states.col(m)(state_places_);
      const Eigen::VectorXd action = t.actions.col(m)(action_places_);
      const Eigen::VectorXd phi = features_of(state);
      for (int f = 0; f < out_.features(); ++f) out_.feature(i, m, f) = phi(f);
      for (int a = 0; a < out_.actions(); ++a) out_.action(i, m, a) = action(a);
      out_.cost(i, m) = t.costs ? (*t.costs)(m) : task_.cost(state, action);
    }
    if (t.end == EndReason::failed) {
      out_.fail(i, t.steps(), task_.settings.failure_cost);
      const bool diverged = t.has_final_state() &&
                            !(t.states.col(t.steps()).cwiseAbs().maxCoeff() <= kDivergenceBound);
      out_.diverged_flags()[i] = diverged ? 1 : 0;
    } else if (t.end == EndReason::cut_short && t.has_final_state()) {
      const Eigen::VectorXd phi = features_of(t.states.col(t.steps())(state_places_));
      out_.cut(i, t.steps(), {phi.data(), static_cast<std::size_t>(phi.size())});
    } else if (t.end == EndReason::cut_short) {
      out_.cut(i, t.steps());
    }
  }

 private:
  Eigen::VectorXd features_of(const Eigen::VectorXd& state) const {
    return task_.own_features() > 0 ? task_.input(state)
                                    : features_.evaluate(state, task_.settings.goal);
  }

  void require_steps(const RecordedTrajectory& t, int i) const {
    const bool fits =
        t.end == EndReason::finished ? t.steps() == out_.steps() : t.steps() <= out_.steps();
    if (fits) return;
    throw InvalidInput(
        fmt::format("steps ({})", trajectory_title(recording_, static_cast<std::size_t>(i))),
        fmt::format("{}", t.steps()),
        t.steps() > out_.steps()
            ? fmt::format("must be at most {}, the steps of the task", out_.steps())
            : fmt::format("must be {}, the steps of the task, of what has finished: what ended "
                          "earlier has failed or was cut short",
                          out_.steps()));
  }

  const Recording& recording_;
  const Task& task_;
  const Features& features_;
  Trajectories& out_;
  std::vector<Eigen::Index> state_places_;
  std::vector<Eigen::Index> action_places_;
};

}  // namespace

bool RecordedTrajectory::operator==(const RecordedTrajectory& other) const {
  const auto same = [](const auto& a, const auto& b) {
    return a.cols() == b.cols() && (a.cols() == 0 || (a.rows() == b.rows() && a == b));
  };
  return name == other.name && same(states, other.states) && same(actions, other.actions) &&
         costs.has_value() == other.costs.has_value() &&
         (!costs || (costs->size() == other.costs->size() && *costs == *other.costs)) &&
         end == other.end;
}

bool Recording::operator==(const Recording& other) const {
  const bool same_dt =
      dt_seconds == other.dt_seconds || (std::isnan(dt_seconds) && std::isnan(other.dt_seconds));
  return machine == other.machine && policy == other.policy && same_dt && states == other.states &&
         actions == other.actions && trajectories == other.trajectories;
}

void Recording::validate() const {
  require_plain_line("machine", machine);
  require_plain_line("policy", policy);
  if (!std::isnan(dt_seconds)) require_positive("dt_seconds", dt_seconds);
  require(states.size() + actions.size() <= kMostSignals, "states and actions",
          static_cast<double>(states.size() + actions.size()),
          fmt::format("must be at most {}", kMostSignals));
  require_signals("state", states);
  require_signals("action", actions);
  require(trajectories.size() <= kMostTrajectories, "trajectories",
          static_cast<double>(trajectories.size()),
          fmt::format("must be at most {}", kMostTrajectories));
  std::size_t numbers = 0;
  std::set<std::string> names;
  for (std::size_t i = 0; i < trajectories.size(); ++i) {
    const RecordedTrajectory& t = trajectories[i];
    validate_trajectory(i);
    numbers += static_cast<std::size_t>(t.states.size() + t.actions.size() +
                                        (t.costs ? t.costs->size() : 0));
    require(names.insert(t.name.empty() ? std::to_string(i) : t.name).second,
            fmt::format("trajectories[{}].name", i), t.name.empty() ? std::to_string(i) : t.name,
            "must not be another trajectory's name or, of one without a name, its number");
  }
  require(numbers <= kMostNumbers, "numbers", static_cast<double>(numbers),
          fmt::format("must be at most {}", kMostNumbers));
}

void Recording::validate_trajectory(std::size_t i) const {
  const RecordedTrajectory& t = trajectories[i];
  const std::string title = trajectory_title(*this, i);
  require_plain_line(fmt::format("trajectories[{}].name", i), t.name);
  const auto require_rows = [&](std::string_view kind, Eigen::Index given, std::size_t wanted) {
    require(static_cast<std::size_t>(given) == wanted, fmt::format("{}s ({})", kind, title),
            static_cast<double>(given),
            fmt::format("must be {}, as many as the recording has", wanted));
  };
  require_rows("state", t.states.rows(), states.size());
  // Without steps a matrix of actions may have any shape.
  if (t.actions.cols() > 0) require_rows("action", t.actions.rows(), actions.size());
  require(t.states.cols() > 0, fmt::format("states ({})", title), "none",
          "must have the first state at least");
  const Eigen::Index more = t.states.cols() - t.actions.cols();
  require(more == 0 || more == 1, fmt::format("states ({})", title),
          fmt::format("{} for {} actions", t.states.cols(), t.actions.cols()),
          "must be as many as actions, or one more: the state after the last action");
  if (t.costs) {
    require(t.costs->size() == t.actions.cols(), fmt::format("costs ({})", title),
            fmt::format("{} for {} actions", t.costs->size(), t.actions.cols()),
            "must be as many as actions");
  }
  require_finite_entries(*this, i, "state", states, t.states);
  require_finite_entries(*this, i, "action", actions, t.actions);
  if (!t.costs) return;
  for (Eigen::Index m = 0; m < t.costs->size(); ++m) {
    if (std::isfinite((*t.costs)(m))) continue;
    require_finite(fmt::format("cost ({}, step {})", title, m), (*t.costs)(m));
  }
}

Trajectories to_trajectories(const Recording& recording, const Task& task, const Features& features,
                             int steps) {
  task.validate();
  recording.validate();
  require(!recording.trajectories.empty(), "trajectories", "none", "must have at least 1");
  const double dt = task.settings.dt_seconds;
  constexpr double kSameDt = 1e-9;
  require(std::isnan(recording.dt_seconds) ||
              std::fabs(recording.dt_seconds - dt) <= kSameDt * std::fabs(dt),
          "dt_seconds", recording.dt_seconds, fmt::format("must be {}, that of the task", dt));
  Trajectories out(static_cast<int>(recording.trajectories.size()), steps,
                   feature_count(task, features), task.actions());
  BatchFiller filler(recording, task, features, out);
  for (int i = 0; i < out.count(); ++i) filler.fill(i);
  out.validate();
  return out;
}

Recording recorded(const Task& task, const GaussianPolicy& policy,
                   const RolloutSettings& settings) {
  return recorded(task, settings, rollout(task, policy, settings));
}

Recording recorded(const Task& task, const RolloutSettings& settings, const Trajectories& batch) {
  const SystemDescription system = describe(task.system);
  Recording recording;
  recording.machine = task.name;
  recording.dt_seconds = task.settings.dt_seconds;
  recording.states = system.states;
  recording.actions = system.actions;
  for (int i = 0; i < batch.count(); ++i) {
    const int length = batch.length(i);
    RecordedTrajectory t;
    t.states = replayed_states(task, settings, batch, i);
    // Where a state that diverged is no number, no file can hold it.
    if (length > 0 && !t.states.col(length).allFinite()) {
      t.states.conservativeResize(Eigen::NoChange, length);
    }
    t.actions.resize(task.actions(), length);
    if (length > 0) t.costs.emplace(length);
    for (int m = 0; m < length; ++m) {
      for (int a = 0; a < task.actions(); ++a) t.actions(a, m) = batch.action(i, m, a);
      (*t.costs)(m) = batch.cost(i, m);
    }
    t.end = batch.end(i);
    recording.trajectories.push_back(std::move(t));
  }
  recording.validate();
  return recording;
}

}  // namespace lifeguard
