import fc from "fast-check";
import { expect, test } from "vitest";
import { Cursor } from "./events";
import type { Frame } from "./socket";

const frame = (seq: number): Frame => ({ id: `${seq}-e`, event: "message", data: { seq, time: 0, kind: "x", payload: {} } });

function following() {
  const seen: number[] = [];
  const resets: string[] = [];
  const cursor = new Cursor({
    onEvent: (event) => seen.push(event.seq),
    onReset: (reason) => {
      resets.push(reason);
      seen.length = 0;
    },
  });
  return { cursor, seen, resets };
}

test("reconnects with any overlap lose and double nothing", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(30), fc.nat(30))), (reads) => {
      const { cursor, seen } = following();
      for (const [back, ahead] of reads) {
        const from = Math.max(1, cursor.seq + 1 - back);
        const until = cursor.seq + 1 + ahead;
        for (let seq = from; seq < until; seq++) cursor.take(frame(seq));
      }
      expect(seen).toEqual(Array.from({ length: cursor.seq }, (_, i) => i + 1));
      expect(cursor.id).toBe(cursor.seq ? `${cursor.seq}-e` : undefined);
    }),
  );
});

test("a hole is not stepped over", () => {
  const { cursor, seen } = following();
  cursor.take(frame(1));
  expect(cursor.take(frame(3))).toHaveProperty("evicted");
  expect(seen).toEqual([1]);
  expect(cursor.id).toBe("1-e");
});

test("a resync forgets everything", () => {
  const { cursor, seen, resets } = following();
  for (const seq of [1, 2, 3]) cursor.take(frame(seq));
  expect(cursor.take({ event: "state_resync_required", data: { reason: "other_epoch" } })).toHaveProperty("resync");
  cursor.take(frame(1));
  expect(resets).toHaveLength(1);
  expect(seen).toEqual([1]);
});

test("a session that cannot go on says why, and its stream stays", () => {
  const halts: string[] = [];
  const cursor = new Cursor({ onEvent: () => undefined, onReset: () => undefined, onHalt: (why) => halts.push(why) });
  expect(cursor.take({ event: "session_halted", data: { detail: "its log is full" } })).toBeUndefined();
  expect(halts).toEqual(["its log is full"]);
});

test("an eviction comes back, a deletion does not", () => {
  const { cursor } = following();
  expect(cursor.take({ event: "client_evicted", data: {} })).toHaveProperty("evicted");
  expect(cursor.take({ event: "session_deleted", data: {} })).toHaveProperty("end");
  expect(cursor.take({ event: "something_new", data: "no object" })).toBeUndefined();
});
