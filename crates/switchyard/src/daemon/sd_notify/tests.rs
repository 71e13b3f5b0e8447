use std::time::Instant;

use super::*;

struct Manager(UnixDatagram);

impl Manager {
    fn next(&self) -> String {
        let mut buffer = [0; 4096];
        self.0.set_read_timeout(Some(soak::PATIENCE)).unwrap();
        let n = self.0.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..n].to_vec()).unwrap()
    }
}

fn by_path(watchdog: Option<Duration>) -> (Manager, ServiceManager, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notify");
    let manager = Manager(UnixDatagram::bind(&path).unwrap());
    (manager, ServiceManager::to(path.as_os_str(), watchdog).unwrap(), dir)
}

#[test]
fn each_change_is_one_message() {
    let (manager, notify, _dir) = by_path(None);
    notify.ready("http://127.0.0.1:7433");
    assert_eq!(manager.next(), "READY=1\nSTATUS=http://127.0.0.1:7433\n");
    notify.stopping("waiting for 2 turns");
    assert_eq!(manager.next(), "STOPPING=1\nSTATUS=waiting for 2 turns\n");
}

#[test]
fn reloading_carries_the_time_that_systemd_compares_with() {
    let (manager, notify, _dir) = by_path(None);
    notify.reloading();
    let said = manager.next();
    let micros = said.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
    let micros: u64 = micros.trim_end().parse().unwrap();
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    // Both clocks start with the machine; one of them also counts its sleep.
    assert!(micros > 0);
    #[allow(clippy::cast_precision_loss, reason = "far below the limit")]
    let seconds = micros as f64 / 1e6;
    assert!(seconds <= uptime + 1.0, "{seconds} {uptime}");
}

#[test]
fn a_status_cannot_smuggle_another_message_in() {
    let (manager, notify, _dir) = by_path(None);
    notify.ready("fine\nSTOPPING=1");
    assert_eq!(manager.next(), "READY=1\nSTATUS=fine\\nSTOPPING=1\n");
}

#[test]
fn an_abstract_socket_is_reached_too() {
    let name = format!("switchyard-test-{}-{:?}", std::process::id(), Instant::now());
    let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
    let manager = Manager(UnixDatagram::bind_addr(&address).unwrap());
    let notify = ServiceManager::to(OsStr::new(&format!("@{name}")), None).unwrap();
    notify.ready("here");
    assert_eq!(manager.next(), "READY=1\nSTATUS=here\n");
}

#[test]
fn nobody_there_is_no_trouble() {
    ServiceManager::default().ready("nobody");
    let gone = ServiceManager::to(OsStr::new("/nonexistent/notify"), None).unwrap();
    gone.ready("nobody");
    assert!(ServiceManager::to(OsStr::new("vsock:2:3"), None).is_err());
}

#[tokio::test]
async fn the_watchdog_hears_of_us_again_and_again() {
    let (manager, notify, _dir) = by_path(Some(Duration::from_millis(20)));
    let heard = tokio::task::spawn_blocking(move || [manager.next(), manager.next()]);
    tokio::select! {
        () = notify.keep_watchdog() => unreachable!("it goes on for ever"),
        heard = heard => assert_eq!(heard.unwrap(), ["WATCHDOG=1\n", "WATCHDOG=1\n"]),
    }
}

#[test]
fn a_watchdog_for_another_process_is_not_ours() {
    let micros = || Some("4000000".to_owned());
    let own = std::process::id();
    assert_eq!(watchdog(micros(), None), Some(Duration::from_secs(4)));
    assert_eq!(watchdog(micros(), Some(own.to_string())), Some(Duration::from_secs(4)));
    assert_eq!(watchdog(micros(), Some((own + 1).to_string())), None);
    assert_eq!(watchdog(Some("0".into()), None), None);
    assert_eq!(watchdog(Some("soon".into()), None), None);
    assert_eq!(watchdog(None, None), None);
}
