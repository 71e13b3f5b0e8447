// Whether an element can be seen, as one scrolls.
import { useEffect, useRef, type RefObject } from "react";

// Observed in small steps, since of something tall only a small part can ever be seen.
const STEPS = Array.from({ length: 51 }, (_, i) => i / 50);
const ENOUGH = 0.6;

/** More than half of it must be seen, or its buttons may not be; or it takes up the screen. */
export function isSeen(
  entry: Pick<IntersectionObserverEntry, "intersectionRatio" | "intersectionRect" | "rootBounds"> | undefined,
): boolean {
  if (!entry) return false;
  return entry.intersectionRatio >= ENOUGH || entry.intersectionRect.height >= ENOUGH * (entry.rootBounds?.height ?? Infinity);
}

export function useOnScreen<T extends Element>(onChange: (isThere: boolean) => void): RefObject<T | null> {
  const ref = useRef<T>(null);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    const element = ref.current;
    if (!element || typeof IntersectionObserver === "undefined") return;
    const observer = new IntersectionObserver((entries) => latest.current(isSeen(entries.at(-1))), { threshold: STEPS });
    observer.observe(element);
    return () => {
      observer.disconnect();
      latest.current(false);
    };
  }, []);
  return ref;
}
