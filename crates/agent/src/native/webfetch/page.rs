//! Converts HTML to something to read.
//!
//! In: a page. Out: Markdown, or text, or the page. It is written from the tokens as they come,
//! without a tree: whatever the page does, this takes one pass and no more memory than its text.

use std::fmt::Write as _;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};
use serde::Deserialize;

/// Deepest nesting of lists that is shown; deeper lists look the same.
const MAX_DEPTH: usize = 16;

/// The format into which a page is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PageFormat {
    Text,
    #[default]
    Markdown,
    /// The page as it is.
    Html,
}

pub(super) fn convert(html: &str, format: PageFormat) -> String {
    if format == PageFormat::Html {
        return html.to_owned();
    }
    let mut emitter = DefaultEmitter::default();
    // Scripts and styles are not markup.
    emitter.naively_switch_states(true);
    let mut writer = PageWriter { format, ..PageWriter::default() };
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => writer.start(&tag),
            Token::EndTag(tag) => writer.end(&name_of(&tag.name)),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    writer.finish()
}

#[derive(Default)]
struct PageWriter {
    format: PageFormat,
    out: String,
    /// Line ends that are due before the next text.
    n_due: usize,
    is_blank_due: bool,
    /// An element whose inside is not for reading, and how often it is open.
    skipped: Option<(String, usize)>,
    n_pre: usize,
    /// The number of the next item; `None` in a list without numbers.
    lists: Vec<Option<usize>>,
    link: Option<(String, usize)>,
    n_cells: usize,
}

impl PageWriter {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = name_of(&tag.name);
        if let Some((skipped, n_open)) = &mut self.skipped {
            *n_open += usize::from(*skipped == name && !tag.self_closing);
            return;
        }
        let is_markdown = self.format == PageFormat::Markdown;
        match &*name {
            "script" | "style" | "noscript" | "template" | "svg" | "math" | "iframe" | "object"
            | "nav" | "select" | "button" | "textarea"
                if !tag.self_closing =>
            {
                self.skipped = Some((name, 1));
            }
            "br" => self.break_line(1),
            "hr" => {
                self.break_line(2);
                self.mark("---");
                self.break_line(2);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.break_line(2);
                if is_markdown {
                    let level = name.trim_start_matches('h').parse().unwrap_or(1);
                    self.mark(&"#".repeat(level));
                    self.is_blank_due = true;
                }
            }
            "pre" => {
                self.break_line(2);
                if is_markdown && self.n_pre == 0 {
                    self.mark("```");
                    self.break_line(1);
                }
                self.n_pre += 1;
            }
            "code" if is_markdown && self.n_pre == 0 => self.mark("`"),
            "strong" | "b" if is_markdown && self.n_pre == 0 => self.mark("**"),
            "em" | "i" if is_markdown && self.n_pre == 0 => self.mark("*"),
            "ul" | "menu" => self.open_list(None),
            "ol" => self.open_list(Some(1)),
            "li" | "dt" => self.item(),
            "dd" => {
                self.break_line(1);
                self.mark("    ");
            }
            "blockquote" => {
                self.break_line(2);
                self.mark("> ");
            }
            "tr" => {
                self.break_line(1);
                self.n_cells = 0;
            }
            "td" | "th" => {
                if self.n_cells > 0 {
                    self.mark(" | ");
                    self.is_blank_due = false;
                }
                self.n_cells += 1;
            }
            "a" => self.open_link(attribute(tag, "href")),
            "img" => {
                if let Some(alt) = attribute(tag, "alt").filter(|alt| !alt.trim().is_empty()) {
                    let _ = write!(self.inline(), "[image: {}]", alt.trim());
                }
            }
            name if is_block(name) => self.break_line(2),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((skipped, n_open)) = &mut self.skipped {
            if skipped == name {
                *n_open -= 1;
                if *n_open == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        let is_markdown = self.format == PageFormat::Markdown;
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "blockquote" | "table" | "title" => {
                self.break_line(2);
            }
            "pre" => {
                self.n_pre = self.n_pre.saturating_sub(1);
                if is_markdown && self.n_pre == 0 {
                    self.break_line(1);
                    self.mark("```");
                }
                self.break_line(2);
            }
            "code" if is_markdown && self.n_pre == 0 => self.close("`"),
            "strong" | "b" if is_markdown && self.n_pre == 0 => self.close("**"),
            "em" | "i" if is_markdown && self.n_pre == 0 => self.close("*"),
            "ul" | "ol" | "menu" => {
                self.lists.pop();
                self.break_line(if self.lists.is_empty() { 2 } else { 1 });
            }
            "li" | "dt" | "dd" | "tr" => self.break_line(1),
            "a" => self.close_link(),
            name if is_block(name) => self.break_line(2),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        if self.n_pre > 0 {
            if !text.is_empty() {
                self.inline().push_str(text);
            }
            return;
        }
        for (at, word) in text.split(|c: char| c.is_whitespace()).enumerate() {
            self.is_blank_due |= at > 0;
            if !word.is_empty() {
                self.inline().push_str(word);
            }
        }
    }

    /// The output at the place of the next character, after what is due before it.
    fn inline(&mut self) -> &mut String {
        if self.n_due > 0 {
            if !self.out.is_empty() {
                self.out.extend(std::iter::repeat_n('\n', self.n_due));
            }
        } else if self.is_blank_due && !self.out.ends_with([' ', '\n']) && !self.out.is_empty() {
            self.out.push(' ');
        }
        self.n_due = 0;
        self.is_blank_due = false;
        &mut self.out
    }

    fn mark(&mut self, mark: &str) {
        self.inline().push_str(mark);
    }

    /// A mark that belongs to the text before it.
    fn close(&mut self, mark: &str) {
        let is_blank_due = std::mem::take(&mut self.is_blank_due);
        self.mark(mark);
        self.is_blank_due = is_blank_due;
    }

    fn break_line(&mut self, n: usize) {
        self.n_due = self.n_due.max(n);
    }

    fn open_list(&mut self, first: Option<usize>) {
        self.break_line(if self.lists.is_empty() { 2 } else { 1 });
        if self.lists.len() < MAX_DEPTH {
            self.lists.push(first);
        }
    }

    fn item(&mut self) {
        self.break_line(1);
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        let bullet = match self.lists.last_mut() {
            Some(Some(number)) => {
                let bullet = format!("{indent}{number}. ");
                *number += 1;
                bullet
            }
            _ => format!("{indent}- "),
        };
        self.mark(&bullet);
    }

    fn open_link(&mut self, href: Option<String>) {
        self.close_link();
        let href = href.filter(|href| href.starts_with("http") || href.starts_with('/'));
        if let (PageFormat::Markdown, Some(href)) = (self.format, href) {
            self.mark("[");
            self.link = Some((href, self.out.len()));
        }
    }

    fn close_link(&mut self) {
        let Some((href, from)) = self.link.take() else { return };
        if self.out.len() == from {
            // A link without a text, such as a picture, leads nowhere here.
            self.out.pop();
        } else {
            self.close(&format!("]({href})"));
        }
    }

    fn finish(mut self) -> String {
        self.close_link();
        if self.format == PageFormat::Markdown && self.n_pre > 0 {
            self.break_line(1);
            self.mark("```");
        }
        let lines: Vec<&str> = self.out.lines().map(str::trim_end).collect();
        lines.join("\n").trim().to_owned()
    }
}

fn is_block(name: &str) -> bool {
    const BLOCKS: &str = "p div section article main header footer aside form figure figcaption \
        table dl address details summary fieldset body title";
    BLOCKS.split(' ').any(|block| block == name)
}

fn name_of(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests;
