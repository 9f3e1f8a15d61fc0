//! `rapport log`: the facts of a session, in words or as JSON.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use rapport_core::{Aim, Entry, Event, LineKind, Permission, Purpose, Session};

use super::output::{say_json, warn};
use super::page::Page;
use super::session_choice::{self, Verb, Which};
use super::{Common, tree};
use crate::channels::terminal::safe;
use crate::channels::terminal::text::{Line, Tone};
use crate::error::Outcome;
use crate::wiring::Place;

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
    let place = Place::find(common)?;
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
        warn(format_args!("session {} {seal}", safe::line(id.as_str())));
    }
    if common.json {
        return entries.iter().try_for_each(say_json);
    }
    let (mut page, zone) = (Page::new(common), TimeZone::system());
    let mut actions = Actions::default();
    for entry in &entries {
        actions.take(entry);
        in_words(&mut page, entry, &zone, &actions);
    }
    page.print_paged()
}

/// What the actions of each batch do, from the plans in the facts so far: an index alone says nothing to a reader.
#[derive(Default)]
struct Actions {
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
            _ => fact.words_naming(&|batch, action| self.name(batch, action)),
        }
    }

    fn name(&self, batch: &str, action: usize) -> Option<String> {
        self.batches.get(batch)?.get(action).cloned()
    }
}

/// The facts of an entry, one per line, with the local time.
fn in_words(page: &mut Page, entry: &Entry, zone: &TimeZone, actions: &Actions) {
    let at = entry.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S  ").to_string();
    for fact in &entry.facts {
        let words = actions.words(fact);
        page.push(Line::new(Tone::Dim, &at).and(tone(fact), &words).hanging(21));
        for line in permissions(fact).flat_map(Permission::lines) {
            let line = Line::new(mark_tone(line.mark), &format!("{}{}", line.mark.sign(), line.text));
            page.push(line.indented(22).whole());
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
        | Purpose::Budget { .. } => None,
    })
}
