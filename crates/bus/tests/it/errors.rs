//! A worker that cannot start says which of the four reasons it is, and leaves nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use bus::SpawnError;

use crate::stage::launch;

#[tokio::test]
async fn a_program_that_is_not_there() {
    for program in ["no-such-program-anywhere", "/no/such/program"] {
        let place = tempfile::tempdir().unwrap();
        let mut launch = launch(program, []);
        launch.records_dir = Some(place.path().to_path_buf());

        let error = launch.spawn().await.unwrap_err();

        assert!(matches!(error, SpawnError::NotFound { .. }), "{error}");
        assert_eq!(error.to_string(), format!("`{program}` was not found"));
        assert!(fs::read_dir(place.path()).unwrap().next().is_none(), "record removed");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_executed() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("script");
    fs::write(&file, "#!/no/such/interpreter\n").unwrap();

    for mode in [0o644, 0o755] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let error = launch(file.to_str().unwrap(), []).spawn().await.unwrap_err();
        assert!(matches!(error, SpawnError::NotExecutable { .. }), "{mode:o}: {error}");
    }
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_not_a_missing_program() {
    let mut launch = launch("sh", []);
    launch.cwd = "/no/such/dir".into();

    let error = launch.spawn().await.unwrap_err();

    assert!(matches!(error, SpawnError::BadCwd { .. }), "{error}");
}

#[tokio::test]
async fn a_relative_program_is_relative_to_the_workers_directory() {
    let place = tempfile::tempdir().unwrap();
    fs::copy("/bin/true", place.path().join("mine")).unwrap();
    let mut launch = launch("./mine", []);
    launch.cwd = place.path().to_path_buf();

    let worker = launch.spawn().await.unwrap();

    assert_eq!(worker.handle.ended().await.code, Some(0));
}

#[tokio::test]
async fn arguments_beyond_what_the_kernel_takes_are_refused() {
    let mut launch = launch("true", []);
    launch.args = vec!["x".repeat(1024 * 1024).into()];

    let error = launch.spawn().await.unwrap_err();

    assert!(matches!(error, SpawnError::Exec { .. }), "{error}");
}

#[tokio::test]
async fn a_keeper_that_cannot_be_started_or_is_none() {
    let mut missing = launch("true", []);
    missing.keeper_exe = "/no/such/keeper".into();
    let error = missing.spawn().await.unwrap_err();
    assert!(matches!(error, SpawnError::Keeper { .. }), "{error}");

    let mut not_one = launch("true", []);
    not_one.keeper_exe = "/bin/true".into();
    let error = not_one.spawn().await.unwrap_err();
    assert!(matches!(error, SpawnError::KeeperLost { .. }), "{error}");
}

#[tokio::test]
async fn a_records_directory_that_others_can_write_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut launch = launch("true", []);
    launch.records_dir = Some(place.path().to_path_buf());

    let error = launch.spawn().await.unwrap_err();

    assert!(matches!(error, SpawnError::Record { .. }), "{error}");
}
