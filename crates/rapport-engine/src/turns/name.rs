//! The names of turns: `02`, and `02-branch-01` for another turn from the same point.

use std::fmt;
use std::str::FromStr;

/// The highest number a turn can have.
pub const MOST: u32 = 99;

/// A turn's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnName {
    /// Its position in its line, from 1.
    pub number: u32,
    /// The number of the branch at that position, from 1; 0 for the original.
    pub branch: u32,
}

impl TurnName {
    /// The original turn with this number.
    pub fn numbered(number: u32) -> Self {
        Self { number, branch: 0 }
    }

    /// The turn that a person means: leading zeros may be missing.
    pub fn typed(name: &str) -> Option<Self> {
        let two_digits = |number: &str| format!("{number:0>2}");
        let full = match name.split_once("-branch-") {
            Some((number, branch)) => format!("{}-branch-{}", two_digits(number), two_digits(branch)),
            None => two_digits(name),
        };
        full.parse().ok()
    }

    /// Candidates for its name, in order: without a branch, then branch by branch.
    pub fn at(number: u32) -> impl Iterator<Item = Self> {
        (0..=MOST).map(move |branch| Self { number, branch })
    }
}

impl fmt::Display for TurnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.branch {
            0 => write!(f, "{:02}", self.number),
            branch => write!(f, "{:02}-branch-{branch:02}", self.number),
        }
    }
}

impl FromStr for TurnName {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let (number, branch) = match name.split_once("-branch-") {
            Some((number, branch)) => (number, two_digits(branch)?),
            None => (name, 0),
        };
        let name_of = Self { number: two_digits(number)?, branch };
        // Each turn has only one valid name.
        if name_of.to_string() == name { Ok(name_of) } else { Err(()) }
    }
}

fn two_digits(word: &str) -> Result<u32, ()> {
    let is_number = word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|number| is_number && *number > 0).ok_or(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_may_be_left_out_when_typed() {
        for (typed, name) in
            [("2", Some("02")), ("02", Some("02")), ("12", Some("12")), ("2-branch-1", Some("02-branch-01"))]
        {
            assert_eq!(TurnName::typed(typed).map(|name| name.to_string()).as_deref(), name, "{typed}");
        }
        for other in ["", "0", "002", "x", "2-branch-", "-1", "add"] {
            assert_eq!(TurnName::typed(other), None, "{other}");
        }
    }

    // FILE-4, FILE-5: `01`, `02`, ...; `NN-branch-MM`.
    #[test]
    fn file_4_file_5_names_of_turns() {
        for name in ["01", "02", "99", "02-branch-01", "10-branch-99"] {
            assert_eq!(name.parse::<TurnName>().unwrap().to_string(), name);
        }
        let others =
            ["", "1", "00", "100", "001", "a1", "02-branch-1", "02-branch-00", "02-branch-01-branch-01"];
        for other in others.into_iter().chain(["+1", "02-", "..", "02-branch-", "kept", "02/.."]) {
            assert_eq!(other.parse::<TurnName>(), Err(()), "{other}");
        }
    }
}
