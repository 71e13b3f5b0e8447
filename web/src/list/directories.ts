// Directories of the daemon's machine, for a person who looks for one.
import { requestJson } from "../api/request";
import type { DirectoryList } from "../api/types";

export interface Wanted {
  /** The directory to look into; none: where one begins. */
  path?: string;
  prefix: string;
}

/** What is looked for while a path is typed: what stands behind the last slash begins a name. */
export function wantedFor(typed: string): Wanted {
  const text = typed.trimStart();
  if (text === "~") return { path: "~", prefix: "" };
  const end = text.lastIndexOf("/") + 1;
  return { path: end === 0 ? undefined : text.slice(0, end), prefix: text.slice(end) };
}

/** A directory, written so that one goes on inside of it. */
export function inside(path: string): string {
  return path.endsWith("/") || path === "" ? path : `${path}/`;
}

export function listDirectories({ path, prefix }: Wanted, signal: AbortSignal): Promise<DirectoryList> {
  return requestJson<DirectoryList>("/v1/directories", { query: { path, prefix: prefix || undefined }, signal });
}
