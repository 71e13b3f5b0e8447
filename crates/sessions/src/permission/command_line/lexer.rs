//! The words of a shell's command line, as POSIX shells and bash read them.
//!
//! In: a line, or several. Out: the words of every command in it, also of those in substitutions,
//! subshells and here-documents, without quotes, comments and redirections. What only the shell
//! will know (variables, substitutions, patterns, braces) is [`ANYTHING`] in a word.
//!
//! It does not know the grammar above commands: where a command may begin one is found, so that
//! there are rather too many than too few.

mod documents;
mod expansions;
mod line_checks;
mod literals;
mod names;
mod numbers;
mod pipeline;

use documents::HereDocument;
use literals::{Literals, is_code};

pub(super) use line_checks::{PATH, has_nullglob, has_paths, names_element};
pub(super) use literals::RereadRisk;

use line_checks::{changes_comments, has_code_names};
use names::{may_set_code_name, names_variable};
use numbers::{SubscriptPlace, names_number, works_out};
use pipeline::{Pipeline, WordPlace};

/// Stands for any text, or none. A line that has it itself says no more by that.
pub(in super::super) const ANYTHING: char = '\u{10FFFF}';
/// Behind these words a command may begin, wherever they stand.
const RESERVED_WORDS: [&str; 9] = ["then", "do", "else", "elif", "if", "while", "until", "{", "}"];
/// Depth of quotes and substitutions in each other.
const MAX_DEPTH: usize = 32;
/// Commands that may begin within one, each of which is looked at to its end.
const MAX_STARTS: usize = 64;
/// Builtins that read their input into variables.
const READING: [&str; 3] = ["mapfile", "read", "readarray"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct Word {
    pub(in super::super) text: String,
    /// The shell may make several words of it, or none.
    pub(in super::super) may_split: bool,
    /// Those words are unknown, since a variable or the like is in it.
    pub(in super::super) is_open: bool,
    /// Those words may be the names of files.
    pub(in super::super) is_pattern: bool,
    /// It is an option, or may be the value of one; a command is the same without it.
    pub(in super::super) is_optional: bool,
    /// Braces in it may make an option of it, and what stands behind that option.
    pub(in super::super) makes_options: bool,
    /// `a=(…)`
    pub(in super::super) is_array: bool,
}

impl Word {
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// The same word with another text.
    pub(super) fn with(&self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self.clone() }
    }

    /// Any number of words.
    pub(super) fn anything() -> Self {
        Self { text: ANYTHING.to_string(), may_split: true, is_open: true, ..Self::default() }
    }

    pub(in super::super) fn is_unknown(&self) -> bool {
        self.text.chars().all(|c| c == ANYTHING) && !self.text.is_empty()
    }
}

/// The parts of a line.
#[derive(Debug, Default)]
pub(super) struct LexedLine {
    pub(super) commands: Vec<Vec<Word>>,
    /// Texts in backquotes.
    pub(super) lines: Vec<String>,
    /// Here-documents, which may be commands to whoever reads them.
    pub(super) documents: Vec<String>,
    /// It was taken for granted that dash has no `[[`.
    pub(super) joins_tests: bool,
    pub(super) reread_risk: RereadRisk,
    /// Here-documents that no command but a program reads.
    pub(super) unread: Literals,
}

