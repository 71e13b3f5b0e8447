//! The frames of a write-ahead log whose process is gone, also those that `SQLite` would drop.
//!
//! `SQLite` reads such a log up to the first frame that does not match its checksum and drops all
//! behind it without a word, because each checksum covers the frames before. But every frame tells
//! its own, so each one behind a damaged one can still be proven by the one before it. A log without
//! the damaged frames is what [`mend`] writes: old versions of these few pages take their place,
//! which the checksums of records and events then show.
//!
//! The format is that of <https://www.sqlite.org/fileformat2.html#walformat>.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::{StoreError, private_file};

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The magic number without its last bit, which says how the words of the checksums are stored.
const MAGIC: u32 = 0x377f_0682;
/// Of a header that cannot be read; `SQLite`'s default, which we never change.
const USUAL_PAGE: usize = 4096;

/// Damage that `SQLite` would answer by dropping more than what is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalDamage {
    /// Pages that do not match their checksum, or of which that is damaged.
    pub n_damaged: u64,
    /// Intact pages behind the first of those, all committed.
    pub n_behind: u64,
}

type Checksum = (u32, u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Intact,
    /// Only its checksum is damaged, which the next frame proves. `SQLite` ends its reading here.
    WrongSum,
    Damaged,
}

/// Which frames are intact, and what the header says.
struct WalScan {
    is_big_endian: bool,
    page: usize,
    /// Up to the last commit.
    frames: Vec<Frame>,
    salts: [u8; 8],
    header: [u8; HEADER],
    is_header_damaged: bool,
}

/// Looks at the log at `path`, which nobody may have open. `None` if there is none, or all of it is
/// what `SQLite` reads as well.
pub(super) fn damage(path: &Path) -> Result<Option<WalDamage>, StoreError> {
    let Some(scan) = scan(path)? else { return Ok(None) };
    let count = |frames: &[Frame], of: fn(&Frame) -> bool| {
        frames.iter().filter(|frame| of(frame)).count() as u64
    };
    let first_bad = scan.frames.iter().position(|frame| *frame != Frame::Intact);
    let start = if scan.is_header_damaged { Some(0) } else { first_bad };
    Ok(start.map(|start| WalDamage {
        n_damaged: count(&scan.frames, |frame| *frame != Frame::Intact),
        n_behind: count(&scan.frames[start..], |frame| *frame != Frame::Damaged),
    }))
}

/// Writes a log to `target` that has all intact frames of the one at `path`.
pub(super) fn mend(path: &Path, target: &Path) -> Result<(), StoreError> {
    let Some(scan) = scan(path)? else { return Ok(()) };
    let written = write_mended(&scan, path, target);
    written.map_err(StoreError::io("write", target))
}

fn write_mended(scan: &WalScan, path: &Path, target: &Path) -> std::io::Result<()> {
    let mut source = BufReader::new(File::open(path)?);
    source.seek(SeekFrom::Start(HEADER as u64))?;
    let file = private_file::open(target).map_err(|error| std::io::Error::other(error.to_string()));
    let file = file?;
    file.set_len(0)?;
    let mut out = BufWriter::new(file);
    let mut header = scan.header;
    header[..4].copy_from_slice(&(MAGIC | u32::from(scan.is_big_endian)).to_be_bytes());
    header[4..8].copy_from_slice(&3_007_000_u32.to_be_bytes());
    let page = u32::try_from(scan.page).unwrap_or_default();
    header[8..12].copy_from_slice(&page.to_be_bytes());
    header[16..24].copy_from_slice(&scan.salts);
    let mut sum = add((0, 0), &header[..24], scan.is_big_endian);
    put(&mut header[24..], sum);
    out.write_all(&header)?;
    let mut frame = vec![0; FRAME_HEADER + scan.page];
    for found in &scan.frames {
        source.read_exact(&mut frame)?;
        if *found == Frame::Damaged {
            continue;
        }
        sum = frame_sum(sum, &frame, scan.is_big_endian);
        put(&mut frame[16..24], sum);
        out.write_all(&frame)?;
    }
    out.flush()
}

