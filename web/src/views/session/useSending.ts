// Prompts on their way to the daemon. One at a time; one that did not arrive is kept, and sent
// again with the same request id, so that it is one prompt however often its response was lost.
import { useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../../api/problem";
import { usePageConnection } from "../../api/pageConnection";
import { requestName, sendPrompt } from "../../session/actions";
import { mentionsIn, promptBlocks } from "../../session/completion";
import type { AttachedFile } from "./useAttachments";
import { foundFiles } from "./useSuggestions";

export interface Outgoing {
  text: string;
  files: AttachedFile[];
}

interface Sending {
  /** The one that is on its way. */
  sending?: Outgoing;
  /** A prompt that did not arrive and could not be put back. */
  unsent?: Outgoing;
  problem?: Problem;
  /** Returns false while another one is on its way. */
  send: (prompt: Outgoing) => boolean;
  /** Sends the one that did not arrive once more. */
  again: () => void;
  forget: () => void;
  /** Takes a new request id: the prompt was changed, so it is another one now. */
  renew: () => void;
}

/** `putBack` takes a prompt that could not be sent, and returns whether it could. */
export function useSending(session: string, cwd: string, putBack: (prompt: Outgoing) => boolean): Sending {
  const [sending, setSending] = useState<Outgoing>();
  const [unsent, setUnsent] = useState<{ prompt: Outgoing; name: string }>();
  const [problem, setProblem] = useState<Problem>();
  const name = useRef<string>(undefined);
  const latest = useRef(putBack);
  latest.current = putBack;

  // A problem of reaching the daemon is over once a stream is live again.
  const isLive = usePageConnection()?.phase === "live";
  useEffect(() => {
    if (isLive) setProblem((now) => (now?.isUnreachable ? undefined : now));
  }, [isLive]);

  const isBusy = useRef(false);
  const deliver = (prompt: Outgoing, as: string) => {
    isBusy.current = true;
    setSending(prompt);
    setProblem(undefined);
    const ids = prompt.files.flatMap((file) => file.id ?? []);
    const blocks = promptBlocks(prompt.text, mentionsIn(prompt.text, foundFiles(session)), cwd);
    sendPrompt(session, blocks, ids, as)
      .then(
        () => setUnsent((now) => (now?.name === as ? undefined : now)),
        (error: unknown) => {
          setProblem(asProblem(error));
          if (latest.current(prompt)) name.current = as;
          else setUnsent({ prompt, name: as });
        },
      )
      .finally(() => {
        isBusy.current = false;
        setSending(undefined);
      });
  };
  return {
    sending,
    unsent: unsent?.prompt,
    problem,
    send: (prompt) => {
      // Several clicks may come before anything is drawn.
      if (isBusy.current) return false;
      const as = name.current ?? requestName();
      name.current = undefined;
      deliver(prompt, as);
      return true;
    },
    again: () => {
      if (!unsent || isBusy.current) return;
      setUnsent(undefined);
      deliver(unsent.prompt, unsent.name);
    },
    forget: () => {
      setUnsent(undefined);
      setProblem(undefined);
    },
    renew: () => {
      name.current = undefined;
    },
  };
}
