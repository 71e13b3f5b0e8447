use super::*;
use crate::catalogue;
use crate::detect::facts::{ModelsFact, ProbeFact};
use crate::dialect::Model;

fn found(id: &str, facts: &ProgramFacts) -> DetectedAgent {
    let all = catalogue::shipped().unwrap();
    let definition = all.iter().find(|one| one.id == id).unwrap();
    assemble(definition, &Machine::default(), ("/bin/x".into(), ProgramSource::Path), facts)
}

fn version(text: &str) -> ProgramFacts {
    let version = Some(ProbeFact::now(VersionFact::Version(text.to_owned())));
    ProgramFacts { version, ..ProgramFacts::default() }
}

fn models(models: Vec<Model>, wants_login: bool) -> ProgramFacts {
    let fact = ModelsFact {
        models,
        from: ModelsSource::Acp,
        current: Some("m".to_owned()),
        efforts: vec!["low".to_owned(), "ultra".to_owned()],
        trouble: None,
        wants_login,
    };
    ProgramFacts { models: Some(ProbeFact::now(fact)), ..ProgramFacts::default() }
}

#[test]
fn the_models_of_the_definition_stand_in_for_those_that_were_not_told() {
    let nothing = found("claude", &ProgramFacts::default());
    assert_eq!(nothing.models_from, ModelsSource::Known);
    assert!(nothing.models.iter().any(|model| model.id == "sonnet"));

    let told = found("claude", &models(vec![Model { id: "m".into(), ..Model::default() }], false));
    assert_eq!((told.models.len(), told.models_from), (1, ModelsSource::Acp));
    assert_eq!(told.default_model.as_deref(), Some("m"));
    assert_eq!(told.efforts, ["low", "medium", "high", "xhigh", "max", "ultra"]);
}

#[test]
fn an_agent_that_wants_a_login_has_none_whatever_its_files_say() {
    let found = found("gemini", &models(Vec::new(), true));

    assert_eq!(found.auth.state, LoginStatus::Missing);
    assert!(found.diagnoses.iter().any(|one| one.reason == DiagnosisReason::AuthMissing));
}

#[test]
fn a_version_that_does_not_work_has_no_form() {
    let stub = found("kimi", &version("1.52.0"));
    assert!(!stub.is_usable && stub.run.is_none());
    assert_eq!(stub.diagnoses.len(), 1);

    assert!(found("kimi", &version("1.51.0")).is_usable);
    assert!(found("kimi", &version("2.1.0")).is_usable);
}

#[test]
fn a_provider_of_ones_own_wants_no_login() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".codex")).unwrap();
    let all = catalogue::shipped().unwrap();
    let codex = all.iter().find(|one| one.id == "codex").unwrap();
    let machine = Machine { home: Some(home.path().to_owned()), ..Machine::default() };
    let auth_with = |config: &str| {
        fs::write(home.path().join(".codex/config.toml"), config).unwrap();
        current_login(codex, &machine).map(|auth| (auth.state, auth.by.unwrap()))
    };
    let own = "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://x\"\n";
    assert_eq!(auth_with(own), Some((LoginStatus::Ok, "~/.codex/config.toml".to_owned())));
    for wants_login in
        ["", "model = \"gpt-5.5\"", "model_provider = \"openai\"", "model_provider = ["]
    {
        assert_eq!(auth_with(wants_login), None, "{wants_login}");
    }
}
