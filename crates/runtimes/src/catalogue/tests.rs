use super::*;
use crate::definition::{PromptChannel, ResumeStyle};
use crate::dialect::PermissionMode;

const REQUIRED: [&str; 27] = [
    "claude",
    "codex",
    "gemini",
    "opencode",
    "hermes",
    "kimi",
    "cursor-agent",
    "qwen",
    "copilot",
    "kilo",
    "goose",
    "vibe",
    "devin",
    "kiro",
    "auggie",
    "droid",
    "grok",
    "cline",
    "junie",
    "amp",
    "codebuddy",
    "pi",
    "omp",
    "openhands",
    "continue",
    "codex-acp",
    "qodo",
];

fn own(text: &str) -> Result<Catalogue, CustomAgentError> {
    Catalogue::with_custom(&toml::from_str(text).unwrap())
}

#[test]
fn every_promised_agent_is_shipped_and_sound() {
    let catalogue = Catalogue::shipped().unwrap();

    for id in REQUIRED {
        let definition = catalogue.get(id).unwrap_or_else(|| panic!("{id} is missing"));
        // One of them has nothing that could be asked.
        let is_asked = !definition.version.args.is_empty() || id == "codex-acp";
        assert!(is_asked, "{id} must be asked for its version");
        assert_eq!(definition.check(), Ok(()));
    }
    assert_eq!(catalogue.iter().count(), REQUIRED.len());
}

#[test]
fn the_required_eight_have_their_best_form_first_and_a_plain_one_last() {
    let catalogue = Catalogue::shipped().unwrap();

    for (id, best) in [
        ("claude", "claude-stream-json"),
        ("codex", "codex-app-server"),
        ("gemini", "acp"),
        ("opencode", "acp"),
        ("hermes", "acp"),
        ("kimi", "acp"),
        ("cursor-agent", "acp"),
        ("qwen", "acp"),
    ] {
        let forms = &catalogue.get(id).unwrap().forms;
        assert_eq!(forms.first().unwrap().dialect, best, "{id}");
        assert!(forms.first().unwrap().permissions.asks, "{id}");
        assert_eq!(forms.last().unwrap().dialect, "plain", "{id}");
    }
}

#[test]
fn no_form_bypasses_claudes_permissions() {
    let catalogue = Catalogue::shipped().unwrap();

    for form in &catalogue.get("claude").unwrap().forms {
        let words = form.args.iter().chain(form.permissions.modes.values().flatten());
        assert!(words.into_iter().all(|word| !word.contains("bypass")), "{form:?}");
    }
}

#[test]
fn no_form_starts_a_cli_without_arguments_that_would_install_something() {
    let kimi = Catalogue::shipped().unwrap().get("kimi").unwrap().clone();

    assert!(kimi.forms.iter().all(|form| !form.args.is_empty()));
    assert!(!kimi.version.args.is_empty() && !kimi.features.help.is_empty());
}

#[test]
fn agents_answer_to_their_aliases() {
    let catalogue = Catalogue::shipped().unwrap();

    assert_eq!(catalogue.get("cursor").unwrap().id, "cursor-agent");
    assert_eq!(catalogue.get("claude-code").unwrap().id, "claude");
    assert!(catalogue.get("nobody").is_none());
}

#[test]
fn a_bare_command_is_an_acp_agent() {
    let catalogue = own(r#"
        ["My Agent"]
        command = "npx"
        args = ["-y", "my-agent", "--acp"]
        env = { KEY = "x" }
        "#)
    .unwrap();

    let mine = catalogue.get("my-agent").unwrap();
    assert_eq!(mine.name, "My Agent");
    assert_eq!((mine.bins.as_slice(), &mine.path), (["npx".to_owned()].as_slice(), &None));
    assert_eq!(mine.env.set["KEY"], "x");
    assert!(mine.version.args.is_empty());
    let [form] = mine.forms.as_slice() else { panic!("{:?}", mine.forms) };
    assert_eq!(form.args, ["-y", "my-agent", "--acp"]);
    assert!(form.is_acp() && form.permissions.asks);
    assert_eq!(form.resume.style, ResumeStyle::Protocol);
}

#[test]
fn a_bare_command_may_speak_another_dialect() {
    let catalogue = own("[old]\ncommand = \"/opt/old\"\ndialect = \"plain\"").unwrap();

    let old = catalogue.get("old").unwrap();
    assert_eq!(old.path.as_deref(), Some("/opt/old"));
    let form = &old.forms[0];
    assert_eq!((form.dialect.as_str(), form.prompt), ("plain", PromptChannel::Stdin));
    assert!(!form.permissions.asks);
    assert_eq!(form.permissions.modes.keys().collect::<Vec<_>>(), [&PermissionMode::Auto]);
}

#[test]
fn an_agent_may_be_based_on_a_shipped_one() {
    let catalogue = own(r#"
        [work]
        base = "claude-code"
        command = "~/bin/claude"
        args = ["--profile", "work"]
        env = { CLAUDECODE = "1" }
        models = ["opus", { id = "own/model", name = "Ours" }]
        default_model = "opus"
        dialect = "plain"
        "#)
    .unwrap();

    let work = catalogue.get("work").unwrap();
    assert_eq!(work.path.as_deref(), Some("~/bin/claude"));
    assert_eq!(work.prefix_args, ["--profile", "work"]);
    assert_eq!(work.models.known.len(), 2);
    assert_eq!(work.models.default.as_deref(), Some("opus"));
    assert!(work.forms.iter().all(|form| form.dialect == "plain"));
    assert!(!work.env.strip.contains(&"CLAUDECODE".to_owned()), "what is set is not stripped");
    assert_eq!(catalogue.get("claude-code").unwrap().id, "claude", "the shipped one stays");
}

#[test]
fn an_entry_without_a_command_changes_the_shipped_agent() {
    let catalogue = own("[codex]\ndefault_model = \"gpt-5.5\"").unwrap();

    let codex = catalogue.get("codex").unwrap();
    assert_eq!(codex.models.default.as_deref(), Some("gpt-5.5"));
    assert_eq!(codex.name, "Codex");
    assert_eq!(catalogue.get("codex-cli").unwrap().id, "codex");
    assert_eq!(catalogue.iter().count(), REQUIRED.len());
}

#[test]
fn an_own_agent_takes_the_name_of_an_alias() {
    let catalogue = own("[cursor]\ncommand = \"my-cursor\"").unwrap();

    assert_eq!(catalogue.get("cursor").unwrap().bins, ["my-cursor"]);
    assert_eq!(catalogue.get("cursor-agent").unwrap().bins, ["cursor-agent"]);
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    for (text, said) in [
        ("[x]\nbase = \"nobody\"", "no shipped agent `nobody`"),
        ("[x]\nbase = \"codex\"\ndialect = \"acp\"", "it speaks: codex-app-server, codex-exec"),
        ("[x]\nargs = [\"acp\"]", "needs a `command`"),
        ("[x]\ncommand = \"./here\"", "absolute"),
        ("[x]\ncommand = \"a\"\nmodels = [\"--yolo\"]", "cannot be a model"),
        ("[x]\ncommand = \"a\"\nenv = { \"A B\" = \"\" }", "environment variable"),
        ("[\"x/y\"]\ncommand = \"a\"", "letters"),
        ("[x]\ncommand = \"a\"\ndialect = \"klingon\"", "is none of"),
    ] {
        let error = own(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}
