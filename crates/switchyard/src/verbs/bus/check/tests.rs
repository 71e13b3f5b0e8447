use super::*;
use std::os::unix::fs::PermissionsExt as _;

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_program_that_cannot_run_is_told_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain");
    write(&plain, "", 0o644);
    let told = |program: &Path, cwd: &Path| {
        let problem = find_program("p", &Launch::new(program, cwd)).unwrap_err();
        (problem.message, problem.hint.unwrap_or_default())
    };
    let (message, hint) = told(&plain, dir.path());
    assert!(message.ends_with("cannot be executed: Permission denied (os error 13)"), "{message}");
    assert_eq!(hint, format!("chmod +x {}", plain.display()));
    let (message, hint) = told(Path::new("no-such-program-anywhere"), dir.path());
    assert_eq!(message, "pool `p`: `no-such-program-anywhere` was not found");
    assert_eq!(hint, "install it, or give its whole path as `command`");
    let (_, hint) = told(&dir.path().join("gone"), dir.path());
    assert_eq!(hint, "correct the path in `command`");
    let (message, hint) = told(Path::new("sh"), &dir.path().join("gone"));
    assert!(message.contains("cannot work in"), "{message}");
    assert!(hint.contains("mkdir -p"), "{hint}");
    let found = find_program("p", &Launch::new("sh", dir.path())).unwrap();
    assert!(found.is_absolute() && found.ends_with("sh"));
}
