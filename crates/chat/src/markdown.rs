//! Markdown as lines of a terminal.
//!
//! In: what an agent wrote, also while it is being written, and a width. Out: styled lines.
//! Entities are resolved by the parser, so everything is made safe after it, where lines are
//! broken. Nothing is loaded and nothing is hidden: a link shows where it leads.

mod table;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::theme::Theme;
use crate::wrap::{BreakAt, Margin, wrap};
use table::MarkdownTable;

/// Deeper lists and quotations are drawn as deep as this.
const MAX_DEPTH: usize = 8;

pub(crate) fn lines(text: &str, columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut writer = MarkdownWriter { columns, theme, ..MarkdownWriter::default() };
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(text, options) {
        writer.take(event);
    }
    writer.flush();
    writer.lines
}

/// A block that encloses the current text.
enum EnclosingBlock {
    Quote,
    /// The number of its next entry, if it is numbered.
    List(Option<u64>),
    /// Columns of its marker.
    Entry(usize),
}

#[derive(Default)]
struct MarkdownWriter {
    columns: usize,
    theme: Theme,
    lines: Vec<Line<'static>>,
    pieces: Vec<Span<'static>>,
    styles: Vec<Style>,
    nest: Vec<EnclosingBlock>,
    /// Stands before the next line: a bullet or a number.
    marker: Option<String>,
    wants_gap: bool,
    /// The block of code that is being read.
    code: Option<String>,
    table: Option<MarkdownTable>,
    links: Vec<String>,
}

impl MarkdownWriter {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, Style::new()),
            Event::Code(code) => self.text(&code, self.theme.code()),
            // Shown as it is written.
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html, self.theme.dim()),
            Event::SoftBreak => self.text(" ", Style::new()),
            Event::HardBreak => self.text("\n", Style::new()),
            Event::Rule => {
                self.flush();
                self.gap();
                let rule = "─".repeat(self.columns.min(40));
                self.lines.push(Line::styled(rule, self.theme.dim()));
                self.wants_gap = true;
            }
            Event::TaskListMarker(is_done) => {
                self.text(if is_done { "[x] " } else { "[ ] " }, Style::new());
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, self.theme.code());
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), Style::new()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap_outside(),
            Tag::Heading { level, .. } => {
                self.gap_outside();
                let style = self.theme.heading();
                self.styles.push(match level {
                    HeadingLevel::H1 => style.add_modifier(Modifier::UNDERLINED),
                    _ => style,
                });
            }
            Tag::BlockQuote(_) => {
                self.gap_outside();
                self.nest.push(EnclosingBlock::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.gap_outside();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.text(&language, self.theme.dim());
                    self.flush();
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.gap_outside();
                self.nest.push(EnclosingBlock::List(first));
            }
            Tag::Item => {
                self.flush();
                let marker = match self.nest.last_mut() {
                    Some(EnclosingBlock::List(Some(number))) => {
                        let marker = format!("{number}. ");
                        *number = number.saturating_add(1);
                        marker
                    }
                    _ => "• ".to_owned(),
                };
                self.nest.push(EnclosingBlock::Entry(marker.chars().count()));
                self.marker = Some(marker);
            }
            Tag::Table(alignments) => {
                self.gap_outside();
                self.table = Some(MarkdownTable { alignments, rows: Vec::new() });
            }
            Tag::TableRow | Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(String::new());
                }
            }
            Tag::Emphasis => self.styles.push(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(self.theme.strong()),
            Tag::Strikethrough => {
                self.styles.push(Style::new().add_modifier(Modifier::CROSSED_OUT));
            }
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.link(&dest_url);
                self.text("image: ", self.theme.dim());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                self.wants_gap = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.wants_gap = true;
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) => {
                self.flush();
                self.nest.pop();
                self.wants_gap = true;
            }
            TagEnd::Item => {
                self.flush();
                // An entry without a word still has its bullet.
                if self.marker.is_some() {
                    self.text(" ", Style::new());
                    self.write(false);
                }
                self.nest.pop();
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                let code = code.strip_suffix('\n').unwrap_or(&code);
                self.pieces.push(Span::styled(code.to_owned(), self.theme.code()));
                self.write(true);
                self.wants_gap = true;
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let table = table.lines(self.columns, self.theme);
                    self.lines.extend(table);
                    self.wants_gap = true;
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let target = self.links.pop().unwrap_or_default();
                let is_said = self.pieces.last().is_some_and(|piece| piece.content == target);
                if !is_said && !target.is_empty() {
                    self.text(&format!(" ({target})"), self.theme.dim());
                }
            }
            _ => {}
        }
    }

    fn link(&mut self, target: &str) {
        self.styles.push(self.theme.link());
        self.links.push(target.to_owned());
    }

    fn text(&mut self, text: &str, style: Style) {
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return;
        }
        if let Some(table) = &mut self.table {
            table.text(text);
            return;
        }
        let style = self.styles.iter().fold(Style::new(), |all, one| all.patch(*one)).patch(style);
        self.pieces.push(Span::styled(text.to_owned(), style));
    }

    fn flush(&mut self) {
        if !self.pieces.is_empty() {
            self.write(false);
        }
    }

    fn write(&mut self, is_code: bool) {
        let pieces = std::mem::take(&mut self.pieces);
        let margin = self.margin(is_code);
        let at = if is_code { BreakAt::Cells } else { BreakAt::Words };
        self.lines.extend(wrap(&pieces, self.columns, &margin, at));
    }

    fn margin(&mut self, is_code: bool) -> Margin {
        let dim = self.theme.dim();
        let mut margin = Margin::default();
        let marker = self.marker.take();
        let last_entry =
            self.nest.iter().rposition(|nest| matches!(nest, EnclosingBlock::Entry(_)));
        for (index, nest) in self.nest.iter().enumerate().take(MAX_DEPTH) {
            match nest {
                EnclosingBlock::Quote => {
                    margin.first.push(Span::styled("▌ ", dim));
                    margin.rest.push(Span::styled("▌ ", dim));
                }
                EnclosingBlock::List(_) => {}
                EnclosingBlock::Entry(columns) => {
                    let blank = Span::raw(" ".repeat(*columns));
                    margin.rest.push(blank.clone());
                    margin.first.push(match &marker {
                        Some(marker) if Some(index) == last_entry => {
                            Span::styled(marker.clone(), dim)
                        }
                        _ => blank,
                    });
                }
            }
        }
        if is_code {
            margin.first.push(Span::styled("│ ", dim));
            margin.rest.push(Span::styled("│ ", dim));
        }
        margin
    }

    /// Blocks stand apart; entries of lists do not.
    fn gap_outside(&mut self) {
        self.flush();
        if self.nest.is_empty() {
            self.gap();
        } else {
            self.wants_gap = false;
        }
    }

    fn gap(&mut self) {
        if std::mem::take(&mut self.wants_gap) && !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
    }
}

#[cfg(test)]
mod tests;
