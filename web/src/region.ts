// The safe region of a task in two of its parameters, and the path of its policy.

import * as Plot from "@observablehq/plot";
import { Chart, legend } from "./chart";
import type { Run, SafeSet } from "./data";
import { Choice } from "./elements";

export type Point2 = [number, number];
interface Box {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

/** The part of a polygon where a x + b y ≤ c (Sutherland and Hodgman). */
export function clip(polygon: Point2[], a: number, b: number, c: number): Point2[] {
  const result: Point2[] = [];
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length];
    const fp = a * p[0] + b * p[1] - c;
    const fq = a * q[0] + b * q[1] - c;
    if (fp <= 0) result.push(p);
    if ((fp < 0 && fq > 0) || (fp > 0 && fq < 0)) {
      const s = fp / (fp - fq);
      result.push([p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])]);
    }
  });
  return result;
}

/** The cut of a safe set at `policy`, as a polygon in parameters i and j inside a box. */
export function crossSection(set: SafeSet, policy: number[], i: number, j: number, box: Box): Point2[] {
  let polygon: Point2[] = [[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]];
  set.coefficients.forEach((row, r) => {
    let limit = set.limits[r];
    row.forEach((value, k) => {
      if (k !== i && k !== j) limit -= value * policy[k];
    });
    polygon = clip(polygon, row[i], row[j], limit);
  });
  return polygon;
}

function around(points: Point2[], margin: number): Box {
  const xs = points.map((p) => p[0]);
  const ys = points.map((p) => p[1]);
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const dx = margin * (x1 - x0) || 0.1 * Math.abs(x0) || 1;
  const dy = margin * (y1 - y0) || 0.1 * Math.abs(y0) || 1;
  return { x0: x0 - dx, x1: x1 + dx, y0: y0 - dy, y1: y1 + dy };
}

export class RegionView {
  private readonly x = new Choice("across", () => this.draw());
  private readonly y = new Choice("up", () => this.draw());
  private readonly chart = new Chart("region", "Safe region and the policy's path", [this.x.element, this.y.element]);
  readonly elements = [this.chart.element];
  private run: Run | null = null;
  private task = 0;

  update(run: Run, task: number): void {
    const fresh = this.run === null || this.run.parameters.join() !== run.parameters.join();
    this.run = run;
    this.task = task;
    this.x.setOptions(run.parameters);
    this.y.setOptions(run.parameters);
    if (fresh) [this.x.index, this.y.index] = this.mostMoved();
    this.draw();
  }

  /** The two parameters that changed most from the first to the last policy. */
  private mostMoved(): [number, number] {
    const { policy, path } = this.run!.tasks[this.task];
    const first = path.values[0] ?? policy;
    const order = policy.map((_, k) => k).sort((a, b) => Math.abs(policy[b] - first[b]) - Math.abs(policy[a] - first[a]));
    const [i, j] = order.slice(0, 2).sort((a, b) => a - b);
    return [i, j ?? i];
  }

  private draw(): void {
    if (!this.run) return;
    const task = this.run.tasks[this.task];
    const i = this.x.index;
    const j = this.y.index;
    const path = task.path.values.map((alpha): Point2 => [alpha[i], alpha[j]]);
    const now: Point2 = [task.policy[i], task.policy[j]];
    const lqr: Point2[] = task.lqr ? [[task.lqr[i], task.lqr[j]]] : [];
    const points = [...path, now, ...lqr];
    const polygon = task.safe_set && i !== j ? crossSection(task.safe_set, task.policy, i, j, around(points, 1000)) : [];
    // Of a region that goes far beyond the points only a part is seen, without an edge there.
    const near = around(points, 1);
    const clamp = (v: number, low: number, high: number) => Math.min(high, Math.max(low, v));
    const corners = polygon.map(([x, y]): Point2 => [clamp(x, near.x0, near.x1), clamp(y, near.y0, near.y1)]);
    const view = around([...points, ...corners], 0.06);
    const names = this.run.parameters;
    this.chart.show(
      {
        options: {
          x: { label: `${names[i]} →`, domain: [view.x0, view.x1] },
          y: { label: `↑ ${names[j]}`, domain: [view.y0, view.y1], grid: true },
          marks: [
            Plot.line(polygon.length ? [...polygon, polygon[0]] : [], {
              fill: "var(--c3)", fillOpacity: 0.16, stroke: "var(--c3)", strokeWidth: 2, curve: "linear", clip: true,
            }),
            Plot.line([...path, now], { stroke: "var(--c1)", strokeWidth: 1.5, curve: "linear" }),
            Plot.dot(path, { r: 2, fill: "var(--c1)" }),
            Plot.dot(path.slice(0, 1), { r: 6, stroke: "var(--c1)", strokeWidth: 2, fill: "var(--card)" }),
            Plot.dot([now], { r: 6, fill: "var(--c1)" }),
            Plot.dot(lqr, { r: 7, symbol: "times", stroke: "var(--c2)", strokeWidth: 2.5 }),
          ],
        },
        head: ["round", names[i], names[j]],
        rows: task.path.values.map((alpha, k) => [task.path.rounds[k], alpha[i], alpha[j]]),
      },
      this.explain(task.safe_set),
    );
    this.chart.element.dataset.polygon = JSON.stringify(polygon);
    this.chart.element.querySelector(".legend")?.remove();
    const entries = [["path, from ○ to ●", "var(--c1)"], ["LQR ×", "var(--c2)"]];
    if (polygon.length) entries.unshift(["safe region", "var(--c3)"]);
    this.chart.element.querySelector(".plot")?.after(
      legend(entries.map((e) => e[0]), (k) => ({ stroke: entries[k][1], dash: "" })),
    );
  }

  private explain(set: SafeSet | undefined): string {
    if (!set) return "This experiment has no constraints.";
    const slack = set.slack_limit === null ? "" : " The limit on the slack is not drawn.";
    return `${set.names.length} constraints, cut at the last policy's values of the other parameters; earlier points may lie in other cuts.${slack}`;
  }
}
