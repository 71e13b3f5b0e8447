// Markdown of any length: in pieces, a few of them at first, more on request.
import { useMemo, useState } from "react";
import { bytes } from "../parts/numbers";
import { splitMarkdown } from "../session/split";
import { Markdown } from "./Markdown";

// Pieces shown at first, about two screens; each further press shows as much again.
const SHOWN = 3;

// The longest piece, so nothing beyond so many of them needs to be looked at.
const PIECE_CHARS = 10_000;

/** The beginning of a text, or the end of one that grows, from a line on. */
function partOf(text: string, length: number, isEnd: boolean): string {
  if (text.length <= length) return text;
  if (!isEnd) return text.slice(0, length);
  const from = text.length - length;
  return text.slice(text.indexOf("\n", from) + 1 || from);
}

export function LongMarkdown({ text, isLive = false }: { text: string; isLive?: boolean }) {
  const [shown, setShown] = useState(SHOWN);
  const part = partOf(text, shown * PIECE_CHARS, isLive);
  const pieces = useMemo(() => splitMarkdown(part), [part]);
  if (pieces.length <= shown && part.length === text.length)
    return pieces.map((piece, i) => <Markdown key={piece.start} text={piece.text} isLive={isLive && i === pieces.length - 1} />);
  // A text that grows is interesting at its end.
  const some = isLive ? pieces.slice(-shown) : pieces.slice(0, shown);
  const more = (
    <button type="button" className="link cut" onClick={() => setShown(shown * 2)}>
      Show more ({bytes(text.length)} in all)
    </button>
  );
  return (
    <>
      {isLive && more}
      {some.map((piece, i) => (
        <Markdown key={piece.start} text={piece.text} isLive={isLive && i === some.length - 1} />
      ))}
      {!isLive && more}
    </>
  );
}
