//! Runs the checklist on a real terminal: draws it, passes keys to it, and fetches the previews it asks for.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use crossterm::event::{KeyCode, KeyEvent};
use futures_util::StreamExt as _;
use rapport_core::review::needed;
use rapport_core::{ActionPlan, Resource};

use super::super::raw_terminal;
use super::super::{ScreenInput, maybe};
use super::Verdict;
use super::appearance::Appearance;
use super::canvas::{Canvas, given_back};
use super::checklist::{Beside, Checklist, ChecklistCommand, Node};
use super::external_viewer::{HandedOver, Keys, Signals, fresh_keys, hand_over};
use super::pager::{Pager, Turned};
use super::preview::{Preview, Previewer, preview};
use super::viewer::{TempFiles, Viewer, ViewerKind};

/// How the checklist was left.
pub(super) enum ChecklistEnd {
    /// Back to the summary.
    ToSummary,
    /// With a decision.
    With(Verdict),
}

type Work<'a> = Pin<Box<dyn Future<Output = Done> + Send + 'a>>;

/// A preview that is being made.
type Making<'a> = Pin<Box<dyn Future<Output = Preview> + Send + 'a>>;

/// The result of a background task.
enum Done {
    /// A preview is ready.
    Prepared(Preview),
    /// A program with its own window has ended.
    Opened(Preview, Viewer, Result<(), String>),
}

enum Next {
    ScreenInput(ScreenInput),
    Done(Done),
    /// The preview for the side of the tree is ready.
    Beside(Preview),
    /// A panic elsewhere restored the terminal; take it again.
    GivenBack,
}

struct ChecklistSession<'a> {
    plan: &'a ActionPlan,
    previewer: &'a Previewer,
    appearance: Appearance,
    checklist: &'a mut Checklist,
    temp_files: &'a mut TempFiles,
    pager: Option<Pager>,
    work: Option<Work<'a>>,
    /// The preview that is being made for the side of the tree.
    beside: Option<(Beside, Making<'a>)>,
}

/// The terminal while the checklist uses it.
struct OwnedTerminal {
    // Dropped first: later input is for the next reader of the terminal.
    keys: Keys,
    canvas: Canvas,
}

/// Shows the checklist until it is left.
pub(super) async fn run(
    plan: &ActionPlan,
    previewer: &Previewer,
    appearance: Appearance,
    checklist: &mut Checklist,
    temp_files: &mut TempFiles,
    signals: &mut Signals,
) -> io::Result<ChecklistEnd> {
    let mut session = ChecklistSession {
        plan,
        previewer,
        appearance,
        checklist,
        temp_files,
        pager: None,
        work: None,
        beside: None,
    };
    let mut held = session.take()?;
    loop {
        session.look_beside();
        held.canvas.draw(|frame| match &session.pager {
            Some(pager) => pager.draw(frame),
            None => session.checklist.draw(frame),
        })?;
        let next = tokio::select! {
            key = held.keys.next() => Next::ScreenInput(key.unwrap_or(ScreenInput::Stopped)),
            () = signals.any() => Next::ScreenInput(ScreenInput::Stopped),
            done = maybe(session.work.as_mut()) => Next::Done(done),
            preview = maybe(session.beside.as_mut().map(|(_, work)| work)) => Next::Beside(preview),
            () = given_back() => Next::GivenBack,
        };
        let wish = match next {
            Next::GivenBack => {
                held.canvas.begin_anew()?;
                ChecklistCommand::Nothing
            }
            Next::ScreenInput(happening) => session.wish(happening),
            Next::Beside(preview) => {
                if let Some((of, _)) = session.beside.take() {
                    session.checklist.show_beside(of, preview);
                }
                ChecklistCommand::Nothing
            }
            Next::Done(done) => {
                if let Some((viewer, file, preview)) = session.done(done) {
                    drop(held);
                    match hand_over(&viewer, &file, signals).await? {
                        HandedOver::Stopped => return Ok(ChecklistEnd::With(Verdict::Quit)),
                        HandedOver::Returned(result) => session.shown(preview, &viewer, result),
                    }
                    held = session.take()?;
                }
                ChecklistCommand::Nothing
            }
        };
        match wish {
            ChecklistCommand::Nothing => {}
            ChecklistCommand::Preview(node) => session.prepare(node),
            ChecklistCommand::Run => {
                return Ok(ChecklistEnd::With(Verdict::Run(session.checklist.selection())));
            }
            ChecklistCommand::Back => return Ok(ChecklistEnd::ToSummary),
            ChecklistCommand::Quit => return Ok(ChecklistEnd::With(Verdict::Quit)),
            ChecklistCommand::Suspend => {
                drop(held);
                raw_terminal::suspend()?;
                held = session.take()?;
            }
        }
    }
}

