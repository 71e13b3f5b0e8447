// Directories of the daemon's machine, for a person who looks for one.
import { requestJson } from "../api/request";
import type { DirectoryList } from "../api/types";

export interface DirectoryQuery {
  /** The directory to look into; without one, the daemon chooses where to begin. */
  path?: string;
  prefix: string;
}

/** The directory and the prefix in a path that is typed: after the last slash a name begins. */
export function queryFor(typed: string): DirectoryQuery {
  const text = typed.trimStart();
  if (text === "~") return { path: "~", prefix: "" };
  const end = text.lastIndexOf("/") + 1;
  return { path: end === 0 ? undefined : text.slice(0, end), prefix: text.slice(end) };
}

/** A directory as a path to go on from. */
export function withSlash(path: string): string {
  return path.endsWith("/") || path === "" ? path : `${path}/`;
}

export function listDirectories({ path, prefix }: DirectoryQuery, signal: AbortSignal): Promise<DirectoryList> {
  return requestJson<DirectoryList>("/v1/directories", { query: { path, prefix: prefix || undefined }, signal });
}
