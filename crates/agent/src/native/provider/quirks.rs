//! Parameters that an endpoint turned out not to take, learnt from how it refuses.
//!
//! Always true: only what was sent is left out, and each thing once. A refusal that is about one
//! tool, and not about tools, is none of all tools.

use serde_json::Value;

use super::failure::Explanation;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EndpointQuirks {
    pub(super) no_stream_options: bool,
    /// Newer models want `max_completion_tokens` instead of `max_tokens`.
    pub(super) renamed_max_tokens: bool,
    pub(super) no_temperature: bool,
    pub(super) no_effort: bool,
    /// Because of the model's template, of the server's flags, or of all endpoints behind a router.
    pub(super) no_tools: bool,
}

/// How endpoints say that a model takes no tools, without case, quotes and underscores.
const NO_TOOLS: [&str; 24] = [
    // Ollama, DeepSeek, Bedrock and others.
    "not support tools",
    "not support tool use",
    "not support tool call",
    "not support function call",
    "not support functions",
    "nt support tools",
    "nt support tool use",
    "nt support tool call",
    "nt support function call",
    // vLLM without its flags, llama.cpp without its own.
    "enable-auto-tool-choice",
    "tools param requires --jinja",
    // OpenRouter.
    "no endpoints found that support tool use",
    // OpenAI, Groq, Azure and others.
    "tools is not supported",
    "tools are not supported",
    "tool use is not supported",
    "tool calling is not supported",
    "tool calling not supported",
    "function calling is not supported",
    "function calling is not enabled",
    "unsupported parameter: tools",
    "unknown parameter: tools",
    "unrecognized request argument supplied: tools",
    // Servers that take only the members that they know.
    "body.tools: extra inputs are not permitted",
    "unknown field tools",
];

impl EndpointQuirks {
    /// The quirks after a refusal; `None` if it would not help to leave out more.
    pub(super) fn learn(self, sent: &Value, status: u16, answer: &str) -> Option<Self> {
        if self.blames_tools(sent, status, answer) {
            return Some(Self { no_tools: true, ..self });
        }
        if !matches!(status, 400 | 404 | 422) {
            return None;
        }
        let blames = |name: &str| sent.get(name).is_some() && answer.contains(name);
        let mut quirks = self;
        if blames("stream_options")
            || sent.get("stream_options").is_some() && answer.contains("include_usage")
        {
            quirks.no_stream_options = true;
        } else if blames("max_tokens") {
            quirks.renamed_max_tokens = true;
        } else if blames("reasoning_effort") {
            quirks.no_effort = true;
        } else if blames("temperature") {
            quirks.no_temperature = true;
        }
        (quirks != self).then_some(quirks)
    }

    fn blames_tools(self, sent: &Value, status: u16, answer: &str) -> bool {
        // llama.cpp says it with a 500, and others that it is not implemented.
        let may_be = matches!(status, 400 | 404 | 405 | 422 | 500 | 501);
        if !may_be || self.no_tools || sent.get("tools").is_none() {
            return false;
        }
        let said = Explanation::read(answer).text.to_lowercase();
        let said: String = said.chars().filter(|c| !"'\"`\u{2018}\u{2019}".contains(*c)).collect();
        let said = said.replace('_', " ");
        NO_TOOLS.iter().any(|words| said.contains(words))
    }
}

#[cfg(test)]
mod tests;
