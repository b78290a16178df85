#pragma once

#include <Eigen/Core>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lifeguard {

using Point2 = std::array<double, 2>;

enum class Colour { blue, orange, green, pink, yellow, sky, violet, grey };

/// What a colour looks like: on paper and on a light page, and on a dark page.
struct PaletteEntry {
  std::string_view name;
  std::string_view light;
  std::string_view dark;
};

/// The only place that holds a colour of a chart, in the order of Colour. The first six are made
/// from Okabe and Ito's, which the colour-blind can tell apart; each can be read on its ground.
inline constexpr std::array kPalette = std::to_array<PaletteEntry>({
    {"blue", "#0072b2", "#56b4e9"},
    {"orange", "#d55e00", "#ff8a3d"},
    {"green", "#009e73", "#2ac79b"},
    {"pink", "#b0568a", "#e29ac4"},
    {"yellow", "#b87f00", "#f0b93a"},
    {"sky", "#3a8fc4", "#9fd3f2"},
    {"violet", "#5e3c99", "#b59ae0"},
    {"grey", "#56606c", "#a4aeba"},
});

const PaletteEntry& palette_entry(Colour colour);

/// How a line is drawn. The ends of its dashes are round.
struct LineStyle {
  Colour colour = Colour::blue;
  std::string dash = {};  // as SVG's stroke-dasharray; empty: unbroken
  double width = 1.8;
  double opacity = 1;
};

/// Methods and whatever else is compared: each its own colour and its own dash.
LineStyle series_style(std::size_t i);

enum class Scale { linear, log_y, log_xy };

/// Numbers over rounds. Lines refer to its columns, so that many lines share their rounds, and new
/// rows can be added to what a page has already.
struct ChartTable {
  std::string name = {};                // what it is of, where a chart has several
  std::vector<std::string> heads = {};  // of the columns; none: not worth reading as numbers
  std::vector<long> rounds = {};
  std::vector<std::vector<double>> values = {};  // one row for each round
};

/// Everything with a `legend` that is not empty is in the legend.
struct ChartLine {
  std::string name = {};  // whose it is, when it is pointed at
  std::string legend = {};
  LineStyle style = {};
  std::size_t table = 0;
  std::size_t column = 0;                   // over the table's rounds; in a plane see ChartPlane
  std::optional<std::size_t> half = {};     // the column with half the width of the interval
  std::optional<std::size_t> to_mark = {};  // where a line in a plane goes after its last row
};

/// A horizontal line across the chart, seen on a logarithmic axis only if it is positive.
struct ChartRule {
  double value = 0;
  std::string label = {};  // on it, at the right
  std::string legend = {};
  LineStyle style = {};
};

struct ChartMark {
  enum class Shape { dot, ring, cross };
  enum class Side { right, left, above, below };
  std::string name = {};
  std::string label = {};  // beside it
  Side side = Side::right;
  std::string legend = {};
  Shape shape = Shape::dot;
  Colour colour = Colour::blue;
  std::vector<double> at = {};  // one number for each axis of the plane
};

/// A plane whose axes can be chosen among several: lines and marks have a number for each of them.
struct ChartPlane {
  std::vector<std::string> axes = {};
  std::size_t across = 0;  // the axes that are shown if nobody chooses
  std::size_t up = 1;
  std::vector<Point2> view = {};  // what is seen of each axis: from, to
};

/// The points p with rows (p - at) ≤ margins, of which a plane shows the cut through `at`.
struct ChartRegion {
  std::string legend = {};
  Colour colour = Colour::green;
  Eigen::MatrixXd rows = {};
  Eigen::VectorXd margins = {};
  Eigen::VectorXd at = {};
};

/// Values as colours: the larger the magnitude, the stronger; zero is the ground.
struct ChartCells {
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<double>> values = {};
  Colour below = Colour::violet;  // of negative values
  Colour above = Colour::orange;
};

/// All that a picture of some runs is: what the page draws, and what becomes an SVG. It is over
/// rounds, or a plane, or cells. What is drawn later is in front: region, rules, intervals, lines,
/// marks, each in its order.
struct Chart {
  std::string name = {};  // of its kind: "margins"
  std::string run = {};   // the method whose run it shows; empty: the experiment
  int task = -1;          // the task it shows; -1: all
  std::string title = {};
  std::string note = {};     // what it means, in a sentence or two
  std::string x_label = {};  // not of a plane
  std::string y_label = {};
  std::vector<Scale> scales = {Scale::linear};  // that make sense; the first is shown first
  std::vector<ChartTable> tables = {};
  std::vector<ChartRule> rules = {};
  std::vector<ChartLine> lines = {};
  std::vector<ChartMark> marks = {};
  std::optional<ChartRegion> region = {};
  std::optional<ChartPlane> plane = {};
  std::optional<ChartCells> cells = {};
};

/// The points of a line, in a plane with the axes that are shown if nobody chooses.
std::vector<Point2> points_of(const Chart& chart, const ChartLine& line);

/// The cut of a region at its point `at`, in axes i and j, as far as it lies in a box given by two
/// opposite corners.
std::vector<Point2> cross_section(const ChartRegion& region, std::size_t i, std::size_t j,
                                  const Point2& low, const Point2& high);

}  // namespace lifeguard
