//! Makes a prompt of what was typed: text, stdin, attached files.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use client::file_uri;
use projection::sanitize_line;
use runtimes::catalogue::{Catalogue, Inside};
use serde_json::{Value, json};

use crate::agents;
use crate::cli::RunArgs;
use crate::outcome::Failure;
use crate::terminal;

/// Files larger than this are linked, not sent.
const MAX_INLINE_BYTES: u64 = 8 << 20;
/// Of a prompt that is shown in a hint.
const MAX_HINT_CHARS: usize = 80;

/// The prompt's text; `-` means stdin.
pub(crate) fn read_text(word: &str) -> Result<String, Failure> {
    if word != "-" {
        return match word.trim().is_empty() {
            true => Err(Failure::usage("the prompt is empty")),
            false => Ok(word.to_owned()),
        };
    }
    let limit = wire::limits::CLIENT_LINE_BYTES as u64;
    let mut text = String::new();
    let stdin = std::io::stdin().lock();
    stdin.take(limit + 1).read_to_string(&mut text).context("cannot read the prompt from stdin")?;
    if text.len() as u64 > limit {
        return Err(Failure::usage(format!("the prompt is larger than {limit} bytes")));
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt on stdin is empty"));
    }
    Ok(text)
}

/// What a prompt says and what is sent along, before anything is started.
#[derive(Debug)]
pub(crate) struct Prompt {
    /// Text, and links to files.
    pub(crate) blocks: Vec<Value>,
    /// Files of which an agent that can is given what is in them.
    pub(crate) media: Vec<PathBuf>,
}

impl Prompt {
    pub(crate) fn new(text: &str, attached: &[PathBuf]) -> Result<Self, Failure> {
        let mut prompt =
            Self { blocks: vec![json!({ "type": "text", "text": text })], media: Vec::new() };
        for path in attached {
            let link = link(path).map_err(|error| Failure::usage(format!("{error:#}")))?;
            match is_media(&link) {
                true => prompt.media.push(path.clone()),
                false => prompt.blocks.push(link),
            }
        }
        Ok(prompt)
    }
}

/// Says which of the attached files an agent may not be able to read: those that are sent as
/// links and are outside its directories.
pub(crate) fn tell_outside(attached: &[PathBuf], roots: &[PathBuf]) {
    for path in attached {
        let Ok(real) = path.canonicalize() else { continue };
        let is_sent = mime_of(&real).starts_with("image/") || mime_of(&real).starts_with("audio/");
        let is_inside =
            roots.iter().any(|root| root.canonicalize().is_ok_and(|root| real.starts_with(root)));
        if !is_sent && !is_inside {
            let shown = sanitize_line(&path.to_string_lossy(), MAX_HINT_CHARS);
            terminal::say(&format!(
                "note: {shown} is outside the session's directories, where the agent may not be \
                 able to read it; see --add-dir"
            ));
        }
    }
}

/// A link to a file.
fn link(path: &Path) -> anyhow::Result<Value> {
    let cannot = || format!("cannot attach {}", path.display());
    let real = path.canonicalize().with_context(cannot)?;
    let metadata = real.metadata().with_context(cannot)?;
    if !metadata.is_file() {
        bail!("{}: it is not a file", cannot());
    }
    let mime = match mime_of(&real) {
        // A name that says nothing; what is in it does.
        UNTOLD if !is_text(&real).with_context(cannot)? => "application/octet-stream",
        mime => mime,
    };
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(json!({
        "type": "resource_link",
        "uri": file_uri(&real),
        "name": name,
        "mimeType": mime,
        "size": metadata.len(),
    }))
}

/// Whether a link is to an image or sound of which more can be sent than a link.
fn is_media(link: &Value) -> bool {
    let mime = link["mimeType"].as_str().unwrap_or_default();
    let is_small = link["size"].as_u64().is_some_and(|size| size <= MAX_INLINE_BYTES);
    is_small && (mime.starts_with("image/") || mime.starts_with("audio/"))
}

/// What a file is whose name does not tell, if it is text.
const UNTOLD: &str = "text/plain";
/// As much as git looks at.
const TEXT_LOOKED_AT: u64 = 8000;

