// Curves over rounds: cost, regret, margins, spectrum.

import * as Plot from "@observablehq/plot";
import { Chart, colour, dash, legend } from "./chart";
import type { Experiment, RegretCurve, Run } from "./data";
import { Check, Choice, short, type Cell } from "./elements";

interface Point {
  round: number;
  value: number;
  low: number;
  high: number;
  name: string;
}

function points(name: string, rounds: number[], values: (number | null)[], ci: (number | null)[]): Point[] {
  const result: Point[] = [];
  rounds.forEach((round, i) => {
    const value = values[i];
    if (value === null) return;
    const half = ci[i] ?? 0;
    result.push({ round, value, low: value - half, high: value + half, name });
  });
  return result;
}

/** A line with its interval. On logarithmic axes only what is positive can be drawn. */
function lineAndBand(data: Point[], i: number, log: boolean, logRounds: boolean): Plot.Markish[] {
  const drawn = data.filter((p) => (!log || p.value > 0) && (!logRounds || p.round > 0));
  const least = Math.min(...drawn.map((p) => p.value));
  return [
    Plot.areaY(drawn, {
      x: "round",
      y1: (p: Point) => (log ? Math.max(p.low, least / 10) : p.low),
      y2: "high",
      fill: colour(i),
      fillOpacity: 0.18,
    }),
    Plot.lineY(drawn, { x: "round", y: "value", stroke: colour(i), strokeWidth: 2, strokeDasharray: dash(i) }),
  ];
}

const tip = (data: Point[]) =>
  Plot.tip(
    data,
    Plot.pointer({
      x: "round",
      y: "value",
      title: (p: Point) =>
        `${p.name}\nround ${p.round}: ${short(p.value)}` + (p.high > p.value ? ` ± ${short(p.high - p.value)}` : ""),
    }),
  );

const roundAxis = { label: "round →", labelAnchor: "right" as const };
const kHead = ["method", "round", "mean", "± 95 %"];

export class CostView {
  private readonly log = new Check("logarithmic", () => this.draw());
  private readonly chart = new Chart("cost", "Cost against rounds", [this.log.element]);
  readonly elements = [this.chart.element];
  private experiment: Experiment | null = null;

  update(experiment: Experiment): void {
    this.experiment = experiment;
    this.draw();
  }
  private draw(): void {
    if (!this.experiment) return;
    const { methods } = this.experiment;
    const curves = methods.map((m) => points(m.name, m.cost.rounds, m.cost.mean, m.cost.mean_ci95));
    const rows: Cell[][] = methods.flatMap((m) =>
      m.cost.rounds.map((round, i) => [m.name, round, m.cost.mean[i], m.cost.mean_ci95[i]]),
    );
    const log = this.log.on;
    this.chart.show(
      {
        options: {
          x: roundAxis,
          y: { label: "↑ mean cost of all tasks", type: log ? "log" : "linear", grid: true, tickFormat: log ? "~g" : undefined },
          marks: [...curves.flatMap((c, i) => lineAndBand(c, i, log, false)), tip(curves.flat())],
        },
        head: kHead,
        rows,
      },
      "Noise-free cost of the policies after each round, mean over the tasks; bands are 95 % intervals over seeds.",
    );
    attachLegend(this.chart, methods.map((m) => `${m.name} (${m.seeds === 1 ? "1 seed" : `${m.seeds} seeds`})`));
  }
}

function attachLegend(chart: Chart, names: string[], style?: Parameters<typeof legend>[1]): void {
  chart.element.querySelector(".legend")?.remove();
  chart.element.querySelector(".plot")?.after(legend(names, style));
}

export class RegretView {
  private readonly which = new Choice("regret of", () => this.draw());
  private readonly linear = new Chart("regret", "Regret", [this.which.element]);
  private readonly log = new Chart("regret-log", "Regret, logarithmic axes");
  readonly elements = [this.linear.element, this.log.element];
  private experiment: Experiment | null = null;

  constructor() {
    this.which.setOptions(["losses", "true cost"]);
  }
  update(experiment: Experiment): void {
    this.experiment = experiment;
    this.draw();
  }
  private draw(): void {
    const methods = this.experiment?.methods.filter((m) => m.regret && m.regret.rounds.length > 0) ?? [];
    if (methods.length === 0) {
      this.linear.show(null);
      this.log.show(null);
      return;
    }
    const key = this.which.index === 0 ? "surrogate" : "true_cost";
    const ciKey = `${key}_ci95` as const;
    const of = (r: RegretCurve, name: string) => points(name, r.rounds, r[key], r[ciKey]);
    const curves = methods.map((m) => of(m.regret!, m.name));
    const rows: Cell[][] = methods.flatMap((m) =>
      m.regret!.rounds.map((round, i) => [m.name, round, m.regret![key][i], m.regret![ciKey][i]]),
    );
    // √R through the last point of the first method that has a positive one.
    const last = curves.map((c) => c.at(-1)).find((p) => p && p.value > 0);
    const scale = last ? last.value / Math.sqrt(last.round) : 0;
    const root = (curves[0] ?? []).filter((p) => p.round > 0).map((p) => ({ x: p.round, y: scale * Math.sqrt(p.round) }));
    for (const [chart, log] of [[this.linear, false], [this.log, true]] as const) {
      chart.show(
        {
          options: {
            x: { ...roundAxis, type: log ? "log" : "linear", tickFormat: log ? "~s" : undefined },
            y: { label: "↑ regret", type: log ? "log" : "linear", grid: true, tickFormat: log ? "~g" : undefined },
            marks: [
              Plot.lineY(root, { x: "x", y: "y", stroke: "currentColor", strokeOpacity: 0.6, strokeDasharray: "1 4", strokeWidth: 2 }),
              ...curves.flatMap((c, i) => lineAndBand(c, i, log, log)),
              tip(curves.flat()),
            ],
          },
          head: kHead,
          rows,
        },
        log ? "√R has slope one half here; a curve that bends below it grows more slowly." : "Summed up to each round. The dotted line is proportional to √R.",
      );
      const styles = [...methods.map((_, i) => ({ stroke: colour(i), dash: dash(i) })), { stroke: "currentColor", dash: "1 4" }];
      attachLegend(chart, [...methods.map((m) => m.name), "√R, scaled"], (i) => styles[i]);
    }
  }
}

