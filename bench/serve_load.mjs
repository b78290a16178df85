// How much a run is slowed by people who look at it: node bench/serve_load.mjs [PRESET]
// The same run is made alone and with 100 clients that poll `lifeguard serve` once a second, as the
// page does; in turn, twice. The clients stand for other computers, so they are a process that yields
// to the run.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const command = join(root, "build", process.argv[2] ?? "release", "cli/lifeguard");
const clients = Number(process.env.CLIENTS ?? 100);
const rounds = Number(process.env.ROUNDS ?? 20000);
const folder = process.argv[2] === "--clients" ? "" : mkdtempSync(join(tmpdir(), "lifeguard-load-"));
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Plays the run; ends with its seconds and its processor seconds. */
function play(path) {
  const script = `TIMEFORMAT="%R %U %S"; time "$@" >/dev/null`;
  const words = ["run", join(root, "configs/examples/safe-quadrotor.toml"), "-o", path, "--quiet", "--set", `experiment.rounds=${rounds}`];
  const child = spawn("bash", ["-c", script, "bash", command, ...words], { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  child.stderr.on("data", (data) => (text += data));
  return new Promise((resolve, reject) =>
    child.on("exit", (code) => {
      const [real, user, system] = text.trim().split(" ").map(Number);
      if (code === 0) resolve({ seconds: real, processor: user + system });
      else reject(new Error(text));
    }),
  );
}

function get(url) {
  return new Promise((resolve, reject) => {
    http
      .get(url, { agent: false }, (response) => {
        let text = "";
        response.on("data", (data) => (text += data));
        response.on("end", () => (response.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(`${response.statusCode}`))));
      })
      .on("error", reject);
  });
}

/** One page that is open: the list once a second, and what is new. */
async function look(address, load) {
  let since = -1;
  await wait(1000 * Math.random());
  while (!load.over) {
    const begin = performance.now();
    try {
      const { runs } = await get(`${address}api/runs`);
      load.requests += 1;
      if (runs[0] && runs[0].rounds_done !== since) {
        const report = await get(`${address}api/report?run=${runs[0].name}&since=${since}`);
        since = report.experiments[0].runs[0].rounds_done;
        load.requests += 1;
      }
      load.times.push(performance.now() - begin);
    } catch (error) {
      load.errors.push(error.message);
    }
    await wait(1000);
  }
}

/** The clients' own process: they look until its input ends, then it says how it went. */
async function clientsMain(address) {
  const load = { over: false, requests: 0, errors: [], times: [] };
  const looking = Array.from({ length: clients }, () => look(address, load));
  await new Promise((resolve) => process.stdin.on("end", resolve).resume());
  load.over = true;
  await Promise.all(looking);
  console.log(JSON.stringify(load));
}

const output = (child) =>
  new Promise((resolve) => {
    let text = "";
    child.stdout.on("data", (data) => (text += data));
    child.on("exit", () => resolve(text));
  });

async function playWatched(path) {
  const running = play(path);
  for (let there = false; !there; ) {
    await wait(20);
    try {
      execFileSync(command, ["info", path], { stdio: "ignore" });
      there = true;
    } catch {
      // the run has not made its file yet
    }
  }
  const server = spawn(command, ["serve", path, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
  const self = fileURLToPath(import.meta.url);
  const watchers = spawn("nice", ["-n", "10", process.execPath, self, "--clients", address], { stdio: ["pipe", "pipe", "inherit"] });
  const said = output(watchers);
  const result = await running;
  watchers.stdin.end();
  const load = JSON.parse(await said);
  server.kill("SIGINT");
  return { ...result, load };
}

async function main() {
  for (const pair of [1, 2]) {
    const alone = await play(join(folder, `alone-${pair}.run`));
    const watched = await playWatched(join(folder, `watched-${pair}.run`));
    const { load } = watched;
    const times = load.times.sort((a, b) => a - b);
    const at = (share) => times[Math.floor(share * (times.length - 1))].toFixed(0);
    const more = (key) => `${(100 * (watched[key] / alone[key] - 1)).toFixed(1)} %`;
    console.log(`${rounds} rounds alone: ${alone.seconds.toFixed(1)} s, ${alone.processor.toFixed(1)} s of processor time`);
    console.log(`with ${clients} clients: ${watched.seconds.toFixed(1)} s (${more("seconds")} more), ${watched.processor.toFixed(1)} s of processor time (${more("processor")} more)`);
    console.log(`  ${load.requests} requests, ${load.errors.length} errors ${[...new Set(load.errors)].join(", ")}; an update took ${at(0.5)} ms (median), ${at(0.99)} ms (99 %)`);
  }
}

if (process.argv[2] === "--clients") {
  await clientsMain(process.argv[3]);
} else {
  try {
    await main();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
