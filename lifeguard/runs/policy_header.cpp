#include "lifeguard/runs/policy_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cmath>
#include <string_view>
#include <vector>

#include "lifeguard/runs/closed_loop_json.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/systems/signal_text.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

/// A literal of C and C++ that reads back to the same bits.
std::string literal(double value) {
  if (std::isinf(value)) return value > 0 ? "HUGE_VAL" : "-HUGE_VAL";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string literals(const Eigen::VectorXd& values) {
  std::vector<std::string> texts;
  for (const double v : values) texts.push_back(literal(v));
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

std::string identifier(const std::string& name) {
  std::string result;
  for (const char c : name) {
    result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return result.empty() || std::isdigit(static_cast<unsigned char>(result.front())) != 0
             ? "task_" + result
             : result;
}

/// On one line, so that no name can leave the comment it stands in.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\') c = ' ';
  }
  return text;
}

/// What the languages call the same things. Text between @ stands for a name of the header.
struct Dialect {
  HeaderLanguage language;
  std::string prefix;  // of every name

  bool is_c() const { return language == HeaderLanguage::c99; }
  std::string integer(std::string_view name, long value) const {
    return is_c() ? fmt::format("enum {{ @{}@ = {} }};\n", name, value)
                  : fmt::format("constexpr int @{}@ = {};\n", name, value);
  }
  std::string number(std::string_view name, std::string_view shape, std::string_view value) const {
    return fmt::format("{} double @{}@{} = {};\n", is_c() ? "static const" : "constexpr", name,
                       shape, value);
  }
  std::string function() const { return is_c() ? "static inline int" : "inline bool"; }

  /// With the names put in.
  std::string finish(const std::string& text) const {
    std::string result;
    bool name = false;
    for (const char c : text) {
      if (c != '@') {
        result += c;
        continue;
      }
      name = !name;
      if (name) result += prefix;
    }
    return result;
  }
};

std::string matrix_text(const Eigen::MatrixXd& matrix) {
  std::string rows = "{\n";
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    rows += fmt::format("    {},\n", literals(Eigen::VectorXd(matrix.row(i))));
  }
  return rows + "}";
}

/// What each gain is, one line for each action.
std::string gains_comment(const ExportedPolicy& p) {
  std::string text;
  const auto columns = static_cast<std::size_t>(p.gains.cols());
  for (std::size_t a = 0; a < static_cast<std::size_t>(p.gains.rows()); ++a) {
    std::vector<std::string> own(
        p.gain_meanings.begin() + static_cast<std::ptrdiff_t>(a * columns),
        p.gain_meanings.begin() + static_cast<std::ptrdiff_t>((a + 1) * columns));
    text +=
        fmt::format("// kGains[{}]: {}.\n", a, one_line(fmt::format("{}", fmt::join(own, ", "))));
  }
  return text;
}

/// The features of a policy that sees more than the state, as code; empty for one that does not.
std::string feature_code(const ExportedPolicy& p) {
  if (p.features.is_state_only()) return "";
  std::string code =
      "  double f[@kFeatures@];\n  int next = 0;\n"
      "  for (int i = 0; i < @kStates@; ++i) f[next++] = state[i] - @kGoal@[i];\n";
  if (p.features.bias) code += "  f[next++] = 1.0;\n";
  if (p.features.second_order) {
    code +=
        "  for (int i = 0; i < @kStates@; ++i) {\n"
        "    for (int j = i; j < @kStates@; ++j) f[next++] = f[i] * f[j];\n  }\n";
  }
  return code;
}

std::string meaning(const ExportedPolicy& p) {
  if (p.features.is_state_only()) return "u = K (x - goal), limited to the actuators' range.";
  return fmt::format("u = K f, limited to the actuators' range; f is e = x - goal{}{}.",
                     p.features.bias ? ", then 1" : "",
                     p.features.second_order ? ", then all e_i e_j with i <= j" : "");
}

/// The constants and the function of the guaranteed region, as code; empty without a closed loop.
std::string region_code(const ExportedPolicy& p, const Dialect& dialect) {
  if (p.closed_loop == nullptr) return "";
  const ClosedLoop& loop = *p.closed_loop;
  return fmt::format(
             R"(
// Proven of the {} machine, for all parameters in its tolerance and exploration noise up to
// kNoiseLimit: from every state with in_guaranteed_region() no state limit is ever passed and no
// action cut off, and without noise the distance to the goal shrinks by kDecay a step, measured by
// kNorm.{}
)",
             statement_text(loop), dialect.is_c() ? "" : " E.g. static_assert(kDecay < 0.995).") +
         dialect.number("kDecay", "", literal(loop.decay)) +
         dialect.number("kNorm", "[@kStates@][@kStates@]", matrix_text(loop.p)) +
         dialect.number("kStateLimits", "[@kStates@]", literals(loop.plant.state_limits)) +
         dialect.number("kNoiseLimit", "[@kActions@]", literals(loop.noise_limits)) +
         dialect.number("kStartLow", "[@kStates@]", literals(loop.start_low)) +
         dialect.number("kStartHigh", "[@kStates@]", literals(loop.start_high)) +
         fmt::format(R"(
/* (x - goal)' P (x - goal) <= 1, never by rounding alone. False for numbers that are not finite. */
{} @in_guaranteed_region@(const double state[@kStates@]) {{
  double sum = 0.0;
  double size = 0.0;
  for (int i = 0; i < @kStates@; ++i) {{
    const double from_goal = state[i] - @kGoal@[i];
    if (!@is_finite@(from_goal)) return 0;
    for (int j = 0; j < @kStates@; ++j) {{
      const double part = from_goal * @kNorm@[i][j] * (state[j] - @kGoal@[j]);
      sum += part;
      size += part < 0.0 ? -part : part;
    }}
  }}
  return sum <= 1.0 - 1e-13 * (1.0 + size);
}}
)",
                     dialect.function());
}

}  // namespace