fn scan(path: &Path) -> Result<Option<WalScan>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("open", path)(error)),
    };
    scan_file(file).map_err(StoreError::io("read", path))
}

fn scan_file(file: File) -> std::io::Result<Option<WalScan>> {
    let len = file.metadata()?.len();
    let mut source = BufReader::new(file);
    let mut header = [0; HEADER];
    if len < (HEADER + FRAME_HEADER) as u64 {
        return Ok(None);
    }
    source.read_exact(&mut header)?;
    let is_plain = |is_big_endian: bool| {
        word(&header, 0) == MAGIC | u32::from(is_big_endian)
            && add((0, 0), &header[..24], is_big_endian) == (word(&header, 24), word(&header, 28))
    };
    let sound = [false, true].into_iter().find(|is_big_endian| is_plain(*is_big_endian));
    let size = usize::try_from(word(&header, 8)).unwrap_or_default();
    let is_size = size.is_power_of_two() && (512..=65_536).contains(&size);
    // Nearly all machines are little-endian; where the header cannot say so, this is tried.
    let mut scan = WalScan {
        is_big_endian: sound.unwrap_or(cfg!(target_endian = "big")),
        page: if sound.is_some() && is_size { size } else { USUAL_PAGE },
        frames: Vec::new(),
        salts: header[16..24].try_into().unwrap_or_default(),
        header,
        is_header_damaged: sound.is_none(),
    };
    let mut frame = vec![0; FRAME_HEADER + scan.page];
    let (mut n_committed, mut stored) = (0, (word(&header, 24), word(&header, 28)));
    let mut computed = add((0, 0), &header[..24], scan.is_big_endian);
    while read_whole(&mut source, &mut frame)? {
        if scan.is_header_damaged && scan.frames.is_empty() {
            scan.salts = frame[8..16].try_into().unwrap_or_default();
        }
        let own = (word(&frame, 16), word(&frame, 20));
        let from_stored = frame_sum(stored, &frame, scan.is_big_endian);
        let from_computed = frame_sum(computed, &frame, scan.is_big_endian);
        let is_of_this_log = frame[8..16] == scan.salts;
        let is_intact = is_of_this_log && (own == from_stored || own == from_computed);
        if is_intact && own != from_stored {
            // Only the checksum of the one before was damaged, and this one proves that.
            if let Some(before) = scan.frames.last_mut() {
                *before = Frame::WrongSum;
            }
        }
        // If this frame's own checksum is what was damaged, the next one matches the computed.
        computed = if own == from_computed { from_computed } else { from_stored };
        stored = own;
        scan.frames.push(if is_intact { Frame::Intact } else { Frame::Damaged });
        if is_intact && word(&frame, 4) != 0 {
            n_committed = scan.frames.len();
        }
    }
    scan.frames.truncate(n_committed);
    Ok((n_committed > 0).then_some(scan))
}

/// False at the end, also if only a part of a frame is left.
fn read_whole(source: &mut impl Read, frame: &mut [u8]) -> std::io::Result<bool> {
    match source.read_exact(frame) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The checksum of a frame: its page number, the size after a commit, and the page.
fn frame_sum(before: Checksum, frame: &[u8], is_big_endian: bool) -> Checksum {
    add(add(before, &frame[..8], is_big_endian), &frame[FRAME_HEADER..], is_big_endian)
}

fn add((mut first, mut second): Checksum, bytes: &[u8], is_big_endian: bool) -> Checksum {
    let number = |bytes: &[u8]| {
        let bytes = bytes.try_into().unwrap_or_default();
        if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(number(&pair[..4])).wrapping_add(second);
        second = second.wrapping_add(number(&pair[4..])).wrapping_add(first);
    }
    (first, second)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}

fn put(target: &mut [u8], (first, second): Checksum) {
    target[..4].copy_from_slice(&first.to_be_bytes());
    target[4..8].copy_from_slice(&second.to_be_bytes());
}
