// Where prompts are written: text over several lines, files, commands, mentions; and the
// button that stops the running turn.
import { useEffect, useId, useRef, useState, type ClipboardEvent, type KeyboardEvent, type RefObject } from "react";
import { asProblem, type Problem } from "../../api/problem";
import { Button, IconButton } from "../../parts/Button";
import { ProblemNotice } from "../../parts/Notice";
import { requestName, sendPrompt } from "../../session/actions";
import { accept, type Suggestion } from "../../session/completion";
import type { SlashCommand } from "../../session/items";
import { AttachedList } from "./AttachedList";
import { draftOf, keepDraft } from "./drafts";
import { Suggestions } from "./Suggestions";
import type { useAttachments } from "./useAttachments";
import { useSuggestions } from "./useSuggestions";

interface Props {
  session: string;
  commands: readonly SlashCommand[];
  attachments: ReturnType<typeof useAttachments>;
  isRunning: boolean;
  isStopping: boolean;
  isDisabled: boolean;
  input: RefObject<HTMLTextAreaElement | null>;
  onStop: () => void;
}

export function Composer({ session, commands, attachments, isRunning, isStopping, isDisabled, input, onStop }: Props) {
  const [text, setText] = useState(() => draftOf(session));
  const [cursor, setCursor] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [isClosed, setClosed] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  // The same prompt sent again after a lost answer is one prompt.
  const name = useRef<string>(undefined);
  const picker = useRef<HTMLInputElement>(null);
  const listId = useId();
  const { wanted, suggestions } = useSuggestions(session, text, cursor, commands);
  const areShown = hasFocus && !isClosed && wanted !== undefined && suggestions.length > 0;

  useEffect(() => keepDraft(session, text), [session, text]);
  useEffect(() => {
    // Whoever opens a session wants to write; on a phone that would cover half of it with keys.
    const isTouched = window.matchMedia?.("(pointer: coarse)").matches;
    if (!isTouched && !document.querySelector("dialog[open]")) input.current?.focus({ preventScroll: true });
  }, [input]);
  useEffect(() => fit(input.current), [text, input]);
  useEffect(() => setChosen(0), [wanted?.words, wanted?.kind]);

  const change = (next: string, at: number) => {
    setText(next);
    setCursor(at);
    setClosed(false);
    name.current = undefined;
  };
  const choose = (suggestion: Suggestion) => {
    if (!wanted) return;
    const done = accept(text, wanted, suggestion);
    change(done.text, done.cursor);
    const field = input.current;
    // After React has written the value, or the cursor would go to the end.
    requestAnimationFrame(() => {
      field?.focus();
      field?.setSelectionRange(done.cursor, done.cursor);
    });
  };
  const canSend = !isSending && !isDisabled && !attachments.isUploading && (text.trim() !== "" || attachments.files.length > 0);
  const send = () => {
    if (!canSend) return;
    const ids = attachments.files.flatMap((file) => file.id ?? []);
    name.current ??= requestName();
    setSending(true);
    setProblem(undefined);
    sendPrompt(session, text, ids, name.current)
      .then(
        () => {
          change("", 0);
          attachments.clear();
        },
        (error: unknown) => setProblem(asProblem(error)),
      )
      .finally(() => {
        setSending(false);
        input.current?.focus();
      });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (areShown) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const suggestion = suggestions[chosen];
      if (step !== undefined) {
        event.preventDefault();
        return setChosen((chosen + step + suggestions.length) % suggestions.length);
      }
      if ((event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) && suggestion) {
        event.preventDefault();
        return choose(suggestion);
      }
      if (event.key === "Escape") {
        event.preventDefault();
        return setClosed(true);
      }
    }
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape") input.current?.blur();
  };
  const onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    attachments.add(event.clipboardData.files);
  };

  return (
    <div className="composer">
      {problem && <ProblemNotice problem={problem} />}
      {areShown && <Suggestions id={listId} suggestions={suggestions} chosen={chosen} onChoose={choose} />}
      <div className="composer-box">
        <AttachedList files={attachments.files} onRemove={attachments.remove} />
        <textarea
          ref={input}
          rows={1}
          value={text}
          disabled={isDisabled}
          placeholder={isRunning ? "Queue a further prompt" : "Write a prompt; / for commands, @ for files"}
          aria-label="Prompt"
          aria-haspopup="listbox"
          aria-controls={areShown ? listId : undefined}
          aria-autocomplete="list"
          aria-activedescendant={areShown ? `${listId}-${chosen}` : undefined}
          onChange={(event) => change(event.target.value, event.target.selectionStart)}
          onSelect={(event) => setCursor(event.currentTarget.selectionStart)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
          onFocus={() => setFocus(true)}
          onBlur={() => setFocus(false)}
        />
        <div className="composer-tools">
          <IconButton icon="attach" label="Attach files" disabled={isDisabled} onClick={() => picker.current?.click()} />
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              attachments.add(event.target.files ?? []);
              event.target.value = "";
            }}
          />
          <span className="faint small hint wide-only">Enter sends, Shift+Enter is a new line</span>
          <span className="composer-end">
            {isRunning && (
              <Button icon="stop" look="danger" isBusy={isStopping} onClick={onStop}>
                Stop
              </Button>
            )}
            <Button icon="send" look="primary" isBusy={isSending} disabled={!canSend} onClick={send}>
              {isRunning ? "Queue" : "Send"}
            </Button>
          </span>
        </div>
      </div>
    </div>
  );
}

/** As tall as its text, within what the style allows. */
function fit(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}
