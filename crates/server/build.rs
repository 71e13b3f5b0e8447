//! Puts the page into the crate: every file of `web/dist`, as a table for `src/page/built.rs`.
//!
//! In: `web/dist`, which `make web` makes, with compressed copies (`.br`, `.gz`) beside the
//! files that gain by it. Out: `$OUT_DIR/page.rs`. Where there is no page yet, a small one that
//! says how to get it takes its place, so that `cargo build` needs nothing but Rust.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let web = own.join("../../web");
    let dist = web.join("dist");
    let is_built = dist.join("index.html").is_file();
    let source = if is_built { dist.clone() } else { own.join("assets/no-page") };
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=assets/no-page");
    // A path that is missing counts as changed each time; what is above it does not.
    let watched = [dist, web, own.join("../../Cargo.toml")].into_iter().find(|path| path.exists());
    if let Some(watched) = watched {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let table = table(&source.canonicalize()?, is_built)?;
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("page.rs"), table)
}

fn table(source: &Path, is_built: bool) -> io::Result<String> {
    let mut files = Vec::new();
    collect(source, &mut files)?;
    files.sort();
    let mut text = format!("const IS_BUILT: bool = {is_built};\n");
    text.push_str("static FILES: &[PageFile] = &[\n");
    for file in files.iter().filter(|file| !is_copy(file)) {
        let path = file.strip_prefix(source).unwrap_or(file);
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(file)?);
        let (path, digest) = (path.display().to_string(), format!("{:016x}", hasher.finish()));
        let (brotli, gzip) = (copy(file, "br"), copy(file, "gz"));
        let plain = include_bytes_of(file);
        let _ = writeln!(
            text,
            "    PageFile {{ path: {path:?}, digest: {digest:?}, plain: {plain}, brotli: {brotli}, gzip: {gzip} }},"
        );
    }
    text.push_str("];\n");
    Ok(text)
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Whether it is the compressed copy of a file beside it.
fn is_copy(file: &Path) -> bool {
    let is_packed =
        file.extension().is_some_and(|extension| extension == "br" || extension == "gz");
    is_packed && file.with_extension("").is_file()
}

fn copy(file: &Path, extension: &str) -> String {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{extension}"));
    let copy = PathBuf::from(name);
    if copy.is_file() { format!("Some({})", include_bytes_of(&copy)) } else { "None".to_owned() }
}

fn include_bytes_of(file: &Path) -> String {
    format!("include_bytes!({:?})", file.display().to_string())
}
