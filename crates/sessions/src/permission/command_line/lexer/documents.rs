//! Redirections, and the here-documents that some of them announce.
//!
//! A here-document begins with the next line and ends where its delimiter stands alone. If shells
//! do not agree on where that is, the line cannot be told.

use super::{ANYTHING, Lexer, Quotes, Word};

#[derive(Debug)]
pub(super) struct HereDocument {
    delimiter: String,
    /// Its delimiter has no quotes; with them the text is taken as it stands.
    is_expanded: bool,
    may_be_indented: bool,
}

impl HereDocument {
    /// Whether a line that ends with a backslash, or the one below, may be its end to some shell.
    fn may_end_joined(&self, line: &str, below: &str) -> bool {
        let next = below.split('\n').next().unwrap_or_default().trim_start_matches('\t');
        let next = next.trim_end_matches('\\');
        let start = line.trim_start_matches('\t').trim_end_matches('\\');
        self.delimiter.starts_with(start) || self.delimiter.starts_with(next)
    }
}

impl Lexer<'_> {
    /// Reads a redirection, which may stand between any two words.
    pub(super) fn redirection(&mut self) -> Option<()> {
        let is_operator = |c: char| matches!(c, '<' | '>' | '&' | '|');
        let mut operator = String::new();
        while let Some(c) = self.peek().filter(|c| is_operator(*c)) {
            if !operator.is_empty() && self.is_at_process() || operator.starts_with("<<<") {
                break;
            }
            operator.push(c);
            self.next();
        }
        let may_be_indented = operator == "<<" && self.skip("-");
        while self.skip(" ") || self.skip("\t") {}
        let before = self.rest;
        let target = self.word()?;
        // Bash reads what is no number there once more.
        if operator.ends_with('&') && target.text.contains([ANYTHING, '$', '`', '(']) {
            return None;
        }
        if operator == "<<" {
            let written = self.since(before);
            // Its end is unknown, or not the same to every shell.
            let is_odd =
                written.contains(['$', '`']) || target.text.contains([ANYTHING, '\n', '\t']);
            if is_odd || written.contains("\\\n") || written.contains('~') || !self.is_unambiguous()
            {
                return None;
            }
            let (delimiter, is_expanded) = (target.text, !written.contains(['\'', '"', '\\']));
            self.awaited.push(HereDocument { delimiter, is_expanded, may_be_indented });
        }
        Some(())
    }

    pub(super) fn here_documents(&mut self) -> Option<()> {
        for document in std::mem::take(&mut self.awaited) {
            let mut text = String::new();
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let bare = line.trim_start_matches('\t');
                let bare = if document.may_be_indented { bare } else { line };
                if bare == document.delimiter {
                    break;
                }
                // The end of it to some shell: joined with the next, or before a parenthesis.
                let is_joined = document.is_expanded && line.ends_with('\\');
                if is_joined && document.may_end_joined(bare, rest)
                    || self.depth > 0 && bare.starts_with(&document.delimiter)
                {
                    return None;
                }
                text.push_str(line);
                text.push('\n');
            }
            if document.is_expanded {
                let mut inner =
                    Lexer { rest: &text, depth: self.depth, is_in_value: true, ..Lexer::default() };
                let literal = inner.expansions()?;
                self.unread(&literal);
                self.found.commands.append(&mut inner.found.commands);
                self.found.lines.append(&mut inner.found.lines);
                self.found.documents.append(&mut inner.found.documents);
                self.found.joins_tests |= inner.found.joins_tests;
                self.found.reread_risk.join(inner.found.reread_risk);
                self.found.unread.join(inner.found.unread);
            } else {
                self.unread(&text);
            }
            self.found.documents.push(text);
        }
        Some(())
    }

    /// Notes the text of a here-document, which may become the value of a variable: in a
    /// substitution, or by a builtin.
    fn unread(&mut self, text: &str) {
        match self.depth > 0 {
            true => self.found.reread_risk.literals.see_document(text),
            false => self.found.unread.see_document(text),
        }
    }

    /// Reads the commands in a text in which quotes mean nothing, and returns the rest.
    fn expansions(&mut self) -> Option<String> {
        let mut text = Word::default();
        while let Some(c) = self.next() {
            match c {
                '\\' => text.text.extend(self.raw()),
                '$' => self.dollar(&mut text, Quotes::Double)?,
                '`' => self.backquotes(&mut text, Quotes::Double)?,
                c => text.text.push(c),
            }
        }
        Some(text.text)
    }
}
