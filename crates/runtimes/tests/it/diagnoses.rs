//! Each thing that can be wrong is told by its reason, with a remedy.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use runtimes::detect::{LoginStatus, ModelsSource, ProgramSource};

use crate::stage::{Stage, plain, reasons};

#[tokio::test]
async fn a_healthy_cli_is_told_with_all_that_it_is() {
    let stage = Stage::new();
    stage.cli(
        "good",
        r#"case "$1" in
            --version) echo "good 1.2.3 (build 7)";;
            --help) echo "  --fast   be fast"; echo "  --faster-still";;
            status) echo "Logged in as somebody";;
            models) printf 'Models:\nbig\nprovider/small - A small one\n';;
        esac"#,
    );

    let found = stage
        .detect(
            r#"
            id = "good"
            name = "Good"
            bins = ["good"]
            install = "get good"

            [version]
            tested = ">=1.0.0, <2.0.0"

            [features]
            help = ["--help"]
            flags = { fast = "--fast", faster = "--faster", still = "--faster-still" }

            [auth]
            probe = { args = ["status"], yes = ["Logged in"], no = ["Not logged in"] }
            login = "good login"

            [models]
            list = { args = ["models"], shape = "lines" }

            [[forms]]
            dialect = "codex-exec"
            requires = ["faster"]
            args = ["best"]
            permissions = { modes = { auto = [] } }

            [[forms]]
            dialect = "claude-stream-json"
            requires = ["fast"]
            args = ["-p"]
            when = [{ feature = "still", args = ["--faster-still"] }]
            model = ["--model", "{model}"]
            resume = { style = "chosen", new = ["--id", "{session}"], again = ["-r", "{session}"] }
            permissions = { modes = { auto = ["--yolo"] } }

            [[forms]]
            dialect = "plain"
            args = []
            permissions = { modes = { auto = [] } }
            "#,
        )
        .await;

    assert!(found.is_usable && found.diagnoses.is_empty(), "{found:#?}");
    assert_eq!(found.version.as_deref(), Some("1.2.3"));
    assert_eq!(found.found_by, Some(ProgramSource::Path));
    assert_eq!(found.features, ["fast", "still"]);
    assert_eq!(found.auth.state, LoginStatus::Ok);
    let ids: Vec<_> = found.models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(
        (ids.as_slice(), found.models_from),
        (&["big", "provider/small"][..], ModelsSource::Listed)
    );
    let run = found.run.unwrap();
    let program = stage.path("bin/good").display().to_string();
    assert_eq!(run.dialect, "claude-stream-json");
    assert_eq!(run.argv, [&program, "-p", "--faster-still", "--yolo", "--id", "{session}"]);
    assert_eq!(
        run.resume_argv.unwrap(),
        [&program, "-p", "--faster-still", "--yolo", "-r", "{session}"]
    );
    assert_eq!(run.optional_args["model"], ["--model", "{model}"]);
    let why: Vec<_> = found.passed_over.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(why.len(), 2);
    assert!(why[0].contains("faster") && why[1].contains("another form is preferred"), "{why:?}");
}

#[tokio::test]
async fn what_is_nowhere_is_not_on_path() {
    let stage = Stage::new();

    let found = stage.detect(&plain("nowhere", "")).await;

    assert_eq!(reasons(&found), ["not-on-path"]);
    assert!(!found.is_usable && found.path.is_none());
    let remedy = &found.diagnoses[0].remedy;
    assert!(remedy.contains("get nowhere") && remedy.contains("NOWHERE_BIN"), "{remedy}");
}

#[tokio::test]
async fn a_file_that_may_not_be_run_is_not_executable() {
    let stage = Stage::new();
    let path = stage.cli("locked", "echo 1.0.0");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();

    let found = stage.detect(&plain("locked", "")).await;

    assert_eq!(reasons(&found), ["not-executable"]);
    assert!(found.diagnoses[0].remedy.contains("chmod +x"));
}

