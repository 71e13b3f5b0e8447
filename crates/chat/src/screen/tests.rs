use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use soak::PATIENCE;

use super::{IS_TAKEN, Screen, restore_terminal_on_panic};

#[test]
fn a_panic_anywhere_gives_the_terminal_back() {
    restore_terminal_on_panic();
    IS_TAKEN.store(true, Ordering::SeqCst);
    let panicked = std::thread::spawn(|| panic!("on purpose")).join();
    assert!(panicked.is_err() && !IS_TAKEN.load(Ordering::SeqCst));
}

/// A chat whose drawing is broken. The test below runs it at a terminal of its own.
#[test]
#[ignore = "takes the terminal"]
#[should_panic(expected = "drawing is broken")]
fn a_chat_that_cannot_draw() {
    let mut screen = Screen::take().unwrap();
    let _ = screen.draw(|_| panic!("drawing is broken"));
}

#[test]
fn a_panic_while_drawing_gives_a_real_terminal_back() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("bytes");
    let tmux = Tmux(dir.path().join("tmux.sock"));
    tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "/bin/sh", "-i"]);
    tmux.run(&["pipe-pane", &format!("cat > '{}'", record.display())]);
    tmux.wait("$");
    let exe = std::env::current_exe().unwrap();
    let broken = "--ignored --exact --nocapture screen::tests::a_chat_that_cannot_draw";
    let modes = "stty -a | tr ' ' '\\n' | grep -cxE 'icanon|echo|isig|opost'";
    let line = format!("'{}' {broken}; {modes}; echo back-$((40 + 2))", exe.display());
    tmux.run(&["send-keys", "-l", &line]);
    tmux.run(&["send-keys", "Enter"]);

    let screen = tmux.wait("back-42");
    assert_eq!(
        tmux.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]).trim(),
        "0 1"
    );
    assert!(screen.contains("\n4\n"), "{screen}");
    // What went wrong can be read.
    assert!(screen.contains("drawing is broken"), "{screen}");
    assert!(was_full_screen(&record));
}

fn was_full_screen(record: &Path) -> bool {
    let bytes = std::fs::read(record).unwrap_or_default();
    bytes.windows(8).any(|window| window == b"\x1b[?1049h")
}

struct Tmux(PathBuf);

impl Tmux {
    fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.0).args(words);
        command.env("TERM", "xterm-256color").env("PS1", "$ ").env("LC_ALL", "C.UTF-8");
        let output = command.env_remove("TMUX").env_remove("ENV").output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[track_caller]
    fn wait(&self, text: &str) -> String {
        let give_up_at = Instant::now() + PATIENCE;
        loop {
            let screen = self.run(&["capture-pane", "-p"]);
            // The line that was typed has the text as it was typed.
            if screen.lines().any(|line| line.trim() == text) {
                return screen;
            }
            assert!(Instant::now() < give_up_at, "no {text} on the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}
