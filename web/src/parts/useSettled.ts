// Whether the target of keys or of a button has been the same for long enough to be the one meant.
import { useCallback, useEffect, useState } from "react";

// A key or a click this soon after another question took the place was meant for the one before.
export const SETTLE = 600;

/** `settle` notes that a person went to it by key: then there is nothing to wait for. */
export function useSettled(id: string | undefined): { isSettled: boolean; settle: (id: string) => void } {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    if (id === undefined) return;
    const timer = setTimeout(() => setSettled(id), SETTLE);
    return () => {
      clearTimeout(timer);
      setSettled((now) => (now === id ? undefined : now));
    };
  }, [id]);
  return { isSettled: id !== undefined && settled === id, settle: useCallback((next) => setSettled(next), []) };
}