/// Takes a line apart; `None` if it is no whole line, or one that shells read differently.
pub(super) fn lex(source: &str, has_paths: bool) -> Option<LexedLine> {
    let joined = source.replace("\\\n", "");
    if source.contains('\0')
        || has_code_names(source)
        || has_code_names(&joined)
        || changes_comments(source)
    {
        return None;
    }
    let mut lexer = Lexer { rest: source, has_paths, ..Lexer::default() };
    lexer.commands(CommandsEnd::End)?;
    let mut found = lexer.found;
    let any = |is_it: fn(&[Word]) -> bool| found.commands.iter().any(|words| is_it(words));
    if found.reread_risk.literals.is_odd() || any(may_set_code_name) {
        return None;
    }
    let has_numbers = found.lines.iter().any(|line| line.contains("(("))
        || any(works_out)
        || any(|words| words.iter().any(|word| names_number(&word.text)))
        || names_number(&joined);
    let has_names = any(names_variable);
    let has_bracket = any(|words| words.iter().skip(1).any(|word| word.text == "["));
    let is_read = any(|words| words.iter().any(|word| READING.contains(&word.text.as_str())));
    found.reread_risk.has_numbers |= has_numbers;
    found.reread_risk.has_names |= has_names;
    if has_bracket {
        found.reread_risk.literals.see_bracket();
    }
    if is_read {
        found.reread_risk.literals.join(std::mem::take(&mut found.unread));
    }
    Some(found)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandsEnd {
    End,
    Parenthesis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
}

#[derive(Debug, Default)]
struct Lexer<'a> {
    rest: &'a str,
    has_paths: bool,
    found: LexedLine,
    awaited: Vec<HereDocument>,
    depth: usize,
    /// In a here-document, or in what a shell puts together, and in no command there.
    is_in_value: bool,
    /// `$${` stood in quotes. To bash a value begins there when it looks for the end of the quotes.
    has_false_value: bool,
    /// How many `((` are open: numbers to bash, and subshells to dash.
    n_numbers: usize,
    /// The depth at which the `[[` stands that is open.
    test: Option<usize>,
}

