// Fails when what a browser loads has grown beyond the limit, all files together, compressed.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const LIMIT = 300 * 1024;
const dist = fileURLToPath(new URL("../dist/", import.meta.url));

function files(dir) {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

let total = 0;
for (const path of files(dist)) total += gzipSync(readFileSync(path), { level: 9 }).length;
console.log(`compressed: ${(total / 1024).toFixed(1)} KB of ${LIMIT / 1024} KB`);
if (total > LIMIT) {
  console.error("the page is too large: look for a dependency or a language that can go");
  process.exit(1);
}
