//! Where Switchyard keeps its things.
//!
//! `SWITCHYARD_HOME` holds everything if it is set; otherwise the XDG directories do.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail};

#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The configuration file, which need not exist.
    pub(crate) config: PathBuf,
    /// The log.
    pub(crate) state: PathBuf,
    /// Notes about running workers, and control sockets.
    pub(crate) run: PathBuf,
}

impl Home {
    pub(crate) fn find() -> Result<Self> {
        if let Some(home) = absolute("SWITCHYARD_HOME")? {
            let run = home.join("run");
            return Ok(Self { config: home.join("switchyard.toml"), state: home, run });
        }
        let Some(user) = absolute("HOME")? else {
            bail!("neither SWITCHYARD_HOME nor HOME is set: set one of them to a directory");
        };
        let xdg = |name: &str, default: &str| {
            Ok::<_, anyhow::Error>(absolute(name)?.unwrap_or_else(|| user.join(default)))
        };
        let state = xdg("XDG_STATE_HOME", ".local/state")?.join("switchyard");
        Ok(Self {
            config: xdg("XDG_CONFIG_HOME", ".config")?.join("switchyard/switchyard.toml"),
            run: state.join("run"),
            state,
        })
    }
}

fn absolute(name: &str) -> Result<Option<PathBuf>> {
    match env::var_os(name) {
        None => Ok(None),
        Some(value) if value.is_empty() => Ok(None),
        Some(value) => {
            let path = PathBuf::from(value);
            if !path.is_absolute() {
                bail!("{name} is `{}`, but must be an absolute path", path.display());
            }
            Ok(Some(path))
        }
    }
}
