#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lifeguard {

/// A 128-bit hash of numbers and texts (XXH3-128 of xxHash, whose results are fixed since version
/// 0.8). It tells different parameters apart and finds damaged ones; it is no protection against
/// somebody who looks for two sets of parameters with the same hash.
///
/// Numbers go in as their eight bytes, least significant first, so 0 and -0 differ. Every piece is
/// preceded by its size, so that moving an entry from one matrix to the next changes the hash.
class Fingerprint {
 public:
  Fingerprint();
  ~Fingerprint();
  Fingerprint(const Fingerprint&) = delete;
  Fingerprint& operator=(const Fingerprint&) = delete;

  void add(double value);
  void add(std::string_view text);
  /// Rows, columns, then the entries column by column.
  void add(const Eigen::MatrixXd& matrix);
  void add(const Eigen::VectorXd& vector);

  /// 32 hexadecimal digits.
  std::string hex() const;

 private:
  void add_bytes(const void* data, std::size_t size);
  void add_size(std::uint64_t size);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lifeguard
