//! Makes names that are safe as one part of a path, from any text.

/// How long a part may be.
const MAX: usize = 60;

/// Names that some file systems keep for devices.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Whether a name from outside is as harmless as one that was made here: it can be printed, pasted into a shell and put into
/// a path, and is nothing but a name there.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.starts_with(char::is_alphanumeric) && name.chars().all(is_plain)
}

/// A part of a path: lower case, `a-z`, `0-9` and single hyphens, at most 60 characters, never empty, and never a name
/// with a meaning of its own. It cannot leave the folder it is put into, because it has no dots and no slashes.
pub fn part(name: &str) -> String {
    // The result is cut anyway, so only the beginning of a long text is transliterated.
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
