// Keeps the page up to date from `lifeguard serve`.

import { merge, type Report } from "./data";
import { h } from "./elements";

interface RunState {
  name: string;
  /** Why its file cannot be read; then nothing else is known of it. */
  problem?: string;
  experiment: string;
  method: string;
  seed: number;
  rounds_done: number;
  rounds_planned: number;
  finished: boolean;
}

const kPollMilliseconds = 1000;
const kAll = "*";

function api(path: string): Promise<Response> {
  const token = new URLSearchParams(location.search).get("token");
  return fetch(path, token ? { headers: { Authorization: `Bearer ${token}` } } : {});
}

/** The address of this page for another run. */
function pageOf(run: string): string {
  const query = new URLSearchParams(location.search);
  query.set("run", run);
  return `?${query}`;
}

export function startLive(
  folder: { name: string },
  root: HTMLElement,
  show: (report: Report) => void,
  say: (text: string) => void,
): void {
  const list = h("nav", { class: "runs", "aria-label": "Runs" });
  root.querySelector("header")!.append(list);
  let report: Report | null = null;
  let tag = "";
  let chosen = new URLSearchParams(location.search).get("run");

  const listRuns = async (): Promise<RunState[]> => {
    const answer = await api("api/runs");
    if (!answer.ok) throw new Error(await answer.text());
    const { runs } = (await answer.json()) as { runs: RunState[] };
    chosen ??= (runs.find((run) => !run.problem) ?? runs[0])?.name ?? null;
    if (runs.length > 1) {
      const link = (name: string, text: string) =>
        h("a", { href: pageOf(name), "aria-current": name === chosen ? "page" : "false" }, text);
      const state = (run: RunState) =>
        run.problem ? " (cannot be read)" : run.finished ? "" : ` (${run.rounds_done} of ${run.rounds_planned})`;
      const links = runs.map((run) => link(run.name, run.name.replace(/\.run$/, "") + state(run)));
      const focused = document.activeElement?.textContent;
      list.replaceChildren(link(kAll, "all together"), ...links);
      if (focused) links.find((a) => a.textContent === focused)?.focus();
    }
    return runs;
  };

  const poll = async (): Promise<void> => {
    const runs = await listRuns();
    if (chosen === null) {
      say(`No runs in ${folder.name} yet.`);
      return;
    }
    const state = runs.find((run) => run.name === chosen);
    if (state?.problem) {
      say(state.problem);
      return;
    }
    const readable = runs.filter((run) => !run.problem);
    if (readable.length === 0) {
      say(`No run in ${folder.name} can be read.`);
      return;
    }
    // What changes is where the runs are; all together have no common round to go on from.
    const now = state ? `${state.rounds_done} ${state.finished}` : readable.map((r) => r.rounds_done).join();
    if (now !== tag) {
      const since = state && report ? report.experiments[0].runs[0].rounds_done : -1;
      const answer = await api(chosen === kAll ? "api/report" : `api/report?run=${encodeURIComponent(chosen)}&since=${since}`);
      if (!answer.ok) throw new Error(await answer.text());
      const news = (await answer.json()) as Report;
      report = report && news.since !== undefined ? merge(report, news) : news;
      tag = now;
      show(report);
    }
    const running = state ? !state.finished : readable.some((run) => !run.finished);
    const round = state ? `round ${state.rounds_done} of ${state.rounds_planned}` : `${readable.length} runs`;
    say(`${round}, ${running ? "running" : "finished"}`);
  };

  const loop = async (): Promise<void> => {
    try {
      if (!document.hidden) await poll();
    } catch (error) {
      say(`No answer from lifeguard serve: ${error instanceof Error ? error.message : error}`);
    }
    setTimeout(loop, kPollMilliseconds);
  };
  void loop();
}
