#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace lifeguard {

using Point2 = std::array<double, 2>;

/// One line of a chart, with a band around it if `low` and `high` are not empty.
struct ChartLine {
  std::string name = {};  // in the legend; empty: not there
  std::string colour = {};
  std::string dash = {};
  double width = 1.6;
  double opacity = 1.0;
  std::vector<Point2> points = {};
  std::vector<double> low = {};
  std::vector<double> high = {};
};

struct ChartMark {
  enum class Shape { dot, ring, cross };
  Point2 place{};
  Shape shape = Shape::dot;
  std::string colour = {};
  std::string label = {};  // beside it
  std::string name = {};   // in the legend; empty: not there
};

/// A chart for a paper: lines, bands, a filled region, marks. Points that are not finite, or not
/// positive on a logarithmic axis, are left out.
struct SvgChart {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  bool log_x = false;
  bool log_y = false;
  std::vector<ChartLine> lines = {};  // later ones are in front
  std::vector<Point2> region = {};    // a polygon behind everything
  std::string region_name = {};
  std::vector<ChartMark> marks = {};
  /// The corners of what is seen of the region; without it all is seen.
  std::optional<std::array<Point2, 2>> view = {};
};

std::string to_svg(const SvgChart& chart);

/// Values as colours, one row for each name; purple is negative, orange positive, zero white.
struct SvgHeatMap {
  std::string title = {};
  std::string x_label = {};
  std::vector<std::string> names = {};
  std::vector<std::vector<double>> values = {};
};

std::string to_svg(const SvgHeatMap& map);

/// Okabe and Ito's colours, which the colour-blind can tell apart, and dashes to go with them.
std::string chart_colour(std::size_t i);
std::string chart_dash(std::size_t i);

}  // namespace lifeguard
