// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Content } from "./Content";
import { Markdown } from "./Markdown";
import examples from "../../../crates/wire/src/text/tests/hidden.json";
import { safeHref, visible } from "./visible";

afterEach(cleanup);

/** The control character that it is a picture of. */
function hex(picture: string): string {
  return (picture.charCodeAt(0) - 0x2400).toString(16).toUpperCase().padStart(2, "0");
}

/** The elements that may come from an agent's text; everything else would be a hole. */
const ALLOWED = new Set(
  "DIV P A SPAN STRONG EM DEL CODE PRE BR HR UL OL LI INPUT BLOCKQUOTE TABLE THEAD TBODY TR TH TD H3 H4 H5 H6 BUTTON svg path".split(" "),
);

function drawn(text: string): HTMLElement {
  return render(<Markdown text={text} />).container;
}

function expectInert(root: HTMLElement): void {
  for (const element of root.querySelectorAll("*")) {
    expect(ALLOWED).toContain(element.tagName);
    for (const { name, value } of element.attributes) {
      expect(name).not.toMatch(/^on|^style$|^src|^srcdoc$|^action$|^formaction$/i);
      if (name === "href") {
        expect(value).toMatch(/^(https?|mailto):/);
        expect(element.getAttribute("rel")).toBe("noopener noreferrer");
        expect(element.getAttribute("target")).toBe("_blank");
      }
    }
  }
}

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "text <b onclick=alert(1)>bold</b> text",
  "<svg><animate onbegin=alert(1)></svg>",
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "<style>*{display:none}</style>",
  "<!-- --!><img src=x onerror=alert(1)> -->",
  "[click](javascript:alert(1))",
  "[click](JaVaScRiPt:alert(1))",
  "[click](java\tscript:alert(1))",
  "[click](&#106;avascript:alert(1))",
  "[click](data:text/html,<script>alert(1)</script>)",
  "[click](vbscript:x) [click](file:///etc/passwd) [click](blob:x) [click](//evil.example) [click](/v1/logout)",
  "<javascript:alert(1)> <https://ok.example/>",
  "![x](https://evil.example/pixel.png) ![y](data:image/svg+xml,<svg onload=alert(1)>)",
  '![x](x "onerror=alert(1)") [a](https://x.example "\\" onmouseover=alert(1) \\"")',
  "[ref]: javascript:alert(1)\n\n[ref]",
  "```html\n<script>alert(1)</script>\n```",
  '```"><img src=x onerror=alert(1)>\ncode\n```',
  "| <img src=x onerror=alert(1)> | b |\n|---|---|\n| <script>1</script> | [x](javascript:1) |",
  "- [x] <input onfocus=alert(1) autofocus>",
  "# <script>alert(1)</script>",
  "> <a href=javascript:alert(1)>x</a>",
];

describe("hostile text", () => {
  test.each(HOSTILE)("stays text: %s", (text) => {
    expectInert(drawn(text));
  });

  test("raw HTML is shown as it was written", () => {
    expect(drawn("<script>alert(1)</script>").textContent).toBe("<script>alert(1)</script>");
    expect(drawn("a <b onclick=x>b</b>").textContent).toBe("a <b onclick=x>b</b>");
  });

  test("any mixture of it stays text", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.constantFrom(...HOSTILE, "\n", "\n\n", "> ", "- ", "`", "```\n", "**", "_", "|", "[", "](", ")"), fc.string()),
          { maxLength: 12 },
        ),
        (parts) => {
          const view = render(<Markdown text={parts.join("")} />);
          expectInert(view.container);
          view.unmount();
        },
      ),
      { numRuns: 60 },
    );
  });

  test("nesting deeper than any stack is survived", () => {
    expectInert(drawn("> ".repeat(4_000) + "deep"));
    expectInert(drawn("- ".repeat(2_000) + "deep"));
    expectInert(drawn("[".repeat(3_000) + "x" + "](https://a.example)".repeat(300)));
    expectInert(drawn("*".repeat(3_000) + "x" + "*".repeat(3_000)));
  }, 30_000);
});

