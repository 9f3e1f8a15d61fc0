//! Counts the lines that a diff of git adds to and removes from each file.

use serde::Serialize;

/// The changes of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// Its path after the changes, or before them if it was removed.
    pub path: String,
    /// The number of lines that are added.
    pub added: usize,
    /// The number of lines that are removed.
    pub removed: usize,
    /// Whether it is binary, so that it has no lines.
    pub is_binary: bool,
}

impl FileDiff {
    /// The files of a diff, in its order.
    pub fn all(diff: &str) -> Vec<Self> {
        let mut files: Vec<Self> = Vec::new();
        // The remaining lines of the current hunk: a line of a file may look like a header.
        let (mut old, mut new) = (0_usize, 0_usize);
        for line in diff.lines() {
            let Some(file) = files.last_mut().filter(|_| !line.starts_with("diff --git ") || old + new > 0)
            else {
                if let Some(names) = line.strip_prefix("diff --git ") {
                    files.push(Self { path: second_name(names), ..Self::default() });
                }
                continue;
            };
            if old + new > 0 {
                match line.as_bytes().first() {
                    Some(b'+') => (file.added, new) = (file.added + 1, new.saturating_sub(1)),
                    Some(b'-') => (file.removed, old) = (file.removed + 1, old.saturating_sub(1)),
                    // Git's remark about the line before, such as a missing newline.
                    Some(b'\\') => {}
                    _ => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
                }
            } else if let Some(hunk) = line.strip_prefix("@@ -") {
                (old, new) = lengths(hunk);
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                file.is_binary = true;
            } else if let Some(name) = line.strip_prefix("+++ b/").or_else(|| line.strip_prefix("rename to "))
            {
                file.path = name.trim_end_matches('\t').to_owned();
            }
        }
        files
    }
}

/// The second of two names, of which the first begins with `a/` and the second with `b/`.
fn second_name(names: &str) -> String {
    let half = names.len() / 2;
    let (one, other) = (names.get(..half).unwrap_or_default(), names.get(half + 1..).unwrap_or_default());
    let same = one.strip_prefix("a/").filter(|one| Some(*one) == other.strip_prefix("b/"));
    same.or_else(|| names.rsplit_once(" b/").map(|(_, name)| name)).unwrap_or(names).to_owned()
}

/// The numbers of lines of a hunk, before and after: `1,2 +3,4 @@`.
fn lengths(hunk: &str) -> (usize, usize) {
    let mut ranges = hunk.split(' ');
    let length = |range: Option<&str>| {
        let range = range.unwrap_or_default().trim_start_matches('+');
        range.split_once(',').map_or(Ok(1), |(_, length)| length.parse()).unwrap_or_default()
    };
    (length(ranges.next()), length(ranges.next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_file() {
        let diff = "diff --git a/a b.txt b/a b.txt\nindex 1..2 100644\n--- a/a b.txt\n+++ b/a b.txt\n@@ -1,3 +1,3 @@ fn x\n one\n\
                    --- two\n-+++ three\n+++ b/four\n+five\n\\ No newline at end of file\n\
                    diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                    diff --git a/new.png b/new.png\nnew file mode 100644\nGIT binary patch\nliteral 3\nKcmZ\n\
                    diff --git a/old b/moved\nsimilarity index 100%\nrename from old\nrename to moved\n";
        let file =
            |path: &str, added, removed, is_binary| FileDiff { path: path.into(), added, removed, is_binary };
        let expected = [
            file("a b.txt", 2, 2, false),
            file("gone", 0, 1, false),
            file("new.png", 0, 0, true),
            file("moved", 0, 0, false),
        ];
        assert_eq!(FileDiff::all(diff), expected);
        assert_eq!(FileDiff::all(""), []);
    }
}
