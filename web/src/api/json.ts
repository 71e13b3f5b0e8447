// Readers of JSON from outside: every member may be missing or of another type.

export type Json = Record<string, unknown>;

export function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A text with something in it. */
export function nonEmpty(value: unknown): string | undefined {
  return text(value) || undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
