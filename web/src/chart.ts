// One figure of the page: title, controls, the chart, what it means, and its numbers as a table.

import * as Plot from "@observablehq/plot";
import { h, table, type Cell } from "./elements";

/** What a chart shows: the marks, and the same numbers to be read. */
export interface Content {
  options: Plot.PlotOptions;
  head: string[];
  rows: Cell[][];
}

type Drawn = (SVGElement | HTMLElement) & Plot.Plot;

/** All charts by name, for tests and for the curious: lifeguard.charts.cost.rows. */
export const charts: Record<string, { head: string[]; rows: Cell[][]; plot: Drawn }> = {};

const kTableRows = 1000;

export class Chart {
  readonly element: HTMLElement;
  private readonly place = h("div", { class: "plot" });
  private readonly note = h("figcaption");
  private readonly numbers = h("details", { toggle: () => this.fillTable() });
  private content: Content | null = null;
  private width = 0;

  constructor(
    private readonly name: string,
    title: string,
    controls: HTMLElement[] = [],
  ) {
    this.numbers.append(h("summary", {}, "Numbers"));
    this.element = h(
      "figure",
      { class: "card", "data-chart": name, "aria-label": title },
      h("h2", {}, title),
      controls.length ? h("div", { class: "controls" }, ...controls) : null,
      this.place,
      this.note,
      this.numbers,
    );
    new ResizeObserver(() => {
      if (this.place.clientWidth !== this.width) this.draw();
    }).observe(this.place);
  }

  /** Nothing to show hides the figure. */
  show(content: Content | null, note = ""): void {
    this.content = content;
    this.element.hidden = content === null;
    this.note.textContent = note;
    if (content === null) delete charts[this.name];
    this.draw();
    this.fillTable();
  }

  private draw(): void {
    if (!this.content) return;
    this.width = this.place.clientWidth;
    if (this.width === 0) return;
    const { head, rows, options } = this.content;
    const plot = Plot.plot({
      width: this.width,
      height: Math.max(240, Math.min(340, this.width * 0.62)),
      marginLeft: 56,
      marginRight: 16,
      marginTop: 30,
      marginBottom: 40,
      ...options,
      style: { background: "transparent", fontSize: "12px", overflow: "visible" },
    }) as Drawn;
    plot.setAttribute("role", "img");
    this.place.replaceChildren(plot);
    charts[this.name] = { head, rows, plot };
  }

  private fillTable(): void {
    this.numbers.querySelector("div")?.remove();
    if (!this.numbers.open || !this.content) return;
    const { head, rows } = this.content;
    const shown = h("div", { class: "scroll", tabindex: 0 }, table(head, rows.slice(0, kTableRows)));
    this.numbers.append(shown);
  }
}

/** Colours that the colour-blind can tell apart (Okabe and Ito), and dashes for everybody. */
const kDashes = ["", "7 3", "2 3", "8 3 2 3", "12 4", "4 2"];
export const colour = (i: number): string => `var(--c${(i % 6) + 1})`;
export const dash = (i: number): string => kDashes[i % kDashes.length];

/** The names of the lines, each with a piece of its line. */
export function legend(names: string[], style = (i: number) => ({ stroke: colour(i), dash: dash(i) })): HTMLElement {
  const list = h("ul", { class: "legend" });
  names.forEach((name, i) => {
    const { stroke, dash: pattern } = style(i);
    const item = h("li");
    item.innerHTML = `<svg width="34" height="10" aria-hidden="true"><line x1="1" x2="33" y1="5" y2="5" style="stroke:${stroke}" stroke-width="2.5" stroke-dasharray="${pattern}"/></svg>`;
    item.append(name);
    list.append(item);
  });
  return list;
}
