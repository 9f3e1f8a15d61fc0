//! A permission: everything that a tool call would do, as data, and the rule that could allow the same call from now
//! on. Every channel shows [`Permission::lines`], so that nothing is allowed unseen.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::activity::ToolUse;
use crate::display_text::{self, EMPTY_LINES};

/// A tool call that has to be allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    /// The tool's name.
    pub tool: String,
    /// What identifies the call: the command, the path, or the beginning of its input.
    pub what: String,
    /// What the tool does, as the driver of the agent knows it. Logs of older versions do not say it.
    #[serde(default, skip_serializing_if = "ToolUse::is_other")]
    pub kind: ToolUse,
    /// Everything that would happen. Empty only in older logs, which lack it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The rule that could allow calls like this one from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// What else to know before deciding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<PermissionRemark>,
}

/// One part of what would happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The purpose, as the agent states it.
    Purpose(String),
    /// A warning that the call does more than it seems to. No rule covers such a call.
    Flag(String),
    /// Another input value, with its name.
    Note(String),
    /// A command, as a shell would run it.
    Command(String),
    /// A diff: each line begins with `-`, `+` or a space; `@@` marks omitted lines.
    Diff(String),
    /// The whole content of a file.
    Content(String),
    /// The whole input, as JSON.
    Input(String),
}

/// A note for the person who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionRemark {
    /// The plan is not confirmed yet, and the call would change something.
    BeforeThePlan,
    /// The same call was allowed before and the agent was cut off: it may have run.
    MayHaveRun,
}

impl PermissionRemark {
    /// The remark in words.
    pub fn as_str(self) -> &'static str {
        match self {
            PermissionRemark::BeforeThePlan => {
                "The plan is not confirmed yet: this would happen before it is."
            }
            PermissionRemark::MayHaveRun => {
                "This was allowed before and the agent was interrupted: it may have run already."
            }
        }
    }
}

/// A rule: calls that are allowed without asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The tool that it is about.
    pub tool: String,
    /// Which calls of that tool; `None` for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
}

/// A pattern that selects calls of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Calls with exactly this subject, such as a command or a path.
    Exactly(String),
    /// Single commands that begin with these words.
    StartsWith(String),
}

impl Rule {
    /// Parses a rule that an agent's program writes as `tool(content)`; `None` if it is not understood.
    pub fn parse(tool: &str, content: Option<&str>) -> Option<Self> {
        let pattern = match content {
            None => None,
            Some(content) => Some(Pattern::parse(content)?),
        };
        Some(Self { tool: tool.into(), pattern })
    }

    /// Parses a rule that a person typed as it is shown. Characters that are shown by a stand-in cannot be typed.
    pub fn typed(text: &str) -> Option<Self> {
        let Some((tool, content)) = text.split_once('(') else { return Self::parse(text, None) };
        let content = content.strip_suffix(')')?;
        let quoted = content.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match quoted.filter(|what| what.ends_with('*')) {
            Some(what) => Some(Self::exactly(tool, what)),
            None => Self::parse(tool, Some(content)),
        }
    }

    /// The rule for exactly this call.
    pub fn exactly(tool: &str, what: &str) -> Self {
        Self { tool: tool.into(), pattern: Some(Pattern::Exactly(what.into())) }
    }

    /// The rule in words, as it is offered with this call; it does not repeat what the call already shows.
    pub(crate) fn offered_with(&self, asked: &Permission) -> String {
        let is_file = asked.parts.iter().any(|part| matches!(part, Part::Content(_) | Part::Diff(_)));
        match &self.pattern {
            Some(Pattern::Exactly(what)) if *what == asked.what && is_long(what) => {
                format!("{}: exactly this again", self.tool)
            }
            Some(Pattern::Exactly(_)) if is_file => format!("{self}, whatever the content"),
            Some(_) => self.to_string(),
            None => format!("{self}, with any input"),
        }
    }

    /// Whether the rule allows this call. It never allows a call with flags.
    pub fn covers(&self, asked: &Permission) -> bool {
        let has_flags = asked.parts.iter().any(|part| matches!(part, Part::Flag(_)));
        self.tool == asked.tool
            && !has_flags
            && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(&asked.what))
    }
}

impl Pattern {
    fn parse(content: &str) -> Option<Self> {
        let words = content.strip_suffix(" *").or_else(|| content.strip_suffix(":*"));
        match words {
            Some(words) => is_single_command(words).then(|| Pattern::StartsWith(words.into())),
            None => Some(Pattern::Exactly(content.into())),
        }
    }

    fn matches(&self, what: &str) -> bool {
        match self {
            Pattern::Exactly(exactly) => exactly == what,
            Pattern::StartsWith(words) => {
                let rest = what.strip_prefix(words.as_str());
                is_single_command(what) && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
        }
    }
}

fn is_long(what: &str) -> bool {
    what.contains('\n') || what.chars().count() > 120
}

/// Whether a shell would run this as one command with plain words: nothing is joined, expanded, quoted or redirected.
fn is_single_command(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _./:=@,+%-".contains(c);
    !text.trim().is_empty() && text.chars().all(is_plain)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            // A trailing `*` would make it a rule about a prefix.
            Some(Pattern::Exactly(what)) if what.ends_with('*') => {
                write!(f, "{}(\"{}\")", self.tool, display_text::line(what))
            }
            Some(Pattern::Exactly(what)) => write!(f, "{}({})", self.tool, display_text::line(what)),
            Some(Pattern::StartsWith(words)) => write!(f, "{}({words} *)", self.tool),
        }
    }
}

