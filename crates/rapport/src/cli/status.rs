//! `rapport status`: what there is, and what waits for whom.

use rapport_core::{Aim, OpenQuestion, Purpose, SessionId, Status, View};
use serde::{Serialize, Serializer};

use super::files::{self, seals};
use super::output::{ago, say, say_json, shorten};
use super::{Common, choose, handover, sessions, tree};
use crate::channels::terminal::safe;
use crate::clock::Clock;
use crate::config;
use crate::error::{Failure, Outcome};
use crate::seals::Seal;
use crate::stores::blocking::BlockingStore;
use crate::turns::Folder;
use crate::wiring::Place;

/// How many ended sessions are listed without --all.
const ENDED: usize = 5;

/// How much of what an agent wants to do is listed where several sessions are.
const FIRST_LINES: usize = 12;

/// What is said where there is no session.
pub(super) const NONE_YET: &str = "No sessions here yet.
Begin one with:          rapport run \"what you want done\"
or turn by turn:         rapport new NAME
or look around first:    rapport demo";

/// Show sessions and the questions that wait
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport status                      what goes on, what waits, what ended
  rapport status add-auth             one session, with its answers
  rapport status --json | jq '.[] | select(.status == \"needs_input\").questions'")]
pub(super) struct Args {
    /// One session: its name, or a part of it that no other has (default: all of them)
    session: Option<String>,
    /// The same as a flag
    #[arg(long = "session", value_name = "SESSION", conflicts_with = "session", hide_short_help = true)]
    flag: Option<String>,
    /// List every session, however long ago it ended
    #[arg(long)]
    all: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let store = place.store();
    if let Some(name) = args.session.as_deref().or(args.flag.as_deref()) {
        let id = choose::by_name(&place, name)?;
        let shown = Shown::of(&store, &id)?;
        return if common.json { say_json(&shown) } else { detail(&place, &store, &shown) };
    }
    let (views, mut damaged) = all(&store)?;
    if common.json {
        say_json(&views)?;
    } else if !views.is_empty() || damaged.is_empty() {
        overview(&place, &store, &views, args.all)?;
    }
    for folder in Folder::all(&config::sessions(&place.project))? {
        match seals::broken_in(&place, &folder) {
            Ok(broken) => seals::warn(&broken),
            // A damaged log is told of below, once.
            Err(failure) if damaged.iter().all(|known| known.message != failure.message) => {
                damaged.push(failure);
            }
            Err(_) => {}
        }
    }
    for failure in damaged {
        // One damaged log must not hide the others.
        failure.print(common.json);
    }
    Ok(())
}

/// A session, and whose word it is.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    view: View,
    #[serde(serialize_with = "word_of")]
    sealed: Seal,
}

impl Shown {
    fn of(store: &BlockingStore, id: &SessionId) -> Result<Self, Failure> {
        let (entries, sealed) = store.sealed(id, 0)?;
        Ok(Self { view: sessions::replay(store, id, &entries)?.view(id), sealed })
    }
}

fn word_of<S: Serializer>(seal: &Seal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(seal.word())
}

type Failures = Vec<Failure>;

fn all(store: &BlockingStore) -> Result<(Vec<Shown>, Failures), Failure> {
    let (mut views, mut damaged) = (Vec::new(), Vec::new());
    for id in store.list()? {
        match Shown::of(store, &id) {
            Ok(view) => views.push(view),
            Err(failure) => damaged.push(failure),
        }
    }
    Ok((views, damaged))
}

fn overview(place: &Place, store: &BlockingStore, views: &[Shown], everything: bool) -> Outcome {
    if views.is_empty() {
        return say(NONE_YET);
    }
    let (ended, going): (Vec<_>, Vec<_>) = views.iter().partition(|shown| is_over(shown.view.status));
    for shown in &going {
        brief(shown)?;
        questions(shown, FIRST_LINES)?;
        kept(&shown.view)?;
        stopped(place, store, shown)?;
    }
    let shown = if everything { ended.len() } else { ENDED.min(ended.len()) };
    for view in ended.iter().rev().take(shown) {
        brief(view)?;
    }
    match ended.len() - shown {
        0 => Ok(()),
        more => say(format_args!("and {more} more that ended: rapport status --all")),
    }
}

fn brief(Shown { view, sealed }: &Shown) -> Outcome {
    let when = ago(view.updated_at, Clock::system().now());
    let task = view.task.lines().next().unwrap_or_default();
    let origin = view.branched_from.as_ref().map(|origin| format!("  (branch of {origin})"));
    let origin = safe::line(&origin.unwrap_or_default());
    let undone = if view.undone.is_some() { ", undone" } else { "" };
    say(format_args!(
        "{}  {}{undone}  {when}  {}{origin}",
        view.id,
        word(view),
        shorten(&safe::line(task), 60)
    ))?;
    match sealed {
        Seal::Ours => Ok(()),
        Seal::By(name) => say(format_args!("    signed by {}", safe::line(name))),
        foreign => say(format_args!(
            "    it {foreign}. Nothing is done for it until you say so: rapport trust {}",
            view.id
        )),
    }
}

