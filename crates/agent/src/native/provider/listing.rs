//! Lists of models.
//!
//! In: what `GET {base}/models` gives. Out: ids, and what is known about each. Endpoints agree
//! on the ids and on nothing else.

use std::time::Duration;

use serde_json::Value;

use super::chunk::number;
use super::failure::refusal;
use super::{Model, ModelFailure, Provider, client};
use crate::native::cost;
use crate::native::endpoint::EndpointKind;
use crate::native::http;

/// Most models of one list: nobody scrolls further.
const MAX_MODELS: usize = 2000;
const MAX_ID_CHARS: usize = 256;
const MAX_LIST_BYTES: usize = 16 << 20;
/// A list comes at once, or whoever asked goes on without it.
const LIST_WITHIN: Duration = Duration::from_secs(15);
/// Bytes read of an answer that is an error.
const MAX_ERROR_BYTES: usize = 64 << 10;

pub(super) async fn ask(provider: &Provider) -> Result<Vec<Model>, ModelFailure> {
    let endpoint = provider.endpoint();
    let Some(url) = client::models_url(endpoint) else { return Ok(Vec::new()) };
    let asking = async {
        let body = get(provider, &url).await?;
        let value = serde_json::from_slice(&body).unwrap_or_default();
        match read(&value) {
            Some(models) => Ok(models),
            None => Err(ModelFailure::protocol(endpoint, &url, "it is not a list of models")),
        }
    };
    let mut models = match tokio::time::timeout(LIST_WITHIN, asking).await {
        Ok(asked) => asked?,
        Err(_) => return Err(ModelFailure::silence(endpoint, &url, LIST_WITHIN)),
    };
    if endpoint.kind == EndpointKind::Ollama {
        add_loaded(provider, &mut models).await;
    }
    Ok(models)
}

/// Asks for something small where models are not listed, to see whether the endpoint answers. What
/// Azure would list is what could be deployed, not what is.
pub(super) async fn probe(provider: &Provider) -> Result<(), ModelFailure> {
    let endpoint = provider.endpoint();
    let url = client::models_url(endpoint).unwrap_or_else(|| client::resource_url(endpoint));
    let network = |error: reqwest::Error| ModelFailure::network(endpoint, &url, &error);
    let asking = provider.client()?.get(url.clone()).headers(client::headers(endpoint)?);
    let asked = tokio::time::timeout(LIST_WITHIN, asking.send()).await;
    let response = match asked {
        Ok(asked) => asked.map_err(network)?,
        Err(_) => return Err(ModelFailure::silence(endpoint, &url, LIST_WITHIN)),
    };
    match response.status().as_u16() {
        // A gateway in front of it may have no such page, and has looked at the key.
        status @ (401 | 403 | 500..=599) => Err(refusal(endpoint, &url, status, "", None).failure),
        _ => Ok(()),
    }
}

async fn get(provider: &Provider, url: &reqwest::Url) -> Result<Vec<u8>, ModelFailure> {
    let endpoint = provider.endpoint();
    let network = |error: reqwest::Error| ModelFailure::network(endpoint, url, &error);
    let asking = provider.client()?.get(url.clone()).headers(client::headers(endpoint)?);
    let mut response = asking.send().await.map_err(network)?;
    let status = response.status();
    let limit = if status.is_success() { MAX_LIST_BYTES } else { MAX_ERROR_BYTES };
    let mut body = Vec::new();
    let is_whole = http::read(&mut response, limit, &mut body).await.map_err(network)?;
    if !status.is_success() {
        let said = String::from_utf8_lossy(&body);
        return Err(refusal(endpoint, url, status.as_u16(), &said, None).failure);
    }
    match is_whole {
        true => Ok(body),
        false => Err(ModelFailure::protocol(endpoint, url, "the list of models is too long")),
    }
}

/// Adds context windows that Ollama reports: how much of the conversation a model sees is a setting
/// of the server, and only reported for models that are loaded.
async fn add_loaded(provider: &Provider, models: &mut [Model]) {
    let url = client::sibling_url(provider.endpoint(), "/api/ps");
    let asked = tokio::time::timeout(Duration::from_secs(2), get(provider, &url)).await;
    let Ok(Ok(body)) = asked else { return };
    let loaded: Value = serde_json::from_slice(&body).unwrap_or_default();
    for entry in loaded["models"].as_array().into_iter().flatten() {
        let name = entry["name"].as_str().or(entry["model"].as_str());
        let context = number(&entry["context_length"]);
        for model in models.iter_mut().filter(|model| Some(model.id.as_str()) == name) {
            model.context = context.or(model.context);
        }
    }
}

/// The models in whatever looks like a list of them.
pub(super) fn read(value: &Value) -> Option<Vec<Model>> {
    let entries = match value {
        Value::Array(entries) => entries.as_slice(),
        _ => entries(value.get("data").or(value.get("models"))?)?,
    };
    let mut models: Vec<Model> = Vec::new();
    for model in entries.iter().filter_map(model).take(MAX_MODELS) {
        if models.iter().all(|before| before.id != model.id) {
            models.push(model);
        }
    }
    Some(models)
}

