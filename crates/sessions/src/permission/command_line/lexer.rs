//! The words of a shell's command line, as POSIX shells and bash read them.
//!
//! In: a line, or several. Out: the words of every command in it, also of those in substitutions,
//! subshells and here-documents, without quotes, comments and redirections. What only the shell
//! will know (variables, substitutions, patterns, braces) is [`ANYTHING`] in a word.
//!
//! It does not know the grammar above commands: where a command may begin one is found, so that
//! there are rather too many than too few.

/// Stands for any text, or none. A line that has it itself says no more by that.
pub(in super::super) const ANYTHING: char = '\u{10FFFF}';
/// Behind these words a command may begin, wherever they stand.
const BETWEEN: [&str; 9] = ["then", "do", "else", "elif", "if", "while", "until", "{", "}"];
/// With these bash takes for code what is text to whoever reads a line.
const ODD: [&str; 9] = [
    "[$(",
    "[`",
    "@P}",
    "PS4=",
    "BASH_CMDS",
    "BASH_ENV",
    "BASH_FUNC_",
    "BASH_ALIASES",
    "histexpand",
];
/// Quotes and substitutions in each other.
const MAX_DEPTH: usize = 32;
/// Variables that hold one path, unless a line does something to variables.
const PATHS: [&str; 2] = ["HOME", "PWD"];
/// What may do that.
const SETTING: [&str; 6] = ["=", "read", "printf", "mapfile", "getopts", "for "];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct Word {
    pub(in super::super) text: String,
    /// The shell may make several words of it, or none.
    pub(in super::super) may_split: bool,
    /// It is an option, or may be the value of one; a command is the same without it.
    pub(in super::super) is_aside: bool,
}

impl Word {
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Any number of words.
    pub(super) fn anything() -> Self {
        Self { text: ANYTHING.to_string(), may_split: true, is_aside: false }
    }

    pub(in super::super) fn is_unknown(&self) -> bool {
        self.text.chars().all(|c| c == ANYTHING) && !self.text.is_empty()
    }
}

/// What a line consists of.
#[derive(Debug, Default)]
pub(super) struct Lexed {
    pub(super) commands: Vec<Vec<Word>>,
    /// What stands in backquotes.
    pub(super) lines: Vec<String>,
    /// Here-documents, which may be commands to whoever reads them.
    pub(super) documents: Vec<String>,
}

/// `None` if it is no whole line, or one that cannot be told.
pub(super) fn lex(source: &str) -> Option<Lexed> {
    // Numbers that are shifted, or a subshell that reads a here-document.
    let is_odd = source.contains('\0') || ODD.iter().any(|odd| source.contains(odd));
    if is_odd || source.contains("((") && source.contains("<<") {
        return None;
    }
    let has_paths = !SETTING.iter().any(|one| source.contains(one));
    let mut lexer = Lexer { rest: source, has_paths, ..Lexer::default() };
    lexer.commands(Until::End)?;
    Some(lexer.found)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    End,
    Parenthesis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
}

#[derive(Debug)]
struct HereDocument {
    delimiter: String,
    /// With quotes around its delimiter it is as it stands.
    is_expanded: bool,
    may_be_indented: bool,
}

/// The commands between two separators that end more than a pipe.
#[derive(Debug, Default)]
struct Pipeline {
    ended: Vec<Vec<Word>>,
    words: Vec<Word>,
    /// Where in the words dash, but not bash, begins another command.
    starts: Vec<usize>,
}

impl Pipeline {
    fn end(&mut self) {
        let words = std::mem::take(&mut self.words);
        let starts = std::mem::take(&mut self.starts);
        self.ended.extend(starts.iter().filter_map(|at| Some(words.get(*at..)?.to_vec())));
        self.ended.push(words);
    }
}

