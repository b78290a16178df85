#include "lifeguard/runs/run_file.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/setting.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

// "LIFG": how `file` and we tell a run from any other database.
constexpr int kApplicationId = 0x4c494647;

/// Entry i brings a file from schema version i to i + 1; a new file goes through all of them.
constexpr std::array<const char*, 3> kSchema = {
    R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tasks (task INTEGER PRIMARY KEY, name TEXT NOT NULL, parameters TEXT NOT NULL);
CREATE TABLE rounds (
  round INTEGER PRIMARY KEY, task INTEGER NOT NULL, visit INTEGER NOT NULL, status TEXT NOT NULL,
  mean_cost REAL, loss_before REAL, loss_after REAL, step_kl REAL, noise_share REAL,
  played BLOB NOT NULL, unsafe INTEGER NOT NULL,
  projection TEXT, basis_path TEXT, alternations INTEGER, iterations INTEGER,
  worst_margin REAL, worst_task INTEGER, worst_row TEXT, retraction REAL);
CREATE TABLE evaluations (round INTEGER PRIMARY KEY, costs BLOB NOT NULL, margins BLOB NOT NULL);
CREATE TABLE certificates (
  round INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, margins BLOB NOT NULL,
  worst_rows BLOB NOT NULL, spectrum BLOB NOT NULL, spectrum_holds INTEGER NOT NULL);
CREATE TABLE policies (task INTEGER PRIMARY KEY, parameters BLOB NOT NULL);
CREATE TABLE checkpoint (
  id INTEGER PRIMARY KEY CHECK (id = 1), round INTEGER NOT NULL, state BLOB NOT NULL);
CREATE TABLE timings (
  round INTEGER PRIMARY KEY, rollout_seconds REAL, learn_seconds REAL, projection_seconds REAL);
)sql",
    R"sql(
CREATE TABLE regret (round INTEGER PRIMARY KEY, surrogate REAL, true_cost REAL);
)sql",
    R"sql(
CREATE TABLE lemmas (
  round INTEGER PRIMARY KEY,
  policy_gradient REAL, policy_gradient_bound REAL, policy_gradient_printed REAL,
  knowledge_gradient REAL, knowledge_gradient_bound REAL, knowledge_gradient_printed REAL,
  knowledge REAL, knowledge_bound REAL, knowledge_printed REAL,
  linearised REAL, linearised_bound REAL, linearised_printed REAL,
  gamma1 REAL, gamma2 REAL, delta REAL, printed_gamma1 REAL, printed_gamma2 REAL, excess REAL);
)sql"};
constexpr int kSchemaVersion = static_cast<int>(kSchema.size());

/// SQLite's complaint about a file, in the user's words.
[[noreturn]] void fail(const std::filesystem::path& path, const SQLite::Exception& error) {
  const int code = error.getErrorCode();
  const char* meaning = code == SQLITE_NOTADB    ? "is not a run file"
                        : code == SQLITE_CORRUPT ? "is damaged"
                        : code == SQLITE_FULL    ? "cannot grow: the disk is full"
                        : code == SQLITE_IOERR   ? "cannot be read or written"
                        : code == SQLITE_BUSY || code == SQLITE_LOCKED
                            ? "is being written by another process"
                        : code == SQLITE_CONSTRAINT ? "already has this round: is another process "
                                                      "writing it?"
                        : code == SQLITE_CANTOPEN   ? "cannot be opened"
                                                    : "cannot be used";
  throw RunFileError(fmt::format("{} {} ({})", path.string(), meaning, error.what()));
}

void apply_schema(SQLite::Database& database, int from) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  for (int version = from; version < kSchemaVersion; ++version) {
    database.exec(kSchema[static_cast<std::size_t>(version)]);
  }
  database.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
  transaction.commit();
}

int pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

/// The schema version of a file that is a run; throws for any other.
int checked_version(SQLite::Database& database, const std::filesystem::path& path) {
  if (pragma(database, "application_id") != kApplicationId) {
    throw RunFileError(path.string() + " is not a run file: it is another program's database");
  }
  const int version = pragma(database, "user_version");
  if (version < 1 || version > kSchemaVersion) {
    throw RunFileError(fmt::format(
        "{} has schema version {}; this lifeguard ({}) knows 1 to {}. A newer lifeguard wrote it.",
        path.string(), version, kVersion, kSchemaVersion));
  }
  return version;
}

