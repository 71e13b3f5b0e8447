// Output of the terminals that Switchyard serves. It comes by terminal; it is shown in the tool
// calls whose content names the terminal, which may come before or after it.
import type { ConversationDraft } from "./draft";
import type { Conversation, TerminalOutput, ToolItem } from "./items";
import { text, type Json } from "../api/json";

const NOTHING: TerminalOutput = { text: "" };
// The most calls that one terminal is shown in; an agent that names it in more means nothing by it.
const MOST_CALLS = 8;
// The output that is shown of a terminal; it may print without end.
const TERMINAL_CHARS = 512 * 1024;

/** Adds output of a command. */
export function printed(draft: ConversationDraft, id: string, words: string): void {
  note(draft, id, (output) => ({ ...output, text: keepTail(output.text + words) }));
}

/** Notes the end of a command. */
export function ended(draft: ConversationDraft, id: string, exit: TerminalOutput["exit"], isTruncated: boolean): void {
  note(draft, id, ({ text }) => ({ text, exit, isTruncated }));
}

/** Notes that nobody knows how a command ended. */
export function lost(draft: ConversationDraft, id: string): void {
  note(draft, id, (output) => ({ ...output, isLost: true }));
}

function note(draft: ConversationDraft, id: string, change: (output: TerminalOutput) => TerminalOutput): void {
  const { output, calls } = draft.terminal(id) ?? { output: NOTHING, calls: [] };
  const next = change(output);
  draft.noteTerminal(id, { output: next, calls });
  for (const place of calls) put(draft, place, id, next);
}

/** Notes the terminals that a call's content names: their output is added to the call from now on. */
export function nameTerminals(draft: ConversationDraft, place: number, content: readonly Json[]): void {
  for (const part of content) {
    const id = part.type === "terminal" ? text(part.terminalId) : undefined;
    if (id === undefined) continue;
    const { output, calls } = draft.terminal(id) ?? { output: NOTHING, calls: [] };
    if (calls.includes(place) || calls.length >= MOST_CALLS) continue;
    draft.noteTerminal(id, { output, calls: [...calls, place] });
    if (output !== NOTHING) put(draft, place, id, output);
  }
}

/** The worker is gone, and with it every terminal whose end was not reported. */
export function loseTerminals(draft: ConversationDraft): void {
  for (const [id, { output, calls }] of [...draft.terminals]) {
    if (output.exit || output.isLost || (output === NOTHING && !isServed(id))) continue;
    const lost = { ...output, isLost: true };
    draft.noteTerminal(id, { output: lost, calls });
    for (const place of calls) put(draft, place, id, lost);
  }
}

/** Whether a terminal is Switchyard's, by its name; an agent reports its own in other ways. */
function isServed(id: string): boolean {
  return id.startsWith("term_");
}

/** Whether commands of ended turns still run. */
export function areCommandsLeft({ places, running }: Pick<Conversation, "places" | "running">): boolean {
  if (running) return false;
  for (const [id, { output }] of places.terminals) {
    if (isServed(id) && !output.exit && !output.isLost) return true;
  }
  return false;
}

/** The state of a call's terminals whose end was not reported. */
export function terminalStateOf(item: ToolItem): "running" | "lost" | undefined {
  const known = new Map(Object.entries(item.terminals ?? {}));
  let isRunning = false;
  for (const part of item.content) {
    const id = part.type === "terminal" ? text(part.terminalId) : undefined;
    if (id === undefined) continue;
    const output = known.get(id);
    if (output?.isLost) return "lost";
    if (output ? !output.exit : isServed(id)) isRunning = true;
  }
  return isRunning ? "running" : undefined;
}

function put(draft: ConversationDraft, place: number, id: string, output: TerminalOutput): void {
  const item = draft.at(place);
  if (item?.type !== "tool") return;
  // By entries: assigning to `__proto__` would be something else, and a terminal may be called so.
  draft.change<ToolItem>(place, { terminals: Object.fromEntries([...Object.entries(item.terminals ?? {}), [id, output]]) });
}

/** The end of an output. Cut seldom, so that growing stays cheap. */
export function keepTail(all: string): string {
  return all.length > TERMINAL_CHARS * 2 ? all.slice(-TERMINAL_CHARS) : all;
}
