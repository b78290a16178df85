// Draws a chart from its description, whatever it shows: title, controls, picture, legend, what it means, and
// its numbers as a table. What is drawn and how it looks is said by the description alone
// (lifeguard/report/charts.cpp).

import * as Plot from "@observablehq/plot";
import type { Cells, ChartDescription, Line, LineStyle, Mark, Palette, Plane, Scale } from "./data";
import { Check, Choice, h, short, svg, table, type Cell } from "./elements";
import { crossSection, outlineOf, sidesOf, type Point2 } from "./section";

type Drawn = (SVGElement | HTMLElement) & Plot.Plot;

/** All charts by name, for tests and for the curious: lifeguard.charts.cost.rows. */
export const charts: Record<string, { head: string[]; rows: Cell[][]; plot: Drawn; polygon: Point2[] }> = {};

const kTableRows = 1000;
const kBandOpacity = 0.18;
const kSwatch = 30;

const colour = (name: string): string => `var(--chart-${name})`;

/** Makes the colours of the descriptions known to the page, for light and for dark. */
export function usePalette(palette: Palette): void {
  const rules = (ground: "light" | "dark") =>
    `:root{${Object.entries(palette).map(([name, values]) => `--chart-${name}:${values[ground]};`).join("")}}`;
  const id = "palette";
  document.getElementById(id)?.remove();
  document.head.append(h("style", { id }, `${rules("light")}@media (prefers-color-scheme: dark){${rules("dark")}}`));
}

/** What is shown of a description: its scale, and of a plane two axes. */
interface View {
  scale: Scale;
  across: number;
  up: number;
}

interface Point {
  x: number;
  y: number;
  low: number;
  high: number;
  title: string;
}

const defined = (value: number | null | undefined): number => value ?? NaN;
/** What an axis can show; a gap elsewhere. */
const onAxis = (value: number, log: boolean): number => (log && value <= 0 ? NaN : value);
const logX = (view: View): boolean => view.scale === "log_xy";
const logY = (view: View): boolean => view.scale !== "linear";

const pointAt = (x: number, y: number, title: string): Point => ({ x, y, low: y, high: y, title });
const placeOf = (mark: Mark, view: View): Point => pointAt(mark.at[view.across], mark.at[view.up], mark.name);

/** What the rows of tables are. */
const countedIn = (chart: ChartDescription): string => chart.x ?? "round";

function pointsOf(chart: ChartDescription, line: Line, view: View): Point[] {
  const { rounds, values } = chart.tables![line.table];
  const points = rounds.map((round, i): Point => {
    const row = values[i];
    if (chart.plane) {
      const title = `${line.name}\n${countedIn(chart)} ${round}`;
      return pointAt(defined(row[view.across]), defined(row[view.up]), title);
    }
    const value = defined(row[line.column]);
    const [low, high] = line.band === undefined ? [value, value] : [row[line.band] ?? value, row[line.band + 1] ?? value];
    const title = `${line.name}\n${countedIn(chart)} ${round}: ${short(value)}${low < high ? ` (${short(low)} to ${short(high)})` : ""}`;
    return { x: onAxis(round, logX(view)), y: onAxis(value, logY(view)), low, high, title };
  });
  if (chart.plane && line.to_mark !== undefined) points.push(placeOf(chart.marks![line.to_mark], view));
  return points;
}

const strokeOf = (style: LineStyle) => ({
  stroke: colour(style.colour),
  strokeWidth: style.width,
  strokeDasharray: style.dash,
  strokeOpacity: style.opacity,
  strokeLinecap: "round" as const,
});

function ellipses(chart: ChartDescription, view: View): Plot.Markish[] {
  if (view.across === view.up) return [];
  return (chart.ellipses ?? []).map((ellipse) => {
    const outline = outlineOf(ellipse, view.across, view.up);
    return Plot.line([...outline, outline[0]], { ...strokeOf(ellipse), fill: colour(ellipse.colour), fillOpacity: ellipse.fill, clip: true });
  });
}

function boxes(chart: ChartDescription, view: View): Plot.Markish[] {
  if (view.across === view.up) return [];
  return (chart.boxes ?? []).flatMap((box) =>
    sidesOf(box, view.across, view.up, chart.plane!.view).map((side) => Plot.line(side, { ...strokeOf(box), clip: true })),
  );
}