void bind(SQLite::Statement& statement, int index, const Eigen::VectorXd& values) {
  static_assert(std::endian::native == std::endian::little, "blobs are little-endian doubles");
  statement.bind(index, values.data(),
                 static_cast<int>(values.size() * static_cast<long>(sizeof(double))));
}

/// NaN is NULL in SQLite.
void bind(SQLite::Statement& statement, int index, double value) {
  if (std::isnan(value)) {
    statement.bind(index);
  } else {
    statement.bind(index, value);
  }
}

double real(const SQLite::Column& column) { return column.isNull() ? kNaN : column.getDouble(); }

Eigen::VectorXd vector(const SQLite::Column& column) {
  Eigen::VectorXd values(column.getBytes() / static_cast<int>(sizeof(double)));
  if (values.size() > 0) {
    std::memcpy(values.data(), column.getBlob(),
                static_cast<std::size_t>(values.size()) * sizeof(double));
  }
  return values;
}

template <typename Enum>
Enum from_name(const std::string& name, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (name == to_string(static_cast<Enum>(i))) return static_cast<Enum>(i);
  }
  throw RunFileError(fmt::format("\"{}\" is not a status that this lifeguard knows", name));
}

std::string parameters_json(const Task& task) {
  nlohmann::ordered_json json;
  for (const std::string& name : parameter_names(task.system)) {
    json[name] = parameter(task.system, name);
  }
  return json.dump();
}

RunHeader read_header(SQLite::Database& database, int version) {
  RunHeader header;
  header.schema_version = version;
  std::string source;
  std::string text;
  std::vector<std::string> overrides;
  SQLite::Statement query(database, "SELECT key, value FROM meta");
  while (query.executeStep()) {
    const std::string key = query.getColumn(0).getString();
    const std::string value = query.getColumn(1).getString();
    if (key == "lifeguard_version") header.lifeguard_version = value;
    if (key == "method") header.method = value;
    if (key == "finished") header.finished = value == "true";
    if (key == "config_source") source = value;
    if (key == "config") text = value;
    if (key == "overrides") overrides = nlohmann::json::parse(value).get<decltype(overrides)>();
  }
  header.config = parse_config(text, source, overrides);
  SQLite::Statement rounds(database, "SELECT round FROM checkpoint");
  header.rounds_done = rounds.executeStep() ? rounds.getColumn(0).getInt64() : 0;
  return header;
}

}  // namespace

