use super::*;

const PACKAGE: Package =
    Package { id: "x", version: "1.0", source: Source::Python("x", 11), program: "x" };

fn install(dir: &Path) -> Result<(), InstallError> {
    fs::create_dir(dir.join("bin"))?;
    Ok(fs::write(dir.join("bin/x"), "")?)
}

#[test]
fn what_was_left_in_the_middle_is_made_anew() {
    let root = tempfile::tempdir().unwrap();
    let dir = Cache::at(root.path()).dir(&PACKAGE);
    let interrupted = Cache::fresh(&dir, |dir| {
        install(dir)?;
        Err(InstallError::NoPython(11))
    });
    assert!(interrupted.is_err() && dir.join("bin/x").exists() && !is_complete(&dir));

    Cache::fresh(&dir, install).unwrap();

    assert!(is_complete(&dir));
}

#[test]
fn what_is_complete_is_not_touched() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::at(root.path());
    Cache::fresh(&cache.dir(&PACKAGE), install).unwrap();

    let installed = cache.install(&PACKAGE).unwrap();

    assert_eq!(installed.program, root.path().join("x-1.0/bin/x"));
    assert_eq!(installed.path, [root.path().join("x-1.0/bin")]);
    let missing = Package { program: "y", ..PACKAGE };
    assert!(matches!(cache.install(&missing), Err(InstallError::Missing(name)) if name == "y"));
}

#[test]
fn a_step_that_fails_says_what_it_printed_last() {
    let failed =
        run("a step", Command::new("sh").args(["-c", "echo first; echo reason >&2; exit 3"]));
    let told = failed.unwrap_err().to_string();
    assert!(told.starts_with("a step ended with") && told.ends_with("first ⏎ reason"), "{told}");
    assert!(matches!(
        run("a step", &mut Command::new("/no/such/program")),
        Err(InstallError::NoProgram { .. })
    ));
}
