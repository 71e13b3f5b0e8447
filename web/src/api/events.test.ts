import fc from "fast-check";
import { expect, test } from "vitest";
import { Cursor } from "./events";
import type { Frame } from "./sse";

const frame = (seq: number): Frame => ({ id: `${seq}-e`, event: "message", data: JSON.stringify({ seq, time: 0, kind: "x", payload: {} }) });

function following() {
  const seen: number[] = [];
  const resets: string[] = [];
  const cursor = new Cursor({
    onEvents: (events) => seen.push(...events.map((event) => event.seq)),
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
        cursor.take(Array.from({ length: cursor.seq + 1 + ahead - from }, (_, i) => frame(from + i)));
      }
      expect(seen).toEqual(Array.from({ length: cursor.seq }, (_, i) => i + 1));
      expect(cursor.id).toBe(cursor.seq ? `${cursor.seq}-e` : undefined);
    }),
  );
});

test("a hole is not stepped over", () => {
  const { cursor, seen } = following();
  const verdict = cursor.take([frame(1), frame(3)]);
  expect(seen).toEqual([1]);
  expect(verdict).toHaveProperty("evicted");
  expect(cursor.id).toBe("1-e");
});

test("a resync forgets everything, also what came in the same read", () => {
  const { cursor, seen, resets } = following();
  cursor.take([frame(1), frame(2)]);
  cursor.take([frame(3), { event: "state_resync_required", data: '{"reason":"other_epoch"}' }, frame(1)]);
  expect(resets).toHaveLength(1);
  expect(seen).toEqual([1]);
});

test("an eviction comes back, a deletion does not", () => {
  const { cursor } = following();
  expect(cursor.take([{ event: "client_evicted", data: "{}" }])).toHaveProperty("evicted");
  expect(cursor.take([{ event: "session_deleted", data: "{}" }])).toHaveProperty("end");
  expect(cursor.take([{ event: "something_new", data: "no json" }])).toBeUndefined();
});
