//! A machine of its own: a home, a directory on `PATH`, and CLIs that are shell scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use runtimes::catalogue::Catalogue;
use runtimes::definition::RuntimeDefinition;
use runtimes::detect::{self, DetectOptions, DetectedAgent, Machine};
use soak::PATIENCE;
use tempfile::TempDir;

pub(crate) struct Stage {
    root: TempDir,
    pub(crate) options: DetectOptions,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["bin", "home", "cache"] {
            fs::create_dir(root.path().join(dir)).unwrap();
        }
        let mut launch = bus::Launch::new("", "/");
        launch.keeper_exe = env!("CARGO_BIN_EXE_runtimes-testbin").into();
        launch.cgroups = false;
        let mut options = DetectOptions::new(launch);
        options.machine = Machine {
            home: Some(root.path().join("home")),
            path: vec![root.path().join("bin"), "/usr/bin".into(), "/bin".into()],
            ..Machine::default()
        };
        options.probe_limit = PATIENCE;
        Self { root, options }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    /// A program on `PATH`; each start is noted in `log` with its arguments and directory.
    pub(crate) fn cli(&self, name: &str, script: &str) -> PathBuf {
        let log = self.path("log").display().to_string();
        let path = self.path("bin").join(name);
        let text = format!("#!/bin/sh\necho \"$* in $(pwd)\" >> '{log}'\n{script}\n");
        testkit::test_executables::write(&path, &text);
        path
    }

    /// Arguments and directory of each start so far.
    pub(crate) fn starts(&self) -> Vec<(String, PathBuf)> {
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        let split = |line: &str| {
            let (args, dir) = line.rsplit_once(" in ").unwrap();
            (args.to_owned(), PathBuf::from(dir))
        };
        log.lines().map(split).collect()
    }

    pub(crate) fn set(&mut self, name: &str, value: impl AsRef<Path>) {
        let value = value.as_ref().as_os_str().to_owned();
        self.options.machine.variables.insert(name.into(), value);
    }

    pub(crate) async fn detect(&self, definition: &str) -> DetectedAgent {
        self.detect_all(&[definition]).await.remove(0)
    }

    /// In the order in which they came.
    pub(crate) async fn detect_all(&self, definitions: &[&str]) -> Vec<DetectedAgent> {
        let all = definitions.iter().map(|text| RuntimeDefinition::parse(text).unwrap()).collect();
        let catalogue = Catalogue::of(all).unwrap();
        let mut results = detect::detect(&catalogue, self.options.clone());
        let mut found = Vec::new();
        while let Some(one) = results.recv().await {
            found.push(one);
        }
        assert_eq!(found.len(), definitions.len());
        found
    }
}

/// A definition with one plain form, and whatever is put at its end.
pub(crate) fn plain(id: &str, more: &str) -> String {
    format!(
        r#"
        id = "{id}"
        name = "The {id}"
        bins = ["{id}"]
        install = "get {id}"
        forms = [
            {{ dialect = "plain", args = ["run"], permissions = {{ modes = {{ auto = [] }} }} }},
        ]
        {more}
        "#
    )
}

/// A definition of a CLI that speaks ACP.
pub(crate) fn acp(id: &str) -> String {
    format!(
        r#"
        id = "{id}"
        name = "The {id}"
        bins = ["{id}"]
        install = "get {id}"

        [auth]
        login = "{id} login"

        [models]
        acp = true

        [[forms]]
        dialect = "acp"
        args = ["acp"]
        prompt = "acp"
        resume = {{ style = "protocol" }}
        permissions = {{ asks = true }}
        "#
    )
}

/// The reasons of all diagnoses, by name.
pub(crate) fn reasons(found: &DetectedAgent) -> Vec<&'static str> {
    found.diagnoses.iter().map(|diagnosis| diagnosis.reason.name()).collect()
}

pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up_at = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up_at, "not reached: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
