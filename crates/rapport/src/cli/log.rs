//! `rapport log`: the facts of a session, in words or as JSON.

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use rapport_core::{Aim, Entry, Event, LineKind, Permission, Purpose, Session, SessionId};

use super::output::{say_json, warn};
use super::page::Page;
use super::session_choice::{self, Known, Verb, Which};
use super::{Common, diff, status, tree};
use crate::channels::terminal::terminal_text;
use crate::channels::terminal::text::{Line, Tone};
use crate::error::Outcome;
use crate::wiring::Workspace;

/// Print what happened in a session, fact by fact
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport log add-auth
  rapport log --tree                  sessions, their branches and turns
  rapport log add-auth --json | jq -c '.facts[] | .answered // empty'")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// Draw sessions with their branches and turns, as one tree (default: all sessions)
    #[arg(long)]
    tree: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    if args.tree {
        return tree::execute(common, &place, args.which.name());
    }
    let store = place.store();
    let id = session_choice::choose(
        &place,
        args.which.name(),
        &Verb::showing("rapport log SESSION", "with a log", &|_| true),
    )?;
    let (entries, seal) = store.sealed(&id, 0)?;
    if !seal.counts() {
        warn(format_args!("session {} {seal}", terminal_text::line(id.as_str())));
    }
    if common.json {
        return entries.iter().try_for_each(say_json);
    }
    let mut told = Story { page: Page::new(common), zone: TimeZone::system(), day: None, plan: None };
    let mut actions = Actions { id: Some(id.clone()), ..Actions::default() };
    for entry in &entries {
        actions.take(entry);
        told.tell(entry, &actions);
    }
    let mut page = told.page;
    if page.columns().is_some()
        && let Some((why, command)) = next_step(&place, &session_choice::known(&place, &id)?)
    {
        page.push(Line::empty());
        page.next_step(&why, &command);
    }
    page.print_paged()
}

/// What to do after the log was read: what waits, else to look at what was changed.
fn next_step(place: &Workspace, known: &Known) -> Option<(String, String)> {
    let changes = || {
        let is_there = diff::has_changes(&known.session) && known.view.undone.is_none();
        is_there.then(|| ("see what it changed".to_owned(), format!("rapport diff {}", known.id)))
    };
    status::next_step(place, known).or_else(changes)
}

/// What the actions of each batch do, from the plans in the facts so far: an index alone says nothing to a reader.
#[derive(Default)]
struct Actions {
    id: Option<SessionId>,
    session: Option<Session>,
    batches: HashMap<String, Vec<String>>,
}

impl Actions {
    fn take(&mut self, entry: &Entry) {
        match &mut self.session {
            Some(session) => session.apply_entry(entry),
            None => self.session = Session::replay([entry]),
        }
        for fact in &entry.facts {
            let Event::Approved { folder, batch, .. } = fact else { continue };
            let turn = self.session.as_ref().and_then(|session| session.file_turn(folder));
            let plan = turn.and_then(|turn| turn.plan.as_ref()).map(|plan| plan.shown());
            let names = plan.into_iter().flat_map(|plan| plan.actions);
            self.batches.insert(batch.clone(), names.map(|action| action.kind.in_brief()).collect());
        }
    }

    fn words(&self, fact: &Event) -> String {
        let is_in_turns = self.session.as_ref().is_some_and(|session| session.created().aim == Aim::Files);
        match fact {
            // Turns are numbered by their directories there; the agent's own count would be read as one of those.
            Event::TurnEnded { .. } if is_in_turns => "the agent has made the plan".to_owned(),
            Event::Used { tool, what, kind, .. } => {
                let seen_from = self.session.as_ref().zip(self.id.as_ref());
                let what = seen_from
                    .map_or(what.as_str(), |(session, id)| session.seen_from(id).subject(*kind, what));
                format!("the agent uses {tool}: {what}")
            }
            _ => fact.words_naming(&|batch, action| self.name(batch, action)),
        }
    }

    fn name(&self, batch: &str, action: usize) -> Option<String> {
        self.batches.get(batch)?.get(action).cloned()
    }
}

/// The log as it is printed so far.
struct Story {
    page: Page,
    zone: TimeZone,
    /// The day of the last entry.
    day: Option<Date>,
    /// Where the plan was saved last: it is saved again whenever a line of it changes.
    plan: Option<String>,
}

impl Story {
    /// The facts of an entry, one per line, with the local time. Each day has a heading.
    fn tell(&mut self, entry: &Entry, actions: &Actions) {
        let at = entry.at.to_zoned(self.zone.clone());
        if self.day.replace(at.date()) != Some(at.date()) {
            self.page.push(Line::new(Tone::Dim, &at.strftime("%Y-%m-%d").to_string()));
        }
        let at = at.strftime("%H:%M:%S  ").to_string();
        for fact in &entry.facts {
            if let Event::PlanSaved { path, .. } = fact
                && self.plan.replace(path.clone()).as_ref() == Some(path)
            {
                continue;
            }
            self.page.push(Line::new(Tone::Dim, &at).and(tone(fact), &actions.words(fact)).hanging(10));
            for line in permissions(fact).flat_map(Permission::lines) {
                let line = Line::new(mark_tone(line.mark), &format!("{}{}", line.mark.sign(), line.text));
                self.page.push(line.indented(11).whole());
            }
        }
    }
}

/// The tone of a fact: questions, answers and failures stand out.
fn tone(fact: &Event) -> Tone {
    let is_bad = matches!(
        fact,
        Event::Failed { .. }
            | Event::CutOff { .. }
            | Event::Unreadable { .. }
            | Event::NotApplied(_)
            | Event::UndoRefused { .. }
            | Event::WorkUndoRefused { .. }
    );
    let is_good = matches!(fact, Event::Answered { .. } | Event::Approved { .. } | Event::Reported { .. });
    match fact {
        Event::Created(_) => Tone::Strong,
        Event::Asked { .. } | Event::ActionAsked { .. } => Tone::Care,
        _ if is_bad => Tone::Bad,
        _ if is_good => Tone::Good,
        _ => Tone::Text,
    }
}

/// The tone of a permission's line.
pub(super) fn mark_tone(mark: LineKind) -> Tone {
    match mark {
        LineKind::Added => Tone::Good,
        LineKind::Removed => Tone::Bad,
        LineKind::Care => Tone::Care,
        LineKind::Note | LineKind::Folded => Tone::Dim,
        LineKind::Plain => Tone::Text,
    }
}

/// The permissions that a fact asks for, which are shown in full.
fn permissions(fact: &Event) -> impl Iterator<Item = &Permission> {
    let questions = match fact {
        Event::Asked { questions, .. } => questions.as_slice(),
        _ => &[],
    };
    questions.iter().filter_map(|question| match &question.purpose {
        Purpose::Permission(asked) => Some(asked),
        Purpose::Clarify
        | Purpose::Elicit(_)
        | Purpose::LeavePlanMode { .. }
        | Purpose::Confirm
        | Purpose::Budget { .. }
        | Purpose::Idle => None,
    })
}
