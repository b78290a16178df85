#include "lifeguard/base_learners/base_learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

// What of a loss is vectors and what is numbers, for pickles.
constexpr std::array kVectors = {&RoundLoss::target, &RoundLoss::played, &RoundLoss::cost_gradient,
                                 &RoundLoss::newton_step};
constexpr std::array kNumbers = {
    &RoundLoss::constant,      &RoundLoss::mean_cost, &RoundLoss::cost_error,
    &RoundLoss::cost_unit,     &RoundLoss::shrinkage, &RoundLoss::natural_norm_squared,
    &RoundLoss::noise_share,   &RoundLoss::radius,    &RoundLoss::trust_region,
    &RoundLoss::newton_radius, &RoundLoss::step_kl,   &RoundLoss::shrinkage_floor};
using LossState = std::tuple<std::string, int, Eigen::MatrixXd, std::vector<Eigen::VectorXd>,
                             std::vector<double>>;

LossState state_of(const RoundLoss& l) {
  LossState state{
      kStatuses.at(static_cast<std::size_t>(l.status)), l.trajectories, l.curvature, {}, {}};
  for (const auto part : kVectors) std::get<3>(state).push_back(l.*part);
  for (const auto part : kNumbers) std::get<4>(state).push_back(l.*part);
  return state;
}

RoundLoss loss_of(const LossState& state) {
  const auto& [status, trajectories, curvature, vectors, numbers] = state;
  const auto* const known = std::find(kStatuses.begin(), kStatuses.end(), status);
  require(known != kStatuses.end(), "status", status, "must be that of a loss");
  require_size("vectors", static_cast<long>(vectors.size()), kVectors.size());
  require_size("numbers", static_cast<long>(numbers.size()), kNumbers.size());
  RoundLoss loss;
  loss.status = static_cast<RoundLossStatus>(known - kStatuses.begin());
  loss.trajectories = trajectories;
  loss.curvature = curvature;
  for (std::size_t i = 0; i < kVectors.size(); ++i) loss.*kVectors[i] = vectors[i];
  for (std::size_t i = 0; i < kNumbers.size(); ++i) loss.*kNumbers[i] = numbers[i];
  return loss;
}

}  // namespace

void bind_base_learners(nb::module_& module) {
  nb::class_<RoundLoss>(module, "RoundLoss", doc("RoundLoss"))
      .def_prop_ro(
          "status",
          [](const RoundLoss& l) { return kStatuses.at(static_cast<std::size_t>(l.status)); })
      .def_prop_ro(
          "curvature", [](const RoundLoss& l) { return Eigen::MatrixXd(l.curvature); },
          doc("RoundLoss::curvature"))
      .def_prop_ro(
          "target", [](const RoundLoss& l) { return Eigen::VectorXd(l.target); },
          doc("RoundLoss::target"))
      .def_prop_ro(
          "played", [](const RoundLoss& l) { return Eigen::VectorXd(l.played); },
          doc("RoundLoss::played"))
      .def_prop_ro(
          "cost_gradient", [](const RoundLoss& l) { return Eigen::VectorXd(l.cost_gradient); },
          doc("RoundLoss::cost_gradient"))
      .def_ro("constant", &RoundLoss::constant)
      .def_ro("mean_cost", &RoundLoss::mean_cost, doc("RoundLoss::mean_cost"))
      .def_ro("cost_error", &RoundLoss::cost_error, doc("RoundLoss::cost_error"))
      .def_ro("noise_share", &RoundLoss::noise_share, doc("RoundLoss::noise_share"))
      .def_ro("shrinkage", &RoundLoss::shrinkage, doc("RoundLoss::shrinkage"))
      .def_ro("step_kl", &RoundLoss::step_kl, doc("RoundLoss::step_kl"))
      .def(
          "value",
          [](const RoundLoss& l, const Eigen::VectorXd& alpha) {
            require_size("alpha", alpha.size(), l.target.size());
            return l.value(alpha);
          },
          "alpha"_a, "l(α).")
      .def(
          "gradient",
          [](const RoundLoss& l, const Eigen::VectorXd& alpha) {
            require_size("alpha", alpha.size(), l.target.size());
            return l.gradient(alpha);
          },
          "alpha"_a, "∇l(α).")
      .def("in_cost_units", &in_cost_units, doc("in_cost_units"))
      .def("__getstate__", &state_of)
      .def("__setstate__",
           [](RoundLoss& self, const LossState& state) { new (&self) RoundLoss(loss_of(state)); })
      .def("__repr__", [](const RoundLoss& l) {
        return fmt::format("<RoundLoss: {}, mean cost {:.6g}, step {:.3g} nats>",
                           kStatuses.at(static_cast<std::size_t>(l.status)), l.mean_cost,
                           l.step_kl);
      });
  module.def("round_loss", &made, "batch"_a, "played"_a, "visit"_a = 0.0, "settings"_a,
             first("make_round_loss",
                   " Keyword arguments are the keys of the table [base_learner], and `decay`."));
}

}  // namespace lifeguard::python
