// What the tests share: the command, small real runs, and a browser.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const command = process.env.LIFEGUARD ?? join(root, "build/release/cli/lifeguard");
const chromiumPath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const lifeguard = (...words) =>
  execFileSync(command, words, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });

export const reportOf = (...runs) => JSON.parse(lifeguard("report", ...runs, "--json"));

/** The description of a chart in a report. */
export const chartOf = (report, name, run, task) =>
  report.experiments[0].charts.find((chart) => chart.name === name && chart.run === run && chart.task === task);

/** What the page shows as numbers of a chart over rounds. */
export const rowsOfTables = (chart) =>
  chart.tables
    .filter((table) => table.heads)
    .flatMap((table) => table.rounds.map((round, i) => [...(table.name ? [table.name] : []), round, ...table.values[i]]));

export const temporary = () => mkdtempSync(join(tmpdir(), "lifeguard-web-"));

/** A configuration of a small experiment, written to a file. */
export function configuration(folder, { name = "small", base = "mass-spring", rounds = 30, share = 0 } = {}) {
  const path = join(folder, `config-${base}.toml`);
  writeFileSync(
    path,
    `[experiment]\nname = '''${name}'''\nrounds = ${rounds}\ntasks = 3\ntrajectories = 10\nsteps = 60\n` +
      `start_lqr_share = ${share}\n[evaluation]\nstart_states = 5\n` +
      `[family]\nbase = "${base}"\n[safe_set.lqr_box]\nreach = 0.5\n`,
  );
  return path;
}

/** Cart-poles of which a learner believes something. */
export function believingConfiguration(folder) {
  const path = join(folder, "config-believing.toml");
  writeFileSync(
    path,
    `[experiment]\nname = "believing"\nrounds = 40\ntasks = 4\ntrajectories = 20\n[evaluation]\nstart_states = 5\n` +
      `[learner]\nupdate = "empirical Bayes"\n[projection]\np = 1e-6\n[family]\nbase = "cart-pole"\n`,
  );
  return path;
}

/** Cart-poles that are guaranteed not to fall. */
export function closedLoopConfiguration(folder) {
  const path = join(folder, "config-closed-loop.toml");
  writeFileSync(
    path,
    `[experiment]\nname = "poles"\nrounds = 12\ntasks = 3\ntrajectories = 20\n[evaluation]\nstart_states = 5\n` +
      `[family]\nbase = "cart-pole"\n[family.settings]\nstart_low = [-0.14, -0.14, -0.098, -0.14]\n` +
      `start_high = [0.14, 0.14, 0.098, 0.14]\nsigma = 0.06\nnoise_limit = 0.1\n` +
      `[safe_set.closed_loop]\ntolerance = 0.1\nstate_limits = [3.0, inf, 0.6, 4.0]\nroom = "nominal"\n`,
  );
  return path;
}

export function launch() {
  const args = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
  if (process.getuid() === 0) args.push("--no-sandbox");
  return chromium.launch({ executablePath: chromiumPath, args });
}

/** A page that fails the test on errors in it. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  // Tests wait for what they need, also on a busy computer.
  page.setDefaultTimeout(300000);
  page.setDefaultNavigationTimeout(300000);
  page.errors = [];
  page.requests = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") page.errors.push(message.text());
  });
  page.on("request", (request) => page.requests.push(request.url()));
  await page.goto(address);
  await page.waitForFunction(() => window.lifeguard?.charts.cost?.plot.isConnected);
  return page;
}

/** Starts `lifeguard serve` and waits for its address. */
export async function serve(words, environment = {}) {
  const server = spawn(command, ["serve", "--port", "0", ...words], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const address = await new Promise((resolve, reject) => {
    let text = "";
    server.stdout.on("data", (data) => {
      text += data;
      if (text.includes("\n")) resolve(text.trim());
    });
    server.on("exit", (code) => reject(new Error(`serve ended with ${code}`)));
  });
  const stop = () =>
    new Promise((resolve) => {
      server.removeAllListeners("exit");
      server.on("exit", resolve);
      server.kill("SIGINT");
    });
  return { address, stop };
}
