// The report of small real runs: every chart is there, and shows what `report --json` says.
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { believingConfiguration, chartOf, closedLoopConfiguration, configuration, launch, lifeguard, open, reportOf, rowsOfTables, temporary } from "./support.mjs";

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

test("every chart of the report is there, with its title, its meaning and its numbers", async () => {
  const page = await open(browser, url("report.html"));
  const shown = report.experiments[0].charts.filter((chart) => (chart.run ?? "learner") === "learner" && (chart.task ?? 0) === 0);
  const names = await page.locator("figure[data-chart]:visible").evaluateAll((all) => all.map((figure) => figure.dataset.chart));
  assert.deepEqual(names.filter((name) => name !== "animation"), shown.map((chart) => chart.name));
  assert.ok(shown.length >= 8);
  for (const chart of shown) {
    const card = page.locator(`[data-chart=${chart.name}]`);
    assert.equal(await card.locator("h2").innerText(), chart.title);
    assert.equal(await card.locator("figcaption").textContent(), chart.note);
    const entries = [chart.region, ...(chart.ellipses ?? []), ...(chart.boxes ?? []), ...(chart.rules ?? []), ...(chart.lines ?? []), ...(chart.marks ?? [])].map((one) => one?.legend).filter(Boolean);
    if (!chart.cells) assert.deepEqual(await card.locator(".legend li").allInnerTexts(), entries);
    assert.equal(await card.getByLabel("logarithmic").isVisible(), chart.scales.length > 1);
  }
  for (const [name, run] of [["cost"], ["falls"], ["regret-losses"], ["regret-cost"], ["margins", "learner"], ["spectrum", "learner"]]) {
    const rows = rowsOfTables(chartOf(report, name, run));
    assert.ok(rows.length >= 5, name);
    assert.deepEqual(await rowsOf(page, name), rows, name);
  }
  const path = chartOf(report, "safe-region", "learner", 0).tables[0];
  assert.deepEqual(await rowsOf(page, "safe-region"), path.rounds.map((round, i) => [round, ...path.values[i]]));
  const { cells } = chartOf(report, "coefficients", "learner");
  assert.deepEqual(await rowsOf(page, "coefficients"), cells.values.map((values, t) => [run.tasks[t].name, ...values]));
  assert.deepEqual(await rowsOf(page, "resemblance"), chartOf(report, "resemblance", "learner").marks.map((mark) => [mark.name, ...mark.at]));
  assert.match(await page.textContent("[data-chart=settings]"), /learner, seed 0, lifeguard \d/);
  const lines = await page.locator("[data-chart=methods] tbody tr").allInnerTexts();
  assert.equal(lines.length, 2);
  assert.match(lines[0], /^learner\s+0, 1\s+30 of 30/);
  assert.deepEqual(page.errors, []);
  assert.deepEqual(page.requests.filter((address) => !address.startsWith("file:") && !address.startsWith("data:")), []);
});

/** The points of a line of a description over rounds. */
const pointsOf = (chart, line) => chart.tables[line.table].rounds.map((round, i) => [round, chart.tables[line.table].values[i][line.column]]);

test("the lines are drawn where the numbers say", async () => {
  const page = await open(browser, url("report.html"));
  for (const [name, run] of [["cost"], ["margins", "learner"], ["regret-cost"]]) {
    const chart = chartOf(report, name, run);
    for (const line of chart.lines.filter((one) => one.colour !== "grey" || name !== "margins")) {
      const points = pointsOf(chart, line);
      const scale = [30, Math.max(...chart.lines.flatMap((one) => pointsOf(chart, one).map((p) => Math.abs(p[1]))))];
      assertClose(await drawnLine(page, name, `var(--chart-${line.colour})`), points, scale);
    }
  }
  assert.equal(await page.locator('[data-chart=cost] g[aria-label="area"] path').count(), 2);
  // Logarithmic: the same numbers, where they are positive.
  await page.locator("[data-chart=regret-cost]").getByLabel("logarithmic").check();
  const scales = await page.evaluate(() => ["x", "y"].map((axis) => window.lifeguard.charts["regret-cost"].plot.scale(axis).type));
  assert.deepEqual(scales, ["log", "log"]);
  const chart = chartOf(report, "regret-cost");
  const points = pointsOf(chart, chart.lines[0]).filter((p) => p[1] > 0);
  assert.ok(points.length > 3);
  assertClose(await drawnLine(page, "regret-cost", `var(--chart-${chart.lines[0].colour})`), points, [1, 1]);
});

