//! Text of an answer or a thought that is still being written.
//!
//! In: chunks, cut anywhere. Out: safe text. What grows long is divided where that changes
//! nothing: at an empty line, inside of code at any line with its fence opened again, and a
//! line without end wherever it must be.

use projection::Sanitizer;

/// Length from which a text is divided at the next empty line.
const DIVIDE_AT_BLANK: usize = 8 << 10;
/// Length from which it is divided inside of code, too.
const DIVIDE_ANYWHERE: usize = 32 << 10;

#[derive(Debug, Default)]
pub(crate) struct StreamedText {
    pub(crate) text: String,
    sanitizer: Sanitizer,
    /// How much of the text was looked at, in whole lines.
    n_scanned: usize,
    /// The line that opened the code we are in.
    fence: Option<String>,
    /// The last place where dividing changes nothing.
    gap: usize,
}

impl StreamedText {
    /// Adds a chunk. Gives back what belongs to the next item, if this one is full.
    pub(crate) fn push(&mut self, chunk: &str) -> Option<Self> {
        self.sanitizer.push(chunk, &mut self.text);
        if self.text.len() <= DIVIDE_AT_BLANK {
            return None;
        }
        self.scan();
        let (at, fence) = if self.gap > 0 {
            (self.gap, None)
        } else if self.text.len() > DIVIDE_ANYWHERE {
            match self.n_scanned {
                0 => (self.text.len(), None),
                at => (at, self.fence.clone()),
            }
        } else {
            return None;
        };
        let rest = self.text.split_off(at);
        if fence.is_some() {
            self.text.push_str("```\n");
        }
        let text = match &fence {
            Some(fence) => format!("{fence}\n{rest}"),
            None => rest,
        };
        let sanitizer = std::mem::take(&mut self.sanitizer);
        Some(Self { text, sanitizer, ..Self::default() })
    }

    /// Looks at the lines that are whole.
    fn scan(&mut self) {
        while let Some(rest) = self.text.get(self.n_scanned..)
            && let Some(end) = rest.find('\n')
        {
            let line = rest.get(..end).unwrap_or_default().trim_start();
            let is_fence = line.starts_with("```") || line.starts_with("~~~");
            match &self.fence {
                Some(open) if is_fence && line.starts_with(open.get(..3).unwrap_or("```")) => {
                    self.fence = None;
                }
                Some(_) => {}
                None if is_fence => self.fence = Some(line.chars().take(80).collect()),
                None => {}
            }
            self.n_scanned += end + 1;
            if line.is_empty() && self.fence.is_none() {
                self.gap = self.n_scanned;
            }
        }
    }
}
