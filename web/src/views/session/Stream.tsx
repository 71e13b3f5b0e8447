// The conversation as a list that holds only what is on the screen, and stays at its end for
// as long as one does not look further up.
import { useCallback, useImperativeHandle, useLayoutEffect, useRef, useState, type Ref } from "react";
import { VList, type VListHandle } from "virtua";
import { Button } from "../../parts/Button";
import { useKeys } from "../../parts/keys";
import type { Row } from "../../session/rows";
import { RowView } from "./RowView";

// The distance from the end within which new items are still followed.
const NEAR = 48;

/** The methods of the list for other components. */
export interface StreamHandle {
  /** Brings an item on the screen. */
  show: (key: string) => void;
  /** Goes to the end and stays there. */
  follow: () => void;
}

interface Props {
  rows: Row[];
  liveKey: string | undefined;
  ref?: Ref<StreamHandle>;
}

export function Stream({ rows, liveKey, ref }: Props) {
  const list = useRef<VListHandle>(null);
  const isFollowing = useRef(true);
  const lastOffset = useRef(0);
  const [isAway, setAway] = useState(false);
  const [seen, setSeen] = useState(rows.length);
  const last = rows.length - 1;

  const toEnd = useCallback(() => {
    isFollowing.current = true;
    setAway(false);
    if (last >= 0) list.current?.scrollToIndex(last, { align: "end" });
  }, [last]);

  const follow = useCallback(() => {
    if (isFollowing.current && last >= 0) list.current?.scrollToIndex(last, { align: "end" });
  }, [last]);

  useLayoutEffect(follow, [rows, follow]);

  const onScroll = (offset: number) => {
    const handle = list.current;
    if (!handle) return;
    const isNear = offset + handle.viewportSize >= handle.scrollSize - NEAR;
    // Only a person scrolls up: what comes new makes the list longer, never the way shorter.
    if (isNear) isFollowing.current = true;
    else if (offset < lastOffset.current - 2) {
      if (isFollowing.current) setSeen(rows.length);
      isFollowing.current = false;
    }
    lastOffset.current = offset;
    setAway(!isFollowing.current);
  };

  const show = (place: number) => {
    if (place < 0) return;
    isFollowing.current = false;
    setAway(true);
    list.current?.scrollToIndex(place, { align: place === 0 ? "start" : "center" });
  };
  useImperativeHandle(ref, () => ({ show: (key) => show(rows.findIndex((row) => row.key === key)), follow: toEnd }));
  useKeys([
    { keys: "End", label: "Jump to the latest", run: toEnd },
    { keys: "Home", label: "Jump to the beginning", run: () => show(0) },
  ]);

  return (
    <div className="stream">
      <h2 className="sr-only">Conversation</h2>
      <VList
        ref={list}
        data={rows}
        className="stream-list"
        role="region"
        aria-label="Conversation"
        tabIndex={0}
        bufferSize={600}
        onScroll={onScroll}
        onResize={follow}
      >
        {(row) => <RowView key={row.key} row={row} isLive={row.item.key === liveKey && (row.piece === undefined || row.isLast)} />}
      </VList>
      {isAway && (
        <Button className="to-end" icon="down" onClick={toEnd}>
          {rows.length > seen ? `Latest, ${rows.length - seen} new` : "Latest"}
        </Button>
      )}
    </div>
  );
}
