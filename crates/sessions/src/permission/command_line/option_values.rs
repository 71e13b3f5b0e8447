//! Options of `tar`, `rsync` and OpenSSH's programs whose value is run.

use super::programs::row;
use super::{ANYTHING, CommandSearch, Word, is_unseen_script};
use crate::name_list::names;

/// Long options of `tar` with a value that it runs.
const LONG_OF_TAR: &[&str] = names!(
    "checkpoint-action info-script new-volume-script rmt-command rsh-command to-command \
     use-compress-program"
);
/// Options of OpenSSH's programs that have a value.
const VALUED: &[(&str, &str)] =
    &[("scp", "DFJPSXcilo"), ("sftp", "BDFJPRSXbcilos"), ("ssh", "BDEFIJLOQRSWbceilmopw")];
/// Keys of ssh's configuration that run a line, or read a file.
const READ_BY_SSH: &[&str] = &["include", "match"];

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunOptionValue {
    pub(super) word: Word,
    /// The value is a word of its own, and may be something else.
    pub(super) is_next: bool,
}

/// The values of options, of which long ones may be cut short.
pub(super) fn values(rest: &[Word], letters: &str, long: &[&str]) -> Vec<RunOptionValue> {
    let value = |(n, word): (usize, &Word)| {
        let option = word.text.strip_prefix('-')?;
        let attached = match option.strip_prefix('-') {
            Some(option) => {
                let (name, value) = option.split_once('=').unwrap_or((option, ""));
                let is_one = |long: &&str| long.starts_with(name) && name.len() > 1;
                long.iter().any(is_one).then_some(value)
            }
            None => option.split_once(|c| letters.contains(c)).map(|(_, value)| value),
        }?;
        match attached.is_empty() {
            true => {
                rest.get(n + 1).map(|next| RunOptionValue { word: next.clone(), is_next: true })
            }
            false => Some(RunOptionValue { word: word.with(attached), is_next: false }),
        }
    };
    rest.iter().enumerate().filter_map(value).collect()
}

impl CommandSearch {
    /// Looks into what such a program runs by its options.
    pub(super) fn by_values(&mut self, program: &str, rest: &[Word], depth: usize) -> Option<()> {
        match program {
            "tar" => {
                // Its oldest way: letters first, and then what they are about.
                let letters = rest.first().map_or("", |word| &word.text);
                if !letters.starts_with('-') && letters.contains(['F', 'I']) {
                    return None;
                }
                for value in values(rest, "FI", LONG_OF_TAR) {
                    let line = value.word.text.strip_prefix("exec=").unwrap_or(&value.word.text);
                    self.line_in(&value.word.with(line), depth)?;
                }
            }
            // It takes the value apart at blanks.
            "rsync" => {
                for value in values(rest, "e", &["rsh"]) {
                    let texts = value.word.text.split_whitespace();
                    let parts: Vec<Word> = texts.map(|text| value.word.with(text)).collect();
                    self.words(&parts, depth)?;
                }
            }
            "scp" | "sftp" | "ssh" => {
                for (letter, value) in options_of_ssh(program, rest) {
                    match letter {
                        'o' => self.ssh_option(&value, depth)?,
                        'F' if is_unseen_script(&value) => return None,
                        'D' | 'S' if program != "ssh" => self.line_in(&value, depth)?,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Looks into a value of `ssh -o`: `key=value` or `key value`.
    fn ssh_option(&mut self, word: &Word, depth: usize) -> Option<()> {
        let is_between = |c: char| c.is_whitespace() || c == '=' || c == '"';
        let text = word.text.trim_matches(is_between);
        let (key, value) = text.split_once(is_between).unwrap_or((text, ""));
        let key = key.to_lowercase();
        if key.contains(ANYTHING) || READ_BY_SSH.contains(&key.as_str()) {
            return None;
        }
        match key.ends_with("command") || key == "xauthlocation" {
            true => self.shell_line(&word.with(value.trim_matches(is_between)), depth),
            false => Some(()),
        }
    }
}

/// The options before a host and behind it that have a value. What is behind that is a command.
fn options_of_ssh(program: &str, rest: &[Word]) -> Vec<(char, Word)> {
    let valued = row(VALUED, program).unwrap_or_default();
    let (mut options, mut n_operands, mut words) = (Vec::new(), 0, rest.iter());
    while let Some(word) = words.next() {
        let Some(letters) = word.text.strip_prefix('-') else {
            n_operands += 1;
            if program == "ssh" && n_operands > 1 {
                break;
            }
            continue;
        };
        let found = letters.char_indices().find(|(_, c)| valued.contains(*c));
        let Some((at, letter)) = found else { continue };
        let attached = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        let value = match attached.is_empty() {
            true => words.next().cloned(),
            false => Some(word.with(attached)),
        };
        options.extend(value.map(|value| (letter, value)));
    }
    options
}
