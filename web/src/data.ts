// The report as `lifeguard report --json` prints it; docs/report.md describes it.

/** A number that is not finite is null. */
type Numbers = (number | null)[];

/** Colours by name, on a light and on a dark ground. */
export type Palette = Record<string, { light: string; dark: string }>;

export interface LineStyle {
  colour: string;
  dash?: string;
  width: number;
  opacity?: number;
}
/** Numbers over rounds: one row for each round. */
export interface Table {
  name?: string;
  heads?: string[];
  rounds: number[];
  values: Numbers[];
}
/** A column of a table over its rounds; in a plane the two columns of the axes that are shown, and on to a mark. */
export interface Line extends LineStyle {
  name: string;
  legend?: string;
  table: number;
  column: number;
  /** The column with the lower end of the band around the line; the next one has the upper. */
  band?: number;
  to_mark?: number;
}
export interface Rule extends LineStyle {
  value: number;
  label?: string;
  legend?: string;
}
export interface Mark {
  name: string;
  label?: string;
  side?: "right" | "left" | "above" | "below";
  legend?: string;
  shape: "dot" | "ring" | "cross";
  colour: string;
  at: number[];
}
/** Axes to choose from, and what is seen of each. */
export interface Plane {
  axes: string[];
  across: number;
  up: number;
  view: [number, number][];
}
/** A curved bound: [I; Δ R]ᵀ Θ [I; Δ R] ⪯ I, where the rows of Δ are the entries of p - curved_from. */
export interface Curve {
  theta: number[][];
  root: number[][];
}
/** The points p with rows (p - at) ≤ margins within all curves; or an ellipsoid, of which the shadow is seen. */
export interface Region {
  legend?: string;
  colour: string;
  at: number[];
  rows?: number[][];
  margins?: number[];
  curves?: Curve[];
  curved_from?: number[];
  ellipsoid?: number[][];
}
/** A box in all axes of a plane; a side at infinity is null. */
export interface Box extends LineStyle {
  legend?: string;
  low: Numbers;
  high: Numbers;
}
/** Where something is believed to be: all p with (p - at)ᵀ spread⁻¹ (p - at) ≤ 1, of which the shadow is seen. */
export interface Ellipse extends LineStyle {
  name: string;
  legend?: string;
  /** How much of the colour is inside. */
  fill: number;
  at: number[];
  spread: number[][];
}
export interface Cells {
  rows: string[];
  columns: string[];
  values: Numbers[];
  below: string;
  above: string;
}
export type Scale = "linear" | "log_y" | "log_xy";
/** All that a chart is; lifeguard/report/chart.hpp says more. */
export interface ChartDescription {
  name: string;
  /** The method whose run it shows, and the task; left out: all of them. */
  run?: string;
  task?: number;
  title: string;
  note: string;
  /** What is counted across; of a plane: what rows are counted in, if not rounds. */
  x?: string;
  y?: string;
  scales: Scale[];
  tables?: Table[];
  rules?: Rule[];
  lines?: Line[];
  marks?: Mark[];
  region?: Region;
  ellipses?: Ellipse[];
  boxes?: Box[];
  plane?: Plane;
  cells?: Cells;
}

export interface Signal {
  name: string;
  /** "1" for a pure number, "" if it is not known. */
  unit: string;
}
export interface Task {
  name: string;
  /** If it is another one than the run's. */
  drawing?: string;
  policy: number[];
  /** [start][frame][signal], relative to the goal. */
  first_flights?: number[][][];
  last_flights?: number[][][];
}
export interface Method {
  name: string;
  seeds: number;
  first_cost?: number;
  last_cost?: number;
  last_cost_low?: number | null;
  last_cost_high?: number | null;
}
export interface RunEntry {
  file: string;
  method: string;
  seed: number;
  version: string;
  finished: boolean;
  rounds_done: number;
  rounds_planned: number;
  unsafe_policies: number;
  policies: number;
  first_cost?: number;
  last_cost?: number;
  least_margin?: number;
  worst_task?: number;
  worst_row?: string;
  worst_row_meaning?: string;
  rollout_seconds: number;
  learn_seconds: number;
}
/** A run with details: the first seed of its method. */
export interface Run extends RunEntry {
  system: string;
  /** The name of the drawing of the system; one that is not known is drawn as signals over time. */
  drawing: string;
  /** What a frame of a flight holds. */
  signals: Signal[];
  parameters: string[];
  frame_seconds: number;
  settings: Record<string, string>;
  tasks: Task[];
}
export interface Experiment {
  name: string;
  family: string;
  methods: Method[];
  runs: (RunEntry | Run)[];
  charts: ChartDescription[];
}
export interface Claim {
  claim: string;
  paper: string;
  measured: string;
  verdict: string;
}
export interface Report {
  version: string;
  /** Only what came after this round. */
  since?: number;
  palette: Palette;
  experiments: Experiment[];
  claims?: Claim[];
}

export const hasDetails = (run: RunEntry | Run): run is Run => "tasks" in run;

const kMaxPoints = 1200;

/** `known`, brought up to date by what the server says came after it: new rows are added, the rest is replaced. */
export function merge(known: Report, news: Report): Report {
  return { ...known, ...news, experiments: news.experiments.map((one, i) => mergeExperiment(known.experiments[i], one)) };
}

function mergeExperiment(known: Experiment | undefined, news: Experiment): Experiment {
  if (!known) return news;
  const sameChart = (a: ChartDescription, b: ChartDescription) => a.name === b.name && a.run === b.run && a.task === b.task;
  return {
    ...news,
    runs: news.runs.map((run, i) => mergeRun(known.runs[i], run)),
    charts: news.charts.map((chart) => mergeChart(known.charts.find((other) => sameChart(other, chart)), chart)),
  };
}

function mergeRun(known: RunEntry | Run | undefined, news: RunEntry | Run): RunEntry | Run {
  if (!known || !hasDetails(known) || !hasDetails(news)) return news;
  return { ...known, ...news, tasks: news.tasks.map((task, t) => ({ ...known.tasks[t], ...task })) };
}

function mergeChart(known: ChartDescription | undefined, news: ChartDescription): ChartDescription {
  if (!known) return news;
  return {
    ...news,
    ...(news.tables && { tables: news.tables.map((table, i) => mergeTable(known.tables?.[i], table)) }),
    ...(news.plane && { plane: { ...known.plane, ...news.plane } }),
    ...(news.region && { region: { ...known.region, ...news.region } }),
  };
}

/** Rows that come after the known ones are added to them; a table that begins earlier replaces them. */
function mergeTable(known: Table | undefined, news: Table): Table {
  const last = known?.rounds.at(-1);
  if (!known || last === undefined || (news.rounds.length > 0 && news.rounds[0] <= last)) return news;
  return { ...news, rounds: thin([...known.rounds, ...news.rounds]), values: thin([...known.values, ...news.values]) };
}

/** Half the rows of a table that has become long; the last one stays. */
function thin<T>(rows: T[]): T[] {
  if (rows.length <= kMaxPoints) return rows;
  return rows.filter((_, i) => (rows.length - 1 - i) % 2 === 0);
}
