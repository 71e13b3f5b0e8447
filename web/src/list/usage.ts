// Cost, tokens and turns of a session. The API leaves the shape open, so every number is checked.
import { number, object } from "../api/json";
import type { Session } from "../api/types";

export interface SessionUsage {
  costUsd?: number;
  tokens?: number;
  turns?: number;
}

export function usageOf(session: Session): SessionUsage {
  const usage = object(session.usage);
  const cost = number(usage.costUsd) ?? 0;
  return {
    costUsd: cost > 0 ? cost : undefined,
    tokens: number(usage.tokens) || undefined,
    turns: number(usage.turns) || undefined,
  };
}
