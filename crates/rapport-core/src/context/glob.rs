//! Path patterns: `*` and `?` within one part, `[abc]` and `[!a-z]`, `**` for any number of parts. A pattern that
//! matches a directory matches everything below it.

/// Whether a path is a pattern.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[']) && !super::is_address(path)
}

/// Whether a pattern matches a path, or a directory it is in.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<_> = pattern.split('/').collect();
    let parts: Vec<_> = path.split('/').collect();
    // For each part of the path: which prefixes of the pattern match so far.
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    skip(&pattern, &mut reached);
    for part in parts {
        let mut next = vec![false; pattern.len() + 1];
        for (at, piece) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
            if *piece == "**" {
                next[at] = true;
                next[at + 1] |= at + 1 == pattern.len();
            } else if part_matches(piece, part) {
                next[at + 1] = true;
            }
        }
        skip(&pattern, &mut next);
        if next[pattern.len()] {
            return true;
        }
        reached = next;
    }
    false
}

/// `**` may match nothing, but not at the end: `a/**` matches only what is inside `a`.
fn skip(pattern: &[&str], reached: &mut [bool]) {
    for at in 0..pattern.len().saturating_sub(1) {
        if reached[at] && pattern[at] == "**" {
            reached[at + 1] = true;
        }
    }
}

/// Matches one part of a path in O(pattern × part) time.
fn part_matches(pattern: &str, part: &str) -> bool {
    let pattern: Vec<_> = pattern.chars().collect();
    let part: Vec<_> = part.chars().collect();
    let (mut p, mut s, mut star) = (0, 0, None);
    while s < part.len() {
        match piece(&pattern, p, part[s]) {
            Some(Piece::Star) => {
                star = Some((p + 1, s));
                p += 1;
            }
            Some(Piece::Matches(length)) => {
                p += length;
                s += 1;
            }
            None => match star {
                Some((after, from)) => {
                    (p, s) = (after, from + 1);
                    star = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

enum Piece {
    Star,
    Matches(usize),
}

/// How the pattern at a position treats a character.
fn piece(pattern: &[char], at: usize, c: char) -> Option<Piece> {
    match pattern.get(at)? {
        '*' => Some(Piece::Star),
        '?' => Some(Piece::Matches(1)),
        '[' => match class(pattern, at, c) {
            Some((true, length)) => Some(Piece::Matches(length)),
            Some((false, _)) => None,
            None => (c == '[').then_some(Piece::Matches(1)),
        },
        other => (*other == c).then_some(Piece::Matches(1)),
    }
}

/// Whether a character is in `[...]`, and the length of that class; `None` if it is not closed.
fn class(pattern: &[char], at: usize, c: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(at + 1), Some('!' | '^'));
    let first = at + 1 + usize::from(negated);
    let close = (first + 1..pattern.len()).find(|index| pattern[*index] == ']')?;
    let members = &pattern[first..close];
    let mut index = 0;
    let mut found = false;
    while index < members.len() {
        if index + 2 < members.len() && members[index + 1] == '-' {
            found |= (members[index]..=members[index + 2]).contains(&c);
            index += 3;
        } else {
            found |= members[index] == c;
            index += 1;
        }
    }
    Some((found != negated, close + 1 - at))
}
