#include "lifeguard/safety/sets/gain_cloud.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/prove/exact_integers.hpp"

namespace lifeguard {
namespace {

using namespace exact_integers;

/// A set of point numbers.
class PointSet {
 public:
  explicit PointSet(std::size_t points) : words_((points + 63) / 64, 0) {}

  void insert(std::size_t point) { words_[point / 64] |= std::uint64_t{1} << (point % 64); }
  std::size_t count() const {
    std::size_t sum = 0;
    for (const std::uint64_t word : words_) sum += static_cast<std::size_t>(std::popcount(word));
    return sum;
  }
  bool contains(const PointSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((other.words_[i] & ~words_[i]) != 0) return false;
    }
    return true;
  }
  PointSet common(const PointSet& other) const {
    PointSet result = *this;
    for (std::size_t i = 0; i < words_.size(); ++i) result.words_[i] &= other.words_[i];
    return result;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// z₀ + zᵀp ≥ 0 for all points p taken in so far, with equality for those on it.
struct Facet {
  Integers z;
  PointSet on;
};

void divide_by_common_divisor(Integers& z) {
  Integer divisor = 0;
  for (const Integer& entry : z) divisor = gcd(divisor, entry);
  for (Integer& entry : z) entry /= divisor;
}

/// Whether two facets share a ridge: no third one holds all the points that both hold (Fukuda and
/// Prodon, "Double description method revisited", 1996).
bool adjacent(const std::vector<Facet>& facets, std::size_t i, std::size_t j,
              const PointSet& common, std::size_t parameters) {
  if (common.count() + 1 < parameters) return false;
  for (std::size_t k = 0; k < facets.size(); ++k) {
    if (k != i && k != j && facets[k].on.contains(common)) return false;
  }
  return true;
}

/// The facets after taking in one more point (double description): those that have it on their
/// inner side stay, those that do not are replaced by new ones through the point and each ridge
/// between the two kinds.
std::vector<Facet> take_in(const std::vector<Facet>& facets, const Integers& point,
                           std::size_t number, std::size_t parameters) {
  std::vector<Integer> sides;
  for (const Facet& facet : facets) sides.push_back(dot(facet.z, point));
  std::vector<Facet> result;
  for (std::size_t i = 0; i < facets.size(); ++i) {
    if (sides[i] < 0) continue;
    result.push_back(facets[i]);
    if (sides[i] == 0) result.back().on.insert(number);
  }
  for (std::size_t i = 0; i < facets.size(); ++i) {
    if (sides[i] <= 0) continue;
    for (std::size_t j = 0; j < facets.size(); ++j) {
      if (sides[j] >= 0) continue;
      PointSet common = facets[i].on.common(facets[j].on);
      if (!adjacent(facets, i, j, common, parameters)) continue;
      Facet facet{facets[j].z, std::move(common)};
      for (std::size_t n = 0; n < facet.z.size(); ++n) {
        facet.z[n] = sides[i] * facets[j].z[n] - sides[j] * facets[i].z[n];
      }
      divide_by_common_divisor(facet.z);
      facet.on.insert(number);
      result.push_back(std::move(facet));
    }
  }
  return result;
}

/// The least double that is at least every directionᵀ p.
double support(const Eigen::VectorXd& direction, const Eigen::MatrixXd& points) {
  Rational largest = 0;
  for (long j = 0; j < points.cols(); ++j) {
    Rational sum = 0;
    for (long i = 0; i < points.rows(); ++i) sum += Rational(direction(i)) * Rational(points(i, j));
    if (j == 0 || sum > largest) largest = sum;
  }
  const auto rounded = largest.convert_to<double>();
  return Rational(rounded) < largest ? std::nextafter(rounded, kInfinity) : rounded;
}

void require_points(const Eigen::MatrixXd& points) {
  require(points.rows() > 0 && points.cols() > 0, "points",
          fmt::format("{} x {} numbers", points.rows(), points.cols()), "must not be empty");
  for (long j = 0; j < points.cols(); ++j) {
    for (long i = 0; i < points.rows(); ++i) {
      require_finite(fmt::format("points({}, {})", i, j), points(i, j));
    }
  }
}

}  // namespace

SafeSet gain_cloud_hull(const Eigen::MatrixXd& points, const std::string& name, int max_rows) {
  require_points(points);
  const auto parameters = static_cast<std::size_t>(points.rows());
  const auto count = static_cast<std::size_t>(points.cols());
  std::vector<Integers> homogeneous;
  for (long j = 0; j < points.cols(); ++j) {
    Eigen::VectorXd extended(points.rows() + 1);
    extended << 1, points.col(j);
    homogeneous.push_back(to_integers(extended));
  }
  // A simplex to start with: its facets are the rows of the inverse.
  const Basis simplex = independent_columns(homogeneous);
  std::vector<bool> taken(count, false);
  std::vector<Facet> facets;
  for (std::size_t p = 0; p < simplex.size(); ++p) {
    require(simplex.column(p) != Basis::kUnit, "points",
            fmt::format("{} in {} parameters", count, parameters),
            "must not lie in a plane: a hull without inside has no strictly safe policy");
    taken[static_cast<std::size_t>(simplex.column(p))] = true;
  }
  for (std::size_t p = 0; p < simplex.size(); ++p) {
    Facet facet{simplex.row(p), PointSet(count)};
    for (std::size_t q = 0; q < simplex.size(); ++q) {
      if (q != p) facet.on.insert(static_cast<std::size_t>(simplex.column(q)));
    }
    facets.push_back(std::move(facet));
  }
  for (std::size_t j = 0; j < count; ++j) {
    if (!taken[j]) facets = take_in(facets, homogeneous[j], j, parameters);
    require(static_cast<long>(facets.size()) <= max_rows, "max_rows", static_cast<double>(max_rows),
            fmt::format("must be at least {}: so many facets are met on the way; or describe the "
                        "cloud by directions (gain_cloud_bounds)",
                        facets.size()));
  }

  Eigen::MatrixXd directions(points.rows(), static_cast<long>(facets.size()));
  std::vector<std::string> names;
  for (std::size_t f = 0; f < facets.size(); ++f) {
    const Integers normal(facets[f].z.begin() + 1, facets[f].z.end());
    directions.col(static_cast<long>(f)) = -scaled(normal);
    names.push_back(fmt::format("{} {}", name, f));
  }
  return gain_cloud_bounds(points, directions, names);
}

SafeSet gain_cloud_bounds(const Eigen::MatrixXd& points, const Eigen::MatrixXd& directions,
                          const std::vector<std::string>& names) {
  require_points(points);
  require_size("rows of directions", directions.rows(), points.rows());
  require(directions.allFinite(), "directions", "not finite", "must be finite");
  Eigen::VectorXd limits(directions.cols());
  for (long j = 0; j < directions.cols(); ++j) limits(j) = support(directions.col(j), points);
  return SafeSet(directions.transpose(), limits, names);
}

}  // namespace lifeguard
