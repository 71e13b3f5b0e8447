// Text of an agent made safe to show: characters that would be invisible, or would change the
// direction of the text around them, are made visible.

import { EMOJI, HIDDEN } from "./hidden";

// Tabs and newlines are seen, and so is the selector of emoji behind a symbol or in the keycap of a
// digit.
const SEEN = String.raw`[\t\n]|(?<=[${EMOJI}])\ufe0f|(?<=[0-9#*])\ufe0f\u20e3`;
const NOT_SEEN = new RegExp(`(?!${SEEN})[${HIDDEN}]`, "gu");

export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(NOT_SEEN, show);
}

function show(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  // Unicode has pictures of the first control characters.
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
}

/** One line of at most so many characters, made visible: for attributes, names and paths. */
export function cutLine(text: string, longest: number): string {
  const isLong = text.length > longest;
  return visible(isLong ? text.slice(0, longest) : text).replace(/\n/g, "␊") + (isLong ? " …" : "");
}

const SCHEMES = ["http:", "https:", "mailto:"];

/** The address, if following it is harmless; relative ones lead nowhere and are none. */
export function safeHref(href: string): string | undefined {
  try {
    const url = new URL(href.trim());
    return SCHEMES.includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}
