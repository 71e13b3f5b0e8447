// Text of an agent as it may be shown: what would be invisible, or would change the direction
// of what stands around it, is made visible.

// C0 without tab and newline, DEL, C1; marks that reorder or hide text; what has no width: fillers,
// variation selectors, invisible operators, tags. Joiners that emoji and some languages are written
// with stay, and so does the selector of emoji behind a symbol or in the keycap of a digit. The
// list is that of crates/wire/src/hidden.rs.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb]|\u034f|\u17b4|\u17b5|[\u180b-\u180f]|[\ufe00-\ufe0e]|[\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|(?<![\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u27ff\u2801-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1faff}]|[0-9#*](?=\ufe0f\u20e3))\ufe0f/gu;

export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, show);
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
