//! The stories of `tree`, `crash`, `pausing` and `zombies` again, as a user who may nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::stage::testbin;

const NOBODY: &str = "65534";

#[test]
fn an_ordinary_user_gets_the_same_promises() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: the tests already run as an ordinary user");
        return;
    }
    // The target directory may be closed to others.
    let place = tempfile::tempdir().unwrap();
    let open = |path: &std::path::Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let (tests, bin) = (place.path().join("tests"), place.path().join("testbin"));
    testkit::test_executables::copy(&std::env::current_exe().unwrap(), &tests);
    testkit::test_executables::copy(&testbin(), &bin);
    [place.path(), &tests, &bin].into_iter().for_each(open);

    let output = Command::new("setpriv")
        .args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups"])
        .arg(&tests)
        .args([
            "tree::",
            "crash::",
            "pausing::",
            "zombies::",
            "memory_runs_out",
            "--test-threads=2",
        ])
        .env("BUS_TESTBIN", &bin)
        .env("TMPDIR", "/tmp")
        .current_dir("/")
        .output()
        .unwrap();

    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(!stdout.contains(" 0 passed"), "{stdout}");
}
