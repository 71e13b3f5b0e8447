use std::sync::Mutex;

use super::*;

/// A log of its own, without the process's.
struct Stage {
    logging: Logging,
    subscriber: tracing::subscriber::DefaultGuard,
}

fn stage(asked: Option<Targets>) -> Stage {
    let way_out = LogOutput { format: LogFormat::Text, writer: Arc::new(LogWriter::stderr()) };
    let secrets = Secrets::default();
    let shared = Arc::new(LoggingState {
        secrets,
        output: RwLock::new(way_out),
        n_dropped_before: AtomicU64::new(0),
    });
    let errors = Targets::new().with_default(tracing::Level::ERROR);
    let (filter, handle) = reload::Layer::new(asked.clone().unwrap_or(errors));
    let lines = LogLayer(shared.clone()).with_filter(filter);
    let subscriber = tracing::subscriber::set_default(tracing_subscriber::registry().with(lines));
    Stage { logging: Logging { shared, filter: handle, override_filter: asked }, subscriber }
}

/// Filters are kept per call site in a process-wide cache; one at a time, please.
static ONE: Mutex<()> = Mutex::new(());

fn lines_of(path: &std::path::Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_daemons_lines_are_json_with_its_secrets_taken_out() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("daemon.log");
    let Stage { logging, subscriber } = stage(None);
    let table: LogTable = toml::from_str(&format!(
        "file = {:?}\nformat = \"json\"\nlevel = \"warn,switchyard=info\"",
        path.to_str().unwrap()
    ))
    .unwrap();
    logging.daemon(&table).unwrap();
    logging.secrets().register("tok-0123456789");
    tracing::info!(session = %"abc", n = 3, ok = true, text = "with tok-0123456789", "turn ended");
    tracing::debug!("not wanted");
    tracing::info!(token = "short", name = "evil\n{\"forged\":1}\u{1b}[31m", "client");
    logging.flush();
    drop(subscriber);
    let lines = lines_of(&path);
    assert_eq!(lines.len(), 2, "{lines:?}");
    let first: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(first["level"], "INFO");
    assert_eq!(first["target"], "switchyard::logging::tests");
    assert_eq!(first["message"], "turn ended");
    assert!(first["time"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    let fields = serde_json::json!({
        "session": "abc", "n": 3, "ok": true, "text": "with [redacted]",
    });
    assert_eq!(first["fields"], fields);
    let second: serde_json::Value = serde_json::from_str(&lines[1]).unwrap();
    assert_eq!(second["fields"]["token"], "[redacted]");
    assert_eq!(second["fields"]["name"], "evil\n{\"forged\":1}\u{1b}[31m");
    assert!(!lines[1].contains('\u{1b}'));
}

#[test]
fn the_command_line_wins_over_the_configured_level() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.log");
    let Stage { logging, subscriber } = stage(override_filter(2, None));
    let table =
        LogTable { file: Some(path.clone()), level: Some("error".into()), ..LogTable::default() };
    logging.daemon(&table).unwrap();
    tracing::debug!("heard");
    logging.flush();
    drop(subscriber);
    assert_eq!(lines_of(&path).len(), 1);
}

#[test]
fn what_cannot_be_configured_is_told() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Stage { logging, subscriber: _subscriber } = stage(None);
    let table = LogTable { level: Some("loud=very".into()), ..LogTable::default() };
    assert!(logging.daemon(&table).unwrap_err().to_string().contains("loud=very"));
    let table = LogTable { file: Some("/nonexistent/x.log".into()), ..LogTable::default() };
    let error = format!("{:#}", logging.daemon(&table).unwrap_err());
    assert!(error.contains("cannot log to /nonexistent/x.log"), "{error}");
    assert!(toml::from_str::<LogTable>("format = \"xml\"").is_err());
    assert!(toml::from_str::<LogTable>("colour = true").is_err());
}

#[test]
fn verbosity_is_a_level_and_the_variable_comes_second() {
    let level = |asked: Option<Targets>| asked.and_then(|targets| targets.default_level());
    use tracing_subscriber::filter::LevelFilter;
    assert_eq!(level(override_filter(0, None)), None);
    assert_eq!(level(override_filter(0, Some(String::new()))), None);
    assert_eq!(level(override_filter(0, Some("warn".into()))), Some(LevelFilter::WARN));
    assert_eq!(level(override_filter(1, Some("warn".into()))), Some(LevelFilter::INFO));
    assert_eq!(level(override_filter(9, None)), Some(LevelFilter::TRACE));
}
