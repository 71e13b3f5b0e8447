// A button that opens a menu. The menu is a popover, so nothing that scrolls cuts it off and
// Escape or a click elsewhere closes it; arrows move, the focus goes back to the button. One that is
// long is searched.
import { useId, useRef, useState, type KeyboardEvent } from "react";
import { Button, IconButton } from "./Button";
import { Icon, type IconName } from "./Icon";

export interface MenuItem {
  label: string;
  icon?: IconName;
  /** Shown smaller beneath the label. */
  detail?: string;
  isChosen?: boolean;
  isDanger?: boolean;
  isDisabled?: boolean;
  run: () => void;
}

interface Props {
  label: string;
  icon?: IconName;
  /** The button's text; without it, it is the icon alone. */
  text?: string;
  /** Whether the button also shows its label. */
  isNamed?: boolean;
  items: MenuItem[];
  disabled?: boolean;
}

/** Menus with more items than this get a search field. */
const SEARCHED_FROM = 12;

export function Menu({ label, icon = "more", text, isNamed, items, disabled }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [words, setWords] = useState("");
  const isChoice = items.some((item) => item.isChosen !== undefined);
  const isSearched = items.length > SEARCHED_FROM;
  const shown = words.trim() === "" ? items : items.filter((item) => fits(item, words));

  const open = () => {
    const list = menu.current;
    const place = button.current?.getBoundingClientRect();
    if (!list || !place) return;
    list.showPopover();
    const box = list.getBoundingClientRect();
    const below = place.bottom + 4 + box.height <= innerHeight;
    list.style.top = `${Math.max(4, below ? place.bottom + 4 : place.top - 4 - box.height)}px`;
    list.style.left = `${Math.max(4, Math.min(place.left, innerWidth - box.width - 8))}px`;
    const chosen = list.querySelector<HTMLElement>("[aria-checked=true]");
    chosen?.scrollIntoView({ block: "nearest" });
    const first = list.querySelector<HTMLElement>("input") ?? chosen ?? list.querySelector<HTMLElement>("button:not(:disabled)");
    first?.focus();
  };
  const close = () => {
    menu.current?.hidePopover();
    button.current?.focus();
  };
  const shared = {
    ref: button,
    disabled,
    "aria-haspopup": "menu" as const,
    "aria-expanded": isOpen,
    "aria-controls": id,
    onClick: () => (isOpen ? close() : open()),
  };

  return (
    <>
      {text === undefined ? (
        <IconButton icon={icon} label={label} {...shared} />
      ) : (
        <Button look="quiet" title={label} aria-label={`${label}: ${text}`} {...shared}>
          <span className="menu-text">
            {isNamed && <span className="faint">{label}: </span>}
            {text}
          </span>
          <Icon name="down" size={12} />
        </Button>
      )}
      <div
        ref={menu}
        popover="auto"
        className="menu"
        onToggle={(event) => {
          setOpen(event.newState === "open");
          if (event.newState === "closed") setWords("");
        }}
        onKeyDown={(event) => onArrow(event, menu.current)}
      >
        {isSearched && (
          <input
            type="search"
            className="input menu-search"
            aria-label={`Search: ${label}`}
            aria-controls={id}
            placeholder="Search"
            autoComplete="off"
            spellCheck={false}
            value={words}
            onChange={(event) => setWords(event.target.value)}
            onKeyDown={(event) => {
              const [only] = shown;
              if (event.key !== "Enter" || !only || words.trim() === "") return;
              event.preventDefault();
              close();
              only.run();
            }}
          />
        )}
        <div id={id} role="menu" aria-label={label} className="menu-items">
          {shown.map((item, i) => (
            <button
              key={i}
              type="button"
              role={isChoice ? "menuitemradio" : "menuitem"}
              aria-checked={isChoice ? (item.isChosen ?? false) : undefined}
              tabIndex={-1}
              disabled={item.isDisabled}
              className={item.isDanger ? "menu-item danger" : "menu-item"}
              onClick={() => {
                close();
                item.run();
              }}
            >
              {isChoice ? <Icon name="check" className={item.isChosen ? "" : "hidden"} /> : item.icon && <Icon name={item.icon} />}
              <span>
                {item.label}
                {item.detail && <small>{item.detail}</small>}
              </span>
            </button>
          ))}
        </div>
        {shown.length === 0 && (
          <p className="faint small" role="status">
            No match.
          </p>
        )}
      </div>
    </>
  );
}

function fits({ label, detail = "" }: MenuItem, words: string): boolean {
  const text = `${label} ${detail}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function onArrow(event: KeyboardEvent, list: HTMLElement | null): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!list || (step === undefined && event.key !== "Home" && event.key !== "End")) return;
  // In the search these move the cursor.
  if (step === undefined && event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  const items = [...list.querySelectorAll<HTMLElement>("button:not(:disabled)")];
  const here = items.indexOf(document.activeElement as HTMLElement);
  const from = here < 0 && step === -1 ? 0 : here;
  const next = step === undefined ? (event.key === "Home" ? 0 : items.length - 1) : (from + step + items.length) % items.length;
  items[next]?.focus();
}
