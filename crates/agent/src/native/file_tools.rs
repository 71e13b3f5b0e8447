//! The tools that look at files and change them.

mod apply_patch;
mod edit;
mod glob;
mod grep;
mod list;
mod read;
mod search;
mod write;

use std::sync::Arc;

use super::tool::Tool;

pub(super) fn all() -> Vec<Arc<Tool>> {
    vec![
        read::tool(),
        write::tool(),
        edit::tool(),
        apply_patch::tool(),
        list::tool(),
        glob::tool(),
        grep::tool(),
    ]
}
