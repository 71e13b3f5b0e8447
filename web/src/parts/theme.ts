// The theme: light, dark, or the system's; kept in this browser.
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
const KEY = "switchyard.theme";
const readers = new Set<() => void>();
// A choice that could not be stored: storage may be forbidden, or full.
let unstored: Theme | undefined;

export function useTheme(): [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore((reader) => {
    readers.add(reader);
    return () => readers.delete(reader);
  }, currentTheme);
  return [theme, setTheme];
}

/** Applies the stored choice; called before anything is drawn. */
export function applyTheme(): void {
  const theme = currentTheme();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function currentTheme(): Theme {
  if (unstored !== undefined) return unstored;
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system"; // storage may be forbidden
  }
}

export function setTheme(theme: Theme): void {
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
    unstored = undefined;
  } catch {
    // Then it is kept until the page is left.
    unstored = theme;
  }
  applyTheme();
  for (const reader of readers) reader();
}
