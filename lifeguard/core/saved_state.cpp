#include "lifeguard/core/saved_state.hpp"

#include <fmt/format.h>

#include <charconv>
#include <istream>
#include <iterator>
#include <ostream>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

namespace {

template <class Number>
Number next_number(std::string_view name, std::string_view& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool separated = end == text.data() + text.size() || *end == ' ';
  require(error == std::errc() && separated, name, text.substr(0, text.find(' ')),
          "must be a number");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return value;
}

void require_end(std::string_view name, std::string_view text) {
  require(text.empty(), name, text, "must end here");
}

}  // namespace

void StateWriter::field(std::string_view name, double value) {
  out_ << fmt::format("{} {}\n", name, value);
}
void StateWriter::field(std::string_view name, int value) {
  out_ << fmt::format("{} {}\n", name, value);
}
void StateWriter::field(std::string_view name, long value) {
  out_ << fmt::format("{} {}\n", name, value);
}
void StateWriter::field(std::string_view name, bool value) {
  out_ << fmt::format("{} {}\n", name, value ? 1 : 0);
}
void StateWriter::field(std::string_view name, const std::string& value) {
  require(value.find('\n') == std::string::npos, name, value, "must be one line");
  out_ << fmt::format("{} {}\n", name, value);
}
void StateWriter::field(std::string_view name, const Eigen::MatrixXd& value) {
  std::string text = fmt::format("{} {} {}", name, value.rows(), value.cols());
  for (Eigen::Index i = 0; i < value.size(); ++i) {
    fmt::format_to(std::back_inserter(text), " {}", value.data()[i]);
  }
  out_ << text << '\n';
}
void StateWriter::field(std::string_view name, const Eigen::VectorXd& value) {
  field(name, Eigen::MatrixXd(value));
}

void StateWriter::field(std::string_view name, const PerAction& value) {
  if (value.is_common()) {
    field(name, value.of(0));
  } else {
    field(name, value.each());
  }
}

std::string StateReader::line(std::string_view name) {
  std::string text;
  require(static_cast<bool>(std::getline(in_, text)), name, "end of file", "must be present");
  require(text.size() > name.size() && text.compare(0, name.size(), name) == 0 &&
              text[name.size()] == ' ',
          "saved state", text.substr(0, text.find(' ')), fmt::format("must be \"{}\" here", name));
  return text.substr(name.size() + 1);
}

void StateReader::field(std::string_view name, double& value) {
  const std::string text = line(name);
  std::string_view rest = text;
  value = next_number<double>(name, rest);
  require_end(name, rest);
}
void StateReader::field(std::string_view name, int& value) {
  const std::string text = line(name);
  std::string_view rest = text;
  value = next_number<int>(name, rest);
  require_end(name, rest);
}
void StateReader::field(std::string_view name, long& value) {
  const std::string text = line(name);
  std::string_view rest = text;
  value = next_number<long>(name, rest);
  require_end(name, rest);
}
void StateReader::field(std::string_view name, bool& value) {
  int number = 0;
  field(name, number);
  require(number == 0 || number == 1, name, number, "must be 0 or 1");
  value = number == 1;
}
void StateReader::field(std::string_view name, std::string& value) { value = line(name); }
void StateReader::field(std::string_view name, Eigen::MatrixXd& value) {
  read_matrix(name, line(name), value);
}
void StateReader::read_matrix(std::string_view name, std::string_view text,
                              Eigen::MatrixXd& value) {
  std::string_view rest = text;
  const long rows = next_number<long>(name, rest);
  const long columns = next_number<long>(name, rest);
  // Every number takes a space and a character at least, so a damaged size cannot ask for more
  // memory than the line is long.
  constexpr long kMost = 1L << 30;
  require(rows >= 0 && columns >= 0 && rows <= kMost && columns <= kMost &&
              rows * columns <= static_cast<long>(text.size()),
          name, fmt::format("{} x {}", rows, columns),
          "must be the size of the values that follow");
  value.resize(rows, columns);
  for (Eigen::Index i = 0; i < value.size(); ++i) {
    value.data()[i] = next_number<double>(name, rest);
    require_finite(name, value.data()[i]);
  }
  require_end(name, rest);
}
void StateReader::field(std::string_view name, Eigen::VectorXd& value) {
  Eigen::MatrixXd matrix;
  field(name, matrix);
  require(matrix.cols() == 1, name, static_cast<double>(matrix.cols()), "must be one column");
  value = matrix.col(0);
}
void StateReader::field(std::string_view name, PerAction& value) {
  const std::string text = line(name);
  std::string_view rest = text;
  if (text.find(' ') == std::string::npos) {
    value = next_number<double>(name, rest);
    require_end(name, rest);
    return;
  }
  Eigen::MatrixXd matrix;
  read_matrix(name, text, matrix);
  require(matrix.cols() == 1, name, static_cast<double>(matrix.cols()), "must be one column");
  value = PerAction(matrix.col(0));
}

}  // namespace lifeguard