test("the page and the figures draw with the same colours and dashes", async () => {
  lifeguard("figures", ...runs, "-o", file("figures"), "--svg-only");
  const page = await open(browser, url("report.html"));
  const hex = (rgb) => "#" + rgb.match(/\d+/g).slice(0, 3).map((v) => Number(v).toString(16).padStart(2, "0")).join("");
  for (const [name, run] of [["cost"], ["regret-cost"], ["margins", "learner"], ["spectrum", "learner"], ["safe-region", "learner"]]) {
    const svg = readFileSync(file(`figures/small-${run ? `${name}-${run}` : name}.svg`), "utf8");
    // Lines have round ends; the legend repeats them, so each look counts once.
    const paths = [...svg.matchAll(/<path d="[^"]*" fill="none" stroke="([^"]*)" stroke-width="[^"]*" stroke-linecap="round"[^>]*>/g)];
    const figure = new Set(paths.map((path) => `${path[1]} ${path[0].match(/dasharray="([^"]*)"/)?.[1] ?? ""}`.trim()));
    const drawn = await page.locator(`[data-chart=${name}] .legend path[stroke-linecap=round]`).evaluateAll((all) =>
      all.map((path) => [getComputedStyle(path).stroke, path.getAttribute("stroke-dasharray") ?? ""]),
    );
    for (const [stroke, dash] of drawn) assert.ok(figure.has(`${hex(stroke)} ${dash}`.trim()), `${name}: ${hex(stroke)} ${dash} is not in ${[...figure]}`);
    assert.ok(drawn.length > 0, name);
  }
});

test("the polygon is the safe set, and the path stays inside", async () => {
  const page = await open(browser, url("report.html"));
  for (const t of [0, 2]) {
    await page.locator(".toolbar").getByLabel("Task").selectOption({ index: t });
    const polygon = await page.evaluate(() => window.lifeguard.charts["safe-region"].polygon);
    assert.equal(polygon.length, 4); // limits on two gains are a rectangle
    const { region, tables } = chartOf(report, "safe-region", "learner", t);
    const slack = (point) => region.rows.map((row, r) => region.margins[r] - row[0] * (point[0] - region.at[0]) - row[1] * (point[1] - region.at[1]));
    for (const corner of polygon) {
      const slacks = slack(corner).map(Math.abs).sort((a, b) => a - b);
      assert.ok(slacks[1] < 1e-9, `${corner} is not a corner`);
    }
    for (const alpha of tables[0].values) assert.ok(Math.min(...slack(alpha)) > -1e-4);
    // The figure of the same task has the same rectangle, in its own frame.
    lifeguard("figures", runs[0], "-o", file("figures"), "--svg-only", "--task", String(t));
    const svg = readFileSync(file("figures/small-safe-region-learner.svg"), "utf8");
    const corners = svg.match(/<path d="M([^"]*)Z" [^>]*clip-path/)[1].split("L").map((pair) => pair.split(" ").map(Number));
    const share = (values) => values.map((v) => (v - values[0]) / (Math.max(...values) - Math.min(...values)));
    for (const k of [0, 1]) {
      share(corners.map((c) => (k ? -c[k] : c[k]))).forEach((value, i) => assert.ok(Math.abs(value - share(polygon.map((p) => p[k]))[i]) < 1e-3));
    }
  }
});

test("another run, task, scale or axis is chosen with the keyboard", async () => {
  const page = await open(browser, url("report.html"));
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "SELECT");
  await page.keyboard.press("ArrowDown");
  assert.deepEqual(await rowsOf(page, "margins"), rowsOfTables(chartOf(report, "margins", "pg")));
  assert.equal(await page.locator("[data-chart=spectrum]").isVisible(), false);
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  const path = chartOf(report, "safe-region", "pg", 1).tables[0];
  assert.deepEqual(await rowsOf(page, "safe-region"), path.rounds.map((round, i) => [round, ...path.values[i]]));
  const log = page.locator("[data-chart=cost]").getByLabel("logarithmic");
  await log.focus();
  await page.keyboard.press("Space");
  assert.equal(await page.evaluate(() => window.lifeguard.charts.cost.plot.scale("y").type), "log");
  const numbers = page.locator("[data-chart=cost] summary");
  await numbers.focus();
  await page.keyboard.press("Enter");
  const first = chartOf(report, "cost").tables[0].values[0][0];
  assert.ok((await page.locator("[data-chart=cost] tbody tr").first().innerText()).includes(String(first)));
});

