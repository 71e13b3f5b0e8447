// The output of a program to a terminal, as lines of styled spans. A state machine: any cut of the
// text gives the same lines, and sequences it does not know are dropped, within bounds.
//
// Kept: colours (as one of sixteen, so that they are readable in both themes), weight, carriage
// return, backspace, tabs, erasing in the line. Dropped: moving about, titles, links, queries.

export interface Style {
  fg?: number;
  bg?: number;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
  inverse?: boolean;
}

export interface AnsiSpan {
  text: string;
  style: Style;
}

export type AnsiLine = AnsiSpan[];

const PLAIN: Style = {};
// A sequence that does not end is no sequence: its text must not vanish.
const LONGEST_SEQUENCE = 4096;
// Beyond this column a line is not kept cell by cell: it can only grow.
const LONGEST_LINE = 20_000;
// Moving to a far column and erasing make many cells out of a few characters. All of it together
// may make so many; after that the cursor stays at the end of what is there.
const MOST_MADE = 500_000;

type State = "text" | "escape" | "csi" | "string" | "stringEscape" | "charset";

export class Ansi {
  #lines: AnsiLine[] = [];
  #chars: string[] = [];
  #styles: Style[] = [];
  #column = 0;
  #style: Style = PLAIN;
  #state: State = "text";
  #sequence = "";
  #made = 0;

  /** How many cells were made by moving and erasing alone. */
  get made(): number {
    return this.#made;
  }

  feed(text: string): void {
    // By code point, so that no emoji is torn; a cut between two halves is healed before.
    for (const char of this.#heal(text)) this.#take(char);
  }

  /** All lines so far; the last one may still grow. */
  lines(): AnsiLine[] {
    const last = this.#spans();
    return last.length > 0 || this.#lines.length === 0 ? [...this.#lines, last] : [...this.#lines];
  }

  #half = "";

  #heal(text: string): string {
    const all = this.#half + text;
    const last = all.charCodeAt(all.length - 1);
    const isHalf = last >= 0xd800 && last <= 0xdbff;
    this.#half = isHalf ? all.slice(-1) : "";
    return isHalf ? all.slice(0, -1) : all;
  }

