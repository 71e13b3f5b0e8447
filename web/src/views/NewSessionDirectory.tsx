// The field for the directory: typed with completion, or chosen step by step, or one used before.
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { asProblem, isAbort } from "../api/problem";
import type { DirectoryList } from "../api/types";
import { withSlash, listDirectories, queryFor } from "../list/directories";
import { IconButton } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { cutLine } from "../render/visible";

const RECENT_SHOWN = 4;
const AFTER_TYPING = 120;
const LONGEST_SHOWN = 600;

interface Props {
  value: string;
  recent: string[];
  /** Whether the dialog's focus begins here. */
  isFirst: boolean;
  isDisabled: boolean;
  isInvalid: boolean;
  onChange: (value: string) => void;
}

interface Choice {
  name: string;
  path: string;
}

export function DirectoryField({ value, recent, isFirst, isDisabled, isInvalid, onChange }: Props) {
  const id = useId();
  const field = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const { list, problem } = useDirectories(value, isOpen && !isDisabled);
  const choices = choicesOf(list, value);
  const isShown = isOpen && !isDisabled && (choices.length > 0 || problem !== undefined || list !== undefined);

  const go = (to: string) => {
    onChange(to);
    setChosen(-1);
  };
  const enter = (choice: Choice) => {
    go(withSlash(choice.path));
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const choice = isShown ? choices[chosen] : undefined;
    if (step !== 0) {
      event.preventDefault();
      setOpen(true);
      setChosen(Math.min(choices.length - 1, Math.max(-1, chosen + step)));
    } else if (event.key === "Enter" && choice) {
      event.preventDefault();
      enter(choice);
    } else if (event.key === "Escape" && isShown) {
      // The dialog stays.
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };

  return (
    <div
      ref={field}
      className="field"
      onBlur={(event) => {
        if (!field.current?.contains(event.relatedTarget)) setOpen(false);
      }}
    >
      <label htmlFor={id}>Directory</label>
      <div className="directory-field">
        <div className="directory">
          <input
            ref={input}
            id={id}
            className="input mono"
            name="cwd"
            value={value}
            disabled={isDisabled}
            placeholder="~/project"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            data-first={isFirst || undefined}
            role="combobox"
            aria-autocomplete="list"
            aria-expanded={isShown}
            aria-controls={isShown ? `${id}-list` : undefined}
            aria-activedescendant={isShown && chosen >= 0 ? `${id}-${chosen}` : undefined}
            aria-invalid={isInvalid || undefined}
            onFocus={() => value === "" && setOpen(true)}
            onChange={(event) => {
              go(event.target.value);
              setOpen(true);
            }}
            onKeyDown={onKeyDown}
          />
          <IconButton
            icon="folder"
            label="Choose a directory"
            aria-expanded={isShown}
            disabled={isDisabled}
            onClick={() => {
              if (!isShown) go(withSlash(value));
              setOpen(!isShown);
              input.current?.focus();
            }}
          />
        </div>
        {isShown && (
          <Directories
            id={id}
            choices={choices}
            chosen={chosen}
            isEmpty={list?.directories.length === 0}
            isComplete={list?.isComplete ?? true}
            problem={problem}
            onChoose={enter}
          />
        )}
      </div>
      {recent.length > 0 && !isDisabled && (
        <div className="recent" role="group" aria-label="Recently used">
          {recent.slice(0, RECENT_SHOWN).map((path) => (
            <button
              key={path}
              type="button"
              className="recent-path mono"
              aria-pressed={path === value}
              title={cutLine(path, LONGEST_SHOWN)}
              onClick={() => {
                go(path);
                setOpen(false);
              }}
            >
              <bdi>{cutLine(path, LONGEST_SHOWN)}</bdi>
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

interface ListProps {
  id: string;
  choices: Choice[];
  chosen: number;
  isEmpty: boolean;
  isComplete: boolean;
  problem: string | undefined;
  onChoose: (choice: Choice) => void;
}

function Directories({ id, choices, chosen, isEmpty, isComplete, problem, onChoose }: ListProps) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // Newer browsers answer with a promise, which must not be taken for a clean-up.
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <div className="directories">
      <ul ref={list} id={`${id}-list`} role="listbox" aria-label="Directories">
        {choices.map((choice, i) => (
          <li
            key={choice.path}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === chosen}
            className="menu-item"
            title={cutLine(choice.path, LONGEST_SHOWN)}
            // Before the field would lose the focus.
            onMouseDown={(event) => {
              event.preventDefault();
              onChoose(choice);
            }}
          >
            <Icon name="folder" />
            <bdi className="mono">{cutLine(choice.name, LONGEST_SHOWN)}</bdi>
          </li>
        ))}
      </ul>
      <p className="faint small" role="status">
        {problem ?? (isEmpty ? "No directories in here." : isComplete ? "" : "There are more: type how the name begins.")}
      </p>
    </div>
  );
}

/** The directory above comes first, as long as no name is typed. */
function choicesOf(list: DirectoryList | undefined, typed: string): Choice[] {
  if (!list) return [];
  const above = list.parent && queryFor(typed).prefix === "" ? [{ name: "..", path: list.parent }] : [];
  return [...above, ...list.directories];
}

/** The directories for a typed path; while the next response is under way the last one stays. */
function useDirectories(typed: string, isWanted: boolean): { list?: DirectoryList; problem?: string } {
  const [found, setFound] = useState<{ list?: DirectoryList; problem?: string }>({});
  const { path, prefix } = queryFor(typed);
  useEffect(() => {
    if (!isWanted) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      listDirectories({ path, prefix }, stop.signal).then(
        (list) => setFound({ list }),
        (error: unknown) => {
          if (isAbort(error)) return;
          const problem = asProblem(error);
          setFound({ problem: cutLine(problem.detail ?? problem.message, LONGEST_SHOWN) });
        },
      );
    }, AFTER_TYPING);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [path, prefix, isWanted]);
  return isWanted ? found : {};
}
