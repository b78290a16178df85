#include "lifeguard/runs/recording_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/json_input.hpp"
#include "lifeguard/runs/recording_text.hpp"

namespace lifeguard {
namespace {

constexpr std::string_view kTitle = "# lifeguard trajectories ";
constexpr std::string_view kStatePrefix = "state:";
constexpr std::string_view kActionPrefix = "action:";

/// One column of the table.
struct RecordingColumn {
  enum class Kind { trajectory, step, time, state, action, cost, end };
  Kind kind = Kind::trajectory;
  std::string title;  // as it stands in the file
};

class RecordingCsvReader {
 public:
  RecordingCsvReader(std::string_view text, std::string_view source)
      : lines_(text), source_(source) {}

  Recording read() {
    read_title();
    bool more = read_comments();
    if (!more) refuse_file("nothing", "must have a line with the names of the columns");
    read_columns();
    more = lines_.next();
    while (more) {
      read_row();
      more = lines_.next();
    }
    end_trajectory();
    validate_read(recording_, source_);
    return std::move(recording_);
  }

 private:
  using Kind = RecordingColumn::Kind;

  [[noreturn]] void refuse_file(std::string_view value, std::string_view rule) const {
    throw InvalidInput(source_, value, rule);
  }
  [[noreturn]] void refuse_line(std::string_view value, std::string_view rule) const {
    throw InvalidInput(fmt::format("{}, line {}", source_, lines_.number()), value, rule);
  }
  /// `column` from 0.
  [[noreturn]] void refuse_cell(std::size_t column, std::string_view rule) const {
    const std::string title =
        column < columns_.size()
            ? fmt::format(" ({})", shown(std::string_view(columns_[column].title)))
            : "";
    throw InvalidInput(
        fmt::format("{}, line {}, column {}{}", source_, lines_.number(), column + 1, title),
        shown(std::string_view(cells_[column])), rule);
  }

  void read_title() {
    const std::string rule =
        fmt::format("must begin with the line \"{}{}\"", kTitle, kRecordingVersion);
    if (!lines_.next()) refuse_file("nothing", rule);
    const std::string_view line = without_spaces(lines_.line());
    if (!line.starts_with(kTitle)) refuse_line(shown(line), rule);
    if (line.substr(kTitle.size()) != std::to_string(kRecordingVersion)) {
      refuse_line(shown(line), fmt::format("must be of version {}, which is all that this program "
                                           "reads",
                                           kRecordingVersion));
    }
  }

  /// False if nothing follows.
  bool read_comments() {
    std::set<std::string> seen;
    while (lines_.next()) {
      std::string_view line = lines_.line();
      if (!line.starts_with('#')) return true;
      line = without_spaces(line.substr(1));
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      const std::string key(without_spaces(line.substr(0, colon)));
      const std::string_view value = without_spaces(line.substr(colon + 1));
      if (key.find_first_of(" \t") != std::string::npos) continue;  // a remark
      if (!seen.insert(key).second) refuse_line(shown(line), "must be said once only");
      if (key == "machine") {
        recording_.machine = value;
      } else if (key == "policy") {
        recording_.policy = value;
      } else if (key == "dt") {
        read_dt(value);
      } else {
        refuse_line(shown(std::string_view(key)),
                    "must be machine, policy or dt; a remark has no colon behind its first word");
      }
    }
    return false;
  }

  void read_dt(std::string_view text) {
    constexpr std::string_view kRule = "must be a number of seconds greater than 0: \"0.01 s\"";
    double dt = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dt);
    const std::string_view unit =
        without_spaces(text.substr(static_cast<std::size_t>(end - text.data())));
    if (error != std::errc() || unit != "s" || !std::isfinite(dt) || !(dt > 0)) {
      refuse_line(shown(text), kRule);
    }
    recording_.dt_seconds = dt;
  }

