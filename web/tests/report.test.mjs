// The report of small real runs: every chart is there, and shows what `report --json` says.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { configuration, launch, lifeguard, open, reportOf, temporary } from "./support.mjs";

const folder = temporary();
const file = (name) => join(folder, name);
const url = (name) => `file://${file(name)}`;
const runs = [];
let browser, report, run;

before(async () => {
  lifeguard("compare", configuration(folder), "--seeds", "2", "--out", folder, "--quiet", "--set", 'experiment.methods=["learner","pg"]');
  for (const method of ["learner", "pg"]) for (const seed of [0, 1]) runs.push(file(`${method}-${seed}.run`));
  lifeguard("report", ...runs, "-o", file("report.html"));
  report = reportOf(...runs);
  run = report.experiments[0].runs[0];
  browser = await launch();
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const rowsOf = (page, name) => page.evaluate((n) => window.lifeguard.charts[n].rows, name);

/** The points of a chart's drawn line, back in the numbers of its axes. */
const drawnLine = (page, name, stroke) =>
  page.evaluate(
    ([chart, colour]) => {
      const plot = window.lifeguard.charts[chart].plot;
      const [x, y] = [plot.scale("x"), plot.scale("y")];
      const lines = [...plot.querySelectorAll('g[aria-label="line"]')].filter((g) => g.getAttribute("stroke") === colour);
      const numbers = lines[0].querySelector("path").getAttribute("d").match(/-?[\d.]+(e-?\d+)?/g).map(Number);
      const points = [];
      for (let i = 0; i < numbers.length; i += 2) points.push([x.invert(numbers[i]), y.invert(numbers[i + 1])]);
      return points;
    },
    [name, stroke],
  );

function assertClose(found, expected, scale) {
  assert.equal(found.length, expected.length);
  found.forEach((point, i) => point.forEach((value, k) => assert.ok(Math.abs(value - expected[i][k]) < 2e-3 * scale[k], `${i}: ${point} is not ${expected[i]}`)));
}

test("the numbers of every chart are those of the report", async () => {
  const page = await open(browser, url("report.html"));
  const methods = report.experiments[0].methods;
  assert.deepEqual(
    await rowsOf(page, "cost"),
    methods.flatMap((m) => m.cost.rounds.map((round, i) => [m.name, round, m.cost.mean[i], m.cost.mean_ci95[i]])),
  );
  assert.ok(methods[0].cost.mean_ci95.every((half) => half >= 0));
  assert.deepEqual(
    await rowsOf(page, "regret"),
    methods.flatMap((m) => m.regret.rounds.map((round, i) => [m.name, round, m.regret.surrogate[i], m.regret.surrogate_ci95[i]])),
  );
  assert.deepEqual(await rowsOf(page, "margins"), run.margins.rounds.map((round, i) => [round, ...run.margins.values[i]]));
  assert.deepEqual(await rowsOf(page, "spectrum"), run.spectrum.rounds.map((round, i) => [round, ...run.spectrum.values[i]]));
  assert.deepEqual(await rowsOf(page, "region"), run.tasks[0].path.rounds.map((round, i) => [round, ...run.tasks[0].path.values[i]]));
  assert.deepEqual(await rowsOf(page, "coefficients"), run.tasks.map((task, t) => [task.name, ...run.coefficients.tasks[t]]));
  assert.deepEqual(await rowsOf(page, "resemblance"), run.tasks.map((task, t) => [task.name, ...run.coefficients.principal.places[t]]));
  assert.match(await page.textContent("[data-chart=settings]"), /learner, seed 0, lifeguard \d/);
  const cells = await page.locator("[data-chart=methods] tbody tr").allInnerTexts();
  assert.equal(cells.length, 2);
  assert.match(cells[0], /^learner\s+0, 1\s+30 of 30/);
  assert.equal(await page.locator("[data-chart=regret]").isVisible(), report.experiments[0].methods.some((m) => m.regret));
  assert.deepEqual(page.errors, []);
  assert.deepEqual(page.requests.filter((address) => !address.startsWith("file:") && !address.startsWith("data:")), []);
});

test("the lines are drawn where the numbers say", async () => {
  const page = await open(browser, url("report.html"));
  const { rounds, mean } = report.experiments[0].methods[0].cost;
  assertClose(await drawnLine(page, "cost", "var(--c1)"), rounds.map((round, i) => [round, mean[i]]), [30, Math.max(...mean)]);
  const last = run.margins.values.at(-1);
  const worst = last.indexOf(Math.min(...last));
  const largest = Math.max(...run.margins.values.flat());
  assertClose(await drawnLine(page, "margins", "var(--c2)"), run.margins.rounds.map((round, i) => [round, run.margins.values[i][worst]]), [30, largest]);
  const intervals = await page.locator('[data-chart=cost] g[aria-label="area"] path').count();
  assert.equal(intervals, 2);
});

test("the polygon is the safe set, and the path stays inside", async () => {
  const page = await open(browser, url("report.html"));
  for (const t of [0, 2]) {
    await page.locator(".toolbar").getByLabel("Task").selectOption({ index: t });
    const polygon = JSON.parse(await page.getAttribute("[data-chart=region]", "data-polygon"));
    assert.equal(polygon.length, 4); // limits on two gains are a rectangle
    const { coefficients, limits } = run.tasks[t].safe_set;
    const slack = (point) => coefficients.map((row, r) => limits[r] - row[0] * point[0] - row[1] * point[1]);
    for (const corner of polygon) {
      const slacks = slack(corner).map(Math.abs).sort((a, b) => a - b);
      assert.ok(slacks[1] < 1e-9, `${corner} is not a corner`);
    }
    for (const alpha of run.tasks[t].path.values) assert.ok(Math.min(...slack(alpha)) > -1e-4);
  }
});

test("another run, task or scale is chosen with the keyboard", async () => {
  const page = await open(browser, url("report.html"));
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "SELECT");
  await page.keyboard.press("ArrowDown");
  const pg = report.experiments[0].runs.find((r) => r.method === "pg" && r.tasks);
  assert.deepEqual(await rowsOf(page, "margins"), pg.margins.rounds.map((round, i) => [round, ...pg.margins.values[i]]));
  assert.equal(await page.locator("[data-chart=spectrum]").isVisible(), false);
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  assert.deepEqual(await rowsOf(page, "region"), pg.tasks[1].path.rounds.map((round, i) => [round, ...pg.tasks[1].path.values[i]]));
  const log = page.locator("[data-chart=cost]").getByLabel("logarithmic");
  await log.focus();
  await page.keyboard.press("Space");
  assert.equal(await page.evaluate(() => window.lifeguard.charts.cost.plot.scale("y").type), "log");
  const numbers = page.locator("[data-chart=cost] summary");
  await numbers.focus();
  await page.keyboard.press("Enter");
  const first = report.experiments[0].methods[0].cost.mean[0];
  assert.ok((await page.locator("[data-chart=cost] tbody tr").first().innerText()).includes(String(first)));
});

test("regret has both kinds of axes and √R beside it", async () => {
  // The rest of the page is that of the real runs.
  const html = readFileSync(file("report.html"), "utf8");
  const data = structuredClone(report);
  const rounds = Array.from({ length: 20 }, (_, i) => i + 1);
  const none = rounds.map(() => null);
  for (const method of data.experiments[0].methods) delete method.regret;
  data.experiments[0].methods[0].regret = {
    rounds, surrogate: rounds.map((r) => 3 * r ** 0.5), surrogate_ci95: none, true_cost: rounds.map((r) => r ** 0.25), true_cost_ci95: none,
  };
  const text = JSON.stringify(data).replaceAll("<", "\\u003c");
  writeFileSync(file("regret.html"), html.replace(/(id="report-data">)[^<]*/, (_, start) => start + text));
  const page = await open(browser, url("regret.html"));
  assert.deepEqual((await rowsOf(page, "regret"))[3], ["learner", 4, 6, null]);
  assert.equal(await page.evaluate(() => window.lifeguard.charts["regret-log"].plot.scale("x").type), "log");
  // A regret that is 3 √R lies on the line beside it.
  const expected = rounds.map((r) => [r, 3 * Math.sqrt(r)]);
  assertClose(await drawnLine(page, "regret", "var(--c1)"), expected, [20, 14]);
  assertClose(await drawnLine(page, "regret", "currentColor"), expected, [20, 14]);
  await page.getByLabel("regret of").selectOption("true cost");
  assert.deepEqual((await rowsOf(page, "regret"))[15], ["learner", 16, 2, null]);
  assert.deepEqual(page.errors, []);
});

for (const [base, share] of [["mass-spring", 0], ["cart-pole", 0.15], ["quadrotor", 0.15]]) {
  test(`the ${base} moves as its flights say`, async () => {
    const path = file(`${base}.run`);
    lifeguard("run", configuration(folder, { base, rounds: 6, share }), "-o", path, "--quiet");
    lifeguard("report", path, "-o", file(`${base}.html`));
    const task = reportOf(path).experiments[0].runs[0].tasks[1];
    const page = await open(browser, url(`${base}.html`), { reducedMotion: "reduce" });
    await page.locator(".toolbar").getByLabel("Task").selectOption({ index: 1 });
    const card = page.locator("[data-chart=animation]");
    await card.scrollIntoViewIfNeeded();
    assert.equal(await card.locator("button").innerText(), "Play");
    await card.getByLabel("start").selectOption("2");
    const frame = Math.min(task.first_flights[1].length, task.last_flights[1].length) - 1;
    await card.getByLabel("time").fill(String(frame));
    const shown = (await card.locator(".readout").allInnerTexts()).map((text) => text.match(/-?\d+\.\d+/g).map(Number));
    [task.first_flights, task.last_flights].forEach((flights, k) =>
      flights[1][frame].forEach((value, i) => assert.ok(Math.abs(shown[k][i] - value) < 6e-4)),
    );
    assert.equal(await card.locator(".scene").count(), 2);
    await card.locator("button").press("Enter");
    await page.waitForFunction((last) => document.querySelector("[aria-label=time]").value !== String(last), frame);
    assert.deepEqual(page.errors, []);
  });
}

test("fits a phone and follows dark mode", async () => {
  const contrast = (a, b) => {
    const light = (c) => {
      const [r, g, bl] = c.match(/\d+/g).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * bl + 0.05;
    };
    return Math.max(light(a) / light(b), light(b) / light(a));
  };
  const grounds = new Set();
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [320, 390]) {
      const page = await open(browser, url("report.html"), { viewport: { width, height: 800 }, colorScheme });
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      const [text, card] = await page.evaluate(() => [
        getComputedStyle(document.querySelector("figcaption")).color,
        getComputedStyle(document.querySelector(".card")).backgroundColor,
      ]);
      assert.ok(contrast(text, card) >= 4.5, `${text} on ${card}`);
      grounds.add(card);
    }
  }
  assert.equal(grounds.size, 2);
});

