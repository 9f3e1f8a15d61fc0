//! `rapport execute`: runs one plan, outside of any session.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rapport_core::report::{Overall, Report};
use rapport_core::{Act, ActionPlan, Aim, Chosen, FileBatch, Session, TurnStage};

use super::output::{say, say_json, warn};
use super::workflow::open_session::{self, OpenSession};
use super::workflow::review::{self, Approval};
use super::workflow::{plan, run};
use super::{Common, clipboard, screen, typed_lines, undo};
use crate::channels::terminal::review::Verdict;
use crate::channels::terminal::terminal_text;
use crate::cli::runtime;
use crate::clock::Clock;
use crate::config::{self, Layer, Settings};
use crate::error::{Code, Failure, Outcome};
use crate::projects::files::{replace, text};
use crate::projects::memos;
use crate::projects::written_reports::WrittenReports;
use crate::stores::Holder;
use crate::stores::blocking::{BlockingStore, wait};
use crate::threads::off_thread;
use crate::turns::batches::{self, BatchDir, Batches, Naming, ONLY_TURN};
use crate::turns::check::CheckedPlan;
use crate::turns::report::{self, Carried};
use crate::turns::{Folder, PLAN, REPORT, check};
use crate::wiring::{SessionKind, Workspace};

/// Review a plan and run what you approve, outside of any session
///
/// The plan comes from a file, from standard input, or from the clipboard. It is checked, shown, run as far as you
/// approve, and reported in report.md in the current directory. `rapport undo` reverts its changes to files. Memos are
/// stored for all sessions; Active Context is for the next turn of a session, and is ignored here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport execute plan.md
  rapport execute -y plan.md            run all of it without asking
  rapport execute                       the plan is in the clipboard
  cat plan.md | rapport execute - -y

docs/formats/plan.md describes plans.")]
pub(super) struct Args {
    /// The plan; "-" reads it from standard input (default: the clipboard)
    #[arg(value_name = "PLAN")]
    plan: Option<OsString>,
    /// Approve all of the plan
    #[arg(long, short)]
    yes: bool,
}

/// Why changes of the Active Context are left out.
const NO_NEXT_TURN: &str = "the plan belongs to no session, so there is no next turn";

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let settings = place.settings(Layer::default())?;
    let (source, name) = source(&args)?;
    warn_of_session(&place, args.plan.as_deref().map(Path::new));
    warn_of_cut_off(&place);
    let here = std::env::current_dir()?;
    let job = Job { common, place: &place, settings: &settings, name, here, source: &source };
    job.run(Approval::from_flag(args.yes))
}

/// The plan's text, and its name in the report.
fn source(args: &Args) -> Result<(String, String), Failure> {
    match args.plan.as_deref() {
        Some(dash) if dash == "-" => {
            Ok((typed_lines::piped("the plan from standard input")?, "standard input".into()))
        }
        Some(path) => {
            let path = Path::new(path);
            let file = std::fs::File::open(path).map_err(|error| {
                Failure::new(Code::Usage, format!("cannot read the plan {}: {error}", path.display()))
                    .hint("Name the file of a plan, from the current directory: rapport execute plan.md")
                    .hint(
                        "or, if an agent is to make one, say what for: rapport plan -m \"add a login page\"",
                    )
            })?;
            if path.is_dir() {
                let what = format!("cannot read the plan {}: it is a directory", path.display());
                return Err(Failure::new(Code::Usage, what)
                    .hint("Name the plan in it: rapport execute plan.md")
                    .hint("or run the turns of a session in order: rapport resume"));
            }
            let name = path.display().to_string();
            Ok((typed_lines::all(file, &format!("the plan {name}"))?, name))
        }
        None => Ok((clipboard::read()?, "the clipboard".into())),
    }
}

/// Warns that a turn's plan has its own command, which maintains the turn's report.
fn warn_of_session(place: &Workspace, plan: Option<&Path>) {
    if plan.is_some_and(|plan| is_of_session(place, plan)) {
        warn(
            "this plan belongs to a session, and its turn will not know that it was run\n  Run it as a part of its session with: rapport resume",
        );
    }
}

fn is_of_session(place: &Workspace, path: &Path) -> bool {
    place.store().session_at(path).is_ok_and(|session| session.is_some())
}

/// Warns of a killed batch, which has no report and can only be undone.
fn warn_of_cut_off(place: &Workspace) {
    // If it cannot be read, `undo` reports that; it does not concern this plan.
    if let Ok(Some(last)) = last_alone(place)
        && last.is_cut_off()
    {
        let name = batches::name(&last.path);
        let story: Vec<_> =
            last.story().iter().map(|line| format!("\n  {}", terminal_text::line(line))).collect();
        warn(format_args!(
            "the last plan was not run to its end{}\n  Undo its changes to files with: rapport undo --batch {}",
            story.concat(),
            screen::word(name)
        ));
    }
}

