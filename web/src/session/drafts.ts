// Prompts that are written and not yet sent, kept over a reload of this tab.

const PREFIX = "switchyard.draft.";
const key = (session: string) => PREFIX + session;

export function draftOf(session: string): string {
  try {
    return sessionStorage.getItem(key(session)) ?? "";
  } catch {
    return ""; // storage may be forbidden
  }
}

export function keepDraft(session: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(key(session));
    else sessionStorage.setItem(key(session), text);
  } catch {
    // Forbidden or full: then it lives as long as the page.
  }
}

/** The draft of each session that has one. */
export function allDrafts(): [string, string][] {
  try {
    const keys = Object.keys(sessionStorage).filter((one) => one.startsWith(PREFIX));
    return keys.map((one) => [one.slice(PREFIX.length), sessionStorage.getItem(one) ?? ""]);
  } catch {
    return []; // storage may be forbidden
  }
}
