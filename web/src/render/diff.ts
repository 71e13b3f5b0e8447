// Two texts as the lines that differ, with a few that do not around them.
import { diffLines, diffWordsWithSpace } from "diff";

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
  before?: number;
  after?: number;
  /** Its text has no newline at its end, where the other one has. */
  lacksEnd?: boolean;
  /** Parts of a line that has a counterpart: what exactly differs. */
  parts?: { text: string; isChanged: boolean }[];
}

export interface Hunk {
  /** Lines left out before this one. */
  skipped: number;
  lines: DiffLine[];
}

export interface FileDiff {
  hunks: Hunk[];
  added: number;
  removed: number;
  /** Lines left out after the last hunk. */
  skippedAfter: number;
  /** The texts differ too much to be compared: one replaces the other. */
  isWhole: boolean;
}

const CONTEXT = 3;
// Comparing takes time with the square of what differs. Where it takes longer than a person
// notices, one text replaces the other. Diffs that are shown together share this.
const LONGEST_EDIT = 1_000;
const LONGEST_MS = 250;
const LONGEST_WORDS = 400;
const MOST_COMPARED = 200;

export function diffOf(before: string, after: string, share = 1, longestMs = LONGEST_MS): FileDiff {
  const limits = { maxEditLength: Math.ceil(LONGEST_EDIT / share), timeout: Math.ceil(longestMs / share) };
  // A last newline that both lack, as parts of files do, is no difference to the lines before it.
  const isEndChanged = before !== "" && after !== "" && before.endsWith("\n") !== after.endsWith("\n");
  const ended = (text: string) => (isEndChanged || text === "" || text.endsWith("\n") ? text : `${text}\n`);
  const changes = diffLines(ended(before), ended(after), limits);
  const lines: DiffLine[] = [];
  let [b, a, added, removed] = [0, 0, 0, 0];
  for (const change of changes ?? whole(before, after)) {
    for (const text of linesOf(change.value)) {
      if (change.added) lines.push({ kind: "added", text, after: ++a });
      else if (change.removed) lines.push({ kind: "removed", text, before: ++b });
      else lines.push({ kind: "same", text, before: ++b, after: ++a });
      if (change.added) added += 1;
      if (change.removed) removed += 1;
    }
  }
  if (isEndChanged) {
    const last = lines.findLast((line) => line.kind !== (before.endsWith("\n") ? "removed" : "added"));
    if (last) last.lacksEnd = true;
  }
  if (changes) markWords(lines, Math.ceil(MOST_COMPARED / share));
  return { ...hunksOf(lines), added, removed, isWhole: !changes };
}

function whole(before: string, after: string): { value: string; added: boolean; removed: boolean }[] {
  return [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
}

export function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/** Where as many lines are added as removed, each has its counterpart. */
function markWords(lines: DiffLine[], most: number): void {
  let left = most;
  for (let i = 0; i < lines.length;) {
    const removed = run(lines, i, "removed");
    const added = run(lines, i + removed, "added");
    if (removed > 0 && removed === added && removed <= Math.min(20, left)) {
      left -= removed;
      for (let k = 0; k < removed; k++) compare(lines[i + k], lines[i + removed + k]);
    }
    i += Math.max(1, removed + added);
  }
}

function run(lines: DiffLine[], from: number, kind: DiffLine["kind"]): number {
  let n = 0;
  while (lines[from + n]?.kind === kind) n += 1;
  return n;
}

function compare(before: DiffLine | undefined, after: DiffLine | undefined): void {
  if (!before || !after || before.text.length + after.text.length > LONGEST_WORDS) return;
  const words = diffWordsWithSpace(before.text, after.text);
  const same = words.filter((word) => !word.added && !word.removed).reduce((n, word) => n + word.value.trim().length, 0);
  // Two lines with hardly anything in common are two lines, not one that was changed.
  if (same * 3 < Math.max(before.text.length, after.text.length)) return;
  before.parts = words.filter((word) => !word.added).map((word) => ({ text: word.value, isChanged: word.removed }));
  after.parts = words.filter((word) => !word.removed).map((word) => ({ text: word.value, isChanged: word.added }));
}

function hunksOf(lines: DiffLine[]): { hunks: Hunk[]; skippedAfter: number } {
  const keep = new Uint8Array(lines.length);
  lines.forEach((line, i) => {
    if (line.kind !== "same") keep.fill(1, Math.max(0, i - CONTEXT), Math.min(lines.length, i + CONTEXT + 1));
  });
  const hunks: Hunk[] = [];
  let skipped = 0;
  let open: Hunk | undefined;
  lines.forEach((line, i) => {
    if (!keep[i]) {
      skipped += 1;
      open = undefined;
      return;
    }
    if (!open) {
      open = { skipped, lines: [] };
      hunks.push(open);
      skipped = 0;
    }
    open.lines.push(line);
  });
  return { hunks, skippedAfter: skipped };
}

/** Rows of two columns: what was removed beside what took its place. */
export function sideBySide(lines: readonly DiffLine[]): [DiffLine | undefined, DiffLine | undefined][] {
  const rows: [DiffLine | undefined, DiffLine | undefined][] = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    if (line?.kind === "same") {
      rows.push([line, line]);
      i += 1;
      continue;
    }
    const removed = run(lines as DiffLine[], i, "removed");
    const added = run(lines as DiffLine[], i + removed, "added");
    for (let k = 0; k < Math.max(removed, added); k++) {
      rows.push([k < removed ? lines[i + k] : undefined, k < added ? lines[i + removed + k] : undefined]);
    }
    i += Math.max(1, removed + added);
  }
  return rows;
}
