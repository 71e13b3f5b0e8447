//! Where a tool call happens: one session's directory, files, commands and client.
//!
//! Cheap to clone; each call has its own, which knows the call's id.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use roots::{Forbidden, Roots};

use super::client::Client;
use super::commands;
use super::context_tools;
use super::files::Files;
use super::lock;
use super::sandbox::Sandbox;
use super::tools::{Content, Location};
use super::webfetch;

#[derive(Debug, Clone)]
pub struct Scene {
    pub session: Arc<SceneOfSession>,
    /// The id of the call, as clients see it.
    pub call: String,
    pub progress: Progress,
}

/// What a call that runs has shown last: all that is left of it when it is interrupted.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Mutex<Vec<Content>>>);

impl Progress {
    pub fn shown(&self) -> Vec<Content> {
        lock(&self.0).clone()
    }
}

/// What all calls of a session share.
#[derive(Debug)]
pub struct SceneOfSession {
    pub cwd: PathBuf,
    /// `cwd` and what the client added to it: nothing outside is read or changed.
    pub roots: Vec<PathBuf>,
    pub files: Files,
    pub client: Client,
    pub settings: Settings,
}

/// What tools may do and how much.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The executable and arguments that keep processes we start ([`bus::Launch`]).
    pub keeper_exe: PathBuf,
    pub keeper_args: Vec<std::ffi::OsString>,
    pub cgroups: bool,
    /// What no session touches.
    pub forbidden: Forbidden,
    /// The user's own slash commands.
    pub commands_dir: Option<PathBuf>,
    pub commands: commands::Settings,
    /// What holds commands in; [`Sandbox::off`] unless somebody asked for it.
    pub sandbox: Sandbox,
    pub webfetch: webfetch::Settings,
    pub context: context_tools::Settings,
}

impl Settings {
    /// Everything as it is when nobody says otherwise.
    pub fn new(keeper_exe: PathBuf, keeper_args: Vec<std::ffi::OsString>) -> Self {
        Self {
            keeper_exe,
            keeper_args,
            cgroups: true,
            forbidden: Forbidden::default(),
            commands_dir: None,
            commands: commands::Settings::default(),
            sandbox: Sandbox::off(),
            webfetch: webfetch::Settings::default(),
            context: context_tools::Settings::default(),
        }
    }
}

impl Scene {
    /// Shows more of the call that runs, while it runs. What is shown replaces what was.
    pub fn show(&self, content: &[Content], locations: &[Location]) {
        if !content.is_empty() {
            let mut shown = lock(&self.progress.0);
            *shown = content.to_vec();
        }
        self.session.client.show_progress(&self.call, content, locations);
    }
}

impl SceneOfSession {
    /// A session in `cwd` that may also use `more`.
    pub fn new(
        cwd: PathBuf,
        more: &[PathBuf],
        client: Client,
        settings: Settings,
    ) -> Result<Self, roots::Error> {
        let mut roots = vec![cwd.clone()];
        roots.extend_from_slice(more);
        let files =
            Files::new(cwd.clone(), Roots::open(&roots, &settings.forbidden)?, client.clone());
        let settings = Settings { sandbox: settings.sandbox.for_session(), ..settings };
        Ok(Self { cwd, roots, files, client, settings })
    }
}
