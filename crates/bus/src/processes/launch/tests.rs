use super::*;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_program_is_found_as_the_keeper_would_find_it() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("agent");
    std::fs::write(&program, "").unwrap();
    let set_mode = |mode| {
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(0o755);

    let found = |name: &str, change: &dyn Fn(&mut Launch)| {
        let mut launch = Launch::new(name, dir.path());
        change(&mut launch);
        launch.find_program()
    };
    let with_path = |launch: &mut Launch| {
        launch.env.set.insert("PATH".into(), dir.path().into());
    };
    assert_eq!(found("agent", &with_path).unwrap(), program);
    assert_eq!(found("./agent", &|_| {}).unwrap(), dir.path().join("./agent"));
    assert!(found("sh", &|_| {}).unwrap().is_absolute(), "by the path that is inherited");
    assert!(matches!(found("sh", &with_path), Err(SpawnError::NotFound { .. })));
    let only_set = |launch: &mut Launch| {
        launch.env.inherit = false;
        with_path(launch);
    };
    assert_eq!(found("agent", &only_set).unwrap(), program);

    set_mode(0o644);
    assert!(matches!(found("./agent", &|_| {}), Err(SpawnError::NotExecutable { .. })));
    let elsewhere = |launch: &mut Launch| launch.cwd = program.clone();
    assert!(matches!(found("sh", &elsewhere), Err(SpawnError::BadCwd { .. })));
    let nowhere = |launch: &mut Launch| launch.cwd = dir.path().join("gone");
    assert!(matches!(found("sh", &nowhere), Err(SpawnError::BadCwd { .. })));
}