export class MarginView {
  private readonly log = new Check("logarithmic", () => this.draw());
  private readonly chart = new Chart("margins", "Constraint margins", [this.log.element]);
  readonly elements = [this.chart.element];
  private run: Run | null = null;

  update(run: Run): void {
    this.run = run;
    this.draw();
  }
  private draw(): void {
    const run = this.run;
    const margins = run?.margins;
    if (!run || !margins || margins.rounds.length === 0) {
      this.chart.show(null);
      return;
    }
    const log = this.log.on;
    const lines = run.tasks.map((task, t) =>
      margins.rounds
        .map((round, i) => ({ round, value: margins.values[i][t], low: 0, high: 0, name: task.name }))
        .filter((p) => !log || p.value > 0),
    );
    const last = margins.values.at(-1)!;
    const worst = last.indexOf(Math.min(...last));
    const least = margins.values.map((values) => Math.min(...values));
    const broken = least.some((value) => value < 0);
    this.chart.show(
      {
        options: {
          x: roundAxis,
          y: { label: "↑ smallest margin of a task", grid: true, type: log ? "log" : "linear", tickFormat: log ? "~g" : undefined },
          marks: [
            ...(log ? [] : [Plot.ruleY([0], { strokeOpacity: 0.7 })]),
            ...lines.map((line) => Plot.lineY(line, { x: "round", y: "value", stroke: "currentColor", strokeOpacity: 0.3 })),
            Plot.lineY(lines[worst], { x: "round", y: "value", stroke: "var(--c2)", strokeWidth: 3 }),
            tip(lines.flat()),
          ],
        },
        head: ["round", ...run.tasks.map((task) => task.name)],
        rows: margins.rounds.map((round, i) => [round, ...margins.values[i]]),
      },
      `How far inside its constraints each task's policy is; below 0 a constraint is broken. Nearest now: ${run.tasks[worst].name}` +
        (run.worst_row && run.worst_task === worst ? `, “${run.worst_row}”` : "") +
        `, margin ${short(last[worst])}.` +
        (broken ? " This method broke constraints." : ""),
    );
    attachLegend(this.chart, [`${run.tasks[worst].name}, the worst`, "other tasks"], (i) =>
      i === 0 ? { stroke: "var(--c2)", dash: "" } : { stroke: "color-mix(in srgb, currentColor 40%, transparent)", dash: "" },
    );
  }
}

export class SpectrumView {
  private readonly chart = new Chart("spectrum", "Spectrum of the shared basis");
  readonly elements = [this.chart.element];

  update(run: Run): void {
    const spectrum = run.spectrum;
    if (!spectrum || spectrum.rounds.length === 0) {
      this.chart.show(null);
      return;
    }
    const size = spectrum.values[0].length;
    const lines = Array.from({ length: size }, (_, k) =>
      spectrum.rounds.map((round, i) => ({ round, value: spectrum.values[i][k], low: 0, high: 0, name: `eigenvalue ${k + 1}` })),
    );
    this.chart.show(
      {
        options: {
          x: roundAxis,
          y: { label: "↑ eigenvalues of LᵀL", type: "log", grid: true, tickFormat: "~g" },
          marks: [
            Plot.ruleY([spectrum.p, spectrum.q], { stroke: "var(--c2)", strokeDasharray: "7 3", strokeWidth: 2 }),
            Plot.text([{ y: spectrum.q, text: "q" }, { y: spectrum.p, text: "p" }], { y: "y", text: "text", frameAnchor: "right", dy: -8, fontWeight: "bold" }),
            ...lines.map((line) => Plot.lineY(line, { x: "round", y: "value", stroke: "var(--c1)", strokeOpacity: 0.75 })),
            tip(lines.flat()),
          ],
        },
        head: ["round", ...lines.map((_, k) => `eigenvalue ${k + 1}`)],
        rows: spectrum.rounds.map((round, i) => [round, ...spectrum.values[i]]),
      },
      `Every eigenvalue of LᵀL must stay between p = ${spectrum.p} and q = ${spectrum.q}.`,
    );
  }
}
