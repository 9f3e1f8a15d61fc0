//! `rapport execute`: one plan, outside of any session.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rapport_core::report::Verdict::Skipped;
use rapport_core::report::{Judged, Overall, Report};
use rapport_core::{ActionPlan, Change};

use super::files::approving::{self, Approval};
use super::files::batches::{self, Approved};
use super::files::checking::{self, Checked};
use super::files::hands::AloneHands;
use super::files::reporting;
use super::files::running::{Course, Run};
use super::output::{say, say_json};
use super::{Common, clipboard, typed, undo};
use crate::actions::Ran;
use crate::channels::terminal::review::{Selection, Verdict};
use crate::channels::terminal::safe;
use crate::clock::Clock;
use crate::config::{self, Layer, Settings};
use crate::error::{Code, Failure, Outcome};
use crate::turns::{REPORT, memos, replace, text};
use crate::wiring::Place;

/// Review a plan and run what you approve, outside of any session
///
/// The plan comes from a file, from standard input, or from the clipboard. It is checked, shown, run as far as you approve,
/// and reported in report.md in the current directory. What it did to files can be taken back with `rapport undo`.
/// Memos are kept for all sessions; Active Context is for the next turn of a session, and means nothing here.
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

/// How our reports begin.
const REPORT_BEGINS: &str = "# Execution Report: ";

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let settings = place.settings(Layer::default())?;
    let (source, name) = source(&args)?;
    warn_of_session(&place, args.plan.as_deref().map(Path::new));
    warn_of_cut_off(&place);
    let here = std::env::current_dir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let job = Job { common, place: &place, settings: &settings, name, here };
    let outcome = runtime.block_on(job.run(&source, Approval::from_flag(args.yes)));
    runtime.shutdown_background();
    outcome
}

/// The plan's text, and what it is called in the report.
fn source(args: &Args) -> Result<(String, String), Failure> {
    match args.plan.as_deref() {
        Some(dash) if dash == "-" => {
            Ok((typed::piped("the plan from standard input")?, "standard input".into()))
        }
        Some(path) => {
            let path = Path::new(path);
            let file = std::fs::File::open(path).map_err(|error| {
                Failure::new(Code::Usage, format!("cannot read the plan {}: {error}", path.display()))
            })?;
            if path.is_dir() {
                let what = format!("cannot read the plan {}: it is a directory", path.display());
                return Err(Failure::new(Code::Usage, what));
            }
            let name = path.display().to_string();
            Ok((typed::all(file, &format!("the plan {name}"))?, name))
        }
        None => Ok((clipboard::read()?, "the clipboard".into())),
    }
}

/// A turn's plan has its own command, which keeps the turn's report.
fn warn_of_session(place: &Place, plan: Option<&Path>) {
    if plan.is_some_and(|plan| is_of_session(place, plan)) {
        eprintln!(
            "rapport: this plan belongs to a session, and its turn will not know that it was run; rapport resume does that"
        );
    }
}

fn is_of_session(place: &Place, path: &Path) -> bool {
    let inside = |sessions: PathBuf| path.canonicalize().is_ok_and(|path| path.starts_with(sessions));
    config::sessions(&place.project).canonicalize().is_ok_and(inside)
}

/// A batch that was killed has no report, and no other command goes on with it.
fn warn_of_cut_off(place: &Place) {
    // One that cannot be read is for `undo` to tell of; this plan has nothing to do with it.
    if let Ok(Some(last)) = batches::last_alone(place)
        && last.is_cut_off()
    {
        eprintln!(
            "rapport: the last plan was not run to its end; take back what it did to files with: rapport undo"
        );
        last.story().iter().for_each(|line| eprintln!("  {}", safe::line(line)));
    }
}

struct Job<'a> {
    common: &'a Common,
    place: &'a Place,
    settings: &'a Settings,
    name: String,
    here: PathBuf,
}

