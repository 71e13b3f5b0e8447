//! `grep`: searches the contents of files, with ripgrep's own libraries.
//!
//! Always true: what is collected is bounded in matches, characters and time; the work ends
//! soon after nobody waits for it, also in the middle of a large file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use globset::GlobMatcher;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish,
    SinkMatch,
};
use roots::walk::{WalkBounds, WalkEnd, WalkStop, walk};
use roots::{FileKind, ResolvedPath, Roots};
use serde::Deserialize;

use super::{found_at, name_matcher};
use crate::native::tool::arguments::{self, boolean, integer, string, word};
use crate::native::tool::{
    Location, PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
};

const DEFAULT_MATCHES: usize = 100;
const MAX_MATCHES: usize = 2_000;
const MAX_CONTEXT: usize = 50;
/// How often a search is repeated without files that turn out to be denied.
const MAX_ROUNDS: usize = 5;
/// A pattern that compiles to more is a mistake.
const MAX_REGEX_BYTES: usize = 10 << 20;
const MAX_CHARS: usize = 30_000;
const MAX_LINE_CHARS: usize = 500;
const MAX_LOCATIONS: usize = 100;
/// Memory for one file: its longest line, or all of it for matches over several lines.
const MAX_HELD_BYTES: usize = 32 << 20;

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
    let (place, kind) = found_at(&files, asked.path.as_deref()).await?;
    let is_file = kind == FileKind::File;
    let around = asked.context.unwrap_or_default();
    let glob = asked.glob.as_deref().filter(|glob| !glob.is_empty());
    let mut plan = GrepPlan {
        matcher: matcher(&asked)?,
        glob: glob.map(name_matcher).transpose()?,
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
            let found = files.walk(move |roots, stop| {
                let report = scan(roots, &at, is_file, &plan, stop, &|place| namer.shown(place));
                (plan, report)
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GrepMode {
    #[default]
    Content,
    #[serde(alias = "files")]
    FilesWithMatches,
    Count,
}

#[derive(Debug)]
struct GrepPlan {
    matcher: RegexMatcher,
    glob: Option<GlobMatcher>,
    mode: GrepMode,
    is_multiline: bool,
    before: usize,
    after: usize,
    max_matches: usize,
    /// Files that may not be read.
    denied: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct GrepReport {
    text: String,
    locations: Vec<Location>,
    /// All files with something in the text.
    files: Vec<PathBuf>,
}

fn scan(
    roots: &Roots,
    place: &ResolvedPath,
    is_file: bool,
    plan: &GrepPlan,
    stop: &WalkStop,
    name: &dyn Fn(&ResolvedPath) -> String,
) -> Result<GrepReport, roots::RootsError> {
    let mut searcher = searcher(plan);
    let mut notes = MatchCollector { plan, stop, report: GrepReport::default(), n_matches: 0 };
    let end = match is_file {
        true => {
            let above = place.parent().unwrap_or_else(|| place.clone());
            let file = place.relative().file_name().unwrap_or_default();
            if let Ok(file) = roots.folder(&above)?.open(file) {
                notes.search(&mut searcher, file, place, &name(place));
            }
            if notes.is_full() { WalkEnd::Enough } else { WalkEnd::Whole }
        }
        false => walk(roots, place, WalkBounds::default(), stop, &mut |found| {
            let is_wanted = plan.glob.as_ref().is_none_or(|glob| glob.is_match(found.path));
            if found.kind == FileKind::File && is_wanted {
                // A file that cannot be opened is passed over.
                if let Ok(file) = found.folder.open(found.name) {
                    let at = place.below(found.path);
                    notes.search(&mut searcher, file, &at, &name(&at));
                }
            }
            match notes.is_full() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?,
    };
    let end = if stop.is_now() { WalkEnd::TimeIsUp } else { end };
    let mut report = notes.report;
    let note = match end {
        WalkEnd::Whole if report.text.is_empty() => "no matches",
        WalkEnd::Whole => "",
        WalkEnd::Enough => {
            "\n(there is more; use a narrower pattern, path or glob, or a higher limit)"
        }
        WalkEnd::TooMuch => "\n(not everything was searched; use a narrower path)",
        WalkEnd::TimeIsUp => {
            "\n(not everything was searched, it took too long; use a narrower path)"
        }
    };
    report.text.push_str(note);
    if !plan.denied.is_empty() {
        report.text.push_str("\n(files that may not be read are left out)");
    }
    Ok(report)
}

fn searcher(plan: &GrepPlan) -> Searcher {
    let shows_lines = plan.mode == GrepMode::Content;
    SearcherBuilder::new()
        .line_number(true)
        .multi_line(plan.is_multiline)
        .before_context(if shows_lines { plan.before } else { 0 })
        .after_context(if shows_lines { plan.after } else { 0 })
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_HELD_BYTES))
        .build()
}

/// A search, with its results so far.
struct MatchCollector<'a> {
    plan: &'a GrepPlan,
    stop: &'a WalkStop,
    report: GrepReport,
    n_matches: usize,
}

impl MatchCollector<'_> {
    fn is_full(&self) -> bool {
        self.n_matches >= self.plan.max_matches || self.report.text.len() >= MAX_CHARS
    }

    fn search(&mut self, searcher: &mut Searcher, file: File, place: &ResolvedPath, name: &str) {
        if self.plan.denied.iter().any(|denied| denied == place.path()) {
            return;
        }
        let begin = self.report.text.len();
        let n_locations = self.report.locations.len();
        let n_before = self.n_matches;
        let reader = StoppableFile { file, stop: self.stop.clone() };
        let matcher = &self.plan.matcher;
        let mut one = FileSink { collector: self, place, name, n_lines: 0, is_binary: false };
        // A line too long to hold, or the end of our time: the next file may do better.
        let searched = searcher.search_reader(matcher, reader, &mut one);
        let (n_lines, is_binary) = (one.n_lines, one.is_binary);
        if let Err(error) = searched {
            tracing::debug!(name, %error, "a file is not searched to its end");
        }
        if is_binary {
            self.report.text.truncate(begin);
            self.report.locations.truncate(n_locations);
            self.n_matches = n_before;
            return;
        }
        if n_lines == 0 {
            return;
        }
        self.report.files.push(place.path().to_owned());
        let _ = match self.plan.mode {
            GrepMode::Content => Ok(()),
            GrepMode::FilesWithMatches => writeln!(self.report.text, "{name}"),
            GrepMode::Count => writeln!(self.report.text, "{name}:{n_lines}"),
        };
        if self.plan.mode != GrepMode::Content {
            self.n_matches += 1;
            self.locate(place, None);
        }
    }

    fn locate(&mut self, place: &ResolvedPath, line: Option<u64>) {
        if self.report.locations.len() < MAX_LOCATIONS {
            let line = line.and_then(|line| u32::try_from(line).ok());
            self.report.locations.push(Location::of(place, line));
        }
    }
}

struct FileSink<'a, 'b> {
    collector: &'a mut MatchCollector<'b>,
    place: &'a ResolvedPath,
    name: &'a str,
    n_lines: u64,
    is_binary: bool,
}

impl FileSink<'_, '_> {
    fn put(&mut self, line: Option<u64>, mark: char, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for (index, text) in (0..).zip(text.lines()) {
            let line = line.unwrap_or_default() + index;
            let name = self.name;
            let _ = write!(self.collector.report.text, "{name}{mark}{line}{mark}");
            let from = self.first_shown(text);
            if from > 0 {
                self.collector.report.text.push('…');
            }
            let mut rest = text.get(from..).unwrap_or(text).chars();
            self.collector.report.text.extend(rest.by_ref().take(MAX_LINE_CHARS));
            if rest.next().is_some() {
                self.collector.report.text.push('…');
            }
            self.collector.report.text.push('\n');
        }
    }

    /// The offset at which a long line begins to be shown, so that the match is in sight.
    fn first_shown(&self, text: &str) -> usize {
        if text.len() <= MAX_LINE_CHARS {
            return 0;
        }
        let found = self.collector.plan.matcher.find(text.as_bytes()).ok().flatten();
        let at = found.map_or(0, |found| found.start());
        match at + MAX_LINE_CHARS / 4 > MAX_LINE_CHARS {
            true => text.floor_char_boundary(at - MAX_LINE_CHARS / 4),
            false => 0,
        }
    }
}

impl Sink for FileSink<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.n_lines += found.lines().count() as u64;
        match self.collector.plan.mode {
            GrepMode::FilesWithMatches => return Ok(false),
            GrepMode::Count => return Ok(!self.collector.stop.is_now()),
            GrepMode::Content => {}
        }
        self.collector.n_matches += 1;
        self.collector.locate(self.place, found.line_number());
        self.put(found.line_number(), ':', found.bytes());
        Ok(!self.collector.is_full() && !self.collector.stop.is_now())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if *context.kind() != SinkContextKind::Other {
            self.put(context.line_number(), '-', context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.collector.report.text.push_str("--\n");
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A file that ends with an error when its time is up.
struct StoppableFile {
    file: File,
    stop: WalkStop,
}

impl Read for StoppableFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_now() {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => self.file.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests;