  /// The cells of the present line.
  void split() {
    std::string_view rest = lines_.line();
    cells_.clear();
    while (true) {
      std::string cell;
      const std::string_view begin =
          rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size()));
      if (begin.starts_with('"')) {
        rest = begin.substr(1);
        while (true) {
          const std::size_t quote = rest.find('"');
          if (quote == std::string_view::npos) {
            refuse_line(fmt::format("column {}", cells_.size() + 1),
                        "must have a second quotation mark on the same line");
          }
          cell += rest.substr(0, quote);
          rest.remove_prefix(quote + 1);
          if (!rest.starts_with('"')) break;
          cell += '"';
          rest.remove_prefix(1);
        }
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (!without_spaces(rest.substr(0, comma)).empty()) {
          refuse_line(fmt::format("column {}", cells_.size() + 1),
                      "must have nothing between its second quotation mark and the comma");
        }
        rest.remove_prefix(comma);
      } else {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        cell = rest.substr(0, comma);
        rest.remove_prefix(comma);
      }
      cells_.emplace_back(without_spaces(cell));
      if (rest.empty()) return;
      rest.remove_prefix(1);
      // A header, or a row, has as many as signals and a few more.
      if (cells_.size() > Recording::kMostSignals + 5) {
        refuse_line(fmt::format("more than {} columns", cells_.size()),
                    "must not have as many columns");
      }
    }
  }

  void read_columns() {
    split();
    std::set<std::string> seen;
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const std::string& title = cells_[c];
      if (!seen.insert(title).second) refuse_cell(c, "must not be there twice");
      columns_.push_back({.title = title});
      RecordingColumn& column = columns_.back();
      if (title == "trajectory") {
        column.kind = Kind::trajectory;
      } else if (title == "step") {
        column.kind = Kind::step;
      } else if (title == "time [s]") {
        column.kind = Kind::time;
        has_time_ = true;
      } else if (title == "cost") {
        column.kind = Kind::cost;
      } else if (title == "end") {
        column.kind = Kind::end;
      } else if (title.starts_with(kStatePrefix)) {
        column.kind = Kind::state;
        recording_.states.push_back(signal_from_title(title.substr(kStatePrefix.size())));
      } else if (title.starts_with(kActionPrefix)) {
        column.kind = Kind::action;
        recording_.actions.push_back(signal_from_title(title.substr(kActionPrefix.size())));
      } else {
        refuse_cell(c,
                    "must be trajectory, step, time [s], \"state: NAME [UNIT]\", \"action: NAME "
                    "[UNIT]\", cost or end");
      }
    }
    for (const char* needed : {"trajectory", "step", "end"}) {
      if (seen.count(needed) == 0) {
        refuse_line("the names of the columns", fmt::format("must have \"{}\"", needed));
      }
    }
    if (has_time_ && std::isnan(recording_.dt_seconds)) {
      refuse_line("time [s]", "must not be there unless a line \"# dt: SECONDS s\" says the step");
    }
    // Wrong names are known before a long file is read.
    validate_read(recording_, fmt::format("{}, line {}", source_, lines_.number()));
  }

  double number(std::size_t column) const {
    const std::string& text = cells_[column];
    double value = 0;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error == std::errc::result_out_of_range && end == last) {
      refuse_cell(column, "must be a number that a double can hold");
    }
    if (error != std::errc() || end != last || !std::isfinite(value)) {
      refuse_cell(column, "must be a finite number");
    }
    return value;
  }

  void read_row() {
    split();
    if (cells_.size() != columns_.size()) {
      refuse_line(fmt::format("{} columns", cells_.size()),
                  fmt::format("must be {}, as many as have names", columns_.size()));
    }
    std::size_t step_column = 0, end_column = 0;
    std::optional<std::size_t> cost_column, time_column;
    std::size_t empty_actions = 0;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      switch (columns_[c].kind) {
        case Kind::trajectory:
          begin_trajectory_if_new(c);
          break;
        case Kind::step:
          step_column = c;
          break;
        case Kind::end:
          end_column = c;
          break;
        case Kind::cost:
          cost_column = c;
          break;
        case Kind::time:
          time_column = c;
          break;
        case Kind::action:
          empty_actions += cells_[c].empty() ? 1 : 0;
          break;
        case Kind::state:
          break;
      }
    }
    require_step(step_column);
    if (time_column) require_time(*time_column);
    const bool is_final = empty_actions == recording_.actions.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].kind == Kind::state) {
        states_.push_back(number(c));
      } else if (columns_[c].kind == Kind::action && !is_final) {
        actions_.push_back(number(c));
      }
    }
    if (!is_final) ++steps_;
    if (cost_column) read_cost(*cost_column, is_final);
    read_end(end_column, is_final);
    ++rows_;
    numbers_ += cells_.size();
    if (numbers_ > Recording::kMostNumbers) {
      refuse_line("more numbers",
                  fmt::format("must be at most {} in all", Recording::kMostNumbers));
    }
  }

  void begin_trajectory_if_new(std::size_t column) {
    const std::string& id = cells_[column];
    if (id.empty()) refuse_cell(column, "must not be empty");
    if (in_trajectory_ && id == id_) {
      if (end_) {
        refuse_cell(column,
                    fmt::format("must be another: this trajectory ended in line {}", last_line_));
      }
      return;
    }
    end_trajectory();
    if (recording_.trajectories.size() >= Recording::kMostTrajectories) {
      refuse_cell(column, fmt::format("must not be the name of trajectory {}",
                                      Recording::kMostTrajectories + 1));
    }
    if (!ids_.insert(id).second) {
      refuse_cell(column, "must not come back: the rows of a trajectory stand together");
    }
    in_trajectory_ = true;
    id_ = id;
  }

  void require_step(std::size_t column) const {
    const std::string& text = cells_[column];
    long step = -1;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, step);
    if (error != std::errc() || end != last || step != rows_) {
      refuse_cell(column, fmt::format("must be {}: steps count from 0 without a gap", rows_));
    }
  }

  void require_time(std::size_t column) {
    const double time = number(column);
    const double dt = recording_.dt_seconds;
    const double passed = time - last_time_;
    if (rows_ > 0 && !(passed > 0.5 * dt && passed < 1.5 * dt)) {
      refuse_cell(column, fmt::format("must be about {} s after the row before, where {} s have "
                                      "passed: a missing step cuts a trajectory short",
                                      dt, passed));
    }
    last_time_ = time;
  }

  void read_cost(std::size_t column, bool is_final) {
    const bool empty = cells_[column].empty();
    if (is_final) {
      if (!empty) refuse_cell(column, "must be empty where there is no action");
      return;
    }
    if (steps_ == 1) has_costs_ = !empty;
    if (empty == has_costs_) {
      refuse_cell(column, "must be there for all steps of a trajectory or for none");
    }
    if (!empty) costs_.push_back(number(column));
  }

  void read_end(std::size_t column, bool is_final) {
    const std::string& text = cells_[column];
    last_line_ = lines_.number();
    if (text.empty()) {
      if (is_final) {
        refuse_cell(column, fmt::format("{} in a row without actions, which is a trajectory's last",
                                        kEndRule));
      }
      return;
    }
    end_ = end_reason(text);
    if (!end_) refuse_cell(column, kEndRule);
  }

  void end_trajectory() {
    if (!in_trajectory_) return;
    if (!end_) {
      throw InvalidInput(fmt::format("{}, line {}, column \"end\"", source_, last_line_), "\"\"",
                         fmt::format("{} in the last row of a trajectory", kEndRule));
    }
    RecordedTrajectory t;
    if (id_ != std::to_string(recording_.trajectories.size())) t.name = id_;
    const auto matrix = [](const std::vector<double>& values, std::size_t rows, long columns) {
      return Eigen::Map<const Eigen::MatrixXd>(values.data(), static_cast<Eigen::Index>(rows),
                                               columns);
    };
    t.states = matrix(states_, recording_.states.size(), rows_);
    t.actions = matrix(actions_, recording_.actions.size(), steps_);
    // Without a step there is no cost to tell whether costs were recorded.
    if (has_costs_) {
      t.costs = Eigen::Map<const Eigen::VectorXd>(costs_.data(),
                                                  static_cast<Eigen::Index>(costs_.size()));
    }
    t.end = *end_;
    recording_.trajectories.push_back(std::move(t));
    states_.clear();
    actions_.clear();
    costs_.clear();
    rows_ = 0;
    steps_ = 0;
    has_costs_ = false;
    in_trajectory_ = false;
    end_.reset();
  }

  RecordingLines lines_;
  std::string source_;
  Recording recording_;
  std::vector<RecordingColumn> columns_;
  std::vector<std::string> cells_;  // of the present line
  bool has_time_ = false;
  std::set<std::string> ids_;
  std::size_t numbers_ = 0;

  // Of the present trajectory.
  bool in_trajectory_ = false;
  std::string id_;
  std::vector<double> states_, actions_, costs_;
  long rows_ = 0;
  long steps_ = 0;
  bool has_costs_ = false;
  double last_time_ = 0;
  long last_line_ = 0;
  std::optional<EndReason> end_;
};

