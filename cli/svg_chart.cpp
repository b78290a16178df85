#include "cli/svg_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {
namespace {

constexpr double kWidth = 460;
constexpr double kLeft = 62;
constexpr double kRight = 16;
constexpr double kTop = 34;
constexpr double kPlotHeight = 230;
constexpr double kLegendRow = 18;
constexpr double kLetter = 6.7;  // mean width at 12 px
constexpr const char* kGrid = "#e3e6ea";
constexpr const char* kInk = "#222222";

std::string escape(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string text(double x, double y, const std::string& anchor, const std::string& words,
                 const std::string& more = "") {
  return fmt::format(R"(<text x="{:.2f}" y="{:.2f}" text-anchor="{}"{}>{}</text>)"
                     "\n",
                     x, y, anchor, more, escape(words));
}

/// One axis: where a value is on the picture, and which values are named.
class Axis {
 public:
  Axis(double low, double high, bool log, double from, double to)
      : log_(log), from_(from), to_(to) {
    low_ = log ? std::log10(low) : low;
    high_ = log ? std::log10(high) : high;
    if (!(high_ > low_)) {
      const double room = std::max(std::abs(low_) * 0.1, 1e-9);
      low_ -= room;
      high_ += room;
    }
  }
  double operator()(double value) const {
    const double v = log_ ? std::log10(value) : value;
    return from_ + (to_ - from_) * (v - low_) / (high_ - low_);
  }
  void widen(double share) {
    const double room = share * (high_ - low_);
    low_ -= room;
    high_ += room;
  }
  std::vector<double> ticks() const {
    std::vector<double> values;
    if (log_) {
      const double step = std::max(1.0, std::ceil((high_ - low_) / 6));
      for (double e = std::ceil(low_ - 1e-9); e <= high_ + 1e-9; e += step) {
        values.push_back(std::pow(10, e));
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
  double from_;
  double to_;
};

struct Extent {
  double low = kInfinity;
  double high = -kInfinity;
  void add(double value, bool log) {
    if (!std::isfinite(value) || (log && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

std::string path_of(const std::vector<Point2>& points, const Axis& x, const Axis& y) {
  std::string path;
  for (const Point2& p : points) {
    path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", x(p[0]), y(p[1]));
  }
  return path;
}

std::vector<Point2> drawable(const std::vector<Point2>& points, const SvgChart& chart) {
  std::vector<Point2> kept;
  for (const Point2& p : points) {
    const bool finite = std::isfinite(p[0]) && std::isfinite(p[1]);
    if (finite && (!chart.log_x || p[0] > 0) && (!chart.log_y || p[1] > 0)) kept.push_back(p);
  }
  return kept;
}

std::string band(const ChartLine& line, const SvgChart& chart, const Axis& x, const Axis& y,
                 double lowest) {
  std::vector<Point2> outline;
  for (std::size_t i = 0; i < line.high.size(); ++i) {
    outline.push_back({line.points[i][0], line.high[i]});
  }
  for (std::size_t i = line.low.size(); i-- > 0;) {
    outline.push_back(
        {line.points[i][0], chart.log_y ? std::max(line.low[i], lowest) : line.low[i]});
  }
  outline = drawable(outline, chart);
  if (outline.empty()) return "";
  return fmt::format(R"(<path d="{}Z" fill="{}" fill-opacity="0.18"/>)"
                     "\n",
                     path_of(outline, x, y), line.colour);
}

std::string mark_shape(ChartMark::Shape shape, const std::string& colour, double x, double y) {
  switch (shape) {
    case ChartMark::Shape::dot:
      return fmt::format(R"(<circle cx="{:.2f}" cy="{:.2f}" r="4" fill="{}"/>)"
                         "\n",
                         x, y, colour);
    case ChartMark::Shape::ring:
      return fmt::format(
          R"(<circle cx="{:.2f}" cy="{:.2f}" r="4" fill="white" stroke="{}" stroke-width="1.8"/>)"
          "\n",
          x, y, colour);
    case ChartMark::Shape::cross:
      break;
  }
  return fmt::format(
      R"(<path d="M{:.2f} {:.2f}l9 9m0 -9l-9 9" stroke="{}" stroke-width="2.2" fill="none"/>)"
      "\n",
      x - 4.5, y - 4.5, colour);
}

/// The legend below the chart, in as many rows as it needs; its height is added to `height`.
std::string legend(const SvgChart& chart, double& height) {
  std::vector<std::pair<std::string, std::string>> entries;  // a drawing around (0, 0), a name
  if (!chart.region.empty() && !chart.region_name.empty()) {
    entries.emplace_back(
        R"(<rect x="0" y="-5" width="26" height="10" fill="#009e73" fill-opacity="0.18" stroke="#009e73"/>)",
        chart.region_name);
  }
  for (const ChartLine& line : chart.lines) {
    if (line.name.empty()) continue;
    entries.emplace_back(
        fmt::format(
            R"(<path d="M0 0H26" stroke="{}" stroke-width="{}" stroke-dasharray="{}" stroke-opacity="{}"/>)",
            line.colour, line.width + 0.4, line.dash, line.opacity),
        line.name);
  }
  for (const ChartMark& mark : chart.marks) {
    if (!mark.name.empty())
      entries.emplace_back(mark_shape(mark.shape, mark.colour, 13, 0), mark.name);
  }
  std::string result;
  double x = kLeft;
  double y = height + 6;
  for (const auto& [drawing, name] : entries) {
    const double width = 32 + kLetter * static_cast<double>(name.size()) + 10;
    if (x > kLeft && x + width > kWidth) {
      x = kLeft;
      y += kLegendRow;
    }
    result += fmt::format(R"~(<g transform="translate({:.2f} {:.2f})">{}</g>)~"
                          "\n",
                          x, y, drawing);
    result += text(x + 32, y + 4, "start", name);
    x += width;
  }
  if (!entries.empty()) height = y + 12;
  return result;
}

std::string document(double height, const std::string& title, const std::string& body) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1:.0f}" viewBox="0 0 {0} {1:.0f}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="{2}">
<rect width="100%" height="100%" fill="white"/>
{3}{4}</svg>
)",
      kWidth, height, kInk,
      text(kLeft, 18, "start", title, R"( font-size="13" font-weight="bold")"), body);
}

std::string axes(const SvgChart& chart, const Axis& x, const Axis& y, double bottom) {
  std::string result;
  for (const double value : y.ticks()) {
    result += fmt::format(R"(<path d="M{} {:.2f}H{}" stroke="{}"/>)"
                          "\n",
                          kLeft, y(value), kWidth - kRight, kGrid);
    result += text(kLeft - 7, y(value) + 4, "end", fmt::format("{:.4g}", value + 0.0));
  }
  for (const double value : x.ticks()) {
    result += fmt::format(R"(<path d="M{:.2f} {}v5" stroke="{}"/>)"
                          "\n",
                          x(value), bottom, kInk);
    result += text(x(value), bottom + 18, "middle", fmt::format("{:.4g}", value + 0.0));
  }
  result += fmt::format(R"(<path d="M{0} {1}V{2}H{3}" stroke="{4}" fill="none"/>)"
                        "\n",
                        kLeft, kTop, bottom, kWidth - kRight, kInk);
  result += text((kLeft + kWidth - kRight) / 2, bottom + 36, "middle", chart.x_label);
  const double middle = (kTop + bottom) / 2;
  result += text(14, middle, "middle", chart.y_label,
                 fmt::format(R"~( transform="rotate(-90 14 {})")~", middle));
  return result;
}

}  // namespace

std::string to_svg(const SvgChart& chart) {
  Extent across;
  Extent up;
  double lowest = kInfinity;  // of the lines, not of their bands
  for (const ChartLine& line : chart.lines) {
    for (const Point2& p : line.points) {
      across.add(p[0], chart.log_x);
      up.add(p[1], chart.log_y);
      if (p[1] > 0) lowest = std::min(lowest, p[1]);
    }
    for (const double value : line.high) up.add(value, chart.log_y);
    if (!chart.log_y) {
      for (const double value : line.low) up.add(value, false);
    }
  }
  for (const ChartMark& m : chart.marks) {
    across.add(m.place[0], chart.log_x);
    up.add(m.place[1], chart.log_y);
  }
  if (chart.view) {
    for (const Point2& corner : *chart.view) across.add(corner[0], false), up.add(corner[1], false);
  }
  if (across.empty() || up.empty()) across = up = {1, 10};
  const double bottom = kTop + kPlotHeight;
  Axis x(across.low, across.high, chart.log_x, kLeft, kWidth - kRight);
  Axis y(up.low, up.high, chart.log_y, bottom, kTop);
  if (!chart.marks.empty()) x.widen(0.06);
  y.widen(0.05);

  std::string body = axes(chart, x, y, bottom);
  if (!chart.region.empty()) {
    body += fmt::format(
        R"~(<clipPath id="plot"><rect x="{}" y="{}" width="{}" height="{}"/></clipPath>
<path d="{}Z" fill="#009e73" fill-opacity="0.16" stroke="#009e73" stroke-width="1.6" clip-path="url(#plot)"/>
)~",
        kLeft, kTop, kWidth - kRight - kLeft, kPlotHeight, path_of(chart.region, x, y));
  }
  for (const ChartLine& line : chart.lines) body += band(line, chart, x, y, lowest);
  for (const ChartLine& line : chart.lines) {
    body += fmt::format(
        R"(<path d="{}" fill="none" stroke="{}" stroke-width="{}" stroke-dasharray="{}" stroke-opacity="{}" stroke-linejoin="round"/>)"
        "\n",
        path_of(drawable(line.points, chart), x, y), line.colour, line.width, line.dash,
        line.opacity);
  }
  for (const ChartMark& mark : chart.marks) {
    body += mark_shape(mark.shape, mark.colour, x(mark.place[0]), y(mark.place[1]));
    body += text(x(mark.place[0]) + 7, y(mark.place[1]) + 4, "start", mark.label);
  }
  double height = bottom + 48;
  body += legend(chart, height);
  return document(height, chart.title, body);
}

std::string to_svg(const SvgHeatMap& map) {
  double largest = 1e-300;
  std::size_t columns = 1;
  for (const auto& row : map.values) {
    columns = std::max(columns, row.size());
    for (const double value : row) largest = std::max(largest, std::abs(value));
  }
  constexpr double kRow = 20;
  constexpr double kNames = 110;
  const double cell = (kWidth - kRight - kNames) / static_cast<double>(columns);
  // White at zero; purple (94, 60, 153) below, orange (230, 97, 1) above.
  const auto colour = [](double share) {
    const double s = std::min(1.0, std::abs(share));
    const auto mix = [s](int end) { return static_cast<int>(std::lround(255 + s * (end - 255))); };
    return share < 0 ? fmt::format("rgb({},{},{})", mix(94), mix(60), mix(153))
                     : fmt::format("rgb({},{},{})", mix(230), mix(97), mix(1));
  };
  std::string body;
  for (std::size_t r = 0; r < map.values.size(); ++r) {
    const double y = kTop + kRow * static_cast<double>(r);
    body += text(kNames - 8, y + 14, "end", map.names[r]);
    for (std::size_t c = 0; c < map.values[r].size(); ++c) {
      body += fmt::format(
          R"(<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{}" fill="{}" stroke="#dddddd" stroke-width="0.5"/>)"
          "\n",
          kNames + cell * static_cast<double>(c), y, cell, kRow,
          colour(map.values[r][c] / largest));
    }
  }
  const double bottom = kTop + kRow * static_cast<double>(map.values.size());
  const std::size_t every = columns > 12 ? 4 : 1;
  for (std::size_t c = 0; c < columns; c += every) {
    body += text(kNames + cell * (static_cast<double>(c) + 0.5), bottom + 16, "middle",
                 std::to_string(c + 1));
  }
  body += text((kNames + kWidth - kRight) / 2, bottom + 34, "middle", map.x_label);
  constexpr int kSteps = 21;
  constexpr double kStep = 8;
  const double from = kNames + 40;
  for (int i = 0; i < kSteps; ++i) {
    body += fmt::format(R"(<rect x="{:.2f}" y="{:.2f}" width="{}" height="10" fill="{}"/>)"
                        "\n",
                        from + kStep * i, bottom + 46, kStep + 0.3, colour((i - 10) / 10.0));
  }
  body += text(from - 6, bottom + 55, "end", fmt::format("{:.3g}", -largest));
  body += text(from + kStep * kSteps + 6, bottom + 55, "start", fmt::format("{:.3g}", largest));
  return document(bottom + 68, map.title, body);
}

std::string chart_colour(std::size_t i) {
  constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73",
                                   "#cc79a7", "#e69f00", "#56b4e9"};
  return kColours[i % kColours.size()];
}

std::string chart_dash(std::size_t i) {
  constexpr std::array kDashes = {"", "7 3", "2 3", "8 3 2 3", "12 4", "4 2"};
  return kDashes[i % kDashes.size()];
}

}  // namespace lifeguard
