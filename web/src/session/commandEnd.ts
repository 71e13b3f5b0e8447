// How a command ended, where anybody says it: the log of its terminal, or the agent, as members of
// the raw output or around the text. Some agents call a command that failed a call that went well.
// The rule is that of crates/projection/src/printed.rs, tried with the same cases.
import type { ToolItem } from "./items";
import { object, text, type Json } from "./read";

type Ended = Pick<ToolItem, "kind" | "content" | "output" | "terminals" | "endSeq">;
type End = { code: number } | { signal: string } | "timed out" | "unknown";

/** `failed with exit code 2`, if the call ran a command that failed. */
export function failureOf(item: Ended): string | undefined {
  const end = endOf(item);
  if (end === undefined || end === "unknown") return undefined;
  if (end === "timed out") return "took too long and was ended";
  if ("signal" in end) return `was killed by ${end.signal}`;
  return end.code === 0 ? undefined : `failed with exit code ${end.code}`;
}

function endOf({ kind, content, output, terminals, endSeq }: Ended): End | undefined {
  const shown = content.filter((part) => part.type === "terminal").map((part) => text(part.terminalId));
  const terminal = shown.filter((id) => id !== undefined).at(-1);
  if (kind !== "execute" && terminal === undefined) return undefined;
  const told = typeof output === "string" ? endOfShell(output) : endOfRaw(object(output));
  if (told !== undefined) return told;
  const served = terminal === undefined ? undefined : Object.entries(terminals ?? {}).find(([id]) => id === terminal)?.[1];
  if (served) {
    // A call may end before its command does; what becomes of that is no matter of the call.
    const isLater = endSeq !== undefined && served.endSeq !== undefined && served.endSeq > endSeq;
    if (!served.exit || isLater) return undefined;
    const { code, signal } = served.exit;
    return signal !== undefined ? { signal } : code !== undefined ? { code } : "unknown";
  }
  const texts = content.filter((part) => part.type === "content").map((part) => text(object(part.content).text));
  return endOfShell(texts.filter((words) => words !== undefined).join("\n"));
}

function endOfRaw(raw: Json): End | undefined {
  if (raw.timedOut === true) return "timed out";
  const signal = label(raw.signal);
  if (signal !== undefined) return { signal };
  const code = codeOf(raw) ?? codeOf(object(raw.metadata));
  return code === undefined ? undefined : { code };
}

function codeOf(fields: Json): number | undefined {
  for (const name of ["exitCode", "exit_code", "exit"]) {
    const word = label(fields[name]);
    if (word !== undefined && /^[+-]?\d+$/.test(word)) return Number(word);
  }
  return undefined;
}

/** A string, or a number as it was written. */
function label(value: unknown): string | undefined {
  return typeof value === "number" ? String(value) : text(value);
}

/** The last line with which Copilot's shell says how the command ended, in a fence or not. */
function endOfShell(words: string): End | undefined {
  // The end alone is looked at: there may be megabytes before it.
  const end = words
    .slice(-1_000)
    .trimEnd()
    .replace(/`{3,}$/, "")
    .trimEnd();
  const line = end.slice(end.lastIndexOf("\n") + 1);
  const code = /^<shellId: .*? completed with exit code ([+-]?\d+)>$/.exec(line)?.[1];
  return code === undefined ? undefined : { code: Number(code) };
}
