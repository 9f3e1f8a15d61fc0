//! Longer texts: the agent's words, plans, tasks. Their Markdown is rendered line by line, so that every line is
//! shown, whatever a Markdown parser would make of it: headings and bold words stand out, code has its own tone and is
//! indented instead of fenced, the columns of tables are aligned.

use super::super::terminal_text;
use super::super::text::{Line, Tone, clip};
use super::table;

/// The indentation of code in a fence.
const CODE_INDENT: usize = 4;

/// All lines of a text.
pub fn lines(text: &str, tone: Tone) -> Vec<Line> {
    let mut fence = None;
    let mut rendered = Vec::new();
    let all = terminal_text::lines(text.trim());
    let mut rest = all.as_slice();
    while let Some((line, after)) = rest.split_first() {
        let rows = if fence.is_none() { table::rows(rest) } else { 0 };
        if rows > 0 {
            let (of_table, after) = rest.split_at(rows);
            rendered.extend(table::aligned(of_table).iter().enumerate().map(|(row, line)| match row {
                0 => in_tones(line, Tone::Strong),
                1 => Line::new(Tone::Dim, line),
                _ => in_tones(line, tone),
            }));
            rest = after;
            continue;
        }
        rest = after;
        rendered.push(match (fence, fence_mark(line)) {
            (None, Some(mark)) => {
                fence = Some(mark);
                // The indentation of the lines inside stands for a fence that says no more than their language.
                let info = line.trim_start().trim_start_matches(mark.0).trim();
                if info.chars().all(|c| c.is_ascii_alphanumeric() || "+-#_.".contains(c)) {
                    continue;
                }
                Line::new(Tone::Dim, line)
            }
            (Some(open), Some(mark)) if closes(open, mark, line) => {
                fence = None;
                continue;
            }
            (Some(_), _) => Line::new(Tone::Code, line).hanging(indent(line)).indented(CODE_INDENT),
            (None, None) => prose_line(line, tone),
        });
    }
    rendered
}

/// The first lines of a text, and the number of omitted ones.
pub(crate) fn clipped(text: &str, tone: Tone, max: usize) -> Vec<Line> {
    let mut lines = lines(text, tone);
    if lines.len() > max + 1 {
        let left = lines.len() - max;
        lines.truncate(max);
        lines.push(Line::new(Tone::Dim, &format!("… {left} more lines")));
    }
    lines
}

/// A remark: a few rows, dim.
pub(crate) fn in_passing(text: &str, rows: usize) -> Vec<Line> {
    let said = terminal_text::lines(text.trim());
    let said: Vec<&String> = said.iter().filter(|line| !line.trim().is_empty()).collect();
    let more = if said.len() > rows { " …" } else { "" };
    let shown = said.iter().take(rows).map(|line| clip(line, 80 * rows / said.len().min(rows)));
    let mut lines: Vec<Line> = shown.map(|line| prose_line(&line, Tone::Dim).indented(2)).collect();
    if let Some(last) = lines.pop() {
        lines.push(last.and(Tone::Dim, more));
    }
    lines
}

fn prose_line(line: &str, tone: Tone) -> Line {
    let text = line.trim_start();
    if let Some(heading) = heading(text) {
        return in_tones(heading, Tone::Strong);
    }
    in_tones(line, tone).hanging(indent(line) + marker(text))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A line whose `code` has its own tone, and whose **bold** words stand out. The backticks around code stay: without
/// colour they alone distinguish it.
pub(crate) fn in_tones(line: &str, tone: Tone) -> Line {
    let mut rendered = Line::empty();
    let mut rest = line;
    while let Some((before, words, sign, after)) = next_marked(rest) {
        rendered = rendered.and(tone, before);
        rendered = match sign {
            "`" => rendered.and(Tone::Code, &format!("`{words}`")),
            _ => rendered.and(Tone::Strong, words),
        };
        rest = after;
    }
    rendered.and(tone, rest)
}

/// The first words marked as code or bold: the text before them, the words, their sign, the text after.
fn next_marked(line: &str) -> Option<(&str, &str, &'static str, &str)> {
    let marked = |sign: &'static str| {
        let start = line.match_indices(sign).map(|(at, _)| at).find(|at| is_apart(&line[..*at]))?;
        let inside = &line[start + sign.len()..];
        let length = inside.find(sign)?;
        let words = &inside[..length];
        let is_text = !words.is_empty() && words.trim() == words;
        is_text.then(|| (&line[..start], words, sign, &inside[length + sign.len()..]))
    };
    ["`", "**"].into_iter().filter_map(marked).min_by_key(|(before, ..)| before.len())
}

