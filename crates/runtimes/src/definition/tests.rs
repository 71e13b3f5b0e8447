use super::*;

const GOOD: &str = r#"
id = "some-cli"
name = "Some CLI"
aliases = ["some"]
bins = ["some", "some-old"]
extra_dirs = [".some/bin"]
install = "npm install -g some"

[version]
tested = ">=1.2.0, <2.0.0"
broken = [{ version = "1.3.0", remedy = "take 1.3.1" }]

[features]
help = ["--help"]
flags = { fast = "--fast", dirs = "--add-dir" }

[auth]
env = ["SOME_API_KEY"]
files = [".some/auth.json"]
probe = { args = ["status"], yes = ["yes"], no = ["no"] }
login = "some login"

[models]
known = [{ id = "big" }, { id = "small", efforts = ["low"] }]
list = { args = ["models"], shape = "lines" }
acp = true
default = "big"

[reasoning]
efforts = ["low", "high"]

[env]
set = { SOME_QUIET = "1" }
strip = ["SOME_NESTED", "SOME_RUN_*"]

[[forms]]
dialect = "acp"
requires = ["fast"]
min_version = "1.2.0"
args = ["acp"]
prompt = "acp"
resume = { style = "protocol" }
mcp = "acp"
images = "protocol"
permissions = { asks = true, session_modes = { ask = "ask" }, refuses = ["read-only"] }

[[forms]]
dialect = "claude-stream-json"
args = ["-p", "--dir", "{cwd}"]
when = [{ feature = "fast", args = ["--fast"] }]
prompt = "stdin"
resume = { style = "chosen", new = ["--id", "{session}"], again = ["--resume", "{session}"] }
model = ["--model", "{model}"]
effort = ["--effort={effort}"]
add_dir = ["--add-dir", "{dir}"]
system_prompt = ["--system", "{text}"]
needs = { add-dir = "dirs" }
permissions = { modes = { auto = ["--yolo"] }, env = { auto = { SOME_MODE = '{"edit":"ask"}' } } }

[[forms]]
dialect = "plain"
args = ["--file", "{prompt_file}"]
prompt = "file"
permissions = { modes = { auto = [] } }

[[forms]]
dialect = "plain"
args = ["ask"]
prompt = "argv"
prompt_args = ["--prompt={prompt}"]
resume = { style = "told", args = ["again"], again = ["{session}"] }
permissions = { modes = { auto = [] } }
"#;

/// Replaces `from` in a good definition; what is wrong then must name `field` and say `problem`.
fn check(from: &str, to: &str, field: &str, problem: &str) {
    assert_eq!(GOOD.matches(from).count(), 1, "{from:?} must be there once");
    let text = GOOD.replace(from, to);
    let Err(error) = RuntimeDefinition::parse(&text) else { panic!("{to:?} passed") };
    let said = error.to_string();
    assert!(said.contains(field), "{to:?}: {said} does not name {field}");
    assert!(said.contains(problem), "{to:?}: {said} does not say {problem:?}");
}

#[test]
fn a_good_definition_is_read() {
    let definition = RuntimeDefinition::parse(GOOD).unwrap();

    assert_eq!(definition.bin_variable(), "SOME_CLI_BIN");
    assert_eq!(definition.forms.len(), 4);
    assert!(definition.forms[0].is_acp());
}

#[test]
fn a_part_is_had_only_with_the_feature_it_needs() {
    let definition = RuntimeDefinition::parse(GOOD).unwrap();
    let form = &definition.forms[1];

    assert!(!form.has_argument(OptionalArgument::AddDir, &BTreeSet::new()));
    assert!(form.has_argument(OptionalArgument::AddDir, &["dirs".to_owned()].into()));
    assert!(form.has_argument(OptionalArgument::Model, &BTreeSet::new()));
    assert!(!definition.forms[0].has_argument(OptionalArgument::Model, &BTreeSet::new()));
}

