#include "lifeguard/report/chart_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {
namespace {

constexpr double kWidth = 460;
constexpr double kEdge = 14;
constexpr double kRight = 18;
constexpr double kPlotHeight = 230;
constexpr double kLetter = 7;         // mean width of a letter at kFontSize
constexpr double kTitleLetter = 8.5;  // and in the title
constexpr int kFontSize = 12;
constexpr int kTitleSize = 13;
constexpr double kTitleLine = 17;
constexpr double kLegendRow = 18;
constexpr double kSwatch = 26;  // width of a drawing in the legend
constexpr double kBandOpacity = 0.18;
constexpr const char* kGrid = "#e3e6ea";
constexpr const char* kInk = "#222222";

std::string_view on_paper(Colour colour) { return palette_entry(colour).light; }

/// Text that XML can hold.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += ' ';
    } else {
      result += c;
    }
  }
  return result;
}

/// How many letters UTF-8 stands for.
double letters(const std::string& text) {
  return static_cast<double>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string svg_text(double x, double y, const std::string& anchor, const std::string& words,
                     const std::string& more = "") {
  return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, escaped(words));
}

/// "100000" and "0.0001", but "1e+06" and "1e-05".
std::string tick_name(double value) { return fmt::format("{:g}", value + 0.0); }

/// One axis: where a value is on the picture, and which values are named.
class SvgAxis {
 public:
  SvgAxis(double low, double high, bool log) : log_(log) {
    low_ = log ? std::log10(low) : low;
    high_ = log ? std::log10(high) : high;
    if (!log && low == 0 && high == 0) {
      high_ = 1;  // only zeros: no digits that mean nothing
    } else if (!(high_ > low_)) {
      const double room = std::max(std::abs(low_) * 0.1, log ? 0.1 : 1e-9);
      low_ -= room;
      high_ += room;
    }
  }
  void place(double from, double to) {
    from_ = from;
    to_ = to;
  }
  void widen(double share) {
    const double room = share * (high_ - low_);
    low_ -= room;
    high_ += room;
  }
  double operator()(double value) const {
    const double v = log_ ? std::log10(value) : value;
    return from_ + (to_ - from_) * (v - low_) / (high_ - low_);
  }
  std::vector<double> ticks() const {
    std::vector<double> values;
    if (log_) {
      const double decades = high_ - low_;
      const double step = std::max(1.0, std::ceil(decades / 6));
      for (double e = std::floor(low_); e <= high_; e += step) {
        for (const double digit : {1.0, 2.0, 5.0}) {
          const double place = e + std::log10(digit);
          if (digit > 1 && decades > 2.5) break;
          if (place >= low_ - 1e-9 && place <= high_ + 1e-9) {
            values.push_back(digit * std::pow(10, e));
          }
        }
      }
      if (values.size() > 1) return values;
      values.clear();
    }
    const double low = log_ ? std::pow(10, low_) : low_;
    const double high = log_ ? std::pow(10, high_) : high_;
    const double raw = (high - low) / 5;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    const double digit = raw / power;
    const double step = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
    for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
      values.push_back(i * step);
    }
    return values;
  }

 private:
  bool log_;
  double low_ = 0;
  double high_ = 0;
  double from_ = 0;
  double to_ = 1;
};

