//! A request as the model server got it.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    pub method: String,
    /// With its query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// `null` if there was no JSON.
    pub body: Value,
}

impl ReceivedRequest {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    pub fn is_chat(&self) -> bool {
        self.method == "POST" && self.path().ends_with("/chat/completions")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The roles of the messages in order: `system`, `user`, `assistant`, `tool`.
    pub fn roles(&self) -> Vec<&str> {
        self.messages().iter().filter_map(|message| message["role"].as_str()).collect()
    }

    /// The whole system prompt.
    pub fn system(&self) -> String {
        self.of_role("system").join("\n")
    }

    /// The last message of the user, its parts joined.
    pub fn last_user(&self) -> String {
        self.of_role("user").pop().unwrap_or_default()
    }

    /// The results of tools, oldest first.
    pub fn tool_results(&self) -> Vec<String> {
        self.of_role("tool")
    }

    /// The results of tools since the model's last message.
    pub fn new_tool_results(&self) -> Vec<String> {
        let new = self.messages().iter().rev().take_while(|message| message["role"] == "tool");
        let mut texts: Vec<_> = new.map(text_of).collect();
        texts.reverse();
        texts
    }

    /// The tools that are offered.
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
    }

    fn of_role(&self, role: &str) -> Vec<String> {
        self.messages().iter().filter(|message| message["role"] == role).map(text_of).collect()
    }
}

fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