#[test]
fn what_is_not_toml_or_not_known_is_refused() {
    assert!(matches!(RuntimeDefinition::parse("id = "), Err(DefinitionError::Syntax { .. })));
    let unknown = GOOD.replace("[version]", "[version]\nprobed = true");
    let error = RuntimeDefinition::parse(&unknown).unwrap_err().to_string();
    assert!(error.contains("probed"), "{error}");
}

#[test]
fn names_must_be_names() {
    check("id = \"some-cli\"", "id = \"some cli\"", "`some cli`", "letters");
    check("id = \"some-cli\"", "id = \"-x\"", "`-x`", "letters");
    check("[\"some\"]", "[\"so/me\"]", "aliases", "letters");
    check("[\"some\"]", "[\"some-cli\"]", "aliases", "twice");
    check("name = \"Some CLI\"", "name = \" \"", "name", "blank");
    check("\"npm install -g some\"", "\"a\\nb\"", "install", "one line");
}

#[test]
fn places_must_be_places() {
    check("[\"some\", \"some-old\"]", "[]", "bins", "must name a program");
    check("\"some-old\"", "\"/usr/bin/some\"", "bins", "without a directory");
    check("\"some-old\"", "\"some\"", "bins", "twice");
    check("\".some/bin\"", "\"/opt/some\"", "extra_dirs", "below the home");
    check("\".some/bin\"", "\"a/../../b\"", "extra_dirs", "below the home");
    check("install =", "path = \"some\"\ninstall =", "path", "absolute");
    check("install =", "prefix_args = [\"{model}\"]\ninstall =", "prefix_args", "{model}");
}

#[test]
fn versions_must_parse() {
    check(">=1.2.0, <2.0.0", ">=1.2", "version.tested", "no version");
    check("version = \"1.3.0\"", "version = \"x\"", "version.broken", "no version");
    check("take 1.3.1", "", "version.broken", "blank");
    check("min_version = \"1.2.0\"", "min_version = \"1\"", "min_version", "no version");
    check("tested =", "timeout_ms = 0\ntested =", "version.timeout_ms", "from 1 to");
}

#[test]
fn probes_must_make_sense() {
    check("help = [\"--help\"]", "help = []", "features.help", "must be given");
    check("fast = \"--fast\"", "fast = \"\"", "features.flags", "blank");
    check("{ args = [\"status\"],", "{ args = [],", "auth.probe.args", "without arguments");
    check("yes = [\"yes\"], no = [\"no\"]", "yes = []", "auth.probe", "`yes` or `no`");
    check("\"SOME_API_KEY\"", "\"SOME-KEY\"", "auth.env", "environment variable");
    check("\".some/auth.json\"", "\"~/x\"", "auth.files", "below the home");
    check("args = [\"models\"]", "args = []", "models.list.args", "empty");
}

#[test]
fn models_and_efforts_must_be_safe_words() {
    check("{ id = \"big\" }", "{ id = \"--yolo\" }", "models", "cannot be a model");
    check("{ id = \"big\" }", "{ id = \"small\" }", "models.known", "twice");
    check("default = \"big\"", "default = \"$(id)\"", "models", "cannot be a model");
    check("[\"low\", \"high\"]", "[\"Very High\"]", "reasoning.efforts", "cannot be an effort");
    check("efforts = [\"low\"] }", "efforts = [\"-x\"] }", "reasoning.efforts", "cannot be");
}

#[test]
fn variables_must_have_names_that_reach_a_process() {
    check("SOME_QUIET = \"1\"", "\"SOME QUIET\" = \"1\"", "env.set", "environment variable");
    check("SOME_QUIET = \"1\"", "SWITCHYARD_X = \"1\"", "env.set", "never reaches");
    check("\"SOME_RUN_*\"", "\"*\"", "env.strip", "beginning");
    check("\"SOME_RUN_*\"", "\"SO*ME\"", "env.strip", "environment variable");
}

