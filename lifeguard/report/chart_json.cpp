#include "lifeguard/report/chart_json.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "lifeguard/runs/number_list.hpp"

namespace lifeguard {
namespace {

using OrderedJson = nlohmann::ordered_json;

template <typename Value>
void set_unless_empty(OrderedJson& json, const char* key, const Value& value) {
  if (!value.empty()) json[key] = value;
}

std::string name_of(Scale scale) {
  switch (scale) {
    case Scale::linear:
      return "linear";
    case Scale::log_y:
      return "log_y";
    case Scale::log_xy:
      break;
  }
  return "log_xy";
}

std::string name_of(ChartMark::Shape shape) {
  switch (shape) {
    case ChartMark::Shape::dot:
      return "dot";
    case ChartMark::Shape::ring:
      return "ring";
    case ChartMark::Shape::cross:
      break;
  }
  return "cross";
}

std::string name_of(ChartMark::Side side) {
  switch (side) {
    case ChartMark::Side::right:
      return "right";
    case ChartMark::Side::left:
      return "left";
    case ChartMark::Side::above:
      return "above";
    case ChartMark::Side::below:
      break;
  }
  return "below";
}

std::string name_of(Colour colour) { return std::string(palette_entry(colour).name); }

OrderedJson style_json(const LineStyle& style) {
  OrderedJson json;
  json["colour"] = name_of(style.colour);
  set_unless_empty(json, "dash", style.dash);
  json["width"] = style.width;
  if (style.opacity < 1) json["opacity"] = style.opacity;
  return json;
}

OrderedJson table_json(const ChartTable& table) {
  OrderedJson json;
  set_unless_empty(json, "name", table.name);
  set_unless_empty(json, "heads", table.heads);
  json["rounds"] = table.rounds;
  json["values"] = table.values;
  return json;
}

OrderedJson line_json(const ChartLine& line) {
  OrderedJson json = style_json(line.style);
  json["name"] = line.name;
  set_unless_empty(json, "legend", line.legend);
  json["table"] = line.table;
  json["column"] = line.column;
  if (line.band) json["band"] = *line.band;
  if (line.to_mark) json["to_mark"] = *line.to_mark;
  return json;
}

OrderedJson rule_json(const ChartRule& rule) {
  OrderedJson json = style_json(rule.style);
  json["value"] = rule.value;
  set_unless_empty(json, "label", rule.label);
  set_unless_empty(json, "legend", rule.legend);
  return json;
}

OrderedJson mark_json(const ChartMark& mark) {
  OrderedJson json;
  json["name"] = mark.name;
  set_unless_empty(json, "label", mark.label);
  if (!mark.label.empty()) json["side"] = name_of(mark.side);
  set_unless_empty(json, "legend", mark.legend);
  json["shape"] = name_of(mark.shape);
  json["colour"] = name_of(mark.colour);
  json["at"] = mark.at;
  return json;
}

OrderedJson plane_json(const ChartPlane& plane) {
  OrderedJson json;
  json["axes"] = plane.axes;  // some have numbers in their names
  json["across"] = plane.across;
  json["up"] = plane.up;
  json["view"] = plane.view;
  return json;
}

OrderedJson rows_of(const Eigen::MatrixXd& matrix) {
  OrderedJson json = OrderedJson::array();
  for (Eigen::Index r = 0; r < matrix.rows(); ++r) json.push_back(number_list(matrix.row(r)));
  return json;
}

OrderedJson region_json(const ChartRegion& region, bool whole) {
  OrderedJson json;
  set_unless_empty(json, "legend", region.legend);
  json["colour"] = name_of(region.colour);
  json["at"] = number_list(region.at);
  if (region.ellipsoid.size() > 0) {
    if (whole) json["ellipsoid"] = rows_of(region.ellipsoid);
    return json;
  }
  if (whole) json["rows"] = rows_of(region.rows);
  json["margins"] = number_list(region.margins);
  if (whole && !region.curves.empty()) {
    for (const ChartCurve& curve : region.curves) {
      json["curves"].push_back({{"theta", rows_of(curve.theta)}, {"root", rows_of(curve.root)}});
    }
    json["curved_from"] = number_list(region.curved_from);
  }
  return json;
}

OrderedJson ellipse_json(const ChartEllipse& ellipse) {
  OrderedJson json = style_json(ellipse.style);
  json["name"] = ellipse.name;
  set_unless_empty(json, "legend", ellipse.legend);
  json["fill"] = ellipse.fill;
  json["at"] = ellipse.at;
  json["spread"] = rows_of(ellipse.spread);
  return json;
}

OrderedJson box_json(const ChartBox& box) {
  OrderedJson json = style_json(box.style);
  set_unless_empty(json, "legend", box.legend);
  json["low"] = box.low;
  json["high"] = box.high;
  return json;
}

OrderedJson cells_json(const ChartCells& cells) {
  OrderedJson json;
  json["rows"] = cells.rows;
  json["columns"] = cells.columns;
  json["values"] = cells.values;
  json["below"] = name_of(cells.below);
  json["above"] = name_of(cells.above);
  return json;
}

template <typename Item>
void set_list(OrderedJson& json, const char* key, const std::vector<Item>& items,
              OrderedJson (*to_json)(const Item&)) {
  for (const Item& item : items) json[key].push_back(to_json(item));
}

OrderedJson chart_json(const Chart& chart, bool whole) {
  OrderedJson json;
  json["name"] = chart.name;
  set_unless_empty(json, "run", chart.run);
  if (chart.task >= 0) json["task"] = chart.task;
  json["title"] = chart.title;
  json["note"] = chart.note;
  set_unless_empty(json, "x", chart.x_label);
  set_unless_empty(json, "y", chart.y_label);
  for (const Scale scale : chart.scales) json["scales"].push_back(name_of(scale));
  if (chart.plane) json["plane"] = plane_json(*chart.plane);
  if (chart.region) json["region"] = region_json(*chart.region, whole);
  if (chart.cells) json["cells"] = cells_json(*chart.cells);
  set_list(json, "ellipses", chart.ellipses, ellipse_json);
  set_list(json, "boxes", chart.boxes, box_json);
  set_list(json, "rules", chart.rules, rule_json);
  set_list(json, "lines", chart.lines, line_json);
  set_list(json, "marks", chart.marks, mark_json);
  set_list(json, "tables", chart.tables, table_json);
  return json;
}

}  // namespace

OrderedJson charts_to_json(const std::vector<Chart>& charts, bool whole) {
  OrderedJson json = OrderedJson::array();
  for (const Chart& chart : charts) json.push_back(chart_json(chart, whole));
  return json;
}

OrderedJson palette_to_json() {
  OrderedJson json;
  for (const PaletteEntry& entry : kPalette) {
    json[std::string(entry.name)] = {{"light", entry.light}, {"dark", entry.dark}};
  }
  return json;
}

}  // namespace lifeguard
