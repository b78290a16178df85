#include "lifeguard/runs/verdict.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <numeric>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::confirmed:
      return "confirmed";
    case Verdict::refuted:
      return "refuted";
    case Verdict::undecided:
      break;
  }
  return "undecided";
}

SeedCount count_positive(const std::vector<double>& advantages) {
  SeedCount count;
  count.seeds = static_cast<int>(advantages.size());
  for (const double advantage : advantages) count.holds += advantage > 0 ? 1 : 0;
  return count;
}

double probability_of_at_least(int count, int n) {
  require(n >= 0, "seeds", n, "must be at least 0");
  if (count <= 0) return 1;
  if (count > n) return 0;
  const boost::math::binomial_distribution<double> heads(n, 0.5);
  return boost::math::cdf(boost::math::complement(heads, count - 1));
}

double Evidence::p() const { return std::min(1.0, 2 * std::min(for_it, against_it)); }

Evidence weigh(const std::vector<SeedCount>& parts) {
  Evidence evidence;
  if (parts.empty()) return evidence;
  evidence.for_it = 0;
  for (const SeedCount& part : parts) {
    evidence.for_it = std::max(evidence.for_it, probability_of_at_least(part.holds, part.seeds));
    evidence.against_it = std::min(
        evidence.against_it, static_cast<double>(parts.size()) *
                                 probability_of_at_least(part.seeds - part.holds, part.seeds));
  }
  return evidence;
}

std::vector<Verdict> judge_together(const std::vector<Evidence>& claims, double error) {
  std::vector<std::size_t> order(claims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return claims[a].p() < claims[b].p(); });
  std::vector<Verdict> verdicts(claims.size(), Verdict::undecided);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Evidence& claim = claims[order[i]];
    if (claim.p() > error / static_cast<double>(order.size() - i)) break;
    verdicts[order[i]] = claim.for_it < claim.against_it ? Verdict::confirmed : Verdict::refuted;
  }
  return verdicts;
}

}  // namespace lifeguard
