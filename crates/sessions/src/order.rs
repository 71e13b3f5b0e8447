//! The order of a client for a session: agent, directories, servers, options and limits.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use roots::ForbiddenDirs;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::SessionRecord;
use tokio_util::sync::CancellationToken;
use wire::{Json, Millis, SessionId};

use crate::allow_list;
use crate::budget::BudgetLimits;
use crate::details::{ClientRequest, CreationParams, SessionDetails};
use crate::options::InitialOptions;
use crate::permission::PermissionMode;

#[derive(Debug, Clone, thiserror::Error)]
pub enum OrderError {
    #[error("{0}")]
    Bad(String),
    #[error("{0}")]
    Refused(String),
}

/// A session to be made. The default names no agent.
#[derive(Debug, Clone, Default)]
pub struct SessionOrder {
    /// Its id; one is drawn if none is given.
    pub id: Option<SessionId>,
    /// The agent's name; without one, `command`.
    pub agent: Option<String>,
    pub command: Vec<OsString>,
    /// Instead of the daemon's own environment.
    pub env: Option<BTreeMap<OsString, OsString>>,
    /// Checked with [`SessionOrder::in_real_dirs`].
    pub cwd: PathBuf,
    pub additional_directories: Vec<PathBuf>,
    pub mcp_servers: Vec<Value>,
    /// `_meta` and whatever else a client put into `session/new`.
    pub more_params: Option<Json>,
    /// The maker's own note on it, kept in `_meta.switchyard`.
    pub note: Option<Json>,
    /// Instructions, put before the first prompt where the agent does not get them in another way.
    pub system_prompt: Option<String>,
    /// The preface names the directory and its files, also without instructions.
    pub tells_directory: bool,
    /// Options that are set as soon as the agent has the session.
    pub initial_options: InitialOptions,
    pub permissions: Option<PermissionMode>,
    pub limits: BudgetLimits,
    pub title: Option<String>,
    pub maker: Option<Maker>,
    /// It does not share its worker, also where its agent would: an agent's messages to no
    /// session in particular reach all that share it.
    pub has_own_worker: bool,
    /// The request that orders it, if its client has given it a name.
    pub made_for: Option<Box<ClientRequest>>,
    /// The agent is started with the first prompt.
    pub starts_later: bool,
}

/// The maker of a session.
#[derive(Debug, Clone)]
pub struct Maker {
    pub name: String,
    /// Since when it has its name: what another made before is not its.
    pub since: Millis,
    /// The number of its sessions is limited.
    pub is_limited: bool,
    /// Cancelled when its token is revoked.
    pub revoked: CancellationToken,
}

impl SessionOrder {
    /// The order in an existing directory, below one of `roots` if there are any, and never in
    /// what is `forbidden`.
    pub fn in_real_dirs(
        mut self,
        roots: &[PathBuf],
        forbidden: &ForbiddenDirs,
    ) -> Result<Self, OrderError> {
        if self.additional_directories.len() > MAX_DIRECTORIES {
            return Err(OrderError::Bad(format!(
                "a session has at most {MAX_DIRECTORIES} additional directories"
            )));
        }
        let real = |dir: &PathBuf| match real_dir(dir, roots)? {
            real if forbidden.covers(&real) => Err(OrderError::Refused(
                roots::RootsError::Forbidden(dir.display().to_string()).to_string(),
            )),
            real => Ok(real),
        };
        self.cwd = real(&self.cwd)?;
        let dirs = std::mem::take(&mut self.additional_directories);
        for dir in dirs {
            let dir = real(&dir)?;
            if !self.additional_directories.contains(&dir) {
                self.additional_directories.push(dir);
            }
        }
        Ok(self)
    }

    /// The order as far as a client may give it that may not name commands, which could run
    /// anything. MCP servers keep the members of remote ones alone, and members that we do not
    /// know are dropped, whatever agents would make of them.
    pub fn without_commands(mut self) -> Result<Self, OrderError> {
        if !self.command.is_empty() || self.env.is_some() {
            let why = "commands are for the daemon's own user only";
            return Err(OrderError::Refused(why.to_owned()));
        }
        let title = self.title.iter().map(|title| ("title", title.as_str(), MAX_TITLE_BYTES));
        let initial_options = self
            .initial_options
            .all()
            .map(|(choice, wanted)| (choice.name(), wanted, MAX_OPTION_BYTES));
        if let Some((name, _, max)) =
            title.chain(initial_options).find(|(_, text, max)| text.len() > *max)
        {
            return Err(OrderError::Bad(format!("`{name}` has more than {max} bytes")));
        }
        let n_bytes = self.n_bytes();
        if n_bytes > MAX_ORDER_BYTES {
            return Err(OrderError::Bad(format!(
                "servers, directories and texts may have {MAX_ORDER_BYTES} bytes in all, not {n_bytes}"
            )));
        }
        let servers = self.mcp_servers.iter().map(remote_server);
        self.mcp_servers = servers.collect::<Result<_, _>>()?;
        self.more_params =
            self.more_params.as_ref().map(|params| allow_list::allowed_members(params, &[]));
        Ok(self)
    }

