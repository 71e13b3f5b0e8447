//! A pattern of commands, matched against commands that are known in part.

use globset::{GlobBuilder, GlobMatcher};
use regex_automata::dfa::Automaton;
use regex_automata::dfa::dense::{self, DFA};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::util::syntax;
use regex_automata::{Anchored, nfa::thompson};

use super::command_line::{ANYTHING, FoundCommand};

/// Largest automaton of a pattern, in bytes; a pattern beyond that may match any command.
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(super) struct CommandGlob {
    whole: GlobMatcher,
    automaton: Option<DFA<Vec<u32>>>,
}

impl CommandGlob {
    pub(super) fn new(glob: &str) -> Result<Self, globset::Error> {
        let whole = GlobBuilder::new(glob).build()?.compile_matcher();
        let automaton = dense::Builder::new()
            .configure(dense::Config::new().dfa_size_limit(Some(MAX_BYTES)))
            .configure(dense::Config::new().determinize_size_limit(Some(MAX_BYTES)))
            .syntax(syntax::Config::new().utf8(false))
            .thompson(thompson::Config::new().utf8(false))
            .build(whole.glob().regex());
        Ok(Self { whole, automaton: automaton.ok() })
    }

    pub(super) fn is_match(&self, command: &str) -> bool {
        self.whole.is_match(command)
    }

    /// Whether the pattern may match the command, or the beginning of it, whatever [`ANYTHING`] in
    /// it stands for and with or without its options.
    pub(super) fn may_match(&self, command: &FoundCommand) -> bool {
        let Some(automaton) = &self.automaton else { return true };
        let start = start::Config::new().anchored(Anchored::Yes);
        let Ok(start) = automaton.start_state(&start) else { return true };
        let is_match = |states: &[StateID]| {
            states.iter().any(|state| automaton.is_match_state(automaton.next_eoi_state(*state)))
        };
        let mut states = vec![start];
        for (n, word) in command.words.iter().enumerate() {
            let mut next = states.clone();
            // It may be more words than one, or none.
            if n > 0 && !(word.may_split && word.is_unknown()) {
                next = states_after(automaton, next, " ");
            }
            next = states_after(automaton, next, &word.text);
            if word.is_optional {
                next.extend(&states);
            }
            states = next;
            if is_match(&states) {
                return true;
            }
        }
        // `rm *` is also about an `rm` without arguments.
        is_match(&states_after(automaton, states, " "))
    }
}

/// The states that a text leads to.
fn states_after(automaton: &DFA<Vec<u32>>, mut states: Vec<StateID>, text: &str) -> Vec<StateID> {
    for (n, part) in text.split(ANYTHING).enumerate() {
        if n > 0 {
            states = states_after_any(automaton, states);
        }
        for byte in part.bytes() {
            states = states.into_iter().map(|state| automaton.next_state(state, byte)).collect();
            states.sort_unstable();
            states.dedup();
        }
    }
    states
}

/// The states that any text leads to.
fn states_after_any(automaton: &DFA<Vec<u32>>, mut states: Vec<StateID>) -> Vec<StateID> {
    let mut seen: std::collections::BTreeSet<StateID> = states.iter().copied().collect();
    while let Some(state) = states.pop() {
        let next = (0..=u8::MAX).map(|byte| automaton.next_state(state, byte));
        states.extend(next.filter(|next| seen.insert(*next)));
    }
    seen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    //! What is not known stands for anything, and for nothing else.

    use super::super::command_line::Word;
    use super::*;

    /// `@` stands for anything, a word with `~` before it may be left out.
    fn command(text: &str) -> FoundCommand {
        let word = |word: &str| Word {
            text: word.trim_start_matches('~').replace('@', &ANYTHING.to_string()),
            may_split: word == "@",
            is_optional: word.starts_with('~'),
            ..Word::default()
        };
        FoundCommand { words: text.split(' ').map(word).collect() }
    }

    #[test]
    fn what_is_not_known_may_be_anything() {
        for (glob, text, is_matched) in [
            ("git push*", "git @", true),
            ("git push*", "git @ push", true),
            ("git push*", "git p@sh", true),
            ("git push*", "git status @", false),
            ("git push*", "git s@", false),
            ("git push*", "cargo @", false),
            ("git push", "git push@", true),
            ("rm *", "r@ x", true),
            ("rm *", "rmdir@", false),
            ("{rm,mv} ?", "m@", true),
            ("[a-c]x", "@x", true),
            ("[a-c]x", "d@x", false),
            ("*", "@", true),
        ] {
            let glob_of = CommandGlob::new(glob).unwrap();
            assert_eq!(glob_of.may_match(&command(text)), is_matched, "{glob}: {text}");
        }
    }

    #[test]
    fn a_pattern_is_about_what_begins_with_it_whatever_options_are_between() {
        for (glob, text, is_matched) in [
            ("git push", "git push origin main", true),
            ("git push", "git pushed", false),
            ("rm", "rm -rf x", true),
            ("rm", "rmdir x", false),
            ("rm *", "rm", true),
            ("aws s3 rm*", "aws s3 ~--profile ~p rm x", true),
            ("aws s3 rm*", "aws s3 ~--quiet rm x", true),
            ("aws s3 rm*", "aws s3 cp rm x", false),
            ("rm -rf *", "rm ~-rf x", true),
        ] {
            let glob_of = CommandGlob::new(glob).unwrap();
            assert_eq!(glob_of.may_match(&command(text)), is_matched, "{glob}: {text}");
        }
    }

    #[test]
    fn a_pattern_too_large_to_look_into_may_match() {
        let glob = CommandGlob::new(&format!("*a{}", "?".repeat(400))).unwrap();
        assert!(glob.automaton.is_none());
        assert!(glob.may_match(&command("b")));
    }
}
