// An estimate of the work that Markdown takes, before it is lexed.
//
// The lexer of `marked` looks from every mark that could begin emphasis or a link to the end of
// its paragraph, so a paragraph costs its marks times its length. An answer that people write
// stays far below the limit; one that is made of marks would stop the page for minutes.

const MOST_WORK = 1_000_000;
// Quotes within quotes: each level is lexed anew.
const DEEPEST_QUOTE = 30;

export function isCostly(text: string): boolean {
  return workOf(text) > MOST_WORK;
}

/** Marks times length, over all paragraphs. One look at each character. */
export function workOf(text: string): number {
  let work = 0;
  let [marks, length] = [0, 0];
  let fence: string | undefined;
  let isTable = false;
  const endParagraph = () => {
    work += marks * length;
    [marks, length] = [0, 0];
  };
  for (const line of text.split("\n")) {
    const opening = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (opening !== undefined && (fence === undefined || (opening.startsWith(fence) && line.trim() === opening))) {
      fence = fence === undefined ? opening : undefined;
      endParagraph();
      continue;
    }
    // Code is not looked into.
    if (fence !== undefined) continue;
    if (line.trim() === "") {
      isTable = false;
      endParagraph();
      continue;
    }
    if (/^ {0,3}\|?[ \t]*:?-+:?[ \t]*\|/.test(line)) isTable = true;
    // Items, headings and rows of a table are paragraphs of their own.
    if (isTable || /^\s*(?:[-+*]|\d{1,9}[.)]|#{1,6})\s/.test(line)) endParagraph();
    if (quoteDepth(line) > DEEPEST_QUOTE) return Infinity;
    marks += marksIn(line);
    length += line.length;
  }
  endParagraph();
  return work;
}

function marksIn(line: string): number {
  let n = 0;
  for (let i = 0; i < line.length; i++) {
    const char = line[i];
    if (char === "*" || char === "_" || char === "[" || char === "]" || char === "~" || char === "`" || char === "<") n += 1;
  }
  return n;
}

function quoteDepth(line: string): number {
  let depth = 0;
  for (let i = 0; i < line.length; i++) {
    if (line[i] === ">") depth += 1;
    else if (line[i] !== " " && line[i] !== "\t") break;
  }
  return depth;
}
