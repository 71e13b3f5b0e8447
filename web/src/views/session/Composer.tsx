// The input for prompts: text over several lines, files, commands, mentions; and the button that
// stops the running turn.
import {
  useEffect,
  useId,
  useImperativeHandle,
  useRef,
  useState,
  type ClipboardEvent,
  type KeyboardEvent,
  type Ref,
  type RefObject,
} from "react";
import { Button, IconButton } from "../../parts/Button";
import { accept, type Suggestion } from "../../session/completion";
import { AttachedList } from "./AttachedList";
import { draftOf, keepDraft } from "../../session/drafts";
import { Suggestions } from "./Suggestions";
import { Unsent } from "./Unsent";
import type { useAttachments } from "./useAttachments";
import { useLoneKey, type KeyAnswer } from "./useLoneKey";
import { useSending } from "./useSending";
import { useSuggestions } from "./useSuggestions";
import type { SlashCommand } from "../../api/types";

/** The methods of the composer for other components. */
export interface ComposerHandle {
  /** Adds words to what is written. */
  add: (words: string) => void;
}

interface Props {
  session: string;
  cwd: string;
  commands: readonly SlashCommand[];
  attachments: ReturnType<typeof useAttachments>;
  isRunning: boolean;
  isStopping: boolean;
  isDisabled: boolean;
  input: RefObject<HTMLTextAreaElement | null>;
  ref?: Ref<ComposerHandle>;
  /** The answer that a key in the empty prompt gives. */
  answerFor?: (key: string) => KeyAnswer | undefined;
  /** Commands of ended turns still run, and can be stopped. */
  areCommandsLeft?: boolean;
  onStop: () => void;
  /** A person has sent something. */
  onSend?: () => void;
}

const NO_ANSWER = () => undefined;

export function Composer({
  session,
  cwd,
  commands,
  attachments,
  isRunning,
  areCommandsLeft = false,
  isStopping,
  isDisabled,
  input,
  ref,
  answerFor = NO_ANSWER,
  onStop,
  onSend,
}: Props) {
  const [text, setText] = useState(() => draftOf(session));
  const [cursor, setCursor] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [isClosed, setClosed] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const listId = useId();
  const { target, suggestions } = useSuggestions(session, text, cursor, commands);
  const areShown = hasFocus && !isClosed && target !== undefined && suggestions.length > 0;

  const latest = useRef(text);
  latest.current = text;
  const {
    sending,
    unsent,
    problem,
    send: deliver,
    again,
    forget,
    renew,
  } = useSending(session, cwd, (back) => {
    // A prompt that could not be sent goes back into the field, if nothing new is there.
    if (latest.current !== "") return false;
    setText(back.text);
    attachments.restore(back.files);
    return true;
  });
  const lone = useLoneKey(answerFor, () => setText(""));
  // Until the daemon has it, it is not sent.
  const draft = [sending?.text, unsent?.text, text].filter(Boolean).join("\n");
  useEffect(() => keepDraft(session, draft), [session, draft]);
  useEffect(() => {
    // A person who opens a session wants to write; on a phone that would cover half of it with
    // keys.
    const isTouched = window.matchMedia?.("(pointer: coarse)").matches;
    if (!isTouched && !document.querySelector("dialog[open]")) input.current?.focus({ preventScroll: true });
  }, [input]);
  useEffect(() => fit(input.current), [text, input]);
  useEffect(() => setChosen(0), [target?.words, target?.kind]);

  const change = (next: string, at: number) => {
    setText(next);
    setCursor(at);
    setClosed(false);
    renew();
    lone.onText(next);
  };
  const add = (words: string) => {
    const next = latest.current.trim() === "" ? words : `${latest.current.trimEnd()}\n${words}`;
    change(next, next.length);
    input.current?.focus();
  };
  useImperativeHandle(ref, () => ({ add }));
  const choose = (suggestion: Suggestion) => {
    if (!target) return;
    const done = accept(text, target, suggestion);
    change(done.text, done.cursor);
    const field = input.current;
    // After React has written the value, or the cursor would go to the end.
    requestAnimationFrame(() => {
      field?.focus();
      field?.setSelectionRange(done.cursor, done.cursor);
    });
  };
  const canSend = !sending && !isDisabled && !attachments.isUploading && (text.trim() !== "" || attachments.files.length > 0);
  const send = () => {
    if (!canSend) return;
    const files = attachments.files;
    if (!deliver({ text, files })) return;
    // The field is free at once: what is written while the prompt is on its way is the next one.
    setText("");
    setCursor(0);
    attachments.clear();
    input.current?.focus();
    onSend?.();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.nativeEvent.isComposing) return;
    lone.onKeyDown(event, text);
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
      <Unsent
        prompt={unsent}
        problem={problem}
        isBusy={sending !== undefined}
        onAgain={again}
        onBack={() => {
          if (!unsent) return;
          add(unsent.text);
          attachments.restore(unsent.files);
          forget();
        }}
      />
      {areShown && <Suggestions id={listId} suggestions={suggestions} chosen={chosen} onChoose={choose} />}
      <div className="composer-box">
        <AttachedList files={attachments.files} onRemove={attachments.remove} />
        <textarea
          ref={input}
          rows={1}
          value={text}
          disabled={isDisabled}
          placeholder={isRunning ? "Queue a further prompt" : "Write a prompt; / commands, @ files"}
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
            {(isRunning || areCommandsLeft) && (
              <Button icon="stop" look="danger" isBusy={isStopping} onClick={onStop}>
                {isRunning ? "Stop" : "Stop commands"}
              </Button>
            )}
            <Button icon="send" look="primary" isBusy={sending !== undefined} disabled={!canSend} onClick={send}>
              {isRunning ? "Queue" : "Send"}
            </Button>
          </span>
        </div>
      </div>
    </div>
  );
}

/** Makes the field as tall as its text, within what the style allows. */
function fit(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  const { scrollHeight } = field;
  field.style.height = `${scrollHeight}px`;
  // A bar beside a single line is only in the way; there is one once the text is cut off.
  field.style.overflowY = scrollHeight > field.clientHeight + 1 ? "auto" : "hidden";
}
