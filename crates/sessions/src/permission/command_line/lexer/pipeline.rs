//! The commands between two separators that end more than a pipe, as they are read.
//!
//! Of bash's `[[ a && b ]]` the `&&` joins no commands. To dash it does, but there is no `[[` to
//! dash, so that what stands behind the `&&` is not run; unless what comes before the `[[` turns
//! that into a success. So it is noted of the `[[` what comes before.

use super::Word;

/// Words behind which a `case` may begin that is none of a program's words.
const BEFORE_CASE: [&str; 6] = ["!", "coproc", "function", "nocorrect", "repeat", "time"];

#[derive(Debug, Default)]
pub(super) struct Pipeline {
    pub(super) ended: Vec<Vec<Word>>,
    pub(super) words: Vec<Word>,
    /// Where in the words another command may begin, to some shell.
    pub(super) starts: Vec<usize>,
    pub(super) place: WordPlace,
    /// It begins with `[[`, and nothing before that changes whether it succeeds.
    is_test: bool,
    /// A `case` may be among the words, the patterns of which end at parentheses.
    pub(super) has_case: bool,
    /// The number of commands before that.
    case_at: Option<usize>,
}

/// The place of the next word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum WordPlace {
    /// A command begins.
    #[default]
    Start,
    /// A command begins that belongs to what comes before: behind `|`, `||` or `f()`, also in the
    /// lines below.
    Continued,
    Within,
}

impl Pipeline {
    pub(super) fn end(&mut self) {
        let words = std::mem::take(&mut self.words);
        let starts = std::mem::take(&mut self.starts);
        self.ended.extend(starts.iter().filter_map(|at| Some(words.get(*at..)?.to_vec())));
        self.ended.push(words);
        self.is_test = false;
        self.has_case = false;
    }

    /// Forgets the patterns of a `case`, and keeps the commands before it.
    pub(super) fn drop_patterns(&mut self) {
        let mut ended = std::mem::take(&mut self.ended);
        ended.truncate(self.case_at.unwrap_or(0));
        *self = Self { ended, ..Self::default() };
    }

    pub(super) fn is_end_of_case(&self) -> bool {
        matches!(&*self.words, [word] if word.text == "esac")
    }

    pub(super) fn push(&mut self, word: Word, written: &str) {
        self.is_test |= self.place == WordPlace::Start && self.words.is_empty() && written == "[[";
        self.place = WordPlace::Within;
        if word.text == "case" && self.may_begin_case() {
            self.has_case = true;
            self.case_at.get_or_insert(self.ended.len());
        }
        self.words.push(word);
    }

    fn may_begin_case(&self) -> bool {
        let mut starts = self.starts.iter().copied().chain([0]);
        starts.any(|at| {
            let first = self.words.get(at);
            first.is_none_or(|word| BEFORE_CASE.contains(&word.text.as_str()))
        })
    }

    /// Whether `&&` is a part of a test here.
    pub(super) fn is_in_test(&self) -> bool {
        let may_be_over = self.words.iter().any(|word| word.text == "]]");
        self.is_test && self.ended.is_empty() && self.starts.is_empty() && !may_be_over
    }
}
