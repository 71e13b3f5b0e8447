import { expect, test } from "vitest";
import { bytes, count } from "./numbers";
import { duration } from "./Time";

test.each([
  [0, "0 ms"],
  [850, "850 ms"],
  [999.4, "999 ms"],
  [999.6, "1.0 s"],
  [4_200, "4.2 s"],
  [9_960, "10 s"],
  [59_499, "59 s"],
  [59_999, "1 min 0 s"],
  [119_700, "2 min 0 s"],
  [185_000, "3 min 5 s"],
  [3_599_700, "1 h 0 min"],
  [3_600_000, "1 h 0 min"],
  [7_380_000, "2 h 3 min"],
])("a duration of %d ms is %s", (ms, words) => {
  expect(duration(ms)).toBe(words);
});

test.each([
  [980, "980"],
  [999.6, "1k"],
  [12_345, "12.3k"],
  [99_960, "100k"],
  [999_499, "999k"],
  [999_960, "1M"],
  [1_234_567, "1.2M"],
])("a count of %d is %s", (n, words) => {
  expect(count(n)).toBe(words);
});

test.each([
  [1_023, "1023 B"],
  [1_024, "1 KB"],
  [1_048_000, "1023 KB"],
  [1_048_570, "1 MB"],
  [1_073_741_820, "1 GB"],
])("a size of %d bytes is %s", (n, words) => {
  expect(bytes(n)).toBe(words);
});