test("what is pointed at says what it is", async () => {
  const page = await open(browser, url("report.html"));
  for (const [name, expected] of [["cost", /round \d+: [\d.]+ \([\d.]+ to [\d.]+\)/], ["resemblance", /mass-spring \d/], ["coefficients", /mass-spring \d, entry of s \d: /]]) {
    const plot = page.locator(`[data-chart=${name}] .plot`);
    await plot.scrollIntoViewIfNeeded();
    const target = name === "coefficients" ? plot.locator('g[aria-label="cell"] rect') : plot.locator('g[aria-label="dot"] circle, g[aria-label="line"] path');
    const box = await target.first().boundingBox();
    const offset = name === "cost" ? [box.width - 2, box.height - 2] : [box.width / 2, box.height / 2];
    await page.mouse.move(box.x + offset[0], box.y + offset[1]);
    await page.waitForFunction((n) => document.querySelector(`[data-chart=${n}] g[aria-label="tip"]`)?.textContent, name);
    assert.match(await plot.locator('g[aria-label="tip"]').textContent(), expected);
  }
});

/** Any two of many parameters can be looked at, and stay chosen. */
async function chooseAxes(page, { plane, tables, region }) {
  const card = page.locator("[data-chart=safe-region]");
  assert.equal(await card.getByLabel("across").inputValue(), plane.axes[plane.across]);
  assert.equal(await card.getByLabel("up").inputValue(), plane.axes[plane.up]);
  await card.getByLabel("across").selectOption({ index: 3 });
  await card.getByLabel("up").selectOption({ index: 10 });
  assert.deepEqual(await rowsOf(page, "safe-region"), tables[0].rounds.map((round, i) => [round, tables[0].values[i][3], tables[0].values[i][10]]));
  const polygon = await page.evaluate(() => window.lifeguard.charts["safe-region"].polygon);
  const slack = (p) => region.rows.map((row, r) => region.margins[r] - row[3] * (p[0] - region.at[3]) - row[10] * (p[1] - region.at[10]));
  const own = region.rows.map((row, r) => r).filter((r) => region.rows[r][3] !== 0 || region.rows[r][10] !== 0);
  assert.ok(polygon.length >= 3);
  for (const corner of polygon) assert.ok(Math.min(...own.map((r) => slack(corner)[r])) > -1e-9);
  assert.deepEqual(await page.evaluate(() => window.lifeguard.charts["safe-region"].plot.scale("x").domain), plane.view[3]);
  await page.locator(".toolbar").getByLabel("Task").selectOption({ index: 0 });
  assert.equal(await card.getByLabel("across").inputValue(), plane.axes[3]);
}

for (const [base, share] of [["mass-spring", 0], ["cart-pole", 0.15], ["quadrotor", 0.15], ["rigid-quadrotor", 0.15], ["flying-quadrotor", 0.15]]) {
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
    if (base === "quadrotor") await chooseAxes(page, chartOf(reportOf(path), "safe-region", "learner", 1));
    assert.deepEqual(page.errors, []);
  });
}

/** Whether a point lies in a convex polygon, but for `room`. */
function isInside(polygon, point, room) {
  const middle = [0, 1].map((k) => polygon.reduce((sum, p) => sum + p[k], 0) / polygon.length);
  const p = point.map((value, k) => middle[k] + (value - middle[k]) * (1 - room));
  const turns = polygon.map((a, i) => {
    const b = polygon[(i + 1) % polygon.length];
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
  });
  return turns.every((turn) => turn >= 0) || turns.every((turn) => turn <= 0);
}