/// One line of a permission, safe to show anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownLine {
    /// The kind of line.
    pub mark: LineKind,
    /// The text of the line.
    pub text: String,
}

/// The kind of a shown line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A remark about the call.
    Note,
    /// A warning about the call.
    Care,
    /// A line of a file or command, unchanged.
    Plain,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// A placeholder that counts omitted lines, which are empty or unchanged.
    Folded,
}

impl LineKind {
    /// The sign in front of such a line.
    pub fn sign(self) -> &'static str {
        match self {
            LineKind::Added => "+ ",
            LineKind::Removed => "- ",
            LineKind::Plain | LineKind::Note | LineKind::Folded => "  ",
            LineKind::Care => "! ",
        }
    }
}

impl Permission {
    /// A call with no details beyond its subject.
    pub fn new(tool: impl Into<String>, what: impl Into<String>) -> Self {
        Self { tool: tool.into(), what: what.into(), ..Self::default() }
    }

    /// The same for people who know the project: a file in it has its path from there.
    pub fn seen_from(&self, project: &str) -> Self {
        let is_file = self.parts.iter().any(|part| matches!(part, Part::Diff(_) | Part::Content(_)));
        let inside =
            self.what.strip_prefix(project.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
        // A path with `..` may lead anywhere.
        let inside = inside.filter(|path| is_file && !path.split('/').any(|part| part == ".."));
        Self { what: inside.map_or_else(|| self.what.clone(), str::to_owned), ..self.clone() }
    }

    /// Everything that would happen, line by line. Control characters and invisible or reordering characters are
    /// replaced by their names, and long runs of blanks and of empty lines by their number, so that nothing is hidden.
    pub fn lines(&self) -> Vec<ShownLine> {
        let remarks = self.remarks.iter().map(|remark| shown(LineKind::Care, remark.as_str()));
        let has_diff = self.parts.iter().any(|part| matches!(part, Part::Diff(_)));
        let is_path = self.parts.iter().any(|part| matches!(part, Part::Diff(_) | Part::Content(_)));
        let path = is_path.then(|| shown(LineKind::Note, &self.what));
        let parts = self.parts.iter().filter(|part| !(has_diff && matches!(part, Part::Content(_))));
        let mut lines: Vec<ShownLine> = remarks.chain(path).chain(parts.flat_map(Part::lines)).collect();
        if self.parts.is_empty() {
            lines.extend(block(LineKind::Plain, &self.what));
        }
        lines
    }

    /// The same as one text.
    pub fn text(&self) -> String {
        let lines = self.lines();
        lines.iter().map(|line| format!("{}{}\n", line.mark.sign(), line.text)).collect()
    }
}

impl Part {
    fn lines(&self) -> Vec<ShownLine> {
        match self {
            Part::Purpose(words) => block(LineKind::Note, &format!("It says: {words}")),
            Part::Flag(words) => block(LineKind::Care, words),
            Part::Note(words) => block(LineKind::Note, words),
            Part::Command(text) | Part::Input(text) => block(LineKind::Plain, text),
            Part::Content(text) => block(LineKind::Added, text),
            Part::Diff(text) => folded(text.lines().map(diff_line)),
        }
    }
}

fn diff_line(line: &str) -> ShownLine {
    let (mark, text) = match (line.strip_prefix('+'), line.strip_prefix('-')) {
        (Some(added), _) => (LineKind::Added, added),
        (_, Some(removed)) => (LineKind::Removed, removed),
        _ if line.starts_with("@@") => (LineKind::Folded, line),
        _ => (LineKind::Plain, line.strip_prefix(' ').unwrap_or(line)),
    };
    shown(mark, text)
}

fn block(mark: LineKind, text: &str) -> Vec<ShownLine> {
    folded(text.strip_suffix('\n').unwrap_or(text).split('\n').map(|line| shown(mark, line)))
}

fn shown(mark: LineKind, text: &str) -> ShownLine {
    ShownLine { mark, text: display_text::line_without_gaps(text.strip_suffix('\r').unwrap_or(text)) }
}

fn folded(lines: impl Iterator<Item = ShownLine>) -> Vec<ShownLine> {
    let mut folded: Vec<ShownLine> = Vec::new();
    let mut empty: Vec<ShownLine> = Vec::new();
    let settle = |empty: &mut Vec<ShownLine>, folded: &mut Vec<ShownLine>| match empty.len() {
        0..=EMPTY_LINES => folded.append(empty),
        many => {
            folded.push(shown(LineKind::Folded, &format!("({many} empty lines)")));
            empty.clear();
        }
    };
    for line in lines {
        if line.text.trim().is_empty() && line.mark != LineKind::Folded {
            empty.push(line);
            continue;
        }
        settle(&mut empty, &mut folded);
        folded.push(line);
    }
    settle(&mut empty, &mut folded);
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tool: &str, what: &str, parts: Vec<Part>) -> Permission {
        Permission { parts, ..Permission::new(tool, what) }
    }

