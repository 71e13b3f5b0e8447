//! The setup of each agent to work offline with our model.
//!
//! In: a private home and the address of the model server. Out: files in that home and variables.
//! Nothing of the user's own configuration is read, and nothing leaves the machine.

use crate::model::MODELS;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The home and the model of an agent while it is driven.
#[derive(Debug, Clone)]
pub struct AgentSurroundings {
    pub home: PathBuf,
    /// Address of the model server with a path of this agent's own, without a slash at the end.
    pub model_url: String,
}

/// The setup of an agent: files, variables, first commands.
#[derive(Debug, Default, Clone)]
pub struct AgentRecipe {
    pub variables: Vec<(&'static str, String)>,
    /// Relative to the home.
    pub files: Vec<(&'static str, String)>,
    /// Arguments of its own program to run once, before anything else.
    pub first: Vec<Vec<String>>,
}

const KEY: &str = "live";

impl AgentRecipe {
    fn set(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    fn file(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.files.push((path, text.into()));
        self
    }
}

fn openai(at: &AgentSurroundings) -> String {
    format!("{}/v1", at.model_url)
}

pub(super) fn claude(at: &AgentSurroundings) -> AgentRecipe {
    AgentRecipe::default()
        .set("ANTHROPIC_BASE_URL", &at.model_url)
        .set("ANTHROPIC_API_KEY", KEY)
        .set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        // Ten tries by default, over three minutes.
        .set("CLAUDE_CODE_MAX_RETRIES", "1")
}

pub(super) fn codex(at: &AgentSurroundings) -> AgentRecipe {
    let config = format!(
        r#"model = "{model}"
model_provider = "live"
[model_providers.live]
name = "live"
base_url = "{url}"
wire_api = "responses"
env_key = "LIVE_API_KEY"
request_max_retries = 1
stream_max_retries = 1
[features]
plugins = false
apps = false
[analytics]
enabled = false
"#,
        model = MODELS[0],
        url = openai(at),
    );
    AgentRecipe::default()
        .set("LIVE_API_KEY", KEY)
        .set("CODEX_HOME", at.home.join(".codex").to_string_lossy())
        .file(".codex/config.toml", config)
}

pub(super) fn gemini(at: &AgentSurroundings) -> AgentRecipe {
    // Ten silent tries by default, over four minutes.
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "general": { "maxAttempts": 2 },
    });
    AgentRecipe::default()
        .set("GEMINI_API_KEY", KEY)
        .set("GOOGLE_GEMINI_BASE_URL", &at.model_url)
        .set("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .file(".gemini/settings.json", settings.to_string())
}

pub(super) fn qwen(at: &AgentSurroundings) -> AgentRecipe {
    let model = |id: &str| json!({ "id": id, "name": id, "baseUrl": openai(at), "envKey": "OPENAI_API_KEY" });
    // The memory asks the model a second question in the background.
    let settings = json!({
        "memory": { "enableManagedAutoMemory": false },
        "modelProviders": { "openai": MODELS.map(model) },
    });
    AgentRecipe::default()
        .set("OPENAI_API_KEY", KEY)
        .set("OPENAI_BASE_URL", openai(at))
        .set("OPENAI_MODEL", MODELS[0])
        .file(".qwen/settings.json", settings.to_string())
}

pub(crate) fn native(at: &AgentSurroundings) -> AgentRecipe {
    AgentRecipe::default()
        .set("OPENAI_BASE_URL", openai(at))
        .set("OPENAI_API_KEY", KEY)
        .set("OPENAI_MODEL", MODELS[0])
}

/// A model that knows no end, with a small window: long enough to be cancelled in.
pub(crate) fn native_tiny(at: &AgentSurroundings) -> AgentRecipe {
    AgentRecipe::default()
        .set("OPENAI_BASE_URL", openai(at))
        .set("OPENAI_API_KEY", KEY)
        .set("OPENAI_MODEL", "tiny")
        .set("OPENAI_SYSTEM_PROMPT", "Speak.")
        .set("OPENAI_MAX_TOKENS", "1000")
}

fn opencode_config(at: &AgentSurroundings) -> String {
    let models: serde_json::Map<String, _> =
        MODELS.iter().map(|id| ((*id).to_owned(), json!({ "name": id }))).collect();
    let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "live", "models": models,
        "options": { "baseURL": openai(at), "apiKey": KEY } });
    let model = format!("live/{}", MODELS[0]);
    json!({ "model": model, "small_model": model, "autoupdate": false, "share": "disabled",
        "provider": { "live": provider } })
    .to_string()
}

