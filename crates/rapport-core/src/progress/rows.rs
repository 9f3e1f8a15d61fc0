//! Classifies the lines of a text: headings, list items, tasks, and lines inside a code block, which are ignored.

/// A line of a text, with its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextRow<'a> {
    /// Its line number, from 1.
    pub(super) number: usize,
    /// The line as it is written.
    pub(super) raw: &'a str,
    /// Whether it is in a code block, or begins or ends one.
    pub(super) is_code: bool,
}

/// The lines of a text.
pub(super) fn rows(text: &str) -> impl Iterator<Item = TextRow<'_>> {
    let mut open: Option<CodeFence> = None;
    text.split_inclusive('\n').enumerate().map(move |(index, raw)| {
        let fence = CodeFence::of(raw);
        let is_code = open.is_some() || fence.is_some();
        match (&open, fence) {
            (Some(opened), Some(closing)) if opened.is_closed_by(&closing) => open = None,
            (None, Some(opening)) => open = Some(opening),
            (Some(_), _) | (None, None) => {}
        }
        TextRow { number: index + 1, raw, is_code }
    })
}

/// A line that begins or ends a code block.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeFence {
    mark: char,
    length: usize,
    /// Whether it names a language.
    pub(super) is_named: bool,
}

impl CodeFence {
    pub(super) fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        // Backticks further on in the line are inline code.
        (length >= 3 && !rest.contains('`')).then_some(Self { mark, length, is_named: !rest.is_empty() })
    }

    fn is_closed_by(&self, other: &CodeFence) -> bool {
        other.mark == self.mark && other.length >= self.length && !other.is_named
    }
}

impl<'a> TextRow<'a> {
    /// The title, if this is a heading of this level.
    pub(super) fn heading(&self, level: usize) -> Option<&'a str> {
        let rest = self.raw.trim_start_matches('#');
        let is_heading = !self.is_code && self.raw.len() - rest.len() == level;
        rest.strip_prefix([' ', '\t']).filter(|_| is_heading).map(str::trim)
    }

    /// The text, if this is a list item.
    pub(super) fn item(&self) -> Option<&'a str> {
        let line = self.raw.trim();
        let marked = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
        marked.filter(|_| !self.is_code).map(str::trim_start)
    }

    /// Whether it is done, and its text, if this is a task.
    pub(super) fn task(&self) -> Option<(bool, &'a str)> {
        let rest = self.item()?.strip_prefix('[')?;
        let (done, rest) = match rest.split_once(']')? {
            (" ", rest) => (false, rest),
            ("x" | "X", rest) => (true, rest),
            _ => return None,
        };
        let text = rest.strip_prefix([' ', '\t'])?.trim();
        (!text.is_empty()).then_some((done, text))
    }

    /// Whether this was probably meant as a task. A link in brackets was not.
    pub(super) fn is_odd_task(&self) -> bool {
        let Some((inside, rest)) = self.item().and_then(|item| item.strip_prefix('[')?.split_once(']'))
        else {
            return false;
        };
        inside.trim().chars().count() <= 1 && !rest.starts_with(['(', '[', ':']) && self.task().is_none()
    }
}