impl Lexer<'_> {
    fn peek(&mut self) -> Option<char> {
        self.join();
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        self.join();
        self.raw()
    }

    /// A backslash before a line break joins two lines, also within whatever stands there.
    fn join(&mut self) {
        while let Some(rest) = self.rest.strip_prefix("\\\n") {
            self.rest = rest;
        }
    }

    /// The next character as it stands: lines are not joined.
    fn raw(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    /// Whether `text` follows.
    fn is_at(&self, text: &str) -> bool {
        let mut ahead = Lexer { rest: self.rest, ..Lexer::default() };
        text.chars().all(|c| ahead.next() == Some(c))
    }

    /// Whether a process substitution follows.
    fn is_at_process(&self) -> bool {
        self.is_at("<(") || self.is_at(">(")
    }

    /// The text that was read since `before` was the rest, as it stands.
    fn since<'b>(&self, before: &'b str) -> &'b str {
        before.get(..before.len() - self.rest.len()).unwrap_or_default()
    }

    fn skip(&mut self, text: &str) -> bool {
        let is_there = self.is_at(text);
        for _ in text.chars().filter(|_| is_there) {
            self.next();
        }
        is_there
    }

    /// Reads one level deeper, if that is not too deep.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth = self.depth.checked_add(1).filter(|depth| *depth <= MAX_DEPTH)?;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn in_value<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let is_around = std::mem::replace(&mut self.is_in_value, true);
        let read = self.inside(read);
        self.is_in_value = is_around;
        read
    }

    fn commands(&mut self, until: CommandsEnd) -> Option<()> {
        let (mut line, mut n_cases) = (Pipeline::default(), 0_usize);
        while let Some(c) = self.peek() {
            match c {
                '\n' => {
                    self.next();
                    self.end(&mut line);
                    if line.place == WordPlace::Within {
                        line.place = WordPlace::Start;
                    }
                    self.here_documents()?;
                }
                ' ' | '\t' => drop(self.next()),
                '#' if self.is_unambiguous() => {
                    self.rest = self.rest.find('\n').map_or("", |at| self.rest.split_at(at).1);
                }
                '#' => return None,
                '(' => {
                    let n_numbers = usize::from(self.is_at("(("));
                    self.next();
                    self.end(&mut line);
                    self.n_numbers += n_numbers;
                    self.found.reread_risk.has_numbers |= n_numbers > 0;
                    self.inside(|lexer| lexer.commands(CommandsEnd::Parenthesis))?;
                    self.n_numbers -= n_numbers;
                    line.place = WordPlace::Continued;
                }
                ')' => {
                    self.next();
                    if until == CommandsEnd::Parenthesis {
                        break;
                    }
                    // What stands before it are patterns of a `case`, and nothing else.
                    n_cases.checked_sub(1)?;
                    line.drop_patterns();
                    line.place = WordPlace::Continued;
                }
                '<' | '>' if !self.is_at_process() => {
                    line.place = WordPlace::Within;
                    self.redirection()?;
                }
                '&' if self.is_at("&>") => {
                    line.place = WordPlace::Within;
                    line.starts.push(line.words.len());
                    self.redirection()?;
                }
                '&' if line.is_in_test() && self.skip("&&") => self.found.joins_tests = true,
                '|' => {
                    self.next();
                    line.end();
                    line.place = WordPlace::Continued;
                }
                ';' | '&' => {
                    self.next();
                    self.end(&mut line);
                    line.place = WordPlace::Start;
                }
                _ => {
                    let had_case = line.has_case;
                    self.word_or_descriptor(&mut line)?;
                    n_cases += usize::from(line.has_case && !had_case);
                    n_cases = n_cases.saturating_sub(usize::from(line.is_end_of_case()));
                }
            }
            if line.starts.len() > MAX_STARTS {
                return None;
            }
            // The parenthesis of a `case` cannot be told from the one that ends this.
            if until == CommandsEnd::Parenthesis && line.has_case {
                return None;
            }
        }
        self.end(&mut line);
        Some(())
    }

    /// Whether a comment or a here-document is one to every shell here: among numbers and in what
    /// bash tests, a `#` or `<<` may be a letter like others.
    fn is_unambiguous(&self) -> bool {
        self.n_numbers == 0 && self.test.is_none()
    }

    fn end(&mut self, line: &mut Pipeline) {
        line.end();
        self.found.commands.extend(line.ended.drain(..).filter(|words| !words.is_empty()));
    }

    fn word_or_descriptor(&mut self, line: &mut Pipeline) -> Option<()> {
        let before = self.rest;
        let word = self.word()?;
        let written = self.since(before).replace("\\\n", "");
        let is_redirected = matches!(self.peek(), Some('<' | '>'));
        let name = written.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        let is_number = written.chars().all(|c| c.is_ascii_digit());
        match written.as_str() {
            "[[" => drop(self.test.get_or_insert(self.depth)),
            "]]" if self.test == Some(self.depth) => self.test = None,
            _ => {}
        }
        match written.as_str() {
            written if RESERVED_WORDS.contains(&written) => match line.place {
                // One like the others, unless what comes before is a command of its own.
                WordPlace::Within => {
                    line.push(word, written);
                    line.starts.push(line.words.len());
                }
                WordPlace::Start | WordPlace::Continued => {
                    self.end(line);
                    line.place = if written == "}" { WordPlace::Within } else { WordPlace::Start };
                }
            },
            // `2>file`, `{fd}>file`
            _ if is_redirected && (is_number || name.is_some_and(is_name)) => {}
            written => line.push(word, written),
        }
        Some(())
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let (whole, mut in_braces, mut before) = (self.rest, false, None);
        while let Some(c) = self.peek() {
            let is_last = |c| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')');
            if self.is_at_process() {
                self.next();
                self.substitution(&mut word, Quotes::None)?;
                continue;
            }
            if c == '(' && before == Some('=') && word.text.ends_with('=') {
                self.next();
                self.inside(|lexer| lexer.array(&mut word))?;
                break;
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
                '\\' => word.text.extend(self.raw()),
                '\'' => self.single_quotes(&mut word)?,
                '"' => self.inside(|lexer| lexer.double_quotes(&mut word))?,
                '$' => self.dollar(&mut word, Quotes::None)?,
                '`' => self.backquotes(&mut word, Quotes::None)?,
                '*' | '?' => word.pattern(),
                // A home directory.
                '~' if n_before == 0 || word.text.ends_with(['=', ':']) => match self.has_paths {
                    true => word.text.push('/'),
                    // One word, whatever blanks are in it.
                    false => word.unknown(Quotes::Double),
                },
                '[' if is_name(&word.text) || in_braces && is_descriptor(self.since(whole)) => {
                    self.inside(|lexer| lexer.subscript(SubscriptPlace::Word))?;
                    word.unknown(Quotes::None);
                }
                '[' if self.rest.split(is_last).next().is_some_and(|rest| rest.contains(']')) => {
                    self.found.reread_risk.literals.see_pattern(self.rest);
                    word.pattern();
                }
                // `{a,b}` makes several words of one.
                '{' if self.peek().is_some_and(|c| c != '}' && !is_last(c)) => {
                    word.list();
                    in_braces = true;
                    continue;
                }
                c => word.text.push(c),
            }
            if in_braces {
                word.text.truncate(n_before);
            }
        }
        word.makes_options = in_braces && may_make_options(self.since(whole));
        let is_code = is_code(&word.text);
        self.found.reread_risk.literals.see(&word.text);
        // Bash may take it for a number or the name of a variable in a test.
        (!is_code || self.test.is_none()).then_some(word)
    }

    /// `a=(…)`, behind the parenthesis: words, and no commands.
    fn array(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.peek()? {
                ')' => break,
                ' ' | '\t' | '\n' => drop(self.next()),
                '#' if !self.is_unambiguous() => return None,
                '#' => self.rest = self.rest.split_at(self.rest.find('\n')?).1,
                ';' | '&' | '|' | '(' => return None,
                '<' | '>' if !self.is_at_process() => return None,
                '[' => {
                    self.next();
                    self.inside(|lexer| lexer.subscript(SubscriptPlace::Word))?;
                    drop(self.word()?);
                }
                _ => drop(self.word()?),
            }
        }
        self.next();
        word.unknown(Quotes::Double);
        word.is_array = true;
        // What is joined to it is no comment.
        let is_end = |c| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' | '<' | '>');
        self.peek().is_none_or(is_end).then_some(())
    }

    fn single_quotes(&mut self, word: &mut Word) -> Option<()> {
        let (text, rest) = self.rest.split_once('\'')?;
        word.text.push_str(text);
        self.rest = rest;
        Some(())
    }

    fn double_quotes(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.next()? {
                '"' => return Some(()),
                '\\' => match self.raw()? {
                    c @ ('"' | '\\' | '$' | '`') => word.text.push(c),
                    c => word.text.extend(['\\', c]),
                },
                '$' => {
                    self.has_false_value |= self.is_at("${");
                    self.dollar(word, Quotes::Double)?;
                }
                '`' => self.backquotes(word, Quotes::Double)?,
                c => word.text.push(c),
            }
        }
    }
}

impl Word {
    fn unknown(&mut self, quotes: Quotes) {
        if !self.text.ends_with(ANYTHING) {
            self.text.push(ANYTHING);
        }
        self.may_split |= quotes == Quotes::None;
        self.is_open |= quotes == Quotes::None;
    }

    /// Marks the word as several, one for each of some texts.
    fn list(&mut self) {
        self.unknown(Quotes::Double);
        self.may_split = true;
    }

    fn pattern(&mut self) {
        self.list();
        self.is_pattern = true;
    }
}

/// Whether one of the words that braces make may begin with a dash.
fn may_make_options(written: &str) -> bool {
    let plain = written.replace(['\\', '\n', '\'', '"'], "");
    plain.contains(['$', '`']) || ["{-", ",-", "}-"].iter().any(|start| plain.contains(start))
}

/// `{fd[`, of `{fd[0]}>file`.
fn is_descriptor(written: &str) -> bool {
    let written = written.replace("\\\n", "");
    let name = written.strip_prefix('{').and_then(|name| name.strip_suffix('['));
    name.is_some_and(is_name)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(is_of_name)
}

pub(super) fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
