//! Searches files and collects what matches.
//!
//! Always true: what is collected is bounded in matches, characters and time; the work ends
//! soon after nobody waits for it, also in the middle of a large file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;

use globset::GlobMatcher;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish,
    SinkMatch,
};
use roots::{FileKind, ResolvedPath, Roots};
use serde::Deserialize;

use crate::native::tool::Location;
use roots::walk::{WalkBounds, WalkEnd, WalkStop, walk};

const MAX_CHARS: usize = 30_000;
const MAX_LINE_CHARS: usize = 500;
const MAX_LOCATIONS: usize = 100;
/// Memory for one file: its longest line, or all of it for matches over several lines.
const MAX_HELD_BYTES: usize = 32 << 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GrepMode {
    #[default]
    Content,
    #[serde(alias = "files")]
    FilesWithMatches,
    Count,
}

#[derive(Debug)]
pub(super) struct GrepPlan {
    pub matcher: RegexMatcher,
    pub glob: Option<GlobMatcher>,
    pub mode: GrepMode,
    pub is_multiline: bool,
    pub before: usize,
    pub after: usize,
    pub max_matches: usize,
    /// Files that may not be read.
    pub denied: Vec<PathBuf>,
}

#[derive(Debug, Default)]
pub(super) struct GrepReport {
    pub text: String,
    pub locations: Vec<Location>,
    /// All files with something in the text.
    pub files: Vec<PathBuf>,
}

pub(super) fn scan(
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
