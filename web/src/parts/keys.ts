// The keyboard of the page: views register their keys, `?` lists them.
//
// Keys without a modifier do nothing while a person types. The view that came last wins.
import { useEffect, useRef, useSyncExternalStore } from "react";

export interface Binding {
  /** As `KeyboardEvent.key`; `mod+` is Ctrl, or Cmd on a Mac. Two keys in a row: `g s`. */
  keys: string;
  /** Its action, for the list of keys. */
  label: string;
  run: (event: KeyboardEvent) => void;
  /** Also while a person types. */
  inText?: boolean;
  /** Another key for something that is listed already. */
  isSilent?: boolean;
  /** It decides something: a key that is held down, or comes in the middle of a word, does not count. */
  isGrave?: boolean;
}

const layers: { current: Binding[] }[] = [];
const readers = new Set<() => void>();
let listed: Binding[] = [];
// After this long the first key of two is forgotten.
const BETWEEN_KEYS = 1200;
let first: { key: string; at: number } | undefined;
// Keys that follow each other faster than this are text, typed by somebody who looks elsewhere.
const PAUSE = 250;
let lastAt = -Infinity;

export function useKeys(bindings: Binding[]): void {
  const layer = useRef(bindings);
  layer.current = bindings;
  const labels = bindings.map((binding) => binding.keys).join(",");
  useEffect(() => {
    layers.push(layer);
    relist();
    return () => {
      layers.splice(layers.indexOf(layer), 1);
      relist();
    };
  }, [labels]);
}

/** All bindings that can be used now. */
export function useBindings(): Binding[] {
  return useSyncExternalStore(
    (reader) => {
      readers.add(reader);
      return () => readers.delete(reader);
    },
    () => listed,
  );
}

export function listenToKeys(): () => void {
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

function relist(): void {
  listed = layers.flatMap((layer) => layer.current).filter((binding) => !binding.isSilent);
  for (const reader of readers) reader();
}

function onKey(event: KeyboardEvent): void {
  const isModifier = ["Shift", "Alt", "Control", "Meta", "AltGraph"].includes(event.key);
  const isAlone = !event.repeat && event.timeStamp - lastAt > PAUSE;
  if (!isModifier) lastAt = event.timeStamp;
  if (event.defaultPrevented || event.isComposing) return;
  // A dialog has the keyboard for itself.
  if (document.querySelector("dialog[open]")) return;
  const typing = isTextField(event.target);
  const key = nameOf(event);
  const pair = first && event.timeStamp - first.at < BETWEEN_KEYS ? `${first.key} ${key}` : undefined;
  first = undefined;
  for (const layer of [...layers].reverse()) {
    for (const binding of layer.current) {
      if (typing && !binding.inText) continue;
      if (binding.keys !== key && binding.keys !== pair) continue;
      event.preventDefault();
      if (!binding.isGrave || isAlone) binding.run(event);
      return;
    }
  }
  if (!typing) first = { key, at: event.timeStamp };
}

function nameOf(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey ? "mod+" : "";
  const alt = event.altKey ? "alt+" : "";
  return mod + alt + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
}

function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "submit"].includes(target.type);
}
