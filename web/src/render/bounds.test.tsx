// @vitest-environment jsdom
// What is hostile or giant costs little. Work is counted; where nothing can be counted, the
// input is one that would not end within the test's time.
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import type { Root } from "hast";
import { afterEach, describe, expect, test } from "vitest";
import { unfenced } from "../session/toolText";
import { Ansi } from "./ansi";
import { Content } from "./Content";
import { isCostly, workOf } from "./lexerWork";
import { diffOf } from "./diff";
import { coloured, portions } from "./highlight";
import { Limited } from "./Limited";
import { lex } from "./Markdown";
import { readOn, runsOf, Terminal } from "./Terminal";

afterEach(cleanup);
const ESC = "\u001b";

describe("Markdown", () => {
  test("that is nothing but marks is not given to the lexer", () => {
    for (const unit of ["*a_", "[*a", "]**a", "[**a", "_a ", "](~~a"]) {
      const text = unit.repeat(8_000 / unit.length);
      expect(isCostly(text), unit).toBe(true);
      expect(lex(text), unit).toBeUndefined();
      // Cut into lines it is one paragraph still.
      expect(isCostly(text.replace(/.{500}/g, "$&\n")), unit).toBe(true);
    }
    expect(isCostly("> ".repeat(4_000))).toBe(true);
  });

  test("that people and agents write is", () => {
    const paragraph = "The **parser** reads `snake_case_names` and [links](https://a.example), *mostly*. ".repeat(8);
    const list = "- **name**: what `it_does`, and _why_ it does so\n".repeat(150);
    const table = `|a|b|\n|---|---|\n${"|**x**|`y_z`|\n".repeat(200)}`;
    const code = `\`\`\`c\n${"**p = *a_ * *b_;\n".repeat(400)}\`\`\`\n`;
    for (const text of [paragraph.repeat(2), `${paragraph}\n\n`.repeat(8), list, table, code]) {
      expect(workOf(text)).toBeLessThan(1_000_000);
      expect(lex(text)).toBeDefined();
    }
  });

  test("of a tool is drawn in pieces, more of them when wanted", () => {
    const text = "Some words in a paragraph.\n\n".repeat(8_000);
    const { container } = render(<Content block={{ type: "text", text }} />);
    const first = container.querySelectorAll("p").length;
    expect(first).toBeLessThan(1_000);
    fireEvent.click(screen.getByRole("button", { name: /Show more/ }));
    const second = container.querySelectorAll("p").length;
    expect(second).toBeGreaterThan(first);
    expect(second).toBeLessThan(2_500);
  });
});

describe("a terminal", () => {
  test("moving about makes a bounded number of cells", () => {
    for (const unit of [`${ESC}[20000Gx\n`, `${ESC}[9999Cx\n`, `${ESC}[19999Gx${ESC}[2K`, `${ESC}[19999Gx${ESC}[1K`]) {
      const ansi = new Ansi();
      ansi.feed(unit.repeat(20_000));
      expect(ansi.made, unit).toBeLessThanOrEqual(500_000);
      const cells = ansi.lines().reduce((n, line) => n + line.reduce((m, span) => m + span.text.length, 0), 0);
      expect(cells, unit).toBeLessThan(600_000);
    }
  });

  test("tabs beyond the longest line are characters like any other", () => {
    const ansi = new Ansi();
    ansi.feed("\t".repeat(100_000));
    expect(ansi.lines()[0]?.[0]?.text.length).toBeLessThan(120_000);
  });

  test("more colours than anybody can see are none", () => {
    const ansi = new Ansi();
    ansi.feed(Array.from({ length: 50_000 }, (_, i) => `${ESC}[3${i % 8}mx`).join(""));
    expect(runsOf(ansi.lines())).toHaveLength(1);
    const few = new Ansi();
    few.feed(`${ESC}[31mred${ESC}[0m plain`);
    expect(runsOf(few.lines()).map((run) => run.name)).toEqual(["fg-red", ""]);
  });

  test("that grows is read on, not again", () => {
    const first = readOn(undefined, "one\ntw");
    const second = readOn(first, "one\ntwo\n");
    expect(second.ansi).toBe(first.ansi);
    expect(second.ansi.lines().map((line) => line[0]?.text)).toEqual(["one", "two"]);
    expect(readOn(second, "other").ansi).not.toBe(first.ansi);
  });

  test("of megabytes is read from its end, and says so", () => {
    const { container } = render(<Terminal text={`${"line\n".repeat(1_000_000)}the end`} />);
    expect(container.textContent).toContain("the end");
    fireEvent.click(screen.getByRole("button", { name: /Show more/ }));
    expect(container.textContent).toContain("the end");
    expect(container.textContent).toContain("are not shown");
  });
});

