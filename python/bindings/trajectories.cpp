#include "lifeguard/trajectories/trajectories.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/check.hpp"

namespace lifeguard::python {
namespace {

/// The batch of the object that an array is to be a view of.
Trajectories& batch_of(nb::handle self) { return nb::cast<Trajectories&>(self); }

void require_index(const Trajectories& batch, int i) {
  require(i >= 0 && i < batch.count(), "trajectory", i,
          fmt::format("must be at least 0 and less than {}", batch.count()));
}

void require_length(const Trajectories& batch, int length) {
  require(length >= 0 && length <= batch.steps(), "length", length,
          fmt::format("must be at least 0 and at most {}", batch.steps()));
}

nb::object features_view(nb::handle self) {
  Trajectories& b = batch_of(self);
  const auto stride = static_cast<std::int64_t>(b.stride());
  return view(b.count() > 0 ? b.feature_row(0, 0) : nullptr,
              {size(b.count()), size(b.steps()), size(b.features())}, self,
              {1, stride * b.features(), stride});
}

nb::object actions_view(nb::handle self) {
  Trajectories& b = batch_of(self);
  const auto stride = static_cast<std::int64_t>(b.stride());
  return view(b.count() > 0 ? b.action_row(0, 0) : nullptr,
              {size(b.count()), size(b.steps()), size(b.actions())}, self,
              {1, stride * b.actions(), stride});
}

nb::object costs_view(nb::handle self) {
  Trajectories& b = batch_of(self);
  return view(b.count() > 0 ? b.cost_row(0) : nullptr, {size(b.count()), size(b.steps())}, self,
              {1, static_cast<std::int64_t>(b.stride())});
}

nb::object lengths_view(nb::handle self) {
  const Trajectories& b = batch_of(self);
  return view<const std::int32_t>(b.lengths(), {size(b.count())}, self, {1});
}

std::vector<std::string> ends(const Trajectories& batch) {
  std::vector<std::string> result;
  for (int i = 0; i < batch.count(); ++i) result.emplace_back(to_string(batch.end(i)));
  return result;
}

/// The features of the states that trajectories were cut short in; NaN for all others.
nb::object final_features(const Trajectories& batch) {
  NewArray out({size(batch.count()), size(batch.features())});
  double* next = out.data();
  for (int i = 0; i < batch.count(); ++i) {
    for (int f = 0; f < batch.features(); ++f) {
      *next++ = batch.end(i) == EndReason::cut_short ? batch.final_feature(i, f) : kNaN;
    }
  }
  return out.finish();
}

Trajectories made(int count, int steps, int features, int actions) {
  require(count > 0, "count", count, "must be at least 1");
  require(steps > 0, "steps", steps, "must be at least 1");
  require(features > 0, "features", features, "must be at least 1");
  require(actions > 0, "actions", actions, "must be at least 1");
  return {count, steps, features, actions};
}

/// A batch from arrays; see the docstring.
Trajectories from_arrays(const Numbers3& features, const Numbers3& actions, const Numbers2& costs,
                         const std::optional<Numbers1>& lengths,
                         const std::optional<std::vector<std::string>>& given_ends,
                         double failure_cost, const std::optional<Numbers2>& finals) {
  const auto count = static_cast<int>(features.shape(0));
  const auto steps = static_cast<int>(features.shape(1));
  require_size("actions.shape[0]", static_cast<long>(actions.shape(0)), count);
  require_size("actions.shape[1]", static_cast<long>(actions.shape(1)), steps);
  require_size("costs.shape[0]", static_cast<long>(costs.shape(0)), count);
  require_size("costs.shape[1]", static_cast<long>(costs.shape(1)), steps);
  if (lengths) require_size("lengths", static_cast<long>(lengths->shape(0)), count);
  if (given_ends) require_size("ends", static_cast<long>(given_ends->size()), count);
  require_finite("failure_cost", failure_cost);
  Trajectories batch =
      made(count, steps, static_cast<int>(features.shape(2)), static_cast<int>(actions.shape(2)));
  if (finals) {
    require_size("final_features.shape[0]", static_cast<long>(finals->shape(0)), count);
    require_size("final_features.shape[1]", static_cast<long>(finals->shape(1)), batch.features());
  }
  for (int m = 0; m < steps; ++m) {
    for (int i = 0; i < count; ++i) {
      for (int f = 0; f < batch.features(); ++f)
        batch.feature(i, m, f) = features(size(i), size(m), size(f));
      for (int a = 0; a < batch.actions(); ++a)
        batch.action(i, m, a) = actions(size(i), size(m), size(a));
      batch.cost(i, m) = costs(size(i), size(m));
    }
  }
  std::vector<double> after(size(batch.features()));
  for (int i = 0; i < count; ++i) {
    const double length = lengths ? (*lengths)(size(i)) : steps;
    require(length >= 0 && length <= steps && length == std::floor(length), indexed("lengths", i),
            length, fmt::format("must be a whole number from 0 to {}", steps));
    const std::string end = given_ends       ? (*given_ends)[size(i)]
                            : length < steps ? "failed"
                                             : "finished";
    const auto live = static_cast<int>(length);
    if (end == "failed") {
      require(live < steps, indexed("ends", i), end, "must have fewer steps than the task");
      batch.fail(i, live, failure_cost);
    } else if (end == "cut short") {
      if (finals) {
        for (int f = 0; f < batch.features(); ++f) after[size(f)] = (*finals)(size(i), size(f));
        batch.cut(i, live, after);
      } else {
        require(live > 0, indexed("lengths", i), live,
                "must be at least 1 where final_features are not given");
        batch.cut(i, live);
      }
    } else {
      require(end == "finished", indexed("ends", i), end,
              "must be \"finished\", \"failed\" or \"cut short\"");
      require(live == steps, indexed("lengths", i), live,
              fmt::format("must be {} for a trajectory that finished", steps));
    }
  }
  return batch;
}

/// What is wrong with a batch or may be learnt from it, by name.
nb::dict check_to_dict(const TrajectoryCheck& check) {
  nb::dict result;
  result["status"] = to_string(check.status);
  result["trajectories"] = check.trajectories;
  result["failed"] = check.failed;
  result["cut_short"] = check.cut_short;
  result["live_steps"] = check.live_steps;
  result["noise_mean_square"] = check.noise_mean_square;
  result["noise_mean"] = check.noise_mean;
  result["largest_noise"] = check.largest_noise;
  result["message"] = check.message();
  return result;
}

using State = std::tuple<nb::object, nb::object, nb::object, nb::object, std::vector<std::string>,
                         nb::object, nb::object>;

}  // namespace

void bind_trajectories(nb::module_& module) {
  nb::class_<Trajectories>(module, "Trajectories", nb::is_weak_referenceable(),
                           doc("Trajectories",
                               "\n\n"
                               "features (count x steps x features), actions (count x steps x "
                               "actions) and costs (count x\n"
                               "steps) are views of the batch's own memory: nothing is copied, and "
                               "what is written into\n"
                               "them is in the batch. `actions` are as the policy commanded them, "
                               "noise included, before\n"
                               "the actuators' limits."))
      .def(
          "__init__",
          [](Trajectories* self, int count, int steps, int features, int actions) {
            new (self) Trajectories(made(count, steps, features, actions));
          },
          "count"_a, "steps"_a, "features"_a, "actions"_a, doc("Trajectories::Trajectories"))
      .def_static(
          "from_arrays", &from_arrays, "features"_a, "actions"_a, "costs"_a,
          "lengths"_a = nb::none(), "ends"_a = nb::none(), "failure_cost"_a = 0.0,
          "final_features"_a = nb::none(),
          "A batch from arrays: features (count x steps x features), actions (count x steps "
          "x actions), costs (count x steps). What lies after the end of a trajectory is "
          "not looked at. `ends` has \"finished\", \"failed\" or \"cut short\" for each; "
          "without it, one that is shorter than the others has failed, and each further "
          "step costs `failure_cost`. `final_features` are those of the states after the "
          "last actions; a trajectory that was cut short without them loses its last step.")
      .def_prop_ro("count", &Trajectories::count)
      .def_prop_ro("steps", &Trajectories::steps)
      .def_prop_ro(
          "shape",
          [](const Trajectories& b) {
            return std::tuple(b.count(), b.steps(), b.features(), b.actions());
          },
          "(count, steps, features, actions)")
      .def_prop_ro("features", &features_view)
      .def_prop_ro("actions", &actions_view)
      .def_prop_ro("costs", &costs_view)
      .def_prop_ro("lengths", &lengths_view, "Numbers of live steps; read-only, see fail and cut.")
      .def_prop_ro("ends", &ends, "\"finished\", \"failed\" or \"cut short\" of each trajectory.")
      .def_prop_ro("final_features", &final_features,
                   "Features of the states that trajectories were cut short in, else NaN; a copy.")
      .def(
          "fail",
          [](Trajectories& b, int i, int length, double failure_cost) {
            require_index(b, i);
            require_length(b, length);
            require_finite("failure_cost", failure_cost);
            b.fail(i, length, failure_cost);
          },
          "trajectory"_a, "length"_a, "failure_cost"_a, doc("Trajectories::fail"))
      .def(
          "cut",
          [](Trajectories& b, int i, int length, const std::optional<Eigen::VectorXd>& after) {
            require_index(b, i);
            require_length(b, length);
            if (!after) {
              require(length > 0, "length", length, "must be at least 1 without features_after");
              b.cut(i, length);
              return;
            }
            require_size("features_after", after->size(), b.features());
            b.cut(i, length, {after->data(), static_cast<std::size_t>(after->size())});
          },
          "trajectory"_a, "length"_a, "features_after"_a = nb::none(),
          joined(doc("Trajectories::cut", "\nWithout features: "), doc("Trajectories::cut#2")))
      .def_prop_ro("failed", &Trajectories::failed, "Trajectories that failed.")
      .def_prop_ro("diverged", &Trajectories::diverged, "Those of them that diverged.")
      .def_prop_ro("cut_short", &Trajectories::cut_short, doc("Trajectories::cut_short"))
      .def_prop_ro(
          "mean_costs",
          [](const Trajectories& b) {
            Eigen::VectorXd costs(b.count());
            for (int i = 0; i < b.count(); ++i) costs(i) = b.mean_cost(i);
            return costs;
          },
          doc("Trajectories::mean_cost", " One for each trajectory."))
      .def("mean_cost", nb::overload_cast<>(&Trajectories::mean_cost, nb::const_),
           doc("Trajectories::mean_cost#2"))
      .def(
          "validate", &Trajectories::validate,
          "Raises InvalidInput if a number is not finite, a length does not fit, or numbers follow "
          "the end of a trajectory that must not.")
      .def(
          "check",
          [](const Trajectories& b, const GaussianPolicy& played) {
            return check_to_dict(check_trajectories(b, played));
          },
          "played"_a, doc("check_trajectories"))
      .def(nb::self == nb::self)
      .def("__len__", &Trajectories::count)
      .def("__getstate__",
           [](nb::handle self) {
             const Trajectories& b = batch_of(self);
             const auto copied = [](const nb::object& array) { return array.attr("copy")(); };
             nb::object diverged =
                 view<const std::int32_t>(b.diverged_flags(), {size(b.count())}, self, {1});
             return nb::make_tuple(std::tuple(b.count(), b.steps(), b.features(), b.actions()),
                                   copied(features_view(self)), copied(actions_view(self)),
                                   copied(costs_view(self)), copied(lengths_view(self)), ends(b),
                                   final_features(b), copied(diverged));
           })
      .def("__setstate__",
           [](Trajectories& self, const nb::tuple& state) {
             const auto [count, steps, features, actions] =
                 nb::cast<std::tuple<int, int, int, int>>(state[0]);
             Trajectories b(count, steps, features, actions);
             const auto phi = nb::cast<Numbers3>(state[1]);
             const auto u = nb::cast<Numbers3>(state[2]);
             const auto c = nb::cast<Numbers2>(state[3]);
             const auto lengths = nb::cast<Counts1>(state[4].attr("astype")("int64"));
             const auto given_ends = nb::cast<std::vector<std::string>>(state[5]);
             const auto finals = nb::cast<Numbers2>(state[6]);
             const auto diverged = nb::cast<Counts1>(state[7].attr("astype")("int64"));
             std::vector<double> after(size(features));
             for (int i = 0; i < count; ++i) {
               for (int m = 0; m < steps; ++m) {
                 for (int f = 0; f < features; ++f)
                   b.feature(i, m, f) = phi(size(i), size(m), size(f));
                 for (int a = 0; a < actions; ++a) b.action(i, m, a) = u(size(i), size(m), size(a));
                 b.cost(i, m) = c(size(i), size(m));
               }
               const auto length = static_cast<int>(lengths(size(i)));
               b.set_length(i, length);
               if (given_ends[size(i)] == to_string(EndReason::cut_short)) {
                 for (int f = 0; f < features; ++f) after[size(f)] = finals(size(i), size(f));
                 b.cut(i, length, after);
               }
               b.diverged_flags()[i] = static_cast<std::int32_t>(diverged(size(i)));
             }
             new (&self) Trajectories(std::move(b));
           })
      .def("__repr__", [](const Trajectories& b) {
        return fmt::format("<Trajectories: {} of {} steps, {} features, {} actions>", b.count(),
                           b.steps(), b.features(), b.actions());
      });
}

}  // namespace lifeguard::python
