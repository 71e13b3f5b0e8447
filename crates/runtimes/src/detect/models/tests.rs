use serde_json::json;

use super::*;

fn ids(shape: ModelListFormat, output: &str) -> Vec<String> {
    parse(shape, output).into_iter().map(|model| model.id).collect()
}

#[test]
fn lines_are_ids_or_ids_with_names() {
    let output = "Available models:\n\nauto - Auto (default)\nopencode/big-pickle\n  fake/mini  \n\
        Tip: use --model\nno models - \u{1b}[1m\n--flag\n";

    assert_eq!(ids(ModelListFormat::Lines, output), ["auto", "opencode/big-pickle", "fake/mini"]);
    let named = parse(ModelListFormat::Lines, "auto - Auto (default)");
    assert_eq!(named[0].name.as_deref(), Some("Auto (default)"));
}

#[test]
fn a_table_has_provider_and_model() {
    let output = "provider  model       context  max-out  thinking  images\n\
        fake      fake-mini   64K      4.1K     no        no\n\
        fake      fake-model  128K     8.2K     yes       no\n\
        No more models found\n";

    assert_eq!(ids(ModelListFormat::Table, output), ["fake/fake-mini", "fake/fake-model"]);
}

#[test]
fn codex_lists_models_with_their_efforts() {
    let output = json!({ "models": [
        { "slug": "gpt-6", "display_name": "GPT-6", "supported_reasoning_levels":
            [{ "effort": "low" }, { "effort": "high" }] },
        { "slug": "secret", "visibility": "hide" },
        { "slug": "--yolo" },
        { "no_slug": true },
    ] });

    let models = parse(ModelListFormat::CodexJson, &output.to_string());

    assert_eq!(models.len(), 1);
    assert_eq!((models[0].id.as_str(), models[0].efforts.len()), ("gpt-6", 2));
    assert!(parse(ModelListFormat::CodexJson, "not json").is_empty());
}

#[test]
fn an_endless_list_is_cut() {
    let output = "m\n".repeat(MAX_MODELS + 10);

    assert_eq!(ids(ModelListFormat::Lines, &output).len(), MAX_MODELS);
}

#[test]
fn acp_agents_offer_by_config_options_or_the_older_list() {
    let older = json!({ "models": { "currentModelId": "a", "availableModels": [
        { "modelId": "a", "name": "A" }, { "modelId": "b", "description": null }, {} ] } });
    let offer = offered(&older);
    assert_eq!(offer.models.len(), 2);
    assert_eq!(offer.current.as_deref(), Some("a"));

    // One agent has two options of this category; the other is the provider.
    let newer = json!({ "configOptions": [
        { "id": "provider", "category": "model", "options": [{ "value": "p" }] },
        { "id": "model", "category": "model", "currentValue": "x",
          "options": [{ "value": "x" }, { "value": "y" }] } ] });
    let offer = offered(&newer);
    assert_eq!(offer.models.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["x", "y"]);

    for nothing in [json!({}), json!(null), json!({ "configOptions": 7, "models": [] })] {
        let nobody = ModelsFact { from: ModelsSource::Acp, ..ModelsFact::default() };
        assert_eq!(offered(&nothing), nobody);
    }
}
