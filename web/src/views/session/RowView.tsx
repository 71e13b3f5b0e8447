// One row of the conversation.
import { Component, memo, useContext, type ReactNode } from "react";
import { nameOf } from "../../api/people";
import { Icon } from "../../parts/Icon";
import { Ago, duration } from "../../parts/Time";
import { Content } from "../../render/Content";
import { PlainText } from "../../render/Cut";
import { CopyButton } from "../../parts/Copy";
import { LongMarkdown } from "../../render/LongMarkdown";
import { Markdown } from "../../render/Markdown";
import { cutLine, visible } from "../../render/visible";
import type { ContentItem, NoticeItem, PromptItem, ThoughtItem } from "../../session/items";
import { text } from "../../api/json";
import type { Row } from "../../session/rows";
import { wholeText } from "../../session/split";
import { SessionContext } from "./context";
import { EndRow } from "./EndRow";
import { Fold } from "./Fold";
import { PlanCard } from "./Plan";
import { QuestionCard } from "./Question";
import { ToolCard } from "./ToolCard";

export const RowView = memo(function RowView({ row, isLive }: { row: Row; isLive: boolean }) {
  return (
    <div className={`row row-${row.item.type}`}>
      <Guard>
        <ItemView row={row} isLive={isLive} />
      </Guard>
    </div>
  );
});

function ItemView({ row, isLive }: { row: Row; isLive: boolean }): ReactNode {
  const { item } = row;
  switch (item.type) {
    case "prompt":
      return <Prompt item={item} />;
    case "answer":
      return (
        <article aria-label="Answer" aria-busy={isLive || undefined} className={isLive ? "answer-text live" : "answer-text"}>
          <Markdown text={row.piece ?? ""} isLive={isLive} />
          {row.piece !== undefined && row.isLast && !isLive && (
            <div className="answer-tools">
              <CopyButton text={() => wholeText(item.text)} label="Copy the answer" className="small-button" />
            </div>
          )}
        </article>
      );
    case "thought":
      return <Thought item={item} isLive={isLive} />;
    case "content":
      return <Other item={item} />;
    case "tool":
      return <ToolCard item={item} />;
    case "plan":
      return <PlanCard item={item} />;
    case "question":
      return <QuestionCard item={item} />;
    case "notice":
      return <NoticeRow item={item} />;
    case "end":
      return <EndRow item={item} />;
  }
}

function Prompt({ item }: { item: PromptItem }) {
  const who = item.by ? cutLine(nameOf(item.by), 100) : "earlier";
  return (
    <article className="prompt-box" aria-label={`Prompt by ${who}`}>
      <div className="by">
        <Icon name="user" size={13} />
        <span>{who}</span>
        <Ago time={item.time} />
      </div>
      {item.blocks.map((block, i) =>
        // A person's words are shown as they were written, not as Markdown.
        block.type === "text" ? <PlainText key={i} text={text(block.text) ?? ""} /> : <Content key={i} block={block} />,
      )}
    </article>
  );
}

function Thought({ item, isLive }: { item: ThoughtItem; isLive: boolean }) {
  const took = item.until - item.time;
  const words = isLive ? "Thinking" : took >= 1000 ? `Thought for ${duration(took)}` : "Thought";
  const glance = item.text.trimStart().slice(0, 140).replace(/\s+/g, " ");
  return (
    <Fold
      name={item.key}
      icon="think"
      summary={
        <>
          <span className={isLive ? "shimmer" : ""}>{words}</span>
          <span className="glance">{visible(isLive ? item.text.slice(-140).replace(/\s+/g, " ") : glance)}</span>
        </>
      }
    >
      {() => <LongMarkdown text={item.text} isLive={isLive} />}
    </Fold>
  );
}

function Other({ item }: { item: ContentItem }) {
  return <Content block={item.block} />;
}

// More is in the raw events.
const NOTICE_CHARS = 1_000;

function NoticeRow({ item }: { item: NoticeItem }) {
  const { reuse } = useContext(SessionContext);
  const line = (
    <>
      <span className="notice-title">{capital(cutLine(item.title, NOTICE_CHARS))}</span>
      {item.detail && <span className="faint">{visible(item.detail.slice(0, NOTICE_CHARS))}</span>}
      {item.by && <span className="faint">by {cutLine(nameOf(item.by), 100)}</span>}
    </>
  );
  const { more, words } = item;
  if (words !== undefined) {
    return (
      <div className={`line-notice dropped ${item.tone}`}>
        {line}
        <PlainText text={words} />
        {reuse && words !== "" && (
          <button type="button" className="link" onClick={() => reuse(words)}>
            Put it back into the prompt
          </button>
        )}
      </div>
    );
  }
  if (more === undefined) {
    return (
      <p className={`line-notice ${item.tone}`}>
        <Icon name={item.tone === "info" ? "info" : "warning"} size={13} />
        {line}
      </p>
    );
  }
  return (
    <Fold name={item.key} summary={line} className={`line-notice ${item.tone}`}>
      {() => (
        <div className="code">
          <PlainText text={more} />
        </div>
      )}
    </Fold>
  );
}

function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** A row that cannot be drawn must not take the conversation with it. */
class Guard extends Component<{ children: ReactNode }, { error?: string }> {
  override state: { error?: string } = {};

  static getDerivedStateFromError(error: unknown): { error: string } {
    return { error: String(error) };
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    return (
      <p className="line-notice error">
        <Icon name="warning" size={13} /> This part cannot be shown ({this.state.error.slice(0, 200)}); the raw events have it.
      </p>
    );
  }
}