#[test]
fn a_form_must_be_one_that_we_speak() {
    check("dialect = \"claude-stream-json\"", "dialect = \"klingon\"", "forms[1]", "is none of");
    check("requires = [\"fast\"]", "requires = [\"slow\"]", "requires", "features.flags");
    check("feature = \"fast\"", "feature = \"slow\"", "when", "features.flags");
    check("needs = { add-dir = \"dirs\" }", "needs = { add-dir = \"x\" }", "needs", "features");
    check(
        "system_prompt = [\"--system\", \"{text}\"]\nneeds = { add-dir",
        "needs = { system-prompt",
        "needs",
        "has no arguments",
    );
}

#[test]
fn there_must_be_a_form() {
    let start = GOOD.find("[[forms]]").unwrap();
    let none = format!("forms = []\n{}", GOOD[..start].replace("acp = true", "acp = false"));

    let error = RuntimeDefinition::parse(&none).unwrap_err().to_string();
    assert!(error.contains("forms: there must be one at least"), "{error}");
}

#[test]
fn models_are_asked_by_acp_only_of_those_who_speak_it() {
    let start = GOOD.find("[[forms]]").unwrap();
    let plain = GOOD.rfind("[[forms]]").unwrap();
    let text = format!("{}{}", &GOOD[..start], &GOOD[plain..]);

    let error = RuntimeDefinition::parse(&text).unwrap_err().to_string();
    assert!(error.contains("models.acp: needs a form that speaks acp"), "{error}");
}

#[test]
fn placeholders_must_be_known_and_in_their_place() {
    check("\"{cwd}\"", "\"{model}\"", "args", "{model} cannot be filled in");
    check("\"{cwd}\"", "\"{home}\"", "args", "{home} cannot be filled in");
    check("[\"--model\", \"{model}\"]", "[\"--model\"]", "model", "once, not 0");
    check("--effort={effort}", "{effort}={effort}", "effort", "once, not 2");
    check("\"{dir}\"", "\"{cwd}\"", "add_dir", "cannot be filled in");
    check("\"{text}\"", "\"text\"", "system_prompt", "once, not 0");
    check("args = [\"--fast\"]", "args = [\"{session}\"]", "when", "cannot be filled in");
    check("[\"--yolo\"]", "[\"{model}\"]", "permissions.modes", "cannot be filled in");
    check("--prompt={prompt}", "--prompt", "prompt_args", "once, not 0");
}

#[test]
fn the_prompt_must_have_a_way_in() {
    check("args = [\"acp\"]\nprompt = \"acp\"", "args = [\"acp\"]", "prompt", "acp");
    check("\"{cwd}\"]", "\"{cwd}\"]\nrequires = []\nbin = \"a/b\"", "bin", "without a directory");
    check("[\"--file\", \"{prompt_file}\"]", "[\"--file\"]", "args", "{prompt_file} once, not 0");
    check("prompt = \"file\"", "prompt = \"stdin\"", "args", "{prompt_file} cannot be");
    check("prompt = \"file\"", "prompt = \"dialect\"", "prompt", "does not read prompts");
    check("\"claude-stream-json\"", "\"pi-rpc\"", "prompt", "this dialect reads prompts");
    check("args = [\"ask\"]\nprompt = \"argv\"", "args = [\"ask\"]", "prompt_args", "by argv");
}

#[test]
fn a_resume_must_say_how() {
    check("style = \"chosen\", ", "", "resume", "no style");
    check("new = [\"--id\", \"{session}\"], ", "", "resume.new", "once, not 0");
    check("again = [\"--resume\", \"{session}\"]", "again = []", "resume.again", "once, not 0");
    check("style = \"chosen\"", "style = \"told\"", "resume.new", "we choose");
    check("style = \"chosen\"", "style = \"protocol\"", "resume.style", "needs a prompt by");
    check("style = \"protocol\"", "style = \"told\", again = [\"{session}\"]", "resume", "acp");
    check("args = [\"again\"]", "args = [\"{session}\"]", "resume.args", "cannot be filled in");
}

