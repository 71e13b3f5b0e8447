//! What an agent counts when it counts tokens.

use serde::{Deserialize, Serialize};

/// The requests to a model that an agent's token counts at the end of a turn cover.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenScope {
    #[default]
    Turn,
    /// The turn's last request; of the others nothing is known.
    LastCall,
    /// All turns so far, whichever process took them.
    Session,
    /// All turns since this process has the session.
    Process,
}
