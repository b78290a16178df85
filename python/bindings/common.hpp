#pragma once

// What every file of the bindings needs.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/operators.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <Eigen/Core>

#include "bindings/array_like.hpp"
#include "bindings/docstrings.hpp"

namespace lifeguard::python {

namespace nb = nanobind;
using namespace nanobind::literals;  // NOLINT(google-build-using-namespace): "name"_a only

/// Each adds the classes and functions of one concept to the module.
void bind_errors(nb::module_& module);
void bind_policies(nb::module_& module);
void bind_trajectories(nb::module_& module);
void bind_systems(nb::module_& module);
void bind_tasks(nb::module_& module);
void bind_rollouts(nb::module_& module);
void bind_safe_sets(nb::module_& module);
void bind_closed_loops(nb::module_& module);
void bind_certificates(nb::module_& module);
void bind_base_learners(nb::module_& module);
void bind_learners(nb::module_& module);
void bind_regret(nb::module_& module);
void bind_projection(nb::module_& module);
void bind_experiments(nb::module_& module);
void bind_runs(nb::module_& module);
void bind_batch_environments(nb::module_& module);

/// Makes the systems of Gymnasium's tasks known by their names.
void register_gymnasium_tasks();

}  // namespace lifeguard::python
