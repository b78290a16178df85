#include "lifeguard/report/chart.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace lifeguard {
namespace {

/// The part of a polygon where a x + b y ≤ c (Sutherland and Hodgman).
std::vector<Point2> clipped(const std::vector<Point2>& polygon, double a, double b, double c) {
  std::vector<Point2> result;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point2& p = polygon[i];
    const Point2& q = polygon[(i + 1) % polygon.size()];
    const double fp = a * p[0] + b * p[1] - c;
    const double fq = a * q[0] + b * q[1] - c;
    if (fp <= 0) result.push_back(p);
    if ((fp < 0 && fq > 0) || (fp > 0 && fq < 0)) {
      const double s = fp / (fp - fq);
      result.push_back({p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])});
    }
  }
  return result;
}

/// A curve at a point p, in the direction in which it is passed most: its value, of which 1 is the
/// bound, and how that grows along two axes. The value is convex in p, so that all that is within
/// the curve lies in the half-space in which the linear function with these slopes is at most 1.
struct CurveSlope {
  double value = 0;
  std::array<double, 2> slopes = {};
};

CurveSlope slope_at(const ChartCurve& curve, const Eigen::VectorXd& from_origin,
                    const std::array<Eigen::Index, 2>& axes) {
  const Eigen::Index n = curve.root.rows();
  const Eigen::Index m = curve.theta.rows() - n;
  Eigen::MatrixXd stacked(n + m, n);
  stacked.topRows(n).setIdentity();
  for (Eigen::Index a = 0; a < m; ++a) {
    stacked.row(n + a) = from_origin.segment(a * n, n).transpose() * curve.root;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(stacked.transpose() * curve.theta *
                                                              stacked);
  const Eigen::VectorXd worst = solver.eigenvectors().col(n - 1);
  const Eigen::VectorXd seen = curve.root * worst;
  const Eigen::VectorXd weighted = curve.theta * (stacked * worst);
  CurveSlope result;
  result.value = std::sqrt(std::max(0.0, solver.eigenvalues()(n - 1)));
  for (std::size_t k = 0; k < 2 && result.value > 0; ++k) {
    result.slopes[k] = weighted(n + axes[k] / n) * seen(axes[k] % n) / result.value;
  }
  return result;
}

constexpr double kCurveTolerance = 1e-3;  // of what is seen
constexpr double kCurveRounding = 1e-5;   // of descriptions with six digits
constexpr int kMostCuts = 400;

/// Cuts off by tangents what curves leave out, until no corner lies outside by more than can be
/// seen (Kelley 1960). It works also where `at` itself is outside.
std::vector<Point2> cut_by_curves(std::vector<Point2> polygon, const ChartRegion& region,
                                  const std::array<Eigen::Index, 2>& axes,
                                  const std::array<Point2, 2>& view) {
  if (region.curves.empty()) return polygon;
  const auto size = [&](std::size_t k) { return view[k][1] - view[k][0]; };
  Eigen::VectorXd place = region.at - region.curved_from;
  for (int cuts = 0; cuts < kMostCuts && !polygon.empty(); ++cuts) {
    double deepest = kCurveTolerance;
    std::array<double, 3> cut = {};  // a x + b y ≤ c
    for (const Point2& corner : polygon) {
      double far = 1;  // what is far from what is seen need not be as exact
      for (std::size_t k = 0; k < 2; ++k) {
        place(axes[k]) = corner[k] - region.curved_from(axes[k]);
        far = std::max(far, std::abs(corner[k] - (view[k][0] + view[k][1]) / 2) / size(k));
      }
      for (const ChartCurve& curve : region.curves) {
        const CurveSlope at = slope_at(curve, place, axes);
        if (at.value <= 1 + kCurveRounding) continue;
        const auto [a, b] = at.slopes;
        const double length = std::hypot(a * size(0), b * size(1));
        if (!(length > 1e-12)) return {};  // no way leads inside
        const double depth = (at.value - 1) / length / far;
        if (depth <= deepest) continue;
        deepest = depth;
        cut = {a, b, 1 - at.value + a * corner[0] + b * corner[1]};
      }
    }
    if (deepest <= kCurveTolerance) break;
    polygon = clipped(polygon, cut[0], cut[1], cut[2]);
  }
  return polygon;
}

/// The outline of the shadow of {p : (p - at)ᵀ S⁻¹ (p - at) ≤ 1}, a point if there is none.
std::vector<Point2> shadow(const Eigen::MatrixXd& spread, const Point2& at, Eigen::Index i,
                           Eigen::Index j) {
  constexpr int kCorners = 120;
  const double a = std::sqrt(std::max(0.0, spread(i, i)));
  const double b = a > 0 ? spread(i, j) / a : 0;
  const double c = std::sqrt(std::max(0.0, spread(j, j) - b * b));
  std::vector<Point2> corners;
  for (int k = 0; k < kCorners; ++k) {
    const double angle = 2 * std::numbers::pi * k / kCorners;
    corners.push_back(
        {at[0] + a * std::cos(angle), at[1] + b * std::cos(angle) + c * std::sin(angle)});
  }
  return corners;
}

}  // namespace

