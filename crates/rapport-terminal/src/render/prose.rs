//! Longer texts: the agent's words, plans, tasks. Markdown stays as it is, except that headings stand out.

use super::super::safe;
use super::super::text::{Line, Tone, clip};

/// All lines of a text.
pub(crate) fn lines(text: &str, tone: Tone) -> Vec<Line> {
    safe::lines(text.trim()).iter().map(|line| prose_line(line, tone)).collect()
}

/// The first lines of a text, and how many are left out.
pub(crate) fn clipped(text: &str, tone: Tone, max: usize) -> Vec<Line> {
    let mut lines = lines(text, tone);
    if lines.len() > max + 1 {
        let left = lines.len() - max;
        lines.truncate(max);
        lines.push(Line::new(Tone::Dim, &format!("… {left} more lines")));
    }
    lines
}

/// Words said in passing: a few rows, dim.
pub(crate) fn in_passing(text: &str, rows: usize) -> Vec<Line> {
    let said = safe::lines(text.trim());
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
    let indent = line.len() - text.len();
    if let Some(heading) = heading(text) {
        return Line::new(Tone::Strong, heading);
    }
    Line::new(tone, line).hanging(indent + marker(text))
}

fn heading(text: &str) -> Option<&str> {
    let title = text.trim_start_matches('#');
    let depth = text.len() - title.len();
    title.strip_prefix(' ').filter(|_| (1..=6).contains(&depth)).map(str::trim)
}

/// How wide the mark of a list's item is: `- `, `12. `.
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
    fn long_texts_say_how_much_is_left() {
        let text = (1..=9).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let shown: Vec<String> = clipped(&text, Tone::Text, 3).iter().map(Line::text).collect();
        assert_eq!(shown, ["1", "2", "3", "… 6 more lines"]);
        assert_eq!(in_passing("a\n\nb\nc", 2).iter().map(Line::text).collect::<Vec<_>>(), ["  a", "  b …"]);
    }
}
