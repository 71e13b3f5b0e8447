//! Instructions per message in the switch: the same on a busy machine as on a quiet one, so
//! that a regression shows.
//!
//! callgrind counts a fixed load at two lengths; the difference is the switch alone. The
//! figures are compared with those recorded in `instructions.txt`, which change with the code,
//! the compiler and, a little, the machine.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt");
/// The tolerated change; less than this comes and goes with the compiler.
const DRIFT_PERCENT: f64 = 5.0;

struct Load {
    name: &'static str,
    arguments: &'static [&'static str],
    /// The shorter of the two runs; the other is twice as long.
    n_batches: usize,
}

const LOADS: [Load; 3] = [
    Load { name: "request_and_answer_200_b", arguments: &["--bytes", "200"], n_batches: 8 },
    Load { name: "request_and_answer_16_kib", arguments: &["--bytes", "16384"], n_batches: 2 },
    Load { name: "update_200_b", arguments: &["--updates", "--bytes", "200"], n_batches: 8 },
];

pub(crate) fn run(is_to_record: bool) -> anyhow::Result<()> {
    println!();
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("Instructions per message: not counted, valgrind is not here.");
        println!("hint: apt-get install valgrind");
        return Ok(());
    }
    let program = std::env::current_exe()?.with_file_name("bus-instructions");
    let recorded = read(&fs::read_to_string(RECORDED).unwrap_or_default());
    let mut found = BTreeMap::new();
    println!("{:<32} {:>12} {:>12}", "Instructions per message", "recorded", "now");
    for load in &LOADS {
        let n = per_message(&program, load)?;
        found.insert(load.name.to_owned(), n);
        match recorded.get(load.name) {
            Some(before) => {
                println!("{:<32} {before:>12.0} {n:>12.0}  {}", load.name, drift(*before, n));
            }
            None => println!("{:<32} {:>12} {n:>12.0}", load.name, "-"),
        }
    }
    if is_to_record {
        fs::write(RECORDED, text(&found)).with_context(|| format!("cannot write {RECORDED}"))?;
        println!("recorded in {RECORDED}");
    }
    Ok(())
}

fn per_message(program: &Path, load: &Load) -> anyhow::Result<f64> {
    let short = count(program, load, load.n_batches)?;
    let long = count(program, load, 2 * load.n_batches)?;
    Ok((long.n_instructions - short.n_instructions) / (long.n_messages - short.n_messages))
}

struct Count {
    n_instructions: f64,
    n_messages: f64,
}

fn count(program: &Path, load: &Load, n_played: usize) -> anyhow::Result<Count> {
    // Kept: `callgrind_annotate` tells where the instructions are.
    let profile = program.with_file_name(format!("callgrind.{}.out", load.name));
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--tool=callgrind");
    // Where the processor copies strings by itself, glibc lets it, and every byte would count
    // as an instruction; elsewhere it does not.
    valgrind.env("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1000000000");
    valgrind.arg(format!("--callgrind-out-file={}", profile.display()));
    valgrind.arg(program).args(load.arguments);
    valgrind.args(["--made", &(2 * load.n_batches).to_string()]);
    valgrind.args(["--played", &n_played.to_string()]);
    let output = valgrind.output().context("cannot run valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "valgrind: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, n_instructions) = collected.context("valgrind has counted nothing")?;
    let n_messages = String::from_utf8_lossy(&output.stdout);
    Ok(Count {
        n_instructions: n_instructions.trim().parse()?,
        n_messages: n_messages.trim().parse()?,
    })
}

fn drift(before: f64, now: f64) -> String {
    let percent = (now / before - 1.0) * 100.0;
    let mark = if percent.abs() > DRIFT_PERCENT { " (DRIFT)" } else { "" };
    format!("{percent:+.1} %{mark}")
}

fn read(text: &str) -> BTreeMap<String, f64> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(char::is_whitespace))
        .filter_map(|(name, n)| Some((name.to_owned(), n.trim().parse().ok()?)))
        .collect()
}

fn text(found: &BTreeMap<String, f64>) -> String {
    let mut text = String::from(
        "# Instructions per message in the switch, as callgrind counts them. Record them anew\n\
         # with `make bench BENCH=\"instructions --record\"` when a change of them is meant.\n",
    );
    for (name, n) in found {
        let _ = writeln!(text, "{name} {n:.0}");
    }
    text
}

#[cfg(test)]
mod tests;