/// Whether a sign after this text begins something: within a word it does not, as in `2**3`.
fn is_apart(before: &str) -> bool {
    !before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '`' || c == '*')
}

/// The character and the length of a code fence.
fn fence_mark(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start();
    let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == sign).count();
    (length >= 3).then_some((sign, length))
}

fn closes(open: (char, usize), mark: (char, usize), line: &str) -> bool {
    mark.0 == open.0 && mark.1 >= open.1 && line.trim().chars().all(|c| c == mark.0)
}

fn heading(text: &str) -> Option<&str> {
    let title = text.trim_start_matches('#');
    let depth = text.len() - title.len();
    title.strip_prefix(' ').filter(|_| (1..=6).contains(&depth)).map(str::trim)
}

/// The width of a list item's marker: `- `, `12. `.
fn marker(text: &str) -> usize {
    let Some((mark, _)) = text.split_once(' ') else { return 0 };
    let number =
        mark.strip_suffix(['.', ')']).is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
    if number || matches!(mark, "-" | "*" | "+" | ">") { mark.len() + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_stand_out_and_items_hang() {
        let rows: Vec<Line> = lines("## Steps\n- one two three\n  12. four five", Tone::Text)
            .iter()
            .flat_map(|line| line.rows(10))
            .collect();
        assert_eq!(rows[0], Line::new(Tone::Strong, "Steps"));
        let text: Vec<String> = rows[1..].iter().map(Line::text).collect();
        assert_eq!(text, ["- one two", "  three", "  12. four", "five"]);
    }

    #[test]
    fn code_and_bold_words_are_rendered_and_nothing_is_hidden() {
        let shown = |text: &str| lines(text, Tone::Text);
        let plain = |words: &str| Line::new(Tone::Text, words);
        let line =
            plain("1. Add ").and(Tone::Code, "`users`").and(Tone::Text, " and ").and(Tone::Strong, "test it");
        assert_eq!(shown("1. Add `users` and **test it**"), [line.hanging(3)]);
        assert_eq!(shown("2**3**4 and a ` b"), [plain("2**3**4 and a ` b")]);
        assert_eq!(shown("[//]: # (hidden)"), [plain("[//]: # (hidden)")]);
        let code = |line: &str| Line::new(Tone::Code, line).indented(CODE_INDENT);
        assert_eq!(
            shown("````sh\n# no **heading**\n```\n````\nDone."),
            [code("# no **heading**"), code("```"), plain("Done.")]
        );
        let fence = Line::new(Tone::Dim, "```sh; rm -r build");
        assert_eq!(shown("```sh; rm -r build\nls"), [fence, code("ls")], "only a language is left out");
    }

    #[test]
    fn tables_are_aligned() {
        let shown = |text: &str| lines(text, Tone::Text).iter().map(Line::text).collect::<Vec<_>>();
        let table = "Files:\n|File|Why|\n|:-|--:|\n|`a.rs`|it is **new**|\n| long/path.rs | |\nDone.";
        assert_eq!(
            shown(table),
            [
                "Files:",
                "| File         | Why       |",
                "| :----------- | --------: |",
                "| `a.rs`       | it is new |",
                "| long/path.rs |           |",
                "Done.",
            ]
        );
        assert_eq!(shown("```\n|a|b|\n|-|-|\n```"), ["    |a|b|", "    |-|-|"]);
        assert_eq!(shown("|a|b|\n|c|d|"), ["|a|b|", "|c|d|"], "without its rule it is no table");
    }

    #[test]
    fn long_texts_say_how_much_is_left() {
        let text = (1..=9).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let shown: Vec<String> = clipped(&text, Tone::Text, 3).iter().map(Line::text).collect();
        assert_eq!(shown, ["1", "2", "3", "… 6 more lines"]);
        assert_eq!(in_passing("a\n\nb\nc", 2).iter().map(Line::text).collect::<Vec<_>>(), ["  a", "  b …"]);
    }
}
