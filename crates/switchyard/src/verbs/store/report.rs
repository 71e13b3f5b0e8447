//! What `switchyard store …` says: text for people, JSON for scripts.

use std::fmt::Write as _;

use serde_json::{Value, json};
use store::maintenance::{
    CheckReport, CopyReport, KeptFiles, RepairReport, SessionFinding, WalDamage,
};

use crate::terminal::paint::Paint;
use crate::terminal::size::Size;

/// Sessions that are listed for a person; `--json` lists all.
const MAX_LISTED: usize = 50;

pub(super) fn check_json(found: &CheckReport) -> Value {
    json!({
        "sound": found.is_sound(),
        "sessions": found.n_sessions,
        "events": found.n_events,
        "bytes": found.bytes,
        "structureComplete": found.is_structure_complete,
        "structure": found.structure,
        "wal": wal_json(found.wal),
        "unreadableSlots": found.n_unreadable_slots,
        "damaged": findings_json(&found.findings),
    })
}

pub(super) fn copy_json(copied: &CopyReport) -> Value {
    json!({
        "sessions": copied.n_sessions,
        "events": copied.n_events,
        "bytes": copied.bytes,
        "damaged": findings_json(&copied.findings),
    })
}

pub(super) fn repair_json(repaired: &RepairReport) -> Value {
    let mut json = copy_json(&repaired.copied);
    json["repaired"] = json!(repaired.kept.is_some());
    json["keptIn"] = json!(repaired.kept.as_ref().map(|kept| &kept.dir));
    json["structure"] = json!(repaired.structure);
    json["wal"] = wal_json(repaired.wal);
    json
}

fn wal_json(wal: Option<WalDamage>) -> Value {
    match wal {
        Some(wal) => json!({ "damagedPages": wal.n_damaged, "pagesBehind": wal.n_behind }),
        None => Value::Null,
    }
}

fn findings_json(findings: &[SessionFinding]) -> Value {
    let one = |finding: &SessionFinding| {
        let problems: Vec<String> = finding.problems.iter().map(ToString::to_string).collect();
        json!({
            "session": finding.session.map(|id| id.to_string()),
            "problems": problems,
            "intactTo": finding.intact_to.map(|seq| seq.0),
            "lost": finding.is_lost(),
        })
    };
    findings.iter().map(one).collect()
}

pub(super) fn amount(copied: &CopyReport) -> String {
    amounts(copied.n_sessions, copied.n_events, copied.bytes)
}

fn amounts(sessions: u64, events: u64, bytes: u64) -> String {
    format!("{sessions} sessions, {events} events, {}", Size(bytes))
}

pub(super) fn check_text(found: &CheckReport, paint: Paint, way_out: &str) -> String {
    let mut text = amounts(found.n_sessions, found.n_events, found.bytes) + "\n";
    if found.n_unreadable_slots > 0 {
        let n = found.n_unreadable_slots;
        // Writing to a String cannot fail.
        _ = writeln!(
            text,
            "{n} slots of the second copy (`heads`) are damaged, which harms nobody"
        );
    }
    if !found.is_structure_complete {
        text += "the structure of the table of events was not checked, because the log is large \
                 and in use; --full checks it as well\n";
    }
    text += &damage(&found.structure, found.wal, paint);
    if found.wal.is_some() {
        text += "what lies behind is checked below; it is saved when the log is next opened, or by \
                 `switchyard store repair`\n";
    }
    text += &damaged(&found.findings, paint, "");
    if found.is_sound() {
        text += &paint.good("all is well\n");
    } else {
        _ = writeln!(text, "hint: {way_out}");
    }
    text
}

pub(super) fn repair_text(repaired: &RepairReport, paint: Paint) -> String {
    let findings = &repaired.copied.findings;
    if repaired.kept.is_none() && findings.is_empty() {
        return format!("nothing was wrong: {}\n", amount(&repaired.copied));
    }
    let mut text = damage(&repaired.structure, repaired.wal, paint);
    text += &damaged(findings, paint, "");
    if repaired.kept.is_some() {
        _ = writeln!(text, "{} {}", paint.good("saved"), amount(&repaired.copied));
        text += &kept(repaired.kept.as_ref());
    } else {
        _ = writeln!(text, "nothing else was wrong: {}", amount(&repaired.copied));
    }
    if !findings.is_empty() {
        text += "hint: if a backup has more of these sessions, `switchyard store restore FILE` goes \
                 back to it\n";
    }
    if findings.iter().any(SessionFinding::is_lost) {
        text +=
            "hint: what is lost is named until it is deleted: `switchyard sessions delete ID`\n";
    }
    text
}

fn damage(structure: &[String], wal: Option<WalDamage>, paint: Paint) -> String {
    let mut text = String::new();
    for complaint in structure {
        let line = projection::sanitize(complaint);
        _ = writeln!(text, "{} {line}", paint.bad("structure:"));
    }
    if let Some(wal) = wal {
        let (n, behind) = (wal.n_damaged, wal.n_behind);
        let label = paint.bad("write-ahead log:");
        _ = writeln!(text, "{label} {n} pages are damaged; {behind} intact ones lie behind them");
    }
    text
}

/// Each session with something wrong, and what can be done.
pub(super) fn damaged(findings: &[SessionFinding], paint: Paint, way_out: &str) -> String {
    let mut text = String::new();
    for finding in findings.iter().take(MAX_LISTED) {
        let name = finding.session.map_or_else(|| "?".to_owned(), |id| id.to_string());
        let problems: Vec<String> = finding.problems.iter().map(ToString::to_string).collect();
        let intact = finding.intact_to.map(|seq| format!("; events 1 to {} are intact", seq.0));
        let intact = intact.filter(|_| finding.intact_to.is_some_and(|seq| seq.0 > 0));
        _ = writeln!(
            text,
            "{} {}{}",
            paint.bad(&format!("session {name}:")),
            problems.join("; "),
            intact.unwrap_or_default()
        );
    }
    if findings.len() > MAX_LISTED {
        _ = writeln!(text, "and {} more; --json lists all", findings.len() - MAX_LISTED);
    }
    if !findings.is_empty() && !way_out.is_empty() {
        _ = writeln!(text, "hint: {way_out}");
    }
    text
}

pub(super) fn kept(kept: Option<&KeptFiles>) -> String {
    match kept {
        Some(kept) => format!(
            "the old files are in {}; delete them when you no longer need them\n",
            kept.dir.display()
        ),
        None => String::new(),
    }
}
