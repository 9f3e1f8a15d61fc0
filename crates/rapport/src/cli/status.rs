//! `rapport status`: all sessions, and what each waits for.

use std::cmp::Reverse;

use rapport_core::{Aim, OpenQuestion, Purpose, Status, View};
use serde::Serialize;

use super::log::mark_tone;
use super::output::{ago, say_json, shorten};
use super::page::Page;
use super::session_choice::{self, Known};
use super::workflow::seals;
use super::{Common, handover, tree};
use crate::channels::terminal::check_lines;
use crate::channels::terminal::text::{Line, Tone, width};
use crate::clock::Clock;
use crate::error::{Failure, Outcome};
use crate::seals::Seal;
use crate::stores::blocking::wait;
use crate::wiring::Workspace;

/// The number of ended sessions to list without --all.
const ENDED: usize = 5;
/// The number of sessions from which they are listed in groups, each with a heading.
const GROUPED: usize = 4;

/// The maximum number of lines of a permission in the list.
const FIRST_LINES: usize = 12;

/// The number of active sessions to list without --all: those that wait for the person, then the latest.
const GOING_ON: usize = 20;

/// Names are aligned up to this many columns without a terminal, and on a terminal up to their share of a row.
const LONGEST_NAME: usize = 48;
const LEAST_NAME: usize = 24;

/// How far the rest of a row is indented if every name has a row of its own.
const NO_NAME: usize = 2;

/// The maximum length of a session's activity without a terminal.
const NOTE: usize = 100;

/// The maximum length of a task without a terminal, and its minimum useful length in a narrow one.
const TASK: usize = 60;
const LEAST_TASK: usize = 12;

/// The message if there is no session.
pub(super) const NONE_YET: &str = "No sessions here yet.
Begin one with:          rapport run \"what you want done\"
or turn by turn:         rapport new NAME
or look around first:    rapport demo";

/// Show sessions and open questions
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport status                      what goes on, what waits, what ended
  rapport status add-auth             one session, with its answers
  rapport status --json | jq '.[] | select(.status == \"needs_input\").questions'")]
pub(super) struct Args {
    /// One session: its name, or a unique part of it (default: all of them)
    session: Option<String>,
    /// The session, as a flag
    #[arg(long = "session", value_name = "SESSION", conflicts_with = "session", hide_short_help = true)]
    flag: Option<String>,
    /// List every session, however long ago it ended
    #[arg(long)]
    all: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    if let Some(name) = args.session.as_deref().or(args.flag.as_deref()) {
        let known = session_choice::known(&place, &session_choice::by_name(&place, name)?)?;
        if common.json {
            return say_json(&Shown::of(&known));
        }
        let mut page = Page::new(common);
        detail(&mut page, &place, &known);
        return page.print_paged();
    }
    let (known, mut damaged) = session_choice::all(&place)?;
    if common.json {
        say_json(&known.iter().map(Shown::of).collect::<Vec<_>>())?;
    } else if !known.is_empty() || damaged.is_empty() {
        let mut page = Page::new(common);
        overview(&mut page, &place, &known, args.all);
        page.print_paged()?;
    }
    for folder in place.folders()? {
        match seals::broken_in(&place, &folder) {
            Ok(broken) => seals::warn(&broken),
            // A damaged log is reported below, once.
            Err(failure) if damaged.iter().all(|known| known.message != failure.message) => {
                damaged.push(failure);
            }
            Err(_) => {}
        }
    }
    left_out(damaged, common.json)
}

/// Reports the sessions that could not be shown, after all others: one damaged log must not hide them. The exit code
/// says that some are missing, because a script that counts sessions would count too few.
fn left_out(mut damaged: Vec<Failure>, as_json: bool) -> Outcome {
    let last = damaged.pop();
    damaged.iter().for_each(|failure| failure.print(as_json));
    last.map_or(Ok(()), Err)
}

/// A session for scripts: its state, the result of checking its signature, and whether a process runs it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    view: &'a View,
    sealed: &'a str,
    held: bool,
}

impl<'a> Shown<'a> {
    fn of(known: &'a Known) -> Self {
        Self { view: &known.view, sealed: known.seal.word(), held: known.is_held() }
    }
}

