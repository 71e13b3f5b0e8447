//! A terminal for tests: tmux with one pane, in which a shell runs.

use std::path::PathBuf;
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

use testkit::test_home::{PATIENCE, TestHome, wait_until};

/// A shell in a terminal of its own; ended with the value.
pub(crate) struct Pane<'a> {
    home: &'a TestHome,
    socket: PathBuf,
    /// Every byte that was written to the terminal.
    pub(crate) record: PathBuf,
}

impl<'a> Pane<'a> {
    pub(crate) fn open(home: &'a TestHome, columns: u16, rows: u16) -> Self {
        // Several may be open at a time.
        static N_OPENED: AtomicU32 = AtomicU32::new(0);
        let n = N_OPENED.fetch_add(1, Ordering::Relaxed);
        let socket = home.path().join(format!("tmux-{n}.sock"));
        let record = home.path().join(format!("terminal-{n}.bytes"));
        let pane = Self { home, socket, record };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        pane.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            "/bin/sh",
            "-i",
        ]);
        pane.tmux(&["set-option", "-g", "escape-time", "10"]);
        let pipe = format!("cat > '{}'", pane.record.display());
        pane.tmux(&["pipe-pane", &pipe]);
        pane.wait_for("$");
        pane
    }

    /// A pane in which a chat has begun.
    pub(crate) fn chat(home: &'a TestHome, words: &str) -> Self {
        let pane = Self::open(home, 100, 30);
        pane.line(&format!("\"$EXE\" chat {words}"));
        pane.wait_for("type a prompt");
        pane
    }

    fn tmux(&self, words: &[&str]) -> Output {
        let socket = self.socket.to_str().unwrap();
        let first = ["-S", socket];
        let all = first.iter().chain(words);
        let mut command = self.home.other("tmux", all);
        command.env("EXE", self.home.exe()).env("PS1", "$ ").env("TERM", "xterm-256color");
        command.env_remove("TMUX").env_remove("ENV").env("LC_ALL", "C.UTF-8");
        let output = command.output().unwrap();
        assert!(output.status.success(), "tmux {words:?}: {output:?}");
        output
    }

    pub(crate) fn ask(&self, format: &str) -> String {
        let output = self.tmux(&["display-message", "-p", format]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Presses keys by their names.
    pub(crate) fn press(&self, keys: &[&str]) {
        let words: Vec<&str> = ["send-keys"].iter().chain(keys).copied().collect();
        self.tmux(&words);
    }

    /// Types a text as it is.
    pub(crate) fn type_in(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    pub(crate) fn line(&self, text: &str) {
        self.type_in(text);
        self.press(&["Enter"]);
    }

    /// Pastes as a terminal does.
    pub(crate) fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// Pastes as a terminal does that cannot say that it is pasting.
    pub(crate) fn paste_as_keys(&self, text: &str) {
        self.tmux(&["set-buffer", text]);
        self.tmux(&["paste-buffer"]);
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait(&format!("{text:?}"), |screen| screen.contains(text))
    }

    #[track_caller]
    pub(crate) fn wait(&self, what: &str, mut is_so: impl FnMut(&str) -> bool) -> String {
        let mut screen = String::new();
        let came = wait_until(PATIENCE, || {
            screen = self.screen();
            is_so(&screen)
        });
        assert!(came, "no {what} on the screen:\n{screen}");
        screen
    }

    /// The terminal is as a shell wants it: lines, echo, a cursor, the first screen.
    #[track_caller]
    pub(crate) fn assert_given_back(&self) {
        let is_back = || self.ask("#{alternate_on} #{cursor_flag} #{bracketed_paste_flag}");
        let came = wait_until(PATIENCE, || {
            let flags = is_back();
            // Old versions of tmux know no flag of pasting.
            flags == "0 1 0" || flags == "0 1"
        });
        assert!(came, "{}\n{}", is_back(), self.screen());
        self.wait("prompt of the shell", |screen| screen.trim_end().ends_with('$'));
        self.line(
            "stty -a | tr ' ' '\\n' | grep -cxE 'icanon|echo|isig|opost'; echo given-$((40 + 2))",
        );
        let screen = self.wait_for("given-42");
        assert!(screen.contains("\n4\n"), "{screen}");
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        let socket = self.socket.to_str().unwrap_or_default().to_owned();
        let _ = self.home.other("tmux", ["-S", &socket, "kill-server"]).output();
    }
}
