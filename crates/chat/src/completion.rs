//! Completions of the word at the cursor: a slash command, or a file after `@`.
//!
//! A pure function of what is typed and what is known.

use std::ops::Range;

use crate::commands::CHAT_COMMANDS;
use crate::conversation::AgentCommand;

/// Files that are offered; as many as fit above the input.
const MAX_SHOWN: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The bytes of the input that are replaced.
    pub(crate) range: Range<usize>,
    pub(crate) offers: Vec<CompletionOffer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletionOffer {
    pub(crate) text: String,
    pub(crate) about: String,
}

/// `before` is the input up to the cursor.
pub(crate) fn complete(
    before: &str,
    commands: &[AgentCommand],
    files: &[String],
) -> Option<Completion> {
    if let Some(typed) = before.strip_prefix('/')
        && !typed.contains(char::is_whitespace)
        && !typed.starts_with('/')
    {
        return command(typed, commands);
    }
    let start = before.rfind(char::is_whitespace).map_or(0, |at| before.ceil_char_boundary(at + 1));
    let word = before.get(start..)?;
    let typed = word.strip_prefix('@')?;
    let offers: Vec<CompletionOffer> = matching(typed, files)
        .into_iter()
        .map(|path| CompletionOffer { text: format!("@{path} "), about: String::new() })
        .collect();
    (!offers.is_empty()).then_some(Completion { range: start..before.len(), offers })
}

fn command(typed: &str, commands: &[AgentCommand]) -> Option<Completion> {
    let ours = CHAT_COMMANDS.iter().filter(|entry| entry.name.starts_with(typed)).map(|entry| {
        let end = if entry.takes.is_empty() { "" } else { " " };
        let takes = match entry.takes {
            "" => String::new(),
            takes => format!("{takes}  "),
        };
        CompletionOffer {
            text: format!("/{}{end}", entry.name),
            about: format!("{takes}{}", entry.about),
        }
    });
    let is_ours = |name: &str| CHAT_COMMANDS.iter().any(|entry| entry.name == name);
    let theirs = commands.iter().filter(|one| one.name.starts_with(typed)).map(|one| {
        let slashes = if is_ours(&one.name) { "//" } else { "/" };
        CompletionOffer { text: format!("{slashes}{} ", one.name), about: one.about.clone() }
    });
    let offers: Vec<CompletionOffer> = ours.chain(theirs).take(MAX_SHOWN * 4).collect();
    (!offers.is_empty()).then_some(Completion { range: 0..typed.len() + 1, offers })
}

/// Paths whose name begins with what is typed come first, then those that contain it.
fn matching<'a>(typed: &str, files: &'a [String]) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let mut found: Vec<(u8, usize, &str)> = files
        .iter()
        .filter_map(|path| {
            let low = path.to_lowercase();
            let name = low.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let rank = match () {
                () if low.starts_with(&typed) => 0,
                () if name.starts_with(&typed) => 1,
                () if low.contains(&typed) => 2,
                () => return None,
            };
            Some((rank, path.len(), path.as_str()))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().take(MAX_SHOWN).map(|(_, _, path)| path).collect()
}

/// Files of the working directory that a prompt mentions.
pub(crate) fn mentions(text: &str, files: &[String]) -> Vec<String> {
    let words = text.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let mut found: Vec<String> = Vec::new();
    for word in words {
        let word = word.trim_end_matches([',', ';', ':', '.', ')', '?', '!']);
        let known = files.iter().find(|path| *path == word);
        if let Some(path) = known
            && !found.contains(path)
        {
            found.push(path.clone());
        }
    }
    // A name with blanks is not one of the words.
    let is_spaced = |path: &&String| path.contains(char::is_whitespace);
    let spaced = files.iter().filter(is_spaced).filter(|path| text.contains(&format!("@{path}")));
    found.extend(spaced.cloned());
    found
}

#[cfg(test)]
mod tests {
    use super::{complete, mentions};
    use crate::conversation::AgentCommand;

    fn texts(before: &str) -> Vec<String> {
        let commands = [
            AgentCommand { name: "compact".into(), about: String::new() },
            AgentCommand { name: "model".into(), about: String::new() },
        ];
        let files = ["src/main.rs".to_owned(), "main.md".to_owned(), "docs/".to_owned()];
        let completion = complete(before, &commands, &files);
        completion.map(|c| c.offers.into_iter().map(|o| o.text).collect()).unwrap_or_default()
    }

    #[test]
    fn commands_of_both_sides_are_offered() {
        assert_eq!(texts("/mod"), ["/model ", "/mode ", "//model "]);
        assert_eq!(texts("/com"), ["/compact "]);
        assert!(texts("say /mod").is_empty());
        assert!(texts("/title x").is_empty());
    }

    #[test]
    fn files_are_offered_after_an_at() {
        assert_eq!(texts("look at @main"), ["@main.md ", "@src/main.rs "]);
        assert!(texts("look at main").is_empty());
    }

    #[test]
    fn only_files_that_exist_are_mentioned() {
        let files = ["src/main.rs".to_owned(), "a.md".to_owned()];
        assert_eq!(
            mentions("see @a.md, @src/main.rs and @nobody @a.md", &files),
            ["a.md", "src/main.rs"]
        );
        let spaced = ["my notes.txt".to_owned()];
        assert_eq!(mentions("see @my notes.txt now", &spaced), spaced);
        assert!(mentions("see @my cat", &spaced).is_empty());
    }
}
