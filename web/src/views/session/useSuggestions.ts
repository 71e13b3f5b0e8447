// Suggestions for the words that are typed. Files are asked of the daemon, a moment after the last
// key; a daemon that does not support it is not asked again.
import { useEffect, useMemo, useState } from "react";
import { isAbort, Problem } from "../../api/problem";
import { findFiles } from "../../session/actions";
import { fileSuggestion, matchCommands, targetAt, type Suggestion, type CompletionTarget } from "../../session/completion";
import type { SlashCommand } from "../../api/types";

const AFTER_TYPING = 120;
let canFindFiles = true;
// Files that the daemon named, by session: only these can be mentioned. The oldest are forgotten.
const found = new Map<string, Set<string>>();
const MAX_FOUND = 2_000;

/** The files of a session that were suggested. */
export function foundFiles(session: string): ReadonlySet<string> {
  return found.get(session) ?? new Set();
}

function noteFound(session: string, paths: string[]): void {
  const all = [...foundFiles(session), ...paths].slice(-MAX_FOUND);
  found.set(session, new Set(all));
}

export function useSuggestions(
  session: string,
  text: string,
  cursor: number,
  commands: readonly SlashCommand[],
): { target?: CompletionTarget; suggestions: Suggestion[] } {
  const target = useMemo(() => targetAt(text, cursor), [text, cursor]);
  const [files, setFiles] = useState<{ words: string; suggestions: Suggestion[] }>();
  const fileWords = target?.kind === "file" ? target.words : undefined;

  useEffect(() => {
    if (fileWords === undefined || !canFindFiles) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      findFiles(session, fileWords, stop.signal).then(
        (paths) => {
          noteFound(session, paths);
          setFiles({ words: fileWords, suggestions: paths.map(fileSuggestion) });
        },
        (error: unknown) => {
          if (isAbort(error)) return;
          if (error instanceof Problem && [404, 405, 501].includes(error.status)) canFindFiles = false;
          setFiles(undefined);
        },
      );
    }, AFTER_TYPING);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [session, fileWords]);

  const suggestions = useMemo(() => {
    if (target?.kind === "command") return matchCommands(commands, target.words);
    // While the next response is under way the last one is better than nothing.
    if (target?.kind === "file" && files) return files.suggestions;
    return [];
  }, [target, commands, files]);
  return { target, suggestions };
}