test("claims are shown, and names are text, not HTML", async () => {
  const claims = [{ claim: "regret", paper: "O(√R)", measured: "R^0.4", verdict: "<b>holds</b>" }];
  writeFileSync(file("claims.json"), JSON.stringify(claims));
  const name = "</script><script>window.broken=1</script>";
  const path = file("named.run");
  lifeguard("run", configuration(folder, { name, rounds: 3 }), "-o", path, "--quiet");
  lifeguard("report", path, "--claims", file("claims.json"), "-o", file("named.html"));
  const page = await open(browser, url("named.html"));
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.innerText("h1"), name);
  assert.deepEqual(await page.locator("[data-chart=claims] tbody td").allInnerTexts(), Object.values(claims[0]));
  writeFileSync(file("claims.json"), "{}");
  assert.throws(() => lifeguard("report", path, "--claims", file("claims.json")), { status: 2 });
});

test("figures are written as SVG and PNG", () => {
  const { files } = JSON.parse(lifeguard("figures", ...runs, "-o", file("figures"), "--json"));
  for (const name of ["cost", "cost-log", "margins-learner", "spectrum-learner", "safe-region-pg", "coefficients-learner", "resemblance-pg"]) {
    const svg = file(`figures/small-${name}.svg`);
    assert.ok(files.includes(svg), name);
    assert.match(readFileSync(svg, "utf8"), /^<svg [^>]*viewBox/);
    assert.equal(readFileSync(svg.replace(".svg", ".png")).subarray(1, 4).toString(), "PNG");
  }
  // The last point of the last method's line is its last cost.
  const svg = readFileSync(file("figures/small-cost.svg"), "utf8");
  const lines = [...svg.matchAll(/<path d="([^"]*)" fill="none" stroke="#0072b2"/g)];
  const points = lines[0][1].match(/-?[\d.]+ -?[\d.]+/g);
  assert.equal(points.length, report.experiments[0].methods[0].cost.rounds.length);
  assert.ok(!existsSync(file("figures/small-regret-losses.svg")) || report.experiments[0].methods[0].regret);
});
