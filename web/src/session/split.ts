// A long answer in pieces that can be drawn by themselves: each is a row of its own, so that
// only what is on the screen is in the page, and only the last one is parsed while it grows.
//
// In: Markdown that only grows. Out: pieces that give the same blocks as the whole, except
// that a list, a paragraph or a line of many kilobytes may be divided.
//
// A text is a value. What it has closed is shared with what grows from it, and only its open end,
// which is short, is made anew: if all of it were, each piece would be a view into another copy of
// the whole, and the engine would keep them all.

export interface Piece {
  /** Where it begins in the whole. */
  start: number;
  text: string;
}

/** The pieces that change no more, the last one first. */
export interface ClosedPieces {
  readonly piece: Piece;
  readonly before: ClosedPieces | undefined;
}

export interface GrowingText {
  readonly closed: ClosedPieces | undefined;
  /** Where the open end begins in the whole. */
  readonly start: number;
  readonly open: string;
  /** The opening line of the fence that the open end begins in. */
  readonly fence: string | undefined;
  /** The first line of the open end whose end has not come, and what is known there. */
  readonly line: { readonly at: number; readonly fence: string | undefined; readonly isAfterBlank: boolean; readonly isWithin: boolean };
}

export const NO_TEXT: GrowingText = {
  closed: undefined,
  start: 0,
  open: "",
  fence: undefined,
  line: { at: 0, fence: undefined, isAfterBlank: false, isWithin: false },
};

// A piece is ended at the first blank line after this much …
const GOOD_LENGTH = 4_000;
// … or at any line after this much, if there is no blank one …
const LONGEST = 8_000;
// … or within a line that is longer than this.
const LONGEST_LINE = 64_000;

/** The open end is never longer, so nothing that comes costs more than this and its own length. */
export const LONGEST_OPEN = LONGEST + 2 * LONGEST_LINE;

export function grow(text: GrowingText, words: string): GrowingText {
  const open = text.open + words;
  let { closed, fence } = text;
  let { at, fence: lineFence, isAfterBlank, isWithin } = text.line;
  let from = 0;
  let newline = -1;
  while (at < open.length) {
    const length = at - from;
    const isGood = length > GOOD_LENGTH && isAfterBlank && !isWithin && lineFence === undefined && /[^\s>*+\-\d]/.test(open.charAt(at));
    if (length > 0 && (isGood || length > LONGEST)) {
      closed = { piece: piece(open.slice(from, at), text.start + from, fence), before: closed };
      from = at;
      fence = lineFence;
    }
    // What was open before has no newline after the line's beginning.
    if (newline < at) newline = indexOrEnd(open, Math.max(at, text.open.length));
    const most = at + LONGEST_LINE;
    if (newline === Infinity && open.length <= most) break;
    // Half a character is none.
    const next = newline < most ? newline + 1 : isHigh(open.charCodeAt(most - 1)) ? most - 1 : most;
    const line = open.slice(at, Math.min(next, at + 200));
    if (!isWithin) lineFence = fenceAfter(lineFence, line);
    isAfterBlank = !isWithin && line.trim() === "";
    isWithin = next !== newline + 1;
    at = next;
  }
  return {
    closed,
    start: text.start + from,
    open: open.slice(from),
    fence,
    line: { at: at - from, fence: lineFence, isAfterBlank, isWithin },
  };
}

/** The open end, as it can be drawn. */
export function openPiece(text: GrowingText): Piece {
  return piece(text.open, text.start, text.fence);
}

export function wholeText(text: GrowingText): string {
  const parts = [text.open];
  let end = text.start;
  for (let closed = text.closed; closed; closed = closed.before) {
    const { start, text: words } = closed.piece;
    // A fence that was put before it is none of its words.
    parts.push(words.slice(words.length - (end - start)));
    end = start;
  }
  return parts.reverse().join("");
}

export function splitMarkdown(text: string): readonly Piece[] {
  const grown = grow(NO_TEXT, text);
  const pieces = grown.open === "" && grown.closed ? [] : [openPiece(grown)];
  for (let { closed } = grown; closed; closed = closed.before) pieces.push(closed.piece);
  return pieces.reverse();
}

function piece(words: string, start: number, fence: string | undefined): Piece {
  return { start, text: fence === undefined ? words : `${fence}\n${words}` };
}

function indexOrEnd(text: string, from: number): number {
  const found = text.indexOf("\n", from);
  return found < 0 ? Infinity : found;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

function fenceAfter(open: string | undefined, line: string): string | undefined {
  const match = /^ {0,3}(`{3,}|~{3,})([^\n]*)/.exec(line);
  if (!match) return open;
  const [, marks = "", info = ""] = match;
  if (open === undefined) return marks.startsWith("`") && info.includes("`") ? undefined : marks + info.trimEnd();
  const openMarks = /^(`+|~+)/.exec(open)?.[0] ?? "";
  const closes = openMarks.startsWith(marks.charAt(0)) && marks.length >= openMarks.length && info.trim() === "";
  return closes ? undefined : open;
}
