//! Parses a text into a plan: tolerant of how models write, strict about what they mean.

use super::error::{MAX_ERRORS, PlanError};
use super::fence::{Block, FencePosition, block, is_stray, is_stray_in_text, runs_over, unclosed};
use super::inline;
use super::kinds::{KindRow, ROWS};
use super::lines::{
    COMMENT, Fence, Kind, Lines, Section, action_of, is_bold_action, is_lost_action, looks_like_action,
    normal, section_of,
};
use super::values::{more_than_a_path, written_path};
use super::{ActionPlan, Change, Sign, actions};

/// The remark on the last action of a plan in a fence without an end.
const NEVER_CLOSED: &str = "the fence around the plan is never closed, so its end may be missing";

impl ActionPlan {
    /// Parses a plan. On failure it returns all errors, in line order.
    ///
    /// It skips text before the title, and one fence around the whole plan. CRLF line ends become LF if the whole plan
    /// has them; otherwise all line ends are kept.
    pub fn parse(text: &str) -> Result<ActionPlan, Vec<PlanError>> {
        Self::parse_in(text, "")
    }

    /// Parses a plan for the project in this directory: absolute paths inside it become paths from its root.
    pub fn parse_in(text: &str, root: &str) -> Result<ActionPlan, Vec<PlanError>> {
        let (text, root) = (normal(text), root.trim_end_matches('/'));
        let mut reader = Reader::new(Lines::new(&text), root);
        let mut plan = reader.plan();
        if reader.errors.is_empty() {
            if reader.is_never_closed()
                && let Some(last) = plan.actions.last_mut()
            {
                last.remark = Some(NEVER_CLOSED.into());
            }
            return Ok(plan);
        }
        let mut errors = reader.errors;
        if reader.is_wrapped
            && let Some(inner) = reader.lines.before_last_fence()
        {
            // The fence around the plan is as long as those inside, so the parser can tell which of them ends only
            // without its end.
            let mut reader = Reader { is_cut: true, ..Reader::new(Lines::new(inner), root) };
            let plan = reader.plan();
            if reader.errors.is_empty() {
                return Ok(plan);
            }
        }
        errors.sort_by_key(|error| error.line);
        errors.truncate(MAX_ERRORS);
        Err(errors)
    }

    /// Whether a text is a reply in words instead of a plan: it has neither a section nor an action.
    pub fn is_words(text: &str) -> bool {
        let text = normal(text);
        !text.trim().is_empty() && Lines::new(&text).has_no_boundary()
    }
}

/// The position in the text, and the errors found so far.
pub(super) struct Reader<'t> {
    pub(super) lines: Lines<'t>,
    pub(super) at: usize,
    pub(super) errors: Vec<PlanError>,
    /// Whether one fence is around the whole plan.
    pub(super) is_wrapped: bool,
    /// Whether the end of that fence is cut off.
    is_cut: bool,
    /// The project's directory, where it is known.
    pub(super) root: &'t str,
    /// The line on which an HTML comment begins that is not closed yet.
    comment: Option<usize>,
}

/// What ends a piece of free text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The next section.
    Section,
    /// The next action or section.
    Action,
}

