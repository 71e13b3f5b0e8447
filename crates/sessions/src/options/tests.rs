use super::*;

fn check(
    answer: &Value,
    choice: OptionChoice,
    wanted: &str,
    expected: Result<(&str, Value), &str>,
) {
    let given = request_for(&Json::of(answer), choice, wanted);
    match (given, expected) {
        (Ok((method, params)), Ok((expected_method, expected_params))) => {
            assert_eq!(method, expected_method);
            assert_eq!(params.read::<Value>().unwrap(), expected_params);
        }
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
        (given, expected) => panic!("{given:?} instead of {expected:?}"),
    }
}

#[test]
fn config_options_are_found_by_category_also_in_groups() {
    let answer = json!({
        "configOptions": [
            {"id": "m", "category": "model", "type": "select", "options": [
                {"group": "g", "name": "G", "options": [{"value": "large-1", "name": "Large"}]},
                {"value": "small-1", "name": "Small"},
            ]},
            {"id": "e", "category": "thought_level", "options": [{"value": "high", "name": "High"}]},
        ],
        "models": {"availableModels": [{"modelId": "old", "name": "Old"}]},
    });
    let set = |id: &str, value: &str| {
        Ok(("session/set_config_option", json!({"configId": id, "value": value})))
    };
    check(&answer, OptionChoice::Model, "large-1", set("m", "large-1"));
    check(&answer, OptionChoice::Model, "SMALL", set("m", "small-1"));
    check(&answer, OptionChoice::Effort, "high", set("e", "high"));
    check(&answer, OptionChoice::Model, "old", Err("it offers: large-1, small-1"));
    check(&answer, OptionChoice::Mode, "plan", Err("no choice of mode"));
}

#[test]
fn a_model_is_known_without_its_provider_where_only_one_has_it() {
    let models = ["a/small", "b/team/large:latest", "a/twin", "b/twin"];
    let models: Vec<Value> = models.map(|id| json!({"value": id, "name": id})).to_vec();
    let model = json!({"id": "m", "category": "model", "type": "select", "options": models});
    let answer = json!({ "configOptions": [model] });
    for (wanted, meant) in [
        ("small", "a/small"),
        ("large", "b/team/large:latest"),
        ("team/large", "b/team/large:latest"),
        ("b/twin", "b/twin"),
    ] {
        let params = json!({"configId": "m", "value": meant});
        check(&answer, OptionChoice::Model, wanted, Ok(("session/set_config_option", params)));
    }
    for wanted in ["twin", "mall", "", "eam/large"] {
        check(&answer, OptionChoice::Model, wanted, Err("it offers: a/small"));
    }
}

#[test]
fn older_agents_offer_modes_and_models() {
    let answer = json!({
        "modes": {"availableModes": [{"id": "plan", "name": "Plan"}]},
        "models": {"availableModels": [{"modelId": "x", "name": "X"}]},
    });
    check(&answer, OptionChoice::Mode, "Plan", Ok(("session/set_mode", json!({"modeId": "plan"}))));
    check(&answer, OptionChoice::Model, "x", Ok(("session/set_model", json!({"modelId": "x"}))));
    check(&answer, OptionChoice::Effort, "high", Err("no choice of effort"));
}

#[test]
fn other_options_are_found_by_their_ids() {
    let answer = json!({ "configOptions": [
        {"id": "tools", "type": "select", "options": [
            {"value": "on", "name": "On"}, {"value": "off", "name": "Off"},
        ]},
        {"id": "web", "type": "boolean", "currentValue": false},
    ] });
    let set = |id: &str, value: Value| {
        Ok(("session/set_config_option", json!({"configId": id, "value": value})))
    };
    check(&answer, OptionChoice::Option("tools"), "Off", set("tools", json!("off")));
    check(&answer, OptionChoice::Option("tools"), "maybe", Err("it offers: on, off"));
    check(&answer, OptionChoice::Option("web"), "on", set("web", json!(true)));
    check(&answer, OptionChoice::Option("web"), "maybe", Err("it offers: on, off"));
    check(
        &answer,
        OptionChoice::Option("wings"),
        "on",
        Err("no option `wings`; it has: tools, web"),
    );
}

#[test]
fn an_option_is_not_known_to_allow_no_more() {
    let options = BTreeMap::from([("tools".to_owned(), "off".to_owned())]);
    let initial_options =
        InitialOptions { model: Some("m".to_owned()), options, ..InitialOptions::default() };
    assert!(!initial_options.are_restrictive());
    let named: Vec<(OptionChoice<'_>, &str)> = initial_options.all().collect();
    assert_eq!(named, [(OptionChoice::Model, "m"), (OptionChoice::Option("tools"), "off")]);
    let kept = serde_json::to_string(&initial_options).unwrap();
    assert_eq!(serde_json::from_str::<InitialOptions>(&kept).unwrap(), initial_options);
    assert_eq!(serde_json::from_str::<InitialOptions>("{}").unwrap(), InitialOptions::default());
}
