use std::collections::BTreeMap;

use super::*;

fn form() -> RuntimeForm {
    toml::from_str(
        r#"
        dialect = "plain"
        args = ["run", "--dir", "{cwd}"]
        prompt = "argv"
        model = ["--model", "{model}"]
        effort = ["-c", "effort={effort}"]
        add_dir = ["--add-dir", "{dir}"]
        when = [{ feature = "fast", args = ["--fast"] }]
        resume = { style = "told", again = ["--resume", "{session}"] }
        permissions = { modes = { auto = ["--yolo"], read-only = [] } }
        "#,
    )
    .unwrap()
}

fn values() -> ArgumentValues {
    ArgumentValues {
        permissions: PermissionMode::Auto,
        cwd: "/x".into(),
        prompt: Some("-p; rm -rf".into()),
        ..ArgumentValues::default()
    }
}

#[test]
fn a_new_conversation() {
    let args = arguments(&form(), &values()).unwrap();
    assert_eq!(args, ["run", "--dir", "/x", "--yolo", " -p; rm -rf"]);
}

#[test]
fn everything_in_its_place() {
    let values = ArgumentValues {
        features: ["fast".to_owned()].into(),
        model: Some("m/1".into()),
        effort: Some("high".into()),
        directories: vec!["/".into()],
        conversation: ConversationTarget::Resume("abc".into()),
        ..values()
    };
    let args = arguments(&form(), &values).unwrap().join(" ");
    assert_eq!(
        args,
        "run --dir /x --fast --yolo --model m/1 -c effort=high --add-dir / --resume \
         abc  -p; rm -rf"
    );
}

#[test]
fn nothing_unchecked_gets_through() {
    let bad = [
        ArgumentValues { model: Some("--yolo".into()), ..values() },
        ArgumentValues { effort: Some("a b".into()), ..values() },
        ArgumentValues { directories: vec!["nowhere".into()], ..values() },
        ArgumentValues { conversation: ConversationTarget::Resume("--last".into()), ..values() },
    ];
    for values in bad {
        assert!(matches!(arguments(&form(), &values), Err(ArgvError::BadValue(_))), "{values:?}");
    }
}

#[test]
fn a_mode_that_it_cannot_be_held_to_is_refused() {
    let error =
        arguments(&form(), &ArgumentValues { permissions: PermissionMode::Ask, ..values() });
    assert_eq!(
        error.unwrap_err().to_string(),
        "it cannot be restricted to permission mode `ask` in this form; \
         it can be run with: auto, read-only"
    );
    let mut asking = form();
    asking.permissions.asks = true;
    asking.permissions.modes = BTreeMap::new();
    assert!(
        arguments(&asking, &ArgumentValues { permissions: PermissionMode::Ask, ..values() })
            .is_ok()
    );
}

#[test]
fn a_prompt_that_no_argument_holds_is_refused_before_the_start() {
    let prompt = "x".repeat(MAX_PROMPT_ARG_BYTES + 1);
    let error =
        arguments(&form(), &ArgumentValues { prompt: Some(prompt), ..values() }).unwrap_err();
    assert!(matches!(error, ArgvError::PromptTooLarge { bytes } if bytes > 120_000));
}

#[test]
fn a_prompt_is_never_a_flag() {
    for (template, expected) in [
        (vec![], " --trust-all-tools"),
        (vec!["-p", "{prompt}"], "-p| --trust-all-tools"),
        (vec!["--query={prompt}"], "--query=--trust-all-tools"),
    ] {
        let mut form = form();
        form.args = Vec::new();
        form.prompt_args = template.into_iter().map(str::to_owned).collect();
        let values = ArgumentValues { prompt: Some("--trust-all-tools".into()), ..values() };
        let args =
            arguments(&form, &ArgumentValues { permissions: PermissionMode::ReadOnly, ..values });
        assert_eq!(args.unwrap().join("|"), expected);
    }
}