std::string policy_to_header(const ExportedPolicy& p, HeaderLanguage language) {
  const std::string name = identifier(p.task);
  const Dialect dialect{language, language == HeaderLanguage::c99 ? name + "_" : ""};
  const bool state_only = p.features.is_state_only();
  const std::string inputs = p.own_features ? "@kFeatures@" : "@kStates@";
  const std::string input = p.own_features ? "features" : "state";
  const std::string size = state_only ? inputs : "@kFeatures@";
  const std::string safety =
      p.worst_row.empty()
          ? "It was learnt without constraints."
          : fmt::format(
                "Nearest constraint: {}{}, margin at least {:.3g}.", one_line(p.worst_row),
                p.worst_row_meaning.empty() ? "" : " (" + one_line(p.worst_row_meaning) + ")",
                p.margin);
  const std::string about = fmt::format(
      R"(// Policy of task "{task}", experiment "{experiment}" ({method}, seed {seed}, after round {round}).
// System {system}; {input}: {input_text}; action: {action_text}.
// {safety}
// Written by lifeguard {version}.
)",
      fmt::arg("task", one_line(p.task)), fmt::arg("experiment", one_line(p.experiment)),
      fmt::arg("method", one_line(p.method)), fmt::arg("seed", p.seed), fmt::arg("round", p.round),
      fmt::arg("system", p.system), fmt::arg("input", input),
      fmt::arg("input_text", one_line(signals_text(p.inputs))),
      fmt::arg("action_text", one_line(signals_text(p.actions))), fmt::arg("safety", safety),
      fmt::arg("version", kVersion));
  std::string text;
  if (dialect.is_c()) {
    text += fmt::format("#ifndef LIFEGUARD_POLICY_{0}\n#define LIFEGUARD_POLICY_{0}\n", name);
  } else {
    text += "#pragma once\n";
  }
  text += "\n#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n";
  if (!dialect.is_c()) text += fmt::format("namespace {} {{\n\n", name);
  text += dialect.integer(p.own_features ? "kFeatures" : "kStates", p.goal.size());
  if (!state_only) text += dialect.integer("kFeatures", p.gains.cols());
  text += dialect.integer("kActions", p.gains.rows());
  text += gains_comment(p);
  text += dialect.number("kGains", fmt::format("[@kActions@][{}]", size), matrix_text(p.gains));
  text += dialect.number("kGoal", fmt::format("[{}]", inputs), literals(p.goal));
  text += dialect.number("kActionLow", "[@kActions@]", literals(p.action_low));
  text += dialect.number("kActionHigh", "[@kActions@]", literals(p.action_high));
  text +=
      fmt::format("// Standard deviation of the exploration noise that it was learnt with: {}.\n",
                  one_line(signals_text(p.actions)));
  text += dialect.number("kSigma", "[@kActions@]", literals(p.sigma.values(p.gains.rows())));
  text += fmt::format(
      R"(
/* Neither infinite nor not a number; also where a compiler is told that there are none. */
{function} @is_finite@(double value) {{
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return ((bits >> 52) & 0x7ff) != 0x7ff;
}}

/* {meaning} False, and the actions nearest to zero, for a {input} that is not finite. */
{function} @act@(const double {input}[{inputs}], double action[@kActions@]) {{
  int valid = 1;
{features}  for (int a = 0; a < @kActions@; ++a) {{
    double u = 0.0;
    for (int i = 0; i < {size}; ++i) u += @kGains@[a][i] * {feature};
    if (!@is_finite@(u)) valid = 0;
    action[a] = u < @kActionLow@[a] ? @kActionLow@[a] : u > @kActionHigh@[a] ? @kActionHigh@[a] : u;
  }}
  for (int a = 0; !valid && a < @kActions@; ++a) {{
    action[a] = @kActionLow@[a] > 0.0 ? @kActionLow@[a] : @kActionHigh@[a] < 0.0 ? @kActionHigh@[a] : 0.0;
  }}
  return valid;
}}
)",
      fmt::arg("function", dialect.function()), fmt::arg("meaning", meaning(p)),
      fmt::arg("input", input), fmt::arg("inputs", inputs), fmt::arg("features", feature_code(p)),
      fmt::arg("size", size),
      fmt::arg("feature", state_only ? fmt::format("({}[i] - @kGoal@[i])", input) : "f[i]"));
  text += region_code(p, dialect);
  text += dialect.is_c() ? "\n#endif\n" : fmt::format("\n}}  // namespace {}\n", name);
  return about + dialect.finish(text);
}

}  // namespace lifeguard
