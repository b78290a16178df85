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
  std::optional<std::size_t> band = {};     // the column with its lower end, before the upper's
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

/// A bound that is curved, on the points p whose entries from ChartRegion::curved_from on are the
/// rows of a matrix Δ:  [I; Δ R]ᵀ Θ [I; Δ R] ⪯ I.  Θ and R are scaled such that few digits will do.
struct ChartCurve {
  Eigen::MatrixXd theta;  // Θ
  Eigen::MatrixXd root;   // R
};

/// What a plane shows a part of, around `at`: either the cut, through `at`, of the points p with
/// rows (p - at) ≤ margins that are within all curves, or the shadow of an ellipsoid.
struct ChartRegion {
  std::string legend = {};
  Colour colour = Colour::green;
  Eigen::MatrixXd rows = {};
  Eigen::VectorXd margins = {};
  std::vector<ChartCurve> curves = {};
  Eigen::VectorXd curved_from = {};  // where Δ is 0
  Eigen::VectorXd at = {};
  /// S of {p : (p - at)ᵀ S⁻¹ (p - at) ≤ 1}; empty: it is no ellipsoid. Its shadow in two axes is
  /// the ellipse of that block of S.
  Eigen::MatrixXd ellipsoid = {};
};

/// A box in all axes of a plane, drawn as lines; a side at infinity is left out.
struct ChartBox {
  std::string legend = {};
  LineStyle style = {};
  std::vector<double> low = {};
  std::vector<double> high = {};
};

/// All p with (p - at)ᵀ spread⁻¹ (p - at) ≤ 1 in the axes of a plane, of which the shadow is drawn:
/// where something is believed to be.
struct ChartEllipse {
  std::string name = {};  // whose it is
  std::string legend = {};
  LineStyle style = {};
  double fill = 0;  // how much of the colour is inside; where many lie on each other, little
  std::vector<double> at = {};
  Eigen::MatrixXd spread = {};
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
/// rounds, or a plane, or cells. What is drawn later is in front: region, ellipses, boxes, rules,
/// intervals, lines, marks, each in its order.
struct Chart {
  std::string name = {};  // of its kind: "margins"
  std::string run = {};   // the method whose run it shows; empty: the experiment
  int task = -1;          // the task it shows; -1: all
  std::string title = {};
  std::string note = {};     // what it means, in a sentence or two
  std::string x_label = {};  // of a plane: what rows are counted in; empty: rounds
  std::string y_label = {};
  std::vector<Scale> scales = {Scale::linear};  // that make sense; the first is shown first
  std::vector<ChartTable> tables = {};
  std::vector<ChartRule> rules = {};
  std::vector<ChartLine> lines = {};
  std::vector<ChartMark> marks = {};
  std::optional<ChartRegion> region = {};
  std::vector<ChartEllipse> ellipses = {};  // of a plane, as are boxes
  std::vector<ChartBox> boxes = {};
  std::optional<ChartPlane> plane = {};
  std::optional<ChartCells> cells = {};
};

/// The points of a line, in a plane with the axes that are shown if nobody chooses.
std::vector<Point2> points_of(const Chart& chart, const ChartLine& line);

/// What is seen of a region in axes i and j, of which `view` says from where to where they are
/// looked at: a polygon, empty if there is nothing. It may go far beyond the view, and is as exact
/// as the view can show: a curve is left out by at most a thousandth of it.
std::vector<Point2> cross_section(const ChartRegion& region, std::size_t i, std::size_t j,
                                  const std::vector<Point2>& view);

/// The outline of an ellipse in axes i and j.
std::vector<Point2> outline_of(const ChartEllipse& ellipse, std::size_t i, std::size_t j);

/// Where the region ends on both sides along the line through `at` in one axis, as far as it lies
/// between `low` and `high`. Nothing if no part of it does. Not of an ellipsoid.
std::optional<Point2> extent_along(const ChartRegion& region, std::size_t axis, double low,
                                   double high);

/// The sides of a box in axes i and j that are not at infinity, each from end to end; an end at
/// infinity is that of the view.
std::vector<std::array<Point2, 2>> sides_of(const ChartBox& box, std::size_t i, std::size_t j,
                                            const std::vector<Point2>& view);

}  // namespace lifeguard