test("what L knows: its spectrum, directions, tasks with their ellipses, agreement, and what is believed of a task", async () => {
  const path = file("believing.run");
  lifeguard("run", believingConfiguration(folder), "-o", path, "--quiet");
  lifeguard("report", path, "-o", file("believing.html"));
  const believing = reportOf(path);
  const page = await open(browser, url("believing.html"));
  await page.locator(".toolbar").getByLabel("Task").selectOption({ index: 2 });
  for (const [name, task] of [["knowledge-spectrum"], ["knowledge-agreement"], ["knowledge-belief", 2]]) {
    const chart = chartOf(believing, name, "learner", task);
    assert.deepEqual(await rowsOf(page, name), rowsOfTables(chart), name);
    const line = chart.lines.at(-1);
    const points = pointsOf(chart, line);
    // Of an axis that is logarithmic the numbers are compared by their own size.
    const found = await drawnLine(page, name, `var(--chart-${line.colour})`);
    assert.equal(found.length, points.length, name);
    found.forEach((point, i) => assert.ok(Math.abs(point[1] - points[i][1]) < 2e-2 * Math.max(...points.map((p) => Math.abs(p[1]))), name));
  }
  const belief = chartOf(believing, "knowledge-belief", "learner", 2);
  assert.deepEqual(belief.tables[0].rounds.slice(0, 4), [0, 1, 2, 3]);
  assert.deepEqual(await page.evaluate(() => window.lifeguard.charts["knowledge-belief"].head), ["visit", "mean", "- 2 deviations", "+ 2 deviations"]);
  assert.equal(await page.locator('[data-chart=knowledge-belief] g[aria-label="area"] path').count(), 1);

  const { cells } = chartOf(believing, "knowledge-directions", "learner");
  assert.deepEqual(await rowsOf(page, "knowledge-directions"), cells.values.map((values, g) => [cells.rows[g], ...values]));
  for (const k of [0, 1, 2]) assert.ok(Math.abs(cells.values.reduce((sum, row) => sum + row[k] ** 2, 0) - 1) < 1e-9);

  // Every task is in the middle of its ellipse, which ends two deviations from there.
  const tasks = chartOf(believing, "knowledge-tasks", "learner");
  assert.deepEqual(await rowsOf(page, "knowledge-tasks"), tasks.marks.map((mark) => [mark.name, ...mark.at]));
  const outlines = await page.evaluate(() => {
    const plot = window.lifeguard.charts["knowledge-tasks"].plot;
    const [x, y] = [plot.scale("x"), plot.scale("y")];
    return [...plot.querySelectorAll('g[aria-label="line"]')].map((g) => {
      const numbers = g.querySelector("path").getAttribute("d").match(/-?[\d.]+(e-?\d+)?/g).map(Number);
      const across = numbers.filter((_, i) => i % 2 === 0).map((v) => x.invert(v));
      const up = numbers.filter((_, i) => i % 2 === 1).map((v) => y.invert(v));
      return [Math.min(...across), Math.max(...across), Math.min(...up), Math.max(...up)];
    });
  });
  assert.equal(outlines.length, tasks.ellipses.length);
  const seen = tasks.plane.view.map(([from, to]) => to - from);
  outlines.forEach((ends, i) => {
    const { at, spread } = tasks.ellipses[i];
    const expected = [0, 1].flatMap((k) => [at[k] - Math.sqrt(spread[k][k]), at[k] + Math.sqrt(spread[k][k])]);
    ends.forEach((end, k) => assert.ok(Math.abs(end - expected[k]) < 5e-3 * seen[Math.floor(k / 2)], `${i}: ${ends} is not ${expected}`));
  });
  lifeguard("figures", path, "-o", file("figures"), "--svg-only");
  const svg = readFileSync(file("figures/believing-knowledge-tasks-learner.svg"), "utf8");
  assert.equal([...svg.matchAll(/<path d="M[^"]*Z" fill="[^"]*" fill-opacity="[^"]*" [^>]*clip-path/g)].length, tasks.ellipses.length);
  assert.match(lifeguard("info", path), /tasks +differ most in the gains on .* %\).*\n +directions +[\d.]+ of 4 in effect; the first explains \d+ % of the differences/);
  assert.deepEqual(page.errors, []);
});

test("closed loops: the guaranteed region, the curved safe region and the decay", async () => {
  lifeguard("compare", closedLoopConfiguration(folder), "--seeds", "1", "--out", file("poles"), "--quiet", "--set", 'experiment.methods=["learner","pg"]');
  const paths = ["learner", "pg"].map((method) => file(`poles/${method}-0.run`));
  lifeguard("report", ...paths, "-o", file("poles.html"));
  const poles = reportOf(...paths);
  const page = await open(browser, url("poles.html"));
  const shownPolygon = (name) => page.evaluate((n) => window.lifeguard.charts[n].polygon, name);

  const decay = chartOf(poles, "decay", "learner");
  assert.deepEqual(await rowsOf(page, "decay"), rowsOfTables(decay));
  for (const row of rowsOfTables(decay)) assert.ok(row[2] <= decay.rules[0].value);
  assert.deepEqual(await rowsOf(page, "falls"), rowsOfTables(chartOf(poles, "falls")));

  // In any two states the shadow of the ellipsoid holds all trajectories.
  const region = chartOf(poles, "guaranteed-region", "learner", 0);
  const states = page.locator("[data-chart=guaranteed-region]");
  for (const [i, j] of [[0, 2], [1, 3], [3, 0]]) {
    await states.getByLabel("across").selectOption({ index: i });
    await states.getByLabel("up").selectOption({ index: j });
    const outline = await shownPolygon("guaranteed-region");
    assert.ok(Math.abs(Math.max(...outline.map((p) => p[0])) ** 2 / region.region.ellipsoid[i][i] - 1) < 1e-3);
    const rows = await rowsOf(page, "guaranteed-region");
    assert.deepEqual(rows, region.tables.flatMap((table) => table.rounds.map((step, k) => [table.name, step, table.values[k][i], table.values[k][j]])));
    for (const row of rows) assert.ok(isInside(outline, row.slice(2), 0.001));
  }

  // In any two gains the boundary is curved, as in the figure.
  const gains = page.locator("[data-chart=safe-region]");
  for (const [i, j] of [[0, 1], [2, 3], [1, 2]]) {
    await gains.getByLabel("across").selectOption({ index: i });
    await gains.getByLabel("up").selectOption({ index: j });
    const { at } = chartOf(poles, "safe-region", "learner", 0).region;
    const outline = await shownPolygon("safe-region");
    assert.ok(outline.length > 8);
    assert.ok(isInside(outline, [at[i], at[j]], 0.01));
  }
  lifeguard("figures", paths[0], "-o", file("figures"), "--svg-only", "--task", "0");
  const svg = readFileSync(file("figures/poles-safe-region-learner.svg"), "utf8");
  const corners = svg.match(/<path d="M([^"]*)Z" [^>]*clip-path/)[1].split("L").map((pair) => pair.split(" ").map(Number));
  const { plane } = chartOf(poles, "safe-region", "learner", 0);
  await gains.getByLabel("across").selectOption({ index: plane.across });
  await gains.getByLabel("up").selectOption({ index: plane.up });
  const outline = await shownPolygon("safe-region");
  const size = (all, k) => Math.max(...all.map((p) => p[k])) - Math.min(...all.map((p) => p[k]));
  const [shown, drawn] = [outline, corners].map((all) => size(all, 0) / size(all, 1));
  const seen = (k) => plane.view[k][1] - plane.view[k][0];
  const frame = svg.match(/<rect x="[^"]*" y="[^"]*" width="([^"]*)" height="([^"]*)"\/><\/clipPath>/).slice(1).map(Number);
  assert.ok(Math.abs((drawn / shown) * ((seen(plane.across) / seen(plane.up)) * (frame[1] / frame[0])) - 1) < 0.01);
  assert.deepEqual(page.errors, []);
});

