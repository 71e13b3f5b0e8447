//! Skills and design systems that a run names.
//!
//! In: names. Out: their texts, as a part of the run's instructions, and directories that the agent
//! may read. `skills/NAME/SKILL.md` and `design-systems/NAME/DESIGN.md` are read through a
//! directory handle that cannot be left.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sessions::permission::PermissionMode;

use super::Runs;
use super::project::is_plain_name;
use super::run_request::NewRun;
use crate::dir_handles::{blocking, open_dir, read_options};
use crate::principal::Principal;
use crate::problem::{Problem, shown};

/// Limit of the text of one of them in a prompt. Longer ones are cut, and the agent told so.
const MAX_TEXT_BYTES: u64 = 128 << 10;
const MAX_SKILLS: usize = 16;

/// The instructions and directories that a run gets beside its prompt.
#[derive(Debug, Default)]
pub(super) struct Resources {
    pub(super) instructions: Option<String>,
    /// Further directories of the session.
    pub(super) directories: Vec<PathBuf>,
    /// Warnings about requested things that have no effect.
    pub(super) warnings: Vec<String>,
}

/// One kind of resource: skills or design systems.
struct ResourceKind {
    member: &'static str,
    file: &'static str,
    title: &'static str,
    setting: &'static str,
    root: Option<PathBuf>,
}

impl Runs {
    pub(super) async fn resources(
        &self,
        principal: &Principal,
        new: &NewRun,
        mode: Option<PermissionMode>,
    ) -> Result<Resources, Problem> {
        let settings = self.daemon.open_design();
        let root = |dir: Option<PathBuf>| dir.filter(|dir| dir.is_dir());
        let systems = ResourceKind {
            member: "designSystemId",
            file: "DESIGN.md",
            title: "Design system",
            setting: "design_systems",
            root: root(settings.design_systems),
        };
        let skills = ResourceKind {
            member: "skillId",
            file: "SKILL.md",
            title: "Skill",
            setting: "skills",
            root: root(settings.skills),
        };
        // What is written there reaches the prompts of others. So the directories are not given to
        // principals that see only their own sessions, nor to agents that may edit in their
        // directories without a question.
        let is_shared = !principal.own_sessions && mode != Some(PermissionMode::AcceptEdits);
        let mut resources = Resources::default();
        let named = new.skills();
        if is_shared {
            let system = systems.root.iter().filter(|_| new.design_system_id.is_some());
            let skills = skills.root.iter().filter(|_| !named.is_empty());
            resources.directories.extend(system.chain(skills).cloned());
        }
        if named.len() > MAX_SKILLS {
            let why = format!("a run has at most {MAX_SKILLS} skills");
            return Err(Problem::bad_request(why));
        }
        let system = new.design_system_id.as_deref().into_iter().map(|name| (&systems, name));
        let skills = named.into_iter().map(|name| (&skills, name));
        let mut parts = Vec::new();
        for (kind, name) in system.chain(skills) {
            match kind.read(name, is_shared).await? {
                Some(text) => parts.push(text),
                None => resources.warnings.push(format!(
                    "`{}` has no effect: `{}` of [open_design] names no directory",
                    kind.member, kind.setting
                )),
            }
        }
        parts.extend(new.system_prompt.clone());
        resources.instructions = (!parts.is_empty()).then(|| parts.join("\n\n---\n\n"));
        Ok(resources)
    }
}

impl ResourceKind {
    /// The text of one, and the path of its other files; `None` where no directory is configured.
    async fn read(&self, name: &str, is_shared: bool) -> Result<Option<String>, Problem> {
        let Some(root) = self.root.clone() else { return Ok(None) };
        let missing = || {
            let why = format!("`{}`: there is no `{}`", self.member, shown(name));
            Problem::bad_request(why)
        };
        if !is_plain_name(name) {
            return Err(missing());
        }
        let path = root.join(name);
        let (dir, file) = (name.to_owned(), self.file);
        let text = match blocking(move || read(&root, &dir, file)).await {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
            Err(error) => {
                let why = format!("cannot read `{}` `{}`: {error}", self.member, shown(name));
                return Err(Problem::internal(why));
            }
        };
        let place = match is_shared {
            true => format!("\n\nIts files are in {}.", path.display()),
            false => String::new(),
        };
        Ok(Some(format!("# {} `{name}`\n\n{}{place}", self.title, text.trim())))
    }
}

fn read(root: &Path, dir: &str, file: &str) -> io::Result<String> {
    let root = Dir::open_ambient_dir(root, ambient_authority())?;
    let file = open_dir(&root, dir)?.open_with(file, &read_options())?.into_std();
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(MAX_TEXT_BYTES).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if size > MAX_TEXT_BYTES {
        text.push_str("\n\n(It is longer; read the rest in its file.)");
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