    /// Bytes of it that are kept for as long as the session is there.
    fn n_bytes(&self) -> usize {
        let dirs =
            self.additional_directories.iter().map(|dir| dir.as_os_str().len()).sum::<usize>();
        let servers = self.mcp_servers.iter().map(|server| server.to_string().len()).sum::<usize>();
        let prompt = self.system_prompt.as_ref().map_or(0, String::len);
        let more = self.more_params.as_ref().map_or(0, |params| params.as_str().len());
        let options = self.initial_options.options.iter();
        let options = options.map(|(id, wanted)| id.len() + wanted.len()).sum::<usize>();
        dirs + servers + prompt + more + options
    }

    /// The order that made an earlier session, as far as it is known.
    pub(crate) fn of_earlier(
        record: &SessionRecord,
        details: &SessionDetails,
        made_of: &CreationParams,
    ) -> Self {
        let command = match details.is_named {
            true => Vec::new(),
            false => details.command.iter().map(OsString::from).collect(),
        };
        let place = SessionDirectories::read(&made_of.new_params).ok();
        let (cwd, additional_directories) = match place {
            Some(place) => (place.cwd, place.additional_directories),
            None => (PathBuf::from(&record.cwd), Vec::new()),
        };
        Self {
            agent: Some(record.agent.clone()),
            command,
            cwd,
            additional_directories,
            initial_options: details.initial_options.clone(),
            permissions: details.permissions,
            has_own_worker: details.has_own_worker,
            ..Self::default()
        }
    }

    /// Takes over the directories, environment, permissions and, of the same agent, the command of
    /// the order that opens an earlier session `again`; the agent stays the same.
    pub(crate) fn adopt(&mut self, again: &Self) {
        if !self.command.is_empty() && !again.command.is_empty() && self.agent == again.agent {
            self.command.clone_from(&again.command);
        }
        self.env.clone_from(&again.env);
        self.cwd.clone_from(&again.cwd);
        if !again.additional_directories.is_empty() {
            self.additional_directories.clone_from(&again.additional_directories);
        }
        self.permissions = again.permissions.or(self.permissions);
    }

    /// Whether it names no directory but those of an earlier session.
    pub(crate) fn stays_within(&self, made_of: &CreationParams) -> bool {
        let Ok(place) = SessionDirectories::read(&made_of.new_params) else { return false };
        let dirs = &self.additional_directories;
        self.cwd == place.cwd && dirs.iter().all(|dir| place.additional_directories.contains(dir))
    }

    /// Params of `session/new`.
    pub(crate) fn new_params(&self) -> Json {
        let mut params = self.more_params.clone().unwrap_or_else(|| Json::trusted("{}"));
        // Whatever else its client put there keeps its bytes.
        let mut set = |path: &[&str], value: Json| {
            params = wire::set_member(&params, path, &value).unwrap_or_else(|_| params.clone());
        };
        set(&["cwd"], Json::of(&self.cwd));
        // Always named, if only as none: some agents insist.
        set(&["mcpServers"], Json::of(&self.mcp_servers));
        if !self.additional_directories.is_empty() {
            set(&["additionalDirectories"], Json::of(&self.additional_directories));
        }
        if let Some(text) = &self.system_prompt {
            set(&["_meta", "systemPrompt"], Json::of(&json!({ "append": text })));
        }
        if let Some(note) = &self.note {
            set(&["_meta", "switchyard"], note.clone());
        }
        params
    }

    /// The same for an earlier session that is opened again: its `earlier` params, with the members
    /// of this order. MCP servers that it does not name stay, and the note of the session's maker.
    pub(crate) fn reopen_params(&self, earlier: &Json) -> Json {
        type Members = BTreeMap<String, Json>;
        let members = |params: &Json| params.read::<Members>().unwrap_or_default();
        let more = self.more_params.as_ref().map(members).unwrap_or_default();
        let names_servers = !self.mcp_servers.is_empty() || more.contains_key("mcpServers");
        let mut said = members(&self.new_params());
        said.retain(|name, _| name != "mcpServers" || names_servers);
        let meta = said.remove("_meta").as_ref().map(members).unwrap_or_default();
        let said = said.iter().map(|(name, value)| (vec![name.as_str()], value));
        let meta = meta.iter().map(|(name, value)| (vec!["_meta", name.as_str()], value));
        said.chain(meta).fold(earlier.clone(), |params, (path, value)| {
            wire::set_member(&params, &path, value).unwrap_or(params)
        })
    }