test("a machine of which only the signals have names is drawn as these over time", async () => {
  lifeguard("init", "linear", "-o", file("linear.toml"));
  lifeguard("run", file("linear.toml"), "-o", file("linear.run"), "--quiet", "--set", "experiment.rounds=4", "--set", "evaluation.start_states=5");
  lifeguard("report", file("linear.run"), "-o", file("linear.html"));
  const page = await open(browser, url("linear.html"), { reducedMotion: "reduce" });
  const card = page.locator("[data-chart=animation]");
  await card.scrollIntoViewIfNeeded();
  const scenes = card.locator("svg.scene");
  assert.equal(await scenes.count(), 2);
  for (const scene of await scenes.all()) {
    assert.deepEqual(await scene.locator(".label").allTextContents(), ["position (m)", "speed (m/s)"]);
    // Each has a line of its own that moves.
    const lines = await scene.locator(".signal").evaluateAll((all) => all.map((line) => line.getAttribute("points")));
    assert.equal(new Set(lines).size, 2);
    for (const line of lines) assert.ok(new Set(line.split(" ").map((point) => point.split(",")[1])).size > 10, line);
  }
  assert.match(await card.locator(".readout").first().textContent(), /^position -?[0-9.]+ m  speed -?[0-9.]+ m\/s$/);
  assert.deepEqual(page.errors, []);
});