/// How to undo the last plan, if its changes still exist: they may be what prevents this one.
fn undo_first(place: &Workspace) -> Option<String> {
    let last = last_alone(place).ok().flatten().filter(|last| last.has_changes() && !last.is_undone())?;
    let name = screen::word(batches::name(&last.path));
    Some(format!("If what the last plan changed is in the way, undo it first: rapport undo --batch {name}"))
}

/// The last batch that belongs to no turn, if there is one.
fn last_alone(place: &Workspace) -> Result<Option<BatchDir>, Failure> {
    let sessions: Vec<_> = place.folders()?.into_iter().map(|folder| folder.id).collect();
    let mut all = batches::all(&place.project)?.into_iter();
    Ok(all.find(|path| batches::is_alone(path, &sessions)).map(BatchDir::read).transpose()?)
}

struct Job<'a> {
    common: &'a Common,
    place: &'a Workspace,
    settings: &'a Settings,
    name: String,
    here: PathBuf,
    source: &'a str,
}

impl Job<'_> {
    fn run(&self, approval: Approval) -> Outcome {
        let now = Clock::system().now();
        let CheckedPlan { problems, remarks } = check::checked(&self.place.project, &self.name, self.source)?;
        let parsed = ActionPlan::parse_in(self.source, &self.place.project.to_string_lossy());
        let parsed = parsed.map(|plan| plan.remarked(&remarks));
        let (Ok(plan), []) = (&parsed, problems.as_slice()) else {
            let in_the_way = parsed.is_ok().then(|| undo_first(self.place)).flatten();
            let plan = parsed.unwrap_or_else(|_| ActionPlan::unread(self.source));
            let report = Report::invalid(&plan, &self.name, &problems, now);
            let path = self.write(&report.to_string())?;
            let failure = plan::faulty("this plan", &problems);
            let failure = in_the_way.into_iter().fold(failure, Failure::hint);
            return Err(failure.hint(format!("The report is in {}", path.display())));
        };
        if !plan.memos.is_empty() {
            // A broken file is reported before anything runs, rather than at the end when the memos are written.
            memos::read(&config::memos(&self.place.project))?;
        }
        let Some(chosen) = self.chosen(plan, approval)? else {
            let report = Report::skipped(plan, &self.name, now);
            let path = self.write(&report.to_string())?;
            return say(format_args!(
                "Nothing was done. The report is in {}",
                terminal_text::line(&path.display().to_string())
            ));
        };
        let folder = self.begin()?;
        let kind = SessionKind::Plans(self.name.clone());
        let work = async |held: &OpenSession<'_>| self.carry_out(held, plan, &chosen).await;
        open_session::hold_in(self.common, self.place, self.settings, (kind, folder), work)
    }

    /// The items to run; `None` if the plan is skipped. Its context is not asked about, because there is no next
    /// turn.
    fn chosen(&self, plan: &ActionPlan, approval: Approval) -> Result<Option<Chosen>, Failure> {
        let runtime = runtime::of_two_threads()?;
        let asked = ActionPlan { context: None, ..plan.clone() };
        let verdict = review::verdict(self.common, &self.place.project, self.settings, &asked, approval);
        let verdict = runtime.block_on(verdict);
        runtime.shutdown_background();
        let chosen = match verdict? {
            Verdict::Approve(selection) | Verdict::Run(selection) => selection.chosen(),
            Verdict::Skip => return Ok(None),
            Verdict::Quit => return Err(review::left()),
        };
        let context = plan.context.iter().flatten().map(|_| Some(NO_NEXT_TURN.to_owned())).collect();
        Ok(Some(Chosen { context, ..chosen }))
    }

    /// Creates a log for the plan, beside its batch.
    fn begin(&self) -> Result<Folder, Failure> {
        let kind = SessionKind::Plans(self.name.clone());
        Batches::of(&self.place.project, Naming::Alone).set_up()?;
        let now = Clock::system().now();
        let facts = Session::begin(self.place.session(self.name.clone(), Aim::Files, self.settings)?)?;
        let holder = Holder::this_process(None);
        let time = now.strftime("%H%M%S").to_string();
        let (id, _, log) =
            BlockingStore::from(self.place.store_in(&kind)).create(&time, now, facts, &holder)?;
        let folder = self.place.folder_in(&kind, &id);
        let turn = wait(folder.make_next(None, now))?;
        wait(turn.write_noted(PLAN, self.source.as_bytes().to_vec()))?;
        drop(log);
        Ok(folder)
    }

    async fn carry_out(&self, held: &OpenSession<'_>, plan: &ActionPlan, chosen: &Chosen) -> Outcome {
        let act = Act::Approve { folder: ONLY_TURN.into(), revision: 1, chosen: chosen.clone() };
        let ran = run::run(held, plan, act).await;
        let session = held.session().await?;
        let turn = session.file_turn(ONLY_TURN).filter(|turn| turn.stage == TurnStage::Complete);
        let Some((turn, batch)) = turn.and_then(|turn| Some((turn, turn.batch()?))) else {
            return self.interrupted(held, plan, chosen, ran).await;
        };
        let report = held.folder.text(&format!("{ONLY_TURN}/{REPORT}")).await?.unwrap_or_default();
        let written = self.write(&report);
        let status = turn.status.unwrap_or(Overall::Partial);
        self.tell(status, batch, written.as_deref().ok())?;
        written.map_err(|failure| {
            Failure::new(failure.code, failure.message)
                .hint("All that was to be done has been done, or tried.")
                .hint(held.next_step())
        })?;
        match status {
            Overall::Failed => undo::offer(held, batch).await,
            Overall::Completed | Overall::Partial | Overall::Skipped | Overall::ValidationFailed => Ok(()),
        }
    }

    /// The batch was interrupted: its progress is reported, and can only be undone.
    async fn interrupted(
        &self,
        held: &OpenSession<'_>,
        plan: &ActionPlan,
        chosen: &Chosen,
        ran: Outcome,
    ) -> Outcome {
        if held.session().await?.is_running() {
            held.submit(Act::Pause).await?;
        }
        held.settle().await?;
        let session = held.session().await?;
        if session.file_turn(ONLY_TURN).is_some_and(|turn| !turn.problems.is_empty()) {
            return Err(plan::faulty(
                "this plan",
                &session.file_turn(ONLY_TURN).map(|turn| turn.problems.clone()).unwrap_or_default(),
            ));
        }
        let journal = config::batches(&self.place.project).join(held.folder.id.as_str());
        let journal = off_thread(move || BatchDir::read(journal)).await??;
        let ran_so_far = journal.so_far(plan);
        let now = Clock::system().now();
        let approved_at = session.batch(ONLY_TURN).map_or(now, |(_, batch)| batch.approved_at);
        let report = report::report(&Carried {
            plan,
            at: &self.name,
            chosen,
            approved_at,
            ended_at: now,
            ran: &ran_so_far,
            is_alone: true,
        });
        let path = self.write(&report.to_string())?;
        if !self.common.json {
            say(format_args!("The report is in {}", terminal_text::line(&path.display().to_string())))?;
        }
        let why = session.batch(ONLY_TURN).and_then(|(_, batch)| batch.paused.clone());
        let failure = ran.err().unwrap_or_else(|| {
            let why = why.unwrap_or_else(|| "it was stopped".into());
            Failure::new(
                Code::Interrupted,
                format!("the plan was not run to its end ({why}); what was done is in the report"),
            )
        });
        Err(Failure::new(failure.code, failure.message).hint(held.next_step()))
    }

    /// Writes the report here, replacing our last one. Another file of that name stays, and so does the report of a
    /// turn; then ours gets a number.
    fn write(&self, report: &str) -> Result<PathBuf, Failure> {
        let is_turn = is_of_session(self.place, &self.here);
        let written = WrittenReports::of(&self.place.home, &self.place.project);
        let numbered = (2..1000).map(|number| format!("report-{number}.md"));
        for name in [REPORT.to_owned()].into_iter().chain(numbered) {
            let path = self.here.join(name);
            let is_ours = match text(&path) {
                Ok(None) => true,
                Ok(Some(there)) => !is_turn && written.contains(&there)?,
                Err(_) => false,
            };
            if is_ours {
                written.add(report)?;
                replace(&path, report.as_bytes())?;
                return Ok(path);
            }
        }
        Err(Failure::new(
            Code::Trouble,
            format!("there is no free name for the report in {}", self.here.display()),
        ))
    }

    fn tell(&self, status: Overall, batch: &FileBatch, path: Option<&Path>) -> Outcome {
        let path = path.map(|path| path.display().to_string());
        if self.common.json {
            return say_json(&serde_json::json!({
                "report": path, "status": status.to_string(), "actions": review::counts(batch),
            }));
        }
        review::say_outcome(status, batch)?;
        path.map_or(Ok(()), |path| say(format_args!("The report is in {}", terminal_text::line(&path))))
    }
}