impl<'t> Reader<'t> {
    pub(super) fn new(lines: Lines<'t>, root: &'t str) -> Reader<'t> {
        Reader { lines, at: 0, errors: Vec::new(), is_wrapped: false, is_cut: false, root, comment: None }
    }

    /// Follows HTML comments from line to line of text, as in Markdown, and returns whether a line is in one. Nothing
    /// in a comment counts, and neither does other text on its lines.
    pub(super) fn follow_comment(&mut self, at: usize) -> bool {
        let line = self.lines.line(at).trim_start();
        if self.comment.is_none() && line.starts_with(COMMENT) {
            self.comment = Some(at);
        }
        let is_inside = self.comment.is_some();
        if line.contains("-->") {
            self.comment = None;
        }
        is_inside
    }

    /// Whether an HTML comment is open here.
    pub(super) fn is_in_comment(&self) -> bool {
        self.comment.is_some()
    }

    /// Reports an action or a section that the plan seems to retract: in an HTML comment, or struck out. The parser
    /// must not guess whether it is to be carried out.
    fn taken_back(&mut self, at: usize, text: &str) -> bool {
        let text = text.trim();
        if let Some(open) = self.comment {
            self.wrong(
                at,
                format!("{text} is in the HTML comment that begins on line {}", open + 1),
                "Remove the marks <!-- and --> if it counts, otherwise all of the comment.",
            );
        } else if text.contains("~~") {
            let hint = "Remove the marks ~~ if it is to be done, otherwise all of the action.";
            self.wrong(at, format!("{text} is struck out"), hint);
        } else {
            return false;
        }
        true
    }

    /// Reports a tool call in the notation of some model: a plan cannot carry it out.
    pub(super) fn tool_call(&mut self, at: usize) {
        if is_tool_call(self.lines.line(at)) {
            let hint = "Write it as an action, such as ### `EXECUTE` with the command in a fence.";
            self.wrong(at, "this is a tool call, not an action of the plan", hint);
        }
    }

    /// Whether the fence around the whole plan has no end: then the end of the plan may be missing too.
    fn is_never_closed(&self) -> bool {
        let Some(inner) = self.lines.before_last_fence() else { return self.is_wrapped };
        // If the last fence belongs to an action, the plan cannot be read without it.
        let mut reader = Reader { is_cut: true, ..Reader::new(Lines::new(inner), self.root) };
        reader.plan();
        self.is_wrapped && !reader.errors.is_empty()
    }

    pub(super) fn wrong(&mut self, at: usize, what: impl Into<String>, hint: impl Into<String>) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(PlanError::new(at, what, hint));
        }
    }

    pub(super) fn plan(&mut self) -> ActionPlan {
        let first = self.lines.solid(0);
        if first < self.lines.len() && self.lines.has_no_boundary() {
            let (what, hint) = not_a_plan(&self.lines, first);
            self.wrong(
                first,
                format!("this is {what}, not a plan: it has neither sections nor actions"),
                hint,
            );
            return ActionPlan::default();
        }
        let mut plan = ActionPlan { title: self.title(), metadata: self.metadata(), ..ActionPlan::default() };
        let mut seen = Vec::new();
        while self.at < self.lines.len() && self.errors.len() < MAX_ERRORS {
            let at = self.at;
            self.at += 1;
            match self.lines.kind(at) {
                Kind::Heading { level: 1, text } => self.second_title(at, text),
                Kind::Heading { level: 2, text } => self.section(at, text, &mut plan, &mut seen),
                Kind::Heading { level: 3, text } if looks_like_action(text) => self.wrong(
                    at,
                    format!("the action {} is not in the section Action Plan", text.trim()),
                    "Put the actions below one heading `## Action Plan`.",
                ),
                Kind::Fence(fence) if !is_stray(&self.lines, at, fence) => {
                    if let Some(block) = self.block(at, fence, FencePosition::Free) {
                        self.at = block.close + 1;
                    }
                }
                Kind::Text => {
                    self.follow_comment(at);
                }
                Kind::Fence(_) | Kind::Heading { .. } | Kind::Blank | Kind::Rule => {}
            }
        }
        for (section, name) in [(Section::Rationale, "Rationale"), (Section::ActionPlan, "Action Plan")] {
            if !seen.contains(&section) {
                let last = self.lines.len().saturating_sub(1);
                self.wrong(
                    last,
                    format!("the section {name} is missing"),
                    format!("Add a heading `## {name}`."),
                );
            }
        }
        plan
    }

    /// The first first-level heading, wherever it is.
    fn title(&mut self) -> String {
        const HINT: &str = "Begin the plan with one line `# Title`.";
        while self.at < self.lines.len() {
            let at = self.at;
            match self.lines.kind(at) {
                Kind::Heading { .. } if self.is_in_comment() => self.at += 1,
                Kind::Heading { level: 1, text } => {
                    self.at += 1;
                    if text.is_empty() {
                        self.wrong(at, "the title is empty", HINT);
                    }
                    return text.to_owned();
                }
                Kind::Heading { .. } if self.lines.is_boundary(at) => break,
                Kind::Fence(fence) => {
                    let wraps = self.wraps(at, fence.info);
                    self.is_wrapped |= wraps;
                    let end = if wraps { None } else { self.lines.bare_after(at, fence) };
                    self.at = end.unwrap_or(at) + 1;
                }
                Kind::Text => {
                    self.follow_comment(at);
                    self.at += 1;
                }
                Kind::Heading { .. } | Kind::Blank | Kind::Rule => self.at += 1,
            }
        }
        let empty = self.lines.solid(0) >= self.lines.len();
        let what = if empty { "the plan is empty" } else { "the plan has no title" };
        self.wrong(self.at.min(self.lines.len().saturating_sub(1)), what, HINT);
        String::new()
    }

    /// Whether a fence surrounds the whole plan: it contains a title and a section, and no other fence before those.
    fn wraps(&self, at: usize, info: &str) -> bool {
        if !matches!(info.to_ascii_lowercase().as_str(), "" | "markdown" | "md" | "text" | "plan") {
            return false;
        }
        let mut has_title = false;
        for line in at + 1..self.lines.len() {
            match self.lines.kind(line) {
                Kind::Fence(_) => return false,
                Kind::Heading { level: 1, .. } => has_title = true,
                Kind::Heading { .. } if self.lines.is_boundary(line) => return has_title,
                Kind::Heading { .. } | Kind::Blank | Kind::Rule | Kind::Text => {}
            }
        }
        false
    }

    fn second_title(&mut self, at: usize, text: &str) {
        self.wrong(
            at,
            format!("there is a second title, {text:?}"),
            "A plan has one first-level heading; use a lower level, or put the text into a fence.",
        );
    }

    /// The list below the title.
    fn metadata(&mut self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        while self.at < self.lines.len() {
            match self.lines.kind(self.at) {
                Kind::Heading { .. } | Kind::Fence(_) => break,
                Kind::Blank | Kind::Rule => {}
                Kind::Text if self.follow_comment(self.at) => {}
                Kind::Text => {
                    let pair = inline::parameter(self.lines.line(self.at));
                    found.extend(pair.map(|(key, value)| (key.to_owned(), value.to_owned())));
                }
            }
            self.at += 1;
        }
        found
    }

    fn section(&mut self, at: usize, name: &str, plan: &mut ActionPlan, seen: &mut Vec<Section>) {
        self.taken_back(at, name);
        let Some(section) = section_of(name) else {
            if is_lost_action(2, name) {
                self.lost_action(at, name);
            } else {
                self.wrong(
                    at,
                    format!("{name:?} is not a section of a plan"),
                    "The sections are Rationale, Active Context, Memos and Action Plan.",
                );
            }
            self.free(Until::Section);
            return;
        };
        if seen.contains(&section) {
            self.wrong(at, format!("the section {name} occurs twice"), "Put both into one.");
        }
        seen.push(section);
        match section {
            Section::Rationale => plan.rationale = self.free(Until::Section),
            Section::ActiveContext => plan.context = Some(self.changes(Subject::Paths)),
            Section::Memos => plan.memos = self.changes(Subject::Facts),
            Section::ActionPlan => self.actions(at, plan),
        }
    }

    fn actions(&mut self, at: usize, plan: &mut ActionPlan) {
        let errors = self.errors.len();
        while self.at < self.lines.len() && self.errors.len() < MAX_ERRORS {
            let at = self.at;
            match self.lines.kind(at) {
                Kind::Heading { level: 1 | 2, .. } => break,
                Kind::Heading { level: 3, text } => {
                    self.at += 1;
                    match action_of(text) {
                        _ if self.taken_back(at, text) => drop(self.free(Until::Action)),
                        Some((row, rest)) => plan.actions.extend(actions::action(self, at, row, rest)),
                        None => self.unknown_action(at, text),
                    }
                }
                Kind::Heading { level, text } if is_lost_action(level, text) => {
                    self.at += 1;
                    self.lost_action(at, text);
                    self.free(Until::Action);
                }
                Kind::Fence(fence) if self.ends_all(at, fence) => self.at = self.lines.len(),
                Kind::Text if self.follow_comment(at) => self.at += 1,
                Kind::Fence(fence) if self.is_in_comment() => {
                    self.at += 1;
                    if let Some(block) = self.block(at, fence, FencePosition::Free) {
                        self.at = block.close + 1;
                    }
                }
                Kind::Fence(fence) if !is_stray(&self.lines, at, fence) => {
                    self.loose(at, "this fence");
                    self.free(Until::Action);
                }
                Kind::Text if is_bold_action(self.lines.line(at)) => {
                    self.at += 1;
                    self.lost_action(at, self.lines.line(at));
                    self.free(Until::Action);
                }
                Kind::Text if actions::is_parameter(self.lines.line(at)) => {
                    self.loose(at, "this parameter");
                    self.free(Until::Action);
                }
                Kind::Text => {
                    self.tool_call(at);
                    self.at += 1;
                }
                Kind::Fence(_) | Kind::Heading { .. } | Kind::Blank | Kind::Rule => self.at += 1,
            }
        }
        if plan.actions.is_empty() && self.errors.len() == errors {
            self.wrong(at, "the plan has no action", format!("Add one, such as {}.", "### `CHAT_WITH_USER`"));
        }
    }

    fn unknown_action(&mut self, at: usize, text: &str) {
        let words =
            |name: &&str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == *name);
        let names = ROWS.map(KindRow::name);
        let hint = match names.into_iter().find(words) {
            Some(name) => format!("Write the name and nothing else: ### `{name}`."),
            None => format!("The actions are {}.", names.join(", ")),
        };
        self.wrong(at, format!("{} is not an action", text.trim()), hint);
        self.free(Until::Action);
    }

    /// Reports content without a heading above it, which would be lost otherwise.
    fn loose(&mut self, at: usize, what: &str) {
        self.wrong(
            at,
            format!("{what} does not belong to an action"),
            "Write the heading of its action above it, with three #: ### `CREATE`.",
        );
    }

    fn lost_action(&mut self, at: usize, text: &str) {
        self.wrong(
            at,
            format!("{} is an action, but not a heading of the third level", text.trim()),
            format!(
                "Write it with three #: ### `{}`.",
                action_of(text).map_or("CREATE", |(row, _)| row.name())
            ),
        );
    }

    /// Whether a bare line closes the fence around the whole plan, and so the plan.
    pub(super) fn ends_all(&self, at: usize, fence: Fence<'_>) -> bool {
        let lines = &self.lines;
        self.is_wrapped
            && !self.is_cut
            && fence.info.is_empty()
            && !lines.may_close(at, fence)
            && lines.boundary_after(at) >= lines.len()
    }

    /// The block at a line. If it is not closed, records an error and continues at the next action.
    pub(super) fn block(
        &mut self,
        at: usize,
        fence: Fence<'t>,
        position: FencePosition,
    ) -> Option<Block<'t>> {
        match block(&self.lines, at, fence, position) {
            Ok(block) => Some(block),
            Err(error) => {
                self.wrong(error.line - 1, error.what, error.hint);
                self.at = self.lines.boundary_after(at);
                None
            }
        }
    }

    /// The text up to an action or a section; if it is exactly one block, that block's content.
    pub(super) fn free(&mut self, until: Until) -> String {
        let start = self.at;
        let mut blocks = Vec::new();
        // The end of the text, without trailing rules and stray fences.
        let (mut from, mut end) = (None, start);
        while self.at < self.lines.len() && self.errors.len() < MAX_ERRORS {
            let at = self.at;
            self.at += 1;
            match self.lines.kind(at) {
                Kind::Heading { level, text } if ends(level, text, until) => {
                    self.at = at;
                    break;
                }
                Kind::Fence(fence) if self.ends_all(at, fence) => {
                    self.at = self.lines.len();
                    break;
                }
                Kind::Fence(fence) if is_stray_in_text(&self.lines, at, fence) => continue,
                Kind::Fence(fence) => {
                    let Some(block) = self.block(at, fence, FencePosition::Free) else { continue };
                    self.at = block.close + 1;
                    if until == Until::Action && runs_over(&self.lines, &block, fence) {
                        let error = unclosed(at, fence);
                        self.wrong(at, error.what, error.hint);
                    }
                    blocks.push(block);
                }
                Kind::Text if self.follow_comment(at) => {}
                Kind::Text if until == Until::Action && is_bold_action(self.lines.line(at)) => {
                    self.lost_action(at, self.lines.line(at));
                }
                Kind::Blank | Kind::Rule => continue,
                Kind::Heading { .. } | Kind::Text => {}
            }
            from = from.or(Some(at));
            end = self.at;
        }
        let from = from.unwrap_or(end);
        match blocks.as_slice() {
            [only] if only.open == from && only.close + 1 == end && is_plain(only.info) => {
                only.text().to_owned()
            }
            _ => self.lines.slice(from, end).trim().to_owned(),
        }
    }

    fn changes(&mut self, subject: Subject) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut is_fenced = false;
        while self.at < self.lines.len() && self.errors.len() < MAX_ERRORS {
            let at = self.at;
            match self.lines.kind(at) {
                // In a fence, a line that begins with # is a comment.
                Kind::Heading { .. } if is_fenced && !self.lines.is_boundary(at) => {}
                Kind::Heading { level, text } if ends(level, text, Until::Action) => break,
                Kind::Fence(_) => is_fenced = !is_fenced,
                Kind::Blank | Kind::Rule => {}
                Kind::Text if self.follow_comment(at) => {}
                Kind::Heading { .. } | Kind::Text => {
                    match change(self.lines.line(at), at, subject, self.root) {
                        Ok(change) => changes.extend(change),
                        Err(error) => self.wrong(error.line - 1, error.what, error.hint),
                    }
                }
            }
            self.at += 1;
        }
        changes
    }
}

