//! Draws the checklist: on a screen of any size, or as numbered lines without one. Only visible rows are drawn.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::super::super::terminal_text;
use super::super::super::text::{Line, Tone, clip};
use super::{Beside, Checklist, Node, SPLIT};
use rapport_core::review::GroupMark;

/// The line above the tree, and its short form.
const HINT: &str = "Use [↑/↓] to navigate, [space] to toggle, (p)review details, [enter] to confirm.";
const SHORT_HINT: &str = "[↑/↓] [space] (p)review [enter] run";
const HELP: &str = "↑/↓ or j/k move · PgUp/PgDn, Home/End go far · space checks an item or a whole group · a all or nothing · \
                    p preview · c leave an item out and say why · enter run what is checked · q or Esc back to the summary · Ctrl-C leave · ? close";
/// The number of columns from which notes are shown beside items.
const WIDE: usize = 60;
/// The number of rows from which there are blank lines between the groups.
const TALL: u16 = 16;

/// A row of the tree.
#[derive(Clone, Copy)]
enum Row {
    Node(usize),
    Spine,
    Air,
}

impl Checklist {
    pub fn draw(&self, frame: &mut Frame) {
        let area = frame.area();
        let columns = usize::from(area.width);
        let (head, foot) = (self.head(area), self.foot(area));
        let top = head.len() as u16;
        let height = area.height.saturating_sub(top + foot.len() as u16);
        let buffer = frame.buffer_mut();
        for (row, line) in (0..).zip(head) {
            self.appearance.put(buffer, row, line);
        }
        for (row, line) in (area.height.saturating_sub(foot.len() as u16)..).zip(foot) {
            self.appearance.put(buffer, row, line);
        }
        let tree = if columns >= SPLIT { columns * 11 / 20 } else { columns };
        let (rows, here) = self.visible(usize::from(height), tree, area.height >= TALL);
        for (row, line) in (top..).zip(rows) {
            self.appearance.put(
                buffer,
                row,
                line.rows(if tree < columns { tree - 1 } else { tree }).swap_remove(0),
            );
        }
        if let Some(row) = here.filter(|row| *row < usize::from(height)) {
            let row = Rect { y: area.y + top + row as u16, height: 1, width: tree as u16, ..area };
            // Reversed, each colour of the row would be a background of its own.
            let plain = Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM);
            buffer.set_style(row, plain.add_modifier(Modifier::REVERSED));
        }
        for (row, line) in (top..).zip(self.pane(usize::from(height), columns - tree)) {
            self.appearance.put_at(buffer, tree as u16, row, line);
        }
    }

    /// The preview of the current row beside the tree, as much of it as fits.
    fn pane(&self, height: usize, columns: usize) -> Vec<Line> {
        let wanted = self.nodes.get(self.cursor).map(|node| Beside { node: *node, changes: self.changes });
        let Some(preview) = wanted.and_then(|wanted| self.previewed(wanted)).filter(|_| columns > 0) else {
            return Vec::new();
        };
        let edge = || Line::new(Tone::Dim, "│ ");
        let columns = columns.saturating_sub(edge().width());
        let title = Line::new(Tone::Strong, &clip(&terminal_text::line(&preview.title), columns));
        let mut rows = vec![title, Line::empty()];
        rows.extend(preview.lines.iter().flat_map(|line| line.rows(columns)));
        if rows.len() > height {
            let hidden = rows.len() - height.saturating_sub(1);
            rows.truncate(height.saturating_sub(1));
            rows.push(Line::new(Tone::Dim, &format!("⋮ {hidden} more rows: p")));
        }
        rows.resize(height, Line::empty());
        rows.into_iter().map(|row| edge().then(row)).collect()
    }

    /// The items as numbered lines, from 1, for terminals without a screen.
    pub(in super::super) fn numbered(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut number = 0;
        for node in &self.nodes {
            let before = match node.item {
                None => " ".repeat(5),
                Some(_) => {
                    number += 1;
                    format!("{number:>4} ")
                }
            };
            let line = self.node_line(*node, Line::new(Tone::Dim, &before));
            lines.push(line.then(self.beside(*node, usize::MAX)));
        }
        lines.into_iter().map(|line| self.appearance.signed(line)).collect()
    }

    fn head(&self, area: Rect) -> Vec<Line> {
        let columns = usize::from(area.width);
        let counted = format!("{} of {} checked", self.checks.checked(), self.checks.total());
        let room = columns.saturating_sub(counted.len() + 2);
        let title = clip(&terminal_text::line(&format!("Reviewing Plan: \"{}\"", self.title)), room);
        let title = Line::new(Tone::Strong, &title);
        let gap = " ".repeat(columns.saturating_sub(title.width() + counted.len()));
        let hint = if columns >= HINT.chars().count() { HINT } else { SHORT_HINT };
        let mut lines = vec![title.and(Tone::Text, &gap).and(Tone::Dim, &counted)];
        if area.height >= 8 {
            lines.push(Line::new(Tone::Dim, hint));
        }
        if area.height >= TALL {
            lines.push(Line::empty());
        }
        lines
    }

    fn foot(&self, area: Rect) -> Vec<Line> {
        let columns = usize::from(area.width);
        let mut lines = Vec::new();
        if area.height >= TALL {
            lines.push(Line::empty());
        }
        if area.height >= 6 {
            lines.push(Line::new(Tone::Dim, &clip(&terminal_text::line(&self.about()), columns)));
        }
        let status = match (&self.notice, self.help) {
            _ if self.comments.writing().is_some() => {
                let text = terminal_text::line(self.comments.writing().unwrap_or_default());
                Line::new(Tone::Strong, "Leave it out because › ").and(Tone::Text, &format!("{text}_"))
            }
            (Some(notice), _) => Line::new(Tone::Care, notice),
            (None, true) => Line::new(Tone::Text, HELP),
            (None, false) => Line::new(Tone::Dim, "a all · c comment · q back · ? help"),
        };
        let most = usize::from(area.height / 2).max(1);
        lines.extend(status.rows(columns).into_iter().take(most));
        lines
    }

    /// A description of the current row, in one line.
    fn about(&self) -> String {
        let Some(node) = self.nodes.get(self.cursor) else {
            return "There is nothing to do in this plan.".into();
        };
        let Some(item) = node.item else { return format!("Everything in {}.", node.group.title()) };
        let (note, item) = (&self.notes[node.group as usize][item], &self.items[node.group as usize][item]);
        let parts = [note, &item.remark, &item.about].into_iter().flatten().map(String::as_str);
        self.why_not(*node).into_iter().chain(parts).collect::<Vec<_>>().join(" · ")
    }

    /// As many rows as fit around the current one, and the index of that.
    fn visible(&self, height: usize, columns: usize, airy: bool) -> (Vec<Line>, Option<usize>) {
        let rows = self.tree(airy);
        let Some(here) = rows.iter().position(|row| matches!(row, Row::Node(node) if *node == self.cursor))
        else {
            return (Vec::new(), None);
        };
        let start = here.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
        let end = (start + height).min(rows.len());
        let mut lines: Vec<Line> = rows[start..end].iter().map(|row| self.row(*row, columns)).collect();
        let hidden = |rows: &[Row]| rows.iter().filter(|row| matches!(row, Row::Node(_))).count();
        if start > 0 && height >= 5 {
            lines[0] = Line::new(Tone::Dim, &format!("  ⋮ {} more above", hidden(&rows[..=start])));
        }
        if end < rows.len() && height >= 5 {
            lines[height - 1] = Line::new(Tone::Dim, &format!("  ⋮ {} more below", hidden(&rows[end - 1..])));
        }
        (lines, Some(here - start))
    }

    fn tree(&self, airy: bool) -> Vec<Row> {
        let mut rows = Vec::with_capacity(self.nodes.len() + 6);
        for (place, node) in self.nodes.iter().enumerate() {
            match node.item {
                None if airy => {
                    rows.extend((place > 0).then_some(Row::Air));
                    rows.extend([Row::Node(place), Row::Spine]);
                }
                None | Some(_) => rows.push(Row::Node(place)),
            }
        }
        rows
    }

    fn row(&self, row: Row, columns: usize) -> Line {
        let place = match row {
            Row::Air => return Line::empty(),
            Row::Spine => return Line::new(Tone::Dim, "   │"),
            Row::Node(place) => place,
        };
        let node = self.nodes[place];
        let pointer = if place == self.cursor { "❯ " } else { "  " };
        let is_last = node.item.is_some_and(|item| item + 1 == self.items[node.group as usize].len());
        let branch = match node.item {
            None => "",
            Some(_) if is_last => " └─",
            Some(_) => " ├─",
        };
        let before = Line::new(Tone::Here, pointer).and(Tone::Dim, branch);
        let line = self.node_line(node, before);
        let beside = self.beside(node, columns);
        // Beside a preview there is less room; the foot has the whole note.
        let is_tight = self.size.columns >= SPLIT && line.width() + beside.width() >= columns;
        line.then(if is_tight { self.beside(node, 0) } else { beside })
    }

    /// A row with this prefix, without its note.
    fn node_line(&self, node: Node, before: Line) -> Line {
        let Some(place) = node.item else {
            let mark = self.checks.mark(node.group);
            return before.then(self.marked(mark)).and(Tone::Strong, &format!(" {}", node.group.title()));
        };
        let item = &self.items[node.group as usize][place];
        let is_checked = self.checks.of(node.group)[place];
        let (mark, label, what) = match is_checked {
            true => (GroupMark::All, Tone::Strong, Tone::Text),
            false => (GroupMark::None, Tone::Dim, Tone::Dim),
        };
        before.then(self.marked(mark)).and(label, &format!(" {} ", item.label)).and_giving(what, &item.what)
    }

    fn marked(&self, mark: GroupMark) -> Line {
        let tone = match mark {
            GroupMark::All => Tone::Good,
            GroupMark::Some => Tone::Care,
            GroupMark::None => Tone::Dim,
        };
        Line::new(tone, self.appearance.mark(mark))
    }

    /// The comment on an item that is left out.
    fn why_not(&self, node: Node) -> Option<&str> {
        self.comments.on(node).filter(|_| !self.checks.of(node.group)[node.item.unwrap_or_default()])
    }

    /// The note beside an item: why it is left out, a missing dependency, or what is unusual about it.
    fn beside(&self, node: Node, columns: usize) -> Line {
        let Some(place) = node.item else { return Line::empty() };
        let note = self.notes[node.group as usize][place].as_ref();
        let note = note.or(self.items[node.group as usize][place].remark.as_ref());
        match self.why_not(node).or(note.map(String::as_str)) {
            None => Line::empty(),
            Some(_) if columns < WIDE => Line::new(Tone::Care, " !"),
            Some(note) => {
                let shown = clip(&terminal_text::line(note), columns / 2);
                Line::new(Tone::Dim, &format!("  · {shown}"))
            }
        }
    }
}
