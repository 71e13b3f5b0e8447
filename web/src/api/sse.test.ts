import fc from "fast-check";
import { expect, test } from "vitest";
import { SseParser } from "./sse";

const STREAM = 'event: stream\r\ndata: {"a":1}\r\n\r\n: ping\n\nid: 8-x\ndata: one\ndata: two\n\rdata:no space\r\rid: 9\ndata: ünïcode\n\n';

test("a frame has its id, its event and all its lines", () => {
  expect(new SseParser().feed(STREAM)).toEqual([
    { id: undefined, event: "stream", data: '{"a":1}' },
    { id: "8-x", event: "message", data: "one\ntwo" },
    { id: undefined, event: "message", data: "no space" },
    { id: "9", event: "message", data: "ünïcode" },
  ]);
});

test("any cut of the stream gives the same frames", () => {
  const whole = new SseParser().feed(STREAM);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: STREAM.length })), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), STREAM.length];
      const parser = new SseParser();
      const frames = places.slice(1).flatMap((end, i) => parser.feed(STREAM.slice(places[i], end)));
      expect(frames).toEqual(whole);
    }),
  );
});

test("a frame that the end of the stream cuts off is dropped", () => {
  expect(new SseParser().feed("data: whole\n\ndata: hal")).toHaveLength(1);
});