#[tokio::test]
async fn shims_break_in_several_ways() {
    let stage = Stage::new();
    symlink("/no/such/file", stage.path("bin/dangling")).unwrap();
    let headless = stage.cli("headless", "");
    fs::write(&headless, "#!/no/such/interpreter\n").unwrap();
    stage.cli("orphan", "exec /no/such/node cli.js");
    stage.cli("denied", "exit 126");

    for (id, reason, said) in [
        ("dangling", "shim-broken", "link"),
        ("headless", "shim-broken", "/no/such/interpreter"),
        ("orphan", "shim-broken", "exit code 127"),
        ("denied", "not-executable", "exit code 126"),
    ] {
        let found = stage.detect(&plain(id, "")).await;
        assert_eq!(reasons(&found), [reason], "{id}: {found:#?}");
        assert!(found.diagnoses[0].message.contains(said), "{id}: {found:#?}");
        assert!(!found.is_usable);
    }
}

#[tokio::test]
async fn an_override_wins_and_must_be_valid() {
    let mut stage = Stage::new();
    stage.cli("agent", "echo 1.0.0");
    let other = stage.cli("other", "echo 2.0.0");
    fs::rename(&other, stage.path("home/other")).unwrap();
    let definition = plain("agent", "");

    stage.set("AGENT_BIN", "~/other");
    let found = stage.detect(&definition).await;
    assert_eq!(
        (found.version.as_deref(), found.found_by),
        (Some("2.0.0"), Some(ProgramSource::Override))
    );

    for bad in ["other", "/no/such/program", "/usr", "/etc/passwd"] {
        stage.set("AGENT_BIN", bad);
        let found = stage.detect(&definition).await;
        assert_eq!(reasons(&found), ["override-invalid"], "{bad}");
        assert!(found.diagnoses[0].message.contains(bad) && !found.is_usable);
    }
}

#[tokio::test]
async fn the_configuration_may_say_where_it_is() {
    let stage = Stage::new();
    let elsewhere = stage.cli("agent", "echo 3.0.0");
    fs::rename(&elsewhere, stage.path("home/mine")).unwrap();

    let found = stage.detect(&plain("agent", "path = \"~/mine\"")).await;
    assert_eq!(found.found_by, Some(ProgramSource::Configuration));

    let found = stage.detect(&plain("agent", "path = \"~/gone\"")).await;
    assert_eq!(reasons(&found), ["not-on-path"]);
    assert!(found.diagnoses[0].remedy.contains("configuration"));
}

#[tokio::test]
async fn directories_off_the_path_are_looked_through() {
    let mut stage = Stage::new();
    let path = stage.cli("agent", "echo 1.0.0");
    fs::create_dir_all(stage.path("home/.agent/bin")).unwrap();
    fs::rename(&path, stage.path("home/.agent/bin/agent")).unwrap();

    let found = stage.detect(&plain("agent", "extra_dirs = [\".agent/bin\"]")).await;
    assert_eq!(found.found_by, Some(ProgramSource::WellKnown));

    stage.options.machine.well_known = vec![stage.path("home/.agent/bin")];
    let found = stage.detect(&plain("agent", "")).await;
    assert_eq!(found.path.unwrap(), stage.path("home/.agent/bin/agent"));
}

#[tokio::test]
async fn a_version_that_is_not_told_is_no_reason_to_give_up() {
    let stage = Stage::new();
    stage.cli("mute", "echo 'no idea' >&2; exit 1");
    stage.cli("slow", "exec sleep 600");

    let mute = stage.detect(&plain("mute", "")).await;
    assert_eq!(reasons(&mute), ["version-probe-failed"]);
    assert!(mute.diagnoses[0].message.contains("no idea") && mute.is_usable, "{mute:#?}");

    let slow = stage.detect(&plain("slow", "version = { timeout_ms = 100 }")).await;
    assert_eq!(reasons(&slow), ["version-probe-failed"]);
    assert!(slow.diagnoses[0].message.contains("no answer within 100ms"), "{slow:#?}");
}

