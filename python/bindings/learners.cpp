#include "lifeguard/lifelong/learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/common.hpp"
#include "bindings/keywords.hpp"
#include "bindings/sigma.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/runs/run_rows.hpp"

namespace lifeguard::python {
namespace {

/// A learner that several threads of Python may ask: a call that lets other threads run meanwhile
/// holds its lock, taken after the interpreter's is given up, so that neither waits for the other.
class SharedHandle {
 public:
  explicit SharedHandle(std::unique_ptr<PolicyLearner> learner, std::string method)
      : learner_(std::move(learner)), method_(std::move(method)) {}

  /// Calls use(learner) alone.
  template <class Use>
  auto with(const Use& use) const {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(*mutex_);
    return use(*learner_);
  }
  /// The same of the lifelong learner.
  template <class Use>
  auto with_lifelong(const Use& use) const {
    auto* lifelong = dynamic_cast<Learner*>(learner_.get());
    require(lifelong != nullptr, "learner", method_, "must be the method \"learner\" for this");
    const nb::gil_scoped_release release;
    const std::lock_guard lock(*mutex_);
    return use(*lifelong);
  }
  const std::string& method() const { return method_; }
  bool lifelong() const { return dynamic_cast<Learner*>(learner_.get()) != nullptr; }

 private:
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::unique_ptr<PolicyLearner> learner_;
  std::string method_;
};

/// As visit_method(), but it says which methods there are.
template <class Visitor>
void with_method(Methods& methods, const std::string& name, const Visitor& visitor) {
  const std::vector<std::string_view> names = method_names();
  require(std::find(names.begin(), names.end(), name) != names.end(), "method", name,
          fmt::format("must be one of {}", fmt::join(names, ", ")));
  visit_method(methods, name, visitor);
}

/// The table of a method's own settings.
std::string table_of_method(std::string method) {
  for (char& c : method) c = c == '-' ? '_' : c;
  return method;
}

SharedHandle made(int features, int actions, const std::string& method,
                  const nb::kwargs& keywords) {
  require(features >= 1, "features", features, "must be at least 1");
  require(actions >= 1, "actions", actions, "must be at least 1");
  require(features <= std::numeric_limits<int>::max() / actions, "features", features,
          "must be fewer: there is a parameter for each action");
  Methods methods;
  std::unique_ptr<PolicyLearner> learner;
  with_method(methods, method, [&](auto& settings) {
    KeywordReader reader(nb::borrow<nb::dict>(keywords), table_of_method(method));
    settings.round.visit_base_learner(reader);
    settings.visit(reader);
    reader.refuse_unknown();
    settings.validate(features * actions);
    learner = settings.make(features, actions);
  });
  return SharedHandle(std::move(learner), method);
}

std::string settings_text(const std::string& method) {
  Methods methods;
  std::string text;
  with_method(methods, method, [&](auto& settings) {
    SettingsToDict description;
    settings.visit(description);
    settings.round.visit_base_learner(description);
    text = description.description();
  });
  return text;
}

nb::dict default_settings_of(const std::string& method) {
  Methods methods;
  nb::dict tables;
  with_method(methods, method, [&](auto& settings) {
    SettingsToDict description;
    settings.visit(description);
    settings.round.visit_base_learner(description);
    tables = description.tables();
  });
  return tables;
}

/// What happened in a round, without what belongs to the learner. Its keys are made once: making
/// them anew takes longer than all else of a dictionary.
nb::dict record_to_dict(const RoundRecord& record, const std::string& task,
                        const std::string& worst_row) {
  static const std::vector<PyObject*> keys = [] {
    std::vector<PyObject*> made;
    for (const char* key : {"status", "task", "round", "visit", "mean_cost", "loss_before",
                            "loss_after", "step_kl", "noise_share", "message", "projection",
                            "worst_margin", "worst_task", "worst_row", "projection_seconds"}) {
      made.push_back(PyUnicode_InternFromString(key));
    }
    return made;
  }();
  nb::dict given;
  std::size_t place = 0;
  const auto next = [&](const nb::object& value) {
    if (PyDict_SetItem(given.ptr(), keys[place++], value.ptr()) != 0) throw nb::python_error();
  };
  const SafeguardRecord& guard = record.safeguard;
  next(nb::cast(to_string(record.status)));
  next(nb::cast(task));
  next(nb::cast(record.round));
  next(nb::cast(record.visit));
  next(nb::cast(record.mean_cost));
  next(nb::cast(record.loss_before));
  next(nb::cast(record.loss_after));
  next(nb::cast(record.step_kl));
  next(nb::cast(record.noise_share));
  next(nb::cast(record.trajectories.message()));
  next(nb::cast(to_string(guard.status)));
  next(nb::cast(guard.worst_margin));
  next(nb::cast(guard.worst_task));
  next(nb::cast(worst_row));
  next(nb::cast(guard.seconds));
  return given;
}

template <class Source>
nb::dict observe(const SharedHandle& handle, const std::string& id, const Source& source,
                 const GaussianPolicy* played) {
  RoundRecord record;
  std::string worst_row;  // the record points into the learner
  handle.with([&](PolicyLearner& learner) {
    if constexpr (std::is_same_v<Source, Trajectories>) {
      record =
          played == nullptr ? learner.observe(id, source) : learner.observe(id, source, *played);
    } else {
      record = learner.observe(id, source);
    }
    worst_row = record.safeguard.worst_row;
    record.task = {};
    record.safeguard.worst_row = {};
  });
  return record_to_dict(record, id, worst_row);
}

std::string learner_text(const SharedHandle& handle) {
  return handle.with_lifelong([](Learner& learner) {
    std::ostringstream out;
    learner.save(out);
    return out.str();
  });
}

SharedHandle learner_of(const std::string& text) {
  std::istringstream in(text);
  return SharedHandle(std::make_unique<Learner>(Learner::load(in)),
                      std::string(LearnerSettings::kMethod));
}

/// α as a vector, or K.
using GivenAnchor = std::variant<Eigen::VectorXd, Eigen::MatrixXd>;

Eigen::VectorXd to_parameters(const GivenAnchor& anchor) {
  if (const auto* vector = std::get_if<Eigen::VectorXd>(&anchor)) return *vector;
  return parameters_from_gains(std::get<Eigen::MatrixXd>(anchor));
}

ActionRange range_of(const std::optional<Eigen::VectorXd>& low,
                     const std::optional<Eigen::VectorXd>& high) {
  ActionRange range;
  if (low) range.low = *low;
  if (high) range.high = *high;
  return range;
}

void add_task(const SharedHandle& handle, const std::string& id, const std::optional<SafeSet>& set,
              const Sigma& sigma, const std::optional<GivenAnchor>& anchor,
              const std::optional<Eigen::VectorXd>& low,
              const std::optional<Eigen::VectorXd>& high) {
  std::optional<Eigen::VectorXd> parameters;
  if (anchor) parameters = to_parameters(*anchor);
  const ActionRange range = range_of(low, high);
  if (set) {
    handle.with_lifelong([&](Learner& learner) {
      range.require_fits(learner.actions());
      learner.add_task(id, *set, sigma, parameters);
      learner.set_action_range(id, range);
    });
    return;
  }
  handle.with([&](PolicyLearner& learner) {
    range.require_fits(learner.actions());
    const Eigen::VectorXd origin = Eigen::VectorXd::Zero(learner.parameters());
    learner.add_task(id, parameters ? *parameters : origin, sigma);
    learner.set_action_range(id, range);
  });
}

}  // namespace

void bind_learners(nb::module_& module) {
  module.def(
      "methods",
      [] {
        std::vector<std::string> names;
        for (const std::string_view name : method_names()) names.emplace_back(name);
        return names;
      },
      "The names of all methods: \"learner\" is the safe lifelong learner, the others are "
      "baselines.");
  module.def("method_settings", &default_settings_of, "method"_a = "learner",
             "The settings of a method and their defaults: {table: {name: value}}.");
  module.def("method_settings_text", &settings_text, "method"_a = "learner",
             "The settings of a method with defaults, rules, units and meanings, as text.");

  // Docstrings live as long as the program.
  static const std::string learner_doc =
      std::string(doc("PolicyLearner")) + "\n\n" + doc("Learner") +
      "\n\n"
      "Learner(features, actions, method=\"learner\", **settings). Settings of the method's own "
      "table\n"
      "are keyword arguments, those of other tables are dictionaries: projection={\"p\": 0.1},\n"
      "base_learner={\"discount\": 0.99}. The settings of \"learner\":\n" +
      settings_text("learner");
  nb::class_<SharedHandle>(module, "Learner", learner_doc.c_str())
      .def(
          "__init__",
          [](SharedHandle* self, int features, int actions, const std::string& method,
             const nb::kwargs& settings) {
            new (self) SharedHandle(made(features, actions, method, settings));
          },
          "features"_a, "actions"_a, "method"_a = "learner", "settings"_a)
      .def_prop_ro("method", [](const SharedHandle& h) { return h.method(); })
      .def_prop_ro("features",
                   [](const SharedHandle& h) {
                     return h.with([](PolicyLearner& l) { return l.features(); });
                   })
      .def_prop_ro("actions",
                   [](const SharedHandle& h) {
                     return h.with([](PolicyLearner& l) { return l.actions(); });
                   })
      .def_prop_ro(
          "tasks",
          [](const SharedHandle& h) { return h.with([](PolicyLearner& l) { return l.tasks(); }); },
          "How many tasks are known.")
      .def_prop_ro(
          "rounds",
          [](const SharedHandle& h) { return h.with([](PolicyLearner& l) { return l.rounds(); }); },
          "How many rounds were learnt from.")
      .def_prop_ro(
          "settings",
          [](const SharedHandle& h) {
            LearnerSettings settings = h.with_lifelong([](Learner& l) { return l.settings(); });
            SettingsToDict description;
            settings.visit(description);
            settings.round.visit_base_learner(description);
            return description.tables();
          },
          "{table: {name: value}}")
      .def(
          "visits",
          [](const SharedHandle& h, const std::string& id) {
            return h.with([&](PolicyLearner& l) { return l.visits(id); });
          },
          "task"_a, "How often this task was observed.")
      .def(
          "__contains__",
          [](const SharedHandle& h, const std::string& id) {
            return h.with([&](PolicyLearner& l) { return l.knows(id); });
          },
          "task"_a)
      .def("add_task", &add_task, "task"_a, "safe_set"_a = nb::none(), nb::kw_only(), "sigma"_a,
           "anchor"_a = nb::none(), "action_low"_a = nb::none(), "action_high"_a = nb::none(),
           doc("Learner::add_task",
               "\n`sigma` is the exploration noise, `anchor` K, or its rows in one vector; "
               "`action_low` and `action_high` as in set_action_range."))
      .def(
          "add_tasks",
          [](const SharedHandle& h,
             const std::vector<std::tuple<std::string, SafeSet, Sigma, std::optional<GivenAnchor>>>&
                 given) {
            std::vector<Learner::NewTask> tasks;
            for (const auto& [id, set, sigma, anchor] : given) {
              tasks.push_back({id, set, sigma, {}});
              if (anchor) tasks.back().anchor = to_parameters(*anchor);
            }
            h.with_lifelong([&](Learner& l) { l.add_tasks(tasks); });
          },
          "tasks"_a, doc("Learner::NewTask", "\nEach is (task, safe_set, sigma, anchor or None)."))
      .def(
          "set_safe_set",
          [](const SharedHandle& h, const std::string& id, const SafeSet& set,
             const std::optional<GivenAnchor>& anchor) {
            std::optional<Eigen::VectorXd> parameters;
            if (anchor) parameters = to_parameters(*anchor);
            h.with_lifelong([&](Learner& l) { l.set_safe_set(id, set, parameters); });
          },
          "task"_a, "safe_set"_a, "anchor"_a = nb::none(), doc("Learner::set_safe_set"))
      .def(
          "set_sigma",
          [](const SharedHandle& h, const std::string& id, const Sigma& sigma) {
            h.with([&](PolicyLearner& l) { l.set_sigma(id, sigma); });
          },
          "task"_a, "sigma"_a, doc("PolicyLearner::set_sigma"))
      .def(
          "set_action_range",
          [](const SharedHandle& h, const std::string& id,
             const std::optional<Eigen::VectorXd>& low,
             const std::optional<Eigen::VectorXd>& high) {
            h.with([&](PolicyLearner& l) { l.set_action_range(id, range_of(low, high)); });
          },
          "task"_a, "low"_a = nb::none(), "high"_a = nb::none(),
          doc("PolicyLearner::set_action_range",
              "\nA number for each action, infinite without a limit; None: not known."))
      .def(
          "policy",
          [](const SharedHandle& h, const std::string& id) {
            return h.with([&](PolicyLearner& l) { return l.policy(id); });
          },
          "task"_a, doc("PolicyLearner::policy"))
      .def(
          "observe",
          [](const SharedHandle& h, const std::string& id, const Trajectories& batch,
             const std::optional<GaussianPolicy>& played) {
            return observe(h, id, batch, played ? &*played : nullptr);
          },
          "task"_a, "batch"_a, "played"_a = nb::none())
      .def(
          "observe",
          [](const SharedHandle& h, const std::string& id, const RoundLoss& loss) {
            return observe(h, id, loss, nullptr);
          },
          "task"_a, "loss"_a,
          doc("PolicyLearner::observe",
              "\n\n`played` is a policy that was handed out earlier, and which other tasks' rounds "
              "have\n"
              "moved since. The result says what happened in the round."))
      .def_prop_ro(
          "last_loss",
          [](const SharedHandle& h) {
            return h.with([](PolicyLearner& l) { return RoundLoss(l.last_loss()); });
          },
          doc("PolicyLearner::last_loss"))
      .def(
          "certificate",
          [](const SharedHandle& h) {
            return h.with_lifelong([](Learner& l) { return l.certificate(); });
          },
          doc("Learner::certificate"))
      .def_prop_ro(
          "fallbacks",
          [](const SharedHandle& h) {
            return h.with([](PolicyLearner& l) { return l.fallbacks(); });
          },
          doc("Learner::fallbacks"))
      .def_prop_ro(
          "basis",
          [](const SharedHandle& h) {
            return h.with_lifelong([](Learner& l) { return Eigen::MatrixXd(l.knowledge().basis); });
          },
          doc("Knowledge::basis"))
      .def_prop_ro(
          "coefficients",
          [](const SharedHandle& h) {
            return h.with_lifelong(
                [](Learner& l) { return Eigen::MatrixXd(l.knowledge().coefficients); });
          },
          doc("Knowledge::coefficients"))
      .def_prop_ro(
          "anchors",
          [](const SharedHandle& h) {
            return h.with_lifelong(
                [](Learner& l) { return Eigen::MatrixXd(l.knowledge().anchors); });
          },
          doc("Knowledge::anchors", ": the policies that tasks began with"))
      .def("dumps", &learner_text, "Everything, as text that loads() reads back to the same bits.")
      .def_static("loads", &learner_of, "text"_a,
                  "What dumps() gave; anything else raises InvalidInput.")
      .def(
          "save",
          [](const SharedHandle& h, const std::filesystem::path& path) {
            const std::string text = learner_text(h);
            std::ofstream out(path, std::ios::binary);
            out << text;
            out.close();
            if (!out) {
              throw nb::builtin_exception(nb::exception_type::runtime_error,
                                          ("cannot write " + path.string()).c_str());
            }
          },
          "path"_a, "Writes dumps() to a file.")
      .def_static(
          "load",
          [](const std::filesystem::path& path) {
            std::ifstream in(path, std::ios::binary);
            require(static_cast<bool>(in), "path", path.string(),
                    "must be a file that can be read");
            std::ostringstream text;
            text << in.rdbuf();
            return learner_of(text.str());
          },
          "path"_a, "A learner that save() wrote, to the same bits.")
      .def("__getstate__", &learner_text)
      .def("__setstate__",
           [](SharedHandle& self, const std::string& text) {
             new (&self) SharedHandle(learner_of(text));
           })
      .def("__repr__", [](const SharedHandle& h) {
        return h.with([&](PolicyLearner& l) {
          return fmt::format("<Learner {}: {} tasks, {} rounds>", h.method(), l.tasks(),
                             l.rounds());
        });
      });
}

}  // namespace lifeguard::python
