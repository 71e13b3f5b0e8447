// Names of people for the log's entries: `you`, or a name that means something.
//
// A login is a token with a name of its own, so a browser that has logged in again has several.
// The ones that were this browser's are kept beside its secret.

const KEY = "switchyard.names";
/** One name a week, for longer than anybody looks back. */
const MAX_NAMES = 50;

let own: ReadonlySet<string> | undefined;

export function rememberOwnName(name: string): void {
  const before = ownNames();
  if (before.has(name)) return;
  own = new Set([...before, name].slice(-MAX_NAMES));
  try {
    localStorage.setItem(KEY, JSON.stringify([...own]));
  } catch {
    // Then it is known until the page is left.
  }
}

export function ownNames(): ReadonlySet<string> {
  own ??= new Set(kept());
  return own;
}

/** `browser sU6…`, `token:phone http`, `local unix`: as the log has it. */
export function nameOf(by: string, mine: ReadonlySet<string> = ownNames()): string {
  const name = /^token:(.+) \S+$/.exec(by)?.[1] ?? (/^local \S+$/.test(by) ? "local" : by);
  if (mine.has(name)) return "you";
  if (name === "local") return "the terminal";
  return name.startsWith("browser ") ? "another browser" : name;
}

function kept(): string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(names) ? names.filter((name) => typeof name === "string").slice(-MAX_NAMES) : [];
  } catch {
    return [];
  }
}