/// The models in what can only be a list: `object` says so, and all entries have ids.
pub(in crate::native) fn read_strictly(value: &Value) -> Option<Vec<Model>> {
    let entries = entries(value.get("data")?)?;
    let is_entry = |entry: &Value| {
        entry["id"].is_string() && entry.get("object").is_none_or(|object| object == "model")
    };
    let is_list = value["object"] == "list"
        || !entries.is_empty() && entries.iter().all(|entry| entry["object"] == "model");
    if !is_list || !entries.iter().all(is_entry) {
        return None;
    }
    read(value)
}

fn entries(list: &Value) -> Option<&[Value]> {
    match list {
        Value::Array(entries) => Some(entries),
        Value::Null => Some(&[]),
        _ => None,
    }
}

fn model(entry: &Value) -> Option<Model> {
    let id = match entry {
        Value::String(id) => id,
        _ => ["id", "model", "name"].iter().find_map(|name| entry.get(*name)?.as_str())?,
    };
    let is_fine = !id.is_empty()
        && id.chars().count() <= MAX_ID_CHARS
        && !id.chars().any(|c| c.is_control() || c.is_whitespace());
    if !is_fine {
        return None;
    }
    let name = ["display_name", "name"].iter().find_map(|name| entry.get(*name)?.as_str());
    let name = name.filter(|name| *name != id && !name.trim().is_empty());
    Some(Model {
        id: id.to_owned(),
        name: name.map(super::failure::on_one_line),
        context: context(entry),
        images: images(entry),
        chats: chats(entry),
        price: cost::of_listing(entry),
    })
}

fn context(entry: &Value) -> Option<u64> {
    let places = [
        // What is in effect comes before what the model could do.
        &entry["loaded_context_length"],
        &entry["meta"]["n_ctx"],
        &entry["max_model_len"],
        &entry["context_length"],
        &entry["context_window"],
        &entry["max_context_length"],
        &entry["max_input_tokens"],
        &entry["top_provider"]["context_length"],
        &entry["meta"]["n_ctx_train"],
    ];
    places.into_iter().find_map(number).filter(|tokens| *tokens > 0)
}

fn images(entry: &Value) -> Option<bool> {
    if let Some(sees) = entry["architecture"]["input_modalities"].as_array() {
        return Some(sees.iter().any(|entry| entry == "image"));
    }
    if entry["type"] == "vlm" || entry["supports_vision"] == true {
        return Some(true);
    }
    match &entry["capabilities"] {
        Value::Array(all) => all.iter().any(|capability| capability == "vision").then_some(true),
        capabilities => capabilities["vision"].as_bool(),
    }
}

/// Whether a model is for conversations, in the words of those who say what their models are for.
fn chats(entry: &Value) -> Option<bool> {
    const OTHERS: &str = "embeddings embedding image image_generation audio video moderation rerank \
        transcribe audio_transcription audio_speech";
    // OpenRouter: what comes out of it.
    if let Some(outputs) = entry["architecture"]["output_modalities"].as_array() {
        return Some(outputs.iter().any(|output| output == "text"));
    }
    // Mistral, GitHub and Azure.
    for capability in ["completion_chat", "chat_completion"] {
        if let Some(chats) = entry["capabilities"][capability].as_bool() {
            return Some(chats);
        }
    }
    // LM Studio, Together and LiteLLM.
    match entry["type"].as_str().or(entry["mode"].as_str())? {
        "llm" | "vlm" | "chat" | "language" => Some(true),
        other => OTHERS.split(' ').any(|known| known == other).then_some(false),
    }
}

/// Whether a model's name is that of one for embeddings, pictures, speech, ranking or
/// moderation, where nobody said.
pub(super) fn name_suggests_other_work(model: &str) -> bool {
    const PARTS: &str = "embed rerank moderation whisper transcribe dall-e diffusion image speech \
        realtime minilm colbert guard davinci-002 babbage-002 turbo-instruct";
    /// Short ones are found in other names too.
    const WORDS: &str = "tts bge gte e5 clip flux flux.1 sora veo ocr audio aqa kokoro parakeet \
        bark sdxl lyria";
    let model = model.to_lowercase();
    let name = model.rsplit('/').next().unwrap_or_default();
    let is_word = |word: &str| {
        let mut known = WORDS.split(' ');
        known.any(|known| word.trim_end_matches(char::is_numeric) == known || word == known)
    };
    PARTS.split(' ').any(|part| name.contains(part)) || name.split(['-', '_', ':']).any(is_word)
}

/// Families of models that look at images, where nobody said.
pub(super) fn name_suggests_images(model: &str) -> bool {
    const FAMILIES: &str = "gpt-4o gpt-4.1 gpt-4-turbo gpt-5 o3 o4-mini claude gemini vision llava \
        pixtral gemma3 gemma-3 -vl vl- llama-4 llama4 minicpm-v moondream internvl grok-4 \
        qwen2.5vl";
    let model = model.to_lowercase();
    let name = model.rsplit('/').next().unwrap_or_default();
    FAMILIES.split(' ').any(|family| match family {
        // Short names are found in other names too.
        "o3" => name == "o3" || name.starts_with("o3-"),
        family => name.contains(family),
    })
}

#[cfg(test)]
mod tests;
