//! Makes names that are safe as one part of a path, from any text.

/// The maximum length of a part.
const MAX: usize = 60;

/// Names that some file systems reserve for devices.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Whether a name from outside is as safe as one that was made here: it can be printed, pasted into a shell and used in
/// a path without any other meaning.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.starts_with(char::is_alphanumeric) && name.chars().all(is_plain)
}

/// A part of a path: lower case, `a-z`, `0-9` and single hyphens, at most 60 characters, never empty, never a reserved
/// name. It cannot leave its folder, because it has no dots and no slashes.
pub fn part(name: &str) -> String {
    // The result is truncated anyway, so only the beginning of a long text is transliterated.
    let start: String = name.chars().take(4 * MAX).collect();
    let mut slug = ::slug::slugify(start);
    if slug.len() > MAX {
        let cut = slug[..=MAX].rfind('-').filter(|&at| at > MAX / 2).unwrap_or(MAX);
        slug.truncate(cut);
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() {
        return "untitled".to_owned();
    }
    if RESERVED.contains(&slug) {
        return format!("{slug}-1");
    }
    slug.to_owned()
}
