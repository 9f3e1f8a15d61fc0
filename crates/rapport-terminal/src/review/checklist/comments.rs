//! Comments on items: what an agent reads in the report about an item that was left out.

use crossterm::event::{KeyCode, KeyEvent};

use super::super::super::keys::plain_char;
use super::{Checklist, Node};
use rapport_core::review::{MAX_COMMENT, Selection};

/// The comments on the items of a plan, and the one that is being written.
#[derive(Clone, Debug)]
pub(super) struct Comments {
    items: [Vec<Option<String>>; 3],
    writing: Option<(Node, String)>,
}

impl Comments {
    pub(super) fn none(items: [usize; 3]) -> Self {
        Self { items: items.map(|count| vec![None; count]), writing: None }
    }

    /// The comment on an item.
    pub(super) fn on(&self, node: Node) -> Option<&str> {
        self.items[node.group as usize].get(node.item?)?.as_deref()
    }

    /// The comment that is being written.
    pub(super) fn writing(&self) -> Option<&str> {
        self.writing.as_ref().map(|(_, text)| text.as_str())
    }

    /// Adds the comments to the reasons for which items are left out.
    pub(super) fn explain(&self, selection: &mut Selection) {
        selection.explain(|group, item| self.items[group as usize].get(item)?.as_deref());
    }
}

impl Checklist {
    /// Begins a comment on the current item.
    pub(super) fn comment(&mut self) {
        match self.nodes.get(self.cursor).copied().filter(|node| node.item.is_some()) {
            Some(node) => {
                let text = self.comments.on(node).unwrap_or_default().to_owned();
                self.comments.writing = Some((node, text));
            }
            None => self.say("Move to an item first; a comment is about one item."),
        }
    }

    /// Handles a key while a comment is written. Enter keeps it, and the item is left out: the report says so, with the comment.
    pub(super) fn write(&mut self, key: KeyEvent) {
        let Some((node, mut text)) = self.comments.writing.take() else { return };
        match (key.code, plain_char(key)) {
            (KeyCode::Esc, _) => return,
            (KeyCode::Enter, _) => return self.keep_comment(node, text.trim()),
            (KeyCode::Backspace, _) => {
                text.pop();
            }
            (_, Some(c)) if text.chars().count() < MAX_COMMENT => text.push(c),
            _ => {}
        }
        self.comments.writing = Some((node, text));
    }

    /// Adds pasted text to the comment that is written, on one line.
    pub fn paste(&mut self, pasted: &str) {
        if let Some((_, text)) = &mut self.comments.writing {
            let words = pasted.split_whitespace().collect::<Vec<_>>().join(" ");
            text.extend(words.chars().take(MAX_COMMENT.saturating_sub(text.chars().count())));
        }
    }

    fn keep_comment(&mut self, node: Node, text: &str) {
        let Some(item) = node.item else { return };
        let kept = (!text.is_empty()).then(|| text.to_owned());
        if kept.is_some() && self.checks.of(node.group)[item] {
            self.toggle_node(node);
        }
        self.comments.items[node.group as usize][item] = kept;
    }
}
