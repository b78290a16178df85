#pragma once

#include <algorithm>
#include <bit>
#include <vector>

namespace lifeguard {

/// What is believed of single tasks is stored for the first sixteen, and of more of them for fewer
/// and fewer: a task whose number, counted from 1, has four significant binary digits (16, 18, …,
/// 32, 36, …). A million tasks are then 144 that are followed, however long the run.
inline constexpr int kTaskDigits = 4;
/// Likewise of their visits: 1 to 8, 10, 12, 14, 16, 20, …
inline constexpr int kVisitDigits = 3;
/// A covariance has a number for each two gains: of policies with more gains than this it is not
/// stored.
inline constexpr long kMostFollowedParameters = 96;
/// How many directions are stored, and how many numbers say where a task is on the first two: its
/// mean (2), and of its covariance the variance, what both have in common, and the other variance.
inline constexpr long kStoredDirections = 3;
inline constexpr long kPlaceNumbers = 5;

/// Whether no more than this many binary digits of n > 0 are significant.
constexpr bool has_few_digits(long n, int digits) {
  const int more =
      std::max(0, static_cast<int>(std::bit_width(static_cast<unsigned long>(n))) - digits);
  return (n >> more) << more == n;
}

/// The task is one of those of which single beliefs are stored.
constexpr bool is_followed(long task, long parameters) {
  return parameters <= kMostFollowedParameters && has_few_digits(task + 1, kTaskDigits);
}

/// And what is believed after its visit with this number, from 1 on, is stored.
constexpr bool is_followed_visit(long visit) { return has_few_digits(visit, kVisitDigits); }

/// Those of the first `tasks` tasks that are followed.
inline std::vector<int> followed_tasks(long tasks, long parameters) {
  std::vector<int> followed;
  if (parameters > kMostFollowedParameters) return followed;
  for (long n = 1; n <= tasks;) {
    followed.push_back(static_cast<int>(n - 1));
    n += std::max(
        1L, static_cast<long>(std::bit_floor(static_cast<unsigned long>(n))) >> (kTaskDigits - 1));
  }
  return followed;
}

}  // namespace lifeguard