/// A question with its options, and how to answer it. What an agent wants to do is shown as a whole where one session is, else
/// in so many lines.
pub(super) fn waiting(view: &View, question: &OpenQuestion, most: usize) -> Outcome {
    asked(view, question, most)?;
    say(format_args!("        rapport answer {} --question {} VALUE", view.id, question.id))
}

/// The open questions of a session. One that somebody else wrote takes no answer before it is trusted.
fn questions(Shown { view, sealed }: &Shown, most: usize) -> Outcome {
    for question in &view.questions {
        if sealed.counts() {
            waiting(view, question, most)?;
        } else {
            asked(view, question, most)?;
            say(format_args!("        rapport trust {}", view.id))?;
        }
    }
    Ok(())
}

fn asked(view: &View, question: &OpenQuestion, most: usize) -> Outcome {
    match &question.purpose {
        Purpose::Permission(asked) => {
            say(format_args!(
                "    {}  May the agent use {} for this?",
                question.id,
                safe::line(&asked.tool)
            ))?;
            let lines = asked.lines();
            for line in lines.iter().take(most) {
                say(format_args!("        {}{}", line.mark.sign(), safe::line(&line.text)))?;
            }
            match lines.len().saturating_sub(most) {
                0 => {}
                more => say(format_args!("        and {more} more lines: rapport status {}", view.id))?,
            }
        }
        _ => say(format_args!("    {}  {}", question.id, safe::line(&question.text)))?,
    }
    for (place, option) in question.options.iter().enumerate() {
        say(format_args!("        {}. {}", place + 1, safe::line(&option.label)))?;
    }
    Ok(())
}

/// Why an agent that waits still has its process.
fn kept(view: &View) -> Outcome {
    match view.agent.kept_by {
        Some(beside) => say(format_args!("        kept running: {beside}")),
        None => Ok(()),
    }
}

/// Where nothing waits for an answer and nobody goes on with it, somebody has to take it up.
fn stopped(place: &Place, store: &BlockingStore, Shown { view, sealed }: &Shown) -> Outcome {
    if !sealed.counts() {
        return Ok(());
    }
    let is_left = view.questions.is_empty() && store.holder(&view.id)?.is_none() && !is_over(view.status);
    if !is_left {
        return Ok(());
    }
    if view.aim == Aim::Files {
        let folder = Folder::new(&config::sessions(&place.project), &view.id);
        // What cannot be read is told by the command that goes on with it.
        let session = files::state(place, &folder).ok();
        let latest = folder.latest().ok().flatten();
        let drawn = session.zip(latest).and_then(|(session, turn)| tree::drawn(&session, &turn).ok());
        if let Some(turn) = drawn {
            say(format_args!("        turn {}", shorten(&safe::line(&tree::words(&turn)), 100)))?;
        }
        return say(format_args!("        go on with: rapport resume {}", view.id));
    }
    say(format_args!("        nobody runs it now; go on with: rapport resume {}", view.id))
}

fn detail(place: &Place, store: &BlockingStore, shown: &Shown) -> Outcome {
    let view = &shown.view;
    brief(shown)?;
    say(format_args!("  task      {}", shorten(&safe::line(&view.task), 400)))?;
    say(format_args!("  project   {}", safe::line(&view.project)))?;
    say(format_args!("  files     {}", store.whereabouts(&view.id)))?;
    if let Some(plan) = &view.plan {
        say(format_args!("  plan      {}", plan.path.as_deref().map_or("not saved yet".into(), safe::line)))?;
    }
    if let Some(doing) = &view.agent.doing {
        say(format_args!("  agent     {}", shorten(&safe::line(doing), 80)))?;
    }
    for answered in &view.answers {
        say(format_args!(
            "  {}  {} -> {} (by {})",
            answered.id,
            shorten(&safe::line(&answered.text), 200),
            safe::line(&answered.answer),
            safe::line(&answered.by.to_string())
        ))?;
    }
    for rule in &view.rules {
        say(format_args!(
            "  allowed   {} in this session; take it back with: rapport revoke",
            safe::line(&rule.to_string())
        ))?;
    }
    questions(shown, usize::MAX)?;
    kept(view)?;
    if let Some(failure) = &view.failure {
        say(format_args!("  failed    {}", safe::line(failure)))?;
    }
    stopped(place, store, shown)?;
    if let Some(workplace) = &view.workplace {
        say(format_args!("  {:<9} {}", safe::line(&workplace.worker), workplace.state.word()))?;
        if handover::awaits_decision(view) {
            say(format_args!("            see it:        rapport diff {}", view.id))?;
            say(format_args!("            take it over:  rapport apply {}", view.id))?;
            say(format_args!("            or not:        rapport discard {}", view.id))?;
        }
    }
    for file in view.changes.iter().flat_map(|changes| &changes.files) {
        say(format_args!("  {:<9} {}", file.status, safe::line(&file.path)))?;
    }
    Ok(())
}

fn word(view: &View) -> &'static str {
    match view.status {
        Status::NeedsInput => "needs input",
        status => status.as_str(),
    }
}

fn is_over(status: Status) -> bool {
    match status {
        Status::Completed | Status::Cancelled => true,
        Status::Started | Status::Running | Status::NeedsInput | Status::Idle | Status::Failed => false,
    }
}