const PaletteEntry& palette_entry(Colour colour) {
  return kPalette[static_cast<std::size_t>(colour)];
}

LineStyle series_style(std::size_t i) {
  constexpr std::array kColours = {Colour::blue, Colour::orange, Colour::green,
                                   Colour::pink, Colour::yellow, Colour::sky};
  constexpr std::array kDashes = {"", "7 4", "1 4", "9 4 1 4", "13 5", "4 4"};
  return {.colour = kColours[i % kColours.size()], .dash = kDashes[i % kDashes.size()]};
}

std::vector<Point2> points_of(const Chart& chart, const ChartLine& line) {
  std::vector<Point2> points;
  const ChartTable& table = chart.tables[line.table];
  for (std::size_t i = 0; i < table.rounds.size(); ++i) {
    const std::vector<double>& row = table.values[i];
    if (chart.plane) {
      points.push_back({row[chart.plane->across], row[chart.plane->up]});
    } else {
      points.push_back({static_cast<double>(table.rounds[i]), row[line.column]});
    }
  }
  if (chart.plane && line.to_mark) {
    const std::vector<double>& end = chart.marks[*line.to_mark].at;
    points.push_back({end[chart.plane->across], end[chart.plane->up]});
  }
  return points;
}

std::vector<Point2> cross_section(const ChartRegion& region, std::size_t i, std::size_t j,
                                  const std::vector<Point2>& view) {
  const auto x = static_cast<Eigen::Index>(i);
  const auto y = static_cast<Eigen::Index>(j);
  if (region.ellipsoid.size() > 0) {
    return shadow(region.ellipsoid, {region.at(x), region.at(y)}, x, y);
  }
  // Of a region that goes on beyond the view no edge may be seen there.
  constexpr double kFar = 1000;
  const auto beyond = [](const Point2& seen) {
    const double far = kFar * (seen[1] - seen[0]);
    return Point2{seen[0] - far, seen[1] + far};
  };
  const auto [x0, x1] = beyond(view[i]);
  const auto [y0, y1] = beyond(view[j]);
  std::vector<Point2> polygon = {{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}};
  for (Eigen::Index r = 0; r < region.rows.rows(); ++r) {
    const double a = region.rows(r, x);
    const double b = region.rows(r, y);
    polygon = clipped(polygon, a, b, region.margins(r) + a * region.at(x) + b * region.at(y));
  }
  return cut_by_curves(std::move(polygon), region, {x, y}, {view[i], view[j]});
}

std::vector<Point2> outline_of(const ChartEllipse& ellipse, std::size_t i, std::size_t j) {
  return shadow(ellipse.spread, {ellipse.at[i], ellipse.at[j]}, static_cast<Eigen::Index>(i),
                static_cast<Eigen::Index>(j));
}

std::optional<Point2> extent_along(const ChartRegion& region, std::size_t axis, double low,
                                   double high) {
  const auto k = static_cast<Eigen::Index>(axis);
  const double tolerance = kCurveTolerance * (high - low);
  for (Eigen::Index r = 0; r < region.rows.rows(); ++r) {
    const double slope = region.rows(r, k);
    const double end = region.at(k) + region.margins(r) / slope;
    if (slope > 0) high = std::min(high, end);
    if (slope < 0) low = std::max(low, end);
  }
  if (!(low < high)) return std::nullopt;
  if (region.curves.empty()) return Point2{low, high};
  Eigen::VectorXd place = region.at - region.curved_from;
  // As in a plane: tangents at the ends, until the ends are inside.
  for (int cuts = 0; cuts < kMostCuts && low < high; ++cuts) {
    const double before = high - low;
    for (const ChartCurve& curve : region.curves) {
      for (const double end : {low, high}) {
        place(k) = end - region.curved_from(k);
        const CurveSlope at = slope_at(curve, place, {k, k});
        if (at.value <= 1 + kCurveRounding) continue;
        const double inside = end - (at.value - 1) / at.slopes[0];
        if (at.slopes[0] > 0) high = std::min(high, inside);
        if (at.slopes[0] < 0) low = std::max(low, inside);
        if (at.slopes[0] == 0) return std::nullopt;
      }
    }
    if (high - low > before - tolerance) break;
  }
  if (!(low < high)) return std::nullopt;
  return Point2{low, high};
}

std::vector<std::array<Point2, 2>> sides_of(const ChartBox& box, std::size_t i, std::size_t j,
                                            const std::vector<Point2>& view) {
  const auto end = [&](std::size_t k, std::size_t side) {
    const double value = side == 0 ? box.low[k] : box.high[k];
    return std::isfinite(value) ? value : view[k][side];
  };
  std::vector<std::array<Point2, 2>> sides;
  for (const double x : {box.low[i], box.high[i]}) {
    if (std::isfinite(x)) sides.push_back({Point2{x, end(j, 0)}, Point2{x, end(j, 1)}});
  }
  for (const double y : {box.low[j], box.high[j]}) {
    if (std::isfinite(y)) sides.push_back({Point2{end(i, 0), y}, Point2{end(i, 1), y}});
  }
  return sides;
}

}  // namespace lifeguard
