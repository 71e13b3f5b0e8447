// Completions while typing: a slash command at the beginning, a file after `@`.
import type { Json } from "../api/json";
import type { SlashCommand } from "../api/types";

export type CompletionTarget =
  { kind: "command"; words: string; from: number; to: number } | { kind: "file"; words: string; from: number; to: number };

export interface Suggestion {
  /** The text that replaces the words. */
  insert: string;
  label: string;
  detail?: string;
}

/** The words at the cursor, if they can be completed. */
export function targetAt(text: string, cursor: number): CompletionTarget | undefined {
  const before = text.slice(0, cursor);
  const command = /^\/([^\s/]*)$/.exec(before);
  if (command) return { kind: "command", words: command[1] ?? "", from: 0, to: cursor };
  const mention = /(?:^|\s)@([^\s@]*)$/.exec(before);
  if (mention) {
    const words = mention[1] ?? "";
    return { kind: "file", words, from: cursor - words.length - 1, to: cursor };
  }
  return undefined;
}

export function matchCommands(commands: readonly SlashCommand[], words: string): Suggestion[] {
  const wanted = words.toLowerCase();
  const found = commands.filter((command) => command.name.toLowerCase().includes(wanted));
  // A name that begins so is more likely meant than one that merely contains it.
  found.sort((a, b) => Number(!a.name.toLowerCase().startsWith(wanted)) - Number(!b.name.toLowerCase().startsWith(wanted)));
  return found.slice(0, 30).map((command) => ({
    insert: `/${command.name} `,
    label: `/${command.name}`,
    detail: [command.hint, command.description].filter(Boolean).join(" · "),
  }));
}

export function fileSuggestion(path: string): Suggestion {
  const slash = path.lastIndexOf("/");
  return { insert: `@${path} `, label: path.slice(slash + 1), detail: slash < 0 ? undefined : path.slice(0, slash) };
}

/** The known files that a prompt mentions, each once. */
export function mentionsIn(text: string, known: ReadonlySet<string>): string[] {
  const words = text.split(/\s+/).filter((word) => word.startsWith("@"));
  const paths = words.flatMap((word) => {
    const whole = word.slice(1);
    const bare = whole.replace(/[,;:.)?!]+$/, "");
    return known.has(whole) ? [whole] : known.has(bare) ? [bare] : [];
  });
  // A name with blanks is not one of the words.
  const spaced = [...known].filter((path) => /\s/.test(path) && text.includes(`@${path}`));
  return [...new Set([...paths, ...spaced])];
}

/** A prompt as the agent gets it: the words, and a link to each file that they mention. */
export function promptBlocks(text: string, mentions: readonly string[], cwd: string): string | Json[] {
  if (mentions.length === 0) return text;
  const links = mentions.map((path) => {
    const whole = path.startsWith("/") ? path : `${cwd.replace(/\/$/, "")}/${path}`;
    return { type: "resource_link", uri: `file://${whole.split("/").map(encodeURIComponent).join("/")}`, name: path };
  });
  return [...(text.trim() === "" ? [] : [{ type: "text", text }]), ...links];
}

/** The text with the suggestion in place, and where the cursor goes. */
export function accept(text: string, target: CompletionTarget, suggestion: Suggestion): { text: string; cursor: number } {
  const rest = text.slice(target.to);
  const insert = rest.startsWith(" ") ? suggestion.insert.trimEnd() : suggestion.insert;
  return { text: text.slice(0, target.from) + insert + rest, cursor: target.from + insert.length };
}