pub(super) fn opencode(at: &AgentSurroundings) -> AgentRecipe {
    AgentRecipe::default()
        .set("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .set("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .file(".config/opencode/opencode.json", opencode_config(at))
}

pub(super) fn kilo(at: &AgentSurroundings) -> AgentRecipe {
    AgentRecipe::default()
        .set("KILO_DISABLE_MODELS_FETCH", "1")
        .set("KILO_DISABLE_AUTOUPDATE", "1")
        .file(".config/kilo/kilo.json", opencode_config(at))
}

pub(super) fn copilot(at: &AgentSurroundings) -> AgentRecipe {
    AgentRecipe::default()
        .set("COPILOT_PROVIDER_BASE_URL", openai(at))
        .set("COPILOT_PROVIDER_API_KEY", KEY)
        .set("COPILOT_MODEL", MODELS[0])
        .set("COPILOT_OFFLINE", "true")
        .set("COPILOT_AUTO_UPDATE", "false")
}

pub(super) fn hermes(at: &AgentSurroundings) -> AgentRecipe {
    let config = format!(
        "model:\n  provider: custom\n  base_url: {}\n  api_key: {KEY}\n  default: {}\n  \
         context_length: 128000\n",
        openai(at),
        MODELS[0],
    );
    AgentRecipe::default().file(".hermes/config.yaml", config)
}

fn kimi_config(at: &AgentSurroundings, kind: &str) -> String {
    let mut config = format!(
        "default_model = \"{0}\"\n[providers.live]\ntype = \"{kind}\"\nbase_url = \"{1}\"\n\
         api_key = \"{KEY}\"\n",
        MODELS[0],
        openai(at),
    );
    for model in MODELS {
        let _ = write!(
            config,
            "[models.{model}]\nprovider = \"live\"\nmodel = \"{model}\"\n\
             max_context_size = 128000\ncapabilities = [\"thinking\"]\n"
        );
    }
    config
}

pub(super) fn kimi_code(at: &AgentSurroundings) -> AgentRecipe {
    AgentRecipe::default()
        .set("KIMI_CODE_NO_AUTO_UPDATE", "1")
        .file(".kimi-code/config.toml", kimi_config(at, "openai"))
}

pub(super) fn kimi_cli(at: &AgentSurroundings) -> AgentRecipe {
    // Its ACP side requires a login, whatever the provider.
    let login = json!({ "access_token": KEY, "refresh_token": KEY, "expires_at": 4_000_000_000_u64,
        "scope": "", "token_type": "Bearer" });
    AgentRecipe::default()
        .set("KIMI_CLI_NO_AUTO_UPDATE", "1")
        .file(".kimi/config.toml", kimi_config(at, "openai_legacy"))
        .file(".kimi/credentials/kimi-code.json", login.to_string())
}

pub(super) fn vibe(at: &AgentSurroundings) -> AgentRecipe {
    let mut config = format!(
        "active_model = \"{}\"\nenable_telemetry = false\nenable_auto_update = false\n\
         [[providers]]\nname = \"live\"\napi_base = \"{}\"\napi_key_env_var = \"LIVE_API_KEY\"\n\
         backend = \"generic\"\n",
        MODELS[0],
        openai(at),
    );
    for model in MODELS {
        let _ = write!(
            config,
            "[[models]]\nname = \"{model}\"\nprovider = \"live\"\nalias = \"{model}\"\n"
        );
    }
    AgentRecipe::default().set("LIVE_API_KEY", KEY).file(".vibe/config.toml", config)
}

pub(super) fn cline(at: &AgentSurroundings) -> AgentRecipe {
    let url = openai(at);
    let login = ["auth", "-p", "openai-compatible", "-k", KEY, "-m", MODELS[0], "-b", &url];
    let mut recipe =
        AgentRecipe::default().set("CLINE_API_KEY", KEY).set("CLINE_PROVIDER", "openai-compatible");
    recipe.first = vec![login.map(str::to_owned).to_vec()];
    recipe
}

pub(super) fn pi(at: &AgentSurroundings) -> AgentRecipe {
    let model = |id: &str| json!({ "id": id, "reasoning": true, "contextWindow": 128_000 });
    let models = json!({ "providers": { "live": { "baseUrl": openai(at),
        "api": "openai-completions", "apiKey": KEY, "models": MODELS.map(model) } } });
    let settings = json!({ "defaultProvider": "live", "defaultModel": MODELS[0] });
    AgentRecipe::default()
        .set("PI_OFFLINE", "1")
        .file(".pi/agent/models.json", models.to_string())
        .file(".pi/agent/settings.json", settings.to_string())
}

pub(super) fn goose(at: &AgentSurroundings) -> AgentRecipe {
    AgentRecipe::default()
        .set("GOOSE_PROVIDER", "openai")
        .set("GOOSE_MODEL", MODELS[0])
        // It replaces the part after the last slash with a path of its own.
        .set("OPENAI_HOST", format!("{}/", at.model_url))
        .set("OPENAI_API_KEY", KEY)
        .set("GOOSE_DISABLE_KEYRING", "1")
}

pub(super) fn droid(at: &AgentSurroundings) -> AgentRecipe {
    let model = json!({ "model": MODELS[0], "displayName": "Live", "baseUrl": openai(at),
        "apiKey": KEY, "provider": "generic-chat-completion-api", "maxOutputTokens": 8_000 });
    let settings = json!({
        "customModels": [model],
        "sessionDefaultSettings": { "model": "custom:Live-0", "autonomyMode": "normal" },
        "cloudSessionSync": false,
    });
    AgentRecipe::default()
        .set("FACTORY_API_KEY", "fk-live")
        .file(".factory/settings.json", settings.to_string())
}
