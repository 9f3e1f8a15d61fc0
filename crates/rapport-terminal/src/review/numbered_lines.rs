//! The checklist for terminals that only read lines: numbered items, and numbers that check or uncheck them.

use super::checklist::{Checklist, Node};

/// The prompt below the items.
pub(super) const PROMPT: &str =
    "Check or uncheck which (p NUMBER previews)? (a)ll / (r)un / (b)ack / (q)uit ›";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// To check or uncheck these items.
    Toggle(Vec<Node>),
    /// To check everything, or nothing.
    ToggleAll,
    /// To see the preview of this.
    Preview(Node),
    /// To run the checked items.
    Run,
    /// To go back to the summary.
    Back,
    Quit,
    /// An unknown request, and why.
    Unclear(String),
}

/// Parses a line. An empty one decides nothing.
pub(super) fn request(line: &str, checklist: &Checklist) -> Request {
    let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["a" | "all"] => Request::ToggleAll,
        ["r" | "run"] if checklist.checks().checked() == 0 => Request::Unclear(
            "Nothing is checked. Check something, or go back with b and skip the plan.".into(),
        ),
        ["r" | "run"] => Request::Run,
        ["b" | "back"] => Request::Back,
        ["q" | "quit"] => Request::Quit,
        ["p" | "preview", number] => match node(number, checklist) {
            Ok(node) => Request::Preview(node),
            Err(why) => Request::Unclear(why),
        },
        ["p" | "preview"] => Request::Unclear("Say which one: p and its number.".into()),
        [] => Request::Unclear("An empty line decides nothing.".into()),
        numbers => match numbers.iter().map(|number| node(number, checklist)).collect() {
            Ok(nodes) => Request::Toggle(nodes),
            Err(why) => Request::Unclear(why),
        },
    }
}

fn node(number: &str, checklist: &Checklist) -> Result<Node, String> {
    let found = number.parse().ok().and_then(|number| checklist.by_number(number));
    found.ok_or_else(|| format!("There is no item {number:?}."))
}
