//! What is hidden is, wherever it lies, and nothing else is.

use roots::ForbiddenDirs;

use super::{CommandRequest, HELD, enforcers, run, run_line, workspace_in};

/// As a project's directory is in the state directory.
#[tokio::test]
async fn a_workspace_in_what_is_hidden_is_there_and_the_rest_is_not() {
    for (name, sandbox) in enforcers(HELD).await {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let hidden = dir.path().to_owned();
        std::fs::write(hidden.join("token"), "secret").unwrap();
        let stage =
            workspace_in(dir, &sandbox.clone().hiding(&ForbiddenDirs::new([hidden.clone()])));
        let line = format!("echo mine > src/made; cat src/made {}/token", hidden.display());
        let finished = run_line(&stage, &line).await;
        assert!(finished.text.contains("mine\n"), "{name}: {}", finished.text);
        assert!(!finished.text.contains("secret\n"), "{name}: {}", finished.text);
        assert_eq!(std::fs::read(stage.cwd().join("src/made")).unwrap(), b"mine\n", "{name}");
    }
}

/// Also where it is inside of something that is fixed, and mounted for that.
#[tokio::test]
async fn what_is_hidden_in_the_workspace_is_hidden_last() {
    for (name, sandbox) in enforcers(HELD).await {
        for place in [".vscode/state", "src/deep/state", "state"] {
            let dir = tempfile::tempdir_in("/var/tmp").unwrap();
            let hidden = dir.path().join("work").join(place);
            // A configuration is a file, in a directory that is hidden or anywhere.
            let (inside, outside) = (hidden.join("conf"), dir.path().join("work/src/conf"));
            let hiding = ForbiddenDirs::new([hidden.clone(), inside.clone(), outside.clone()]);
            let stage = workspace_in(dir, &sandbox.clone().hiding(&hiding));
            std::fs::create_dir_all(&hidden).unwrap();
            for conf in [inside, outside] {
                std::fs::write(conf, "secret\n").unwrap();
            }
            std::fs::write(hidden.join("token"), "secret").unwrap();
            std::fs::write(hidden.join("sock"), "").unwrap();
            let line = format!(
                "cat {0}/token src/conf {0}/conf; ls {0}; grep -rs secret .; echo mine > {0}/token; mv {0} gone; \
                 rm -rf {0}; cd {0} && cat token; true",
                hidden.display()
            );
            let order =
                CommandRequest { line, cwd: stage.cwd().to_path_buf(), timeout: soak::PATIENCE };
            match run(&stage.context, order).await {
                Ok(finished) => {
                    assert!(
                        !finished.text.contains("secret\n"),
                        "{name} {place}: {}",
                        finished.text
                    );
                    assert!(!finished.text.contains("sock\n"), "{name} {place}: {}", finished.text);
                }
                Err(refused) => {
                    assert_eq!(name, "Landlock", "{refused}");
                    assert!(refused.to_string().contains("Switchyard's own"), "{refused}");
                }
            }
            assert_eq!(std::fs::read(hidden.join("token")).unwrap(), b"secret", "{name} {place}");
        }
    }
}
