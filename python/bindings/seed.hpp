#pragma once

#include <cstdint>
#include <string>

#include "bindings/common.hpp"
#include "lifeguard/core/check.hpp"

namespace lifeguard::python {

/// A whole number of Python's for a seed or an index; one that is negative or too large is told by
/// what it is when it is asked for.
class Seed {
 public:
  Seed() = default;
  explicit Seed(std::uint64_t value) : value_(value) {}
  explicit Seed(std::string wrong) : wrong_(std::move(wrong)) {}

  std::uint64_t value(const char* field = "seed") const {
    require(wrong_.empty(), field, wrong_, "must be at least 0 and less than 2^64");
    return value_;
  }

 private:
  std::uint64_t value_ = 0;
  std::string wrong_;
};

}  // namespace lifeguard::python

namespace nanobind::detail {

template <>
struct type_caster<lifeguard::python::Seed> {
  using Seed = lifeguard::python::Seed;
  NB_TYPE_CASTER(Seed, const_name("int"))

  bool from_python(handle source, uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    const object whole = steal(PyNumber_Index(source.ptr()));
    if (!whole.is_valid()) {
      PyErr_Clear();
      return false;
    }
    const unsigned long long number = PyLong_AsUnsignedLongLong(whole.ptr());
    if (!PyErr_Occurred()) {
      value = Seed(static_cast<std::uint64_t>(number));
      return true;
    }
    PyErr_Clear();
    try {
      value = Seed(std::string(str(whole).c_str()));
    } catch (...) {  // Python writes no number of more than 4300 digits
      value = Seed(std::string("a number of thousands of digits"));
    }
    return true;
  }

  static handle from_cpp(const Seed& seed, rv_policy /*policy*/, cleanup_list* /*cleanup*/) {
    return PyLong_FromUnsignedLongLong(seed.value());
  }
};

}  // namespace nanobind::detail
