// One session: its conversation as it grows, its questions, and where to write to it.
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type DragEvent } from "react";
import { useListChanges } from "../api/live";
import { asProblem, type Problem } from "../api/problem";
import type { ListChange } from "../api/types";
import { Boundary } from "../parts/Boundary";
import { useKeys } from "../parts/keys";
import { Notice, ProblemNotice } from "../parts/Notice";
import { useTitle } from "../parts/title";
import { cutLine } from "../render/visible";
import { Link, navigate } from "../router";
import { cancelTurn, forkSession } from "../session/actions";
import type { QuestionItem } from "../session/items";
import { Rows } from "../session/rows";
import { OpenSessionStore, type OpenSession } from "../session/store";
import { areCommandsLeft } from "../session/terminals";
import { useAnnouncement } from "./session/announce";
import { Composer, type ComposerHandle } from "./session/Composer";
import { CurrentQuestionContext, SessionContext, Retry, type SessionContextValue } from "./session/context";
import { Head } from "./session/Head";
import { QueueList } from "./session/QueueList";
import { RawEvents } from "./session/RawEvents";
import { Stream, type StreamHandle } from "./session/Stream";
import { useAnswerKeys } from "./session/useAnswerKeys";
import { useAttachments } from "./session/useAttachments";
import { useRetry } from "./session/useRetry";
import { QuestionBar } from "./session/QuestionBar";
import "../style/session.css";
import "../style/conversation.css";
import "../style/cards.css";
import "../style/composer.css";
import "../style/raw.css";
import "../style/render.css";

export function SessionView({ id }: { id: string }) {
  const [store] = useState(() => new OpenSessionStore(id));
  useEffect(() => {
    store.start();
    return () => store.stop();
  }, [store]);
  const open = useSyncExternalStore(store.subscribe, store.snapshot);
  useListChanges(
    useCallback(
      (change: ListChange | "all") => {
        if (change === "all" || change.session === id) store.readSessionSoon();
      },
      [store, id],
    ),
  );
  if (open.problem?.status === 404) return <Gone id={id} />;
  return (
    <Boundary name="This session" instead={() => <RawEvents session={id} head={open.head ?? 0} />}>
      <OpenSessionView store={store} open={open} />
    </Boundary>
  );
}

function OpenSessionView({ store, open }: { store: OpenSessionStore; open: OpenSession }) {
  const { conversation, session, connection } = open;
  const [isRaw, setRaw] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [isStopping, setStopping] = useState(false);
  const [isDropping, setDropping] = useState(false);
  const [rowsMaker] = useState(() => new Rows());
  const input = useRef<HTMLTextAreaElement>(null);
  const composer = useRef<ComposerHandle>(null);
  const stream = useRef<StreamHandle>(null);
  const attachments = useAttachments(store.id);
  const announcement = useAnnouncement(conversation, open.isRead);
  const title = session?.title ?? conversation.title ?? firstWords(open) ?? "Session";
  const [onScreen, noteOnScreen] = useOnScreenSet();
  const show = (each: QuestionItem) => {
    setRaw(false);
    // The list is only there once the raw events are gone.
    requestAnimationFrame(() => stream.current?.show(each.key));
  };
  const { question, current, answerFor } = useAnswerKeys(store.id, conversation.waiting, onScreen, show);
  const isRunning = conversation.running !== undefined || conversation.queue.length > 0;
  const areLeft = areCommandsLeft(conversation);
  useTitle(cutLine(title, 100), question && `Question: ${cutLine(question.title, 60)}`);

  const fork = useCallback(
    (upTo?: number) => {
      forkSession(store.id, upTo).then(
        (made) => navigate(`/sessions/${encodeURIComponent(made.id)}`),
        (error: unknown) => setProblem(asProblem(error)),
      );
    },
    [store],
  );
  const stop = () => {
    setStopping(true);
    cancelTurn(store.id)
      .catch((error: unknown) => setProblem(asProblem(error)))
      .finally(() => setStopping(false));
  };
  const retry = useRetry(store.id, conversation, setProblem);
  useKeys([
    { keys: "i", label: "Write a prompt", run: () => input.current?.focus() },
    ...(isRunning || areLeft ? [{ keys: "mod+.", label: "Stop what runs", run: stop, inText: true }] : []),
    { keys: "e", label: "Show or hide the raw events", run: () => setRaw(!isRaw) },
  ]);

  // A conversation of thousands of events is drawn once it is there, not thousands of times.
  const rows = useMemo(() => (open.isRead ? rowsMaker.of(conversation.items) : []), [rowsMaker, conversation.items, open.isRead]);
  const last = rows.at(-1)?.item;
  const liveKey = conversation.running && last && last.type !== "end" ? last.key : undefined;
  const [folds] = useState(() => new Map<string, boolean>());
  const cwd = session?.cwd ?? "";
  const reuse = useCallback((words: string) => composer.current?.add(words), []);
  const context = useMemo<SessionContextValue>(
    () => ({ id: store.id, cwd, folds, fork, noteOnScreen, reuse }),
    [store, cwd, folds, fork, noteOnScreen, reuse],
  );
  const drop = {
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      setDropping(true);
    },
    onDragLeave: (event: DragEvent) => {
      if (event.currentTarget === event.target) setDropping(false);
    },
    onDrop: (event: DragEvent) => {
      if (event.dataTransfer.files.length === 0) return;
      event.preventDefault();
      setDropping(false);
      attachments.add(event.dataTransfer.files);
    },
  };

  return (
    <SessionContext.Provider value={context}>
      <CurrentQuestionContext.Provider value={current}>
        <div className={isDropping ? "session dropping" : "session"} {...drop}>
          <Head open={open} store={store} title={title} isRaw={isRaw} onRaw={() => setRaw(!isRaw)} />
          <States open={open} />
          {problem && <ProblemNotice problem={problem} />}
          {isRaw ? (
            <RawEvents session={store.id} head={conversation.seq} />
          ) : open.isRead ? (
            <Retry.Provider value={retry}>
              <Stream ref={stream} rows={rows} liveKey={liveKey} />
            </Retry.Provider>
          ) : (
            <Reading open={open} />
          )}
          <div className="session-foot">
            <QuestionBar
              questions={isRaw ? conversation.waiting : conversation.waiting.filter((each) => !onScreen.has(each.requestId))}
              total={conversation.waiting.length}
              onShow={show}
            />
            <QueueList session={store.id} queue={conversation.queue} onEdit={reuse} />
            <Composer
              session={store.id}
              commands={conversation.commands}
              attachments={attachments}
              isRunning={isRunning}
              areCommandsLeft={areLeft}
              isStopping={isStopping || (conversation.running?.isCancelling ?? false)}
              isDisabled={connection.phase === "ended"}
              cwd={cwd}
              input={input}
              ref={composer}
              answerFor={answerFor}
              onStop={stop}
              onSend={() => stream.current?.follow()}
            />
          </div>
          <div className="sr-only" role="status" aria-live="polite">
            {announcement}
          </div>
        </div>
      </CurrentQuestionContext.Provider>
    </SessionContext.Provider>
  );
}

