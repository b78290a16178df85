#include "lifeguard/runs/certificate_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/closed_loop_json.hpp"

namespace lifeguard {
namespace {

// JSON has no infinity: it is written as null.
double or_infinity(const nlohmann::json& json) {
  return json.is_null() ? kInfinity : json.get<double>();
}

}  // namespace

StoredCertificate stored_certificate(long round, const Certificate& certificate) {
  StoredCertificate stored;
  stored.round = round;
  stored.fingerprint = certificate.fingerprint;
  stored.margins.resize(static_cast<long>(certificate.tasks.size()));
  for (std::size_t t = 0; t < certificate.tasks.size(); ++t) {
    const TaskCertificate& task = certificate.tasks[t];
    stored.margins(static_cast<long>(t)) = std::min(task.row_margin, task.slack_margin);
    stored.worst_rows.push_back(task.worst_row);
  }
  stored.spectrum = certificate.spectrum;
  stored.spectrum_holds = certificate.spectrum_holds;
  return stored;
}

nlohmann::json certificate_to_json(const Certificate& certificate) {
  nlohmann::json json;
  json["fingerprint"] = certificate.fingerprint;
  json["spectrum"] = std::vector<double>(certificate.spectrum.begin(), certificate.spectrum.end());
  json["spectrum_holds"] = certificate.spectrum_holds;
  json["smallest_eigenvalue"] = certificate.smallest_eigenvalue;
  json["largest_eigenvalue"] = certificate.largest_eigenvalue;
  json["tasks"] = nlohmann::json::array();
  for (const TaskCertificate& task : certificate.tasks) {
    nlohmann::json& entry = json["tasks"].emplace_back();
    entry = {{"worst_row", task.worst_row},
             {"worst_row_name", task.worst_row_name},
             {"row_margin", task.row_margin},
             {"slack_margin", task.slack_margin}};
    for (const auto& closed_loop : task.closed_loops) {
      entry["closed_loops"].push_back(nlohmann::json(closed_loop_json(*closed_loop)));
    }
  }
  return json;
}

Certificate certificate_from_json(const nlohmann::json& json) {
  Certificate certificate;
  certificate.fingerprint = json.at("fingerprint").get<std::string>();
  const auto spectrum = json.at("spectrum").get<std::vector<double>>();
  certificate.spectrum =
      Eigen::Map<const Eigen::VectorXd>(spectrum.data(), static_cast<long>(spectrum.size()));
  certificate.spectrum_holds = json.at("spectrum_holds").get<bool>();
  certificate.smallest_eigenvalue = json.at("smallest_eigenvalue").get<double>();
  certificate.largest_eigenvalue = or_infinity(json.at("largest_eigenvalue"));
  for (const nlohmann::json& entry : json.at("tasks")) {
    TaskCertificate& task = certificate.tasks.emplace_back();
    task.worst_row = entry.at("worst_row").get<int>();
    task.worst_row_name = entry.at("worst_row_name").get<std::string>();
    task.row_margin = or_infinity(entry.at("row_margin"));
    task.slack_margin = or_infinity(entry.at("slack_margin"));
  }
  return certificate;
}

}  // namespace lifeguard
