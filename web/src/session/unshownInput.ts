// The members of a tool call's input that nothing else on the screen shows. The crate `projection`
// decides the same for terminals.
import { object, text, type Json } from "../api/json";

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
// Members for a text and its replacement.
const PAIRS = [
  ["old_string", "new_string"],
  ["oldString", "newString"],
  ["old_str", "new_str"],
  ["old_text", "new_text"],
  ["oldText", "newText"],
] as const;
const PATCHES = ["patch", "diff", "unified_diff", "unifiedDiff"];
const LISTS = ["edits", "changes"];
// The kind of a change in such a list, which its diff shows.
const CHANGE_KINDS = ["kind", "type"];
// Flags for replacing every occurrence; only `false` says no more than the changes shown.
const REPLACE_ALL_FLAGS = ["replace_all", "replaceAll"];

interface Change {
  path: string;
  old: string;
  new: string;
  /** A patch, in place of both texts. */
  patch?: string;
}

/** The input without the members that the changes show; a member with an unknown name stays. */
export function unshownInput(input: unknown, diffs: readonly Json[], cwd: string): unknown {
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
  const about = aboutFile(members, changes, cwd);
  const rest = Object.entries(members).filter(([name, value]) => !isShown(name, value, members, about, cwd));
  return rest.length > 0 ? Object.fromEntries(rest) : undefined;
}

/** A change of one file says nothing of another. */
function aboutFile(members: Json, changes: readonly Change[], cwd: string): readonly Change[] {
  const named = PATHS.flatMap((name) => text(members[name]) ?? []);
  return changes.filter((change) => named.every((path) => isSamePath(path, change.path, cwd)));
}

function isShown(name: string, value: unknown, members: Json, changes: readonly Change[], cwd: string): boolean {
  if (value === null) return true;
  if (value === false && REPLACE_ALL_FLAGS.includes(name)) return changes.length > 0;
  const isAllShown = (each: unknown) => changes.length > 0 && left(object(each), changes, cwd) === undefined;
  if (typeof value === "string") {
    if (PATHS.includes(name)) return changes.length > 0;
    if (TEXTS.includes(name)) return changes.some((change) => change.patch === undefined && change.new === value);
    if (PATCHES.includes(name)) return isShownPatch(value, changes, cwd);
    if (CHANGE_KINDS.includes(name)) return isShownKind(value, changes);
    return isReplaced(name, members, changes);
  }
  if (Array.isArray(value)) {
    const isObject = (each: unknown) => typeof each === "object" && each !== null && !Array.isArray(each);
    if (!LISTS.includes(name) || value.length === 0 || !value.every(isObject)) return false;
    return value.every(isAllShown) || areReplaced(value.map(object), changes, cwd);
  }
  return typeof value === "object" && CHANGE_KINDS.includes(name) && isAllShown(value);
}

function isSamePath(a: string, b: string, cwd: string): boolean {
  const whole = (path: string) => (path.startsWith("/") || cwd === "" ? path : `${cwd}/${path.replace(/^(\.\/)+/, "")}`);
  return a !== "" && whole(a) === whole(b);
}

function isShownKind(kind: string, changes: readonly Change[]): boolean {
  if (kind === "delete") return changes.some((change) => change.old !== "" && change.new === "");
  return ["add", "create", "update", "edit"].includes(kind) && changes.length > 0;
}

type Pair = readonly [old: string, new: string];

function texts(pair: Pair, members: Json): Pair | undefined {
  const [before, after] = [text(members[pair[0]]), text(members[pair[1]])];
  return before === undefined || after === undefined ? undefined : [before, after];
}

/** Whether a text and its replacement make all of a change; one of them alone may be anything. */
function isReplaced(name: string, members: Json, changes: readonly Change[]): boolean {
  const pair = PAIRS.find((each) => (each as Pair).includes(name));
  const both = pair && texts(pair, members);
  return both !== undefined && changes.some((change) => isBy(change, [both]));
}

/** Whether the list is of replacements that make a change together. */
function areReplaced(list: readonly Json[], changes: readonly Change[], cwd: string): boolean {
  const about = list.reduce<readonly Change[]>((rest, one) => aboutFile(one, rest, cwd), changes);
  const pairs: Pair[] = [];
  for (const one of list) {
    const pair = PAIRS.find((each) => texts(each, one) !== undefined);
    const both = pair && texts(pair, one);
    if (!both) return false;
    pairs.push(both);
    const rest = Object.fromEntries(Object.entries(one).filter(([name]) => !(pair as Pair).includes(name)));
    if (about.length === 0 || left(rest, about, cwd) !== undefined) return false;
  }
  return about.some((change) => isBy(change, pairs));
}

/** Whether these replacements, one after the other, make this change. */
function isBy(change: Change, pairs: readonly Pair[]): boolean {
  if (change.patch !== undefined) return false;
  const ended = (whole: string) => (whole === "" || whole.endsWith("\n") ? whole : `${whole}\n`);
  const made = (whole: string, isEach: boolean) =>
    pairs.reduce<string | undefined>((now, [before, after]) => {
      if (now === undefined) return undefined;
      if (before === "") return now === "" ? after : undefined;
      if (!now.includes(before)) return undefined;
      return isEach ? now.replaceAll(before, () => after) : now.replace(before, () => after);
    }, whole);
  const isMade = (whole: string, wanted: string) => made(whole, false) === wanted || made(whole, true) === wanted;
  // The lines of a patch have ends that those of a file may lack.
  return isMade(change.old, change.new) || isMade(ended(change.old), ended(change.new));
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
  return changes.some((change) => isBy(change, hunks));
}

/** Whether what stands before the hunks of a patch names a file whose changes are shown. */
function isShownHeader(line: string, changes: readonly Change[], cwd: string): boolean {
  const path = /^(?:Index: |--- |\+\+\+ )([^\t]*)/.exec(line)?.[1];
  if (path === undefined) return /^=*$/.test(line);
  return path === "/dev/null" || changes.some((change) => isSamePath(path, change.path, cwd));
}
