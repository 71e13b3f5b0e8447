// Text that may be giant: cut until somebody wants all of it.
import { useState, type ReactNode } from "react";
import { bytes } from "../parts/numbers";
import { visible } from "./visible";

// Browsers take seconds to lay out a line of a megabyte.
export const LONGEST_LINE = 10_000;
const LONGEST_TEXT = 40_000;
const SHOWN = 4_000;
// Text that one press shows at most: more at once would stop the page.
const STEP = 200_000;

/** Whether a line is too long to be given to anything that looks at it more than once. */
export function hasGiantLine(text: string): boolean {
  if (text.length <= LONGEST_LINE) return false;
  for (let start = 0; start < text.length;) {
    const end = text.indexOf("\n", start);
    if ((end < 0 ? text.length : end) - start > LONGEST_LINE) return true;
    if (end < 0) return false;
    start = end + 1;
  }
  return false;
}

export function isGiant(text: string): boolean {
  return text.length > LONGEST_TEXT || hasGiantLine(text);
}

interface Props {
  text: string;
  /** Shows the text; it gets the part that is to be shown. */
  children: (text: string) => ReactNode;
  /** Shows the end instead of the beginning. */
  fromEnd?: boolean;
}

export function Cut({ text, children, fromEnd }: Props) {
  const [wanted, setWanted] = useState(0);
  if (!isGiant(text) || wanted >= text.length) return children(text);
  const shown = wanted || SHOWN;
  const part = fromEnd ? text.slice(-shown) : text.slice(0, shown);
  const rest = (
    <button type="button" className="link cut" onClick={() => setWanted(wanted + STEP)}>
      {wanted + STEP >= text.length ? `Show all (${bytes(text.length)})` : `Show more (${bytes(wanted + STEP)} of ${bytes(text.length)})`}
    </button>
  );
  return (
    <>
      {fromEnd && rest}
      {children(part)}
      {!fromEnd && rest}
    </>
  );
}

/** Plain text with its line breaks, cut if it is giant. */
export function PlainText({ text }: { text: string }) {
  return <Cut text={text}>{(part) => <div className="plain">{visible(part)}</div>}</Cut>;
}
