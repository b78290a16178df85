// The page: puts the views together, for a report in a file or live from `lifeguard serve`.

import { AnimationView } from "./animation";
import { ChartCard, charts, usePalette } from "./chart";
import { hasDetails, type ChartDescription, type Claim, type Experiment, type Report, type Run } from "./data";
import { Choice, h, short, table } from "./elements";
import { startLive } from "./live";

/** One row of charts, then how it moves, then the others. */
const kChartsBeforeAnimation = 2;

class Page {
  private readonly experiment = new Choice("Experiment", () => this.refresh());
  private readonly run = new Choice("Run", () => this.refresh());
  private readonly task = new Choice("Task", () => this.refresh());
  private readonly status = h("p", { class: "status", role: "status" });
  private readonly methods = h("div", { class: "scroll", tabindex: 0 });
  private readonly claims = h("section", { class: "card wide", "data-chart": "claims" });
  private readonly settings = h("section", { class: "card wide", "data-chart": "settings" });
  private readonly cards = new Map<string, ChartCard>();
  private readonly animation = new AnimationView();
  private readonly title = h("h1");
  private settingsOf = "";
  report: Report | null = null;

  constructor(root: HTMLElement) {
    const toolbar = h("div", { class: "toolbar" }, this.experiment.element, this.run.element, this.task.element);
    root.append(
      h("header", {}, this.title, this.status, toolbar),
      h(
        "main",
        {},
        h("section", { class: "card wide", "data-chart": "methods" }, h("h2", {}, "Methods"), this.methods),
        this.claims,
        this.settings,
      ),
    );
  }

  show(report: Report): void {
    if (this.report?.palette !== report.palette) usePalette(report.palette);
    this.report = report;
    this.experiment.setOptions(report.experiments.map((e) => e.name));
    this.experiment.element.hidden = report.experiments.length < 2;
    this.refresh();
  }
  say(text: string): void {
    this.status.textContent = text;
  }

  private refresh(): void {
    if (!this.report) return;
    const experiment = this.report.experiments[this.experiment.index];
    const runs = experiment.runs.filter(hasDetails);
    this.run.setOptions(runs.map((run) => `${run.method}, seed ${run.seed}`));
    const run = runs[this.run.index];
    this.task.setOptions(run.tasks.map((task) => task.name));
    this.title.textContent = experiment.name;
    document.title = `${experiment.name} · lifeguard`;
    this.methods.replaceChildren(methodsTable(experiment));
    this.showCharts(experiment.charts, run.method, this.task.index);
    this.animation.update(run, this.task.index);
    this.showClaims(this.report.claims ?? []);
    this.showSettings(run);
  }

  /** Of every kind the chart of the chosen run and task, in the order of the descriptions. */
  private showCharts(all: ChartDescription[], run: string, task: number): void {
    const names = [...new Set(all.map((chart) => chart.name))];
    for (const name of names) if (!this.cards.has(name)) this.cards.set(name, new ChartCard(name));
    const order = names.map((name) => this.cards.get(name)!.element);
    order.splice(kChartsBeforeAnimation, 0, ...this.animation.elements);
    const isPlaced = order.every((element, i) => element.nextElementSibling === (order[i + 1] ?? this.claims));
    if (!isPlaced) this.claims.before(...order);
    const isShown = (chart: ChartDescription) => (chart.run ?? run) === run && (chart.task ?? task) === task;
    for (const [name, card] of this.cards) card.show(all.find((chart) => chart.name === name && isShown(chart)) ?? null);
  }

  private showClaims(claims: Claim[]): void {
    this.claims.hidden = claims.length === 0;
    const rows = claims.map((c) => [c.claim, c.paper, c.measured, c.verdict]);
    this.claims.replaceChildren(
      h("h2", {}, "Claims"),
      h("div", { class: "scroll", tabindex: 0 }, table(["claim", "paper", "measured", "verdict"], rows)),
    );
  }

  private showSettings(run: Run): void {
    if (this.settingsOf === run.file) return;
    this.settingsOf = run.file;
    this.settings.replaceChildren(
      h("h2", {}, "Settings"),
      h("p", {}, `${run.file}: ${run.method}, seed ${run.seed}, lifeguard ${run.version}`),
      h(
        "details",
        {},
        h("summary", {}, `${Object.keys(run.settings).length} settings`),
        h("div", { class: "scroll", tabindex: 0 }, table(["key", "value"], Object.entries(run.settings))),
      ),
    );
  }
}

function methodsTable(experiment: Experiment): HTMLTableElement {
  const rows = experiment.methods.map((method) => {
    const runs = experiment.runs.filter((run) => run.method === method.name);
    const sum = (pick: (run: Run) => number) => runs.reduce((total, run) => total + pick(run as Run), 0);
    const { first_cost, last_cost, last_cost_low: low, last_cost_high: high } = method;
    const margins = runs.map((run) => run.least_margin).filter((m) => m !== undefined);
    return [
      method.name,
      runs.map((run) => run.seed).join(", "),
      `${runs[0].rounds_done} of ${runs[0].rounds_planned}`,
      short(first_cost),
      short(last_cost) + (low == null || high == null || low === high ? "" : ` (${short(low)} to ${short(high)})`),
      margins.length ? short(Math.min(...margins)) : "–",
      margins.length ? `${sum((run) => run.unsafe_policies)} of ${sum((run) => run.policies)}` : "–",
      `${sum((run) => run.rollout_seconds + run.learn_seconds).toFixed(2)} s`,
    ];
  });
  return table(
    ["method", "seeds", "rounds", "first cost", "last cost", "least margin", "unsafe policies", "time"],
    rows,
  );
}

const root = document.getElementById("page")!;
const page = new Page(root);
const data = JSON.parse(document.getElementById("report-data")!.textContent!);
Object.assign(window, { lifeguard: { page, charts } });
if (data.live) {
  startLive(data.live, root, (report) => page.show(report), (text) => page.say(text));
} else {
  const report = data as Report;
  page.show(report);
  page.say(`${report.experiments.map((e) => e.family).join(", ")} · lifeguard ${report.version}`);
}
