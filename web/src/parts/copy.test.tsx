// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { CopyButton } from "./Copy";
import { Toasts } from "./Toasts";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test("a text that is made only when it is copied is copied", async () => {
  const writeText = vi.fn(async () => undefined);
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  render(<CopyButton text={() => "the whole"} label="Copy it" />);
  fireEvent.click(screen.getByRole("button", { name: "Copy it" }));
  await screen.findByRole("button", { name: "Copied" });
  expect(writeText).toHaveBeenCalledWith("the whole");
});

test.each([
  ["is missing", {}, "HTTPS"],
  ["refuses", { clipboard: { writeText: async () => Promise.reject(new Error("not allowed")) } }, "not allowed"],
])("a clipboard that %s is reported", async (_, navigator, why) => {
  vi.stubGlobal("navigator", navigator);
  render(
    <>
      <CopyButton text="x" />
      <Toasts />
    </>,
  );
  fireEvent.click(screen.getByRole("button", { name: "Copy" }));
  await waitFor(() => expect(document.body.textContent).toContain(why));
  expect(screen.queryByRole("button", { name: "Copied" })).toBeNull();
  fireEvent.click(screen.getByLabelText("Dismiss"));
});
