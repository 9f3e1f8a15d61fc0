//! Whether a session is trusted here, according to its signature.

use std::fmt;

/// The result of checking the signature of a log, a journal or an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seal {
    /// Written by this person's Rapport in this checkout, or trusted by this person as it is.
    Ours,
    /// Written by this team mate, in a checkout that is trusted here.
    By(String),
    /// Written by this team mate, in a checkout that is not trusted here yet.
    Offered(String),
    /// Written by this person's Rapport in another checkout.
    Elsewhere,
    /// Not signed: written by a version without signatures, or by another program.
    Unsigned,
    /// Signed by an unknown key, or changed after signing.
    Unknown,
    /// The log is this person's, but these turns beside it are not: they came from elsewhere.
    Added(Vec<String>),
    /// Shorter than it was, or replaced by another one.
    RolledBack,
}

impl Seal {
    /// Whether it is trusted to start anything.
    pub fn counts(&self) -> bool {
        match self {
            Seal::Ours | Seal::By(_) => true,
            Seal::Offered(_)
            | Seal::Elsewhere
            | Seal::Unsigned
            | Seal::Unknown
            | Seal::Added(_)
            | Seal::RolledBack => false,
        }
    }

    /// One word for scripts: the name, if it is a trusted team mate's.
    pub fn word(&self) -> &str {
        match self {
            Seal::Ours => "ours",
            Seal::By(name) => name,
            Seal::Offered(_) => "offered",
            Seal::Elsewhere => "elsewhere",
            Seal::Unsigned => "unsigned",
            Seal::Unknown => "unknown",
            Seal::Added(_) => "added",
            Seal::RolledBack => "rolled_back",
        }
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seal::Ours => f.write_str("is yours"),
            Seal::By(name) => write!(f, "is signed by {name}"),
            Seal::Offered(name) => {
                write!(f, "is signed by {name}, whose checkout you have not accepted here")
            }
            Seal::Elsewhere => f.write_str("was written by you, but in another checkout of the project"),
            Seal::Unsigned => {
                f.write_str("is not signed: it was written by an older Rapport, or came from elsewhere")
            }
            Seal::Unknown => f.write_str("is not signed by anybody you know"),
            Seal::Added(turns) => {
                let (turn, came) = if turns.len() == 1 { ("turn", "is") } else { ("turns", "are") };
                write!(
                    f,
                    "is yours, but for {turn} {}, which {came} not: it came from elsewhere",
                    turns.join(", ")
                )
            }
            Seal::RolledBack => f.write_str("is not the one that was here last: it was cut back or replaced"),
        }
    }
}
