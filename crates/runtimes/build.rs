//! Checks every shipped runtime definition, and makes the list that the crate embeds.
//!
//! In: `definitions/*.toml`. Out: `shipped.rs`, an array of (file name, text). The checks are
//! the crate's own source, so a definition that builds is one that
//! [`catalogue`](../src/catalogue.rs) accepts.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "the crate uses more than a build")]
#![allow(clippy::print_stdout, reason = "cargo reads it")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "../wire/src/permission_mode.rs"]
mod permission_mode;
#[path = "../wire/src/token_scope.rs"]
mod token_scope;

// An inline module with a path, so that `definition.rs` finds its own modules below `src`.
#[path = "src"]
mod runtimes {
    pub mod argument_checks;
    pub mod definition;
    pub mod dialect {
        mod shared_types;
        pub use crate::permission_mode::PermissionMode;
        pub use crate::token_scope::TokenScope;
        pub use shared_types::{DialectName, Model};
    }
}

use runtimes::definition::RuntimeDefinition;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=definitions");
    println!("cargo::rerun-if-changed=src/argument_checks.rs");
    println!("cargo::rerun-if-changed=src/definition.rs");
    println!("cargo::rerun-if-changed=src/definition");
    println!("cargo::rerun-if-changed=src/dialect/shared_types.rs");
    println!("cargo::rerun-if-changed=../wire/src/permission_mode.rs");
    println!("cargo::rerun-if-changed=../wire/src/token_scope.rs");

    let mut list = String::from("[\n");
    let mut owners: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in files(Path::new("definitions"))? {
        let definition = RuntimeDefinition::parse(&fs::read_to_string(&path)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if stem != definition.id {
            return Err(format!("{}: its id is `{}`", path.display(), definition.id).into());
        }
        for name in definition.aliases.iter().chain([&definition.id]) {
            if let Some(other) = owners.insert(name.clone(), path.clone()) {
                let (here, there) = (path.display(), other.display());
                return Err(format!("{here}: the name `{name}` is taken by {there}").into());
            }
        }
        let absolute = fs::canonicalize(&path)?;
        let absolute = absolute.to_str().ok_or("the path of the source is not UTF-8")?;
        writeln!(list, "    ({stem:?}, include_str!({absolute:?})),")?;
    }
    list.push_str("]\n");
    let out = std::env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("shipped.rs"), list)?;
    Ok(())
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
