// An answer that is told again from its start, because the agent's connection to the model broke:
// of each piece what was not told before. Only where the agent says that it tries again.
// The rule is that of crates/projection/src/retold.rs, tried with the same cases.
import type { LogEvent } from "../api/types";
import { object, text } from "./read";

/** The answer of a turn, over all attempts at it. */
export interface Retold {
  readonly told: string;
  /** How much of it the present attempt has repeated; undefined when it is past it. */
  readonly at?: number;
}

export const NOTHING_TOLD: Retold = { told: "" };

const RETRIES = "Info: Response was interrupted due to a server error. Retrying...";
const RETRYING = "_session/retrying";
/** Of an answer that is remembered; what is longer is told as it comes. */
const MAX_LENGTH = 2 ** 20;

/** What an event other than a piece of the answer does to what is remembered of it. */
export function heard(before: Retold, event: LogEvent): Retold {
  switch (event.kind) {
    // An attempt that got as far as this was a good one, and the next begins elsewhere.
    case "agent_thought_chunk":
    case "tool_call":
    case "tool_call_update":
    case "plan":
    case "turn_started":
    case "turn_ended":
    case "permission_requested":
      return NOTHING_TOLD;
    case "agent_notification":
      return text(object(event.payload).method) === RETRYING ? again(before) : before;
    default:
      return before;
  }
}

/** What a piece of the answer adds to what was told. */
export function tell(before: Retold, piece: string): { retold: Retold; added: string } {
  if (piece.trim() === RETRIES) return { retold: again(before), added: piece };
  const { told, at } = before;
  if (at === undefined) {
    return { retold: told.length <= MAX_LENGTH ? { told: told + piece } : before, added: piece };
  }
  const rest = told.slice(at);
  if (piece.startsWith(rest)) {
    const added = piece.slice(rest.length);
    return { retold: { told: told + added }, added };
  }
  if (rest.startsWith(piece)) return { retold: { told, at: at + piece.length }, added: "" };
  // It takes another course than the attempt before: half an answer would be worse than one and a half.
  const all = told.slice(0, at) + piece;
  return { retold: { told: all }, added: all };
}

function again({ told }: Retold): Retold {
  return told !== "" && told.length <= MAX_LENGTH ? { told, at: 0 } : { told };
}
