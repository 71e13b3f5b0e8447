// Markdown of any length: in pieces, a few of them at first, more when wanted.
import { useMemo, useState } from "react";
import { bytes } from "../parts/numbers";
import { splitMarkdown } from "../session/split";
import { Markdown } from "./Markdown";

// About two screens; each further press shows as much again.
const SHOWN = 3;

export function LongMarkdown({ text, isLive = false }: { text: string; isLive?: boolean }) {
  const [shown, setShown] = useState(SHOWN);
  const pieces = useMemo(() => splitMarkdown(text), [text]);
  if (pieces.length <= shown) return pieces.map((piece, i) => <Markdown key={piece.start} text={piece.text} isLive={isLive && i === pieces.length - 1} />);
  // What grows is interesting at its end.
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