/// In quotation marks where it needs them.
std::string cell_text(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

Recording read_recording_csv(std::string_view text, std::string_view source) {
  return RecordingCsvReader(text, source).read();
}

void write_recording_csv(const Recording& recording,
                         const std::function<void(std::string_view)>& write) {
  write(fmt::format("{}{}\n", kTitle, kRecordingVersion));
  if (!recording.machine.empty()) write(fmt::format("# machine: {}\n", recording.machine));
  if (!recording.policy.empty()) write(fmt::format("# policy: {}\n", recording.policy));
  std::string text;
  if (!std::isnan(recording.dt_seconds)) {
    text = "# dt: ";
    append_number(text, recording.dt_seconds);
    write(text + " s\n");
  }
  const bool with_costs = std::any_of(recording.trajectories.begin(), recording.trajectories.end(),
                                      [](const auto& t) { return t.costs.has_value(); });
  text = "trajectory,step";
  for (const Signal& s : recording.states) {
    text += ',' + cell_text(fmt::format("{} {} [{}]", kStatePrefix, s.name, s.unit));
  }
  for (const Signal& s : recording.actions) {
    text += ',' + cell_text(fmt::format("{} {} [{}]", kActionPrefix, s.name, s.unit));
  }
  write(text + (with_costs ? ",cost,end\n" : ",end\n"));
  for (std::size_t i = 0; i < recording.trajectories.size(); ++i) {
    const RecordedTrajectory& t = recording.trajectories[i];
    const std::string id = cell_text(t.name.empty() ? std::to_string(i) : t.name);
    for (Eigen::Index m = 0; m < t.states.cols(); ++m) {
      text = fmt::format("{},{}", id, m);
      for (Eigen::Index s = 0; s < t.states.rows(); ++s) {
        text += ',';
        append_number(text, t.states(s, m));
      }
      const bool is_step = m < t.actions.cols();
      for (std::size_t a = 0; a < recording.actions.size(); ++a) {
        text += ',';
        if (is_step) append_number(text, t.actions(static_cast<Eigen::Index>(a), m));
      }
      if (with_costs) {
        text += ',';
        if (is_step && t.costs) append_number(text, (*t.costs)(m));
      }
      text += ',';
      if (m + 1 == t.states.cols()) text += to_string(t.end);
      text += '\n';
      write(text);
    }
  }
}

}  // namespace lifeguard