    /// A rule covers exactly what it says, and nothing that a shell would extend.
    #[test]
    fn what_rules_cover() {
        let tag = Rule::parse("Bash", Some("git tag *")).unwrap();
        let touch = Rule::parse("Bash", Some("touch one.txt")).unwrap();
        for (rule, command, covered) in [
            (&tag, "git tag", true),
            (&tag, "git tag v1.2 -m done", true),
            (&tag, "git tagging", false),
            (&tag, "git tag v1; rm -rf /", false),
            (&tag, "git tag $(rm -rf /)", false),
            (&tag, "git tag v1\nrm x", false),
            (&tag, "git tag v1 > README.md", false),
            (&tag, "git tag 'a b'", false),
            (&tag, "git push", false),
            (&touch, "touch one.txt", true),
            (&touch, "touch one.txt two.txt", false),
        ] {
            assert_eq!(rule.covers(&asked("Bash", command, vec![])), covered, "{rule}: {command}");
        }
        assert!(!touch.covers(&asked("Write", "touch one.txt", vec![])));
        let outside =
            vec![Part::Command("touch one.txt".into()), Part::Flag("outside of the sandbox".into())];
        assert!(!touch.covers(&asked("Bash", "touch one.txt", outside)));
    }

    #[test]
    fn rules_are_read_and_written() {
        for (content, written) in [
            (Some("git tag *"), Some("Bash(git tag *)")),
            (Some("git tag:*"), Some("Bash(git tag *)")),
            (Some("touch a && rm b"), Some("Bash(touch a && rm b)")),
            (Some("a; b *"), None),
            (Some(" *"), None),
            (None, Some("Bash")),
        ] {
            let rule = Rule::parse("Bash", content).map(|rule| rule.to_string());
            assert_eq!(rule.as_deref().and_then(Rule::typed).map(|rule| rule.to_string()), rule);
            assert_eq!(rule.as_deref(), written, "{content:?}");
        }
    }

    #[track_caller]
    fn check(permission: &Permission, expected: &str) {
        assert_eq!(permission.text(), expected);
    }

    /// A file of the project is shown by its path from there; anything else as it is.
    #[test]
    fn paths_are_seen_from_the_project() {
        let file = || vec![Part::Content("x\n".into())];
        for (what, parts, seen) in [
            ("/home/anna/app/src/a.rs", file(), "src/a.rs"),
            ("/home/anna/apple/a.rs", file(), "/home/anna/apple/a.rs"),
            ("/home/anna/app/../b.rs", file(), "/home/anna/app/../b.rs"),
            ("/etc/hosts", file(), "/etc/hosts"),
            (
                "/home/anna/app/run.sh",
                vec![Part::Command("/home/anna/app/run.sh".into())],
                "/home/anna/app/run.sh",
            ),
        ] {
            for project in ["/home/anna/app", "/home/anna/app/"] {
                assert_eq!(asked("Write", what, parts.clone()).seen_from(project).what, seen);
            }
        }
    }

    /// Nothing can be hidden: reordering characters are named, runs of empty lines are counted.
    #[test]
    fn everything_is_shown() {
        let command = format!("ls{}rm -rf ~\u{202e}x\u{1b}[2K", "\n".repeat(24));
        let parts = vec![Part::Purpose("List files".into()), Part::Command(command)];
        check(
            &asked("Bash", "ls", parts),
            "  It says: List files\n  ls\n  (23 empty lines)\n  rm -rf ~<U+202E>x␛[2K\n",
        );
        check(&asked("Bash", "ls\nrm x", vec![]), "  ls\n  rm x\n");
        let (gap, blank) = (" ".repeat(2000), "\u{2800}\n".repeat(2));
        let command = format!("ls{gap}; rm -rf ~\n{blank}{gap}rm -rf /");
        check(
            &asked("Bash", "ls", vec![Part::Command(command)]),
            "  ls <2000 spaces> ; rm -rf ~\n  <U+2800>\n  <U+2800>\n   <2000 spaces> rm -rf /\n",
        );
        let blank = format!("ls\n{}rm x", format!("{gap}\n").repeat(9));
        check(&asked("Bash", &blank, vec![]), "  ls\n  (9 empty lines)\n  rm x\n");
        let parts = vec![Part::Diff("@@ -1 +1 @@\n-a\n+b\n c\n".into()), Part::Content("b\nc\n".into())];
        let mut edit = asked("Write", "/a.txt", parts);
        edit.remarks = vec![PermissionRemark::MayHaveRun];
        let remark = PermissionRemark::MayHaveRun.as_str();
        check(&edit, &format!("! {remark}\n  /a.txt\n  @@ -1 +1 @@\n- a\n+ b\n  c\n"));
    }
}
