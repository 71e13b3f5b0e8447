// A changed file: its lines one below the other, or old and new side by side.
import { memo, useMemo, useState } from "react";
import { IconButton } from "../parts/Button";
import { diffOf, sideBySide, type DiffLine, type FileDiff } from "./diff";
import { useDiffLayout } from "./diffLayout";
import { cutLine, visible } from "./visible";

// All diffs of a card together show about so many at first, each at least a few.
const SHOWN_LINES = 300;
const FEWEST_LINES = 20;
const MOST_LINES = 5_000;
const LINE_CHARS = 2_000;

interface Props {
  path: string;
  before: string | undefined;
  after: string;
  /** How many diffs are shown together: each gets its part of the time. */
  share?: number;
}

export const Diff = memo(function Diff({ path, before, after, share = 1 }: Props) {
  const diff = useMemo(() => diffOf(before ?? "", after, share), [before, after, share]);
  const [layout, setLayout] = useDiffLayout();
  const [isWhole, setWhole] = useState(false);
  const shownLines = Math.max(FEWEST_LINES, Math.floor(SHOWN_LINES / share));
  const total = diff.hunks.reduce((n, hunk) => n + hunk.lines.length, 0);
  const isSplit = layout === "split" && before !== undefined;
  return (
    <figure className="diff" aria-label={`Changes of ${cutLine(path, 300)}`}>
      <figcaption className="diff-head">
        <span className="path mono" title={cutLine(path, 600)}>
          {cutLine(path, 600)}
        </span>
        {before === undefined && <span className="badge good">new</span>}
        <span className="diff-count added">+{diff.added}</span>
        <span className="diff-count removed">−{diff.removed}</span>
        <IconButton
          icon={layout === "split" ? "unified" : "split"}
          label={layout === "split" ? "Show unified" : "Show side by side"}
          className="small-button wide-only"
          onClick={() => setLayout(layout === "split" ? "unified" : "split")}
        />
      </figcaption>
      <div className="diff-body" tabIndex={0} role="group" aria-label={`Changed lines of ${cutLine(path, 300)}`}>
        {total === 0 ? (
          <p className="faint small diff-none">No line differs.</p>
        ) : (
          <table className={isSplit ? "split" : "unified"}>
            <Lines diff={diff} isSplit={isSplit} limit={isWhole ? MOST_LINES : shownLines} />
          </table>
        )}
      </div>
      {total > shownLines && !isWhole && (
        <button type="button" className="link cut" onClick={() => setWhole(true)}>
          Show all ({total} lines)
        </button>
      )}
      {total > MOST_LINES && isWhole && (
        <p className="faint small">
          The first {MOST_LINES} of {total} lines
        </p>
      )}
    </figure>
  );
});

function Lines({ diff, isSplit, limit }: { diff: FileDiff; isSplit: boolean; limit: number }) {
  const columns = isSplit ? 4 : 3;
  let left = limit;
  return (
    <>
      {diff.hunks.map((hunk, i) => {
        if (left <= 0) return null;
        const lines = hunk.lines.slice(0, left);
        left -= lines.length;
        return (
          <tbody key={i}>
            {hunk.skipped > 0 && <Skipped n={hunk.skipped} columns={columns} />}
            {isSplit
              ? sideBySide(lines).map(([before, after], j) => (
                  <tr key={j}>
                    <Half line={before} side="before" />
                    <Half line={after} side="after" />
                  </tr>
                ))
              : lines.map((line, j) => <Unified key={j} line={line} />)}
          </tbody>
        );
      })}
      {left > 0 && diff.skippedAfter > 0 && (
        <tbody>
          <Skipped n={diff.skippedAfter} columns={columns} />
        </tbody>
      )}
    </>
  );
}

const SIGN = { same: " ", added: "+", removed: "−" } as const;
const WORD = { same: "", added: "added: ", removed: "removed: " } as const;

function Unified({ line }: { line: DiffLine }) {
  return (
    <tr className={line.kind}>
      <td className="number">{line.before ?? ""}</td>
      <td className="number">{line.after ?? ""}</td>
      <td className="line" data-sign={SIGN[line.kind]}>
        <span className="sr-only">{WORD[line.kind]}</span>
        <Words line={line} />
        <End line={line} />
      </td>
    </tr>
  );
}

function Half({ line, side }: { line: DiffLine | undefined; side: "before" | "after" }) {
  if (!line) return <td colSpan={2} className="nothing" />;
  return (
    <>
      <td className={`number ${line.kind}`}>{line[side] ?? ""}</td>
      <td className={`line ${line.kind}`} data-sign={SIGN[line.kind]}>
        <Words line={line} />
        <End line={line} />
      </td>
    </>
  );
}

function Words({ line }: { line: DiffLine }) {
  if (!line.parts) {
    const isLong = line.text.length > LINE_CHARS;
    return visible(isLong ? `${line.text.slice(0, LINE_CHARS)} … (${line.text.length} characters)` : line.text) || " ";
  }
  return line.parts.map((part, i) => (part.isChanged ? <mark key={i}>{visible(part.text)}</mark> : visible(part.text)));
}

function End({ line }: { line: DiffLine }) {
  return line.lacksEnd && <span className="faint"> \ No newline at end of file</span>;
}

function Skipped({ n, columns }: { n: number; columns: number }) {
  return (
    <tr className="skipped">
      <td colSpan={columns}>
        {n} {n === 1 ? "line" : "lines"} unchanged
      </td>
    </tr>
  );
}