/// What a text without sections and actions is, by how it or one of its lines begins, and what to do about it.
fn not_a_plan(lines: &Lines<'_>, first: usize) -> (&'static str, &'static str) {
    const MARKDOWN: &str = "Ask for a plan in Markdown with the sections Rationale and Action Plan.";
    let line = lines.line(first).trim_start();
    let begins = |with: &[&str]| with.iter().any(|with| line.starts_with(with));
    let has = |with: &[&str]| {
        (first..lines.len()).any(|at| with.iter().any(|with| lines.line(at).starts_with(with)))
    };
    if begins(&["{", "[{", "```json"]) {
        return ("JSON", MARKDOWN);
    }
    if (first..lines.len()).any(|at| is_tool_call(lines.line(at))) {
        return ("a tool call", MARKDOWN);
    }
    if begins(&["<", "```xml"]) {
        return ("XML", MARKDOWN);
    }
    if begins(&["```diff", "--- a/", "diff --git "]) || has(&["*** Begin Patch", "<<<<<<< SEARCH"]) {
        let hint =
            "Ask for a plan with the sections Rationale and Action Plan, and EDIT with FIND and REPLACE.";
        return ("a diff", hint);
    }
    ("a reply in words", "Answer it, or ask for a plan with the sections Rationale and Action Plan.")
}

