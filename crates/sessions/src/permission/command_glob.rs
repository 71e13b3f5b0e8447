//! A pattern of commands, for commands that are known in part.

use globset::{GlobBuilder, GlobMatcher};
use regex_automata::dfa::Automaton;
use regex_automata::dfa::dense::{self, DFA};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::util::syntax;
use regex_automata::{Anchored, nfa::thompson};

use super::command_line::ANYTHING;

/// What the automaton of one pattern may take; the larger ones match what they may match.
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

    /// Whether it is, whatever [`ANYTHING`] in it stands for.
    pub(super) fn may_match(&self, command: &str) -> bool {
        let known: Vec<&str> = command.split(ANYTHING).collect();
        match &self.automaton {
            _ if known.len() == 1 => self.is_match(command),
            None => true,
            Some(automaton) => may_accept(automaton, &known),
        }
    }
}

/// Whether there is a text with these parts, in their order and with anything between them.
fn may_accept(automaton: &DFA<Vec<u32>>, parts: &[&str]) -> bool {
    let start = start::Config::new().anchored(Anchored::Yes);
    let Ok(start) = automaton.start_state(&start) else { return true };
    let mut states = vec![start];
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            states = all_behind(automaton, states);
        }
        for byte in part.bytes() {
            states = states.into_iter().map(|state| automaton.next_state(state, byte)).collect();
            states.sort_unstable();
            states.dedup();
        }
    }
    states.iter().any(|state| automaton.is_match_state(automaton.next_eoi_state(*state)))
}

/// Where any text leads from there.
fn all_behind(automaton: &DFA<Vec<u32>>, mut states: Vec<StateID>) -> Vec<StateID> {
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

    use super::*;

    #[test]
    fn what_is_not_known_may_be_anything() {
        let text = |text: &str| text.replace('@', &ANYTHING.to_string());
        for (glob, command, is_matched) in [
            ("git push*", "git @", true),
            ("git push*", "git@ push", true),
            ("git push*", "git p@sh", true),
            ("git push*", "@", true),
            ("git push*", "@ status", true),
            ("git push*", "git status @", false),
            ("git push*", "git s@", false),
            ("git push*", "cargo @", false),
            ("git push", "git push @", false),
            ("git push", "git push@", true),
            ("rm *", "r@ x", true),
            ("rm *", "rmdir@", false),
            ("{rm,mv} ?", "m@", true),
            ("{rm,mv} ?", "m@ xy@", false),
            ("[a-c]x", "@x", true),
            ("[a-c]x", "d@x", false),
            ("*", "@", true),
        ] {
            let glob_of = CommandGlob::new(glob).unwrap();
            assert_eq!(glob_of.may_match(&text(command)), is_matched, "{glob}: {command}");
        }
    }

    #[test]
    fn a_pattern_too_large_to_look_into_may_match() {
        let glob = CommandGlob::new(&format!("*a{}", "?".repeat(400))).unwrap();
        assert!(glob.automaton.is_none());
        assert!(glob.may_match(&format!("b{ANYTHING}")));
        assert!(!glob.may_match("b"));
    }
}
