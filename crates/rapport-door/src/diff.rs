//! The names of the files in a session's changes ([`Content::Diff`](crate::Content::Diff)).

/// The files that a diff is about, in its order.
pub fn diff_names(diff: &str) -> Vec<String> {
    let headers = diff.lines().filter_map(|line| line.strip_prefix("diff --git "));
    headers.map(|names| changed(names).to_owned()).collect()
}

/// The file name in the header of a diff: `a/NAME b/NAME`, both quoted if the name contains special characters. A
/// renamed file has two names, of which the last is the current one.
fn changed(names: &str) -> &str {
    let second = match names.split_at_checked(names.len() / 2) {
        Some((old, new)) if new.get(1..) == Some(&old.replacen("a/", "b/", 1)) => &new[1..],
        _ => names.rsplit_once(" b/").or_else(|| names.rsplit_once(" \"b/")).map_or(names, |(_, new)| new),
    };
    second.trim_matches('"').trim_start_matches("b/")
}

#[cfg(test)]
mod tests {
    use super::changed;

    #[test]
    fn every_kind_of_name_is_found() {
        for (names, file) in [
            ("a/a.txt b/a.txt", "a.txt"),
            ("a/x b/y.txt b/x b/y.txt", "x b/y.txt"),
            ("a/größe.txt b/größe.txt", "größe.txt"),
            (r#""a/a\tb.txt" "b/a\tb.txt""#, r"a\tb.txt"),
            ("a/old.txt b/new.txt", "new.txt"),
            (r#"a/old.txt "b/new\t.txt""#, r"new\t.txt"),
        ] {
            assert_eq!(changed(names), file, "{names}");
        }
    }
}
