#include "lifeguard/report/mark_labels.hpp"

#include <algorithm>

namespace lifeguard {
namespace {

// Sizes in shares of what is seen, for a chart that is as narrow as a phone.
constexpr double kMarkReach = 0.015;
constexpr double kLabelGap = 0.02;
constexpr double kLabelLetter = 0.028;
constexpr double kLabelHeight = 0.06;

struct LabelBox {
  double left;
  double right;
  double bottom;
  double top;
  bool meets(const LabelBox& other) const {
    return left < other.right && other.left < right && bottom < other.top && other.bottom < top;
  }
};

LabelBox label_box(const Point2& place, std::size_t letters, ChartMark::Side side) {
  const double width = kLabelLetter * static_cast<double>(letters);
  const auto [x, y] = place;
  switch (side) {
    case ChartMark::Side::right:
      return {x + kLabelGap, x + kLabelGap + width, y - kLabelHeight / 2, y + kLabelHeight / 2};
    case ChartMark::Side::left:
      return {x - kLabelGap - width, x - kLabelGap, y - kLabelHeight / 2, y + kLabelHeight / 2};
    case ChartMark::Side::above:
      return {x - width / 2, x + width / 2, y + kLabelGap, y + kLabelGap + kLabelHeight};
    case ChartMark::Side::below:
      break;
  }
  return {x - width / 2, x + width / 2, y - kLabelGap - kLabelHeight, y - kLabelGap};
}

}  // namespace

std::string short_name(const std::string& name) {
  const std::size_t last = name.find_last_not_of("0123456789.");
  if (last == std::string::npos) return name;
  const std::size_t first = name.find_first_not_of('.', last + 1);
  return first == std::string::npos ? name : name.substr(first);
}

void place_labels(Chart& chart) {
  const ChartPlane& plane = *chart.plane;
  const auto share = [&](const ChartMark& mark, std::size_t axis) {
    const auto [from, to] = plane.view[axis];
    return (mark.at[axis] - from) / (to - from);
  };
  std::vector<LabelBox> taken;
  for (const ChartMark& mark : chart.marks) {
    const double x = share(mark, plane.across);
    const double y = share(mark, plane.up);
    taken.push_back({x - kMarkReach, x + kMarkReach, y - kMarkReach, y + kMarkReach});
  }
  using enum ChartMark::Side;
  constexpr std::array kSides = {right, left, above, below};
  for (ChartMark& mark : chart.marks) {
    const Point2 place = {share(mark, plane.across), share(mark, plane.up)};
    const auto is_free = [&](ChartMark::Side side) {
      const LabelBox box = label_box(place, mark.label.size(), side);
      return std::none_of(taken.begin(), taken.end(),
                          [&](const LabelBox& other) { return box.meets(other); });
    };
    const auto* const side = std::find_if(kSides.begin(), kSides.end(), is_free);
    if (side == kSides.end()) {
      mark.label.clear();
      continue;
    }
    mark.side = *side;
    taken.push_back(label_box(place, mark.label.size(), *side));
  }
}

}  // namespace lifeguard
