//! `serve --open`: the login link in the user's browser.
//!
//! In: the link. Out: a browser that shows the page, logged in; or a line that says why not.
//!
//! Command lines can be read by every user of the machine, and whoever has the link first is
//! logged in. So the browser is given a private file that leads to the link, not the link.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

use crate::terminal;

/// The program that opens a file or an address the way the user wants it.
const OPENER: &str = "xdg-open";

/// How long the opener is waited for: some stay for as long as the browser does, and errors come
/// sooner.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// The private file that redirects to the link; removed with the value.
#[derive(Debug)]
pub(super) struct BrowserLaunch {
    path: PathBuf,
}

impl BrowserLaunch {
    /// Opens the browser, and says so when that fails. Does not wait for it.
    pub(super) fn start(run: &Path, link: &str) -> Self {
        let path = run.join("open.html");
        let written = write(&path, link);
        let written = written.with_context(|| format!("cannot write {}", path.display()));
        let opened = path.clone();
        task::spawn(async move {
            let opening = async {
                written?;
                open(&opened).await
            };
            if let Err(error) = opening.await {
                terminal::say(&format!("{error:#}\nhint: open the link above in a browser"));
            }
        });
        Self { path }
    }
}

impl Drop for BrowserLaunch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn write(path: &Path, link: &str) -> std::io::Result<()> {
    // A file that a killed daemon left behind, or of another mode.
    let _ = std::fs::remove_file(path);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    // The link has no letter that means anything in HTML.
    file.write_all(
        format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Switchyard</title>\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"refresh\" content=\"0; url={link}\">\n\
             <p><a href=\"{link}\">Switchyard</a></p>\n"
        )
        .as_bytes(),
    )
}

async fn open(path: &Path) -> Result<()> {
    let mut opener = Command::new(OPENER)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A browser that it starts is not ours: Ctrl-C here must not end it.
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start `{OPENER}`"))?;
    match tokio::time::timeout(ANSWERS_WITHIN, opener.wait()).await {
        Ok(Ok(status)) if !status.success() => bail!("`{OPENER}` ended with {status}"),
        _ => Ok(()),
    }
}
