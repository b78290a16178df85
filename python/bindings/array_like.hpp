#pragma once

// What Python gives as numbers: NumPy arrays of any type of number, order and strides, read-only or
// not, lists and tuples. Complex numbers, texts and objects are refused. What Python gets are
// arrays of its own in C order.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <Eigen/Core>
#include <cstdint>
#include <string>

namespace lifeguard::python {

/// Numbers with so many dimensions, to be read only.
template <int kDimensions>
struct ArrayLike
    : nanobind::ndarray<const double, nanobind::ndim<kDimensions>, nanobind::device::cpu> {
  using Base = nanobind::ndarray<const double, nanobind::ndim<kDimensions>, nanobind::device::cpu>;
  using Base::Base;
  ArrayLike() = default;
  explicit ArrayLike(Base base) : Base(std::move(base)) {}
};

using Numbers1 = ArrayLike<1>;
using Numbers2 = ArrayLike<2>;
using Numbers3 = ArrayLike<3>;

/// An array of doubles made from something else; an invalid object if it is not numbers.
inline nanobind::object made_array(nanobind::handle source) noexcept {
  namespace nb = nanobind;
  try {
    const bool listed = nb::isinstance<nb::list>(source) || nb::isinstance<nb::tuple>(source);
    if (!listed && !nb::hasattr(source, "dtype")) return {};
    const nb::object numpy = nb::module_::import_("numpy");
    const nb::object array = numpy.attr("asarray")(source);
    const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    // An empty list has no type of its own.
    if (kind != "f" && kind != "i" && kind != "u" && kind != "b") return {};
    return array.attr("astype")("float64");
  } catch (nb::python_error&) {
    return {};
  } catch (...) {
    return {};
  }
}

}  // namespace lifeguard::python

namespace nanobind::detail {

template <int kDimensions>
struct type_caster<lifeguard::python::ArrayLike<kDimensions>> {
  using Array = lifeguard::python::ArrayLike<kDimensions>;
  NB_TYPE_CASTER(Array, const_name("numpy.typing.ArrayLike"))

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<typename Array::Base> caster;
    if (caster.from_python(source, 0, cleanup)) {
      value = Array(std::move(caster.value));
      return true;
    }
    if ((flags & cast_flags::convert) == 0) return false;
    const object made = lifeguard::python::made_array(source);
    if (!made.is_valid() || !caster.from_python(made, 0, cleanup)) return false;
    value = Array(std::move(caster.value));
    return true;
  }
};

template <>
struct type_caster<Eigen::VectorXd> {
  NB_TYPE_CASTER(Eigen::VectorXd, const_name("numpy.ndarray"))

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<lifeguard::python::Numbers1> caster;
    if (!caster.from_python(source, flags, cleanup)) return false;
    const auto& from = caster.value;
    value.resize(static_cast<Eigen::Index>(from.shape(0)));
    for (std::size_t i = 0; i < from.shape(0); ++i) value(static_cast<Eigen::Index>(i)) = from(i);
    return true;
  }
  static handle from_cpp(const Eigen::VectorXd& from, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    auto* copy = new Eigen::VectorXd(from);  // NOLINT: the capsule owns it
    const capsule owner(copy, [](void* p) noexcept { delete static_cast<Eigen::VectorXd*>(p); });
    const std::size_t shape[1] = {static_cast<std::size_t>(copy->size())};
    return ndarray<numpy, double>(copy->data(), 1, shape, owner).cast().release();
  }
};

template <>
struct type_caster<Eigen::MatrixXd> {
  NB_TYPE_CASTER(Eigen::MatrixXd, const_name("numpy.ndarray"))

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<lifeguard::python::Numbers2> caster;
    if (!caster.from_python(source, flags, cleanup)) return false;
    const auto& from = caster.value;
    value.resize(static_cast<Eigen::Index>(from.shape(0)),
                 static_cast<Eigen::Index>(from.shape(1)));
    for (std::size_t i = 0; i < from.shape(0); ++i) {
      for (std::size_t j = 0; j < from.shape(1); ++j) {
        value(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = from(i, j);
      }
    }
    return true;
  }
  static handle from_cpp(const Eigen::MatrixXd& from, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    auto* copy = new RowMajor(from);  // NOLINT: the capsule owns it
    const capsule owner(copy, [](void* p) noexcept { delete static_cast<RowMajor*>(p); });
    const std::size_t shape[2] = {static_cast<std::size_t>(copy->rows()),
                                  static_cast<std::size_t>(copy->cols())};
    return ndarray<numpy, double>(copy->data(), 2, shape, owner).cast().release();
  }
};

}  // namespace nanobind::detail
