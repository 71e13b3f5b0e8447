// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Boundary } from "./Boundary";

let isBroken = true;
function Fragile() {
  if (isBroken) throw new Error("x is undefined");
  return <p>whole</p>;
}

beforeEach(() => {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("what cannot be drawn is said in its place, and may be tried again", () => {
  const place = document.createElement("div");
  const root = createRoot(place);
  act(() =>
    root.render(
      <>
        <nav>around</nav>
        <Boundary name="This view" instead={() => <pre>raw</pre>}>
          <Fragile />
        </Boundary>
      </>,
    ),
  );
  expect(place.textContent).toContain("around");
  expect(place.textContent).toContain("This view cannot be shown: x is undefined");
  expect(place.querySelector("pre")?.textContent).toBe("raw");

  isBroken = false;
  const again = [...place.querySelectorAll("button")].find((button) => button.textContent === "Try again");
  act(() => again?.click());
  expect(place.textContent).toBe("aroundwhole");
  act(() => root.unmount());
});
