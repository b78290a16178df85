#include "lifeguard/runs/run_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "lifeguard/runs/followed_tasks.hpp"

namespace lifeguard {

static_assert(std::endian::native == std::endian::little, "blobs are little-endian numbers");

Cell to_cell(long value) { return static_cast<std::int64_t>(value); }
Cell to_cell(int value) { return static_cast<std::int64_t>(value); }
Cell to_cell(bool value) { return static_cast<std::int64_t>(value ? 1 : 0); }
Cell to_cell(double value) {
  if (std::isnan(value)) return std::monostate{};
  return value == 0 ? 0.0 : value;
}
Cell to_cell(const std::string& value) { return std::string_view(value); }
Cell to_cell(const Bytes& value) {
  return std::as_bytes(std::span(value.text.data(), value.text.size()));
}
Cell to_cell(const Eigen::VectorXd& value) {
  return std::as_bytes(std::span(value.data(), static_cast<std::size_t>(value.size())));
}
Cell to_cell(const Eigen::MatrixXd& value) {
  return std::as_bytes(std::span(value.data(), static_cast<std::size_t>(value.size())));
}
Cell to_cell(const std::vector<int>& value) { return std::as_bytes(std::span(value)); }
Cell to_cell(const PerAction& value) {
  return value.is_common() ? to_cell(value.of(0)) : to_cell(value.each());
}

namespace {

const char* kind_of(const Cell& cell) {
  constexpr std::array<const char*, 5> kKinds = {"nothing", "a whole number", "a number", "a text",
                                                 "bytes"};
  return kKinds[cell.index()];
}

/// The value of a kind, or the complaint that it is of another.
template <class Kind>
const Kind* taken(const Cell& cell, const char* wanted, std::string& complaint) {
  const Kind* value = std::get_if<Kind>(&cell);
  if (value == nullptr) complaint = fmt::format("is {}, must be {}", kind_of(cell), wanted);
  return value;
}

// No product of three sizes overflows, nor the sum of all counts that fit on a disk.
constexpr std::int64_t kLargestSize = 1000000;
constexpr std::int64_t kLargestCount = 4000000000;

std::string outside(std::int64_t value, Fit fit, const RunSizes& sizes) {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  switch (fit) {
    case Fit::not_negative:
    case Fit::positive:
      low = fit == Fit::positive ? 1 : 0;
      high = kLargestCount;
      break;
    case Fit::task:
      low = 0;
      high = sizes.tasks - 1;
      break;
    case Fit::task_or_none:
      low = -1;
      high = sizes.tasks - 1;
      break;
    case Fit::number_of_tasks:
      low = 0;
      high = sizes.tasks;
      break;
    case Fit::only_one:
      low = high = 1;
      break;
    case Fit::size:
    case Fit::size_or_none:
      low = fit == Fit::size ? 1 : 0;
      high = kLargestSize;
      break;
    default:
      break;
  }
  if (value >= low && value <= high) return "";
  return fmt::format("is {}, must lie in [{}, {}]", value, low, high);
}

template <class Whole>
std::string take_whole(const Cell& cell, Fit fit, const RunSizes& sizes, Whole& value) {
  std::string complaint;
  const auto* number = taken<std::int64_t>(cell, "a whole number", complaint);
  if (number == nullptr) return complaint;
  if (*number < std::numeric_limits<Whole>::min() || *number > std::numeric_limits<Whole>::max()) {
    return fmt::format("is {}, which is too large", *number);
  }
  value = static_cast<Whole>(*number);
  return outside(*number, fit, sizes);
}

struct Shape {
  long rows;
  long columns;
};

/// What a list or matrix must have; nothing where any length will do.
std::optional<Shape> shape_of(Fit fit, const RunSizes& sizes) {
  switch (fit) {
    case Fit::each_task:
      return Shape{sizes.tasks, 1};
    case Fit::each_column:
      if (sizes.basis < 0) return std::nullopt;
      return Shape{sizes.basis, 1};
    case Fit::each_state:
      return Shape{sizes.states, 1};
    case Fit::each_action:
      return Shape{sizes.actions, 1};
    case Fit::each_parameter:
      return Shape{sizes.parameters(), 1};
    case Fit::basis:
      return Shape{sizes.parameters(), sizes.basis};
    case Fit::coefficients:
      return Shape{sizes.basis, sizes.tasks};
    case Fit::anchors:
      return Shape{sizes.parameters(), sizes.tasks};
    case Fit::directions:
      return Shape{sizes.parameters(), std::min(kStoredDirections, sizes.parameters())};
    case Fit::covariance:
      return Shape{sizes.parameters() * (sizes.parameters() + 1) / 2, 1};
    case Fit::places:
      return Shape{kPlaceNumbers,
                   static_cast<long>(followed_tasks(sizes.tasks, sizes.parameters()).size())};
    default:
      return std::nullopt;
  }
}

bool must_be_finite(Fit fit) {
  return fit == Fit::each_parameter || fit == Fit::basis || fit == Fit::coefficients ||
         fit == Fit::anchors || fit == Fit::directions || fit == Fit::covariance ||
         fit == Fit::places;
}

std::string wrong_size(std::size_t bytes, std::size_t entry, const std::optional<Shape>& shape) {
  if (!shape) {
    return bytes % entry == 0
               ? ""
               : fmt::format("has {} bytes, must have a multiple of {}", bytes, entry);
  }
  const auto wanted = static_cast<std::size_t>(shape->rows * shape->columns) * entry;
  return bytes == wanted ? "" : fmt::format("has {} bytes, must have {}", bytes, wanted);
}

/// A list with entries for each task may be from a time when there were fewer.
std::string wrong_list(std::size_t bytes, std::size_t entry, Fit fit, const RunSizes& sizes) {
  const std::optional<Shape> shape = shape_of(fit, sizes);
  const bool of_tasks = fit == Fit::each_task || fit == Fit::places;
  if (!of_tasks || !sizes.grown) return wrong_size(bytes, entry, shape);
  const std::size_t most = static_cast<std::size_t>(shape->rows * shape->columns) * entry;
  const std::size_t each = fit == Fit::places ? kPlaceNumbers * entry : entry;
  if ((bytes > 0 || most == 0) && bytes <= most && bytes % each == 0) return "";
  return fmt::format("has {} bytes, must have a multiple of {}, at most {}", bytes, each, most);
}

template <class Values>
std::string take_numbers(const Cell& cell, Fit fit, const RunSizes& sizes, Values& values) {
  std::string complaint;
  const auto* bytes = taken<std::span<const std::byte>>(cell, "bytes", complaint);
  if (bytes == nullptr) return complaint;
  const std::optional<Shape> shape = shape_of(fit, sizes);
  complaint = wrong_list(bytes->size(), sizeof(double), fit, sizes);
  if (!complaint.empty()) return complaint;
  const auto count = static_cast<long>(bytes->size() / sizeof(double));
  if constexpr (Values::ColsAtCompileTime == 1) {
    values.resize(count);
  } else if (fit == Fit::places) {
    values.resize(kPlaceNumbers, count / kPlaceNumbers);
  } else {
    values.resize(shape ? shape->rows : count, shape ? shape->columns : 1);
  }
  if (!bytes->empty()) std::memcpy(values.data(), bytes->data(), bytes->size());
  if (must_be_finite(fit) && !values.allFinite()) return "holds a number that is not finite";
  return "";
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    // Eight letters of plain ASCII at once: most texts have no others.
    std::uint64_t eight = 0;
    if (i + sizeof(eight) <= text.size()) {
      std::memcpy(&eight, text.data() + i, sizeof(eight));
      if ((eight & 0x8080808080808080U) == 0) {
        i += sizeof(eight);
        continue;
      }
    }
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80             ? 1
                               : (lead & 0xe0) == 0xc0 ? 2
                               : (lead & 0xf0) == 0xe0 ? 3
                               : (lead & 0xf8) == 0xf0 ? 4
                                                       : 0;
    if (length == 0 || i + length > text.size()) return false;
    unsigned code = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (std::size_t j = 1; j < length; ++j) {
      const auto next = static_cast<unsigned char>(text[i + j]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3fU);
    }
    constexpr std::array<unsigned, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += length;
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string result(text);
  if (is_utf8(text)) return result;
  std::replace_if(
      result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; },
      '?');
  return result;
}

std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, long& value) {
  return take_whole(cell, fit, sizes, value);
}

