// The report as `lifeguard report --json` prints it; docs/report.md describes it.

/** A curve: "rounds", and further arrays of the same length. */
export interface CostCurve {
  rounds: number[];
  mean: number[];
  mean_ci95: (number | null)[];
}
export interface RegretCurve {
  rounds: number[];
  surrogate: (number | null)[];
  surrogate_ci95: (number | null)[];
  true_cost: (number | null)[];
  true_cost_ci95: (number | null)[];
}
export interface VectorCurve {
  rounds: number[];
  values: number[][];
}
export interface SafeSet {
  names: string[];
  coefficients: number[][];
  limits: number[];
  slack_limit: number | null;
}
export interface Task {
  name: string;
  safe_set?: SafeSet;
  lqr?: number[];
  policy: number[];
  path: VectorCurve;
  /** [start][frame][position], relative to the goal. */
  first_flights?: number[][][];
  last_flights?: number[][][];
}
export interface Method {
  name: string;
  seeds: number;
  cost: CostCurve;
  regret?: RegretCurve;
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
  rollout_seconds: number;
  learn_seconds: number;
}
/** A run with details: the first seed of its method. */
export interface Run extends RunEntry {
  system: string;
  parameters: string[];
  frame_seconds: number;
  settings: Record<string, string>;
  tasks: Task[];
  margins?: VectorCurve;
  spectrum?: VectorCurve & { p: number; q: number };
  coefficients: {
    of: "coefficients" | "policies";
    tasks: number[][];
    principal: { shares: number[]; places: number[][] };
  };
}
export interface Experiment {
  name: string;
  family: string;
  methods: Method[];
  runs: (RunEntry | Run)[];
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
  experiments: Experiment[];
  claims?: Claim[];
}

export const hasDetails = (run: RunEntry | Run): run is Run => "tasks" in run;

const kMaxPoints = 1200;
type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `known`, brought up to date by what the server says came after it. */
export function merge(known: unknown, news: unknown): unknown {
  if (Array.isArray(known) && Array.isArray(news) && isObject(news[0])) {
    return news.map((item, i) => (i < known.length ? merge(known[i], item) : item));
  }
  if (!isObject(known) || !isObject(news)) return news;
  const result: Json = { ...known };
  const isCurve = goesOn(known.rounds, news.rounds);
  for (const [key, value] of Object.entries(news)) {
    result[key] =
      isCurve && Array.isArray(value)
        ? thin([...((known[key] as unknown[] | undefined) ?? []), ...value])
        : merge(known[key], value);
  }
  return result;
}

/** Whether a curve goes on after the known one; a curve that begins earlier replaces it. */
function goesOn(known: unknown, news: unknown): boolean {
  if (!Array.isArray(known) || !Array.isArray(news)) return false;
  return known.length === 0 || news.length === 0 || news[0] > known[known.length - 1];
}

/** Half the points of a curve that has become long; the last one stays. */
function thin(values: unknown[]): unknown[] {
  if (values.length <= kMaxPoints) return values;
  return values.filter((_, i) => (values.length - 1 - i) % 2 === 0);
}
