// `lifeguard serve`: what it refuses, and a page that follows a run while it goes on.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chartOf, command, configuration, launch, lifeguard, open, reportOf, rowsOfTables, serve, temporary } from "./support.mjs";

const folder = temporary();
const runs = join(folder, "runs");
let browser;

before(async () => {
  mkdirSync(runs);
  const config = configuration(folder);
  lifeguard("run", config, "-o", join(runs, "a.run"), "--quiet");
  lifeguard("run", config, "-o", join(runs, "b.run"), "--quiet", "--method", "pg");
  lifeguard("run", config, "-o", join(folder, "outside.run"), "--quiet");
  symlinkSync(join(folder, "outside.run"), join(runs, "link.run"));
  writeFileSync(join(runs, "text.run"), "not a run");
  browser = await launch();
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

/** A request whose path is sent as it is; fetch would tidy it up. */
const ask = (address, path, options = {}) =>
  new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port: new URL(address).port, path, ...options }, (response) => {
      let body = "";
      response.on("data", (data) => (body += data));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    request.on("error", reject);
    request.end();
  });

test("answers what it should and nothing else", async () => {
  const { address, stop } = await serve([runs]);
  const status = async (path, options) => (await ask(address, path, options)).status;
  const list = JSON.parse((await ask(address, "/api/runs")).body).runs;
  assert.deepEqual(list.map((r) => r.name), ["a.run", "b.run", "text.run"]);
  // What cannot be read costs nothing but its own row.
  assert.deepEqual(list.map((r) => r.problem === undefined), [true, true, false]);
  assert.match(list[2].problem, /is not a run file/);
  assert.equal(await status("/api/report?run=text.run"), 422);
  assert.deepEqual(JSON.parse((await ask(address, "/api/report?run=a.run")).body), reportOf(join(runs, "a.run")));
  assert.equal(JSON.parse((await ask(address, "/api/report")).body).experiments[0].methods.length, 2);
  // From where a report ended one can go on; from any other round there is the whole.
  const later = JSON.parse((await ask(address, "/api/report?run=a.run&since=30")).body);
  assert.equal(later.since, 30);
  assert.deepEqual(chartOf(later, "cost").tables[0].rounds, []);
  assert.equal(chartOf(later, "safe-region", "learner", 0).region.rows, undefined);
  assert.deepEqual(JSON.parse((await ask(address, "/api/report?run=a.run&since=20")).body), reportOf(join(runs, "a.run")));

  for (const path of ["/../outside.run", "/..%2foutside.run", "/runs/a.run", "/a.run", "/api/report?run=none.run", "/api/report?run=link.run", "/api/report?run=.."]) {
    assert.equal(await status(path), 404, path);
  }
  for (const path of ["/api/report?run=../outside.run", "/api/report?run=..%2Foutside.run", "/api/report?run=%2Fetc%2Fpasswd", "/api/report?run=a.run%00", "/api/report?run=a.run&since=x", "/api/report?run=a.run&since=1e3", "/api/report?run="]) {
    assert.equal(await status(path), 400, path);
  }
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
    const answer = await ask(address, "/api/runs", { method });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.allow, "GET, HEAD");
  }
  assert.equal(await status("/", { method: "HEAD" }), 200);
  assert.equal(await status("/", { headers: { Host: "evil.example" } }), 403);
  assert.equal(await stop(), 0);
});

