#pragma once

#include <string_view>
#include <vector>

namespace lifeguard {

/// What was found of a claim.
enum class Verdict { confirmed, refuted, undecided };

std::string_view verdict_name(Verdict verdict);

/// One statement, and on how many seeds it held. It claims to hold on more than half of all seeds
/// there are, not only of those that were tried.
struct SeedCount {
  int holds = 0;
  int seeds = 0;
};

/// How many of these are above 0: the seeds on which one method was better than another by some
/// quantity. A tie is not better.
SeedCount count_positive(const std::vector<double>& advantages);

/// P(X >= count) for X ~ Bin(n, 1/2): the exact one-sided sign test.
double probability_of_at_least(int count, int n);

/// What seeds say for and against a claim, as exact probabilities that chance alone says as much.
/// Nothing is assumed of how a quantity is distributed, only that seeds are independent.
struct Evidence {
  /// Of counts as high as these in all parts if some part did not hold on more than half.
  double for_it = 1;
  /// Of a count as low as the lowest if all parts held on at least half.
  double against_it = 1;

  /// Two-sided, for or against.
  double p() const;
};

/// Of a claim all of whose parts must hold. Every part must be confirmed for the claim to be
/// (which needs no correction); one that is refuted is enough against it (Bonferroni's correction).
Evidence weigh(const std::vector<SeedCount>& parts);

/// Judges claims that stand on one page: the probability that any of them is confirmed although it
/// does not hold, or refuted although it does, is at most `error` (Holm's correction).
std::vector<Verdict> judge_together(const std::vector<Evidence>& claims, double error = 0.05);

}  // namespace lifeguard