test("a machine outside, of which there is nothing to simulate, has no animation", async () => {
  lifeguard("init", "external", "-o", file("external.toml"));
  const policy = JSON.parse(lifeguard("policy", file("external.toml"), "--machine", "first"));
  const lines = [{ format: "lifeguard trajectories", version: 1, machine: "first", policy: policy.policy, dt_seconds: 0.01, states: policy.inputs, actions: policy.actions }];
  for (let i = 0; i < 5; ++i) {
    const states = Array.from({ length: 151 }, (_, m) => [0.9 ** m, 0.1 * i * 0.9 ** m]);
    // Noise that is drawn from its distribution's quantiles, in another order each time.
    const noise = (m) => policy.noise_scale * Math.sqrt(3) * (2 * (((37 * m + 53 * i) % 150) / 149) - 1);
    const actions = states.slice(0, 150).map((x, m) => [policy.gains[0][0] * x[0] + policy.gains[0][1] * x[1] + noise(m)]);
    lines.push({ states, actions, end: "finished" });
  }
  writeFileSync(file("flights.jsonl"), lines.map((line) => JSON.stringify(line)).join("\n"));
  lifeguard("observe", file("external.toml"), "--machine", "first", file("flights.jsonl"));
  lifeguard("report", file("external.run"), "-o", file("external.html"));
  const page = await open(browser, url("external.html"));
  assert.equal(await page.locator("[data-chart=animation]").isVisible(), false);
  assert.deepEqual(page.errors, []);
});

test("a system whose drawing is not known is drawn as its signals over time", async () => {
  const html = readFileSync(file("report.html"), "utf8");
  const data = structuredClone(report);
  for (const run of data.experiments[0].runs) if (run.tasks) run.drawing = "airship";
  const text = JSON.stringify(data).replaceAll("<", "\\u003c");
  writeFileSync(file("plain.html"), html.replace(/(id="report-data">)[^<]*/, (_, start) => start + text));
  const page = await open(browser, url("plain.html"), { reducedMotion: "reduce" });
  const card = page.locator("[data-chart=animation]");
  await card.scrollIntoViewIfNeeded();
  const { signals, tasks } = data.experiments[0].runs[0];
  assert.equal(await card.locator(".signal").count(), 2 * signals.length);
  assert.deepEqual(await card.locator("svg").first().locator(".label").allTextContents(), signals.map((s) => `${s.name} (${s.unit})`));
  const points = (await card.locator(".signal").first().getAttribute("points")).split(" ").map((p) => p.split(",").map(Number));
  const flight = tasks[0].first_flights[0];
  assert.equal(points.length, flight.length);
  // Up is positive, the middle is the goal, and the farthest of all flights reaches 45 % of the height.
  const all = [...tasks[0].first_flights, ...tasks[0].last_flights].flat();
  const reach = Math.max(...all.map((frame) => Math.abs(frame[0])));
  const band = 200 / signals.length;
  flight.forEach((frame, k) => assert.ok(Math.abs(points[k][1] - band * (0.5 - (0.45 * frame[0]) / reach)) < 0.01));
  await card.getByLabel("time").fill("3");
  assert.equal(await card.locator(".now").first().getAttribute("x1"), points[3][0].toFixed(2));
  assert.deepEqual(page.errors, []);
});