/// Whether a line begins a call of a tool, as models write it into their text.
fn is_tool_call(line: &str) -> bool {
    const CALLS: [&str; 5] = ["<invoke ", "<tool_call>", "<tool_use", "<function_calls>", "<function="];
    CALLS.iter().any(|call| line.trim_start().starts_with(call))
}

fn ends(level: usize, text: &str, until: Until) -> bool {
    match (level, until) {
        (1, _) => true,
        (2, Until::Section) => true,
        (2, Until::Action) => section_of(text).is_some() || is_lost_action(level, text),
        (3, Until::Action) => looks_like_action(text),
        (_, Until::Action) => is_lost_action(level, text),
        (_, Until::Section) => false,
    }
}

/// Whether a block holds words rather than code.
fn is_plain(info: &str) -> bool {
    matches!(info.to_ascii_lowercase().as_str(), "" | "text" | "markdown" | "md" | "message")
}

/// The change that a line of a report or a plan describes, if any; `at` is its index.
pub(crate) fn change_on_line(line: &str, at: usize, subject: Subject) -> Option<Change> {
    change(line, at, subject, "").ok().flatten()
}

/// What changes are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Paths,
    Facts,
}

fn change(line: &str, at: usize, subject: Subject, root: &str) -> Result<Option<Change>, PlanError> {
    const HINT: &str = "Write `[+] what # why` or `[-] what # why`, one on a line.";
    let item = inline::bullet(line).unwrap_or(line).trim();
    let nothing = item.trim_matches(['(', ')', '.', '_', '*']).to_ascii_lowercase();
    if matches!(nothing.as_str(), "none" | "no changes" | "n/a" | "nothing") {
        return Ok(None);
    }
    let (sign, rest) = [("[+]", Sign::Add), ("[-]", Sign::Remove)]
        .into_iter()
        .find_map(|(mark, sign)| item.trim_start_matches('`').strip_prefix(mark).map(|rest| (sign, rest)))
        .ok_or_else(|| PlanError::new(at, format!("{item:?} neither adds nor removes"), HINT))?;
    let rest = rest.trim_start();
    let named = match subject {
        Subject::Paths => path(rest, root).map_err(|(what, hint)| PlanError::new(at, what, hint))?,
        Subject::Facts => fact(rest),
    };
    let (what, comment) = named;
    if what.is_empty() {
        return Err(PlanError::new(at, "nothing is named here", HINT));
    }
    let comment = Some(comment.trim().to_owned()).filter(|comment| !comment.is_empty());
    Ok(Some(Change { sign, what, comment, line: at + 1 }))
}

/// A path followed by nothing but a comment.
fn path<'r>(rest: &'r str, root: &str) -> Result<(String, &'r str), (String, String)> {
    if !rest.starts_with(['[', '`']) {
        let (path, comment) = split_comment(rest);
        let (path, _) = written_path(path.trim(), root)?;
        return Ok((path, comment));
    }
    let (path, after) = written_path(rest, root)?;
    let (before, comment) = split_comment(after);
    if before.trim().is_empty() {
        return Ok((path.trim().to_owned(), comment));
    }
    Err(more_than_a_path(rest))
}

/// A fact as a code span followed by nothing but a comment, or verbatim.
fn fact(rest: &str) -> (String, &str) {
    if let Some((fact, after)) = inline::code(rest)
        && let (before, comment) = split_comment(after)
        && before.trim().is_empty()
    {
        return (fact.trim().to_owned(), comment);
    }
    let (fact, comment) = split_comment(rest);
    (fact.trim().to_owned(), comment)
}

/// Only ` # ` begins a comment, because facts and addresses often contain a `#`.
fn split_comment(text: &str) -> (&str, &str) {
    text.split_once(" # ").or_else(|| text.strip_suffix(" #").map(|what| (what, ""))).unwrap_or((text, ""))
}
