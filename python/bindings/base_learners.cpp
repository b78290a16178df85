#include "lifeguard/base_learners/base_learner.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "bindings/common.hpp"
#include "bindings/keywords.hpp"
#include "lifeguard/base_learners/adaptation.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/regret/ledger.hpp"

namespace lifeguard::python {
namespace {

constexpr std::array<const char*, 4> kStatuses = {"not run", "ok", "no signal", "damped curvature"};

RoundLoss made(const Trajectories& batch, const GaussianPolicy& played, double visit,
               const nb::kwargs& keywords) {
  BaseLearnerSettings settings;
  KeywordReader reader(nb::borrow<nb::dict>(keywords), "");
  settings.visit(reader);
  settings.step.visit_decay(reader);
  reader.refuse_unknown();
  settings.validate();
  BaseLearnerWorkspace workspace;
  const nb::gil_scoped_release release;
  return make_round_loss(batch, played, visit, settings, workspace);
}

}  // namespace

void bind_base_learners(nb::module_& module) {
  nb::class_<RoundLoss>(
      module, "RoundLoss",
      "What a base learner makes of one round's trajectories:\n"
      "l(alpha) = 1/2 (alpha - target)' (I x curvature) (alpha - target) + constant.")
      .def_prop_ro(
          "status",
          [](const RoundLoss& l) { return kStatuses.at(static_cast<std::size_t>(l.status)); })
      .def_prop_ro("curvature", [](const RoundLoss& l) { return Eigen::MatrixXd(l.curvature); })
      .def_prop_ro(
          "target", [](const RoundLoss& l) { return Eigen::VectorXd(l.target); },
          "Where the step goes.")
      .def_prop_ro(
          "played", [](const RoundLoss& l) { return Eigen::VectorXd(l.played); },
          "Where the data were gathered.")
      .def_prop_ro(
          "cost_gradient", [](const RoundLoss& l) { return Eigen::VectorXd(l.cost_gradient); },
          "Estimate of the gradient of the expected cost at `played`.")
      .def_ro("constant", &RoundLoss::constant)
      .def_ro("mean_cost", &RoundLoss::mean_cost)
      .def_ro("cost_error", &RoundLoss::cost_error)
      .def_ro("noise_share", &RoundLoss::noise_share)
      .def_ro("shrinkage", &RoundLoss::shrinkage)
      .def_ro("step_kl", &RoundLoss::step_kl)
      .def(
          "value",
          [](const RoundLoss& l, const Eigen::VectorXd& alpha) {
            require_size("alpha", alpha.size(), l.target.size());
            return l.value(alpha);
          },
          "alpha"_a, "l(alpha).")
      .def(
          "gradient",
          [](const RoundLoss& l, const Eigen::VectorXd& alpha) {
            require_size("alpha", alpha.size(), l.target.size());
            return l.gradient(alpha);
          },
          "alpha"_a)
      .def("in_cost_units", &in_cost_units)
      .def("__repr__", [](const RoundLoss& l) {
        return fmt::format("<RoundLoss: {}, mean cost {:.6g}, step {:.3g} nats>",
                           kStatuses.at(static_cast<std::size_t>(l.status)), l.mean_cost,
                           l.step_kl);
      });
  module.def(
      "round_loss", &made, "batch"_a, "played"_a, "visit"_a = 0.0, "settings"_a,
      "One round's trajectories, gathered with `played` at the given visit of the task, as one "
      "loss. Keyword arguments are the keys of the table [base_learner], and `decay`.");
}

}  // namespace lifeguard::python
