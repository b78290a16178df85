// Bundles the page into one HTML file and writes it as a C++ source: node build.mjs PAGE.cpp
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(fileURLToPath(import.meta.url));
const result = await build({
  entryPoints: [join(web, "src/main.ts"), join(web, "src/style.css")],
  outdir: "out",
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: ["chrome100", "firefox100", "safari15"],
  legalComments: "eof",
});
const text = (end) => result.outputFiles.find((file) => file.path.endsWith(end)).text;
// "</script" inside a string would end the script.
const script = text(".js").replaceAll("</script", "<\\/script");
const page = readFileSync(join(web, "src/page.html"), "utf8")
  .replace("/* style */", () => text(".css"))
  .replace("/* script */", () => script);

// Pieces that stay below the limits of compilers on one literal.
const pieces = [];
for (let i = 0; i < page.length; i += 8000) pieces.push(page.slice(i, i + 8000));
writeFileSync(
  process.argv[2],
  `#include "cli/page.hpp"\n\nnamespace lifeguard {\n\nstd::string page_template() {\n  std::string page;\n${pieces
    .map((piece) => `  page += R"~page~(${piece})~page~";\n`)
    .join("")}  return page;\n}\n\n}  // namespace lifeguard\n`,
);