/** The questions whose cards can be seen: they need no bar of their own. */
function useOnScreenSet(): [ReadonlySet<string>, (requestId: string, isThere: boolean) => void] {
  const [onScreen, setOnScreen] = useState<ReadonlySet<string>>(new Set());
  const note = useCallback((requestId: string, isThere: boolean) => {
    setOnScreen((before) => {
      if (before.has(requestId) === isThere) return before;
      const after = new Set(before);
      if (isThere) after.add(requestId);
      else after.delete(requestId);
      return after;
    });
  }, []);
  return [onScreen, note];
}

/** Notices of unusual states of the session; that the daemon is away is shown above the view. */
function States({ open }: { open: OpenSession }) {
  const { connection, session, resynced, halted } = open;
  const [seen, setSeen] = useState({ resyncs: 0, evictions: 0 });
  const isLive = connection.phase === "live";
  const dismiss = (
    <button type="button" className="link" onClick={() => setSeen(connection)}>
      Dismiss
    </button>
  );
  return (
    <>
      {connection.phase === "ended" && <Notice tone="error">{connection.reason ?? "The stream is over"}</Notice>}
      {isLive && resynced && connection.resyncs > seen.resyncs && (
        <Notice>
          Resynchronised: {resynced}. {dismiss}
        </Notice>
      )}
      {isLive && connection.evictions > seen.evictions && (
        <Notice>This page was too slow, lost its place and came back; nothing is missing. {dismiss}</Notice>
      )}
      {halted !== undefined && <Notice tone="error">The session cannot go on: {halted}</Notice>}
      {session?.status === "damaged" && (
        <Notice tone="error">
          Events of this session are damaged; what can be read is shown. It takes no prompts until <code>switchyard store repair</code> was
          run where the daemon is, while it is stopped.
        </Notice>
      )}
    </>
  );
}

function Reading({ open }: { open: OpenSession }) {
  const { head, conversation, connection } = open;
  return (
    <div className="reading" role="status">
      {connection.phase !== "ended" && <span className="spinner" aria-hidden="true" />}
      {head === undefined ? "Opening the session" : `Reading ${conversation.seq} of ${head} events`}
    </div>
  );
}

function Gone({ id }: { id: string }) {
  useTitle("No such session");
  return (
    <div className="view">
      <header className="view-head">
        <h1>There is no such session</h1>
      </header>
      <p>
        <code>{id}</code> does not exist, was deleted, or is not yours. <Link href="/">To the sessions</Link>
      </p>
    </div>
  );
}

function firstWords(open: OpenSession): string | undefined {
  const prompt = open.conversation.items.find((item) => item.type === "prompt");
  const block = prompt?.type === "prompt" ? prompt.blocks[0] : undefined;
  return typeof block?.text === "string" ? block.text.slice(0, 60) : undefined;
}