impl<'a> ChecklistSession<'a> {
    /// Takes the terminal, with its current size.
    fn take(&mut self) -> io::Result<OwnedTerminal> {
        self.resize();
        Ok(OwnedTerminal { canvas: Canvas::enter()?, keys: fresh_keys() })
    }

    fn resize(&mut self) {
        let size = raw_terminal::size();
        self.checklist.resize(size);
        self.pager.iter_mut().for_each(|pager| pager.resize(size));
    }

    fn wish(&mut self, happening: ScreenInput) -> ChecklistCommand {
        match happening {
            ScreenInput::Key(key) => self.key(key),
            ScreenInput::Stopped => ChecklistCommand::Quit,
            ScreenInput::Resized(_) => {
                self.resize();
                ChecklistCommand::Nothing
            }
            ScreenInput::Paste(text) => {
                self.checklist.paste(&text);
                ChecklistCommand::Nothing
            }
            ScreenInput::Update(_)
            | ScreenInput::Submitted(_)
            | ScreenInput::Line(_)
            | ScreenInput::Resumed
            | ScreenInput::TimePassed => ChecklistCommand::Nothing,
        }
    }

    fn key(&mut self, key: KeyEvent) -> ChecklistCommand {
        if let Some(pager) = &mut self.pager {
            return match pager.key(key) {
                Turned::Stay => ChecklistCommand::Nothing,
                Turned::Back => {
                    self.pager = None;
                    ChecklistCommand::Nothing
                }
                Turned::Quit => ChecklistCommand::Quit,
                Turned::Suspend => ChecklistCommand::Suspend,
            };
        }
        if key.code == KeyCode::Esc && self.work.take().is_some() {
            self.checklist.say("The preview was stopped.");
            return ChecklistCommand::Nothing;
        }
        self.checklist.key(key)
    }

    /// Starts to make the preview that is missing beside the tree. Only a key fetches a page from elsewhere.
    fn look_beside(&mut self) {
        let Some(wanted) = self.checklist.unpreviewed() else { return };
        if self.beside.as_ref().is_some_and(|(of, _)| *of == wanted) {
            return;
        }
        let (plan, previewer, checks) = (self.plan, self.previewer, self.checklist.checks().clone());
        let node = wanted.node;
        if let Some(Resource::Url(address)) = needed(plan, &checks, node.group, node.item) {
            self.beside = None;
            return self.checklist.show_beside(wanted, Preview::unread(&address));
        }
        let work = Box::pin(async move { preview(plan, &checks, node, previewer).await });
        self.beside = Some((wanted, work));
    }

    /// Starts to prepare a preview, given the checked items.
    fn prepare(&mut self, node: Node) {
        self.checklist.say("Getting the preview; Esc stops it.");
        let (plan, previewer, checks) = (self.plan, self.previewer, self.checklist.checks().clone());
        self.work =
            Some(Box::pin(async move { Done::Prepared(preview(plan, &checks, node, previewer).await) }));
    }

    /// Handles the result of a background task. Returns a viewer that needs the terminal for itself.
    fn done(&mut self, done: Done) -> Option<(Viewer, PathBuf, Preview)> {
        self.work = None;
        self.checklist.hush();
        let preview = match done {
            Done::Prepared(preview) => preview,
            Done::Opened(preview, viewer, result) => {
                self.shown(preview, &viewer, result);
                return None;
            }
        };
        let path = std::env::var_os("PATH");
        let Some(viewer) = Viewer::choose(self.previewer.command.as_deref(), path.as_deref()) else {
            self.page(preview, None);
            return None;
        };
        let file = match self.temp_files.put(&preview) {
            Ok(file) => file,
            Err(error) => {
                self.page(preview, Some(format!("no file for {}: {error}", viewer.name())));
                return None;
            }
        };
        match viewer.place {
            ViewerKind::Terminal => return Some((viewer, file, preview)),
            ViewerKind::Window => {
                self.checklist.say(format!("Opening it in {}.", viewer.name()));
                self.work = Some(Box::pin(async move {
                    let result = viewer.clone().open_window(file).await;
                    Done::Opened(preview, viewer, result)
                }));
            }
        }
        None
    }

    /// Handles the result of a viewer. If it failed, this terminal shows the preview.
    fn shown(&mut self, preview: Preview, viewer: &Viewer, result: Result<(), String>) {
        match (result, viewer.place) {
            (Ok(()), ViewerKind::Terminal) => {}
            (Ok(()), ViewerKind::Window) => self.checklist.say(format!("Opened in {}.", viewer.name())),
            (Err(why), _) => {
                self.checklist.say(why.clone());
                self.page(preview, Some(why));
            }
        }
    }

    fn page(&mut self, preview: Preview, notice: Option<String>) {
        self.pager = Some(Pager::new(preview, notice, self.appearance, raw_terminal::size()));
    }
}
