//! The checks by name.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    Text,
    Thinking,
    Allowed,
    Denied,
    Shell,
    Cancel,
    Http401,
    Http429,
    Http500,
    Resume,
    Model,
    Crash,
    OpenDesign,
}

pub const CHECKS: [Check; 13] = [
    Check::Text,
    Check::Thinking,
    Check::Allowed,
    Check::Denied,
    Check::Shell,
    Check::Cancel,
    Check::Http401,
    Check::Http429,
    Check::Http500,
    Check::Resume,
    Check::Model,
    Check::Crash,
    Check::OpenDesign,
];

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Shell => "shell",
            Self::Cancel => "cancel",
            Self::Http401 => "401",
            Self::Http429 => "429",
            Self::Http500 => "500",
            Self::Resume => "resume",
            Self::Model => "model",
            Self::Crash => "crash",
            Self::OpenDesign => "/api",
        })
    }
}
