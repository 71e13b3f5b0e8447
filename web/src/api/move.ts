// Moving from one host name of the page to another, with this tab's own data.
//
// To a browser the other name is another site: it has neither the login nor the drafts that were
// written here. Both go along behind the `#`, which is sent to nobody. What is stored for all tabs
// of this name stays: somebody else may have written it while the daemon was away.
import { allDrafts, keepDraft } from "../session/drafts";
import { currentTheme, setTheme } from "../parts/theme";
import { ownNames, rememberOwnName } from "./people";
import { unreachable } from "./problem";

/** Names of the page, as the daemon makes them. */
const NAME = /^[a-z2-9]{12}\.localhost(:\d{1,5})?$/;
/** Browsers take addresses of a megabyte and more. */
const MOST_BYTES = 400_000;

interface TabState {
  drafts: [string, string][];
  theme: string;
  names: string[];
}

/** Whether a redirect may lead there: only to a name of the page, on the same port. */
export function isPageName(host: string): boolean {
  return NAME.test(host) && (host.split(":")[1] ?? "") === location.port;
}

/** The address this tab goes to; with a code, it is logged in there. */
export function addressAt(host: string, code?: string): string {
  const here = location.pathname + location.search;
  if (code === undefined) return `http://${host}${here}`;
  return `http://${host}/login#${new URLSearchParams({ code, to: here, with: serializeTabState() }).toString()}`;
}

/** The longest that leaving may take; after that somebody has stopped it. */
const LEAVING = 10_000;

/** Leaves the page; rejects if this tab is still here afterwards. */
export function moveTo(address: string): Promise<never> {
  location.replace(address);
  return new Promise((_, reject) => setTimeout(() => reject(unreachable()), LEAVING));
}

/** The path of a tab that moved here, and its state as text; null for other links. */
export interface MovedTab {
  to: string | null;
  state: string | null;
}

/** Reads the fragment beside the code. To be believed only once the code was taken. */
export function readMovedTab(fragment: string): MovedTab {
  const params = new URLSearchParams(fragment.slice(1));
  return { to: params.get("to"), state: params.get("with") };
}

export function restoreTabState(text: string): void {
  try {
    const { drafts, theme, names } = JSON.parse(text) as Partial<TabState>;
    for (const [session, draft] of drafts ?? []) keepDraft(session, draft);
    if (theme === "light" || theme === "dark") setTheme(theme);
    for (const name of names ?? []) rememberOwnName(name);
  } catch {
    // Then the data stays behind.
  }
}

function serializeTabState(): string {
  const drafts: [string, string][] = [];
  let room = MOST_BYTES;
  for (const draft of allDrafts()) {
    room -= encodeURIComponent(draft[1]).length;
    if (room > 0) drafts.push(draft);
  }
  const state: TabState = { drafts, theme: currentTheme(), names: [...ownNames()] };
  return JSON.stringify(state);
}