struct RunWriter::Statements {
  explicit Statements(SQLite::Database& database)
      : round(database, "INSERT INTO rounds VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
        timing(database, "INSERT INTO timings VALUES (?,?,?,?)"),
        evaluation(database, "INSERT INTO evaluations VALUES (?,?,?)"),
        certificate(database, "INSERT INTO certificates VALUES (?,?,?,?,?,?)"),
        regret(database, "INSERT INTO regret VALUES (?,?,?)"),
        lemmas(database, "INSERT INTO lemmas VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
        checkpoint(database, "INSERT OR REPLACE INTO checkpoint VALUES (1,?,?)"),
        policy(database, "INSERT INTO policies VALUES (?,?)") {}
  SQLite::Statement round, timing, evaluation, certificate, regret, lemmas, checkpoint, policy;
};

RunWriter::RunWriter(std::unique_ptr<SQLite::Database> database)
    : database_(std::move(database)), statements_(std::make_unique<Statements>(*database_)) {}
RunWriter::~RunWriter() = default;
RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter& RunWriter::operator=(RunWriter&&) noexcept = default;

RunWriter RunWriter::create(const std::filesystem::path& path, const ExperimentConfig& config) {
  if (std::filesystem::exists(path)) {
    throw RunFileError(
        fmt::format("{} exists already; resume it or choose another name", path.string()));
  }
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
  // The header is one transaction on a file of another name, so that a run file either has its
  // configuration or is not there.
  std::filesystem::path draft = path;
  draft += ".new";
  std::filesystem::remove(draft);
  try {
    {
      SQLite::Database database(draft.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
      apply_schema(database, 0);
      SQLite::Transaction transaction(database);
      SQLite::Statement meta(database, "INSERT INTO meta VALUES (?, ?)");
      const std::array<std::pair<const char*, std::string>, 6> values = {
          {{"lifeguard_version", kVersion},
           {"method", config.method},
           {"config_source", config.source},
           {"config", config.source_text},
           {"overrides", nlohmann::json(config.overrides).dump()},
           {"finished", "false"}}};
      for (const auto& [key, value] : values) {
        meta.bind(1, key);
        meta.bind(2, value);
        meta.exec();
        meta.reset();
      }
      SQLite::Statement tasks(database, "INSERT INTO tasks VALUES (?, ?, ?)");
      const std::vector<Task> drawn =
          config.family.draw_many(static_cast<std::uint64_t>(config.seed), config.tasks);
      for (std::size_t t = 0; t < drawn.size(); ++t) {
        tasks.bind(1, static_cast<int>(t));
        tasks.bind(2, drawn[t].name);
        tasks.bind(3, parameters_json(drawn[t]));
        tasks.exec();
        tasks.reset();
      }
      transaction.commit();
      database.exec("PRAGMA journal_mode = WAL");
    }
    // The log of a run that was killed and then deleted would be taken for this one's.
    for (const char* log : {"-wal", "-shm"}) std::filesystem::remove(path.string() + log);
    std::filesystem::rename(draft, path);
  } catch (const SQLite::Exception& error) {
    std::error_code ignored;
    std::filesystem::remove(draft, ignored);
    fail(path, error);
  }
  return open(path);
}

RunWriter RunWriter::open(const std::filesystem::path& path) {
  require(std::filesystem::exists(path), "run", path.string(), "must be a file that exists");
  try {
    auto database = std::make_unique<SQLite::Database>(path.string(), SQLite::OPEN_READWRITE,
                                                       /*busy_timeout_ms=*/5000);
    const int version = checked_version(*database, path);
    if (version < kSchemaVersion) apply_schema(*database, version);
    database->exec("PRAGMA journal_mode = WAL");
    // A commit survives a killed process at once and a power failure after the next checkpoint of
    // the log; the file is consistent after either.
    database->exec("PRAGMA synchronous = NORMAL");
    return RunWriter(std::move(database));
  } catch (const SQLite::Exception& error) {
    fail(path, error);
  }
}

void RunWriter::begin() {
  if (open_) return;
  database_->exec("BEGIN IMMEDIATE");
  open_ = true;
}

void RunWriter::add(const StoredRound& r) {
  try {
    begin();
    SQLite::Statement& s = statements_->round;
    s.bind(1, static_cast<int64_t>(r.round));
    s.bind(2, r.task);
    s.bind(3, static_cast<int64_t>(r.visit));
    s.bind(4, to_string(r.status));
    bind(s, 5, r.mean_cost);
    bind(s, 6, r.loss_before);
    bind(s, 7, r.loss_after);
    bind(s, 8, r.step_kl);
    bind(s, 9, r.noise_share);
    bind(s, 10, r.played);
    s.bind(11, r.unsafe);
    s.bind(12, r.projection);
    s.bind(13, r.basis_path);
    s.bind(14, r.alternations);
    s.bind(15, static_cast<int64_t>(r.iterations));
    bind(s, 16, r.worst_margin);
    s.bind(17, r.worst_task);
    s.bind(18, r.worst_row);
    bind(s, 19, r.retraction);
    s.exec();
    s.reset();
    SQLite::Statement& t = statements_->timing;
    t.bind(1, static_cast<int64_t>(r.round));
    t.bind(2, r.rollout_seconds);
    t.bind(3, r.learn_seconds);
    bind(t, 4, r.projection_seconds);
    t.exec();
    t.reset();
  } catch (const SQLite::Exception& error) {
    fail(database_->getFilename(), error);
  }
}

void RunWriter::add(const StoredEvaluation& e) {
  try {
    begin();
    SQLite::Statement& s = statements_->evaluation;
    s.bind(1, static_cast<int64_t>(e.round));
    bind(s, 2, e.costs);
    bind(s, 3, e.margins);
    s.exec();
    s.reset();
  } catch (const SQLite::Exception& error) {
    fail(database_->getFilename(), error);
  }
}

void RunWriter::add(const StoredCertificate& c) {
  try {
    begin();
    SQLite::Statement& s = statements_->certificate;
    s.bind(1, static_cast<int64_t>(c.round));
    s.bind(2, c.fingerprint);
    bind(s, 3, c.margins);
    s.bind(4, c.worst_rows.data(), static_cast<int>(c.worst_rows.size() * sizeof(int)));
    bind(s, 5, c.spectrum);
    s.bind(6, c.spectrum_holds ? 1 : 0);
    s.exec();
    s.reset();
  } catch (const SQLite::Exception& error) {
    fail(database_->getFilename(), error);
  }
}

void RunWriter::add(const StoredRegret& r) {
  try {
    begin();
    SQLite::Statement& s = statements_->regret;
    s.bind(1, static_cast<int64_t>(r.round));
    bind(s, 2, r.surrogate);
    bind(s, 3, r.true_cost);
    s.exec();
    s.reset();
  } catch (const SQLite::Exception& error) {
    fail(database_->getFilename(), error);
  }
}

namespace {

/// The columns of the table after the four lemmas.
constexpr std::array<double LemmaValues::*, 6> kLemmaNumbers = {
    &LemmaValues::gamma1,         &LemmaValues::gamma2,         &LemmaValues::delta,
    &LemmaValues::printed_gamma1, &LemmaValues::printed_gamma2, &LemmaValues::excess};

}  // namespace

void RunWriter::add(const StoredLemmas& l) {
  try {
    begin();
    SQLite::Statement& s = statements_->lemmas;
    int column = 1;
    s.bind(column++, static_cast<int64_t>(l.round));
    for (const auto lemma : kLemmas) {
      const BoundedQuantity& quantity = l.values.*lemma;
      bind(s, column++, quantity.measured);
      bind(s, column++, quantity.bound);
      bind(s, column++, quantity.printed);
    }
    for (const auto number : kLemmaNumbers) bind(s, column++, l.values.*number);
    s.exec();
    s.reset();
  } catch (const SQLite::Exception& error) {
    fail(database_->getFilename(), error);
  }
}

void RunWriter::commit(long round, const std::string& state) {
  try {
    begin();
    SQLite::Statement& s = statements_->checkpoint;
    s.bind(1, static_cast<int64_t>(round));
    s.bind(2, state.data(), static_cast<int>(state.size()));
    s.exec();
    s.reset();
    database_->exec("COMMIT");
    open_ = false;
  } catch (const SQLite::Exception& error) {
    fail(database_->getFilename(), error);
  }
}

void RunWriter::finish(long round, const std::string& state, const Eigen::MatrixXd& policies,
                       const std::string& certificate_json) {
  try {
    begin();
    for (int t = 0; t < policies.cols(); ++t) {
      SQLite::Statement& s = statements_->policy;
      s.bind(1, t);
      bind(s, 2, Eigen::VectorXd(policies.col(t)));
      s.exec();
      s.reset();
    }
    SQLite::Statement meta(*database_, "INSERT OR REPLACE INTO meta VALUES (?, ?)");
    const std::array<std::pair<const char*, std::string>, 2> values = {
        {{"finished", "true"}, {"certificate", certificate_json}}};
    for (const auto& [key, value] : values) {
      meta.bind(1, key);
      meta.bind(2, value);
      meta.exec();
      meta.reset();
    }
  } catch (const SQLite::Exception& error) {
    fail(database_->getFilename(), error);
  }
  commit(round, state);
  try {
    // Without a log beside it a finished run is one file, also for those who may only read it.
    database_->exec("PRAGMA journal_mode = DELETE");
  } catch (const SQLite::Exception&) {
    // Somebody is reading: the log stays for now, and the file is as good.
  }
}

namespace {

/// A reader may not write, so it cannot undo what a killed writer left half done; whoever may write
/// does that first.
std::unique_ptr<SQLite::Database> open_to_read(const std::filesystem::path& path) {
  const auto open = [&](int mode) {
    auto database =
        std::make_unique<SQLite::Database>(path.string(), mode, /*busy_timeout_ms=*/5000);
    pragma(*database, "user_version");
    return database;
  };
  try {
    return open(SQLite::OPEN_READONLY);
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() != SQLITE_READONLY) throw;
  }
  open(SQLite::OPEN_READWRITE);
  return open(SQLite::OPEN_READONLY);
}

}  // namespace

RunReader::RunReader(const std::filesystem::path& path) : path_(path) {
  if (!std::filesystem::is_regular_file(path)) {
    throw RunFileError(path.string() + " is not there, or not a file");
  }
  try {
    database_ = open_to_read(path);
    header_ = read_header(*database_, checked_version(*database_, path));
  } catch (const SQLite::Exception& error) {
    fail(path, error);
  } catch (const InvalidInput& error) {
    throw RunFileError(
        fmt::format("{} holds a configuration that this lifeguard ({}) does not "
                    "understand: {}",
                    path.string(), kVersion, error.what()));
  } catch (const nlohmann::json::exception& error) {
    throw RunFileError(fmt::format("{} is damaged ({})", path.string(), error.what()));
  }
}
RunReader::~RunReader() = default;
RunReader::RunReader(RunReader&&) noexcept = default;

namespace {

/// Every row of a query as what `read` makes of it.
template <typename Row, typename Read>
std::vector<Row> collect(SQLite::Database& database, const std::filesystem::path& path,
                         const char* sql, long first, Read read) {
  try {
    SQLite::Statement query(database, sql);
    query.bind(1, static_cast<int64_t>(first));
    std::vector<Row> rows;
    while (query.executeStep()) rows.push_back(read(query));
    return rows;
  } catch (const SQLite::Exception& error) {
    fail(path, error);
  }
}

}  // namespace

std::vector<StoredRound> RunReader::rounds(long first) const {
  return collect<StoredRound>(
      *database_, path_,
      "SELECT r.*, t.rollout_seconds, t.learn_seconds, t.projection_seconds FROM rounds r "
      "LEFT JOIN timings t ON t.round = r.round WHERE r.round >= ? ORDER BY r.round",
      first, [](SQLite::Statement& q) {
        StoredRound r;
        r.round = q.getColumn(0).getInt64();
        r.task = q.getColumn(1).getInt();
        r.visit = q.getColumn(2).getInt64();
        r.status = from_name(q.getColumn(3).getString(), RoundStatus::singular);
        r.mean_cost = real(q.getColumn(4));
        r.loss_before = real(q.getColumn(5));
        r.loss_after = real(q.getColumn(6));
        r.step_kl = real(q.getColumn(7));
        r.noise_share = real(q.getColumn(8));
        r.played = vector(q.getColumn(9));
        r.unsafe = q.getColumn(10).getInt();
        r.projection = q.getColumn(11).getString();
        r.basis_path = q.getColumn(12).getString();
        r.alternations = q.getColumn(13).getInt();
        r.iterations = q.getColumn(14).getInt64();
        r.worst_margin = real(q.getColumn(15));
        r.worst_task = q.getColumn(16).getInt();
        r.worst_row = q.getColumn(17).getString();
        r.retraction = real(q.getColumn(18));
        r.rollout_seconds = q.getColumn(19).getDouble();
        r.learn_seconds = q.getColumn(20).getDouble();
        r.projection_seconds = q.getColumn(21).getDouble();
        return r;
      });
}

std::vector<StoredEvaluation> RunReader::evaluations(long first) const {
  return collect<StoredEvaluation>(
      *database_, path_, "SELECT * FROM evaluations WHERE round >= ? ORDER BY round", first,
      [](SQLite::Statement& q) {
        return StoredEvaluation{q.getColumn(0).getInt64(), vector(q.getColumn(1)),
                                vector(q.getColumn(2))};
      });
}

std::vector<StoredCertificate> RunReader::certificates(long first) const {
  return collect<StoredCertificate>(
      *database_, path_, "SELECT * FROM certificates WHERE round >= ? ORDER BY round", first,
      [](SQLite::Statement& q) {
        StoredCertificate c;
        c.round = q.getColumn(0).getInt64();
        c.fingerprint = q.getColumn(1).getString();
        c.margins = vector(q.getColumn(2));
        c.worst_rows.resize(static_cast<std::size_t>(q.getColumn(3).getBytes()) / sizeof(int));
        if (!c.worst_rows.empty()) {
          std::memcpy(c.worst_rows.data(), q.getColumn(3).getBlob(),
                      c.worst_rows.size() * sizeof(int));
        }
        c.spectrum = vector(q.getColumn(4));
        c.spectrum_holds = q.getColumn(5).getInt() != 0;
        return c;
      });
}

std::vector<StoredRegret> RunReader::regrets(long first) const {
  if (header_.schema_version < 2) return {};
  return collect<StoredRegret>(
      *database_, path_, "SELECT * FROM regret WHERE round >= ? ORDER BY round", first,
      [](SQLite::Statement& q) {
        return StoredRegret{q.getColumn(0).getInt64(), real(q.getColumn(1)), real(q.getColumn(2))};
      });
}

std::vector<StoredLemmas> RunReader::lemmas(long first) const {
  if (header_.schema_version < 3) return {};
  return collect<StoredLemmas>(*database_, path_,
                               "SELECT * FROM lemmas WHERE round >= ? ORDER BY round", first,
                               [](SQLite::Statement& q) {
                                 StoredLemmas l;
                                 int column = 0;
                                 l.round = q.getColumn(column++).getInt64();
                                 for (const auto lemma : kLemmas) {
                                   BoundedQuantity& quantity = l.values.*lemma;
                                   quantity.measured = real(q.getColumn(column++));
                                   quantity.bound = real(q.getColumn(column++));
                                   quantity.printed = real(q.getColumn(column++));
                                 }
                                 for (const auto number : kLemmaNumbers)
                                   l.values.*number = real(q.getColumn(column++));
                                 return l;
                               });
}

std::string RunReader::state() const {
  const auto states =
      collect<std::string>(*database_, path_, "SELECT state FROM checkpoint WHERE id >= ?", 1,
                           [](SQLite::Statement& q) { return q.getColumn(0).getString(); });
  return states.empty() ? "" : states.front();
}

std::optional<Eigen::MatrixXd> RunReader::policies() const {
  const auto columns = collect<Eigen::VectorXd>(
      *database_, path_, "SELECT parameters FROM policies WHERE task >= ? ORDER BY task", 0,
      [](SQLite::Statement& q) { return vector(q.getColumn(0)); });
  if (columns.empty()) return std::nullopt;
  Eigen::MatrixXd policies(columns.front().size(), static_cast<long>(columns.size()));
  for (std::size_t t = 0; t < columns.size(); ++t) {
    if (columns[t].size() != policies.rows()) {
      throw RunFileError(path_.string() + " is damaged (policies of different sizes)");
    }
    policies.col(static_cast<long>(t)) = columns[t];
  }
  return policies;
}

std::string RunReader::certificate_json() const {
  const auto texts = collect<std::string>(
      *database_, path_, "SELECT value FROM meta WHERE key = 'certificate' AND 1 = ?", 1,
      [](SQLite::Statement& q) { return q.getColumn(0).getString(); });
  return texts.empty() ? "" : texts.front();
}

std::string RunReader::integrity() const {
  try {
    const std::string answer = database_->execAndGet("PRAGMA integrity_check").getString();
    return answer == "ok" ? "" : answer;
  } catch (const SQLite::Exception& error) {
    return error.what();
  }
}

const char* to_string(RoundStatus status) {
  switch (status) {
    case RoundStatus::not_run:
      return "not run";
    case RoundStatus::ok:
      return "ok";
    case RoundStatus::no_signal:
      return "no signal";
    case RoundStatus::singular:
      return "singular";
  }
  return "?";
}

const char* to_string(BasisPath path) {
  switch (path) {
    case BasisPath::not_run:
      return "not run";
    case BasisPath::inside:
      return "inside";
    case BasisPath::rows:
      return "rows";
    case BasisPath::spectrum:
      return "spectrum";
    case BasisPath::short_steps:
      return "short steps";
    case BasisPath::kept:
      return "kept";
    case BasisPath::direct:
      return "direct";
  }
  return "?";
}

}  // namespace lifeguard
