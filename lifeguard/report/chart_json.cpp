#include "lifeguard/report/chart_json.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace lifeguard {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
void set_unless_empty(Json& json, const char* key, const Value& value) {
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

std::vector<double> list_of(const Eigen::VectorXd& values) {
  return {values.begin(), values.end()};
}

Json style_json(const LineStyle& style) {
  Json json;
  json["colour"] = name_of(style.colour);
  set_unless_empty(json, "dash", style.dash);
  json["width"] = style.width;
  if (style.opacity < 1) json["opacity"] = style.opacity;
  return json;
}

Json table_json(const ChartTable& table) {
  Json json;
  set_unless_empty(json, "name", table.name);
  set_unless_empty(json, "heads", table.heads);
  json["rounds"] = table.rounds;
  json["values"] = table.values;
  return json;
}

Json line_json(const ChartLine& line) {
  Json json = style_json(line.style);
  json["name"] = line.name;
  set_unless_empty(json, "legend", line.legend);
  json["table"] = line.table;
  json["column"] = line.column;
  if (line.half) json["half"] = *line.half;
  if (line.to_mark) json["to_mark"] = *line.to_mark;
  return json;
}

Json rule_json(const ChartRule& rule) {
  Json json = style_json(rule.style);
  json["value"] = rule.value;
  set_unless_empty(json, "label", rule.label);
  set_unless_empty(json, "legend", rule.legend);
  return json;
}

Json mark_json(const ChartMark& mark) {
  Json json;
  json["name"] = mark.name;
  set_unless_empty(json, "label", mark.label);
  if (!mark.label.empty()) json["side"] = name_of(mark.side);
  set_unless_empty(json, "legend", mark.legend);
  json["shape"] = name_of(mark.shape);
  json["colour"] = name_of(mark.colour);
  json["at"] = mark.at;
  return json;
}

Json plane_json(const ChartPlane& plane, bool whole) {
  Json json;
  if (whole) json["axes"] = plane.axes;
  json["across"] = plane.across;
  json["up"] = plane.up;
  json["view"] = plane.view;
  return json;
}

Json region_json(const ChartRegion& region, bool whole) {
  Json json;
  set_unless_empty(json, "legend", region.legend);
  json["colour"] = name_of(region.colour);
  if (whole) {
    json["rows"] = Json::array();
    for (Eigen::Index r = 0; r < region.rows.rows(); ++r) {
      json["rows"].push_back(list_of(region.rows.row(r)));
    }
  }
  json["margins"] = list_of(region.margins);
  json["at"] = list_of(region.at);
  return json;
}

Json cells_json(const ChartCells& cells) {
  Json json;
  json["rows"] = cells.rows;
  json["columns"] = cells.columns;
  json["values"] = cells.values;
  json["below"] = name_of(cells.below);
  json["above"] = name_of(cells.above);
  return json;
}

template <typename Item>
void set_list(Json& json, const char* key, const std::vector<Item>& items,
              Json (*to_json)(const Item&)) {
  for (const Item& item : items) json[key].push_back(to_json(item));
}

Json chart_json(const Chart& chart, bool whole) {
  Json json;
  json["name"] = chart.name;
  set_unless_empty(json, "run", chart.run);
  if (chart.task >= 0) json["task"] = chart.task;
  json["title"] = chart.title;
  json["note"] = chart.note;
  set_unless_empty(json, "x", chart.x_label);
  set_unless_empty(json, "y", chart.y_label);
  for (const Scale scale : chart.scales) json["scales"].push_back(name_of(scale));
  if (chart.plane) json["plane"] = plane_json(*chart.plane, whole);
  if (chart.region) json["region"] = region_json(*chart.region, whole);
  if (chart.cells) json["cells"] = cells_json(*chart.cells);
  set_list(json, "rules", chart.rules, rule_json);
  set_list(json, "lines", chart.lines, line_json);
  set_list(json, "marks", chart.marks, mark_json);
  set_list(json, "tables", chart.tables, table_json);
  return json;
}

}  // namespace

Json charts_to_json(const std::vector<Chart>& charts, bool whole) {
  Json json = Json::array();
  for (const Chart& chart : charts) json.push_back(chart_json(chart, whole));
  return json;
}

Json palette_to_json() {
  Json json;
  for (const PaletteEntry& entry : kPalette) {
    json[std::string(entry.name)] = {{"light", entry.light}, {"dark", entry.dark}};
  }
  return json;
}

}  // namespace lifeguard
