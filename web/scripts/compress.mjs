// Puts compressed copies beside the built files that gain by them; the daemon sends these to
// whoever can read them.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
// Below this a copy saves less than the daemon needs to know about it.
const WORTH_BYTES = 512;

function files(dir) {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

function keep(path, packed, plain) {
  if (packed.length < plain.length - WORTH_BYTES) writeFileSync(path, packed);
}

for (const path of files(dist)) {
  if (/\.(br|gz|png|ico|woff2)$/.test(path)) continue;
  const plain = readFileSync(path);
  const size = { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
  keep(`${path}.br`, brotliCompressSync(plain, { params: size }), plain);
  keep(`${path}.gz`, gzipSync(plain, { level: 9 }), plain);
}
