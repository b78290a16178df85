#include "lifeguard/runs/check_last_state.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/certificate_json.hpp"
#include "lifeguard/runs/check_beliefs.hpp"
#include "lifeguard/runs/closed_loop_json.hpp"
#include "lifeguard/runs/run_checksums.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/shallow_json.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

/// The closed loops of a set as a certificate has them; null if there are none.
nlohmann::json closed_loops_json(const SafeSet& set) {
  nlohmann::json json;
  for (const auto& closed_loop : set.closed_loops())
    json.push_back(nlohmann::json(closed_loop_json(*closed_loop)));
  return nlohmann::json::parse(json.dump());  // as text it has no infinity
}

class LastStateCheck {
 public:
  explicit LastStateCheck(CheckedRun& run) : run_(run) {}

  void check_last_state() {
    if (!run_.state) return;
    if (run_.state->round != run_.header().rounds_done) run_.find("the state is of another round");
    const bool same_version =
        run_.header().lifeguard_version == kVersion && run_.schema() == kSchemaVersion;
    try {
      run_.again->restore(run_.state->state);
      if (run_.again->rounds_done() != run_.header().rounds_done) {
        run_.find(fmt::format("the stored learner is after round {} and not {}",
                              run_.again->rounds_done(), run_.header().rounds_done));
      }
      const RunState restored = run_.again->stored_state();
      // An older file has policies only at its end, and no knowledge.
      if (run_.schema() >= 4 || run_.header().finished) {
        run_.compare(run_.state->policies, restored.policies, kDrawnAgain, "the stored learner: ");
      }
      if (run_.state->knowledge && restored.knowledge) {
        run_.compare(table_of<StoredKnowledge>(), *run_.state->knowledge, *restored.knowledge, 0,
                     "the stored learner: ");
      }
      check_last_beliefs(run_);
    } catch (const InvalidInput& error) {
      // Another version's learner need not be understood.
      if (same_version) run_.find(fmt::format("the stored learner is refused: {}", error.what()));
    }
    check_last_certificate();
  }

 private:
  void check_last_certificate() {
    const std::string& text = run_.view->certificate_json;
    const bool wanted = run_.header().finished && run_.experiment().base_method == "learner";
    if (text.empty() == wanted) {
      run_.find(wanted ? "the last certificate is missing" : "there is a certificate of nothing");
    }
    if (text.empty()) return;
    try {
      const nlohmann::json json = shallow_json(text);
      const Certificate certificate = certificate_from_json(json);
      if (!run_.view->certificates.empty()) {
        run_.compare(table_of<StoredCertificate>(), run_.view->certificates.back(),
                     stored_certificate(run_.header().rounds_done, certificate), 0,
                     "the last certificate is another: ");
      }
      if (!run_.view->knowledge) return;
      const Knowledge& knowledge = *run_.view->knowledge;
      std::vector<Eigen::VectorXd> anchors;
      std::vector<SafeSet> sets;
      for (int t = 0; t < knowledge.tasks(); ++t) {
        anchors.emplace_back(knowledge.anchors.col(t));
        sets.push_back(run_.view->safe_set(t));
      }
      const SafetyView safety{knowledge.basis,
                              knowledge.coefficients,
                              anchors,
                              sets,
                              certificate.smallest_eigenvalue,
                              certificate.largest_eigenvalue};
      for (const Finding& finding : check_certificate(safety, certificate))
        run_.find(finding.message);
      for (std::size_t t = 0; t < certificate.tasks.size() && t < sets.size(); ++t) {
        const TaskCertificate& task = certificate.tasks[t];
        const std::string name = task.worst_row < 0 || task.worst_row >= sets[t].constraints()
                                     ? ""
                                     : sets[t].name(task.worst_row);
        if (json["tasks"][t].value("closed_loops", nlohmann::json()) !=
            closed_loops_json(sets[t])) {
          run_.find(fmt::format("the last certificate: another closed loop of task {}", t));
        }
        if (task.worst_row_name != name) {
          run_.find(fmt::format("the last certificate: row {} of task {} is \"{}\" and not \"{}\"",
                                task.worst_row, t, name, task.worst_row_name));
        }
      }
      run_.result.certificate_checked = true;
    } catch (const nlohmann::json::exception& error) {
      run_.find(fmt::format("the certificate cannot be read: {}", complaint_of(error)));
    }
  }

  CheckedRun& run_;
};

}  // namespace

void check_last_state(CheckedRun& run) { LastStateCheck(run).check_last_state(); }

}  // namespace lifeguard