struct Extent {
  bool log = false;
  double low = kInfinity;
  double high = -kInfinity;
  bool takes(double value) const { return std::isfinite(value) && (!log || value > 0); }
  void add(double value) {
    if (!takes(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  SvgAxis axis() const { return low > high ? SvgAxis(1, 10, log) : SvgAxis(low, high, log); }
};

/// A line with gaps where a point cannot be drawn. A point that is alone is a dot.
class SvgPath {
 public:
  void add(double x, double y) {
    text_ += fmt::format("{}{:.2f} {:.2f}", pen_ == 0 ? "M" : "L", x, y);
    ++pen_;
  }
  void lift() {
    if (pen_ == 1) text_ += "Z";
    pen_ = 0;
  }
  std::string finished() {
    lift();
    return text_;
  }

 private:
  std::string text_;
  int pen_ = 0;
};

std::string polygon_path(const std::vector<Point2>& corners, const SvgAxis& x, const SvgAxis& y) {
  std::string path;
  for (const Point2& p : corners) {
    path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", x(p[0]), y(p[1]));
  }
  return path + "Z";
}

std::string stroke_of(const LineStyle& style) {
  std::string stroke = fmt::format(
      "fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\" stroke-linecap=\"round\" "
      "stroke-linejoin=\"round\"",
      on_paper(style.colour), style.width);
  if (!style.dash.empty()) stroke += fmt::format(" stroke-dasharray=\"{}\"", style.dash);
  if (style.opacity < 1) stroke += fmt::format(" stroke-opacity=\"{:g}\"", style.opacity);
  return stroke;
}

std::string svg_mark(ChartMark::Shape shape, Colour colour, double x, double y) {
  switch (shape) {
    case ChartMark::Shape::dot:
      return fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"4.5\" fill=\"{}\"/>\n", x, y,
                         on_paper(colour));
    case ChartMark::Shape::ring:
      return fmt::format(
          "<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"4.5\" fill=\"white\" stroke=\"{}\" "
          "stroke-width=\"2\"/>\n",
          x, y, on_paper(colour));
    case ChartMark::Shape::cross:
      break;
  }
  return fmt::format("<path d=\"M{:.2f} {:.2f}l9 9m0 -9l-9 9\" {}/>\n", x - 4.5, y - 4.5,
                     stroke_of({.colour = colour, .width = 2.4}));
}

std::string region_paint(Colour colour) {
  return fmt::format(
      "fill=\"{0}\" fill-opacity=\"{1}\" stroke=\"{0}\" stroke-width=\"1.8\" "
      "stroke-linejoin=\"round\"",
      on_paper(colour), kBandOpacity);
}

std::string ellipse_paint(const ChartEllipse& ellipse) {
  const LineStyle& style = ellipse.style;
  return fmt::format(
      "fill=\"{0}\" fill-opacity=\"{1:g}\" stroke=\"{0}\" stroke-width=\"{2:g}\" "
      "stroke-opacity=\"{3:g}\"",
      on_paper(style.colour), ellipse.fill, style.width, style.opacity);
}

/// A drawing that begins at (0, 0), and its name.
using LegendEntry = std::pair<std::string, std::string>;

std::vector<LegendEntry> legend_entries(const Chart& chart) {
  std::vector<LegendEntry> entries;
  const auto add = [&](const std::string& name, const std::string& drawing) {
    if (!name.empty()) entries.emplace_back(drawing, name);
  };
  const auto swatch = [](const LineStyle& style) {
    return fmt::format("<path d=\"M1 0H{}\" {}/>", kSwatch - 1, stroke_of(style));
  };
  if (chart.region) {
    add(chart.region->legend, fmt::format("<path d=\"M1 -5H{0}V5H1Z\" {1}/>", kSwatch - 1,
                                          region_paint(chart.region->colour)));
  }
  for (const ChartEllipse& ellipse : chart.ellipses) {
    add(ellipse.legend,
        fmt::format("<path d=\"M1 -5H{0}V5H1Z\" {1}/>", kSwatch - 1, ellipse_paint(ellipse)));
  }
  for (const ChartBox& box : chart.boxes) add(box.legend, swatch(box.style));
  for (const ChartRule& rule : chart.rules) add(rule.legend, swatch(rule.style));
  for (const ChartLine& line : chart.lines) add(line.legend, swatch(line.style));
  for (const ChartMark& mark : chart.marks) {
    add(mark.legend, svg_mark(mark.shape, mark.colour, kSwatch / 2, 0));
  }
  return entries;
}

/// The legend below the chart, in as many rows as it needs; its height is added to `height`.
std::string svg_legend(const Chart& chart, double left, double& height) {
  const std::vector<LegendEntry> entries = legend_entries(chart);
  if (entries.empty()) return "";
  constexpr double kGap = 6;
  std::string result;
  double x = left;
  double y = height + kGap;
  for (const auto& [drawing, name] : entries) {
    const double width = kSwatch + kGap + kLetter * letters(name);
    if (x > left && x + width > kWidth - kEdge) {
      x = left;
      y += kLegendRow;
    }
    result += fmt::format("<g transform=\"translate({:.2f} {:.2f})\">{}</g>\n", x, y, drawing);
    result += svg_text(x + kSwatch + kGap, y + 4, "start", name);
    x += width + 2 * kGap;
  }
  height = y + 14;
  return result;
}

/// The title in lines that fit.
std::vector<std::string> title_lines(const std::string& title) {
  std::vector<std::string> lines = {""};
  std::size_t from = 0;
  while (from < title.size()) {
    const std::size_t to = std::min(title.find(' ', from), title.size());
    const std::string word = title.substr(from, to - from);
    const double width = kTitleLetter * (letters(lines.back()) + 1 + letters(word));
    if (!lines.back().empty() && width > kWidth - 2 * kEdge) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    from = to + 1;
  }
  return lines;
}

double top_below_title(const Chart& chart) {
  return 17 + kTitleLine * static_cast<double>(title_lines(chart.title).size());
}

std::string document(const Chart& chart, double height, const std::string& body) {
  std::string result = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" viewBox=\"0 0 "
      "{0} {1:.0f}\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"{2}\" "
      "fill=\"{3}\" role=\"img\">\n<title>{4}</title>\n<desc>{5}</desc>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, height, kFontSize, kInk, escaped(chart.title), escaped(chart.note));
  double y = 18;
  for (const std::string& line : title_lines(chart.title)) {
    result += svg_text(kEdge, y, "start", line,
                       fmt::format(" font-size=\"{}\" font-weight=\"bold\"", kTitleSize));
    y += kTitleLine;
  }
  return result + body + "</svg>\n";
}

/// The place of a chart in its picture, and its axes.
struct SvgFrame {
  double left;
  double right;
  double top;
  double bottom;
  SvgAxis x;
  SvgAxis y;
  bool log_x;
  bool log_y;
  double lowest;  // positive value of a line: as far as an interval is drawn on a log axis
};

/// For each line its points, and the band around it: from where to where, or nothing.
struct DrawnLine {
  std::vector<Point2> points;
  std::vector<Point2> band;
};

DrawnLine drawn_line(const Chart& chart, const ChartLine& line) {
  DrawnLine drawn{points_of(chart, line), {}};
  if (!line.band) return drawn;
  for (const auto& row : chart.tables[line.table].values) {
    // A band that is unbounded on a side is not drawn there.
    const auto end = [&](std::size_t column) {
      return std::isfinite(row[column]) ? row[column] : row[line.column];
    };
    drawn.band.push_back({end(*line.band), end(*line.band + 1)});
  }
  return drawn;
}

SvgFrame frame_of(const Chart& chart, const std::vector<DrawnLine>& lines, Scale scale) {
  Extent across{.log = scale == Scale::log_xy};
  Extent up{.log = scale != Scale::linear};
  double lowest = kInfinity;
  if (chart.plane) {
    for (const double value : chart.plane->view[chart.plane->across]) across.add(value);
    for (const double value : chart.plane->view[chart.plane->up]) up.add(value);
  } else {
    for (const DrawnLine& line : lines) {
      for (std::size_t i = 0; i < line.points.size(); ++i) {
        const auto [x, y] = line.points[i];
        if (!across.takes(x) || !up.takes(y)) continue;
        across.add(x);
        up.add(y);
        if (y > 0) lowest = std::min(lowest, y);
        if (line.band.empty()) continue;
        up.add(line.band[i][1]);
        if (!up.log) up.add(line.band[i][0]);
      }
    }
    for (const ChartRule& rule : chart.rules) up.add(rule.value);
  }
  SvgFrame frame{0,          kWidth - kRight, top_below_title(chart),
                 0,          across.axis(),   up.axis(),
                 across.log, up.log,          lowest};
  frame.bottom = frame.top + kPlotHeight;
  if (!chart.plane) frame.y.widen(0.05);
  double widest = 0;
  for (const double value : frame.y.ticks()) {
    widest = std::max(widest, kLetter * letters(tick_name(value)));
  }
  frame.left = 2 * kEdge + widest + 8;
  frame.x.place(frame.left, frame.right);
  frame.y.place(frame.bottom, frame.top);
  return frame;
}

std::string svg_axes(const SvgFrame& frame, const std::string& x_label,
                     const std::string& y_label) {
  std::string result;
  for (const double value : frame.y.ticks()) {
    const double y = frame.y(value);
    result += fmt::format("<path d=\"M{:.2f} {:.2f}H{:.2f}\" stroke=\"{}\"/>\n", frame.left, y,
                          frame.right, kGrid);
    result += svg_text(frame.left - 7, y + 4, "end", tick_name(value));
  }
  double free_from = 0;
  for (const double value : frame.x.ticks()) {
    const double x = frame.x(value);
    result += fmt::format("<path d=\"M{:.2f} {:.2f}v5\" stroke=\"{}\"/>\n", x, frame.bottom, kInk);
    const double half = kLetter * letters(tick_name(value)) / 2;
    if (x - half < free_from) continue;
    result += svg_text(x, frame.bottom + 18, "middle", tick_name(value));
    free_from = x + half + 6;
  }
  result += fmt::format("<path d=\"M{:.2f} {:.2f}V{:.2f}H{:.2f}\" stroke=\"{}\" fill=\"none\"/>\n",
                        frame.left, frame.top, frame.bottom, frame.right, kInk);
  result += svg_text((frame.left + frame.right) / 2, frame.bottom + 36, "middle", x_label);
  const double middle = (frame.top + frame.bottom) / 2;
  result += svg_text(kEdge, middle, "middle", y_label,
                     fmt::format(" transform=\"rotate(-90 {} {:.2f})\"", kEdge, middle));
  return result;
}

/// What does not fit in a plane is cut off at its frame.
constexpr const char* kInFrame = " clip-path=\"url(#plot)\"";

std::string svg_frame(const SvgFrame& frame) {
  return fmt::format(
      "<clipPath id=\"plot\"><rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" "
      "height=\"{:.2f}\"/></clipPath>\n",
      frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
}

std::string svg_region(const Chart& chart, const SvgFrame& frame) {
  if (!chart.region) return "";
  const ChartPlane& plane = *chart.plane;
  const auto polygon = cross_section(*chart.region, plane.across, plane.up, plane.view);
  if (polygon.empty()) return "";
  return fmt::format("<path d=\"{}\" {}{}/>\n", polygon_path(polygon, frame.x, frame.y),
                     region_paint(chart.region->colour), kInFrame);
}

std::string svg_ellipses(const Chart& chart, const SvgFrame& frame) {
  std::string result;
  for (const ChartEllipse& ellipse : chart.ellipses) {
    const auto outline = outline_of(ellipse, chart.plane->across, chart.plane->up);
    result += fmt::format("<path d=\"{}\" {}{}/>\n", polygon_path(outline, frame.x, frame.y),
                          ellipse_paint(ellipse), kInFrame);
  }
  return result;
}

std::string svg_boxes(const Chart& chart, const SvgFrame& frame) {
  std::string result;
  for (const ChartBox& box : chart.boxes) {
    std::string path;
    for (const auto& [from, to] :
         sides_of(box, chart.plane->across, chart.plane->up, chart.plane->view)) {
      path += fmt::format("M{:.2f} {:.2f}L{:.2f} {:.2f}", frame.x(from[0]), frame.y(from[1]),
                          frame.x(to[0]), frame.y(to[1]));
    }
    result += fmt::format("<path d=\"{}\" {}{}/>\n", path, stroke_of(box.style), kInFrame);
  }
  return result;
}

std::string svg_rules(const Chart& chart, const SvgFrame& frame) {
  std::string result;
  for (const ChartRule& rule : chart.rules) {
    if (frame.log_y && rule.value <= 0) continue;
    const double y = frame.y(rule.value);
    result += fmt::format("<path d=\"M{:.2f} {:.2f}H{:.2f}\" {}/>\n", frame.left, y, frame.right,
                          stroke_of(rule.style));
    result += rule.label.empty()
                  ? ""
                  : svg_text(frame.right - 2, y - 6, "end", rule.label, " font-weight=\"bold\"");
  }
  return result;
}

bool can_be_drawn(const Point2& point, const SvgFrame& frame) {
  return std::isfinite(point[0]) && std::isfinite(point[1]) && (!frame.log_x || point[0] > 0) &&
         (!frame.log_y || point[1] > 0);
}

std::string svg_band(const DrawnLine& line, Colour colour, const SvgFrame& frame) {
  if (std::none_of(line.band.begin(), line.band.end(),
                   [](const Point2& ends) { return ends[0] < ends[1]; })) {
    return "";
  }
  std::string upper;
  std::string lower;  // backwards
  const auto corner = [&](double x, double y) {
    return fmt::format("{:.2f} {:.2f}", frame.x(x), frame.y(y));
  };
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    if (!can_be_drawn(line.points[i], frame)) continue;
    const double x = line.points[i][0];
    auto [low, high] = line.band[i];
    if (frame.log_y) low = std::max(low, frame.lowest);
    upper += (upper.empty() ? "M" : "L") + corner(x, high);
    lower.insert(0, "L" + corner(x, low));
  }
  return fmt::format("<path d=\"{}{}Z\" fill=\"{}\" fill-opacity=\"{}\"/>\n", upper, lower,
                     on_paper(colour), kBandOpacity);
}

std::string svg_line(const DrawnLine& line, const LineStyle& style, const SvgFrame& frame,
                     bool in_plane) {
  SvgPath path;
  for (const Point2& point : line.points) {
    if (can_be_drawn(point, frame)) {
      path.add(frame.x(point[0]), frame.y(point[1]));
    } else {
      path.lift();
    }
  }
  return fmt::format("<path d=\"{}\" {}{}/>\n", path.finished(), stroke_of(style),
                     in_plane ? kInFrame : "");
}

std::string svg_marks(const Chart& chart, const SvgFrame& frame) {
  std::string result;
  for (const ChartMark& mark : chart.marks) {
    const Point2 point = {mark.at[chart.plane->across], mark.at[chart.plane->up]};
    if (!can_be_drawn(point, frame)) continue;
    const double x = frame.x(point[0]);
    const double y = frame.y(point[1]);
    result += svg_mark(mark.shape, mark.colour, x, y);
    if (mark.label.empty()) continue;
    switch (mark.side) {
      case ChartMark::Side::right:
        result += svg_text(x + 8, y + 4, "start", mark.label);
        break;
      case ChartMark::Side::left:
        result += svg_text(x - 8, y + 4, "end", mark.label);
        break;
      case ChartMark::Side::above:
        result += svg_text(x, y - 8, "middle", mark.label);
        break;
      case ChartMark::Side::below:
        result += svg_text(x, y + 17, "middle", mark.label);
        break;
    }
  }
  return result;
}

std::string svg_of_axes(const Chart& chart, Scale scale) {
  std::vector<DrawnLine> lines;
  for (const ChartLine& line : chart.lines) lines.push_back(drawn_line(chart, line));
  const SvgFrame frame = frame_of(chart, lines, scale);
  std::string body = chart.plane ? svg_axes(frame, chart.plane->axes[chart.plane->across],
                                            chart.plane->axes[chart.plane->up])
                                 : svg_axes(frame, chart.x_label, chart.y_label);
  if (chart.plane) body += svg_frame(frame);
  body += svg_region(chart, frame);
  body += svg_ellipses(chart, frame);
  body += svg_boxes(chart, frame);
  body += svg_rules(chart, frame);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    body += svg_band(lines[i], chart.lines[i].style.colour, frame);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    body += svg_line(lines[i], chart.lines[i].style, frame, chart.plane.has_value());
  }
  body += svg_marks(chart, frame);
  double height = frame.bottom + 48;
  body += svg_legend(chart, frame.left, height);
  return document(chart, height, body);
}

std::string svg_of_cells(const Chart& chart) {
  const ChartCells& cells = *chart.cells;
  double largest = 0;
  for (const auto& row : cells.values) {
    for (const double value : row) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
  }
  if (largest == 0) largest = 1;
  const auto paint = [&](double value) {
    const double share = std::isfinite(value) ? value / largest : 0;
    return fmt::format("fill=\"{}\" fill-opacity=\"{:.3f}\"",
                       on_paper(share < 0 ? cells.below : cells.above), std::abs(share));
  };
  constexpr double kRow = 20;
  double left = 60;
  for (const std::string& name : cells.rows) {
    left = std::max(left, kEdge + kLetter * letters(name) + 10);
  }
  left = std::min(left, kWidth / 2);
  const double top = top_below_title(chart);
  const double width = (kWidth - kRight - left) /
                       static_cast<double>(std::max<std::size_t>(1, cells.columns.size()));
  std::string body;
  for (std::size_t r = 0; r < cells.values.size(); ++r) {
    const double y = top + kRow * static_cast<double>(r);
    body += svg_text(left - 8, y + 14, "end", cells.rows[r]);
    for (std::size_t c = 0; c < cells.values[r].size(); ++c) {
      body += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{}\" {} stroke=\"{}\" "
          "stroke-width=\"0.5\"/>\n",
          left + width * static_cast<double>(c), y, width, kRow, paint(cells.values[r][c]), kGrid);
    }
  }
  const double bottom = top + kRow * static_cast<double>(cells.values.size());
  double widest = 0;
  for (const std::string& name : cells.columns) widest = std::max(widest, kLetter * letters(name));
  const auto every = static_cast<std::size_t>(std::ceil((widest + 6) / width));
  for (std::size_t c = 0; c < cells.columns.size(); c += std::max<std::size_t>(1, every)) {
    body += svg_text(left + width * (static_cast<double>(c) + 0.5), bottom + 16, "middle",
                     cells.columns[c]);
  }
  body += svg_text((left + kWidth - kRight) / 2, bottom + 34, "middle", chart.x_label);
  constexpr int kSteps = 21;
  constexpr double kStep = 8;
  constexpr double kRampEnds = 60;  // room for the numbers at its ends
  const double ramp = std::min(left, kWidth - kStep * kSteps - 2 * kRampEnds) + kRampEnds;
  for (int i = 0; i < kSteps; ++i) {
    body += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{}\" height=\"10\" {}/>\n",
                        ramp + kStep * i, bottom + 46, kStep,
                        paint(largest * (2.0 * i / (kSteps - 1) - 1)));
  }
  body += svg_text(ramp - 6, bottom + 55, "end", fmt::format("{:.3g}", -largest));
  body += svg_text(ramp + 6 + kStep * kSteps, bottom + 55, "start", fmt::format("{:.3g}", largest));
  return document(chart, bottom + 70, body);
}

}  // namespace

std::string to_svg(const Chart& chart, Scale scale) {
  return chart.cells ? svg_of_cells(chart) : svg_of_axes(chart, scale);
}

}  // namespace lifeguard