#[tokio::test]
async fn a_version_that_was_never_tried_is_told() {
    let stage = Stage::new();
    stage.cli("young", "echo 9.0.0");

    let found = stage.detect(&plain("young", "version = { tested = '>=1.0.0, <2.0.0' }")).await;

    assert_eq!(reasons(&found), ["untested-version"]);
    assert!(found.is_usable);
}

#[tokio::test]
async fn a_broken_version_is_asked_nothing_else() {
    let stage = Stage::new();
    stage.cli("stub", "echo 'stub, version 1.52.0'; echo 'no longer maintained'");
    let more = r#"
        [version]
        broken = [{ version = "1.52.0", remedy = "take the new one" }]
        [features]
        help = ["--help"]
        flags = { fast = "--fast" }
        [models]
        list = { args = ["models"], shape = "lines" }
        "#;

    let found = stage.detect(&plain("stub", more)).await;

    assert_eq!(reasons(&found), ["shim-broken"]);
    assert_eq!(found.diagnoses[0].remedy, "take the new one");
    assert!(!found.is_usable && found.run.is_none());
    let asked: Vec<_> = stage.starts().into_iter().map(|(args, _)| args).collect();
    assert_eq!(asked, ["--version"]);
}

#[tokio::test]
async fn the_kimi_that_is_a_stub_is_never_run_without_arguments() {
    let stage = Stage::new();
    stage.cli("kimi", "echo 'kimi, version 1.52.0'");
    let kimi = include_str!("../../definitions/kimi.toml");

    let found = stage.detect(kimi).await;

    assert_eq!(reasons(&found), ["shim-broken"]);
    assert!(found.diagnoses[0].remedy.contains("kimi-code"));
    assert!(stage.starts().iter().all(|(args, _)| args == "--version"));
}

#[tokio::test]
async fn logins_are_told_by_variables_files_and_the_cli() {
    let mut stage = Stage::new();
    stage.cli(
        "agent",
        "case $1 in status) cat \"$(dirname \"$0\")/../home/says\";; *) echo 1.0.0;; esac",
    );
    let definition = plain(
        "agent",
        r#"
        [auth]
        env = ["AGENT_KEY"]
        files = [".agent/login.json"]
        probe = { args = ["status"], yes = ["logged in"], no = ["Not logged in"] }
        login = "agent login"
        "#,
    );
    let says = stage.path("home/says");

    fs::write(&says, "You are Not logged in.").unwrap();
    let found = stage.detect(&definition).await;
    assert_eq!((found.auth.state, reasons(&found)), (LoginStatus::Missing, vec!["auth-missing"]));
    assert_eq!(found.diagnoses[0].remedy, "run: agent login, or set AGENT_KEY");

    fs::write(&says, "gibberish").unwrap();
    let found = stage.detect(&definition).await;
    assert_eq!((found.auth.state, reasons(&found)), (LoginStatus::Unknown, vec!["auth-unknown"]));

    fs::create_dir(stage.path("home/.agent")).unwrap();
    fs::write(stage.path("home/.agent/login.json"), "{}\n").unwrap();
    let found = stage.detect(&definition).await;
    assert_eq!(found.auth.state, LoginStatus::Unknown, "an empty file says nothing");

    fs::write(stage.path("home/.agent/login.json"), "{\"t\":1}").unwrap();
    let found = stage.detect(&definition).await;
    assert_eq!(found.auth.by.as_deref(), Some("~/.agent/login.json"));

    stage.set("AGENT_KEY", "secret");
    let found = stage.detect(&definition).await;
    assert_eq!(found.auth.by.as_deref(), Some("AGENT_KEY"));
    assert!(found.diagnoses.is_empty());
    assert!(!serde_json::to_string(&found).unwrap().contains("secret"));
}
