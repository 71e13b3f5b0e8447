// One question among all: its session, since when it waits, and the question itself as the session
// shows it.
import { memo, useEffect, useMemo } from "react";
import { deadline, isShown, itemOf } from "../approvals/waiting";
import type { Permission } from "../api/types";
import { titleOf } from "../list/actions";
import { sessions, useSessionList } from "../list/sessions";
import { Ago, useNow } from "../parts/Time";
import { cutLine, visible } from "../render/visible";
import { Link, pathOf } from "../router";
import { CurrentQuestionContext, SessionContext, type CurrentQuestion, type SessionContextValue } from "./session/context";
import { QuestionCard } from "./session/Question";
import "../style/conversation.css";
import "../style/cards.css";
import "../style/render.css";

interface Props {
  question: Permission;
  isChosen: boolean;
  /** Whether its keys count already. */
  isSettled: boolean;
  /** The questions above it: when one goes, this one moves to its place. */
  above: string;
  mayAnswer: boolean;
  onChoose: (requestId: string) => void;
}

export const ApprovalCard = memo(function ApprovalCard({ question, isChosen, isSettled, above, mayAnswer, onChoose }: Props) {
  const { cache } = useSessionList();
  const session = cache.sessions.get(question.sessionId);
  const now = useNow();
  const isUnknown = session === undefined;
  useEffect(() => {
    if (isUnknown) void sessions.reread(question.sessionId);
  }, [question.sessionId, isUnknown]);
  const cwd = session?.cwd ?? "";
  const item = useMemo(() => itemOf(question), [question]);
  const context = useMemo<SessionContextValue>(
    () => ({ id: question.sessionId, cwd, folds: new Map(), fork: () => undefined, noteOnScreen: () => undefined }),
    [question.sessionId, cwd],
  );
  const at = useMemo<CurrentQuestion>(
    () => ({ id: isChosen && mayAnswer ? question.requestId : undefined, isSettled, layoutKey: above, select: onChoose }),
    [question.requestId, isChosen, isSettled, above, mayAnswer, onChoose],
  );
  const until = deadline(question.until, now);
  return (
    <article
      className={isChosen ? "approval chosen" : "approval"}
      data-request={question.requestId}
      tabIndex={-1}
      aria-label={`Question of ${session ? titleOf(session) : cutLine(question.agent, 100)}`}
      aria-current={isChosen || undefined}
      onFocus={() => onChoose(question.requestId)}
      onMouseDown={() => onChoose(question.requestId)}
    >
      <div className="approval-from">
        <h2>
          <Link href={pathOf({ view: "session", id: question.sessionId })}>{session ? titleOf(session) : "Session"}</Link>
        </h2>
        <span className="badge">{visible(question.agent)}</span>
        {cwd && (
          <span className="mono approval-cwd" title={cutLine(cwd, 600)}>
            <bdi>{cutLine(cwd, 600)}</bdi>
          </span>
        )}
        <span className="approval-when">
          asked <Ago time={question.since} />
          {until && `, ${until}`}
        </span>
      </div>
      <SessionContext.Provider value={context}>
        {/* Who may not answer sees the question, and no buttons that would be refused. */}
        <div className={mayAnswer ? undefined : "only-shown"}>
          {isShown(question) ? (
            <CurrentQuestionContext.Provider value={at}>
              <QuestionCard item={item} />
            </CurrentQuestionContext.Provider>
          ) : (
            <div role="group" className="card question-card" aria-label={`Question: ${cutLine(question.title, 200)}`}>
              <h3>{cutLine(question.title, 1000)}</h3>
              <p>
                It is too large to be shown in this list.{" "}
                <Link href={pathOf({ view: "session", id: question.sessionId })}>Open its session to read and answer it</Link>
              </p>
            </div>
          )}
        </div>
      </SessionContext.Provider>
    </article>
  );
});
