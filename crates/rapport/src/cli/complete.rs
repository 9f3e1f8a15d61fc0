//! `rapport complete`: candidates for the next word of a command line. The scripts of `rapport completions` call it
//! with every Tab, so it is quick, and silent if it knows nothing.

use std::cmp::Reverse;
use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory as _};
use rapport_core::{SessionId, View};

use super::output::say_cells;
use super::{Cli, Common, session_choice, sessions};
use crate::error::Outcome;
use crate::stores::blocking::wait;
use crate::wiring::Workspace;

/// The maximum number of sessions to offer.
const MOST: usize = 50;

/// A candidate and its description.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    value: String,
    meaning: String,
}

/// A command line up to the word to complete.
struct Typed {
    command: Command,
    /// The words that are neither commands nor flags.
    given: Vec<String>,
    /// The values of flags that were given, by the id of the argument.
    flags: Vec<(String, String)>,
    /// The flag whose value is next.
    awaits: Option<Arg>,
}

/// Prints the completions of the last of these words, each with its description after a tab.
pub(super) fn execute(common: &Common, words: &[OsString]) -> Outcome {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (last, before) =
        words.split_last().map_or(("", [].as_slice()), |(last, before)| (last.as_str(), before));
    // Shells that split `--flag=value` pass the `=` as a word.
    let last = last.trim_start_matches('=');
    let typed = Typed::read(before);
    let mut common = common.clone();
    common.project = typed.flag("project").map(Into::into).or(common.project);
    let found = typed.candidates(&common, last);
    let fitting = found.into_iter().filter(|candidate| candidate.value.starts_with(last));
    fitting.take(MOST).try_for_each(|Candidate { value, meaning }| say_cells(&[&value, &meaning]))
}

impl Typed {
    fn read(words: &[String]) -> Self {
        let mut command = Cli::command();
        command.build();
        let mut typed = Self { command, given: Vec::new(), flags: Vec::new(), awaits: None };
        words.iter().filter(|word| *word != "=").for_each(|word| typed.take(word));
        typed
    }

    fn take(&mut self, word: &str) {
        if let Some(arg) = self.awaits.take() {
            self.flags.push((arg.get_id().to_string(), word.to_owned()));
            return;
        }
        if let Some(flag) = word.strip_prefix('-') {
            let (name, value) =
                flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
            let arg = self.command.get_arguments().find(|arg| is_called(arg, name)).cloned();
            match (arg, value) {
                (Some(arg), Some(value)) => self.flags.push((arg.get_id().to_string(), value.to_owned())),
                (Some(arg), None) if arg.get_action().takes_values() => self.awaits = Some(arg),
                (Some(_), None) | (None, _) => {}
            }
            return;
        }
        match self.command.find_subcommand(word).filter(|_| self.given.is_empty()).cloned() {
            Some(command) => self.command = command,
            None => self.given.push(word.to_owned()),
        }
    }

    fn flag(&self, id: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(flag, _)| flag == id).map(|(_, value)| value.as_str())
    }

    fn candidates(&self, common: &Common, word: &str) -> Vec<Candidate> {
        if let Some(arg) = &self.awaits {
            return self.values(arg, common, word);
        }
        if word.starts_with('-') {
            let shown = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
            return shown
                .filter_map(|arg| Some(of(format!("--{}", arg.get_long()?), arg.get_help())))
                .collect();
        }
        let commands = self.command.get_subcommands().filter(|command| !command.is_hide_set());
        if self.command.has_subcommands() && self.given.is_empty() {
            return commands.map(|command| of(command.get_name().to_owned(), command.get_about())).collect();
        }
        let mut places = self.command.get_positionals();
        let many = |arg: &&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        let arg = places.nth(self.given.len()).or_else(|| self.command.get_positionals().last().filter(many));
        arg.map_or_else(Vec::new, |arg| self.values(arg, common, word))
    }

    /// The possible values of a flag or an argument.
    fn values(&self, arg: &Arg, common: &Common, word: &str) -> Vec<Candidate> {
        let known: Vec<_> = arg.get_possible_values();
        if !known.is_empty() {
            let shown = known.iter().filter(|value| !value.is_hide_set());
            return shown.map(|value| of(value.get_name().to_owned(), value.get_help())).collect();
        }
        // `--project` selects other sessions.
        let Ok(place) = Workspace::find(common) else { return Vec::new() };
        let takes = |name: &str| {
            arg.get_value_names().into_iter().flatten().any(|taken| taken.split('|').any(|part| part == name))
        };
        if takes("SESSION") {
            return named(&place, word, self.command.get_name() == "answer");
        }
        let Some(view) = self.session(&place) else { return Vec::new() };
        match arg.get_id().as_str() {
            "question" => view.questions.iter().map(|asked| plain(asked.id.as_str(), &asked.text)).collect(),
            "at" => view.answers.iter().map(|given| plain(given.id.as_str(), &given.text)).collect(),
            "value" => options(&view, self.flag("question")),
            _ if takes("TURN") => turns(&place, &view.id),
            _ => Vec::new(),
        }
    }

    /// The named session, else the only one.
    fn session(&self, place: &Workspace) -> Option<View> {
        let name = self.flag("session").or(self.given.first().map(String::as_str));
        let id = session_choice::named_or_around(place, name).ok()?;
        let store = place.store();
        let only = || match store.list().ok()?.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        };
        sessions::view(&place.store(), &id.or_else(only)?).ok()
    }
}

