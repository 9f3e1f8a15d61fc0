//! Diffs and the lines of permissions, in colour.

use maud::{Markup, html};
use rapport_core::{FileDiff, LineKind, Permission, visible};

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

fn drawn(lines: &[&str]) -> Markup {
    html! {
        pre.diff tabindex="0" {
            @for line in lines { span class=(kind(line)) { (visible::line(line)) "\n" } }
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
    visible::line(name.or_else(first).unwrap_or("changes"))
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
}
