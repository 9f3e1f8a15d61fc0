//! `_context.log`: the system prompt and the document, exactly as the agent gets them. The driver reads both from this
//! file, so the log and what was sent cannot differ.
//!
//! Its first line gives the length of both in bytes, so they may contain anything.

use std::borrow::Cow;

use thiserror::Error;

use super::Payload;

const BEGIN: &str = "<!-- rapport context log 1: system prompt of ";
const THEN: &str = " bytes, document of ";
const END: &str = " bytes -->\n";
const BETWEEN: &str = "\n<!-- end of the system prompt -->\n";

/// The content of a context log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextLog {
    /// The system prompt.
    pub system: String,
    /// The document that follows the system prompt.
    pub document: String,
}

/// Why a text cannot be read as a context log.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoContextLog {
    /// It does not begin like a context log, or is of another version.
    #[error("this is not a context log of version 1")]
    Unknown,
    /// Its length differs from what its first line says.
    #[error("this context log was changed: it is not as long as its first line says")]
    Changed,
}

impl Payload {
    /// The log in pieces, to be concatenated.
    pub fn log(&self) -> Vec<Cow<'_, str>> {
        let document = self.pieces();
        let length: usize = document.iter().map(|piece| piece.len()).sum();
        let first = format!("{BEGIN}{}{THEN}{length}{END}", self.system.len());
        let before = [first.into(), self.system.as_str().into(), BETWEEN.into()];
        before.into_iter().chain(document).collect()
    }
}

impl ContextLog {
    /// Parses the text of a context log.
    pub fn parse(text: &str) -> Result<ContextLog, NoContextLog> {
        let (lengths, rest) =
            text.strip_prefix(BEGIN).and_then(|rest| rest.split_once(END)).ok_or(NoContextLog::Unknown)?;
        let (system, document) = lengths.split_once(THEN).ok_or(NoContextLog::Unknown)?;
        let number = |digits: &str| digits.parse::<usize>().map_err(|_| NoContextLog::Unknown);
        let (system, document) = (number(system)?, number(document)?);
        let (system, rest) = rest.split_at_checked(system).ok_or(NoContextLog::Changed)?;
        let rest = rest.strip_prefix(BETWEEN).ok_or(NoContextLog::Changed)?;
        if rest.len() != document {
            return Err(NoContextLog::Changed);
        }
        Ok(ContextLog { system: system.to_owned(), document: rest.to_owned() })
    }
}
