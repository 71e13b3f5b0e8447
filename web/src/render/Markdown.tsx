// Markdown of an agent as React elements. Only the lexer of `marked` is used: no HTML is ever
// made, so nothing in the text can become an element that we did not write here.
import { marked, type Token, type Tokens } from "marked";
import { memo, useMemo, useState, type ReactNode } from "react";
import { Code } from "./Code";
import { isCostly } from "./lexerWork";
import { hasGiantLine, PlainText } from "./Cut";
import { Spans } from "./Spans";

interface Props {
  text: string;
  /** Still growing: the last block is drawn again and again, so it is kept cheap. */
  isLive?: boolean;
}

export const Markdown = memo(function Markdown({ text, isLive = false }: Props) {
  const tokens = useMemo(() => lex(text), [text]);
  if (!tokens) return <PlainText text={text} />;
  return (
    <div className="markdown">
      {tokens.map((token, i) => (
        // Blocks only come at the end, so the place is a stable key.
        <Block key={i} raw={token.raw} token={token} isLive={isLive && i === tokens.length - 1} />
      ))}
    </div>
  );
});

// The longest text for the lexer; callers with a longer one divide it first.
const LONGEST = 40_000;

/** The blocks; undefined for text that is not to be given to the lexer. */
export function lex(text: string): Token[] | undefined {
  // Not even its regular expressions should see a line of a megabyte, or one of nothing but marks.
  if (text.length > LONGEST || hasGiantLine(text) || isCostly(text)) return undefined;
  try {
    return marked.lexer(text, { gfm: true }).filter((token) => token.type !== "space" && token.type !== "def");
  } catch {
    // Nested deeper than the stack; it is still text.
    return undefined;
  }
}

// The same source is the same block, whatever objects it came in.
const Block = memo(
  function Block({ token, isLive }: { raw: string; token: Token; isLive: boolean }) {
    return <BlockToken token={token} depth={0} isLive={isLive} />;
  },
  (a, b) => a.raw === b.raw && a.isLive === b.isLive,
);

// The deepest nesting that is drawn: nobody reads more, and every level costs stack.
const DEEPEST = 24;

function BlockToken({ token, depth, isLive }: { token: Token; depth: number; isLive: boolean }): ReactNode {
  if (depth > DEEPEST) return <PlainText text={token.raw} />;
  const inside = (tokens: Token[] | undefined) =>
    tokens?.map((each, i) => <BlockToken key={i} token={each} depth={depth + 1} isLive={isLive} />);
  switch (token.type) {
    case "heading":
      return <Heading token={token as Tokens.Heading} />;
    case "paragraph":
      return (
        <p>
          <Spans tokens={token.tokens} />
        </p>
      );
    case "text":
      return token.tokens ? <Spans tokens={token.tokens} /> : <PlainText text={token.raw} />;
    case "code":
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang} isLive={isLive} />;
    case "blockquote":
      return <blockquote>{inside(token.tokens)}</blockquote>;
    case "list":
      return <List token={token as Tokens.List} depth={depth} isLive={isLive} />;
    case "table":
      return <Table token={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "space":
    case "def":
      return null;
    case "checkbox":
      // The list item draws it.
      return null;
    default:
      return <PlainText text={token.raw.trimEnd()} />; // raw HTML, and what a newer lexer may bring
  }
}

function Heading({ token }: { token: Tokens.Heading }) {
  // The page has the first two levels for itself.
  const Level = `h${Math.min(6, token.depth + 2)}` as "h3" | "h4" | "h5" | "h6";
  return (
    <Level className={`heading-${token.depth}`}>
      <Spans tokens={token.tokens} />
    </Level>
  );
}

function List({ token, depth, isLive }: { token: Tokens.List; depth: number; isLive: boolean }) {
  const items = token.items.map((item, i) => (
    <li key={i} className={item.task ? "task" : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked ?? false} readOnly disabled aria-label={item.checked ? "done" : "to do"} />
      )}
      {item.tokens.map((each, j) => (
        <BlockToken key={j} token={each} depth={depth + 1} isLive={isLive} />
      ))}
    </li>
  ));
  if (!token.ordered) return <ul>{items}</ul>;
  return <ol start={typeof token.start === "number" && token.start !== 1 ? token.start : undefined}>{items}</ol>;
}

// Each is an element or more.
const SHOWN_CELLS = 1_500;

function Table({ token }: { token: Tokens.Table }) {
  const [isWhole, setWhole] = useState(false);
  const limit = Math.max(5, Math.floor(SHOWN_CELLS / token.header.length));
  const rows = isWhole ? token.rows : token.rows.slice(0, limit);
  const align = (i: number) => token.align[i] ?? undefined;
  return (
    <div className="table" role="group" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, i) => (
              <th key={i} className={align(i)}>
                <Spans tokens={cell.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, j) => (
                <td key={j} className={align(j)}>
                  <Spans tokens={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length < token.rows.length && (
        <button type="button" className="link cut" onClick={() => setWhole(true)}>
          Show all ({token.rows.length} rows)
        </button>
      )}
    </div>
  );
}
