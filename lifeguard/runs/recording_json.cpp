#include "lifeguard/runs/recording_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/json_input.hpp"
#include "lifeguard/runs/recording_file.hpp"
#include "lifeguard/runs/recording_text.hpp"

namespace lifeguard {
namespace {

constexpr std::string_view kRecordingFormat = "lifeguard trajectories";

class RecordingJsonReader {
 public:
  RecordingJsonReader(std::string_view text, std::string_view source)
      : lines_(text), source_(source) {}

  Recording read() {
    if (!lines_.next()) {
      throw InvalidInput(source_, "nothing",
                         fmt::format("must begin with a line that has the key "
                                     "\"format\": \"{}\"",
                                     kRecordingFormat));
    }
    with_place([&] { read_header(); });
    while (lines_.next()) with_place([&] { read_trajectory(); });
    validate_read(recording_, source_);
    return std::move(recording_);
  }

 private:
  using Json = nlohmann::json;

  /// What is wrong in this line says so.
  template <class Action>
  void with_place(const Action& action) const {
    try {
      action();
    } catch (const InvalidInput& error) {
      throw InvalidInput(fmt::format("{}, line {}: {}", source_, lines_.number(), error.field()),
                         error.value(), error.rule());
    }
  }

  Json object(std::initializer_list<std::string_view> keys) const {
    InputLimits limits;
    limits.bytes = kMostRecordingLineBytes;
    limits.depth = 4;
    Json line = parse_json(lines_.line(), limits);
    require(line.is_object(), "input", shown(line), "must be an object");
    for (const auto& [key, value] : line.items()) {
      require(std::find(keys.begin(), keys.end(), key) != keys.end(), shown(std::string_view(key)),
              shown(value), fmt::format("must be one of the keys {}", fmt::join(keys, ", ")));
    }
    return line;
  }

  static const Json& need(const Json& object, const char* key) {
    const auto found = object.find(key);
    require(found != object.end(), key, "nothing", "must be there");
    return *found;
  }

  static std::string text_of(const std::string& path, const Json& value) {
    require(value.is_string(), path, shown(value), "must be a text");
    return value.get<std::string>();
  }
  static std::string text_or_nothing(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? "" : text_of(key, *found);
  }

  static double number_of(const std::string& path, const Json& value) {
    require(value.is_number(), path, shown(value), "must be a number");
    return value.get<double>();
  }

  static void require_list(const std::string& path, const Json& value) {
    require(value.is_array(), path, shown(value), "must be a list");
  }

  void read_header() {
    const Json line =
        object({"format", "version", "machine", "policy", "dt_seconds", "states", "actions"});
    const Json& format = need(line, "format");
    require(format == std::string(kRecordingFormat), "format", shown(format),
            fmt::format("must be \"{}\"", kRecordingFormat));
    const Json& version = need(line, "version");
    require(version == kRecordingVersion, "version", shown(version),
            fmt::format("must be {}, which is all that this program reads", kRecordingVersion));
    recording_.machine = text_or_nothing(line, "machine");
    recording_.policy = text_or_nothing(line, "policy");
    const auto dt = line.find("dt_seconds");
    if (dt != line.end() && !dt->is_null()) {
      recording_.dt_seconds = number_of("dt_seconds", *dt);
      require_positive("dt_seconds", recording_.dt_seconds);
    }
    recording_.states = signals("states", need(line, "states"));
    recording_.actions = signals("actions", need(line, "actions"));
    recording_.validate();
  }

  static std::vector<Signal> signals(const std::string& path, const Json& list) {
    require_list(path, list);
    std::vector<Signal> signals;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string place = fmt::format("{}[{}]", path, i);
      require(list[i].is_object(), place, shown(list[i]), "must be an object");
      for (const auto& [key, value] : list[i].items()) {
        require(key == "name" || key == "unit", place + "." + shown(std::string_view(key)),
                shown(value), "must be one of the keys name, unit");
      }
      const auto unit = list[i].find("unit");
      signals.push_back({text_of(place + ".name", need(list[i], "name")),
                         unit == list[i].end() ? "" : text_of(place + ".unit", *unit)});
    }
    return signals;
  }