fn overview(page: &mut Page, place: &Workspace, known: &[Known], everything: bool) {
    if known.is_empty() {
        return NONE_YET.lines().for_each(|line| page.say(line));
    }
    let mut all: Vec<_> = known.iter().map(|known| (Group::of(known), known)).collect();
    // Within a group the latest comes first.
    all.sort_by_key(|(group, known)| (*group, Reverse((known.view.updated_at, &known.id))));
    let has_headings =
        all.len() >= GROUPED && all.first().map(|(group, _)| group) != all.last().map(|(group, _)| group);
    let in_group = |wanted: Group| all.iter().filter(|(group, _)| *group == wanted).count();
    let (mut going, mut ended): (Vec<_>, Vec<_>) =
        all.iter().copied().partition(|(group, _)| *group != Group::Ended);
    let shorten = |list: &mut Vec<(Group, &Known)>, most: usize| {
        let left = if everything { 0 } else { list.len().saturating_sub(most) };
        list.truncate(list.len() - left);
        left
    };
    let left = [(shorten(&mut going, GOING_ON), "go on"), (shorten(&mut ended, ENDED), "ended")];
    let table = Table::of(going.iter().chain(&ended).map(|(_, known)| *known), page.columns());
    let mut last = None;
    for (group, known) in going.iter().chain(&ended) {
        if has_headings && last.replace(*group) != Some(*group) {
            page.push(Line::new(Tone::Dim, &format!("{} ({})", group.heading(), in_group(*group))));
        }
        table.rows(known, page.columns()).into_iter().for_each(|row| page.push(row));
        if *group != Group::Ended {
            what_waits(page, place, known, FIRST_LINES);
        }
    }
    for (left, what) in left.into_iter().filter(|(left, _)| *left > 0) {
        let line = Line::new(Tone::Dim, &format!("and {left} more that {what}: "));
        page.push(line.and(Tone::Text, "rapport status --all"));
    }
}

/// What a person has to do with a session, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Waiting,
    Review,
    Failed,
    AtWork,
    Resting,
    Ended,
}

impl Group {
    fn of(known: &Known) -> Self {
        let view = &known.view;
        match view.status {
            Status::NeedsInput => Self::Waiting,
            _ if handover::awaits_decision(view) => Self::Review,
            Status::Failed => Self::Failed,
            Status::Started | Status::Running if known.is_held() => Self::AtWork,
            Status::Started | Status::Running | Status::Idle => Self::Resting,
            Status::Completed | Status::Cancelled => Self::Ended,
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting for you",
            Self::Review => "To apply or discard",
            Self::Failed => "Failed",
            Self::AtWork => "At work",
            Self::Resting => "At rest",
            Self::Ended => "Ended",
        }
    }
}

/// Columns that fit their content.
struct Table {
    name: usize,
    word: usize,
    /// Whether names longer than their column have a row of their own, so that the columns stay aligned.
    is_aligned: bool,
}

impl Table {
    fn of<'a>(all: impl Iterator<Item = &'a Known> + Clone, columns: Option<usize>) -> Self {
        // One long name must not leave the others without their tasks.
        let most = columns.map_or(LONGEST_NAME, |columns| (columns * 2 / 5).max(LEAST_NAME));
        let names = all.clone().map(|known| width(known.id.as_str()));
        let name = match columns {
            Some(_) => names.filter(|name| *name <= most).max().unwrap_or(NO_NAME),
            None => names.max().unwrap_or_default().min(most),
        };
        let word = all.map(|known| width(&word(known))).max().unwrap_or_default();
        Self { name, word, is_aligned: columns.is_some() }
    }

    /// A session in one line. If there is no room for the task, its name is enough. A name is copied, so it is never
    /// shortened: one that is too long for its column is in a line before.
    fn rows(&self, known: &Known, columns: Option<usize>) -> Vec<Line> {
        let Known { id, view, .. } = known;
        let is_apart = self.is_aligned && width(id.as_str()) > self.name;
        let above = is_apart.then(|| Line::new(Tone::Strong, id.as_str()).whole());
        let name = if is_apart { "" } else { id.as_str() };
        let when = ago(view.updated_at, Clock::system().now());
        let origin = view.branched_from.as_ref().map(|origin| format!("  (branch of {origin})"));
        let line = Line::new(Tone::Strong, &format!("{name:<0$}", self.name))
            .and(known.tone(), &format!("  {:<1$}", word(known), self.word))
            .and(Tone::Dim, &format!("  {when:>7}"));
        let room = columns.map_or(TASK, |columns| columns.saturating_sub(line.width() + 2));
        let task = view.task.lines().next().unwrap_or_default();
        let task = if room < LEAST_TASK { String::new() } else { format!("  {}", shorten(task, room)) };
        let line = line.and(Tone::Text, &task).and(Tone::Dim, &origin.unwrap_or_default()).hanging(4);
        above.into_iter().chain([line]).collect()
    }
}

