#include "lifeguard/runs/check_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/runs/check_description.hpp"
#include "lifeguard/runs/run_checksums.hpp"

namespace lifeguard {
namespace {

class ReplayCheck {
 public:
  explicit ReplayCheck(CheckedRun& run) : run_(run) {}

  void play_again() {
    if (!run_.absent.empty()) {
      throw UnknownSystem(fmt::format(
          "{} cannot be played again: this program does not know its system \"{:.100}\"",
          run_.view->file, system_name(run_.absent.front().system)));
    }
    Run run(run_.config, run_.options.work);
    const RunDescription description = run.description();
    compare_description(run_, description, 0, "replay: ");
    StoredChecksum chain;
    if (run_.header().begun) {
      const StoredEvaluation first = run.evaluate_now();
      compare_played(run_.view->evaluations, std::optional(first), 0);
      chain = first_checksum(header_checksum(description, run_.schema()), first);
      compare_chain(chain);
    }
    for (const StoredRound& stored : run_.view->rounds) {
      if (run_.full() || run.finished()) break;
      run_.options.work.step("playing again", stored.round, run_.header().rounds_done);
      const RoundOutcome& outcome = run.play();
      run_.compare(table_of<StoredRound>(), stored, outcome.round, 0, "replay: ");
      compare_played(run_.view->evaluations, outcome.evaluation, outcome.round.round);
      compare_played(run_.view->certificates, outcome.certificate, outcome.round.round);
      compare_played(run_.view->regrets, outcome.regret, outcome.round.round);
      compare_played(run_.view->lemmas, outcome.lemmas, outcome.round.round);
      compare_played(run_.view->beliefs, outcome.beliefs, outcome.round.round);
      if (run_.schema() >= table_of<StoredTaskBelief>().since) {
        run_.compare(task_beliefs_of(outcome.round.round), outcome.task_beliefs, 0, "replay: ");
      }
      chain = next_checksum(chain, outcome, run_.schema());
      compare_chain(chain);
    }
    if (run_.state && !run_.full()) compare_last(run, chain);
    run_.result.replayed = true;
  }

 private:
  template <class Row>
  void compare_played(const std::vector<Row>& stored, const std::optional<Row>& played,
                      long round) {
    if (table_of<Row>().since > run_.schema()) return;
    const Row* found = row_of(stored, round);
    if ((found != nullptr) != played.has_value()) {
      run_.find(fmt::format("replay: table {}, round {}: is {}", table_of<Row>().name, round,
                            played ? "missing" : "not played"));
    } else if (found != nullptr) {
      run_.compare(table_of<Row>(), *found, *played, 0, "replay: ");
    }
  }

  std::vector<StoredTaskBelief> task_beliefs_of(long round) const {
    const auto& all = run_.view->task_beliefs;  // by moment, and so by round
    const auto before = [](const StoredTaskBelief& belief, long r) { return belief.round() < r; };
    const auto first = std::lower_bound(all.begin(), all.end(), round, before);
    return {first, std::lower_bound(first, all.end(), round + 1, before)};
  }

  void compare_chain(const StoredChecksum& played) {
    if (run_.schema() < 4) return;
    const StoredChecksum* stored = row_of(run_.checksums, played.round);
    if (stored == nullptr || stored->results != played.results) {
      run_.find(fmt::format("replay: the checksum of round {} differs", played.round));
    }
  }

  void compare_last(const Run& run, const StoredChecksum& chain) {
    const RunState played = run.stored_state();
    if (run_.state->state != played.state) {
      run_.find("replay: the state after the last round differs");
    }
    if (run_.schema() >= 4 || run_.header().finished) {
      run_.compare(run_.state->policies, played.policies, 0, "replay: ");
    }
    const std::string certificate = run_.header().finished ? run.certificate_json() : "";
    if (run_.view->certificate_json != certificate) {
      run_.find("replay: the last certificate differs");
    }
    if (run_.schema() < 4) return;
    if (run_.state->knowledge && played.knowledge) {
      run_.compare(table_of<StoredKnowledge>(), *run_.state->knowledge, *played.knowledge, 0,
                   "replay: ");
    }
    if (run_.state->checksum !=
        checkpoint_checksum(played, chain.results, run_.header().finished, certificate)) {
      run_.find("replay: the checksum of the state differs");
    }
  }

  CheckedRun& run_;
};

}  // namespace

void check_replay(CheckedRun& run) { ReplayCheck(run).play_again(); }

}  // namespace lifeguard
