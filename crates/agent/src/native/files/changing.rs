//! Changes files: all of them or none.

use std::io::ErrorKind;

use roots::ResolvedPath;
use wire::ToolKind;

use super::{ChangePermit, FileText, Files, difference};
use crate::native::lock;
use crate::native::tool_call::{CallContent, Location, ToolError};

/// A change of one file.
#[derive(Debug, Clone)]
pub(in crate::native) struct PlannedFileChange {
    pub place: ResolvedPath,
    /// The text that is there now; none if there must be no file.
    pub old: Option<FileText>,
    /// The text that is to be there; none if the file is to be removed.
    pub new: Option<FileText>,
    /// The mode for a file that is moved, or made again.
    pub mode: Option<u32>,
    /// It is one half of a move.
    pub is_moved: bool,
}

impl PlannedFileChange {
    pub(in crate::native) fn new(
        place: ResolvedPath,
        old: Option<FileText>,
        new: Option<FileText>,
    ) -> Self {
        Self { place, old, new, mode: None, is_moved: false }
    }

    /// The diff, for people.
    pub(in crate::native) fn diff(&self) -> CallContent {
        let [old, new] = [&self.old, &self.new].map(|side| side.as_ref().map(FileText::as_str));
        difference::diff(self.place.path(), old, new.unwrap_or_default())
    }

    /// The place, with the first line that changes.
    pub(in crate::native) fn location(&self) -> Location {
        let sides = self.old.as_ref().zip(self.new.as_ref());
        let line = sides.map(|(old, new)| difference::first_line(old.as_str(), new.as_str()));
        Location::of(&self.place, line)
    }

    /// The kinds of access that this is, for rules.
    fn access_kinds(&self) -> Vec<ToolKind> {
        let own = if self.new.is_some() { ToolKind::Edit } else { ToolKind::Delete };
        let moved = self.is_moved.then_some(ToolKind::Move);
        moved.into_iter().chain([own]).collect()
    }
}

impl Files {
    /// Looks at all files again, then changes them. What was changed is changed back when
    /// something fails on the way.
    pub(in crate::native) async fn change(
        &self,
        _permit: &ChangePermit<'_>,
        changes: &[PlannedFileChange],
    ) -> Result<(), ToolError> {
        for change in changes {
            self.check(change).await?;
        }
        for (n_done, change) in changes.iter().enumerate() {
            let Err(error) = self.carry_out(change).await else { continue };
            let done = changes.iter().take(n_done).rev();
            return Err(self.take_back(done, error).await);
        }
        for change in changes {
            match &change.new {
                Some(text) => self.note(&change.place, text),
                None => lock(&self.shared.seen).forget(change.place.real()),
            }
        }
        Ok(())
    }

    async fn check(&self, change: &PlannedFileChange) -> Result<(), ToolError> {
        for deed in change.access_kinds() {
            self.check_denied(deed, change.place.path()).await?;
        }
        let shown = self.shown(&change.place);
        let now = self.read(&change.place).await?;
        match (&change.old, now) {
            (None, None) => Ok(()),
            (Some(old), Some(now)) if old.digest() == now.digest() => Ok(()),
            (None, Some(_)) => Err(ToolError(format!(
                "`{shown}` was made by someone else in the meantime: read it first"
            ))),
            (Some(_), None) => Err(ToolError(format!(
                "`{shown}` was removed by someone else in the meantime; nothing was changed"
            ))),
            (Some(_), Some(_)) => Err(ToolError(format!(
                "`{shown}` was changed by someone else in the meantime; nothing was changed. Read \
                 it again"
            ))),
        }
    }

    async fn carry_out(&self, change: &PlannedFileChange) -> Result<(), ToolError> {
        match &change.new {
            Some(new) => self.write(change, new).await,
            None => self.remove(&change.place).await,
        }
    }

    async fn take_back(
        &self,
        done: impl Iterator<Item = &PlannedFileChange> + Send,
        error: ToolError,
    ) -> ToolError {
        let mut stuck = Vec::new();
        for change in done {
            let (old, new) = (change.new.clone(), change.old.clone());
            let back = PlannedFileChange { old, new, ..change.clone() };
            if self.carry_out(&back).await.is_err() {
                stuck.push(self.shown(&change.place));
            }
        }
        match stuck.as_slice() {
            [] => ToolError(format!("{error}; nothing was changed")),
            stuck => ToolError(format!(
                "{error}; these files were changed before and could not be changed back: {}",
                stuck.join(", ")
            )),
        }
    }

    async fn write(&self, change: &PlannedFileChange, new: &FileText) -> Result<(), ToolError> {
        let client = &self.shared.client;
        // A client can neither keep a mode nor refuse to replace what has just appeared.
        let through_client = client.can.writes_files && change.mode.is_none();
        if let Some(path) = change.place.path().to_str().filter(|_| through_client) {
            let place = change.place.clone();
            if !self.blocking(move |shared| shared.is_still(&place)).await? {
                return Err(ToolError(format!(
                    "`{}` leads somewhere else than before",
                    self.shown(&change.place)
                )));
            }
            return client.write_text(path, new.as_str()).await.map_err(|error| {
                let shown = self.shown(&change.place);
                ToolError(format!("the client could not write `{shown}`: {error}"))
            });
        }
        let PlannedFileChange { place, old, mode, .. } = change.clone();
        let bytes = new.as_str().to_owned().into_bytes();
        let written = self.blocking(move |shared| match old {
            Some(_) => shared.roots.replace(&place, &bytes),
            None => shared.roots.create(&place, &bytes, mode),
        });
        written.await?.map_err(ToolError::new)
    }

    async fn remove(&self, place: &ResolvedPath) -> Result<(), ToolError> {
        let at = place.clone();
        match self.blocking(move |shared| shared.roots.remove(&at)).await? {
            // An editor that made it may not have saved it.
            Err(error) if error.io_kind() == Some(ErrorKind::NotFound) => Ok(()),
            removed => removed.map_err(ToolError::new),
        }
    }
}
