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
  nb::class_<Certificate>(module, "Certificate", doc("Certificate"))
      .def_prop_ro("valid", &Certificate::valid, doc("Certificate::valid"))
      .def_prop_ro(
          "tasks",
          [](const Certificate& c) {
            nb::list tasks;
            for (const TaskCertificate& task : c.tasks) tasks.append(task_to_dict(task));
            return tasks;
          },
          doc("TaskCertificate",
              "\nFor each task {safe, worst_row, row_margin, slack_margin, closed_loops}."))
      .def_prop_ro(
          "spectrum", [](const Certificate& c) { return Eigen::VectorXd(c.spectrum); },
          doc("Certificate::spectrum"))
      .def_ro("smallest_eigenvalue", &Certificate::smallest_eigenvalue,
              doc("Certificate::smallest_eigenvalue"))
      .def_ro("largest_eigenvalue", &Certificate::largest_eigenvalue,
              doc("Certificate::smallest_eigenvalue"))
      .def_ro("spectrum_holds", &Certificate::spectrum_holds, doc("Certificate::spectrum_holds"))
      .def_ro("fingerprint", &Certificate::fingerprint, "The hash of what was certified.")
      .def_prop_ro("worst_task", &Certificate::worst_task, doc("Certificate::worst_task"))
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
