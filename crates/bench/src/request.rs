//! The requests of the load client, and how their answers are known again.
//!
//! A request carries its session both beside the method, where stdio Bus looks for it, and in
//! `params`, where ACP has it. Its id names the session and counts up; the reference router
//! finds its way by that id alone.

use memchr::memmem::Finder;

/// The id of session 7's third request is `"s000007-0000000003"`.
const ID_START: &str = "\"id\":\"s";
const SESSION_DIGITS: usize = 6;
const COUNT_DIGITS: usize = 10;

/// How many bytes of a line are searched for its id.
const HEAD_BYTES: usize = 160;

const FILLING: &[u8] = b"abcdefghijklmnopqrstuvwxyz 0123456789";

#[derive(Debug)]
pub struct Request {
    line: Vec<u8>,
    count_at: usize,
    count: u64,
    n_answer_bytes: usize,
}

impl Request {
    /// Lines of `n_bytes` with their newline, or as many as are needed.
    pub fn new(session: usize, n_bytes: usize) -> Self {
        let name = format!("sess-{session:06}");
        let id = format!("\"s{session:06}-{:010}\"", 0);
        let params_start = format!("{{\"sessionId\":\"{name}\",\"text\":\"");
        let mut line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"sessionId\":\"{name}\",\
             \"method\":\"session/prompt\",\"params\":{params_start}"
        )
        .into_bytes();
        let end = b"\"}}\n";
        let n_filling = n_bytes.saturating_sub(line.len() + end.len()).max(1);
        // Sessions differ in their text, so that an answer with another's text has a chance to
        // be seen in a trace.
        line.extend(FILLING.iter().cycle().skip(session % FILLING.len()).take(n_filling));
        line.extend_from_slice(end);

        let n_params = params_start.len() + n_filling + "\"}".len();
        let answer = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"sessionId\":\"{name}\",\"result\":{{\"echo\":}}}}\n"
        );
        let n_answer_bytes = answer.len() + n_params;
        let id_at = "{\"jsonrpc\":\"2.0\",".len() + ID_START.len();
        Self { line, count_at: id_at + SESSION_DIGITS + 1, count: 0, n_answer_bytes }
    }

    /// The line of the next request.
    pub fn next_line(&mut self) -> &[u8] {
        self.count += 1;
        let mut rest = self.count;
        let digits = self.line.get_mut(self.count_at..self.count_at + COUNT_DIGITS);
        for digit in digits.into_iter().flatten().rev() {
            // The remainder is below ten.
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
        }
        &self.line
    }

    /// The number of the last request.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How long an answer of the echo worker is, with its newline.
    pub fn n_answer_bytes(&self) -> usize {
        self.n_answer_bytes
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum LoadAnswer {
    Result {
        session: usize,
        count: u64,
    },
    Error {
        session: usize,
        count: u64,
    },
    /// Not an answer to one of our requests.
    Other,
}

/// Reads answers without parsing them.
#[derive(Debug)]
pub struct AnswerReader {
    id: Finder<'static>,
    method: Finder<'static>,
    error: Finder<'static>,
}

impl Default for AnswerReader {
    fn default() -> Self {
        Self {
            id: Finder::new(ID_START),
            method: Finder::new("\"method\":"),
            error: Finder::new("\"error\":"),
        }
    }
}

impl AnswerReader {
    pub fn read(&self, line: &[u8]) -> LoadAnswer {
        let head = line.get(..HEAD_BYTES).unwrap_or(line);
        if self.method.find(head).is_some() {
            return LoadAnswer::Other;
        }
        let Some((session, count)) = self.id(head) else { return LoadAnswer::Other };
        match self.error.find(head) {
            Some(_) => LoadAnswer::Error { session, count },
            None => LoadAnswer::Result { session, count },
        }
    }

    fn id(&self, head: &[u8]) -> Option<(usize, u64)> {
        let id = head.get(self.id.find(head)? + ID_START.len()..)?;
        let session = number(id.get(..SESSION_DIGITS)?)?;
        let count = id.get(SESSION_DIGITS + 1..)?.get(..COUNT_DIGITS)?;
        Some((usize::try_from(session).ok()?, number(count)?))
    }
}

/// The session of a request or an answer.
pub fn session_of(id: &Finder<'_>, line: &[u8]) -> Option<usize> {
    let head = line.get(..HEAD_BYTES).unwrap_or(line);
    let digits = head.get(id.find(head)? + ID_START.len()..)?.get(..SESSION_DIGITS)?;
    usize::try_from(number(digits)?).ok()
}

pub fn id_finder() -> Finder<'static> {
    Finder::new(ID_START)
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |n: u64, digit| {
        digit.is_ascii_digit().then(|| n * 10 + u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests;