describe("links and pictures", () => {
  test("only addresses that are harmless are links", () => {
    expect(safeHref("https://a.example/x")).toBe("https://a.example/x");
    expect(safeHref("mailto:a@b.example")).toBe("mailto:a@b.example");
    for (const bad of [
      "javascript:1",
      " javascript:1",
      "data:,x",
      "file:///x",
      "//x.example",
      "/v1/logout",
      "#x",
      "",
      "blob:https://x/1",
    ]) {
      expect(safeHref(bad)).toBeUndefined();
    }
  });

  test("a link shows where it leads", () => {
    drawn("[https://good.example](https://evil.example/)");
    expect(screen.getByRole("link").getAttribute("title")).toBe("https://evil.example/");
  });

  test("a picture elsewhere is a link and is never loaded", () => {
    const root = drawn("![a cat](https://evil.example/cat.png)");
    expect(root.querySelector("img")).toBeNull();
    expect(screen.getByRole("link", { name: "image: a cat" }).getAttribute("href")).toBe("https://evil.example/cat.png");
  });

  test("a picture that came whole is shown, one that is a document is not", () => {
    const png = render(<Content block={{ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }} />);
    expect(png.container.querySelector("img")?.getAttribute("src")).toBe("data:image/png;base64,iVBORw0KGgo=");
    const svg = render(<Content block={{ type: "image", mimeType: "image/svg+xml", data: "PHN2Zz4=" }} />);
    expect(svg.container.querySelector("img")).toBeNull();
    const odd = render(<Content block={{ type: "image", mimeType: "image/png", data: '"><script>' }} />);
    expect(odd.container.querySelector("img")).toBeNull();
  });
});

describe("what cannot be seen", () => {
  test("is made visible", () => {
    expect(visible("a\u0000b\u001b[31m\u007f")).toBe("a␀b␛[31m␡");
    expect(visible("abc\u202Edef")).toBe("abc‹U+202E›def");
    expect(visible("zero\u200Bwidth\uFEFF")).toBe("zero‹U+200B›width‹U+FEFF›");
    expect(visible("line\r\nline\ttab")).toBe("line\nline\ttab");
  });

  test("what hides from a reader is the same as everywhere else", () => {
    for (const [text, codes] of examples as [string, string[]][]) {
      const shown = visible(text).replace(/[\u2400-\u2421]/g, (picture) => `‹U+00${picture === "␡" ? "7F" : hex(picture)}›`);
      expect([...shown.matchAll(/‹U\+([0-9A-F]+)›/g)].map((found) => found[1])).toEqual(codes);
    }
  });

  test("also in Markdown, code and titles of links", () => {
    const root = drawn("a\u202Eb `c\u0007d`\n\n```\ne\u001bf\n```");
    expect(root.textContent).toContain("a‹U+202E›b");
    expect(root.textContent).toContain("c␇d");
    expect(root.textContent).toContain("e␛f");
  });

  test("what a family of people is joined with stays as it is", () => {
    expect(visible("👨‍👩‍👧")).toBe("👨‍👩‍👧");
  });
});

describe("giant text", () => {
  test("a giant line is cut until somebody wants it", () => {
    const root = drawn("x".repeat(200_000));
    expect(root.textContent?.length).toBeLessThan(10_000);
    fireEvent.click(screen.getByRole("button", { name: /show all/i }));
    expect(root.textContent?.length).toBe(200_000);
  });

  test("so is giant code", () => {
    const root = drawn("```\n" + "line\n".repeat(20_000) + "```");
    expect(root.textContent?.length).toBeLessThan(10_000);
    expect(screen.getByRole("button", { name: /show all/i })).toBeTruthy();
  });
});

describe("ordinary Markdown", () => {
  test("has its elements", () => {
    const root = drawn(
      "# Title\n\nSome *em*, **strong**, ~~gone~~, `code`.\n\n1. one\n2. two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n> quote\n\n---\n",
    );
    for (const name of ["h3", "em", "strong", "del", "code", "ol > li", "table td.right", "blockquote", "hr"]) {
      expect(root.querySelector(name), name).not.toBeNull();
    }
  });

  test("character references are what they stand for, and still no elements", () => {
    const root = drawn("a &amp; b &lt;b&gt; &#x41; &unknown;");
    expect(root.textContent).toBe("a & b <b> A &unknown;");
    expect(root.querySelector("b")).toBeNull();
  });

  test("a block that did not change is not drawn again while the next one grows", () => {
    const view = render(<Markdown text={"first\n\nsec"} isLive />);
    const first = view.container.querySelector("p");
    view.rerender(<Markdown text={"first\n\nsecond"} isLive />);
    expect(view.container.querySelector("p")).toBe(first);
    expect(view.container.textContent).toBe("firstsecond");
  });
});
