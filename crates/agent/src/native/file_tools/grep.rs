//! `grep`: searches the contents of files, with ripgrep's own libraries.

use std::sync::Arc;
use std::time::Duration;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use roots::FileKind;
use serde::Deserialize;

use super::search;
use crate::native::tool::arguments::{self, boolean, integer, string, word};
use roots::walk::stoppable;

mod scanning;

use crate::native::tool::{PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput};
use scanning::{GrepMode, GrepPlan, scan};

const DEFAULT_MATCHES: usize = 100;
const MAX_MATCHES: usize = 2_000;
const MAX_CONTEXT: usize = 50;
/// How often a search is repeated without files that turn out to be denied.
const MAX_ROUNDS: usize = 5;
const WITHIN: Duration = Duration::from_secs(20);
/// A pattern that compiles to more is a mistake.
const MAX_REGEX_BYTES: usize = 10 << 20;

#[derive(Deserialize)]
struct GrepArguments {
    #[serde(alias = "query", alias = "regex")]
    pattern: String,
    #[serde(default, alias = "dir", alias = "directory")]
    path: Option<String>,
    #[serde(default, alias = "include")]
    glob: Option<String>,
    #[serde(default, alias = "output_mode")]
    mode: Option<GrepMode>,
    #[serde(default, alias = "-i", alias = "ignore_case", deserialize_with = "arguments::flag")]
    case_insensitive: bool,
    #[serde(default, alias = "literal", deserialize_with = "arguments::flag")]
    fixed_strings: bool,
    #[serde(default, deserialize_with = "arguments::flag")]
    multiline: bool,
    #[serde(default, alias = "-C", deserialize_with = "arguments::number")]
    context: Option<usize>,
    #[serde(default, alias = "-B", deserialize_with = "arguments::number")]
    before: Option<usize>,
    #[serde(default, alias = "-A", deserialize_with = "arguments::number")]
    after: Option<usize>,
    #[serde(
        default,
        alias = "head_limit",
        alias = "max_results",
        deserialize_with = "arguments::number"
    )]
    limit: Option<usize>,
}

pub(super) fn tool() -> Arc<Tool> {
    let description = format!(
        "Searches the contents of files with a regular expression (Rust's, as in ripgrep). What \
         .gitignore names and binary files are left out. Gives `path:line:text`, at most \
         {DEFAULT_MATCHES} matches unless `limit` says otherwise."
    );
    let modes = ["content", "files_with_matches", "count"];
    let arguments = [
        string("pattern", "The regular expression").required(),
        string("path", "A directory or file; the working directory if left out"),
        string("glob", "Only files with names like this, such as `*.{ts,tsx}`"),
        word("mode", &modes, "Lines, names of files only, or numbers of lines a file"),
        boolean("case_insensitive", ""),
        boolean("fixed_strings", "The pattern is plain text"),
        boolean("multiline", "Matches may span lines, and `.` matches their ends"),
        integer("context", "Lines to show before and after a match"),
        integer("before", ""),
        integer("after", ""),
        integer("limit", "The most matches to give"),
    ];
    Tool::new("grep", ToolKind::Search, description, arguments, prepare)
}

async fn prepare(asked: GrepArguments, context: ToolContext) -> Result<PreparedCall, ToolError> {
    let files = context.workspace.files.clone();
    let given = asked.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
    let place = files.resolve(given).await?;
    let is_file = match files.look(&place).await? {
        None => return Err(files.missing(&place).await),
        Some(facts) => facts.kind == FileKind::File,
    };
    let around = asked.context.unwrap_or_default();
    let glob = asked.glob.as_deref().filter(|glob| !glob.is_empty());
    let mut plan = GrepPlan {
        matcher: matcher(&asked)?,
        glob: glob.map(search::glob).transpose()?,
        mode: asked.mode.unwrap_or_default(),
        is_multiline: asked.multiline,
        before: asked.before.unwrap_or(around).min(MAX_CONTEXT),
        after: asked.after.unwrap_or(around).min(MAX_CONTEXT),
        denied: Vec::new(),
        max_matches: asked.limit.unwrap_or(DEFAULT_MATCHES).clamp(1, MAX_MATCHES),
    };
    let mut title = format!("Search `{}`", asked.pattern);
    match files.shown(&place).as_str() {
        "." => {}
        place => title.extend([" in ", place]),
    }
    title.extend(glob.map(|glob| format!(" ({glob})")));
    let work = async move {
        for _ in 0..MAX_ROUNDS {
            let (namer, at) = (files.clone(), place.clone());
            let found = stoppable(WITHIN, async |stop| {
                let work = move |roots: &roots::Roots| {
                    let report =
                        scan(roots, &at, is_file, &plan, &stop, &|place| namer.shown(place));
                    (plan, report)
                };
                files.with_roots(work).await
            });
            let (used, report) = found.await?;
            plan = used;
            let report = report.map_err(ToolError::new)?;
            let n_denied = plan.denied.len();
            for path in report.files {
                if files.check_denied(ToolKind::Read, &path).await.is_err() {
                    plan.denied.push(path);
                }
            }
            if plan.denied.len() > n_denied {
                continue;
            }
            return Ok(ToolOutput { locations: report.locations, ..ToolOutput::text(report.text) });
        }
        Err(ToolError::new("too many files with matches may not be read; use a narrower path"))
    };
    Ok(PreparedCall::free(title, work))
}

fn matcher(asked: &GrepArguments) -> Result<RegexMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(asked.case_insensitive)
        .fixed_strings(asked.fixed_strings)
        .multi_line(true)
        .dot_matches_new_line(asked.multiline)
        .size_limit(MAX_REGEX_BYTES);
    if !asked.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&asked.pattern).map_err(|error| {
        let hint = match error.to_string().contains("not allowed") {
            true => "set multiline for a pattern that spans lines",
            false => "escape what is meant as plain text with `\\`, or set fixed_strings",
        };
        ToolError(format!("the pattern is wrong: {error}; {hint}"))
    })
}

#[cfg(test)]
mod tests;
