#pragma once

#include <Eigen/Core>
#include <iosfwd>
#include <string>
#include <string_view>

#include "lifeguard/core/per_action.hpp"

namespace lifeguard {

/// Named values as lines of text, "name rows columns value value …". Numbers are printed so that
/// reading gives back the same bits, so two states are equal if and only if their texts are.
class StateWriter {
 public:
  explicit StateWriter(std::ostream& out) : out_(out) {}
  void field(std::string_view name, double value);
  void field(std::string_view name, int value);
  void field(std::string_view name, long value);
  void field(std::string_view name, bool value);
  void field(std::string_view name, const std::string& value);
  void field(std::string_view name, const Eigen::MatrixXd& value);
  void field(std::string_view name, const Eigen::VectorXd& value);
  /// As a number if it is the same for all actions, else as a vector.
  void field(std::string_view name, const PerAction& value);

 private:
  std::ostream& out_;
};

/// Reads what StateWriter wrote, in the same order. Anything else throws InvalidInput that names
/// the field. Both have the same interface, so that one function describes a struct to both.
class StateReader {
 public:
  explicit StateReader(std::istream& in) : in_(in) {}
  void field(std::string_view name, double& value);
  void field(std::string_view name, int& value);
  void field(std::string_view name, long& value);
  void field(std::string_view name, bool& value);
  void field(std::string_view name, std::string& value);
  void field(std::string_view name, Eigen::MatrixXd& value);
  void field(std::string_view name, Eigen::VectorXd& value);
  void field(std::string_view name, PerAction& value);

 private:
  std::string line(std::string_view name);
  static void read_matrix(std::string_view name, std::string_view text, Eigen::MatrixXd& value);
  std::istream& in_;
};

}  // namespace lifeguard
