// The window's title: the number of open questions, and the subject of the view.
import { useEffect } from "react";
import { useLive } from "../api/live";
import { visible } from "../render/visible";

/** `attention` comes first, so that a narrow tab still shows it. */
export function useTitle(view: string, attention?: string): void {
  const waiting = useLive().questions.length;
  useEffect(() => {
    const parts = [attention, view, "Switchyard"].filter((part) => part);
    document.title = visible((waiting > 0 ? `(${waiting}) ` : "") + parts.join(" · "));
  }, [view, attention, waiting]);
}
