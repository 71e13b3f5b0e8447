// The list of suggestions above the prompt. The focus stays in the prompt.
import { useEffect, useRef } from "react";
import { visible } from "../../render/visible";
import type { Suggestion } from "../../session/completion";

interface Props {
  id: string;
  suggestions: Suggestion[];
  chosen: number;
  onChoose: (suggestion: Suggestion) => void;
}

export function Suggestions({ id, suggestions, chosen, onChoose }: Props) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // Newer browsers answer with a promise, which must not be taken for a clean-up.
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <ul ref={list} id={id} role="listbox" aria-label="Suggestions" className="menu suggestions">
      {suggestions.map((suggestion, i) => (
        <li
          key={suggestion.insert}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === chosen}
          className="menu-item"
          // Before the prompt would lose the focus.
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(suggestion);
          }}
        >
          <span className="mono">{visible(suggestion.label)}</span>
          {suggestion.detail && <span className="faint small">{visible(suggestion.detail)}</span>}
        </li>
      ))}
    </ul>
  );
}
