#!/usr/bin/env node
// Makes the pictures of the readme anew: the chat in tmux, the page in Chromium, both with the demo
// agent and in directories of their own. Needs a built binary with the page in it.
//
// usage: scripts/pictures.mjs BINARY

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const images = resolve(dirname(fileURLToPath(import.meta.url)), "../docs/images");
const binary = resolve(process.argv[2] ?? "target/debug/switchyard");
const dir = mkdtempSync(join(tmpdir(), "pictures-"));
// The directory where the agents of the pictures work, with a name that is short to look at.
const work = join(tmpdir(), "hello");
mkdirSync(work);
const env = { ...process.env, HOME: dir, SWITCHYARD_HOME: join(dir, "home"), LC_ALL: "C.UTF-8" };
for (const name of ["TMUX", "NO_COLOR", "TERM"]) delete env[name];
const started = [];

/** Starts a program, and waits for the line that says it is ready. */
async function ready(program, args, sign) {
  const child = spawn(program, args, { cwd: work, env, stdio: ["ignore", "pipe", "ignore"] });
  started.push({ child, ended: once(child, "exit") });
  for await (const line of createInterface(child.stdout)) if (sign.test(line)) return line;
  throw new Error(`${program} has ended`);
}

/** Polls until `look` returns something that is not false. */
async function until(what, look) {
  for (let n = 0; n < 200; n++) {
    const found = await look();
    if (found) return found;
    await sleep(100);
  }
  throw new Error(`no ${what}`);
}

/** The chat's screen as HTML. */
async function chat() {
  const socket = join(dir, "tmux.sock");
  const tmux = (...args) => execFileSync("tmux", ["-S", socket, ...args], { cwd: work, env, encoding: "utf8" });
  tmux("-f", "/dev/null", "new-session", "-d", "-x", "96", "-y", "34", `'${binary}' chat demo`);
  const shows = (words) => until(words, () => tmux("capture-pane", "-p").includes(words));
  try {
    await shows("type a prompt");
    const script = "think first a look at the sources ; plan ; usage ; diff src/main.rs ; permission execute cargo test";
    tmux("send-keys", "-l", script);
    tmux("send-keys", "Enter");
    await shows("a number or letter answers");
    const screen = tmux("capture-pane", "-e", "-p").trimEnd();
    tmux("send-keys", "n");
    await shows("rejected by you");
    return asHtml(screen);
  } finally {
    tmux("kill-server");
  }
}

/** Text with the colours of a terminal. */
function asHtml(text) {
  const colours = ["#8a919e", "#e06c75", "#7ec07e", "#d8a657", "#61afef", "#b48ead", "#56b6c2", "#d4d4d4"];
  const on = { bold: false, dim: false, italic: false, underline: false, colour: null };
  const plain = { ...on };
  const set = (code) => {
    if (code === 0) Object.assign(on, plain);
    else if (code === 1) on.bold = true;
    else if (code === 2) on.dim = true;
    else if (code === 3) on.italic = true;
    else if (code === 4) on.underline = true;
    else if (code === 22) on.bold = on.dim = false;
    else if (code === 23) on.italic = false;
    else if (code === 24) on.underline = false;
    else if (code === 39) on.colour = null;
    else if (code >= 30 && code <= 37) on.colour = colours[code - 30];
    else if (code >= 90 && code <= 97) on.colour = colours[code - 90];
  };
  const style = () =>
    [
      on.bold && "font-weight:bold",
      on.dim && "opacity:.8",
      on.italic && "font-style:italic",
      on.underline && "text-decoration:underline",
      on.colour && `color:${on.colour}`,
    ].filter(Boolean).join(";");
  const safe = (part) => part.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  let html = "";
  for (const [index, part] of text.split("\u001b[").entries()) {
    const [, codes, rest] = index === 0 ? [null, null, part] : /^([0-9;]*)m([^]*)$/.exec(part);
    // `38;5;N` is the N-th colour, of which the chat uses the first sixteen.
    const extended = codes === null ? null : /^38;5;(\d+)$/.exec(codes);
    if (extended) on.colour = colours[Number(extended[1]) % 8];
    else if (codes !== null) for (const code of codes.split(";")) set(Number(code));
    if (rest) html += `<span style="${style()}">${safe(rest)}</span>`;
  }
  const look = "background:#16181d;color:#d4d4d4;font:15px/1.35 'DejaVu Sans Mono',monospace";
  return `<!doctype html><meta charset="utf-8"><body style="margin:0;background:#16181d">
    <pre style="${look};margin:0;padding:20px;display:inline-block">${html}</pre>`;
}

