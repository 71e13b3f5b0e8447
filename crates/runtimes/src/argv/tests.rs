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

fn options() -> ConversationOptions {
    ConversationOptions {
        permissions: PermissionMode::Auto,
        cwd: "/x".into(),
        ..ConversationOptions::default()
    }
}

fn with(options: ConversationOptions) -> ArgumentValues {
    let prompt = Some("-p; rm -rf".into());
    ArgumentValues { options, prompt, ..ArgumentValues::default() }
}

fn values() -> ArgumentValues {
    with(options())
}

fn in_mode(permissions: PermissionMode) -> ArgumentValues {
    with(ConversationOptions { permissions, ..options() })
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
        conversation: ConversationTarget::Resume("abc".into()),
        ..with(ConversationOptions {
            model: Some("m/1".into()),
            effort: Some("high".into()),
            directories: vec!["/".into()],
            ..options()
        })
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
        with(ConversationOptions { model: Some("--yolo".into()), ..options() }),
        with(ConversationOptions { effort: Some("a b".into()), ..options() }),
        with(ConversationOptions { directories: vec!["nowhere".into()], ..options() }),
        ArgumentValues { conversation: ConversationTarget::Resume("--last".into()), ..values() },
    ];
    for values in bad {
        assert!(matches!(arguments(&form(), &values), Err(ArgvError::BadValue(_))), "{values:?}");
    }
}

#[test]
fn a_mode_that_it_cannot_be_held_to_is_refused() {
    let error = arguments(&form(), &in_mode(PermissionMode::Ask));
    assert_eq!(
        error.unwrap_err().to_string(),
        "it cannot be restricted to permission mode `ask` in this form; \
         it can be run with: auto, read-only"
    );
    let mut asking = form();
    asking.permissions.asks = true;
    asking.permissions.modes = BTreeMap::new();
    assert!(arguments(&asking, &in_mode(PermissionMode::Ask)).is_ok());
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
        let values = in_mode(PermissionMode::ReadOnly);
        let values = ArgumentValues { prompt: Some("--trust-all-tools".into()), ..values };
        let args = arguments(&form, &values);
        assert_eq!(args.unwrap().join("|"), expected);
    }
}
