#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lifeguard/core/per_action.hpp"

namespace lifeguard {

/// A value as a database holds it, seen without a copy: nothing, a whole number, a number, a text,
/// bytes. What is not a number (NaN) is nothing, and -0 is 0: SQLite keeps neither.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string_view,
                          std::span<const std::byte>>;

/// Bytes that are no numbers to us.
struct Bytes {
  std::string text;
};

/// What a run's header says of the sizes of all that follows.
struct RunSizes {
  long tasks = 0;
  long states = 0;
  long features = 0;  // that a policy sees
  long actions = 0;
  long basis = 0;  // k; 0 for methods without a basis, -1 if it is not known
  /// Tasks were added on the way: what has one number for each may have fewer.
  bool grown = false;

  long parameters() const { return features * actions; }
};

/// What a value must be, beyond its type.
enum class Fit {
  any,
  // a whole number
  not_negative,
  positive,
  task,             // 0, …, T - 1
  task_or_none,     // the same or -1
  number_of_tasks,  // 0, …, T
  only_one,         // 1: the key of a table with one row
  size,             // 1, …, a million
  size_or_none,     // the same or 0
  // a text
  one_line,
  // a list of numbers
  each_task,
  each_column,  // of L
  each_state,
  each_action,
  each_parameter,  // finite
  // a matrix of finite numbers
  basis,         // d × k
  coefficients,  // k × T
  anchors,       // d × T
  directions,    // d × the number of directions that are stored
  covariance,    // d × d, its lower half column by column
  places,        // five numbers for each task that is followed (followed_tasks.hpp)
};

/// Whether the text is UTF-8, as SQLite and JSON take it to be; and what can be kept of it if not.
bool is_utf8(std::string_view text);
std::string as_utf8(std::string_view text);

Cell to_cell(long value);
Cell to_cell(int value);
Cell to_cell(bool value);
Cell to_cell(double value);
Cell to_cell(const std::string& value);
Cell to_cell(const Bytes& value);
Cell to_cell(const Eigen::VectorXd& value);
Cell to_cell(const Eigen::MatrixXd& value);
Cell to_cell(const std::vector<int>& value);
/// A number if it is the same for all actions, else bytes with one for each.
Cell to_cell(const PerAction& value);

/// Each takes a cell over and gives back what is wrong with it: "has 15 bytes, must have 16". Empty
/// if nothing is.
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, long& value);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, int& value);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, bool& value);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, double& value);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, std::string& value);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, Bytes& value);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, Eigen::VectorXd& value);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, Eigen::MatrixXd& value);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, std::vector<int>& value);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, PerAction& value);

/// "is 7 instead of 0"; empty if both are the same to the bit, or, with a tolerance, if all numbers
/// in them agree to that part of the larger one.
std::string difference(const Cell& found, const Cell& expected, double tolerance = 0);

/// One column of a table and the member of a row that it stores.
template <class Row>
struct Column {
  std::string_view name;
  std::string_view type;  // in SQL
  std::function<Cell(const Row&)> get;
  std::function<std::string(Row&, const Cell&, const RunSizes&)> set;
  int since = 1;  // the schema version that brought it

  Column added_in(int version) && {
    since = version;
    return std::move(*this);
  }
};

template <class Value>
constexpr std::string_view sql_type() {
  // SQLite keeps bytes in a column for numbers as they are.
  if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, PerAction>) return "REAL";
  if constexpr (std::is_integral_v<Value>) return "INTEGER NOT NULL";
  if constexpr (std::is_same_v<Value, std::string> || std::is_enum_v<Value>) return "TEXT NOT NULL";
  return "BLOB NOT NULL";
}

/// The column of a member, or of a member's member …
template <class Row, class First, class... More>
Column<Row> column(std::string_view name, Fit fit, First Row::*first, More... more) {
  const auto member = [ first, more... ](auto& row) -> auto& { return ((row.*first).*....*more); };
  using Value = std::remove_cvref_t<decltype(member(std::declval<Row&>()))>;
  return {name, sql_type<Value>(), [member](const Row& row) { return to_cell(member(row)); },
          [member, fit](Row& row, const Cell& cell, const RunSizes& sizes) {
            return from_cell(cell, fit, sizes, member(row));
          }};
}

/// A table of a run file. Schema, writing, reading, comparing and checksums all walk its columns:
/// whoever stores one more number adds one line.
template <class Row>
struct Table {
  std::string_view name;
  std::vector<Column<Row>> columns;  // the first one is the key
  int since = 1;
};

template <class Row>
std::string create_sql(const Table<Row>& table) {
  std::string sql = "CREATE TABLE " + std::string(table.name) + " (";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column<Row>& column = table.columns[i];
    if (i > 0) sql += ", ";
    sql += column.name;
    sql += ' ';
    // A key that is exactly this is the row's number itself and needs no index.
    sql += i == 0 && column.type.starts_with("INTEGER") ? "INTEGER" : column.type;
    if (i == 0) sql += " PRIMARY KEY";
  }
  return sql + ")";
}

/// A row with the same key is replaced if `replace` says so, and an error otherwise.
template <class Row>
std::string insert_sql(const Table<Row>& table, bool replace) {
  std::string names;
  std::string places;
  for (const Column<Row>& column : table.columns) {
    if (!names.empty()) names += ',';
    names += column.name;
    places += places.empty() ? "?" : ",?";
  }
  return std::string(replace ? "INSERT OR REPLACE INTO " : "INSERT INTO ") +
         std::string(table.name) + " (" + names + ") VALUES (" + places + ")";
}

/// The columns that a file of this schema version has, of all rows or of those from a key on.
template <class Row>
std::string select_sql(const Table<Row>& table, int version, bool from_key) {
  std::string names;
  for (const Column<Row>& column : table.columns) {
    if (column.since > version) continue;
    if (!names.empty()) names += ',';
    names += column.name;
  }
  const std::string key(table.columns.front().name);
  return "SELECT " + names + " FROM " + std::string(table.name) +
         (from_key ? " WHERE " + key + " >= ?" : "") + " ORDER BY " + key;
}

}  // namespace lifeguard