/** Where a daemon serves HTTP. */
async function daemon() {
  const line = await ready(binary, ["serve", "--host", "127.0.0.1:0", "--agent", "demo"], /log in: /);
  return /serve: (\S+)/.exec(line)[1];
}

/** A session that waits for a person, and where the page shows it. */
async function session(base) {
  const say = (...words) => execFileSync(binary, ["token", ...words], { env, encoding: "utf8" }).trim();
  const [token, link] = [say("show"), /http\S+/.exec(say("login"))[0]];
  const api = async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return answer.json();
  };
  const { id } = await api("POST", "/v1/sessions", { cwd: work, title: "Greet the world properly" });
  const at = `/v1/sessions/${id}`;
  const is = (status) => until(status, async () => (await api("GET", at)).status === status);
  await api("POST", `${at}/prompt`, {
    prompt: "plan ; usage ; diff src/main.rs ; say The greeting now names **Switchyard**. Shall I run the tests?",
  });
  await is("idle");
  await api("POST", `${at}/prompt`, { prompt: "permission execute cargo test" });
  await is("requires_action");
  return { link, path: `/sessions/${id}` };
}

/** A browser, by WebDriver. */
async function browser() {
  const line = await ready("chromedriver", ["--port=0"], /started successfully on port/);
  const driver = `http://127.0.0.1:${/on port (\d+)/.exec(line)[1]}`;
  const call = async (method, path, body) => {
    const answer = await fetch(driver + path, { method, body: body && JSON.stringify(body) });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`${path}: ${value.message}`);
    return value;
  };
  const args = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1200,900"];
  const capabilities = { alwaysMatch: { "goog:chromeOptions": { args: [...args, `--user-data-dir=${dir}/profile`] } } };
  const { sessionId } = await call("POST", "/session", { capabilities });
  const at = `/session/${sessionId}`;
  const run = (script) => call("POST", `${at}/execute/sync`, { script, args: [] });
  return {
    open: (url) => call("POST", `${at}/url`, { url }),
    run,
    shows: (words) => until(words, () => run(`return document.body.innerText.includes(${JSON.stringify(words)})`)),
    picture: async (name, selector) => {
      const [found] = Object.values(await call("POST", `${at}/element`, { using: "css selector", value: selector }));
      const png = await call("GET", `${at}/element/${found}/screenshot`);
      writeFileSync(join(images, name), Buffer.from(png, "base64"));
    },
    close: () => call("DELETE", at),
  };
}

try {
  const base = await daemon();
  const screen = join(dir, "chat.html");
  writeFileSync(screen, await chat());
  const { link, path } = await session(base);
  const chromium = await browser();
  await chromium.open(pathToFileURL(screen).href);
  await chromium.picture("chat.png", "pre");
  await chromium.open(link);
  await chromium.shows("Greet the world properly");
  await chromium.open(new URL(path, link).href);
  await chromium.shows("Allow once");
  // Buttons wait for a moment, so that nobody presses what was not there yet.
  const can = "return [...document.querySelectorAll('button')].some((one) => one.innerText.startsWith('Allow once') && !one.disabled)";
  await until("question that can be answered", () => chromium.run(can));
  await sleep(1000);
  await chromium.picture("page.png", "body");
  await chromium.close();
} finally {
  for (const { child } of started) child.kill();
  // A second signal ends the daemon at once: a turn waits for a person who does not come.
  await sleep(500);
  for (const { child } of started) child.kill();
  await Promise.all(started.map(({ ended }) => ended));
  for (const one of [dir, work]) rmSync(one, { recursive: true, force: true });
}
