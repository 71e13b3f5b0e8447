// Output of a terminal, the end of it first; all of it when wanted.
import { memo, useMemo, useState } from "react";
import { Ansi, type AnsiLine, type Style } from "./ansi";
import { visible } from "./visible";

const LAST_LINES = 200;
const ALL_LINES = 5_000;
// More than this of one line is not laid out until somebody wants it.
const LINE_CHARS = 2_000;

export const Terminal = memo(function Terminal({ text, label = "Output" }: { text: string; label?: string }) {
  const [isWhole, setWhole] = useState(false);
  const lines = useMemo(() => {
    const ansi = new Ansi();
    ansi.feed(text);
    const all = ansi.lines();
    while (all.length > 1 && all[all.length - 1]?.length === 0) all.pop();
    return all;
  }, [text]);
  const shown = lines.slice(-(isWhole ? ALL_LINES : LAST_LINES));
  const isCut = shown.length < lines.length || (!isWhole && shown.some((line) => lengthOf(line) > LINE_CHARS));
  return (
    <div className="terminal">
      {isCut && !isWhole && (
        <button type="button" className="link" onClick={() => setWhole(true)}>
          Show all ({lines.length} lines)
        </button>
      )}
      {isCut && isWhole && <p className="faint small">The last {ALL_LINES} of {lines.length} lines</p>}
      <pre tabIndex={0} role="region" aria-label={label}>
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

/** Text of one look, also over several lines: thousands of plain lines are one piece of text. */
function runsOf(lines: AnsiLine[]): { name: string; text: string }[] {
  const runs: { name: string; text: string }[] = [];
  const add = (name: string, text: string) => {
    const last = runs[runs.length - 1];
    if (last && last.name === name) last.text += text;
    else runs.push({ name, text });
  };
  for (const line of lines) {
    for (const span of line) add(classOf(span.style), visible(span.text));
    add("", "\n");
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