describe("code", () => {
  const root = (value: string): Root => ({ type: "root", children: [{ type: "text", value }] });

  test("is coloured in small portions that together are the whole", () => {
    const text = "int main(void) {\n  return 0;\n}\n\n".repeat(500);
    const parts = portions(text);
    expect(parts.join("")).toBe(text);
    expect(Math.max(...parts.map((part) => part.length))).toBeLessThanOrEqual(1_600);
    for (const odd of ["", "\n\n\n", "x", "a\n".repeat(5_000), "y".repeat(9_000)]) expect(portions(odd).join("")).toBe(odd);
  });

  test("is coloured no longer than the time that it has", () => {
    let now = 0;
    const given: string[] = [];
    const highlight = (part: string) => {
      given.push(part);
      now += 40;
      return root(part);
    };
    const text = "a b\n".repeat(10_000);
    const { container } = render(<pre>{coloured(highlight, text, 100, () => now)}</pre>);
    expect(given).toHaveLength(3);
    expect(container.textContent).toBe(text);
  });

  test("of one giant line is not coloured", () => {
    const { container } = render(
      <pre>
        {coloured(
          () => expect.fail("was coloured"),
          "x".repeat(5_000),
          100,
          () => 0,
        )}
      </pre>,
    );
    expect(container.textContent).toHaveLength(5_000);
  });
});

test("diffs that are shown together share what one may take", () => {
  const before = Array.from({ length: 400 }, (_, i) => `line ${i}\n`).join("");
  const after = before.replaceAll(/line (\d*[05])\n/g, "changed $1\n");
  const noLimit = Number.POSITIVE_INFINITY;
  expect(diffOf(before, after, 1, noLimit).isWhole).toBe(false);
  expect(diffOf(before, after, 20, noLimit).isWhole).toBe(true);
});

describe("a fence around output", () => {
  test("is taken off, whatever its length", () => {
    expect(unfenced("```\nout\n```")).toBe("out");
    expect(unfenced("\n~~~sh\na\n```\nb\n~~~\n")).toBe("a\n```\nb");
    expect(unfenced("````\n```\n````")).toBe("```");
    expect(unfenced("```\n```")).toBe("");
    for (const text of ["plain", "```", "```\nno end", "text\n```\nx\n```", ""]) expect(unfenced(text)).toBe(text);
  });

  test("is looked for once at each end", () => {
    const hostile = `\`\`\`\n${"\n```x".repeat(200_000)}`;
    expect(unfenced(hostile)).toBe(hostile);
    expect(unfenced(`\`\`\`${"`".repeat(300_000)}`)).toHaveLength(300_003);
    expect(unfenced(" ".repeat(300_000))).toHaveLength(300_000);
  });
});

test("a list of thousands shows its beginning", () => {
  render(
    <Limited items={Array.from({ length: 5_000 }, (_, i) => i)} shown={10} noun="places">
      {(some) => some.map((i) => <i key={i} data-testid="one" />)}
    </Limited>,
  );
  expect(screen.getAllByTestId("one")).toHaveLength(10);
  fireEvent.click(screen.getByRole("button", { name: "Show 200 more of 5000 places" }));
  expect(screen.getAllByTestId("one")).toHaveLength(210);
});