std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, int& value) {
  return take_whole(cell, fit, sizes, value);
}

std::string from_cell(const Cell& cell, Fit /*fit*/, const RunSizes& sizes, bool& value) {
  int number = 0;
  std::string complaint = take_whole(cell, Fit::any, sizes, number);
  if (complaint.empty() && number != 0 && number != 1) {
    complaint = fmt::format("is {}, must be 0 or 1", number);
  }
  value = number == 1;
  return complaint;
}

std::string from_cell(const Cell& cell, Fit fit, const RunSizes& /*sizes*/, double& value) {
  value = std::numeric_limits<double>::quiet_NaN();
  if (std::holds_alternative<std::monostate>(cell) && fit == Fit::any) return "";
  std::string complaint;
  const auto* number = taken<double>(cell, "a number", complaint);
  if (number == nullptr) return complaint;
  value = *number;
  if (fit == Fit::positive && !(value > 0)) return fmt::format("is {}, must be above 0", value);
  return "";
}

std::string from_cell(const Cell& cell, Fit fit, const RunSizes& /*sizes*/, std::string& value) {
  std::string complaint;
  const auto* text = taken<std::string_view>(cell, "a text", complaint);
  if (text == nullptr) return complaint;
  if (!is_utf8(*text)) return "is not UTF-8";
  value = *text;
  if (fit == Fit::one_line) {
    if (value.empty()) return "is empty";
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (std::any_of(value.begin(), value.end(), control)) return "must be one line of plain text";
  }
  return "";
}

