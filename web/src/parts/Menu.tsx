// A button that opens a menu. The menu is a popover, so nothing that scrolls cuts it off and
// Escape or a click elsewhere closes it; arrows move, the focus goes back to the button.
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
  /** What the button says; without it, it is the icon alone. */
  text?: string;
  items: MenuItem[];
  disabled?: boolean;
}

export function Menu({ label, icon = "more", text, items, disabled }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const isChoice = items.some((item) => item.isChosen !== undefined);

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
    (chosen ?? list.querySelector<HTMLElement>("button:not(:disabled)"))?.focus();
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
          <span className="menu-text">{text}</span>
          <Icon name="down" size={12} />
        </Button>
      )}
      <div
        id={id}
        ref={menu}
        popover="auto"
        role="menu"
        aria-label={label}
        className="menu"
        onToggle={(event) => setOpen(event.newState === "open")}
        onKeyDown={(event) => onArrow(event, menu.current)}
      >
        {items.map((item, i) => (
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
    </>
  );
}

function onArrow(event: KeyboardEvent, list: HTMLElement | null): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!list || (step === undefined && event.key !== "Home" && event.key !== "End")) return;
  event.preventDefault();
  const items = [...list.querySelectorAll<HTMLElement>("button:not(:disabled)")];
  const here = items.indexOf(document.activeElement as HTMLElement);
  const next = step === undefined ? (event.key === "Home" ? 0 : items.length - 1) : (here + step + items.length) % items.length;
  items[next]?.focus();
}
