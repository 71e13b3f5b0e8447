//! Which files of a crate use each other in a ring.
//!
//! In: the sources of a crate, read as text. Out: rings of files, with the uses that make them.
//! A file and those below it are one subject, so what they use of each other is not looked at;
//! nor are tests and what supports them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Names from the root of the crate, which itself is empty.
type Module = Vec<String>;
/// What each module uses, but for its ancestors and descendants.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// The rings among the files below `src`, each told with the uses that make it.
pub(super) fn rings(src: &Path) -> Vec<String> {
    let uses = uses_of(src);
    let reached: BTreeMap<_, _> = uses.keys().map(|from| (from, reachable(from, &uses))).collect();
    let mut rings = BTreeSet::new();
    for (from, reachable) in &reached {
        let is_in_ring = |other: &&Module| reached[other].contains(*from);
        let ring: BTreeSet<&Module> = reachable.iter().filter(is_in_ring).collect();
        if !ring.is_empty() {
            rings.insert(ring);
        }
    }
    rings.iter().map(|ring| told(ring, &uses)).collect()
}

fn told(ring: &BTreeSet<&Module>, uses: &Uses) -> String {
    let mut text = format!("  a ring of {} files:\n", ring.len());
    for module in ring {
        let inside = uses[*module].iter().filter(|used| ring.contains(used));
        let used: Vec<String> = inside.map(|used| used.join("::")).collect();
        writeln!(text, "    {} uses {}", module.join("::"), used.join(", ")).unwrap();
    }
    text
}

fn reachable(from: &Module, uses: &Uses) -> BTreeSet<Module> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        next.extend(uses[module].iter().filter(|used| seen.insert((*used).clone())));
    }
    seen
}

fn uses_of(src: &Path) -> Uses {
    let mut files = Vec::new();
    super::sources(src, &mut files);
    let is_tested = |path: &Path| {
        let mut parts = path.strip_prefix(src).unwrap().iter().map(|part| part.to_str().unwrap());
        !parts.any(|part| part.starts_with("test"))
    };
    files.retain(|path| is_tested(path));
    let texts: BTreeMap<Module, String> = files
        .iter()
        .map(|path| {
            let parts = path.strip_prefix(src).unwrap().with_extension("");
            let mut module: Module =
                parts.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            module.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
            (module, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    let each = texts.iter().map(|(module, text)| {
        let tokens = without_tests(&tokens(text));
        let used = paths(&tokens).into_iter().filter_map(|path| resolved(&path, module, &texts));
        let others = used.filter(|used| !used.starts_with(module) && !module.starts_with(used));
        (module.clone(), others.collect())
    });
    each.collect()
}

/// The file that a path leads into; none if it leads out of the crate.
fn resolved(path: &[String], from: &Module, all: &BTreeMap<Module, String>) -> Option<Module> {
    let mut names = path;
    let mut found = from.clone();
    match path.first()?.as_str() {
        "crate" => (found, names) = (Vec::new(), &path[1..]),
        "self" => names = &path[1..],
        "super" => {
            while let Some((_, rest)) = names.split_first().filter(|(name, _)| *name == "super") {
                found.pop();
                names = rest;
            }
        }
        child => {
            let child = [&found[..], &[child.to_owned()]].concat();
            all.contains_key(&child).then_some(())?;
        }
    }
    for name in names {
        found.push(name.clone());
        if !all.contains_key(&found) {
            found.pop();
            break;
        }
    }
    Some(found)
}

/// Words and signs, without comments and what stands in quotes.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let n = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(n) = quoted(rest) {
            n
        } else if is_word(c) {
            let n = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(rest[..n].to_owned());
            n
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            tokens.extend((!c.is_whitespace()).then(|| c.to_string()));
            c.len_utf8()
        };
        rest = &rest[n..];
    }
    tokens
}

/// The length of the string or character that a text begins with.
fn quoted(text: &str) -> Option<usize> {
    let raw = text.strip_prefix('b').unwrap_or(text).strip_prefix('r');
    let n_hashes = raw.map(|raw| raw.bytes().take_while(|byte| *byte == b'#').count());
    if let (Some(raw), Some(n_hashes)) = (raw, n_hashes)
        && raw[n_hashes..].starts_with('"')
    {
        let begin = text.len() - raw.len() + n_hashes + 1;
        let end = format!("\"{}", "#".repeat(n_hashes));
        return Some(begin + text[begin..].find(&end)? + end.len());
    }
    let mut chars = text.char_indices();
    let (_, quote @ ('"' | '\'')) = chars.next()? else { return None };
    // A lifetime ends with no quote.
    let is_lifetime = quote == '\'' && !text[1..].starts_with('\\') && {
        let mut after = text.chars().skip(2);
        after.next() != Some('\'')
    };
    if is_lifetime {
        return None;
    }
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => _ = chars.next(),
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

/// Without items for tests alone.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut rest = tokens;
    while let Some((first, more)) = rest.split_first() {
        let is_marked = rest.len() > MARK.len() && rest.iter().zip(MARK).all(|(a, b)| a == b);
        if is_marked {
            rest = after_item(&rest[MARK.len()..]);
        } else {
            kept.push(first.clone());
            rest = more;
        }
    }
    kept
}

fn after_item(tokens: &[String]) -> &[String] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && (token == ";" || token == "}") {
            return &tokens[at + 1..];
        }
    }
    &[]
}

/// The paths that are imported, and those that stand in the code and begin inside of the crate.
fn paths(tokens: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.as_str() {
            // What is not an import says what a type captures: `use<'a>`.
            "use" if tokens.get(at).is_some_and(|next| next != "<") => {
                at += tree(&tokens[at..], &[], &mut paths);
            }
            "crate" | "self" | "super" if tokens.get(at).is_some_and(|next| next == "::") => {
                let mut path = vec![token.clone()];
                while let [sign, name, ..] = &tokens[at..]
                    && sign == "::"
                {
                    path.push(name.clone());
                    at += 2;
                }
                paths.push(path);
            }
            _ => {}
        }
    }
    paths
}

/// Reads the tree of a `use` whose beginning was read already. How many tokens it has.
fn tree(tokens: &[String], begin: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let mut path = begin.to_vec();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    // And the comma behind it.
                    at += tree(&tokens[at..], &path, paths) + 1;
                    if tokens[at - 1] == "}" {
                        return at;
                    }
                }
                return at + 1;
            }
            "," | "}" | ";" => break,
            // Its other name leads nowhere else.
            "as" => at += 1,
            "::" => {}
            // Of a list: what stands before it.
            "self" if !path.is_empty() => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    paths.push(path);
    at
}

#[test]
fn a_ring_is_told_and_what_only_looks_like_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use std::{fmt, io};\nuse crate::{b::{self, B}, d};\nconst C: char = '\"';"),
        ("b.rs", "fn f<'a>() { super::c::deep::g(\"crate::d\") } // crate::d\n/* use crate::d; */"),
        ("c.rs", "mod deep;\nuse deep::g;\n#[cfg(test)]\nmod tests { use crate::d; }\nstruct S;"),
        ("c/deep.rs", "const R: &str = r#\"use crate::d;\"#;\npub(crate) use super::super::a;"),
        ("d.rs", "#[cfg(test)]\nuse crate::{a, b};\nuse serde::a;"),
        ("d/tests.rs", "use crate::a;"),
    ];
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    let found = rings(dir.path());

    let ring = "  a ring of 3 files:\n    a uses b\n    b uses c::deep\n    c::deep uses a\n";
    assert_eq!(found, [ring]);
}
