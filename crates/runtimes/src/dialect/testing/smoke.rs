//! Everything that is fuzzed, tried for a moment: from each seed, and from spoilt ones.
//!
//! The same cases every time. `SOAK=full` tries more of them; `make fuzz` looks for new ones.

mod seeds;

use std::ffi::OsString;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use super::fuzz;

/// Cases a target, beside its seeds: all targets together take about a second.
const N_CASES: u64 = 60;
const N_CASES_FULL: u64 = 10_000;
/// Seeds a target, the shortest ones; a full run has them all.
const N_SEEDS: usize = 24;
/// What is shown of an input that broke something; it is kept whole.
const MAX_SHOWN_BYTES: usize = 2000;

#[test]
fn nothing_that_is_fuzzed_breaks_on_spoilt_recordings() {
    for (name, _) in fuzz::TARGETS {
        let mut seeds = seeds::of(name);
        seeds.sort_by_key(Vec::len);
        seeds.truncate(soak::size(N_SEEDS, usize::MAX));
        for (n, seed) in seeds.iter().enumerate() {
            run(name, &format!("seed-{n}"), seed);
        }
        for n in 0..soak::size(N_CASES, N_CASES_FULL) {
            run(name, &format!("case-{n}"), &spoilt(&seeds, &mut Dice::new(n)));
        }
    }
}

#[test]
fn everything_that_is_fuzzed_has_its_program() {
    let files = std::fs::read_dir(fuzz_dir().join("fuzz_targets")).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    let mut names = fuzz::TARGETS.map(|(name, _)| OsString::from(format!("{name}.rs")));
    names.sort();
    assert_eq!(files, names);
}

#[test]
#[ignore = "no test: writes what `make fuzz` starts from"]
fn seeds_for_fuzzing() {
    for (name, _) in fuzz::TARGETS {
        let (corpus, seeds) = (fuzz_dir().join("corpus").join(name), seeds::of(name));
        std::fs::create_dir_all(&corpus).unwrap();
        for (n, seed) in seeds.iter().enumerate() {
            std::fs::write(corpus.join(format!("seed-{n}")), seed).unwrap();
        }
        let dictionary = fuzz_dir().join("corpus").join(format!("{name}.dict"));
        std::fs::write(dictionary, seeds::dictionary(&seeds)).unwrap();
    }
}

/// Where it fails, the input is kept as a fuzzer would keep it.
fn run(name: &str, case: &str, input: &[u8]) {
    if catch_unwind(|| fuzz::run(name, input)).is_ok() {
        return;
    }
    let dir = fuzz_dir().join("artifacts").join(name);
    let kept = std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(dir.join(case), input));
    let begin = &input[..input.len().min(MAX_SHOWN_BYTES)];
    panic!(
        "{name} broke at {case} (kept in fuzz/artifacts/{name}: {kept:?}), {} bytes: {}",
        input.len(),
        begin.escape_ascii()
    );
}

fn fuzz_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// One of the seeds with something done to it, and steps at its end that nobody planned.
fn spoilt(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = dice.one_of(seeds).clone();
    for _ in 0..=dice.below(3) {
        let part = dice.range(bytes.len());
        match dice.below(6) {
            0 if !part.is_empty() => bytes[part.start] ^= 1 << dice.below(8),
            1 if !part.is_empty() => bytes[part.start] = *dice.one_of(b"\n\r\"\\{}[],:0e\x1b\xff"),
            2 => drop(bytes.drain(part)),
            3 => {
                let doubled = bytes[part.clone()].to_vec();
                bytes.splice(part.end..part.end, doubled);
            }
            4 => {
                let other = dice.one_of(seeds);
                bytes.splice(part, other[dice.range(other.len())].iter().copied());
            }
            _ => bytes.truncate(part.end),
        }
    }
    bytes.extend((0..dice.below(24)).map(|_| dice.byte()));
    bytes
}

/// Numbers that look random and are the same every time (xorshift64*).
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        // Its state must not be zero, and neighbours should not begin alike.
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(drawn).unwrap() % end
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A part of something this long: mostly short, at times all that follows.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let most = if self.below(4) == 0 { len } else { 64 };
        start..(start + self.below(most + 1)).min(len)
    }
}
