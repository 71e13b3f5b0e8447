//! Texts that look like secrets: a known beginning with enough behind it.
//!
//! One pass finds every beginning; each is then checked by hand, so that `task-runner` is
//! no key and "a token is needed" stays readable. In doubt the text is hidden.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// No token that is looked for is longer; what is behind this is found as its own piece.
const MAX_TAIL: usize = 8192;

/// How a beginning is judged.
#[derive(Debug, Clone, Copy)]
enum PatternRule {
    /// Written exactly so, at the beginning of a word, with at least so many characters.
    Word { min: usize },
    /// The same, and what follows has a dot in it.
    Dotted { min: usize },
    /// In any case; what follows is the secret.
    After { min: usize },
    /// A name; between it and the secret stand quotes, colons or equals signs.
    Named { min: usize },
    /// `scheme://user:password@host`.
    Url,
    /// Everything from here on.
    Rest,
}

/// How each beginning is judged.
static RULES: [(PatternRule, &[&str]); 14] = [
    (PatternRule::After { min: 8 }, &["bearer "]),
    (PatternRule::After { min: 12 }, &["basic "]),
    (PatternRule::After { min: 1 }, &["login#code="]),
    (
        PatternRule::After { min: 4 },
        &["switchyard-token.", "switchyard_session=", "switchyard_session_"],
    ),
    (
        PatternRule::Word { min: 16 },
        &["sy_", "sk-", "sk_live_", "rk_live_", "glpat-", "AKIA", "ASIA"],
    ),
    (PatternRule::Word { min: 16 }, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"]),
    (PatternRule::Word { min: 10 }, &["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"]),
    (PatternRule::Word { min: 30 }, &["AIza", "npm_", "hf_"]),
    (PatternRule::Dotted { min: 16 }, &["eyJ"]),
    (PatternRule::Named { min: 8 }, &["token", "secret", "authorization", "cookie"]),
    (PatternRule::Named { min: 4 }, &["password", "passwd"]),
    (PatternRule::Named { min: 8 }, &["api_key", "api-key", "apikey", "access_key"]),
    (PatternRule::Url, &["://"]),
    (PatternRule::Rest, &["-----BEGIN "]),
];

/// Finds all beginnings, by their numbers among these.
struct PatternMatcher {
    all: Vec<(&'static str, PatternRule)>,
    matcher: AhoCorasick,
}

static BEGINNINGS: LazyLock<Option<PatternMatcher>> = LazyLock::new(|| {
    let of_rule = |(rule, all): &'static (PatternRule, &[_])| all.iter().map(|one| (*one, *rule));
    let all: Vec<(&str, PatternRule)> = RULES.iter().flat_map(of_rule).collect();
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::ContiguousNFA));
    let matcher = builder.build(all.iter().map(|(beginning, _)| beginning)).ok()?;
    Some(PatternMatcher { all, matcher })
});

/// The ranges of `text` that look like secrets.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let Some(PatternMatcher { all, matcher }) = &*BEGINNINGS else { return found };
    for begun in matcher.find_overlapping_iter(text) {
        // Inside of what is hidden already there is nothing to look for; this also keeps
        // the cost linear for `sk-sk-sk-…`.
        if found.last().is_some_and(|last| last.end >= begun.end()) {
            continue;
        }
        let Some((beginning, rule)) = all.get(begun.pattern().as_usize()) else { continue };
        found.extend(judge(text, begun.range(), beginning, *rule));
    }
    found
}

fn judge(text: &str, at: Range<usize>, beginning: &str, rule: PatternRule) -> Option<Range<usize>> {
    let (before, rest) = (text.get(..at.start)?, text.get(at.end..)?);
    let is_exact = || text.get(at.clone()) == Some(beginning);
    let is_word = || is_exact() && begins_word(before);
    match rule {
        PatternRule::Word { min } => {
            let n = tail(rest, is_word_byte);
            (n >= min && is_word()).then(|| at.start..at.end + n)
        }
        PatternRule::Dotted { min } => {
            let n = tail(rest, is_token_byte);
            let has_dot = rest.get(..n)?.contains('.');
            (n >= min && has_dot && is_word()).then(|| at.start..at.end + n)
        }
        PatternRule::After { min } => {
            let n = tail(rest, is_token_byte);
            (n >= min).then(|| at.end..at.end + n)
        }
        PatternRule::Named { min } => {
            let gap = tail(rest, is_gap_byte).min(MAX_GAP);
            // A blank alone is prose.
            if !rest.get(..gap)?.bytes().any(|byte| byte != b' ') {
                return None;
            }
            let value = rest.get(gap..)?;
            let scheme = ["bearer ", "basic ", "Bearer ", "Basic "]
                .iter()
                .find(|scheme| value.starts_with(**scheme))
                .map_or(0, |scheme| scheme.len());
            let n = tail(value.get(scheme..)?, is_token_byte);
            let start = at.end + gap + scheme;
            (n >= min).then(|| start..start + n)
        }
        PatternRule::Url => {
            const MAX_USER: usize = 512;
            let n = rest.bytes().take(MAX_USER).take_while(|byte| is_user_byte(*byte)).count();
            let user = rest.get(..n)?;
            (rest.as_bytes().get(n) == Some(&b'@') && user.contains(':'))
                .then(|| at.end..at.end + n)
        }
        PatternRule::Rest => rest
            .get(..rest.floor_char_boundary(64))?
            .contains("PRIVATE KEY")
            .then_some(at.start..text.len()),
    }
}

/// Between a name and its value: `": "`, `=`, `", "`, `\":\"`.
const MAX_GAP: usize = 8;

fn is_gap_byte(byte: u8) -> bool {
    matches!(byte, b' ' | b'"' | b'\'' | b':' | b'=' | b',' | b'\\')
}

/// Whether a word can begin behind `before`. A quoted line break ends a word as well.
fn begins_word(before: &str) -> bool {
    let mut back = before.bytes().rev();
    match (back.next(), back.next()) {
        (Some(b'n' | b't' | b'r'), Some(b'\\')) => true,
        (Some(byte), _) => !byte.is_ascii_alphanumeric(),
        (None, _) => true,
    }
}

fn tail(rest: &str, is_part: fn(u8) -> bool) -> usize {
    rest.bytes().take(MAX_TAIL).take_while(|byte| is_part(*byte)).count()
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_token_byte(byte: u8) -> bool {
    is_word_byte(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=' | b'%')
}

fn is_user_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'/' | b'@' | b'"' | b'\'' | b'<' | b'>')
}