/** The bands around lines; on a logarithmic axis as far down as any line goes. */
function bands(lines: { line: Line; points: Point[] }[], view: View): Plot.Markish[] {
  const lowest = Math.min(...lines.flatMap(({ points }) => points.map((p) => (p.y > 0 ? p.y : Infinity))));
  const low = (p: Point) => (logY(view) ? Math.max(p.low, lowest) : p.low);
  return lines
    .filter(({ points }) => points.some((p) => p.low < p.high))
    .map(({ line, points }) =>
      Plot.areaY(points.filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y)), {
        x: "x", y1: low, y2: "high", fill: colour(line.colour), fillOpacity: kBandOpacity,
      }),
    );
}

function rules(chart: ChartDescription, view: View): Plot.Markish[] {
  const shown = (chart.rules ?? []).filter((rule) => !logY(view) || rule.value > 0);
  return [
    ...shown.map((rule) => Plot.ruleY([rule.value], strokeOf(rule))),
    Plot.text(shown.filter((rule) => rule.label), { y: "value", text: "label", frameAnchor: "right", textAnchor: "end", dx: -3, dy: -8, fontWeight: "bold" }),
  ];
}

const kBeside = {
  right: { dx: 9, textAnchor: "start" },
  left: { dx: -9, textAnchor: "end" },
  above: { dy: -12 },
  below: { dy: 12 },
} as const;

function marks(chart: ChartDescription, view: View): { drawn: Plot.Markish[]; points: Point[] } {
  const place = (mark: Mark) => placeOf(mark, view);
  const all = chart.marks ?? [];
  const drawn = all.map((mark) => {
    const at = { x: "x", y: "y" };
    if (mark.shape === "cross") return Plot.dot([place(mark)], { ...at, r: 7, symbol: "times", stroke: colour(mark.colour), strokeWidth: 2.5 });
    if (mark.shape === "ring") return Plot.dot([place(mark)], { ...at, r: 5.5, fill: "var(--card)", stroke: colour(mark.colour), strokeWidth: 2.2 });
    return Plot.dot([place(mark)], { ...at, r: 5.5, fill: colour(mark.colour) });
  });
  const labels = all
    .filter((mark) => mark.label)
    .map((mark) => Plot.text([place(mark)], { x: "x", y: "y", text: [mark.label!], fill: "currentColor", ...kBeside[mark.side!] }));
  return { drawn: [...drawn, ...labels], points: all.map(place) };
}

const axisType = (log: boolean) => ({ type: log ? ("log" as const) : ("linear" as const), tickFormat: log ? "~g" : undefined });

/** Lines over rounds, or a plane. */
function axesOptions(chart: ChartDescription, view: View, polygon: Point2[]): Plot.PlotOptions {
  const lines = (chart.lines ?? []).map((line) => ({ line, points: pointsOf(chart, line, view) }));
  const placed = marks(chart, view);
  const { plane } = chart;
  const isSeen = (value: number, k: number) => Number.isFinite(value) && (!plane || (value >= plane.view[k][0] && value <= plane.view[k][1]));
  const tips = [...lines.flatMap(({ points }) => points), ...placed.points].filter((p) => isSeen(p.x, view.across) && isSeen(p.y, view.up));
  const allZero = !logY(view) && lines.length > 0 && lines.every(({ points }) => points.every((p) => p.y === 0));
  return {
    x: plane
      ? { label: `${plane.axes[view.across]} →`, domain: plane.view[view.across] }
      : { label: `${chart.x} →`, labelAnchor: "right", ...axisType(logX(view)) },
    y: plane
      ? { label: `↑ ${plane.axes[view.up]}`, domain: plane.view[view.up], grid: true }
      : { label: `↑ ${chart.y}`, grid: true, ...axisType(logY(view)), ...(allZero && { domain: [0, 1] }) },
    marks: [
      polygon.length
        ? Plot.line([...polygon, polygon[0]], {
            fill: colour(chart.region!.colour), fillOpacity: kBandOpacity, stroke: colour(chart.region!.colour), strokeWidth: 2, clip: true,
          })
        : null,
      ...ellipses(chart, view),
      ...boxes(chart, view),
      ...rules(chart, view),
      ...bands(lines, view),
      ...lines.map(({ line, points }) => Plot.line(points, { x: "x", y: "y", ...strokeOf(line), clip: plane !== undefined })),
      ...placed.drawn,
      Plot.tip(tips, Plot.pointer({ x: "x", y: "y", title: "title" })),
    ],
  };
}

const largestOf = (cells: Cells): number => Math.max(...cells.values.flat().map((value) => Math.abs(defined(value)) || 0)) || 1;

