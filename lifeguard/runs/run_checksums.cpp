#include "lifeguard/runs/run_checksums.hpp"

namespace lifeguard {

void RowHash::add(const Cell& cell) {
  // The kind comes first, so that no value of one kind looks like one of another.
  const char kind = static_cast<char>('0' + cell.index());
  hash_.add(std::string_view(&kind, 1));
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    hash_.add(std::string_view(reinterpret_cast<const char*>(whole), sizeof(*whole)));
  } else if (const auto* number = std::get_if<double>(&cell)) {
    hash_.add(*number);
  } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
    hash_.add(*text);
  } else if (const auto* bytes = std::get_if<std::span<const std::byte>>(&cell)) {
    hash_.add(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
  }
}

std::string header_checksum(const RunDescription& description, int schema) {
  RowHash hash("header", schema);
  for (const StoredText& text : description.texts) {
    if (text.key == kHeaderChecksum || text.key == kFinished || text.key == kCertificate ||
        text.key == kFirstHeader) {
      continue;
    }
    hash.add(text);
  }
  hash.add(description.experiment);
  hash.add(description.tasks);
  hash.add(description.safe_sets);
  hash.add(description.settings);
  hash.add(description.machines);
  hash.add(description.changes);
  return hash.text();
}

std::string issue_checksum(std::string_view last, const StoredIssue& issue) {
  RowHash hash(last);
  StoredIssue unsigned_issue = issue;
  unsigned_issue.checksum.clear();
  hash.add(unsigned_issue);
  return hash.text();
}

StoredChecksum first_checksum(std::string_view header, const StoredEvaluation& first) {
  RowHash results(header);
  results.add(first);
  return {0, results.text(), ""};
}

StoredChecksum next_checksum(const StoredChecksum& last, const RoundOutcome& outcome, int schema) {
  RowHash results(last.results, schema);
  results.add(outcome.round);
  results.add(outcome.evaluation);
  results.add(outcome.certificate);
  results.add(outcome.regret);
  results.add(outcome.lemmas);
  results.add(outcome.observation);
  results.add(outcome.beliefs);
  results.add(outcome.task_beliefs);
  RowHash times(last.times, schema);
  times.add(times_table(), outcome.round);
  return {outcome.round.round, results.text(), times.text()};
}

std::string checkpoint_checksum(const RunState& state, std::string_view results, bool finished,
                                std::string_view certificate) {
  RowHash hash(results);
  hash.add(StoredCheckpoint{1, state.round, {state.state}, finished ? "finished" : ""});
  hash.add(state.policies);
  hash.add(state.knowledge);
  hash.add(StoredText{std::string(kCertificate), std::string(certificate)});
  return hash.text();
}

}  // namespace lifeguard