fn is_called(arg: &Arg, name: &str) -> bool {
    let long = name.strip_prefix('-');
    let short = |c: char| name.len() == c.len_utf8() && name.starts_with(c);
    long.is_some_and(|long| arg.get_long() == Some(long)) || arg.get_short().is_some_and(short)
}

/// The sessions whose names begin like this, the newest first: without the date if that is unique.
fn named(place: &Workspace, word: &str, asks: bool) -> Vec<Candidate> {
    let Ok(mut ids) = place.store().list() else { return Vec::new() };
    ids.reverse();
    let given = |id: &SessionId| id.as_str().split_once('-').map(|(_, given)| given.to_owned());
    let is_only = |name: &str| ids.iter().filter(|id| given(id).as_deref() == Some(name)).count() == 1;
    let name = |id: &SessionId| {
        let short = given(id).filter(|name| name.starts_with(word) && is_only(name));
        short.unwrap_or_else(|| id.to_string())
    };
    let fitting = |id: &SessionId| {
        let name = Some(name(id)).filter(|name| name.starts_with(word))?;
        let view = sessions::view(&place.store(), id).ok()?;
        (!asks || !view.questions.is_empty()).then_some((name, view))
    };
    let mut found = Vec::new();
    // Names begin with a day; which of its sessions came first, only their logs say. Older days are not read in vain.
    let day = |id: &SessionId| id.as_str().split_once('-').map(|(day, _)| day.to_owned());
    for of_a_day in ids.chunk_by(|one, other| day(one) == day(other)) {
        let mut of_a_day: Vec<_> = of_a_day.iter().filter_map(fitting).collect();
        of_a_day.sort_by_key(|(_, view)| Reverse(view.created_at));
        found.extend(of_a_day);
        if found.len() >= MOST {
            break;
        }
    }
    let candidate =
        |(name, view): (String, View)| plain(&name, &format!("{}: {}", view.status.as_str(), view.task));
    found.into_iter().take(MOST).map(candidate).collect()
}

/// The possible answers to the open question. A label is offered only if it is a single plain word, because its
/// author could put a command into it. Other options are offered by number.
fn options(view: &View, question: Option<&str>) -> Vec<Candidate> {
    let open = view.questions.iter().find(|open| question.is_none_or(|id| open.id.as_str() == id));
    let options = open.into_iter().flat_map(|open| open.options.iter().enumerate());
    let is_word =
        |label: &str| label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    options
        .map(|(place, option)| match is_word(&option.label) && !option.label.starts_with(['-', '.']) {
            true => plain(&option.label, option.description.as_deref().unwrap_or_default()),
            false => plain(&(place + 1).to_string(), &option.label),
        })
        .collect()
}

fn turns(place: &Workspace, id: &SessionId) -> Vec<Candidate> {
    let turns = wait(place.folder(id).turns()).unwrap_or_default();
    turns.iter().map(|turn| plain(&turn.name.to_string(), "")).collect()
}

fn of(value: String, meaning: Option<&clap::builder::StyledStr>) -> Candidate {
    let meaning = meaning.map(ToString::to_string).unwrap_or_default();
    let first = meaning.lines().next().unwrap_or_default().to_owned();
    Candidate { value, meaning: first }
}

fn plain(value: &str, meaning: &str) -> Candidate {
    Candidate { value: value.to_owned(), meaning: meaning.lines().next().unwrap_or_default().to_owned() }
}