function cellsOptions(chart: ChartDescription, cells: Cells, width: number): Plot.PlotOptions {
  const largest = largestOf(cells);
  const all = cells.values.flatMap((row, r) =>
    row.map((value, c) => ({ row: cells.rows[r], column: cells.columns[c], value: defined(value) })),
  );
  type One = (typeof all)[number];
  const marginLeft = Math.min(width / 2, 16 + 7 * Math.max(...cells.rows.map((name) => name.length)));
  const label = Math.max(28, 4 + 6.2 * Math.max(...cells.columns.map((name) => name.length)));
  const every = Math.ceil((label * cells.columns.length) / (width - marginLeft));
  return {
    marginLeft,
    x: { label: `${chart.x} →`, labelAnchor: "right", domain: cells.columns, padding: 0, tickFormat: (name: string, i: number) => (i % every ? "" : name) },
    y: { label: null, domain: cells.rows, padding: 0, tickSize: 0 },
    marks: [
      ...[cells.below, cells.above].map((name, above) =>
        Plot.cell(all.filter((one) => (above ? one.value >= 0 : one.value < 0)), {
          x: "column", y: "row", fill: colour(name), fillOpacity: (one: One) => Math.abs(one.value) / largest, stroke: "var(--line)", strokeWidth: 0.5,
        }),
      ),
      Plot.tip(all, Plot.pointer({ x: "column", y: "row", title: (one: One) => `${one.row}, ${chart.x} ${one.column}: ${short(one.value)}` })),
    ],
    opacity: { type: "identity" },
  };
}

/** A small drawing for the legend. */
function swatch(shape: string, style: LineStyle, fill = kBandOpacity): SVGElement {
  const drawing = svg("svg", { width: kSwatch, height: 14, viewBox: `0 -7 ${kSwatch} 14`, "aria-hidden": "true" });
  const stroke = `stroke:${colour(style.colour)};stroke-width:${style.width};stroke-opacity:${style.opacity ?? 1}`;
  const middle = kSwatch / 2;
  const drawn = {
    line: () => svg("path", { d: `M2 0H${kSwatch - 2}`, style: stroke, "stroke-dasharray": style.dash ?? "", "stroke-linecap": "round" }),
    area: () => svg("path", { d: `M2 -5H${kSwatch - 2}V5H2Z`, style: `${stroke};fill:${colour(style.colour)};fill-opacity:${fill}` }),
    dot: () => svg("circle", { cx: middle, r: 5, style: `fill:${colour(style.colour)}` }),
    ring: () => svg("circle", { cx: middle, r: 4.5, style: `fill:none;${stroke}` }),
    cross: () => svg("path", { d: `M${middle - 5} -5l10 10m0 -10l-10 10`, style: stroke, "stroke-linecap": "round" }),
  }[shape]!;
  drawing.append(drawn());
  return drawing;
}

function legend(chart: ChartDescription): HTMLElement {
  const list = h("ul", { class: "legend" });
  const add = (name: string | undefined, shape: string, style: LineStyle, fill?: number) => {
    if (!name) return;
    const item = h("li");
    item.append(swatch(shape, style, fill), name);
    list.append(item);
  };
  const plain = (name: string): LineStyle => ({ colour: name, width: 2 });
  if (chart.region) add(chart.region.legend, "area", plain(chart.region.colour));
  for (const ellipse of chart.ellipses ?? []) add(ellipse.legend, "area", ellipse, ellipse.fill);
  for (const box of chart.boxes ?? []) add(box.legend, "line", box);
  for (const rule of chart.rules ?? []) add(rule.legend, "line", rule);
  for (const line of chart.lines ?? []) add(line.legend, "line", line);
  for (const mark of chart.marks ?? []) add(mark.legend, mark.shape, plain(mark.colour));
  if (chart.cells) {
    const { below, above } = chart.cells;
    const bar = h("span", { class: "ramp", style: `background:linear-gradient(to right,${colour(below)},transparent,${colour(above)})` });
    const largest = largestOf(chart.cells);
    list.append(h("li", {}, short(-largest), bar, short(largest)));
  }
  list.hidden = list.childElementCount === 0;
  return list;
}

