//! `switchyard config …`.

pub(crate) mod show;