  void read_trajectory() {
    require(recording_.trajectories.size() < Recording::kMostTrajectories, "input",
            "another trajectory",
            fmt::format("must have at most {} trajectories", Recording::kMostTrajectories));
    const Json line = object({"name", "states", "actions", "costs", "end"});
    const std::string number = std::to_string(recording_.trajectories.size());
    RecordedTrajectory t;
    t.name = text_or_nothing(line, "name");
    if (t.name == number) t.name.clear();
    require(names_.insert(t.name.empty() ? number : t.name).second, "name",
            t.name.empty() ? number : t.name, "must not be another trajectory's name or number");
    t.states = matrix("states", need(line, "states"), recording_.states.size());
    t.actions = matrix("actions", need(line, "actions"), recording_.actions.size());
    const auto costs = line.find("costs");
    if (costs != line.end() && !costs->is_null()) {
      require_list("costs", *costs);
      t.costs.emplace(static_cast<Eigen::Index>(costs->size()));
      for (std::size_t m = 0; m < costs->size(); ++m) {
        (*t.costs)(static_cast<Eigen::Index>(m)) =
            number_of(fmt::format("costs[{}]", m), (*costs)[m]);
      }
      // Without a step there is nothing to say.
      if (costs->empty() && t.actions.cols() == 0) t.costs.reset();
    }
    const std::string end = text_of("end", need(line, "end"));
    const std::optional<EndReason> reason = end_reason(end);
    require(reason.has_value(), "end", shown(std::string_view(end)), kEndRule);
    t.end = *reason;
    numbers_ += static_cast<std::size_t>(t.states.size() + t.actions.size() +
                                         (t.costs ? t.costs->size() : 0));
    require(numbers_ <= Recording::kMostNumbers, "input", "more numbers",
            fmt::format("must be at most {} in all", Recording::kMostNumbers));
    recording_.trajectories.push_back(std::move(t));
    recording_.validate_trajectory(recording_.trajectories.size() - 1);
  }

  /// One list for each step becomes one column.
  static Eigen::MatrixXd matrix(const std::string& path, const Json& list, std::size_t rows) {
    require_list(path, list);
    Eigen::MatrixXd values(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(list.size()));
    for (std::size_t m = 0; m < list.size(); ++m) {
      const Json& step = list[m];
      // Texts for messages cost more than the numbers: they are made when there is something to
      // say.
      const auto place = [&] { return fmt::format("{}[{}]", path, m); };
      if (!step.is_array()) require_list(place(), step);
      if (step.size() != rows) {
        throw InvalidInput(place(), fmt::format("{} numbers", step.size()),
                           fmt::format("must have {}, one for each of the {}", rows, path));
      }
      for (std::size_t s = 0; s < rows; ++s) {
        const Json& value = step[s];
        values(static_cast<Eigen::Index>(s), static_cast<Eigen::Index>(m)) =
            value.is_number() ? value.get<double>()
                              : number_of(fmt::format("{}[{}]", place(), s), value);
      }
    }
    return values;
  }

  RecordingLines lines_;
  std::string source_;
  Recording recording_;
  std::set<std::string> names_;
  std::size_t numbers_ = 0;
};

void append_columns(std::string& text, const Eigen::MatrixXd& values) {
  text += '[';
  for (Eigen::Index m = 0; m < values.cols(); ++m) {
    text += m == 0 ? "[" : ",[";
    for (Eigen::Index s = 0; s < values.rows(); ++s) {
      if (s > 0) text += ',';
      append_number(text, values(s, m));
    }
    text += ']';
  }
  text += ']';
}

std::string recorded_signals_json(const std::vector<Signal>& signals) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Signal& signal : signals)
    list.push_back({{"name", signal.name}, {"unit", signal.unit}});
  return list.dump();
}

}  // namespace

Recording read_recording_json(std::string_view text, std::string_view source) {
  return RecordingJsonReader(text, source).read();
}

void write_recording_json(const Recording& recording,
                          const std::function<void(std::string_view)>& write) {
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::string line =
      fmt::format(R"({{"format":"{}","version":{})", kRecordingFormat, kRecordingVersion);
  if (!recording.machine.empty()) line += ",\"machine\":" + quoted(recording.machine);
  if (!recording.policy.empty()) line += ",\"policy\":" + quoted(recording.policy);
  if (!std::isnan(recording.dt_seconds)) {
    line += ",\"dt_seconds\":";
    append_number(line, recording.dt_seconds);
  }
  line += ",\"states\":" + recorded_signals_json(recording.states);
  line += ",\"actions\":" + recorded_signals_json(recording.actions);
  write(line + "}\n");
  for (const RecordedTrajectory& t : recording.trajectories) {
    line = "{";
    if (!t.name.empty()) line += "\"name\":" + quoted(t.name) + ",";
    line += "\"states\":";
    append_columns(line, t.states);
    line += ",\"actions\":";
    append_columns(line, t.actions);
    if (t.costs && t.steps() > 0) {
      line += ",\"costs\":[";
      for (Eigen::Index m = 0; m < t.costs->size(); ++m) {
        if (m > 0) line += ',';
        append_number(line, (*t.costs)(m));
      }
      line += ']';
    }
    line += fmt::format(",\"end\":\"{}\"}}\n", to_string(t.end));
    require(line.size() <= kMostRecordingLineBytes, "trajectory",
            fmt::format("{} bytes", line.size()),
            fmt::format("must have at most {} as a line of JSON", kMostRecordingLineBytes));
    write(line);
  }
}

}  // namespace lifeguard
