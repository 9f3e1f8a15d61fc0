//! Tasks that need no planning, because they are short and it is obvious what they change (LEAD-26). The rule is stated
//! in `docs/routing.md`; when in doubt, a task is planned.

use crate::id::QuestionId;
use crate::question::{Purpose, Question};
use crate::routing::Class;

/// A task with more words is planned.
const MOST_WORDS: usize = 4;

/// Words that say what is to be done with a file, and leave nothing to decide.
pub const OBVIOUS_VERBS: [&str; 6] = ["format", "reformat", "lint", "indent", "sort", "spellcheck"];
/// The same, if another word says what is wrong in the file.
pub const MENDING_VERBS: [&str; 2] = ["fix", "correct"];
/// Words that say nothing by themselves.
const FILLERS: [&str; 8] = ["in", "the", "a", "of", "on", "at", "from", "file"];

/// Whether a task needs no planning: it has fewer than five words; the first is one of the verbs above; exactly one of
/// the others names a file of the project, and if it is to be mended, another says what; no word makes it a matter for
/// people.
pub fn is_obvious(task: &str) -> bool {
    let words: Vec<&str> = task.split_whitespace().collect();
    let Some((first, others)) = words.split_first().filter(|_| words.len() <= MOST_WORDS) else {
        return false;
    };
    let verb = first.to_lowercase();
    let is_filler = |word: &str| FILLERS.iter().any(|filler| word.eq_ignore_ascii_case(filler));
    let (files, rest): (Vec<&str>, Vec<&str>) = others.iter().partition(|word| names_file(word));
    let is_clear = OBVIOUS_VERBS.contains(&verb.as_str())
        || MENDING_VERBS.contains(&verb.as_str()) && rest.iter().any(|word| !is_filler(word));
    is_clear && files.len() == 1 && others.iter().all(|word| is_plain(word)) && !is_for_people(task)
}

/// Whether a word is a path, or a file's name with an extension.
fn names_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && !extension.is_empty() && extension.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let is_inside = !word.starts_with(['/', '~']) && word.split('/').all(|part| part != "..");
    has_extension && is_inside
}

/// Whether a word stands for one thing only: it neither joins tasks nor asks.
fn is_plain(word: &str) -> bool {
    let is_joint = ["and", "or", "then", "also", "all", "every", "everything"]
        .iter()
        .any(|joint| word.eq_ignore_ascii_case(joint));
    !is_joint && !word.contains(['?', '*', ',', ';', '&', '|', ':'])
}

/// Whether the words of a task are among those for which people are asked.
fn is_for_people(task: &str) -> bool {
    let question = Question {
        id: QuestionId::new("task"),
        text: task.to_owned(),
        header: None,
        options: Vec::new(),
        multi: false,
        free_text: true,
        purpose: Purpose::Clarify,
    };
    Class::alone(&question) != Class::Clarification
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lead_26_a_short_task_about_one_file_is_obvious() {
        for task in
            ["fix typo in README.md", "Format src/main.rs", "fix spelling in docs/start.md", "sort words.txt"]
        {
            assert!(is_obvious(task), "{task}");
        }
    }

    /// What is short is not therefore obvious: the example of the requirements has three words and is planned.
    #[test]
    fn lead_26_any_other_task_is_planned() {
        for task in [
            "",
            "implement dark mode",
            "implement user authentication",
            "fix it",
            "fix the login",
            "fix the typo in README.md",
            "README.md",
            "fix",
            "fix README.md",
            "fix in README.md",
            "fix README.md and main.rs",
            "fix README.md, main.rs",
            "sort *.txt",
            "fix typos everywhere",
            "fix ../other/main.rs",
            "fix /etc/hosts.conf",
            "fix ~/notes.md",
            "fix password in config.yaml",
            "fix deploy in release.yml",
            "rewrite README.md",
            "delete main.rs",
            "fix README.md?",
            "fix опечатку README.md",
        ] {
            assert!(!is_obvious(task), "{task}");
        }
    }
}
