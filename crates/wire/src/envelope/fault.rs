//! Errors of lines that are no messages.

/// The error at which the scan of a line stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanFault {
    CutOff,
    BadValue,
    BadString,
    BadNumber,
    BadObject,
    BadArray,
    Followed,
    TooDeep,
    Batch,
    NoObject,
    Twice,
}

impl ScanFault {
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::CutOff => "the line ends inside a value",
            Self::BadValue => "a value is not JSON",
            Self::BadString => "a string is not JSON",
            Self::BadNumber => "a number is not JSON",
            Self::BadObject => "an object is not JSON",
            Self::BadArray => "an array is not JSON",
            Self::Followed => "something follows the message",
            Self::TooDeep => "it is nested too deeply",
            Self::Batch => "batches are not supported",
            Self::NoObject => "it is not an object",
            Self::Twice => "a member occurs twice",
        }
    }

    /// Whether the line is not even JSON.
    pub(super) fn is_parse_error(self) -> bool {
        !matches!(self, Self::TooDeep | Self::Batch | Self::NoObject | Self::Twice)
    }
}
