//! Pages become text, and no page breaks it.

use proptest::prelude::*;

use super::{PageFormat, convert};

const PAGE: &str = r#"<!doctype html><html><head><title>A &amp; B</title>
<style>p { color: red }</style><script>if (a < b) { evil("</p>") }</script></head><body>
<nav><a href="/x">menu</a></nav>
<h1>Head   line</h1><p>Some <b>bold</b>, <em>soft </em>and <code>code</code>
text with <a href="https://example.org/a">a link</a>.</p>
<ul><li>one<li>two<ol><li>inner</li></ol></li></ul>
<pre>let x = 1;
  indented &lt;tag&gt;</pre>
<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>
<p>line<br>break<img src="x" alt="a cat"></p></body></html>"#;

#[test]
fn a_page_becomes_markdown() {
    let expected = "A & B\n\n# Head line\n\nSome **bold**, *soft* and `code` text with \
        [a link](https://example.org/a).\n\n- one\n- two\n  1. inner\n\n```\nlet x = 1;\n  indented <tag>\n```\n\n\
        k | v\na | 1\n\nline\nbreak[image: a cat]";
    assert_eq!(convert(PAGE, PageFormat::Markdown), expected);
}

#[test]
fn a_page_becomes_text() {
    let text = convert(PAGE, PageFormat::Text);
    assert!(text.starts_with("A & B\n\nHead line\n\nSome bold, soft and code text with a link."));
    assert!(!text.contains("evil") && !text.contains("color") && !text.contains("menu"), "{text}");
}

#[test]
fn depth_costs_nothing() {
    let deep = "<div><ul><li>".repeat(100_000);
    assert!(convert(&deep, PageFormat::Markdown).len() < 100_000 * 80);
    assert_eq!(convert(&"<div>".repeat(200_000), PageFormat::Text), "");
    assert_eq!(convert("<svg><svg></svg>a</svg>b", PageFormat::Text), "b");
    assert_eq!(convert("<script>never ended", PageFormat::Text), "");
    assert_eq!(convert("</ul></pre></a>x", PageFormat::Text), "x");
}

proptest! {
    #[test]
    fn anything_can_be_converted(html in any::<String>()) {
        let _ = convert(&html, PageFormat::Markdown);
        let _ = convert(&html, PageFormat::Text);
    }

    #[test]
    fn any_tags_can_be_converted(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "<a href='/x'>", "</a>", "<ul>", "</ul>", "<li>", "<pre>", "</pre>", "<p>", "word",
            " ", "<script>", "</script>", "<td>", "<h2>", "</h2>", "<svg>", "</svg>", "<code>",
        ]), 0..40)
    ) {
        let html = pieces.concat();
        let _ = convert(&html, PageFormat::Markdown);
        prop_assert!(!convert(&html, PageFormat::Text).contains('<'));
    }
}
