// Which tasks resemble which: the coefficients as a heat map, and in their principal plane.

import * as Plot from "@observablehq/plot";
import { Chart } from "./chart";
import type { Run } from "./data";
import { short } from "./elements";

export class CoefficientsView {
  private readonly map = new Chart("coefficients", "Coefficients of all tasks");
  private readonly plane = new Chart("resemblance", "Which tasks resemble which");
  readonly elements = [this.map.element, this.plane.element];

  update(run: Run): void {
    const { of, tasks, principal } = run.coefficients;
    const names = run.tasks.map((task) => task.name);
    const what = of === "coefficients" ? "s" : "α";
    const cells = tasks.flatMap((values, t) => values.map((value, k) => ({ task: names[t], k: k + 1, value })));
    const largest = Math.max(...cells.map((cell) => Math.abs(cell.value)), 1e-300);
    this.map.show(
      {
        options: {
          marginLeft: 110,
          marginBottom: 44,
          x: { label: `entry of ${what} →`, tickFormat: (k: number) => (tasks[0].length > 12 && k % 4 !== 1 ? "" : String(k)) },
          y: { label: null, domain: names },
          color: { type: "diverging", scheme: "PuOr", domain: [-largest, largest], legend: true, label: `value of ${what}`, tickFormat: short },
          marks: [Plot.cell(cells, { x: "k", y: "task", fill: "value", title: (c) => `${c.task}, entry ${c.k}: ${short(c.value)}`, tip: true })],
        },
        head: ["task", ...tasks[0].map((_, k) => `${what}${k + 1}`)],
        rows: tasks.map((values, t) => [names[t], ...values]),
      },
      of === "coefficients" ? "A row is one task's s: its policy is anchor + L s." : "This method has no coefficients; these are the policies themselves.",
    );
    const places = principal.places.map(([x, y], t) => ({ x, y, task: names[t] }));
    const share = (c: number) => `${Math.round(100 * (principal.shares[c] ?? 0))} %`;
    this.plane.show(
      {
        options: {
          grid: true,
          inset: 14,
          x: { label: `first principal component (${share(0)}) →` },
          y: { label: `↑ second (${share(1)})` },
          marks: [
            Plot.dot(places, { x: "x", y: "y", r: 5, fill: "var(--c1)", tip: true, title: "task" }),
            Plot.text(places, { x: "x", y: "y", text: (p) => p.task.replace(/^.* (?=\d+$)/, ""), dx: 9, textAnchor: "start" }),
          ],
        },
        head: ["task", "first", "second"],
        rows: places.map((p) => [p.task, p.x, p.y]),
      },
      "The same coefficients in the plane in which they differ most: near means similar. In brackets: share of the variance.",
    );
  }
}
