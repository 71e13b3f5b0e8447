use std::sync::Condvar;

use super::*;

/// A disk that can be full and can hang.
#[derive(Clone, Default)]
struct Disk(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    written: String,
    is_full: bool,
    hangs: bool,
    n_reopened: usize,
}

impl Disk {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
    }

    fn wait(&self, until: impl Fn(&State) -> bool) {
        let guard = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(guard, soak::PATIENCE, |s| !until(s)).unwrap();
        assert!(!waited.1.timed_out());
    }

    fn written(&self) -> String {
        self.0.0.lock().unwrap().written.clone()
    }
}

impl LogSink for Disk {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let state = self.0.0.lock().unwrap();
        let mut state = self.0.1.wait_while(state, |state| state.hangs).unwrap();
        if state.is_full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        state.written.push_str(std::str::from_utf8(lines).unwrap());
        self.0.1.notify_all();
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.0.0.lock().unwrap().n_reopened += 1;
        self.0.1.notify_all();
        Ok(())
    }
}

fn writer(disk: &Disk) -> LogWriter {
    LogWriter::behind_queue(Box::new(disk.clone()), Paint::none(), |n| format!("lost {n}\n"))
        .unwrap()
}

#[test]
fn lines_arrive_in_order() {
    let disk = Disk::default();
    let writer = writer(&disk);
    let lines: Vec<String> = (0..1000).map(|n| format!("{n}\n")).collect();
    for line in &lines {
        writer.write(line.clone());
    }
    writer.flush(soak::PATIENCE);
    assert_eq!(disk.written(), lines.concat());
    assert_eq!(writer.n_dropped(), 0);
}

#[test]
fn a_full_disk_costs_lines_and_says_how_many() {
    let disk = Disk::default();
    let writer = writer(&disk);
    disk.set(|state| state.is_full = true);
    writer.write("a\n".into());
    writer.write("b\n".into());
    writer.flush(soak::PATIENCE);
    assert_eq!(writer.n_dropped(), 2);
    disk.set(|state| state.is_full = false);
    writer.write("c\n".into());
    writer.flush(soak::PATIENCE);
    assert_eq!(disk.written(), "lost 2\nc\n");
}

#[test]
fn a_disk_that_hangs_holds_nobody_up() {
    let disk = Disk::default();
    let writer = writer(&disk);
    disk.set(|state| state.hangs = true);
    let n_lines = MAX_QUEUED_LINES + MAX_BATCH + 500;
    for _ in 0..n_lines {
        writer.write("x\n".into());
    }
    let dropped = writer.n_dropped();
    assert!(dropped > 0);
    // Comes back although nothing can be written.
    writer.flush(Duration::from_millis(1));
    disk.set(|state| state.hangs = false);
    let n_kept = n_lines - usize::try_from(dropped).unwrap();
    disk.wait(|state| state.written.matches('x').count() == n_kept);
    writer.write("y\n".into());
    // All of them, though the thread may have begun to tell when some were still to come.
    let told = |line: &str| line.strip_prefix("lost ")?.parse::<u64>().ok();
    disk.wait(|state| state.written.lines().filter_map(told).sum::<u64>() == dropped);
}

#[test]
fn what_waits_is_bounded_in_bytes() {
    let disk = Disk::default();
    let writer = writer(&disk);
    disk.set(|state| state.hangs = true);
    let line = "x".repeat(MAX_QUEUED_BYTES / 4);
    for _ in 0..20 {
        writer.write(line.clone());
    }
    assert_eq!(writer.n_dropped(), 16);
    disk.set(|state| state.hangs = false);
}

#[test]
fn reopening_is_passed_on() {
    let disk = Disk::default();
    let writer = writer(&disk);
    writer.reopen();
    disk.wait(|state| state.n_reopened == 1);
}