    /// The name of its maker, as the record has it.
    pub(crate) fn made_by(&self) -> Option<String> {
        self.maker.as_ref().map(|maker| maker.name.clone())
    }
}

/// The directories of a session, from its `session/new` params.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionDirectories {
    pub(crate) cwd: PathBuf,
    #[serde(default)]
    pub(crate) additional_directories: Vec<PathBuf>,
}

impl SessionDirectories {
    pub(crate) fn read(params: &Json) -> Result<Self, OrderError> {
        params.read().map_err(|error| OrderError::Bad(error.to_string()))
    }

    /// Reads the directories, and refuses those in which no session may work.
    pub(crate) fn checked(params: &Json, forbidden: &ForbiddenDirs) -> Result<Self, OrderError> {
        let place = Self::read(params)?;
        if let Some(path) = place.all().find(|path| !path.is_absolute()) {
            return Err(OrderError::Bad(format!("`{}` is not an absolute path", path.display())));
        }
        let forbidden = forbidden.renewed();
        if let Some(path) = place.all().find(|path| forbidden.covers(path)) {
            let own = roots::RootsError::Forbidden(path.display().to_string());
            return Err(OrderError::Bad(own.to_string()));
        }
        Ok(place)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.cwd).chain(&self.additional_directories)
    }
}

/// Bytes of instructions, servers and directories of a session that a network client makes.
const MAX_ORDER_BYTES: usize = 512 << 10;
/// Additional directories of a session, each of which is held open while it is awake.
const MAX_DIRECTORIES: usize = 64;
/// Longest title: lists read it of every session.
const MAX_TITLE_BYTES: usize = 2 << 10;
const MAX_OPTION_BYTES: usize = 256;

/// An MCP server with nothing but the members of a remote one.
fn remote_server(server: &Value) -> Result<Value, OrderError> {
    #[derive(Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    struct Remote {
        r#type: Transport,
        name: String,
        url: String,
        #[serde(default)]
        headers: Vec<Header>,
        #[serde(rename = "_meta", default, skip_serializing)]
        _meta: IgnoredAny,
    }
    #[derive(Deserialize, Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Transport {
        Http,
        Sse,
    }
    #[derive(Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    struct Header {
        name: String,
        value: String,
    }
    match Remote::deserialize(server) {
        Ok(remote) if !is_web_address(&remote.url) => Err(OrderError::Refused(
            "the `url` of an MCP server of a network client begins with http:// or https://"
                .to_owned(),
        )),
        Ok(remote) => {
            let headers = remote.headers.iter().flat_map(|header| [&header.name, &header.value]);
            let mut texts = headers.chain([&remote.name, &remote.url]);
            match texts.all(|text| is_plain(text)) && !remote.url.contains(' ') {
                true => Ok(json!(remote)),
                false => Err(OrderError::Refused(
                    "the name, `url` and `headers` of an MCP server of a network client hold no \
                     control characters and none of $ { } `, and do not begin with !: agents \
                     read variables, files and commands into that (in a `url`, $ can be %24)"
                        .to_owned(),
                )),
            }
        }
        Err(error) => Err(OrderError::Refused(format!(
            "an MCP server of a network client has `type` (http or sse), `name`, `url` and \
             `headers`; those that are commands are for the daemon's own user only: {error}"
        ))),
    }
}

/// Whether a URL is HTTP: no file of this machine, nor whatever else an agent may open.
fn is_web_address(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    ["http", "https"].iter().any(|one| scheme.eq_ignore_ascii_case(one))
}

/// Whether a text has nothing that an agent may expand: a variable, a file, a command.
fn is_plain(text: &str) -> bool {
    let is_odd = |c: char| c.is_control() || matches!(c, '$' | '{' | '}' | '`');
    !text.starts_with('!') && !text.contains(is_odd)
}

/// The real path of an existing directory, which must lie below one of `roots`.
fn real_dir(dir: &Path, roots: &[PathBuf]) -> Result<PathBuf, OrderError> {
    let bad = |why: String| OrderError::Bad(format!("cannot work in {}: {why}", dir.display()));
    if !dir.is_absolute() {
        return Err(bad("this is not an absolute path".to_owned()));
    }
    let found = dir.canonicalize();
    // Of what is outside nothing is revealed, not even whether it is there.
    let real = found.as_ref().map_or_else(|_| roots::resolve_path(dir), PathBuf::clone);
    let is_inside = |root: &PathBuf| root.canonicalize().is_ok_and(|root| real.starts_with(root));
    if !roots.is_empty() && !roots.iter().any(is_inside) {
        return Err(OrderError::Refused(format!(
            "{} is not inside the directories that the daemon may use",
            dir.display()
        )));
    }
    let real = found.map_err(|error| bad(error.to_string()))?;
    if !real.is_dir() {
        return Err(bad("this is no directory".to_owned()));
    }
    Ok(real)
}
