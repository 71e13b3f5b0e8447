// Code as coloured spans. In a language that nobody knows it is plain text.
//
// The languages are a part of the page, and not loaded when first needed: whoever has the daemon's
// address by then would put a script of its own into a page that is logged in.
import type { ElementContent, Root, RootContent } from "hast";
import { Fragment, useMemo, type ReactNode } from "react";
import { lowlight } from "./languages";
import { visible } from "./visible";

// More than this is not coloured at all.
const LONGEST = 60_000;
const LONGEST_LIVE = 6_000;

export function useHighlighted(text: string, language: string | undefined, isLive: boolean): ReactNode {
  const wanted = language !== undefined && text.length <= (isLive ? LONGEST_LIVE : LONGEST);
  return useMemo(() => {
    if (!wanted || language === undefined || !lowlight.registered(language)) return visible(text);
    try {
      return coloured((part) => lowlight.highlight(language, part), text, isLive ? MOST_MS_LIVE : MOST_MS);
    } catch {
      return visible(text);
    }
  }, [text, language, wanted, isLive]);
}

// The rules of some languages take time with the square of what they are given (a page of C
// without a parenthesis: half a minute), and nobody can stop them. So they are given little at
// a time, and nothing more once it has taken longer than a person notices.
const MOST_MS = 100;
const MOST_MS_LIVE = 12;

export function coloured(highlight: (part: string) => Root, text: string, mostMs: number, clock = () => performance.now()): ReactNode {
  const start = clock();
  return portions(text).map((part, i) => {
    const isPlain = part.length > 2 * LONGEST_PORTION || clock() - start > mostMs;
    return isPlain ? visible(part) : <Fragment key={i}>{drawn(highlight(part))}</Fragment>;
  });
}

// A portion ends before the first line that looks like a new beginning after this much …
const GOOD_PORTION = 800;
// … or before any line after this much: then a comment over several lines may lose its colour.
const LONGEST_PORTION = 1_600;

/** The text in parts that can be coloured by themselves. */
export function portions(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let wasBlank = false;
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf("\n", at);
    const next = newline < 0 ? text.length : newline + 1;
    const length = at - start;
    const isGood = wasBlank && length > GOOD_PORTION && /[^\s*]/.test(text[at] ?? " ");
    if (length > 0 && (isGood || next - start > LONGEST_PORTION)) {
      parts.push(text.slice(start, at));
      start = at;
    }
    wasBlank = next - at <= 1;
    at = next;
  }
  if (start < text.length) parts.push(text.slice(start));
  return parts;
}

function drawn(root: Root): ReactNode {
  return root.children.map((node, i) => drawNode(node, i));
}

function drawNode(node: RootContent | ElementContent, key: number): ReactNode {
  if (node.type === "text") return visible(node.value);
  if (node.type !== "element") return null;
  const names = node.properties.className;
  return (
    <span key={key} className={Array.isArray(names) ? names.join(" ") : undefined}>
      {node.children.map((child, i) => drawNode(child, i))}
    </span>
  );
}

// prettier-ignore
const BY_ENDING: Record<string, string> = {
  rs: "rust", ts: "typescript", tsx: "typescript", mts: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript",
  cjs: "javascript", py: "python", rb: "ruby", go: "go", java: "java", kt: "kotlin", c: "c", h: "c", cc: "cpp", cpp: "cpp",
  hpp: "cpp", cs: "csharp", css: "css", html: "xml", xml: "xml", svg: "xml", vue: "xml", md: "markdown", json: "json",
  yaml: "yaml", yml: "yaml", toml: "ini", ini: "ini", sh: "bash", bash: "bash", zsh: "bash", sql: "sql", php: "php",
  swift: "swift", lua: "lua", diff: "diff", patch: "diff",
};

/** The language of a file, by its name. */
export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (name === "dockerfile") return "dockerfile";
  if (name === "makefile") return "makefile";
  return BY_ENDING[name.slice(name.lastIndexOf(".") + 1)];
}
