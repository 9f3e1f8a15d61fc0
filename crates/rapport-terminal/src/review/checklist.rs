//! The checklist: every item of the plan with a check mark, as a tree. Keys go in, requests come out, and
//! [`Checklist::draw`] is a function of its state and the size of the screen.

mod comments;
mod drawing;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use rapport_core::ActionPlan;

use self::comments::Comments;
use super::super::Size;
use super::super::keys::{moved, plain_char};
use super::appearance::Appearance;
use super::preview::Preview;
use rapport_core::review::{self as outline, Checks, Dependencies, Group, PlanItem, Selection};

/// The items of a plan with their check marks.
#[derive(Clone, Debug)]
pub struct Checklist {
    title: String,
    items: [Vec<PlanItem>; 3],
    nodes: Vec<Node>,
    checks: Checks,
    dependencies: Dependencies,
    /// Notes on items whose dependencies are not checked.
    notes: [Vec<Option<String>>; 3],
    cursor: usize,
    help: bool,
    notice: Option<String>,
    appearance: Appearance,
    size: Size,
    /// How often check marks were changed.
    changes: usize,
    /// The preview beside the tree, on a wide screen.
    beside: Option<(Beside, Preview)>,
    comments: Comments,
}

/// The number of columns from which the preview of the current row is shown beside the tree.
const SPLIT: usize = 110;

/// What a preview beside the tree is of: a row, with these check marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    pub node: Node,
    changes: usize,
}

/// A selectable row: a group, or one of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    pub group: Group,
    /// The index of the item, from 0; `None` for the group itself.
    pub item: Option<usize>,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecklistCommand {
    /// Nothing outside the checklist.
    Nothing,
    /// To see the preview of this.
    Preview(Node),
    /// To run the checked items.
    Run,
    /// To go back to the summary.
    Back,
    /// To leave the review.
    Quit,
    /// To suspend the program.
    Suspend,
}

impl Checklist {
    /// The items of this plan, all checked.
    pub fn new(plan: &ActionPlan, appearance: Appearance, size: Size) -> Self {
        let items = Group::ALL.map(|group| outline::items(plan, group));
        let mut nodes = Vec::new();
        for group in Group::ALL {
            let count = items[group as usize].len();
            if count > 0 {
                nodes.push(Node { group, item: None });
                nodes.extend((0..count).map(|item| Node { group, item: Some(item) }));
            }
        }
        let checks = Checks::all(plan);
        let dependencies = Dependencies::of(plan);
        let notes = Group::ALL.map(|group| dependencies.notes(group, &checks));
        let title = plan.title.clone();
        let comments = Comments::none(items.each_ref().map(Vec::len));
        Self {
            title,
            items,
            nodes,
            checks,
            dependencies,
            notes,
            cursor: 0,
            help: false,
            notice: None,
            appearance,
            size,
            changes: 0,
            beside: None,
            comments,
        }
    }

    /// The row whose preview is to be shown beside the tree, and is not yet.
    pub fn unpreviewed(&self) -> Option<Beside> {
        let node = self.nodes.get(self.cursor).copied().filter(|_| self.size.columns >= SPLIT)?;
        let wanted = Beside { node, changes: self.changes };
        self.previewed(wanted).is_none().then_some(wanted)
    }

    /// Shows a preview beside the tree.
    pub fn show_beside(&mut self, of: Beside, preview: Preview) {
        self.beside = Some((of, preview));
    }

    fn previewed(&self, wanted: Beside) -> Option<&Preview> {
        self.beside.as_ref().filter(|(of, _)| *of == wanted).map(|(_, preview)| preview)
    }

    pub fn key(&mut self, key: KeyEvent) -> ChecklistCommand {
        self.notice = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c' | 'd') => ChecklistCommand::Quit,
                KeyCode::Char('z') => ChecklistCommand::Suspend,
                _ => ChecklistCommand::Nothing,
            };
        }
        if self.comments.writing().is_some() {
            self.write(key);
            return ChecklistCommand::Nothing;
        }
        match (key.code, plain_char(key)) {
            (KeyCode::Esc, _) | (_, Some('q')) => return ChecklistCommand::Back,
            (KeyCode::Enter, _) => return self.run(),
            (_, Some(' ')) => self.toggle(),
            (_, Some('a')) => self.toggle_all(),
            (_, Some('c')) => self.comment(),
            (_, Some('p')) => {
                return self
                    .nodes
                    .get(self.cursor)
                    .map_or(ChecklistCommand::Nothing, |node| ChecklistCommand::Preview(*node));
            }
            (_, Some('?')) => self.help = !self.help,
            (KeyCode::PageUp, _) => self.cursor = self.cursor.saturating_sub(self.page()),
            (KeyCode::PageDown, _) => {
                self.cursor = (self.cursor + self.page()).min(self.nodes.len().saturating_sub(1));
            }
            _ => match moved(self.cursor, self.nodes.len(), key) {
                Some(cursor) => self.cursor = cursor,
                None => self.say("That key does nothing here; ? lists the keys."),
            },
        }
        ChecklistCommand::Nothing
    }

    /// Handles a new size of the screen.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
    }

    /// Shows a message at the bottom, until the next key.
    pub fn say(&mut self, notice: impl Into<String>) {
        self.notice = Some(notice.into());
    }

    /// The selection of the checked items.
    pub fn selection(&self) -> Selection {
        let mut selection = self.checks.selection(&self.dependencies);
        self.comments.explain(&mut selection);
        selection
    }

    /// The number of unchecked items.
    pub fn unchecked(&self) -> usize {
        self.checks.total() - self.checks.checked()
    }

    /// The item with this number, from 1.
    pub(super) fn by_number(&self, number: usize) -> Option<Node> {
        self.nodes.iter().filter(|node| node.item.is_some()).nth(number.checked_sub(1)?).copied()
    }

    /// Checks or unchecks a group or an item.
    pub(super) fn toggle_node(&mut self, node: Node) {
        self.change(|checks| match node.item {
            Some(item) => checks.toggle(node.group, item),
            None => checks.toggle_group(node.group),
        });
    }

    /// Checks everything, or nothing if everything is checked.
    pub(super) fn toggle_all(&mut self) {
        self.change(Checks::toggle_all);
    }

    /// Clears the message at the bottom.
    pub(super) fn hush(&mut self) {
        self.notice = None;
    }

    pub fn checks(&self) -> &Checks {
        &self.checks
    }

    fn run(&mut self) -> ChecklistCommand {
        if self.checks.checked() > 0 {
            return ChecklistCommand::Run;
        }
        self.say("Nothing is checked. Check something, or go back with q and skip the plan.");
        ChecklistCommand::Nothing
    }

    fn toggle(&mut self) {
        if let Some(node) = self.nodes.get(self.cursor).copied() {
            self.toggle_node(node);
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Checks)) {
        change(&mut self.checks);
        self.changes += 1;
        self.notes = Group::ALL.map(|group| self.dependencies.notes(group, &self.checks));
    }

    fn page(&self) -> usize {
        self.size.rows.saturating_sub(6).max(1)
    }
}
