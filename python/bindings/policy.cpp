#include "lifeguard/policy/policy.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/sigma.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/clipped_noise.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard::python {
namespace {

/// K Φ for every row Φ of a batch, into an array of the same order.
nb::object mean_actions(const GaussianPolicy& policy, const Numbers2& features) {
  require_size("features.shape[1]", static_cast<long>(features.shape(1)), policy.features());
  const std::size_t count = features.shape(0);
  NewArray out({count, static_cast<std::size_t>(policy.actions())});
  double* next = out.data();
  for (std::size_t i = 0; i < count; ++i) {
    for (int a = 0; a < policy.actions(); ++a) {
      double sum = 0;
      for (int f = 0; f < policy.features(); ++f) {
        sum += policy.gains()(a, f) * features(i, static_cast<std::size_t>(f));
      }
      *next++ = sum;
    }
  }
  return out.finish();
}

nb::object mean_action(const GaussianPolicy& policy, const Numbers1& features) {
  require_size("features", static_cast<long>(features.shape(0)), policy.features());
  NewArray out({static_cast<std::size_t>(policy.actions())});
  for (int a = 0; a < policy.actions(); ++a) {
    double sum = 0;
    for (int f = 0; f < policy.features(); ++f) {
      sum += policy.gains()(a, f) * features(static_cast<std::size_t>(f));
    }
    out.data()[a] = sum;
  }
  return out.finish();
}

/// Adds noise from a NumPy generator, clipped as the simulators clip it.
nb::object with_noise(const GaussianPolicy& policy, const nb::object& mean,
                      const nb::object& generator, double noise_limit) {
  if (!nb::hasattr(generator, "standard_normal")) {
    throw nb::type_error(
        "generator must be a numpy.random.Generator: numpy.random.default_rng(seed)");
  }
  const nb::object noise = generator.attr("standard_normal")(mean.attr("shape"));
  if (std::isinf(noise_limit)) return mean + noise * nb::cast(sigma_of(policy));
  const nb::object scaled = noise * nb::cast(clipped_scale(sigma_of(policy), noise_limit));
  return mean + scaled.attr("clip")(-noise_limit, noise_limit);
}

}  // namespace

void bind_policies(nb::module_& module) {
  nb::class_<Features>(module, "Features", doc("Features"))
      .def(
          "__init__",
          [](Features* self, bool bias, bool second_order) {
            new (self) Features{bias, second_order};
          },
          "bias"_a = false, "second_order"_a = false)
      .def_ro("bias", &Features::bias)
      .def_ro("second_order", &Features::second_order)
      .def("count", &Features::count, "states"_a, doc("Features::count"))
      .def("evaluate", &Features::evaluate, "state"_a, "goal"_a, doc("Features::evaluate"))
      .def(nb::self == nb::self)
      .def("__getstate__",
           [](const Features& self) { return std::pair(self.bias, self.second_order); })
      .def("__setstate__",
           [](Features& self, const std::pair<bool, bool>& state) {
             new (&self) Features{state.first, state.second};
           })
      .def("__repr__", [](const Features& self) {
        return fmt::format("Features(bias={}, second_order={})", self.bias ? "True" : "False",
                           self.second_order ? "True" : "False");
      });

  nb::class_<GaussianPolicy>(module, "Policy", doc("GaussianPolicy"))
      .def(nb::init<Eigen::MatrixXd, Sigma>(), "gains"_a, "sigma"_a = Sigma{},
           doc("GaussianPolicy::GaussianPolicy"))
      .def_static("from_parameters", &GaussianPolicy::from_parameters, "parameters"_a, "actions"_a,
                  "sigma"_a = Sigma{}, "From the rows of K in one vector.")
      .def_prop_ro(
          "gains", [](const GaussianPolicy& self) { return Eigen::MatrixXd(self.gains()); },
          "K, actions x features; a copy.")
      .def_prop_ro("sigma", [](const GaussianPolicy& self) { return sigma_of(self); })
      .def_prop_ro("parameters", &GaussianPolicy::parameters, "The rows of K in one vector.")
      .def_prop_ro("actions", &GaussianPolicy::actions)
      .def_prop_ro("features", &GaussianPolicy::features)
      .def("without_noise", &GaussianPolicy::without_noise, doc("GaussianPolicy::without_noise"))
      .def("mean", &mean_action, "features"_a)
      .def("mean", &mean_actions, "features"_a,
           "The mean action for one vector of features, or for each row of a batch.")
      .def(
          "sample",
          [](const GaussianPolicy& self, const Numbers1& features, const nb::object& generator,
             double noise_limit) {
            return with_noise(self, mean_action(self, features), generator, noise_limit);
          },
          "features"_a, "generator"_a, "noise_limit"_a = kInfinity)
      .def(
          "sample",
          [](const GaussianPolicy& self, const Numbers2& features, const nb::object& generator,
             double noise_limit) {
            return with_noise(self, mean_actions(self, features), generator, noise_limit);
          },
          "features"_a, "generator"_a, "noise_limit"_a = kInfinity,
          "Actions with exploration noise from a numpy.random.Generator, clipped at "
          "+- noise_limit if there is one.")
      .def("__eq__",
           [](const GaussianPolicy& a, const nb::object& other) {
             if (!nb::isinstance<GaussianPolicy>(other)) return false;
             const auto& b = nb::cast<const GaussianPolicy&>(other);
             return a.gains().rows() == b.gains().rows() && a.gains().cols() == b.gains().cols() &&
                    a.gains() == b.gains() && sigma_of(a) == sigma_of(b);
           })
      .def("__getstate__",
           [](const GaussianPolicy& self) {
             return std::pair(Eigen::MatrixXd(self.gains()), sigma_of(self));
           })
      .def("__setstate__",
           [](GaussianPolicy& self, const std::pair<Eigen::MatrixXd, Sigma>& state) {
             new (&self) GaussianPolicy(state.first, state.second);
           })
      .def("__repr__", [](const GaussianPolicy& self) {
        return nb::str("Policy(gains={!r}, sigma={!r})")
            .format(Eigen::MatrixXd(self.gains()), sigma_of(self));
      });
}

}  // namespace lifeguard::python
