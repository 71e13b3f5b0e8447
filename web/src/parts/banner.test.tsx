// @vitest-environment jsdom
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { UNCONNECTED } from "../api/connection";
import { DELETED } from "../api/events";
import { ConnectionBanner } from "./ConnectionBanner";

afterEach(cleanup);

test.each([
  [DELETED, "To the sessions", "/"],
  ["the login of this browser was revoked", "Log in", "/login"],
])("what is over leads to where one can go on: %s", (reason, name, href) => {
  render(<ConnectionBanner connection={{ ...UNCONNECTED, phase: "ended", reason }} onRetry={() => undefined} />);
  expect(screen.getAllByRole("link").map((link) => [link.textContent, link.getAttribute("href")])).toEqual([[name, href]]);
});
