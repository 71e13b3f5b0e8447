// What of a call's input nothing else that is shown tells. The same is decided for terminals in
// crates/sessions/src/projection/told.rs.
import { diffOf } from "../render/diff";
import { object, text, type Json } from "./read";

const PATHS = [
  "filepath",
  "path",
  "file_path",
  "filePath",
  "file",
  "filename",
  "fileName",
  "abs_path",
  "absolute_path",
  "target_file",
  "notebook_path",
];
// A file's whole new text.
const TEXTS = ["content", "contents", "file_text", "fileText", "text", "new_content", "newContent"];
// A text and what takes its place.
const PAIRS = [
  ["old_string", "new_string"],
  ["oldString", "newString"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["oldText", "newText"],
] as const;
const PATCHES = ["patch", "diff", "unified_diff", "unifiedDiff"];
const LISTS = ["edits", "changes"];
// What a change of a list is, which its diff shows.
const WAYS = ["kind", "type"];
// Whether also more is replaced than what is shown.
const FLAGS = ["replace_all", "replaceAll"];

interface Change {
  path: string;
  old: string;
  new: string;
  /** In place of both texts. */
  patch?: string;
}

/** The input without the members that the changes show; what names nothing that is shown stays. */
export function untold(input: unknown, diffs: readonly Json[], cwd: string): unknown {
  const changes = diffs.map((diff) => ({
    path: text(diff.path) ?? "",
    old: text(diff.oldText) ?? "",
    new: text(diff.newText) ?? "",
    patch: text(object(diff.patch).text),
  }));
  return left(input, changes, cwd);
}

function left(input: unknown, changes: readonly Change[], cwd: string): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const members = object(input);
  const named = PATHS.flatMap((name) => text(members[name]) ?? []);
  // A change of one file says nothing of another.
  const about = changes.filter((change) => named.every((path) => isSamePath(path, change.path, cwd)));
  const rest = Object.entries(members).filter(([name, value]) => !isTold(name, value, members, about, cwd));
  return rest.length > 0 ? Object.fromEntries(rest) : undefined;
}

function isTold(name: string, value: unknown, members: Json, changes: readonly Change[], cwd: string): boolean {
  if (value === null) return true;
  if (value === false && FLAGS.includes(name)) return changes.length > 0;
  const isAllTold = (each: unknown) => changes.length > 0 && left(object(each), changes, cwd) === undefined;
  if (typeof value === "string") {
    if (PATHS.includes(name)) return changes.length > 0;
    if (TEXTS.includes(name)) return changes.some((change) => change.patch === undefined && change.new === value);
    if (PATCHES.includes(name)) return isShownPatch(value, changes, cwd);
    if (WAYS.includes(name)) return isShownWay(value, changes);
    return isShownPart(name, value, members, changes);
  }
  if (Array.isArray(value)) {
    const isObject = (each: unknown) => typeof each === "object" && each !== null && !Array.isArray(each);
    return LISTS.includes(name) && value.length > 0 && value.every((each) => isObject(each) && isAllTold(each));
  }
  return typeof value === "object" && WAYS.includes(name) && isAllTold(value);
}

function isSamePath(a: string, b: string, cwd: string): boolean {
  const whole = (path: string) => (path.startsWith("/") || cwd === "" ? path : `${cwd}/${path.replace(/^(\.\/)+/, "")}`);
  return a !== "" && whole(a) === whole(b);
}

function isShownWay(way: string, changes: readonly Change[]): boolean {
  if (way === "delete") return changes.some((change) => change.old !== "" && change.new === "");
  return ["add", "create", "update", "edit"].includes(way) && changes.length > 0;
}

function isShownPart(name: string, value: string, members: Json, changes: readonly Change[]): boolean {
  const pair = PAIRS.find((each) => (each as readonly string[]).includes(name));
  if (!pair) return false;
  const [before, after] = [text(members[pair[0]]), text(members[pair[1]])];
  const isDone = (change: Change) => before !== undefined && after !== undefined && replaces(change, before, after);
  return changes.some((change) => isDone(change) || shows(change, value, name === pair[0] ? "removed" : "added"));
}

/** Whether putting one text in the place of the other is this change. */
function replaces(change: Change, before: string, after: string): boolean {
  if (change.patch !== undefined || (before === "" && change.old !== "")) return false;
  if (change.old === before && change.new === after) return true;
  return change.old.replace(before, () => after) === change.new || change.old.replaceAll(before, () => after) === change.new;
}

/** Whether a text is among the lines that are shown of one side; what else is in the file nobody sees. */
function shows(change: Change, value: string, side: "removed" | "added"): boolean {
  const whole = side === "removed" ? change.old : change.new;
  if (change.patch !== undefined || !whole.includes(value) || value.includes("\0")) return false;
  const hunks = diffOf(change.old, change.new).hunks.map((hunk) =>
    hunk.lines
      .filter((line) => line.kind === "same" || line.kind === side)
      .map((line) => `${line.text}\n`)
      .join(""),
  );
  return hunks.join("\0").includes(value);
}

/** Whether a patch says no more than the changes: the same, the text of a file that is new or gone, or lines that are all shown. */
function isShownPatch(patch: string, changes: readonly Change[], cwd: string): boolean {
  const isWhole = (change: Change) =>
    change.patch === undefined
      ? (change.old === "" && change.new === patch) || (change.new === "" && change.old === patch)
      : change.patch === patch;
  if (changes.some(isWhole)) return true;
  const from = patch.includes("@@") ? patch.indexOf("@@") : patch.length;
  const head = patch.slice(0, from).split("\n");
  const lines = patch
    .slice(from)
    .split("\n")
    .filter((line) => line !== "");
  if (lines.length === 0 || !lines.every((line) => /^[@+\- \\]/.test(line))) return false;
  if (!head.every((line) => isShownHeader(line, changes, cwd))) return false;
  const hunks: [string, string][] = [];
  for (const line of lines) {
    const hunk = hunks.at(-1);
    if (line.startsWith("@") || !hunk) hunks.push(["", ""]);
    else {
      if (/^[- ]/.test(line)) hunk[0] += `${line.slice(1)}\n`;
      if (/^[+ ]/.test(line)) hunk[1] += `${line.slice(1)}\n`;
    }
  }
  const has = (whole: string, part: string) => whole === part || `${whole}\n` === part;
  const isShown = ([before, after]: [string, string]) =>
    changes.some(
      (change) =>
        change.patch === undefined &&
        (has(change.old, before) || shows(change, before, "removed")) &&
        (has(change.new, after) || shows(change, after, "added")),
    );
  return hunks.every(isShown);
}

/** Whether what stands before the hunks of a patch names a file whose changes are shown. */
function isShownHeader(line: string, changes: readonly Change[], cwd: string): boolean {
  const path = /^(?:Index: |--- |\+\+\+ )([^\t]*)/.exec(line)?.[1];
  if (path === undefined) return /^=*$/.test(line);
  return path === "/dev/null" || changes.some((change) => isSamePath(path, change.path, cwd));
}