#[derive(Debug, Default)]
struct Lexer<'a> {
    rest: &'a str,
    has_paths: bool,
    found: Lexed,
    awaited: Vec<HereDocument>,
    depth: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn skip(&mut self, text: &str) -> bool {
        let behind = self.rest.strip_prefix(text);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    /// Goes on inside of something, if that is not in too many others.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth = self.depth.checked_add(1).filter(|depth| *depth <= MAX_DEPTH)?;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn commands(&mut self, until: Until) -> Option<()> {
        let mut line = Pipeline::default();
        loop {
            if self.skip("\\\n") {
                continue;
            }
            let Some(c) = self.peek() else { break };
            match c {
                '\n' => {
                    self.next();
                    self.end(&mut line);
                    self.here_documents()?;
                }
                ' ' | '\t' => drop(self.next()),
                '#' => self.rest = self.rest.find('\n').map_or("", |at| self.rest.split_at(at).1),
                '(' => {
                    self.next();
                    self.end(&mut line);
                    self.inside(|lexer| lexer.commands(Until::Parenthesis))?;
                }
                ')' => {
                    self.next();
                    if until == Until::Parenthesis {
                        break;
                    }
                    // What stands before it are patterns of `case`.
                    line = Pipeline::default();
                }
                '<' | '>' if !is_process(self.rest) => self.redirection()?,
                '&' if self.rest.starts_with("&>") => {
                    line.starts.push(line.words.len());
                    self.redirection()?;
                }
                '|' => {
                    self.next();
                    line.end();
                }
                ';' | '&' => {
                    self.next();
                    self.end(&mut line);
                }
                _ => self.word_or_descriptor(&mut line)?,
            }
            // Where that parenthesis is not told from another.
            let is_case = line.words.first().is_some_and(|word| word.text == "case");
            if until == Until::Parenthesis && is_case {
                return None;
            }
        }
        self.end(&mut line);
        Some(())
    }

    fn end(&mut self, line: &mut Pipeline) {
        line.end();
        self.found.commands.extend(line.ended.drain(..).filter(|words| !words.is_empty()));
    }

    fn word_or_descriptor(&mut self, line: &mut Pipeline) -> Option<()> {
        let before = self.rest;
        let word = self.word()?;
        let written = before.get(..before.len() - self.rest.len()).unwrap_or_default();
        let name = written.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        let is_number = written.chars().all(|c| c.is_ascii_digit());
        match written {
            _ if BETWEEN.contains(&written) => self.end(line),
            // `2>file`, `{fd}>file`
            _ if self.rest.starts_with(['<', '>']) && (is_number || name.is_some_and(is_name)) => {}
            _ => line.words.push(word),
        }
        Some(())
    }

    /// Where input comes from and output goes may stand between any two words.
    fn redirection(&mut self) -> Option<()> {
        let is_operator = |c: char| matches!(c, '<' | '>' | '&' | '|');
        let mut operator = String::new();
        while let Some(c) = self.peek().filter(|c| is_operator(*c)) {
            if !operator.is_empty() && is_process(self.rest) || operator.starts_with("<<<") {
                break;
            }
            operator.push(c);
            self.next();
        }
        let may_be_indented = operator == "<<" && self.skip("-");
        while self.skip(" ") || self.skip("\t") || self.skip("\\\n") {}
        let before = self.rest;
        let target = self.word()?;
        if operator == "<<" {
            let written = before.get(..before.len() - self.rest.len()).unwrap_or_default();
            if written.contains(['$', '`']) {
                return None;
            }
            let (delimiter, is_expanded) = (target.text, !written.contains(['\'', '"', '\\']));
            self.awaited.push(HereDocument { delimiter, is_expanded, may_be_indented });
        }
        Some(())
    }

    fn here_documents(&mut self) -> Option<()> {
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
                text.push_str(line);
                text.push('\n');
            }
            if document.is_expanded {
                let mut inner = Lexer { rest: &text, depth: self.depth, ..Lexer::default() };
                inner.expansions()?;
                self.found.commands.append(&mut inner.found.commands);
                self.found.lines.append(&mut inner.found.lines);
                self.found.documents.append(&mut inner.found.documents);
            }
            self.found.documents.push(text);
        }
        Some(())
    }

    /// The commands in a text in which quotes mean nothing.
    fn expansions(&mut self) -> Option<()> {
        let mut text = Word::default();
        while let Some(c) = self.next() {
            match c {
                '\\' => drop(self.next()),
                '$' => self.dollar(&mut text, Quotes::Double)?,
                '`' => self.backquotes(&mut text, Quotes::Double)?,
                _ => {}
            }
        }
        Some(())
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let (mut in_braces, mut before) = (false, None);
        while let Some(c) = self.peek() {
            let is_last = |c| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')');
            if is_process(self.rest) {
                self.next();
                self.substitution(&mut word, Quotes::None)?;
                continue;
            }
            // `@(a|b)`, a pattern if the shell was told to have such.
            if c == '(' && before.is_some_and(|c| "?*+@!".contains(c)) {
                return None;
            }
            if is_last(c) || matches!(c, '<' | '>') {
                break;
            }
            self.next();
            before = Some(c);
            let n_before = word.text.len();
            match c {
                '\\' => word.text.extend(self.next().filter(|c| *c != '\n')),
                '\'' => {
                    let (text, rest) = self.rest.split_once('\'')?;
                    word.text.push_str(text);
                    self.rest = rest;
                }
                '"' => self.inside(|lexer| lexer.double_quotes(&mut word))?,
                '$' => self.dollar(&mut word, Quotes::None)?,
                '`' => self.backquotes(&mut word, Quotes::None)?,
                '*' | '?' => word.unknown(Quotes::None),
                '[' if self.rest.split(is_last).next().is_some_and(|rest| rest.contains(']')) => {
                    word.unknown(Quotes::None);
                }
                // `a[ 1 ]=x`, of which bash makes one word.
                '[' if is_name(&word.text) => return None,
                // `{a,b}` makes several words of one.
                '{' if self.peek().is_some_and(|c| c != '}' && !is_last(c)) => {
                    word.unknown(Quotes::None);
                    in_braces = true;
                    continue;
                }
                c => word.text.push(c),
            }
            if in_braces {
                word.text.truncate(n_before);
            }
        }
        Some(word)
    }

    fn double_quotes(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.next()? {
                '"' => return Some(()),
                '\\' => match self.next()? {
                    '\n' => {}
                    c @ ('"' | '\\' | '$' | '`') => word.text.push(c),
                    c => word.text.extend(['\\', c]),
                },
                '$' => self.dollar(word, Quotes::Double)?,
                '`' => self.backquotes(word, Quotes::Double)?,
                c => word.text.push(c),
            }
        }
    }

    /// What follows a `$`.
    fn dollar(&mut self, word: &mut Word, quotes: Quotes) -> Option<()> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match self.peek() {
            Some('(') => return self.substitution(word, quotes),
            Some('{') => {
                self.next();
                self.inside(|lexer| lexer.parameter(quotes))?;
            }
            Some('\'') if quotes == Quotes::None => {
                self.next();
                return self.escapes(word);
            }
            // Numbers, as they were written long ago.
            Some('[') if quotes == Quotes::None => return None,
            Some('"') if quotes == Quotes::None => return Some(()),
            Some(c) if c.is_ascii_digit() => drop(self.next()),
            Some(c) if is_of_name(c) => {
                let (name, rest) = self
                    .rest
                    .split_at(self.rest.find(|c| !is_of_name(c)).unwrap_or(self.rest.len()));
                self.rest = rest;
                if self.has_paths && PATHS.contains(&name) {
                    word.text.push('/');
                    return Some(());
                }
            }
            Some(c @ ('@' | '*' | '#' | '?' | '-' | '$' | '!')) => {
                self.next();
                word.may_split |= c == '@';
            }
            _ => {
                word.text.push('$');
                return Some(());
            }
        }
        word.unknown(quotes);
        Some(())
    }

    /// `$'…'`, behind the quote.
    fn escapes(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.next()? {
                '\'' => return Some(()),
                '\\' => match self.next()? {
                    // The end of it, to dash.
                    '\'' => return None,
                    'n' => word.text.push('\n'),
                    't' => word.text.push('\t'),
                    'r' => word.text.push('\r'),
                    c @ ('\\' | '"' | '?') => word.text.push(c),
                    // Letters written as numbers.
                    _ => word.unknown(Quotes::Double),
                },
                c => word.text.push(c),
            }
        }
    }

    /// `$(…)`, `<(…)` or `>(…)`, at the parenthesis.
    fn substitution(&mut self, word: &mut Word, quotes: Quotes) -> Option<()> {
        self.next();
        // Here-documents of what is around it are not in it.
        let awaited = std::mem::take(&mut self.awaited);
        self.inside(|lexer| lexer.commands(Until::Parenthesis))?;
        self.awaited.splice(..0, awaited);
        word.unknown(quotes);
        Some(())
    }

    /// `${…}`, behind the brace; commands may be in it.
    fn parameter(&mut self, quotes: Quotes) -> Option<()> {
        let mut inner = Word::default();
        loop {
            match self.next()? {
                '}' => return Some(()),
                '\\' => drop(self.next()?),
                '\'' if quotes == Quotes::None => self.rest = self.rest.split_once('\'')?.1,
                '"' => self.inside(|lexer| lexer.double_quotes(&mut inner))?,
                '$' => self.dollar(&mut inner, quotes)?,
                '`' => self.backquotes(&mut inner, quotes)?,
                // A value that somebody may take for a command is not told.
                _ => {}
            }
        }
    }

    fn backquotes(&mut self, word: &mut Word, quotes: Quotes) -> Option<()> {
        let mut line = String::new();
        loop {
            match self.next()? {
                '`' => break,
                '\\' => match self.next()? {
                    c @ ('`' | '\\' | '$') => line.push(c),
                    '"' if quotes == Quotes::Double => line.push('"'),
                    c => line.extend(['\\', c]),
                },
                c => line.push(c),
            }
        }
        self.found.lines.push(line);
        word.unknown(quotes);
        Some(())
    }
}

impl Word {
    fn unknown(&mut self, quotes: Quotes) {
        if !self.text.ends_with(ANYTHING) {
            self.text.push(ANYTHING);
        }
        self.may_split |= quotes == Quotes::None;
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a process takes the place of a file here.
fn is_process(rest: &str) -> bool {
    rest.starts_with("<(") || rest.starts_with(">(")
}
