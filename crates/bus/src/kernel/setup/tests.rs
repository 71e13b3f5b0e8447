use super::*;

fn launch(change: impl FnOnce(&mut Launch)) -> Launch {
    let mut launch = Launch::new("agent", "/");
    launch.env.set.insert("KEY".into(), "hunter2".into());
    change(&mut launch);
    launch
}

#[test]
fn the_print_of_a_launch_changes_with_what_is_started() {
    let first = fingerprint_of(&launch(|_| {}));
    assert_eq!(first, fingerprint_of(&launch(|other| other.cgroups = false)));
    let changed = [
        launch(|other| other.program = "other".into()),
        launch(|other| other.args.push("-x".into())),
        launch(|other| other.cwd = "/tmp".into()),
        launch(|other| other.env.inherit = false),
        launch(|other| other.env.set = [("KEY".into(), "hunter3".into())].into()),
        launch(|other| other.env.strip = ["KEY".into()].into()),
    ];
    for other in changed {
        assert_ne!(first, fingerprint_of(&other), "{other:?}");
    }
}

#[test]
fn the_print_of_a_launch_tells_no_secrets() {
    let print = fingerprint_of(&launch(|other| other.args.push("--key=hunter2".into())));
    assert!(print.starts_with("agent #") && !print.contains("hunter2"), "{print}");
}
