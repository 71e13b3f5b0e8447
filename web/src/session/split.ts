// A long answer in pieces that can be drawn by themselves: each is a row of its own, so that
// only what is on the screen is in the page, and only the last one is parsed while it grows.
//
// In: Markdown that only grows. Out: pieces that give the same blocks as the whole, except
// that a list or a paragraph of many kilobytes may be divided.

export interface Piece {
  /** Where it begins in the whole. */
  start: number;
  text: string;
}

// A piece is ended at the first blank line after this much …
const GOOD_LENGTH = 4_000;
// … or at any line after this much, if there is no blank one.
const LONGEST = 8_000;

interface Known {
  text: string;
  pieces: Piece[];
  /** The opening line of the fence that the last piece begins in. */
  fence: string | undefined;
}

/** Remembers what it has divided, for texts that grow. */
export class Splitter {
  #known = new Map<string, Known>();

  pieces(key: string, text: string): readonly Piece[] {
    if (text.length <= GOOD_LENGTH) return [{ start: 0, text }];
    const known = this.#known.get(key);
    if (known && known.text === text) return known.pieces;
    const last = known?.pieces[known.pieces.length - 1];
    // The last piece may have grown; those before it are as they were.
    const canGoOn = known && last && text.length > known.text.length && text.startsWith(known.text);
    const next: Known = canGoOn
      ? { text, pieces: known.pieces.slice(0, -1), fence: known.fence }
      : { text, pieces: [], fence: undefined };
    divide(next, canGoOn ? last.start : 0);
    this.#known.set(key, next);
    return next.pieces;
  }
}

export function splitMarkdown(text: string): readonly Piece[] {
  return new Splitter().pieces("", text);
}

function divide(into: Known, from: number): void {
  const { text } = into;
  let start = from;
  let fence = into.fence;
  let pieceFence = fence;
  let wasBlank = false;
  for (let at = from; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const next = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, Math.min(next, at + 200));
    const length = at - start;
    const isGood = length > GOOD_LENGTH && wasBlank && fence === undefined && /^[^\s>*+\-\d]/.test(line);
    if (at > start && (isGood || length > LONGEST)) {
      into.pieces.push(piece(text, start, at, pieceFence));
      start = at;
      pieceFence = fence;
    }
    fence = fenceAfter(fence, line);
    wasBlank = line.trim() === "";
    at = next;
  }
  into.fence = pieceFence;
  into.pieces.push(piece(text, start, text.length, pieceFence));
}

function piece(text: string, start: number, end: number, fence: string | undefined): Piece {
  const part = text.slice(start, end);
  return { start, text: fence === undefined ? part : `${fence}\n${part}` };
}

function fenceAfter(open: string | undefined, line: string): string | undefined {
  const match = /^ {0,3}(`{3,}|~{3,})([^\n]*)/.exec(line);
  if (!match) return open;
  const [, marks = "", info = ""] = match;
  if (open === undefined) return marks.startsWith("`") && info.includes("`") ? undefined : marks + info.trimEnd();
  const openMarks = /^(`+|~+)/.exec(open)?.[0] ?? "";
  const closes = marks[0] === openMarks[0] && marks.length >= openMarks.length && info.trim() === "";
  return closes ? undefined : open;
}