#[test]
fn permissions_must_be_honest() {
    check("{ modes = { auto = [\"--yolo\"] },", "{ asks = true,", "asks", "needs prompt acp");
    check("{ modes = { auto = [\"--yolo\"] },", "{ modes = {},", "modes", "must offer a mode");
    check("env = { auto =", "env = { ask =", "permissions.env", "`ask` is not among");
    check("SOME_MODE =", "\"A B\" =", "permissions.env", "environment variable");
    check("asks = true,", "asks = true, modes = { read-only = [] },", "refuses", "is offered");
    let text = "modes = { auto = [\"--yolo\"] }, session_modes = { ask = \"x\" },";
    check("modes = { auto = [\"--yolo\"] },", text, "session_modes", "need the dialect acp");
}

#[test]
fn what_needs_a_protocol_is_not_offered_without() {
    check("needs = { add-dir = \"dirs\" }", "images = \"protocol\"", "images", "by dialect or acp");
    check("needs = { add-dir = \"dirs\" }", "mcp = \"acp\"", "mcp", "needs the dialect acp");
    check("mcp = \"acp\"", "mcp = \"claude-json\"", "mcp", "must be `acp`");
    let text = "needs = { add-dir = \"dirs\" }\nshared_worker = true";
    check("needs = { add-dir = \"dirs\" }", text, "shared_worker", "needs the dialect acp");
}

#[test]
fn versions_are_found_in_what_clis_print() {
    let found = |text| Version::find(text).map(|version| version.to_string());
    for (text, version) in [
        ("2.1.325 (Claude Code)", "2.1.325"),
        ("codex-cli 0.166.0", "0.166.0"),
        ("GitHub Copilot CLI 1.0.102.\nRun 'copilot update'", "1.0.102"),
        ("Hermes Agent v0.19.0 (2026.7.20)\nPython: 3.12.1\n", "0.19.0"),
        ("kimi, version 1.52.0\nkimi-cli is no longer maintained.", "1.52.0"),
        ("0.0.1790142911-g7618fb (released 2026-09-23T05:55:11.000Z)", "0.0.1790142911"),
        ("2026.10.01-e373342", "2026.10.1"),
    ] {
        assert_eq!(found(text).as_deref(), Some(version), "{text}");
    }
    for text in ["", "no version", "1.2", "unknown option --version", "99999999999999999999.1.1"] {
        assert_eq!(found(text), None, "{text}");
    }
}

#[test]
fn ranges_hold_all_their_conditions() {
    let holds = |range: &str, version: &str| {
        VersionRange::parse(range).unwrap().contains(Version::parse(version).unwrap())
    };
    assert!(holds(">=1.2.0, <2.0.0", "1.2.0"));
    assert!(!holds(">=1.2.0, <2.0.0", "2.0.0"));
    assert!(holds("1.52.0", "1.52.0") && holds("=1.52.0", "1.52.0"));
    assert!(!holds("1.52.0", "1.52.1"));
    assert!(holds(">1.0.0, <=1.1.0", "1.1.0") && !holds(">1.0.0", "1.0.0"));
    let begins_after = |range: &str, version: &str| {
        VersionRange::parse(range).unwrap().begins_after(Version::parse(version).unwrap())
    };
    assert!(begins_after(">=1.2.0, <2.0.0", "1.1.9") && begins_after(">1.2.0", "1.2.0"));
    assert!(!begins_after(">=1.2.0, <2.0.0", "1.2.0") && !begins_after("<2.0.0", "9.0.0"));
    for bad in ["", ">=1.2", "~1.2.3", "1.2.3,,", "1.2.3.4"] {
        assert!(VersionRange::parse(bad).is_err(), "{bad}");
    }
}
