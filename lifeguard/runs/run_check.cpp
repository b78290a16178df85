#include "lifeguard/runs/run_check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/certificate_json.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/runs/setting.hpp"
#include "lifeguard/safety/prove/checker.hpp"

namespace lifeguard {
namespace {

// More of the same kind says nothing new.
constexpr std::size_t kMostFindings = 20;

bool same_bits(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same_bits(const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
  if (a.size() != b.size()) return false;
  for (Eigen::Index i = 0; i < a.size(); ++i) {
    if (!same_bits(a(i), b(i))) return false;
  }
  return true;
}

bool same_round(const StoredRound& a, const StoredRound& b) {
  return a.round == b.round && a.task == b.task && a.visit == b.visit && a.status == b.status &&
         same_bits(a.mean_cost, b.mean_cost) && same_bits(a.loss_before, b.loss_before) &&
         same_bits(a.loss_after, b.loss_after) && same_bits(a.step_kl, b.step_kl) &&
         same_bits(a.noise_share, b.noise_share) && same_bits(a.played, b.played) &&
         a.unsafe == b.unsafe && a.projection == b.projection && a.basis_path == b.basis_path &&
         a.alternations == b.alternations && a.iterations == b.iterations &&
         same_bits(a.worst_margin, b.worst_margin) && a.worst_task == b.worst_task &&
         a.worst_row == b.worst_row && same_bits(a.retraction, b.retraction);
}

class Checker {
 public:
  explicit Checker(const std::filesystem::path& path)
      : reader_(path), config_(reader_.header().config), setting_(draw_setting(config_)) {
    result_.method = reader_.header().method;
  }

  RunCheck check(bool replay) {
    if (const std::string damage = reader_.integrity(); !damage.empty()) {
      find(fmt::format("the file is damaged: {}", damage));
      return result_;
    }
    rounds_ = reader_.rounds();
    check_rounds();
    check_lemmas();
    check_certificate_of_state();
    if (replay) play_again();
    return result_;
  }

 private:
  void find(std::string finding) {
    if (result_.findings.size() < kMostFindings) result_.findings.push_back(std::move(finding));
  }

  void check_rounds() {
    long expected = 1;
    for (const StoredRound& round : rounds_) {
      if (round.round != expected++) {
        find(fmt::format("round {} is missing", expected - 1));
        return;
      }
      const auto t = static_cast<std::size_t>(round.task);
      if (t >= setting_.tasks.size() || round.played.size() != setting_.parameters()) {
        find(fmt::format("round {}: its task or policy has the wrong size", round.round));
        return;
      }
      ++result_.policies;
      for (const Finding& finding : check_policy(setting_.safe_sets[t], round.played)) {
        find(fmt::format("round {}, {}: {}", round.round, setting_.tasks[t].name, finding.message));
      }
    }
    result_.rounds = static_cast<long>(rounds_.size());
    if (result_.rounds != reader_.header().rounds_done) {
      find(fmt::format("{} rounds are stored, the state is after {}", result_.rounds,
                       reader_.header().rounds_done));
    }
  }

  void check_lemmas() {
    for (const StoredLemmas& lemmas : reader_.lemmas()) {
      ++result_.lemmas;
      if (!lemmas.values.hold()) {
        find(fmt::format("round {}: a quantity of the regret theorem is above its bound",
                         lemmas.round));
      }
    }
  }

  void check_certificate_of_state() {
    const std::string text = reader_.certificate_json();
    if (text.empty()) return;
    try {
      const Certificate certificate = certificate_from_json(nlohmann::json::parse(text));
      Run run(config_);
      run.restore(reader_.state());
      const auto& learner = dynamic_cast<const Learner&>(run.learner());
      const Knowledge& knowledge = learner.knowledge();
      std::vector<Eigen::VectorXd> anchors;
      for (int t = 0; t < knowledge.tasks(); ++t) anchors.emplace_back(knowledge.anchors.col(t));
      const SafetyView view{
          knowledge.basis,     knowledge.coefficients,          anchors,
          learner.safe_sets(), certificate.smallest_eigenvalue, certificate.largest_eigenvalue};
      for (const Finding& finding : check_certificate(view, certificate)) find(finding.message);
      const auto policies = reader_.policies();
      if (policies && *policies != run.policies()) {
        find("the final policies are not those of the stored learner");
      }
      result_.certificate_checked = true;
    } catch (const InvalidInput& error) {
      find(fmt::format("the stored learner is refused: {}", error.what()));
    } catch (const nlohmann::json::exception& error) {
      find(fmt::format("the certificate cannot be read: {}", error.what()));
    }
  }

  void play_again() {
    Run run(config_);
    const std::vector<StoredEvaluation> evaluations = reader_.evaluations();
    const std::vector<StoredCertificate> certificates = reader_.certificates();
    const std::vector<StoredRegret> regrets = reader_.regrets();
    std::size_t e = 0;
    std::size_t c = 0;
    std::size_t g = 0;
    const auto compare = [&](const StoredEvaluation& played) {
      const bool same = e < evaluations.size() && evaluations[e].round == played.round &&
                        same_bits(evaluations[e].costs, played.costs) &&
                        same_bits(evaluations[e].margins, played.margins);
      ++e;
      if (!same) find(fmt::format("replay: the evaluation after round {} differs", played.round));
    };
    compare(run.evaluate_now());
    for (const StoredRound& stored : rounds_) {
      const RoundOutcome& outcome = run.play();
      if (!same_round(stored, outcome.round)) {
        find(fmt::format("replay: round {} differs", stored.round));
        return;
      }
      if (outcome.evaluation) compare(*outcome.evaluation);
      if (outcome.certificate) {
        if (c >= certificates.size() ||
            certificates[c].fingerprint != outcome.certificate->fingerprint ||
            !same_bits(certificates[c].margins, outcome.certificate->margins)) {
          find(fmt::format("replay: the certificate of round {} differs", stored.round));
        }
        ++c;
      }
      if (outcome.regret) {
        if (g >= regrets.size() || regrets[g].round != stored.round ||
            !same_bits(regrets[g].surrogate, outcome.regret->surrogate) ||
            !same_bits(regrets[g].true_cost, outcome.regret->true_cost)) {
          find(fmt::format("replay: the regret up to round {} differs", stored.round));
        }
        ++g;
      }
    }
    if (reader_.state() != run.state()) find("replay: the state after the last round differs");
    result_.replayed = true;
  }

  RunReader reader_;
  const ExperimentConfig& config_;
  Setting setting_;
  std::vector<StoredRound> rounds_;
  RunCheck result_;
};

}  // namespace

RunCheck check_run(const std::filesystem::path& path, bool replay) {
  return Checker(path).check(replay);
}

}  // namespace lifeguard