fn mime_of(path: &Path) -> &'static str {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match &*extension {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "html" | "htm" => "text/html",
        "md" => "text/markdown",
        _ => UNTOLD,
    }
}

/// Whether a file begins like text: UTF-8 without a zero byte.
fn is_text(path: &Path) -> std::io::Result<bool> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(TEXT_LOOKED_AT).read_to_end(&mut bytes)?;
    let is_utf8 = match std::str::from_utf8(&bytes) {
        Ok(_) => true,
        // The last letter may be cut.
        Err(error) => error.error_len().is_none(),
    };
    Ok(is_utf8 && !bytes.contains(&0))
}

/// `[AGENT] PROMPT`; the agent is named elsewhere when there is one word. There is no prompt among
/// the words if prompts come on stdin.
pub(crate) fn split_words(args: &RunArgs) -> Result<(Option<&str>, Option<&str>), Failure> {
    if args.json {
        return Err(Failure::usage("`run` has no --json").hint("use --format json"));
    }
    match args.stdin {
        true => Ok((agent_word(args)?, None)),
        false => agent_and_prompt(args).map(|(agent, prompt)| (agent, Some(prompt))),
    }
}

/// `[AGENT]` alone.
fn agent_word(args: &RunArgs) -> Result<Option<&str>, Failure> {
    let elsewhere = args.agent.agent.as_deref();
    let is_named = elsewhere.is_some() || args.session.is_some() || !args.command.is_empty();
    let hint = "printf 'one\\ntwo\\n' | switchyard run demo --stdin --format envelopes";
    match (&args.words[..], args.command.is_empty()) {
        ([agent], true) => Ok(Some(agent)),
        ([], _) if is_named => Ok(elsewhere),
        ([], _) => Err(Failure::usage("which agent is that for?").hint(hint)),
        _ => {
            Err(Failure::usage("with --stdin every prompt is a line on stdin, and none is a word")
                .hint(hint))
        }
    }
}

fn agent_and_prompt(args: &RunArgs) -> Result<(Option<&str>, &str), Failure> {
    let elsewhere = args.agent.agent.as_deref();
    match (&args.words[..], args.command.is_empty()) {
        ([word], true) if elsewhere.is_none() && args.session.is_none() => {
            let shipped = Catalogue::shipped().ok();
            let native = Inside::Native.id();
            let is_agent =
                shipped.as_ref().is_some_and(|shipped| shipped.names().any(|name| name == word));
            let is_name = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            let meant = shipped.as_ref().and_then(|shipped| agents::nearest(word, shipped));
            let (agent, prompt) = match (is_agent, meant) {
                (true, _) => (word.as_str(), "say hello"),
                (false, Some(meant)) => (meant, "say hello"),
                (false, None) => (native, word.as_str()),
            };
            let message = match (is_agent, is_name) {
                (true, _) => format!("what is `{word}` to do?"),
                (false, true) => format!(
                    "`{word}` is all there is: an agent without a prompt, or a prompt \
                     without an agent"
                ),
                (false, false) => "which agent is that for?".to_owned(),
            };
            let prompt = sanitize_line(&prompt.replace('"', "\\\""), MAX_HINT_CHARS);
            let question = match meant.filter(|_| !is_agent) {
                Some(meant) => format!("did you mean `{meant}`? "),
                None => String::new(),
            };
            Err(Failure::usage(message).hint(format!(
                "{question}switchyard run AGENT PROMPT, for example: switchyard run {agent} \"{prompt}\" \
                 (`switchyard agents` lists them; {native} is built in)"
            )))
        }
        ([prompt], _) => Ok((elsewhere, prompt)),
        ([agent, prompt], true) => Ok((Some(agent), prompt)),
        ([agent, rest @ ..], true) => {
            let prompt = sanitize_line(&rest.join(" ").replace('"', "\\\""), MAX_HINT_CHARS);
            Err(Failure::usage("the prompt is one word for the shell: put it in quotes")
                .hint(format!("switchyard run {} \"{prompt}\"", sanitize_line(agent, 40))))
        }
        _ => {
            Err(Failure::usage("with a command after `--` there is one word before it: the prompt")
                .hint("switchyard run \"fix the test\" -- opencode acp"))
        }
    }
}

#[cfg(test)]
mod tests;
