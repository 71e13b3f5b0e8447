// A list that may be giant: its beginning, and the rest when somebody wants it.
import { useState, type ReactNode } from "react";

interface Props<T> {
  items: readonly T[];
  shown: number;
  /** The noun for the items, in the button: `files`. */
  noun: string;
  children: (items: readonly T[]) => ReactNode;
}

// The most items that one press adds: each is drawn at once.
const STEP = 200;

export function Limited<T>({ items, shown, noun, children }: Props<T>) {
  const [limit, setLimit] = useState(shown);
  const left = items.length - limit;
  if (left <= 0) return children(items);
  return (
    <>
      {children(items.slice(0, limit))}
      <button type="button" className="link cut" onClick={() => setLimit(limit + STEP)}>
        Show {Math.min(STEP, left)} more of {items.length} {noun}
      </button>
    </>
  );
}
