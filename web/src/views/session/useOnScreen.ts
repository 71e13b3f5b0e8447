// Whether something can be seen, as one scrolls.
import { useEffect, useRef, type RefObject } from "react";

export function useOnScreen<T extends Element>(tell: (isThere: boolean) => void): RefObject<T | null> {
  const ref = useRef<T>(null);
  const latest = useRef(tell);
  latest.current = tell;
  useEffect(() => {
    const element = ref.current;
    if (!element || typeof IntersectionObserver === "undefined") return;
    // Half of it must be seen, or its buttons may not be.
    const observer = new IntersectionObserver(([entry]) => latest.current(entry?.isIntersecting ?? false), { threshold: 0.6 });
    observer.observe(element);
    return () => {
      observer.disconnect();
      latest.current(false);
    };
  }, []);
  return ref;
}