test("another address needs a token, and the token is asked for", async () => {
  assert.throws(() => lifeguard("serve", runs, "--address", "0.0.0.0"), { status: 2 });
  assert.throws(() => lifeguard("serve", runs, "--token", "short"), { status: 2 });
  assert.throws(() => lifeguard("serve", join(folder, "nowhere")), { status: 2 });
  const token = "0123456789abcdef";
  const { address, stop } = await serve([runs, "--address", "0.0.0.0"], { LIFEGUARD_TOKEN: token });
  const status = async (path, headers = {}) => (await ask(address, path, { headers })).status;
  assert.equal(await status("/api/runs"), 401);
  assert.equal(await status("/"), 401);
  assert.equal(await status(`/api/runs?token=${token}x`), 401);
  assert.equal(await status(`/api/runs?token=${token.slice(1)}`), 401);
  assert.equal(await status(`/api/runs?token=${token}`), 200);
  assert.equal(await status("/api/runs", { Authorization: `Bearer ${token}` }), 200);
  const page = await open(browser, `${address.replace("0.0.0.0", "127.0.0.1")}?token=${token}`);
  assert.deepEqual(page.errors, []);
  await page.close();
  await stop();
});

test("the page of a folder lists its runs and shows them together", async () => {
  const { address, stop } = await serve([runs]);
  const page = await open(browser, address);
  assert.deepEqual(await page.locator("nav a").allInnerTexts(), ["all together", "a", "b", "text (cannot be read)"]);
  await page.getByRole("link", { name: "all together" }).click();
  await page.waitForFunction(() => window.lifeguard?.charts.cost);
  const names = new Set((await page.evaluate(() => window.lifeguard.charts.cost.rows)).map((row) => row[0]));
  assert.deepEqual([...names], ["learner", "pg"]);
  assert.deepEqual(page.errors, []);
  await page.close();
  await stop();
});

/** How many rounds of a run are stored; 0 also of a file that is not there yet. */
function storedRounds(path) {
  try {
    return JSON.parse(lifeguard("info", "--json", path)).rounds;
  } catch {
    return 0;
  }
}

test("the page follows a run while it goes on", async (t) => {
  const path = join(folder, "live.run");
  const run = spawn(command, ["run", configuration(folder, { rounds: 80000 }), "-o", path, "--quiet"], { stdio: "ignore" });
  const ended = new Promise((resolve) => run.on("exit", resolve));
  t.after(() => run.kill("SIGKILL"));
  // Once rounds are stored the run waits until the page shows them, however long that takes.
  while (storedRounds(path) === 0) {
    assert.equal(run.exitCode, null, "the run was over before anything was stored");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  run.kill("SIGSTOP");
  const { address, stop } = await serve([path]);
  const page = await open(browser, address);
  const rounds = () => page.evaluate(() => window.lifeguard.charts.cost.rows.map((row) => row[1]));
  const first = await rounds();
  assert.ok(first.at(-1) < 80000, "the run was over before the page was open");
  run.kill("SIGCONT");
  await page.waitForFunction((last) => window.lifeguard.charts.cost.rows.at(-1)[1] > last, first.at(-1));
  assert.equal(await ended, 0);
  await page.waitForFunction(() => document.querySelector("[role=status]").textContent === "round 80000 of 80000, finished");
  // Piece by piece it became the same as the report of the finished run.
  const report = reportOf(path);
  const shown = (name) => page.evaluate((n) => window.lifeguard.charts[n].rows, name);
  for (const [name, run] of [["cost"], ["regret-cost"], ["margins", "learner"], ["spectrum", "learner"]]) {
    // Both are thinned, each in its way, except where there are few points anyway.
    const expected = rowsOfTables(chartOf(report, name, run));
    if (expected.length < 600) assert.deepEqual(await shown(name), expected, name);
    assert.deepEqual((await shown(name)).at(-1), expected.at(-1), name);
  }
  const known = await page.evaluate(() => window.lifeguard.page.report);
  const [live, whole] = [known, report].map((r) => chartOf(r, "safe-region", "learner", 1));
  assert.deepEqual({ ...live, tables: [] }, { ...whole, tables: [] });
  assert.equal(live.tables[0].rounds.at(-1), whole.tables[0].rounds.at(-1));
  assert.ok(page.requests.filter((url) => /since=\d/.test(url)).length >= 1);
  assert.deepEqual(page.errors, []);
  await page.close();
  await stop();
});
