//! Whether the code that a page names is there.
//!
//! In: the page, and the directory of the crates. Out: each path in backticks that begins with a
//! crate (`wire::lines::LineSplitter::next_line`) and leads to nothing.

use std::fs;
use std::path::Path;

/// What a path can end with, behind its files.
const ITEMS: [&str; 9] =
    ["const", "enum", "fn", "macro_rules!", "mod", "static", "struct", "trait", "type"];

pub(super) fn missing(page: &str, crates: &Path) -> Vec<String> {
    named(page, crates).into_iter().filter(|path| !exists(path, crates)).collect()
}

/// The paths that the page names.
pub(super) fn named(page: &str, crates: &Path) -> Vec<String> {
    let spans = page.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| {
        let is_code = span.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c));
        is_code && span.split_once("::").is_some_and(|(name, _)| crates.join(name).is_dir())
    };
    spans.filter(is_path).map(str::to_owned).collect()
}

/// The files are followed as far as they lead; what is left stands in the last one, or below it,
/// where re-exported items come from.
fn exists(path: &str, crates: &Path) -> bool {
    let names: Vec<&str> = path.split("::").collect();
    let (mut dir, mut sources) = (crates.join(names[0]).join("src"), Vec::new());
    let mut items = &names[1..];
    while let Some((name, rest)) = items.split_first()
        && dir.join(format!("{name}.rs")).is_file()
    {
        sources = vec![dir.join(format!("{name}.rs"))];
        (dir, items) = (dir.join(name), rest);
    }
    if dir.is_dir() {
        super::sources(&dir, &mut sources);
    }
    let texts: Vec<_> = sources.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    items.iter().all(|item| texts.iter().any(|text| defines(text, item)))
}

fn defines(text: &str, item: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.any(|word| ITEMS.contains(&word))
            && words.next().is_some_and(|rest| {
                rest.split(|c: char| !c.is_alphanumeric() && c != '_').next() == Some(item)
            })
    })
}

#[test]
fn a_path_is_followed_through_files_to_an_item() {
    let dir = tempfile::tempdir().unwrap();
    let src = dir.path().join("wire/src");
    fs::create_dir_all(src.join("lines")).unwrap();
    fs::write(src.join("lines.rs"), "pub use splitter::Splitter;\n").unwrap();
    fs::write(src.join("lines/splitter.rs"), "pub struct Splitter<T>;\n    fn next(&self) {}\n")
        .unwrap();
    let page = "`wire::lines` `wire::lines::Splitter::next` [`wire::lines::splitter`,\n\
                `wire::line`] `wire::lines::Splitter::last` `std::fs` `wire`";
    assert_eq!(missing(page, dir.path()), ["wire::line", "wire::lines::Splitter::last"]);
}
