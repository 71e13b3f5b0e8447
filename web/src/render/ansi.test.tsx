// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Ansi, type AnsiLine } from "./ansi";
import { Terminal } from "./Terminal";

afterEach(cleanup);

function lines(text: string): AnsiLine[] {
  const ansi = new Ansi();
  ansi.feed(text);
  return ansi.lines();
}

function plain(text: string): string {
  return lines(text)
    .map((line) => line.map((span) => span.text).join(""))
    .join("\n");
}

const ESC = "\u001b";
// prettier-ignore
const piece = fc.oneof(
  fc.constantFrom(
    `${ESC}[31m`, `${ESC}[1;4m`, `${ESC}[0m`, `${ESC}[38;5;208m`, `${ESC}[38;2;1;2;3m`, `${ESC}[K`, `${ESC}[2K`, `${ESC}[2J`, `${ESC}[?25l`, `${ESC}[5C`,
    `${ESC}]0;title\u0007`, `${ESC}]8;;http://x.example${ESC}\\`, `${ESC}P1$q${ESC}\\`, `${ESC}(B`, `${ESC}c`, "\r", "\n", "\b", "\t", "\u0007", ESC, `${ESC}[`, `${ESC}]`, "\u009b1m", "👍", "\ud83d", "é",
  ),
  fc.string(),
);

describe("any cut of the text", () => {
  test("gives the same lines", () => {
    fc.assert(
      fc.property(fc.array(piece), fc.array(fc.nat(200)), (pieces, cuts) => {
        const text = pieces.join("");
        const ansi = new Ansi();
        let at = 0;
        for (const cut of cuts.sort((a, b) => a - b)) {
          ansi.feed(text.slice(at, cut));
          at = Math.max(at, Math.min(cut, text.length));
        }
        ansi.feed(text.slice(at));
        expect(ansi.lines()).toEqual(lines(text));
      }),
    );
  });
});

describe("colours and weight", () => {
  test("are kept", () => {
    expect(lines(`${ESC}[1;31mred${ESC}[0m plain`)).toEqual([
      [
        { text: "red", style: { bold: true, fg: 1 } },
        { text: " plain", style: {} },
      ],
    ]);
  });

  test("of many become one of sixteen", () => {
    expect(lines(`${ESC}[38;2;255;10;10mx`)[0]?.[0]?.style.fg).toBe(1);
    expect(lines(`${ESC}[38;5;46mx`)[0]?.[0]?.style.fg).toBe(2);
    expect(lines(`${ESC}[48;5;250mx`)[0]?.[0]?.style.bg).toBe(7);
  });
});

describe("moving in the line", () => {
  test("a carriage return writes over what was there", () => {
    expect(plain("10 %\r20 %\r\n100 %")).toBe("20 %\n100 %");
    expect(plain(`downloading${ESC}[2K\rdone`)).toBe("done       ");
    expect(plain(`downloading\r${ESC}[Kdone`)).toBe("done");
  });

  test("a backspace goes back", () => {
    expect(plain("abc\b\bX")).toBe("aXc");
  });

  test("tabs have stops", () => {
    expect(plain("a\tb")).toBe("a       b");
  });
});

describe("hostile sequences", () => {
  test("titles, links, clipboards and queries leave nothing behind", () => {
    expect(
      plain(`a${ESC}]0;evil\u0007b${ESC}]52;c;aGk=\u0007c${ESC}]8;;http://evil.example${ESC}\\link${ESC}]8;;${ESC}\\${ESC}[6n${ESC}[c`),
    ).toBe("abclink");
  });

  test("clearing the screen hides nothing that was printed", () => {
    expect(plain(`rm -rf /${ESC}[2J${ESC}[H\necho ok`)).toBe("rm -rf /\necho ok");
    expect(plain(`first\nsecret${ESC}[1A${ESC}[1Gshown`)).toContain("first");
  });

  test("a sequence without an end does not swallow what follows", () => {
    const text = `${ESC}]0;${"x".repeat(5_000)} visible`;
    expect(plain(text)).toContain("visible");
    expect(plain(`${ESC}[${"1;".repeat(5_000)}\nvisible`)).toContain("visible");
    expect(plain(`${ESC}[31\nvisible`)).toContain("visible");
  });

  test("giant jumps make no giant lines", () => {
    expect(plain(`${ESC}[999999999Cx`).length).toBeLessThan(30_000);
    expect(plain(`${ESC}[999999999Gx`).length).toBeLessThan(30_000);
  });

  test("whatever comes, it ends, and only as text", () => {
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const view = render(<Terminal text={pieces.join("")} />);
        for (const element of view.container.querySelectorAll("pre *")) {
          expect(element.tagName).toBe("SPAN");
          expect([...element.attributes].map((each) => each.name)).toEqual(["class"]);
        }
        expect(view.container.textContent).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
        view.unmount();
      }),
    );
  });
});

describe("long output", () => {
  test("shows its end first, and all when wanted", () => {
    render(<Terminal text={Array.from({ length: 1_000 }, (_, i) => `line ${i}`).join("\n")} />);
    const output = screen.getByLabelText("Output");
    expect(output.textContent).toContain("line 999");
    expect(output.textContent).not.toContain("line 0\n");
    fireEvent.click(screen.getByRole("button", { name: /show all/i }));
    expect(output.textContent).toContain("line 0\n");
  });

  test("a giant line is cut until somebody wants it", () => {
    render(<Terminal text={"y".repeat(500_000)} />);
    const output = screen.getByLabelText("Output");
    expect(output.textContent?.length).toBeLessThan(5_000);
    fireEvent.click(screen.getByRole("button", { name: /show all/i }));
    expect(output.textContent?.length).toBeGreaterThanOrEqual(500_000);
  });
});
