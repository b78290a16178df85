#include "bindings/common.hpp"
#include "lifeguard/version.hpp"

// The extension module of the Python package `lifeguard`; python/lifeguard/__init__.py says what of
// it is seen under which name.
NB_MODULE(_core, module) {
  using namespace lifeguard::python;  // NOLINT(google-build-using-namespace)
  // Registered systems stay known to the end of the process, and with them the objects of Python's
  // that some of them are.
  nanobind::set_leak_warnings(false);
  module.doc() = "Safe lifelong policy search: the C++ core";
  module.attr("version") = lifeguard::kVersion;
  bind_errors(module);
  bind_policies(module);
  bind_trajectories(module);
  bind_systems(module);
  bind_tasks(module);
  bind_rollouts(module);
  bind_safe_sets(module);
  bind_closed_loops(module);
  bind_certificates(module);
  bind_base_learners(module);
  bind_learners(module);
  bind_regret(module);
  bind_projection(module);
  bind_experiments(module);
  bind_runs(module);
  bind_batch_environments(module);
  register_gymnasium_tasks();
}