impl Job<'_> {
    async fn run(&self, source: &str, approval: Approval) -> Outcome {
        let mut plan = match checking::check(&self.place.project, &self.name, source)? {
            Checked::Good(plan) => plan,
            Checked::Bad(faulty) => {
                let status = Overall::ValidationFailed;
                let now = Clock::system().now();
                let mut report =
                    Report::nothing_done(&faulty.plan, &self.name, status, "the plan is not valid", now);
                report.problems = faulty.problems.clone();
                let path = self.write(&report)?;
                return Err(faulty.failure("this plan").hint(format!("The report is in {}", path.display())));
            }
        };
        if !plan.memos.is_empty() {
            // Before anything is done, rather than when only this is left to do.
            memos::read(&config::memos(&self.place.project))?;
        }
        // What the next turn is to be shown means nothing where there is none; nobody is asked about it.
        let context = plan.context.take();
        let verdict = approving::verdict(self.common, self.place, self.settings, &plan, approval).await?;
        let selection = match verdict {
            Verdict::Approve(selection) | Verdict::Run(selection) => selection,
            Verdict::Skip => {
                let now = Clock::system().now();
                let report =
                    Report::nothing_done(&plan, &self.name, Overall::Skipped, "the plan was skipped", now);
                let path = self.write(&report)?;
                return say(format_args!(
                    "Nothing was done. The report is in {}",
                    safe::line(&path.display().to_string())
                ));
            }
            Verdict::Quit => return Err(approving::left()),
        };
        self.carry_out(&plan, context, &selection).await
    }

    async fn carry_out(
        &self,
        plan: &ActionPlan,
        context: Option<Vec<Change>>,
        selection: &Selection,
    ) -> Outcome {
        let Self { common, place, settings, .. } = *self;
        let approved = Approved::from(selection);
        let path = batches::next_alone(place)?;
        approved.keep(&path)?;
        let hands = |stopper| AloneHands { common, place, settings, stopper };
        let run = Run { common, place, settings, plan, journal: &path };
        let ran = run.carry_out(Course::Begin(approved.choices()), hands).await?;
        let remembered = if ran.unfinished { Ok(()) } else { approved.remember(place, plan) };
        let report = self.report(plan, context, &approved, &ran);
        let written = self.write(&report);
        self.tell(&report, written.as_deref().ok())?;
        written.map_err(|failure| {
            Failure::new(failure.code, failure.message)
                .hint("All that was to be done has been done, or tried.")
                .hint("Take back what was done to files with: rapport undo")
        })?;
        remembered?;
        if ran.unfinished {
            return Err(Failure::new(
                Code::Interrupted,
                "the batch was interrupted; what was not done is in the report",
            )
            .hint("Take back what was done to files with: rapport undo"));
        }
        match report.status {
            Overall::Failed => undo::offer(common, place, &path, "rapport undo").await,
            Overall::Completed | Overall::Partial | Overall::Skipped | Overall::ValidationFailed => Ok(()),
        }
    }

    /// What became of it. There is no next turn for the context, and what was interrupted is not remembered.
    fn report(
        &self,
        plan: &ActionPlan,
        context: Option<Vec<Change>>,
        approved: &Approved,
        ran: &Ran,
    ) -> Report {
        let mut report = reporting::report(plan, &self.name, approved, ran);
        let left_out = |change| Judged {
            change,
            verdict: Skipped {
                reason: Some("the plan belongs to no session, so there is no next turn".into()),
            },
        };
        report.context = context.map(|changes| changes.into_iter().map(left_out).collect());
        if ran.unfinished {
            for judged in &mut report.memos {
                judged.verdict = Skipped { reason: Some("the batch was interrupted".to_owned()) };
            }
        }
        report
    }

    /// Writes the report here, in the place of our last one. A file of somebody else's that is called so stays, and so does
    /// the report of a turn; ours gets a number then.
    fn write(&self, report: &Report) -> Result<PathBuf, Failure> {
        let is_turn = is_of_session(self.place, &self.here);
        let numbered = (2..1000).map(|number| format!("report-{number}.md"));
        for name in [REPORT.to_owned()].into_iter().chain(numbered) {
            let path = self.here.join(name);
            let is_ours = match text(&path) {
                Ok(None) => true,
                Ok(Some(there)) => !is_turn && there.starts_with(REPORT_BEGINS),
                Err(_) => false,
            };
            if is_ours {
                replace(&path, report.to_string().as_bytes())?;
                return Ok(path);
            }
        }
        Err(Failure::new(
            Code::Trouble,
            format!("there is no free name for the report in {}", self.here.display()),
        ))
    }

    fn tell(&self, report: &Report, path: Option<&Path>) -> Outcome {
        let path = path.map(|path| path.display().to_string());
        if self.common.json {
            return say_json(&serde_json::json!({
                "report": path, "status": report.status.to_string(), "actions": reporting::counts(report),
            }));
        }
        reporting::say_outcome(report)?;
        path.map_or(Ok(()), |path| say(format_args!("The report is in {}", safe::line(&path))))
    }
}
