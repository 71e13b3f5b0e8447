//! What is done to a file, in the words of rules.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::native) enum Deed {
    Read,
    Edit,
    Delete,
    Move,
}

impl Deed {
    /// As the kinds of tool calls are called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }

    /// What may not be done to it.
    pub(super) fn done(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "changed",
            Self::Delete => "deleted",
            Self::Move => "moved",
        }
    }
}
