#include "lifeguard/safety/prove/certificate.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bindings/common.hpp"
#include "lifeguard/runs/certificate_json.hpp"

namespace lifeguard::python {
namespace {

nb::dict task_to_dict(const TaskCertificate& task) {
  nb::dict given;
  given["safe"] = task.safe();
  given["worst_row"] = task.worst_row < 0 ? nb::none() : nb::cast(task.worst_row_name);
  given["row_margin"] = task.row_margin;
  given["slack_margin"] = task.slack_margin;
  given["closed_loops"] = task.closed_loops.size();
  return given;
}

}  // namespace

void bind_certificates(nb::module_& module) {
  nb::class_<Certificate>(
      module, "Certificate",
      "What is proven of a learner's policies, with all rounding errors counted:\n"
      "for each task the worst row and its margin, the spectrum of L, and the hash\n"
      "of the parameters they speak of.")
      .def_prop_ro("valid", &Certificate::valid, "Everything is proven.")
      .def_prop_ro(
          "tasks",
          [](const Certificate& c) {
            nb::list tasks;
            for (const TaskCertificate& task : c.tasks) tasks.append(task_to_dict(task));
            return tasks;
          },
          "For each task {safe, worst_row, row_margin, slack_margin, closed_loops}.")
      .def_prop_ro(
          "spectrum", [](const Certificate& c) { return Eigen::VectorXd(c.spectrum); },
          "The eigenvalues of L'L in ascending order, rounded.")
      .def_ro("smallest_eigenvalue", &Certificate::smallest_eigenvalue, "Asked for.")
      .def_ro("largest_eigenvalue", &Certificate::largest_eigenvalue, "Asked for.")
      .def_ro("spectrum_holds", &Certificate::spectrum_holds, "Proven, not read off `spectrum`.")
      .def_ro("fingerprint", &Certificate::fingerprint)
      .def_prop_ro("worst_task", &Certificate::worst_task,
                   "The task with the smallest margin, -1 without tasks.")
      .def("to_json", [](const Certificate& c) { return certificate_to_json(c).dump(); })
      .def_static(
          "from_json",
          [](const std::string& text) {
            return certificate_from_json(nlohmann::json::parse(text));
          },
          "text"_a)
      .def("__getstate__", [](const Certificate& c) { return certificate_to_json(c).dump(); })
      .def("__setstate__",
           [](Certificate& self, const std::string& text) {
             new (&self) Certificate(certificate_from_json(nlohmann::json::parse(text)));
           })
      .def("__repr__", [](const Certificate& c) {
        return fmt::format("<Certificate of {} tasks: {}>", c.tasks.size(),
                           c.valid() ? "valid" : "not valid");
      });
}

}  // namespace lifeguard::python
