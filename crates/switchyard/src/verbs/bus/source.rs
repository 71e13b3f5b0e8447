//! The source of a bus's setup: its file, read at its start and at each reload.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bus::Bus;

use super::file::BusFile;
use super::listener::BusListener;
use super::setup::{BusSetup, prepare, warnings};
use crate::config::Config;
use crate::outcome::Failure;
use crate::terminal;

/// The file of a bus, and all that is needed to read it again.
pub(super) struct BusSource {
    pub(super) path: PathBuf,
    here: PathBuf,
    record: Option<PathBuf>,
    pub(super) config: Config,
    /// The file's listeners at the start.
    listeners: Vec<BusListener>,
}

impl BusSource {
    /// Opens the source, and reads the first setup from it.
    pub(super) async fn open(
        path: &Path,
        record: Option<PathBuf>,
        config: Config,
    ) -> Result<(Self, BusSetup), Failure> {
        let here = std::env::current_dir().context("cannot find the working directory")?;
        let path = here.join(path);
        let mut source = Self { path, here, record, config, listeners: Vec::new() };
        let first = source.read().await?;
        source.listeners.clone_from(&first.listeners);
        Ok((source, first))
    }

    async fn read(&self) -> Result<BusSetup, Failure> {
        let file = BusFile::read(&self.path, &self.here)?;
        for warning in warnings(&file) {
            say(&warning);
        }
        let mut read = prepare(file, &self.config, &self.here).await?;
        read.setup.record.clone_from(&self.record);
        Ok(read)
    }

    /// Reloads pools and limits; listeners stay as they are. Returns a note for the user.
    pub(super) async fn reload(&self, bus: &Bus) -> Result<Option<&'static str>, Failure> {
        let BusSetup { setup, listeners, .. } = self.read().await?;
        bus.reload(setup).await?;
        let note = "other listeners take effect when the bus is started again";
        Ok((listeners != self.listeners).then_some(note))
    }
}

/// Prints a message of the bus on stderr.
pub(super) fn say(text: &str) {
    terminal::say(&format!("switchyard bus: {text}"));
}