/// The status of a session, with the state of its work.
fn word(known: &Known) -> String {
    let undone = if known.view.undone.is_some() { ", undone" } else { "" };
    format!("{}{undone}", known.word())
}

/// The activity of a session or what it waits for, below its row, and the next step.
fn what_waits(page: &mut Page, place: &Workspace, known: &Known, most: usize) {
    let view = &known.view;
    match &known.seal {
        Seal::Ours => {}
        Seal::By(name) => page.push(note(Tone::Dim, &format!("signed by {name}"))),
        foreign => page.push(note(Tone::Care, &format!("it {foreign}"))),
    }
    questions(page, view, most);
    if let Some(beside) = view.agent.kept_by {
        page.push(note(Tone::Dim, &format!("kept running: {beside}")));
    }
    if let Some(why) = &view.agent.unkept {
        page.push(note(Tone::Care, &shorten(why, 200)));
    }
    for stored in &view.undelivered {
        let line = note(Tone::Care, stored.id.as_str())
            .and(Tone::Text, &format!("  {}", shorten(&stored.text, 200)));
        let line = line.and(Tone::Good, &format!(" -> {}", stored.answer));
        page.push(line.and(Tone::Dim, " (stored; the agent could not take it)").hanging(8));
    }
    if let Some(reason) = &view.failure {
        page.push(note(Tone::Bad, &shorten(reason.lines().next().unwrap_or_default(), 200)));
    }
    let is_at_work = known.is_held() && matches!(view.status, Status::Started | Status::Running);
    let room = page.columns().map_or(NOTE, |columns| columns.saturating_sub(4).max(LEAST_TASK));
    if let Some(doing) = view.agent.doing.as_ref().filter(|_| is_at_work) {
        page.push(note(Tone::Dim, &shorten(doing, room)));
    }
    if let Some(turn) = turn(place, known) {
        page.push(note(Tone::Dim, &shorten(&turn, room)));
    }
    if let Some((why, command)) = next_step(place, known) {
        page.next_step(&why, &command);
    }
}

fn note(tone: Tone, text: &str) -> Line {
    Line::new(tone, text).indented(4)
}

/// The latest turn of a session, if nothing else is asked.
fn turn(place: &Workspace, known: &Known) -> Option<String> {
    if known.view.aim != Aim::Files || !known.view.questions.is_empty() {
        return None;
    }
    // The command that resumes the session reports an error.
    let latest = wait(place.folder(&known.id).latest()).ok()??;
    Some(format!("turn {}", tree::words(&tree::drawn(&known.session, &latest).ok()?)))
}

/// The next step for a person in a session, and why.
pub(super) fn next_step(place: &Workspace, known: &Known) -> Option<(String, String)> {
    let Known { id, view, .. } = known;
    if !known.counts() {
        return Some((
            "it is not trusted, so nothing runs for it; look at it first".into(),
            format!("rapport trust {id}"),
        ));
    }
    if let Some(question) = view.questions.first() {
        return Some((String::new(), format!("rapport answer {id} --question {} VALUE", question.id)));
    }
    if handover::awaits_decision(view) {
        let worker = view.workplace.as_ref().map_or("", |workplace| workplace.worker.as_str());
        let workplace = place.worker_kinds.workplace(worker);
        let why = format!("its work waits in a {workplace}; see it, then apply or discard it");
        return Some((why, format!("rapport diff {id}")));
    }
    if !view.undelivered.is_empty() {
        return Some(("try to deliver it again with".into(), format!("rapport resume {id}")));
    }
    let goes_on = known.goes_on() && known.is_free();
    goes_on.then(|| ("go on with".into(), format!("rapport resume {id}")))
}

