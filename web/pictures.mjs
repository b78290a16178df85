// Takes the pictures of the page for the documentation: node pictures.mjs MASS.html QUADROTOR.html KNOWLEDGE.html OUT
import { chromium } from "playwright-core";
import { resolve } from "node:path";

const [mass, quadrotor, knowledge, out] = process.argv.slice(2);
const args = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
if (process.getuid() === 0) args.push("--no-sandbox");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });

/** The page from `first` to the end of `last`, two charts; of the charts only those whose names begin as `only` does. */
async function picture(name, file, width, colorScheme, first, last, only = "") {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(`file://${resolve(file)}`);
  await page.waitForFunction(() => window.lifeguard?.charts.resemblance?.plot.isConnected);
  await page.locator("[data-chart=animation]").getByLabel("time").fill("8");
  if (only) {
    await page.locator(".toolbar").getByLabel("Task").selectOption({ index: 3 });
    await page.addStyleTag({ content: `main > :not([data-chart^=${only}]) { display: none; }` });
  }
  await page.evaluate(() => document.activeElement.blur());
  const clip = await page.evaluate(
    ([from, to]) => {
      const top = from ? document.querySelector(`[data-chart=${from}]`).getBoundingClientRect().top - 12 : -scrollY;
      const { bottom } = document.querySelector(`[data-chart=${to}]`).getBoundingClientRect();
      return { x: 0, y: top + scrollY, width: innerWidth, height: bottom - top + 12 };
    },
    [first, last],
  );
  await page.screenshot({ path: `${out}/report-${name}.png`, fullPage: true, clip });
  await context.close();
  console.log(`${out}/report-${name}.png`);
}

await picture("comparison", mass, 1080, "light", "", "cost");
await picture("quadrotor", quadrotor, 1080, "dark", "animation", "animation");
await picture("knowledge", knowledge, 1080, "light", "knowledge-spectrum", "knowledge-belief", "knowledge");
await picture("phone", mass, 390, "dark", "cost", "cost");
await browser.close();