/** The numbers that are drawn, to be read. */
function numbersOf(chart: ChartDescription, view: View): { head: string[]; rows: Cell[][] } {
  if (chart.cells) {
    return { head: ["", ...chart.cells.columns], rows: chart.cells.values.map((row, r) => [chart.cells!.rows[r], ...row]) };
  }
  const tables = (chart.tables ?? []).filter((one) => chart.plane || one.heads);
  if (chart.plane) {
    const { axes } = chart.plane;
    const pair = [view.across, view.up];
    const many = tables.length > 1;
    const path = tables.flatMap((one) => one.rounds.map((round, i): Cell[] => [...(many ? [one.name] : []), round, ...pair.map((k) => one.values[i][k])]));
    const places = (chart.marks ?? []).map((mark): Cell[] => [mark.name, ...pair.map((k) => mark.at[k])]);
    return { head: [...(many ? [""] : []), path.length ? countedIn(chart) : "", axes[view.across], axes[view.up]], rows: path.length ? path : places };
  }
  const named = tables.some((one) => one.name);
  return {
    head: [...(named ? [""] : []), countedIn(chart), ...(tables[0]?.heads ?? [])],
    rows: tables.flatMap((one) => one.rounds.map((round, i) => [...(named ? [one.name] : []), round, ...one.values[i]])),
  };
}

/** The place of a chart on the page. It keeps what was chosen when the description changes. */
export class ChartCard {
  readonly element: HTMLElement;
  private readonly title = h("h2");
  private readonly log = new Check("logarithmic", () => this.draw());
  private readonly across = new Choice("across", () => this.choose());
  private readonly up = new Choice("up", () => this.choose());
  private readonly controls = h("div", { class: "controls" }, this.log.element, this.across.element, this.up.element);
  private readonly place = h("div", { class: "plot" });
  private readonly legend = h("div");
  private readonly note = h("figcaption");
  private readonly numbers = h("details", { toggle: () => this.fillTable() }, h("summary", {}, "Numbers"));
  private chart: ChartDescription | null = null;
  private width = 0;
  private chosen = false;

  constructor(private readonly name: string) {
    this.element = h("figure", { class: "card", "data-chart": name }, this.title, this.controls, this.place, this.legend, this.note, this.numbers);
    new ResizeObserver(() => {
      if (this.place.clientWidth !== this.width) this.draw();
    }).observe(this.place);
  }

  /** Nothing to show hides the chart. */
  show(chart: ChartDescription | null): void {
    this.chart = chart;
    this.element.hidden = chart === null;
    if (chart === null) {
      delete charts[this.name];
      return;
    }
    this.title.textContent = chart.title;
    this.element.setAttribute("aria-label", chart.title);
    this.note.textContent = chart.note;
    this.log.element.hidden = chart.scales.length < 2;
    this.offerAxes(chart.plane);
    this.controls.hidden = [...this.controls.children].every((control) => (control as HTMLElement).hidden);
    this.legend.replaceChildren(legend(chart));
    this.draw();
  }

  private offerAxes(plane: Plane | undefined): void {
    const axes = plane?.axes ?? [];
    for (const choice of [this.across, this.up]) {
      if (choice.setOptions(axes)) this.chosen = false;
      choice.element.hidden = axes.length <= 2;
    }
    if (plane && !this.chosen) [this.across.index, this.up.index] = [plane.across, plane.up];
  }
  private choose(): void {
    this.chosen = true;
    this.draw();
  }
  private view(chart: ChartDescription): View {
    const scale = chart.scales[this.log.on && chart.scales.length > 1 ? 1 : 0];
    return { scale, across: this.across.index, up: this.up.index };
  }

  private draw(): void {
    const { chart } = this;
    if (!chart) return;
    this.width = this.place.clientWidth;
    if (this.width === 0) return;
    const view = this.view(chart);
    const polygon = chart.region && view.across !== view.up ? crossSection(chart.region, view.across, view.up, chart.plane!.view) : [];
    const plot = Plot.plot({
      width: this.width,
      height: Math.max(240, Math.min(340, this.width * 0.62)),
      marginLeft: 60,
      marginRight: 18,
      marginTop: 30,
      marginBottom: 40,
      ...(chart.cells ? cellsOptions(chart, chart.cells, this.width) : axesOptions(chart, view, polygon)),
      style: { background: "transparent", fontSize: "12px", overflow: "visible" },
    }) as Drawn;
    plot.setAttribute("role", "img");
    this.place.replaceChildren(plot);
    charts[this.name] = { ...numbersOf(chart, view), plot, polygon };
    this.fillTable();
  }

  private fillTable(): void {
    this.numbers.querySelector("div")?.remove();
    const shown = charts[this.name];
    if (!this.numbers.open || !shown) return;
    this.numbers.append(h("div", { class: "scroll", tabindex: 0 }, table(shown.head, shown.rows.slice(0, kTableRows))));
  }
}
