// Announcements for screen readers while a session runs: beginnings and ends, not every word.
import { useEffect, useRef, useState } from "react";
import { cutLine } from "../../render/visible";
import type { Conversation } from "../../session/items";

export function useAnnouncement(conversation: Conversation, isRead: boolean): string {
  const [words, setWords] = useState("");
  const before = useRef<Conversation>(undefined);
  useEffect(() => {
    const last = before.current;
    before.current = isRead ? conversation : undefined;
    // Entries from before the page was opened are read, not announced.
    if (!isRead || !last) return;
    const question = conversation.waiting.find((each) => !last.waiting.some((old) => old.requestId === each.requestId));
    if (question) return setWords(`Question: ${cutLine(question.title, 200)}`);
    if (conversation.running && !last.running) return setWords("The agent works");
    if (!conversation.running && last.running) {
      const end = conversation.items.findLast((item) => item.type === "end");
      setWords(end?.type === "end" && end.error ? `Failed: ${cutLine(end.error.message, 300)}` : "The agent is done");
    }
  }, [conversation, isRead]);
  return words;
}
