//! How the indentation of a place in a file differs from that of FIND, and what a line of REPLACE gets there.

use std::collections::BTreeMap;

/// The numbers of spaces that a tab may stand for, in order of preference.
const UNITS: [usize; 4] = [4, 2, 8, 3];

/// The file's indentation by FIND's.
pub(super) struct Indentation<'t> {
    known: BTreeMap<&'t str, &'t str>,
    /// The rule for others, if there is one.
    rule: Option<Rule<'t>>,
}

enum Rule<'t> {
    Same,
    More(&'t str),
    Less(&'t str),
    /// The file has a tab for this many spaces.
    Tabs(usize),
    /// The file has this many spaces for a tab.
    Spaces(usize),
    Steps(Steps),
}

/// Another unit of indentation: each step of FIND is one of the file.
struct Steps {
    /// The character of FIND's indentation, and of the file's.
    signs: (char, char),
    /// An indentation of FIND, and the file's there.
    from: (usize, usize),
    /// The length of a number of steps in FIND, and in the file.
    step: (usize, usize),
}

impl<'t> Indentation<'t> {
    /// From lines of FIND and of the file. `None` if one indentation has two forms in the file, or if a line is deeper
    /// than another in one of them only.
    pub(super) fn between(lines: &[(&'t str, &'t str)]) -> Option<Self> {
        let mut known = BTreeMap::new();
        for (wanted, line) in lines.iter().map(|(wanted, line)| (lead(wanted), lead(line))) {
            if *known.entry(wanted).or_insert(line) != line {
                return None;
            }
        }
        let mut depths: Vec<_> = known.iter().map(|(wanted, line)| (depth(wanted), depth(line))).collect();
        depths.sort_unstable();
        let is_ordered = depths.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1);
        is_ordered.then(|| Self { rule: Rule::of(&known), known })
    }

    /// A line of REPLACE with the indentation of the file, if that is known.
    pub(super) fn of_file(&self, line: &str) -> Option<String> {
        let (before, rest) = (lead(line), line.trim_start());
        if let Some(known) = self.known.get(before) {
            return Some(format!("{known}{rest}"));
        }
        match self.rule.as_ref()? {
            Rule::Same => Some(line.to_owned()),
            Rule::More(more) => Some(format!("{more}{line}")),
            Rule::Less(less) => line.strip_prefix(less).map(str::to_owned),
            Rule::Tabs(unit) => Some(format!("{}{rest}", tabbed(before, *unit))),
            Rule::Spaces(unit) => Some(format!("{}{rest}", before.replace('\t', &" ".repeat(*unit)))),
            Rule::Steps(steps) => Some(format!("{}{rest}", steps.of_file(before)?)),
        }
    }
}

impl<'t> Rule<'t> {
    fn of(known: &BTreeMap<&'t str, &'t str>) -> Option<Self> {
        let all = |fits: &dyn Fn(&str, &str) -> bool| known.iter().all(|(wanted, line)| fits(wanted, line));
        let (wanted, line) = known.first_key_value()?;
        if all(&|wanted, line| wanted == line) {
            return Some(Self::Same);
        }
        if let Some(more) = line.strip_suffix(wanted).filter(|more| !more.is_empty())
            && all(&|wanted, line| line.strip_suffix(wanted) == Some(more))
        {
            return Some(Self::More(more));
        }
        if let Some(less) = wanted.strip_suffix(line).filter(|less| !less.is_empty())
            && all(&|wanted, line| wanted.strip_suffix(line) == Some(less))
        {
            return Some(Self::Less(less));
        }
        let by_unit = UNITS.into_iter().find_map(|unit| {
            let tabs = all(&|wanted, line| !wanted.contains('\t') && tabbed(wanted, unit) == line);
            let spaces = all(&|wanted, line| !line.contains('\t') && tabbed(line, unit) == wanted);
            if tabs { Some(Self::Tabs(unit)) } else { spaces.then_some(Self::Spaces(unit)) }
        });
        by_unit.or_else(|| Steps::of(known).map(Self::Steps))
    }
}

impl Steps {
    /// The steps between these, if they are all alike.
    fn of(known: &BTreeMap<&str, &str>) -> Option<Self> {
        let signs = (sign(known.keys().copied())?, sign(known.values().copied())?);
        let mut lengths: Vec<_> = known.iter().map(|(wanted, line)| (wanted.len(), line.len())).collect();
        lengths.sort_unstable();
        let (from, to) = (*lengths.first()?, *lengths.last()?);
        let step = (to.0.checked_sub(from.0).filter(|step| *step > 0)?, to.1.checked_sub(from.1)?);
        let is_on_the_way =
            |(wanted, line): &(usize, usize)| (wanted - from.0) * step.1 == (line - from.1) * step.0;
        lengths.iter().all(is_on_the_way).then_some(Self { signs, from, step })
    }

    fn of_file(&self, wanted: &str) -> Option<String> {
        if !wanted.chars().all(|c| c == self.signs.0) {
            return None;
        }
        let scaled = |difference: usize| {
            let long = difference.checked_mul(self.step.1)?;
            long.is_multiple_of(self.step.0).then_some(long / self.step.0)
        };
        let length = match wanted.len().checked_sub(self.from.0) {
            Some(more) => self.from.1 + scaled(more)?,
            None => self.from.1.checked_sub(scaled(self.from.0 - wanted.len())?)?,
        };
        Some(self.signs.1.to_string().repeat(length))
    }
}

/// The one character that all these consist of, if it is a space or a tab.
fn sign<'t>(leads: impl Iterator<Item = &'t str>) -> Option<char> {
    let mut signs = leads.flat_map(str::chars);
    let sign = signs.next().filter(|sign| matches!(sign, ' ' | '\t'))?;
    signs.all(|other| other == sign).then_some(sign)
}

/// Converts an indentation of spaces to tabs, with the remaining spaces after them.
fn tabbed(lead: &str, unit: usize) -> String {
    let spaces = lead.replace('\t', &" ".repeat(unit)).len();
    "\t".repeat(spaces / unit) + &" ".repeat(spaces % unit)
}

/// How deep an indentation is, for comparing it with others of the same text.
fn depth(lead: &str) -> usize {
    lead.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

fn lead(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}
