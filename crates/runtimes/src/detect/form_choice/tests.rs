use super::*;
use crate::catalogue;
use crate::detect::facts::{FeaturesFact, ProbeFact, VersionFact};

fn shipped(id: &str) -> RuntimeDefinition {
    catalogue::shipped().unwrap().iter().find(|one| one.id == id).unwrap().clone()
}

fn seen(features: &[&str]) -> ProbeFact<FeaturesFact> {
    let names = features.iter().map(|&name| name.to_owned());
    ProbeFact::now(FeaturesFact::Seen(names.collect()))
}

/// The dialect and first argument that would be used.
fn chosen(id: &str, version: Option<&str>, features: Option<&[&str]>) -> (String, String) {
    let definition = shipped(id);
    let known = ProgramFacts {
        version: version.map(|text| ProbeFact::now(VersionFact::Version(text.to_owned()))),
        features: features.map(seen),
        ..ProgramFacts::default()
    };
    let (chosen, _) = choose(&definition, Path::new("/x"), &known, &Machine::default());
    let form = &definition.forms[chosen.unwrap().0];
    (form.dialect.clone(), form.args.first().cloned().unwrap_or_default())
}

fn pair(dialect: &str, arg: &str) -> (String, String) {
    (dialect.to_owned(), arg.to_owned())
}

#[test]
fn the_best_form_is_taken_that_the_help_text_shows() {
    let gemini = |features| chosen("gemini", Some("0.61.0"), Some(features));

    assert_eq!(gemini(&["acp", "experimental-acp"]), pair("acp", "--acp"));
    assert_eq!(gemini(&["experimental-acp"]), pair("acp", "--experimental-acp"));
    assert_eq!(
        gemini(&["stream-json", "approval-mode"]),
        pair("gemini-stream-json", "--output-format")
    );
    assert_eq!(gemini(&[]), pair("plain", ""));
}

#[test]
fn an_old_version_gets_an_older_form() {
    let features = ["session-id", "partial-messages"];

    let old = chosen("claude", Some("1.0.40"), Some(&features));
    assert_eq!(old.0, "claude-stream-json");
    let definition = shipped("claude");
    let known = |version: &str| ProgramFacts {
        version: Some(ProbeFact::now(VersionFact::Version(version.to_owned()))),
        features: Some(seen(&features)),
        ..ProgramFacts::default()
    };
    let index = |version: &str| {
        let program = Path::new("/x");
        choose(&definition, program, &known(version), &Machine::default()).0.unwrap().0
    };
    assert_eq!((index("2.1.325"), index("1.0.40")), (0, 1));
}

#[test]
fn without_a_help_text_all_but_old_versions_are_trusted() {
    for version in [Some("0.166.0"), Some("7.0.0"), None] {
        assert_eq!(chosen("codex", version, None).0, "codex-app-server", "{version:?}");
    }
    assert_eq!(chosen("codex", Some("0.1.0"), None).0, "codex-exec");
}

#[test]
fn a_form_with_a_program_of_its_own_needs_it() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("vibe");
    let definition = shipped("vibe");
    let choose = || choose(&definition, &program, &ProgramFacts::default(), &Machine::default());

    let (chosen, passed_over) = choose();
    assert_eq!(definition.forms[chosen.unwrap().0].dialect, "plain");
    assert!(passed_over[0].why.contains("vibe-acp"), "{passed_over:?}");

    let companion = dir.path().join("vibe-acp");
    std::fs::write(&companion, "").unwrap();
    std::fs::set_permissions(&companion, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    assert_eq!(choose().0, Some((0, companion)));
}

#[test]
fn every_form_of_every_agent_makes_arguments() {
    for definition in catalogue::shipped().unwrap() {
        let features = definition.features.flags.keys().cloned().collect();
        for index in 0..definition.forms.len() {
            let run = run(definition, index, Path::new("/bin/x"), &features).unwrap();
            let form = &definition.forms[index];
            assert!(run.argv.len() > form.args.len(), "{}: {run:?}", definition.id);
            assert!(!run.modes.is_empty(), "{}: {run:?}", definition.id);
            assert!(!run.argv.iter().any(|word| word.contains(SOME_SESSION)), "{run:?}");
        }
    }
}

#[test]
fn values_of_the_users_own_are_not_shown() {
    let mut definition = shipped("claude");
    definition.env.set.insert("ANTHROPIC_API_KEY".into(), "secret".into());

    let run = run(&definition, 0, Path::new("/x"), &BTreeSet::new()).unwrap();

    assert!(!serde_json::to_string(&run).unwrap().contains("secret"));
    assert!(run.env.contains_key("ANTHROPIC_API_KEY"));
}