  #take(char: string): void {
    switch (this.#state) {
      case "text":
        return this.#print(char);
      case "escape":
        return this.#escape(char);
      case "charset":
        this.#state = "text";
        return;
      case "csi":
        return this.#csi(char);
      case "string":
      case "stringEscape":
        return this.#string(char);
    }
  }

  #print(char: string): void {
    switch (char) {
      case "\u001b":
        this.#state = "escape";
        this.#sequence = "";
        return;
      case "\u009b":
        this.#state = "csi";
        this.#sequence = "";
        return;
      case "\n":
        this.#lines.push(this.#spans());
        this.#chars = [];
        this.#styles = [];
        this.#column = 0;
        return;
      case "\r":
        this.#column = 0;
        return;
      case "\b":
        this.#column = Math.max(0, this.#column - 1);
        return;
      case "\t": {
        const stop = this.#column >= LONGEST_LINE ? this.#column + 1 : (Math.floor(this.#column / 8) + 1) * 8;
        // Beyond the longest line `#put` moves the column to its end.
        for (let n = stop - this.#column; n > 0; n--) this.#put(" ");
        return;
      }
      case "\u0007":
        return; // a bell
      default:
        return this.#put(char);
    }
  }

  #put(char: string): void {
    if (this.#column >= LONGEST_LINE) this.#column = Math.max(LONGEST_LINE, this.#chars.length);
    const missing = this.#column - this.#chars.length;
    if (missing > 0 && !this.#afford(missing)) this.#column = this.#chars.length;
    while (this.#chars.length < this.#column) {
      this.#chars.push(" ");
      this.#styles.push(PLAIN);
    }
    this.#chars[this.#column] = char;
    this.#styles[this.#column] = this.#style;
    this.#column += 1;
  }

  #escape(char: string): void {
    if (char === "[") this.#state = "csi";
    // Title, device control, privacy message, application command, start of string.
    else if ("]PX^_".includes(char)) this.#state = "string";
    else if ("()*+-./#%".includes(char)) this.#state = "charset";
    else if (char === "\u001b") this.#state = "escape";
    else {
      this.#state = "text";
      if (char === "c") this.#style = PLAIN;
      // A newline is never part of a sequence.
      else if (char === "\n" || char === "\r") this.#print(char);
    }
  }

  #csi(char: string): void {
    if (char === "\u001b" || char === "\n" || char === "\r") {
      this.#state = "text";
      this.#print(char);
      return;
    }
    if (char >= "@" && char <= "~") {
      this.#state = "text";
      this.#command(char, this.#sequence);
      return;
    }
    this.#sequence += char;
    if (this.#sequence.length > LONGEST_SEQUENCE || char > "~") this.#giveUp();
  }

  #string(char: string): void {
    if (this.#state === "stringEscape") {
      this.#state = "text";
      if (char !== "\\") {
        // It was another sequence that began, and this one is over without an end.
        this.#state = "escape";
        this.#sequence = "";
        this.#escape(char);
      }
      return;
    }
    if (char === "\u0007" || char === "\u009c") this.#state = "text";
    else if (char === "\u001b") this.#state = "stringEscape";
    else {
      this.#sequence += char;
      if (this.#sequence.length > LONGEST_SEQUENCE) this.#giveUp();
    }
  }

  /** Prints a sequence that turned out to be none. */
  #giveUp(): void {
    const text = this.#sequence;
    this.#sequence = "";
    this.#state = "text";
    for (const char of text) this.#print(char);
  }

  #command(final: string, params: string): void {
    if (final === "m") this.#style = styled(this.#style, params);
    else if (final === "K") this.#erase(params);
    else if (final === "G") this.#column = Math.min(LONGEST_LINE, Math.max(0, (parseInt(params, 10) || 1) - 1));
    else if (final === "C") this.#column = Math.min(LONGEST_LINE, this.#column + Math.min(LONGEST_LINE, parseInt(params, 10) || 1));
    else if (final === "D") this.#column = Math.max(0, this.#column - (parseInt(params, 10) || 1));
  }

  #erase(params: string): void {
    if (params === "" || params === "0") {
      this.#chars.length = Math.min(this.#chars.length, this.#column);
      this.#styles.length = this.#chars.length;
    } else {
      const end = params === "1" ? Math.min(this.#column + 1, this.#chars.length) : this.#chars.length;
      if (!this.#afford(end)) return;
      for (let i = 0; i < end; i++) {
        this.#chars[i] = " ";
        this.#styles[i] = PLAIN;
      }
    }
  }

  #afford(cells: number): boolean {
    if (this.#made + cells > MOST_MADE) return false;
    this.#made += cells;
    return true;
  }

  #spans(): AnsiLine {
    const spans: AnsiLine = [];
    for (let i = 0; i < this.#chars.length;) {
      const style = this.#styles[i] ?? PLAIN;
      let end = i + 1;
      while (end < this.#chars.length && this.#styles[end] === style) end += 1;
      spans.push({ text: this.#chars.slice(i, end).join(""), style });
      i = end;
    }
    return spans;
  }
}

function styled(before: Style, params: string): Style {
  // Private parameters (`?25`, `>4`) are no colours.
  if (/[^0-9;:]/.test(params)) return before;
  const codes = params.split(/[;:]/).map((each) => parseInt(each, 10) || 0);
  let style: Style = { ...before };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 9) style.strike = true;
    else if (code === 22) style.bold = style.dim = undefined;
    else if (code === 23) style.italic = undefined;
    else if (code === 24) style.underline = undefined;
    else if (code === 27) style.inverse = undefined;
    else if (code === 29) style.strike = undefined;
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 90 && code <= 97) style.fg = code - 90 + 8;
    else if (code === 39) style.fg = undefined;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 100 && code <= 107) style.bg = code - 100 + 8;
    else if (code === 49) style.bg = undefined;
    else if (code === 38 || code === 48) {
      const isIndexed = codes[i + 1] === 5;
      const colour = isIndexed ? ofIndex(codes[i + 2] ?? 0) : nearest(codes[i + 2] ?? 0, codes[i + 3] ?? 0, codes[i + 4] ?? 0);
      if (code === 38) style.fg = colour;
      else style.bg = colour;
      i += isIndexed ? 2 : 4;
    }
  }
  return style;
}

function ofIndex(index: number): number {
  if (index < 16) return index;
  if (index >= 232) return index < 244 ? 8 : 7;
  const level = (n: number) => (n === 0 ? 0 : 55 + n * 40);
  const cube = index - 16;
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

/** One of the sixteen: by which of the three lights are on, and how bright they are. */
function nearest(r: number, g: number, b: number): number {
  const most = Math.max(r, g, b);
  const least = Math.min(r, g, b);
  if (most - least < 24) return most < 64 ? 0 : most < 160 ? 8 : 7;
  const middle = (most + least) / 2;
  return (r > middle ? 1 : 0) + (g > middle ? 2 : 0) + (b > middle ? 4 : 0) + (least > 96 ? 8 : 0);
}
