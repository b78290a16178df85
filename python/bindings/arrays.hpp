#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "bindings/common.hpp"

namespace lifeguard::python {

/// A size as NumPy counts it.
inline std::size_t size(int n) { return static_cast<std::size_t>(n); }

/// Whole numbers of any type.
using Counts1 = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu>;

/// A NumPy array over the memory of `owner`, which lives as long as the array does. Strides are in
/// numbers, not in bytes.
template <class Number>
nb::object view(Number* data, std::initializer_list<std::size_t> shape, nb::handle owner,
                std::initializer_list<std::int64_t> strides) {
  return nb::ndarray<nb::numpy, Number>(data, shape.size(), shape.begin(), owner, strides.begin())
      .cast();
}

/// A new NumPy array of doubles in C order that owns its memory.
class NewArray {
 public:
  explicit NewArray(std::vector<std::size_t> shape) : shape_(std::move(shape)) {
    std::size_t size = 1;
    for (const std::size_t n : shape_) size *= n;
    data_ = new double[size > 0 ? size : 1];  // NOLINT: the capsule below owns it
    owner_ = nb::capsule(data_, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  }
  double* data() { return data_; }
  nb::object finish() {
    return nb::ndarray<nb::numpy, double>(data_, shape_.size(), shape_.data(), owner_).cast();
  }

 private:
  std::vector<std::size_t> shape_;
  double* data_ = nullptr;
  nb::capsule owner_;
};

/// "gain 0", "gain 1", … for those who give no names.
inline std::vector<std::string> names_or_numbers(std::vector<std::string> names, long count,
                                                 const std::string& what) {
  if (names.empty()) {
    for (long i = 0; i < count; ++i) names.push_back(what + " " + std::to_string(i));
  }
  return names;
}

}  // namespace lifeguard::python
