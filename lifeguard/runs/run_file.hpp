#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/regret/theorem_bounds.hpp"
#include "lifeguard/runs/config.hpp"
#include "lifeguard/safety/prove/certificate.hpp"

namespace SQLite {
class Database;
class Statement;
}  // namespace SQLite

namespace lifeguard {

/// A run file that cannot be read or written: damaged, from another program, too new, disk full.
class RunFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One round as it is stored. Times are kept apart from what must be the same to the bit.
struct StoredRound {
  long round = 0;  // counts from 1
  int task = 0;
  long visit = 0;
  RoundStatus status = RoundStatus::not_run;
  double mean_cost = kNaN;
  double loss_before = kNaN;
  double loss_after = kNaN;
  double step_kl = kNaN;
  double noise_share = kNaN;
  Eigen::VectorXd played;  // α of the visited task, as it was rolled out
  /// Tasks whose policy after the round breaks its constraints, in plain arithmetic.
  int unsafe = 0;
  // What the safeguard did; NaN and empty for methods without one.
  std::string projection;
  std::string basis_path;
  int alternations = 0;
  long iterations = 0;
  double worst_margin = kNaN;
  int worst_task = -1;
  std::string worst_row;
  double retraction = kNaN;
  double rollout_seconds = 0;
  double learn_seconds = 0;
  double projection_seconds = 0;
};

/// All tasks' policies after a round: the noise-free cost and the smallest margin of each.
struct StoredEvaluation {
  long round = 0;  // 0: the initial policies
  Eigen::VectorXd costs;
  Eigen::VectorXd margins;  // lower bounds; infinity without constraints
};

/// What is proven of a round's knowledge (Certificate), without the names.
struct StoredCertificate {
  long round = 0;
  std::string fingerprint;
  Eigen::VectorXd margins;      // the smaller of row and slack margin, one for each task
  std::vector<int> worst_rows;  // -1 without rows
  Eigen::VectorXd spectrum;     // of LᵀL, ascending
  bool spectrum_holds = false;
};

/// The regret up to and including a round.
struct StoredRegret {
  long round = 0;
  /// Of the round losses against each task's best safe policy in hindsight; not more than this.
  double surrogate = kNaN;
  /// Of the noise-free cost against the best known safe policies, mean over the tasks.
  double true_cost = kNaN;
};

/// What the theorem's lemmas say of a round (TheoremBounds).
struct StoredLemmas {
  long round = 0;
  LemmaValues values;
};

struct RunHeader {
  int schema_version = 0;
  std::string lifeguard_version;
  std::string method;  // a method or a variant
  ExperimentConfig config;
  bool finished = false;
  long rounds_done = 0;
};

/// One run is one SQLite file. It is written in batches of rounds, each one transaction together
/// with the state to go on from, so a run that was killed resumes after its last batch and loses
/// nothing but the time. Readers can open it meanwhile (WAL).
class RunWriter {
 public:
  /// A new file; an existing one is an error.
  static RunWriter create(const std::filesystem::path& path, const ExperimentConfig& config);
  /// To go on with a file that is not finished. Upgrades an older schema.
  static RunWriter open(const std::filesystem::path& path);
  ~RunWriter();
  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;

  void add(const StoredRound& round);
  void add(const StoredEvaluation& evaluation);
  void add(const StoredCertificate& certificate);
  void add(const StoredRegret& regret);
  void add(const StoredLemmas& lemmas);
  /// Makes all that was added since the last commit durable, with the state after `round`.
  void commit(long round, const std::string& state);
  /// The last commit: final policies, one column for each task, and the run is finished.
  void finish(long round, const std::string& state, const Eigen::MatrixXd& policies,
              const std::string& certificate_json);

 private:
  explicit RunWriter(std::unique_ptr<SQLite::Database> database);
  void begin();
  struct Statements;
  std::unique_ptr<SQLite::Database> database_;
  std::unique_ptr<Statements> statements_;
  bool open_ = false;
};

class RunReader {
 public:
  /// Throws RunFileError that says what is wrong with the file.
  explicit RunReader(const std::filesystem::path& path);
  ~RunReader();
  RunReader(RunReader&&) noexcept;

  const std::filesystem::path& path() const { return path_; }
  const RunHeader& header() const { return header_; }
  /// From round `first` on.
  std::vector<StoredRound> rounds(long first = 1) const;
  std::vector<StoredEvaluation> evaluations(long first = 0) const;
  std::vector<StoredCertificate> certificates(long first = 1) const;
  std::vector<StoredRegret> regrets(long first = 1) const;
  std::vector<StoredLemmas> lemmas(long first = 1) const;
  /// The state after rounds_done; empty before the first commit.
  std::string state() const;
  /// Policies after the last round, one column for each task; only of finished runs.
  std::optional<Eigen::MatrixXd> policies() const;
  std::string certificate_json() const;
  /// SQLite's own check of every page and index; empty if all is well.
  std::string integrity() const;

 private:
  std::filesystem::path path_;
  std::unique_ptr<SQLite::Database> database_;
  RunHeader header_;
};

const char* to_string(RoundStatus status);
const char* to_string(BasisPath path);

}  // namespace lifeguard
