// Output of a terminal, the end of it first; all of it when wanted.
import { memo, useMemo, useRef, useState } from "react";
import { bytes } from "../parts/numbers";
import { Ansi, type AnsiLine, type Style } from "./ansi";
import { visible } from "./visible";

const LAST_LINES = 200;
const ALL_LINES = 5_000;
// More than this of one line is not laid out until somebody wants it.
const LINE_CHARS = 2_000;

// Of a longer output only the end is read at all; until somebody asks for all of it, of an even
// shorter one.
const MOST_CHARS = 512 * 1024;
const FIRST_CHARS = 128 * 1024;
// Each colour is an element; output with more of them than this is drawn without.
const MOST_RUNS = 4_000;

export const Terminal = memo(function Terminal({ text, label = "Output" }: { text: string; label?: string }) {
  const [isWhole, setWhole] = useState(false);
  const read = useRef<Read>(undefined);
  const lines = useMemo(() => {
    read.current = readOn(read.current, text, isWhole ? MOST_CHARS : FIRST_CHARS);
    const all = read.current.ansi.lines();
    while (all.length > 1 && all[all.length - 1]?.length === 0) all.pop();
    return all;
  }, [text, isWhole]);
  const leftOut = read.current?.from ?? 0;
  const shown = lines.slice(-(isWhole ? ALL_LINES : LAST_LINES));
  const isCut = shown.length < lines.length || (!isWhole && leftOut > 0) || (!isWhole && shown.some((line) => lengthOf(line) > LINE_CHARS));
  return (
    <div className="terminal">
      {leftOut > 0 && isWhole && <p className="faint small">{bytes(leftOut)} before this are not shown; the export has them.</p>}
      {isCut && !isWhole && (
        <button type="button" className="link" onClick={() => setWhole(true)}>
          {text.length > MOST_CHARS
            ? `Show more (${bytes(text.length)} in all)`
            : leftOut > 0
              ? `Show all (${bytes(text.length)})`
              : `Show all (${lines.length} lines)`}
        </button>
      )}
      {isCut && isWhole && (
        <p className="faint small">
          The last {ALL_LINES} of {lines.length} lines
        </p>
      )}
      <pre tabIndex={0} role="group" aria-label={label}>
        {runsOf(isWhole ? shown : shown.map(cut)).map((run, i) =>
          run.name ? (
            <span key={i} className={run.name}>
              {run.text}
            </span>
          ) : (
            run.text
          ),
        )}
      </pre>
    </div>
  );
});

interface Read {
  text: string;
  /** Where reading began. */
  from: number;
  limit: number;
  ansi: Ansi;
}

/** Goes on where the last reading ended, if the text has only grown. */
export function readOn(before: Read | undefined, text: string, limit = MOST_CHARS): Read {
  const canGoOn = before?.limit === limit && text.length - before.from <= 2 * limit && text.startsWith(before.text);
  if (canGoOn) {
    if (text.length > before.text.length) before.ansi.feed(text.slice(before.text.length));
    return { ...before, text };
  }
  const ansi = new Ansi();
  const cutAt = Math.max(0, text.length - limit);
  // From the beginning of a line, if there is one.
  const newline = cutAt === 0 ? -1 : text.indexOf("\n", cutAt);
  const from = cutAt === 0 ? 0 : newline < 0 ? cutAt : newline + 1;
  ansi.feed(text.slice(from));
  return { text, from, limit, ansi };
}

/** Text of one look, also over several lines: thousands of plain lines are one piece of text. */
export function runsOf(lines: AnsiLine[], hasColours = true): { name: string; text: string }[] {
  const runs: { name: string; text: string }[] = [];
  const add = (name: string, text: string) => {
    const last = runs[runs.length - 1];
    if (last?.name === name) last.text += text;
    else runs.push({ name, text });
  };
  for (const line of lines) {
    for (const span of line) add(hasColours ? classOf(span.style) : "", visible(span.text));
    add("", "\n");
    if (runs.length > MOST_RUNS) return runsOf(lines, false);
  }
  return runs;
}

function lengthOf(line: AnsiLine): number {
  return line.reduce((sum, span) => sum + span.text.length, 0);
}

function cut(line: AnsiLine): AnsiLine {
  if (lengthOf(line) <= LINE_CHARS) return line;
  let left = LINE_CHARS;
  const kept: AnsiLine = [];
  for (const span of line) {
    if (left <= 0) break;
    kept.push({ ...span, text: span.text.slice(0, left) });
    left -= span.text.length;
  }
  return [...kept, { text: " …", style: {} }];
}

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

export function classOf(style: Style): string {
  const names: string[] = [];
  const [fg, bg] = style.inverse ? [style.bg ?? -1, style.fg ?? -1] : [style.fg, style.bg];
  if (fg !== undefined && fg >= 0) names.push(`fg-${COLOURS[fg % 8]}`);
  if (bg !== undefined && bg >= 0) names.push(`bg-${COLOURS[bg % 8]}`);
  if (style.inverse && bg === -1) names.push("inverse");
  for (const name of ["bold", "dim", "italic", "underline", "strike"] as const) if (style[name]) names.push(name);
  return names.join(" ");
}
