//! Diffs and the lines of permissions, in colour.

use maud::{Markup, html};
use rapport_core::{FileDiff, LineKind, Permission, display_text};

/// The maximum number of lines of a diff that one page shows.
const MOST_LINES: usize = 4000;

/// Everything that a call would do.
pub(crate) fn permission(asked: &Permission) -> Markup {
    html! {
        pre.deed tabindex="0" aria-label="Everything that it would do" {
            @for line in asked.lines() {
                span class=(class(line.mark)) { (line.mark.sign()) (line.text) "\n" }
            }
        }
    }
}

fn class(mark: LineKind) -> &'static str {
    match mark {
        LineKind::Note => "note",
        LineKind::Care => "care",
        LineKind::Plain => "same",
        LineKind::Added => "added",
        LineKind::Removed => "removed",
        LineKind::Folded => "folded",
    }
}

/// A diff of several files, each of which can be folded.
pub(crate) fn files(diff: &str) -> Markup {
    let counted = FileDiff::all(diff);
    let (mut left, mut shown, mut all) = (MOST_LINES, Vec::new(), 0);
    for (part, counted) in
        parts(diff).into_iter().zip(counted.iter().map(Some).chain(std::iter::repeat(None)))
    {
        all += 1;
        if left > 0 {
            let lines: Vec<&str> = part.lines().take(left).collect();
            left -= lines.len();
            shown.push((part, lines, counted));
        }
    }
    html! {
        @for (part, lines, counted) in &shown {
            details.file open {
                summary {
                    code { (name(part)) }
                    @if let Some(file) = counted {
                        " " span.plus { "+" (file.added) } " " span.minus { "−" (file.removed) }
                    }
                }
                (drawn(lines))
                @let cut = part.lines().count() - lines.len();
                @if cut > 0 { p.quiet { (cut) " more lines. The whole diff: " code { "rapport diff" } } }
            }
        }
        @if all > shown.len() {
            p.quiet { (all - shown.len()) " more files. The whole diff: " code { "rapport diff" } }
        }
    }
}

/// One diff in colour; a text that is not a diff is shown as it is.
pub(crate) fn block(diff: &str, most: usize) -> Markup {
    let lines: Vec<&str> = diff.lines().take(most).collect();
    let cut = diff.lines().count() - lines.len();
    html! {
        (drawn(&lines))
        @if cut > 0 { p.quiet { (cut) " more lines" } }
    }
}

/// A switch between the two ways to show differences. Style does the rest, so it works without a script.
pub(crate) fn switch() -> Markup {
    html! {
        fieldset.diff-switch {
            legend.unseen { "How to show differences" }
            label { input type="radio" name="diff-view" value="inline" checked; " Inline" }
            label { input type="radio" name="diff-view" value="split"; " Side by side" }
        }
    }
}

/// Neighbouring lines of a diff that belong together.
#[derive(Debug, PartialEq, Eq)]
enum Block<'a> {
    /// Names of files and places, and lines that are not part of a diff.
    Notes(Vec<&'a str>),
    /// Lines that stay the same.
    Same(Vec<&'a str>),
    Changed {
        removed: Vec<&'a str>,
        added: Vec<&'a str>,
    },
}

fn blocks<'a>(lines: &[&'a str]) -> Vec<Block<'a>> {
    let mut all: Vec<Block<'a>> = Vec::new();
    for line in lines {
        match (kind(line), all.last_mut()) {
            ("same", Some(Block::Same(lines))) => lines.push(line),
            ("same", _) => all.push(Block::Same(vec![line])),
            // Lines that are removed after added ones begin another change.
            ("removed", Some(Block::Changed { removed, added })) if added.is_empty() => removed.push(line),
            ("removed", _) => all.push(Block::Changed { removed: vec![line], added: Vec::new() }),
            ("added", Some(Block::Changed { added, .. })) => added.push(line),
            ("added", _) => all.push(Block::Changed { removed: Vec::new(), added: vec![line] }),
            (_, Some(Block::Notes(lines))) => lines.push(line),
            _ => all.push(Block::Notes(vec![line])),
        }
    }
    all
}

/// Lines in colour. The same elements are one column or two: the style decides.
fn drawn(lines: &[&str]) -> Markup {
    let each = |lines: &[&str]| {
        html! { @for line in lines { span class=(kind(line)) { (display_text::line(line)) "\n" } } }
    };
    html! {
        pre.diff tabindex="0" {
            @for block in blocks(lines) {
                @match block {
                    Block::Notes(lines) => span.block { (each(&lines)) },
                    Block::Same(lines) => span.block.both { span.side { (each(&lines)) } span.side.copy aria-hidden="true" { (each(&lines)) } },
                    Block::Changed { removed, added } => span.block.both { span.side { (each(&removed)) } span.side { (each(&added)) } },
                }
            }
        }
    }
}

fn kind(line: &str) -> &'static str {
    match line.as_bytes().first() {
        _ if line.starts_with("+++") || line.starts_with("---") => "note",
        Some(b'+') => "added",
        Some(b'-') => "removed",
        Some(b'@') => "folded",
        Some(b' ') | None => "same",
        _ => "note",
    }
}

/// The diffs of single files in a diff.
fn parts(diff: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = diff.match_indices("diff --git ").map(|(at, _)| at).collect();
    starts.retain(|at| *at == 0 || diff.as_bytes()[at - 1] == b'\n');
    if starts.is_empty() {
        return if diff.trim().is_empty() { Vec::new() } else { vec![diff] };
    }
    let ends = starts.iter().copied().skip(1).chain([diff.len()]);
    starts.iter().zip(ends).map(|(from, to)| &diff[*from..to]).collect()
}

/// The name of the file that a part is about.
fn name(part: &str) -> String {
    let named = |start: &str| {
        let mut lines = part.lines().take_while(|line| !line.starts_with("@@"));
        lines.find_map(|line| line.strip_prefix(start)).filter(|name| *name != "/dev/null")
    };
    let name = named("+++ b/").or_else(|| named("--- a/"));
    let first = || part.lines().next().and_then(|line| line.rsplit_once(" b/")).map(|(_, name)| name);
    display_text::line(name.or_else(first).unwrap_or("changes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-diff --git <b>\n+two\ndiff --git a/b.bin b/b.bin\nBinary files differ\n";

    #[test]
    fn a_diff_is_divided_by_its_files() {
        let names: Vec<_> = parts(DIFF).into_iter().map(name).collect();
        assert_eq!(names, ["a.txt", "b.bin"]);
        let page = files(DIFF).into_string();
        assert!(page.contains("<span class=\"removed\">-diff --git &lt;b&gt;\n</span>"), "{page}");
        assert_eq!(files("").into_string(), "");
    }

    #[test]
    fn what_was_removed_is_beside_what_was_added() {
        let lines = ["@@ -1 +1 @@", " a", "-b", "-c", "+d", " e", "+f", "-g"];
        let changed = |removed: &[&'static str], added: &[&'static str]| Block::Changed {
            removed: removed.to_vec(),
            added: added.to_vec(),
        };
        assert_eq!(
            blocks(&lines),
            [
                Block::Notes(vec!["@@ -1 +1 @@"]),
                Block::Same(vec![" a"]),
                changed(&["-b", "-c"], &["+d"]),
                Block::Same(vec![" e"]),
                changed(&[], &["+f"]),
                changed(&["-g"], &[]),
            ]
        );
        // A screen reader reads a line that stays the same once.
        let page = drawn(&lines).into_string();
        assert_eq!(page.matches("aria-hidden").count(), 2, "{page}");
    }
}
