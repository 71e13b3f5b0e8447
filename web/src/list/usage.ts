// Cost, tokens and turns of a session. The API leaves the shape open, so every number is checked.
import type { Session } from "../api/types";

export interface SessionUsage {
  costUsd?: number;
  tokens?: number;
  turns?: number;
}

export function usageOf(session: Session): SessionUsage {
  const usage = (session.usage ?? {}) as Record<string, unknown>;
  const cost = number(usage.costUsd) ?? 0;
  return {
    costUsd: cost > 0 ? cost : undefined,
    tokens: number(usage.tokens) || undefined,
    turns: number(usage.turns) || undefined,
  };
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