test("a stick figure is drawn from what its joints say", async () => {
  // A rod that slides along the ground, and a second one at its end that turns downwards as the angle grows.
  const parts = [
    { carrier: -1, at: [0, 1], turn: 0, joints: [{ signal: 0, zero: 0, along: [1, 0] }], lines: [[0, 0, 0.5, 0, 0.05]] },
    { carrier: 0, at: [0.5, 0], turn: 0, joints: [{ signal: 1, zero: 0.1, turns: 1, around: [0, 0] }], lines: [[0, 0, 1, 0, 0.05]] },
  ];
  const data = structuredClone(report);
  for (const one of data.experiments[0].runs) {
    if (!one.tasks) continue;
    one.drawing = `stick figure ${JSON.stringify(parts)}`;
    one.signals = [{ name: "x", unit: "m" }, { name: "turn", unit: "rad" }];
    for (const task of one.tasks) task.first_flights = task.last_flights = [1, 2, 3].map(() => [[3, 0.1], [3, 0.1 + Math.PI / 2]]);
    one.tasks[1].drawing = `stick figure ${JSON.stringify([parts[0], { ...parts[1], lines: [[0, 0, 0.5, 0, 0.05]] }])}`;
  }
  const html = readFileSync(file("report.html"), "utf8");
  const text = JSON.stringify(data).replaceAll("<", "\\u003c");
  writeFileSync(file("figure.html"), html.replace(/(id="report-data">)[^<]*/, (_, start) => start + text));
  const page = await open(browser, url("figure.html"), { reducedMotion: "reduce" });
  const card = page.locator("[data-chart=animation]");
  await card.scrollIntoViewIfNeeded();
  const second = card.locator(".limb").nth(1);
  const ends = async () => Promise.all(["x1", "y1", "x2", "y2"].map(async (name) => Number(await second.getAttribute(name))));
  const slider = card.getByLabel("time");
  await slider.fill("0");
  assert.deepEqual(await ends(), [200, 90, 280, 90]); // followed: the first rod begins in the middle, 80 to a metre
  await slider.fill("1");
  assert.deepEqual(await ends(), [200, 90, 200, 170]);
  // A task may look otherwise than the run: here its second rod is half as long.
  await page.locator(".toolbar").getByLabel("Task").selectOption({ index: 1 });
  assert.deepEqual(await ends(), [200, 90, 200, 130]);
  await page.locator(".toolbar").getByLabel("Task").selectOption({ index: 0 });
  assert.deepEqual(await ends(), [200, 90, 200, 170]);
  assert.deepEqual(page.errors, []);
});

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
  for (const name of ["cost", "cost-log", "regret-losses", "regret-cost-log", "margins-learner", "margins-pg-log", "falls", "spectrum-learner", "safe-region-pg", "coefficients-learner", "resemblance-pg"]) {
    const svg = file(`figures/small-${name}.svg`);
    assert.ok(files.includes(svg), name);
    assert.match(readFileSync(svg, "utf8"), /^<svg [^>]*viewBox/);
    assert.equal(readFileSync(svg.replace(".svg", ".png")).subarray(1, 4).toString(), "PNG");
  }
  const svg = readFileSync(file("figures/small-cost.svg"), "utf8");
  const lines = [...svg.matchAll(/<path d="([^"]*)" fill="none" stroke="#0072b2"/g)];
  const points = lines[0][1].match(/-?[\d.]+ -?[\d.]+/g);
  assert.equal(points.length, chartOf(report, "cost").tables[0].rounds.length);
  // One picture for each chart, scale and run; of the tasks the one with the least margin.
  const charts = report.experiments[0].charts.filter((chart) => !(chart.task > 0));
  assert.equal(files.filter((name) => name.endsWith(".svg")).length, charts.reduce((sum, chart) => sum + chart.scales.length, 0));
});
