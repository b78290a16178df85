#include "lifeguard/report/chart.hpp"

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
                                  const Point2& low, const Point2& high) {
  std::vector<Point2> polygon = {low, {high[0], low[1]}, high, {low[0], high[1]}};
  const auto x = static_cast<Eigen::Index>(i);
  const auto y = static_cast<Eigen::Index>(j);
  for (Eigen::Index r = 0; r < region.rows.rows(); ++r) {
    const double a = region.rows(r, x);
    const double b = region.rows(r, y);
    polygon = clipped(polygon, a, b, region.margins(r) + a * region.at(x) + b * region.at(y));
  }
  return polygon;
}

}  // namespace lifeguard
