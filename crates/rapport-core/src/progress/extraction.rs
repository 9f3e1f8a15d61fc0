//! Extracts the progress file from an agent's reply, which may have other text before it and a code block around it.

use super::name_in;
use super::rows::CodeFence;

/// The file in a reply: from the last `# Progress:` heading on, without a surrounding code block. `None` without such a
/// heading.
pub fn cut_out(reply: &str) -> Option<String> {
    let lines: Vec<&str> = reply.lines().collect();
    let start = lines.iter().rposition(|line| name_in(line).is_some())?;
    let wrapped = lines[..start].iter().rev().find(|line| !line.trim().is_empty());
    let file = match wrapped.and_then(|line| CodeFence::of(line)) {
        Some(_) => unwrapped(&lines[start..]),
        None => &lines[start..],
    };
    Some(format!("{}\n", file.join("\n").trim_end()))
}

/// The lines up to the end of the surrounding code block. Inner code blocks are pairs of fences; an unpaired fence ends
/// it.
fn unwrapped<'a>(lines: &'a [&'a str]) -> &'a [&'a str] {
    let fences = lines.iter().enumerate().filter_map(|(index, line)| Some((index, CodeFence::of(line)?)));
    let fences: Vec<_> = fences.collect();
    let mut inside = false;
    for (n, (index, fence)) in fences.iter().enumerate() {
        let is_last = n + 1 == fences.len();
        match (inside, fence.is_named) {
            (true, false) => inside = false,
            (false, false) if is_last => return &lines[..*index],
            (false, _) => inside = true,
            (true, true) => {}
        }
    }
    lines
}