/// The open questions of a session, with their options. A permission is shown in at most this many lines.
pub(super) fn questions(page: &mut Page, view: &View, most: usize) {
    view.questions.iter().for_each(|question| asked(page, view, question, most));
}

fn asked(page: &mut Page, view: &View, question: &OpenQuestion, most: usize) {
    let text = match &question.purpose {
        Purpose::Permission(asked) => format!("May the agent use {} for this?", asked.tool),
        _ => question.text.clone(),
    };
    page.push(note(Tone::Care, question.id.as_str()).and(Tone::Text, &format!("  {text}")).hanging(8));
    if let Purpose::Permission(asked) = &question.purpose {
        let lines = asked.lines();
        for line in lines.iter().take(most) {
            let line = Line::new(mark_tone(line.mark), &format!("{}{}", line.mark.sign(), line.text));
            page.push(line.indented(8).whole());
        }
        if lines.len() > most {
            let more = format!("and {} more lines: ", lines.len() - most);
            let all = format!("rapport status {}", view.id);
            page.push(Line::new(Tone::Dim, &more).and(Tone::Text, &all).indented(8));
        }
    }
    for (place, option) in question.options.iter().enumerate() {
        page.push(
            Line::new(Tone::Dim, &format!("{}. ", place + 1)).and(Tone::Text, &option.label).indented(8),
        );
    }
}

fn detail(page: &mut Page, place: &Workspace, known: &Known) {
    let view = &known.view;
    let row = |label: &str, text: &str| {
        Line::new(Tone::Dim, &format!("  {label:<9} ")).and(Tone::Text, text).hanging(12)
    };
    let table = Table::of([known].into_iter(), None);
    table.rows(known, page.columns()).into_iter().for_each(|row| page.push(row));
    page.push(row("task", &shorten(&view.task, 400)));
    page.push(row("project", &view.project));
    page.push(row("files", &place.store().whereabouts(&view.id)));
    if let Some(plan) = &view.plan {
        page.push(row("plan", plan.path.as_deref().unwrap_or("not saved yet")));
    }
    if let Some(doing) = &view.agent.doing {
        page.push(row("agent", &shorten(doing, 80)));
    }
    for answered in &view.answers {
        let line = Line::new(Tone::Dim, &format!("  {}", answered.id))
            .and(Tone::Text, &format!("  {}", shorten(&answered.text, 200)))
            .and(Tone::Good, &format!(" -> {}", answered.answer));
        page.push(line.and(Tone::Dim, &format!(" (by {})", answered.by)));
    }
    for rule in &view.rules {
        let line = row("allowed", &format!("{rule} in this session; revoke it with: "));
        page.push(line.and(Tone::Text, "rapport revoke"));
    }
    if let Some(workplace) = &view.workplace {
        page.push(row(&workplace.worker, workplace.state.word()));
        if let Some(by) = &workplace.requested_by {
            page.push(row("asked", &format!("{by} asks you to apply it")));
        }
        for host in &workplace.allowed_hosts {
            page.push(row("reaches", host));
        }
        for host in &workplace.refused_hosts {
            let line = row("refused", &format!("{host}; allow it with: "));
            page.push(line.and(Tone::Text, &format!("rapport allow {} {host}", view.id)));
        }
    }
    for file in view.changes.iter().flat_map(|changes| &changes.files) {
        page.push(row(&file.status.to_string(), &file.path));
    }
    if let Some(command) = &view.checking {
        page.push(row("checking", &shorten(command, 80)));
    }
    for line in view.check.iter().flat_map(check_lines) {
        page.push(line.indented(2));
    }
    what_waits(page, place, known, usize::MAX);
    if handover::awaits_decision(view) {
        page.next_step("apply it", &format!("rapport apply {}", view.id));
        page.next_step("discard it", &format!("rapport discard {}", view.id));
    }
}