std::string from_cell(const Cell& cell, Fit /*fit*/, const RunSizes& /*sizes*/, Bytes& value) {
  std::string complaint;
  const auto* bytes = taken<std::span<const std::byte>>(cell, "bytes", complaint);
  if (bytes == nullptr) return complaint;
  value.text.resize(bytes->size());
  if (!bytes->empty()) std::memcpy(value.text.data(), bytes->data(), bytes->size());
  return "";
}

std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, Eigen::VectorXd& value) {
  return take_numbers(cell, fit, sizes, value);
}

std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, Eigen::MatrixXd& value) {
  return take_numbers(cell, fit, sizes, value);
}

std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, std::vector<int>& value) {
  std::string complaint;
  const auto* bytes = taken<std::span<const std::byte>>(cell, "bytes", complaint);
  if (bytes == nullptr) return complaint;
  complaint = wrong_list(bytes->size(), sizeof(int), fit, sizes);
  if (!complaint.empty()) return complaint;
  value.resize(bytes->size() / sizeof(int));
  if (!bytes->empty()) std::memcpy(value.data(), bytes->data(), bytes->size());
  return "";
}

std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, PerAction& value) {
  if (!std::holds_alternative<std::span<const std::byte>>(cell)) {
    double all = 0;
    std::string complaint = from_cell(cell, fit, sizes, all);
    value = all;
    return complaint;
  }
  Eigen::VectorXd each;
  std::string complaint = from_cell(cell, Fit::each_action, sizes, each);
  if (!complaint.empty()) return complaint;
  if (each.size() == 0) return "is empty";
  value = PerAction(std::move(each));
  return value.is_common() ? "has the same number for each action, must be that number" : "";
}

namespace {

bool near(double found, double expected, double tolerance) {
  if (std::bit_cast<std::uint64_t>(found) == std::bit_cast<std::uint64_t>(expected)) return true;
  if (tolerance == 0) return false;
  if (std::isnan(found) || std::isnan(expected)) return std::isnan(found) && std::isnan(expected);
  return found == expected ||
         std::abs(found - expected) <= tolerance * std::max(std::abs(found), std::abs(expected));
}

std::string shown(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string_view>(&cell)) {
    constexpr std::size_t kLongest = 60;
    return fmt::format("\"{}{}\"", text->substr(0, kLongest), text->size() > kLongest ? "…" : "");
  }
  if (const auto* bytes = std::get_if<std::span<const std::byte>>(&cell)) {
    return fmt::format("{} bytes", bytes->size());
  }
  return "nothing";
}

std::string difference_of_bytes(std::span<const std::byte> found,
                                std::span<const std::byte> expected, double tolerance) {
  if (found.size() == expected.size() && std::equal(found.begin(), found.end(), expected.begin())) {
    return "";
  }
  if (found.size() != expected.size() || found.size() % sizeof(double) != 0) {
    return fmt::format("is {} bytes instead of {} others", found.size(), expected.size());
  }
  for (std::size_t i = 0; i < found.size(); i += sizeof(double)) {
    double a = 0;
    double b = 0;
    std::memcpy(&a, found.data() + i, sizeof(double));
    std::memcpy(&b, expected.data() + i, sizeof(double));
    if (near(a, b, tolerance)) continue;
    // A text or whole numbers, seen as doubles, say nothing to a reader.
    const auto plausible = [](double x) { return x == 0 || std::abs(std::log2(std::abs(x))) < 99; };
    return plausible(a) && plausible(b)
               ? fmt::format("has {} instead of {} at place {}", a, b, i / sizeof(double))
               : fmt::format("differs from byte {} on", i);
  }
  return "";
}

}  // namespace

std::string difference(const Cell& found, const Cell& expected, double tolerance) {
  if (found.index() == expected.index()) {
    if (const auto* number = std::get_if<double>(&found)) {
      if (near(*number, std::get<double>(expected), tolerance)) return "";
    } else if (const auto* bytes = std::get_if<std::span<const std::byte>>(&found)) {
      return difference_of_bytes(*bytes, std::get<std::span<const std::byte>>(expected), tolerance);
    } else if (const auto* whole = std::get_if<std::int64_t>(&found)) {
      if (*whole == std::get<std::int64_t>(expected)) return "";
    } else if (const auto* text = std::get_if<std::string_view>(&found)) {
      if (*text == std::get<std::string_view>(expected)) return "";
    } else {
      return "";
    }
  }
  return fmt::format("is {} instead of {}", shown(found), shown(expected));
}

}  // namespace lifeguard
