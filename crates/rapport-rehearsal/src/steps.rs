//! Plays one step of the script at a time. A step is recorded after it is done, so that a resumed play continues after
//! it; steps that end the process are recorded before, or they would end every later play.

use serde_json::Value;

use super::placeholders::{fill, fill_value};
use super::player::{Player, Stop, crash};
use super::scenario::{Hang, Step};
use super::stream::{Event, message, text_block};
use super::turn::Flow;

impl Player {
    /// Plays the step at the turn's place.
    pub(super) fn play_step(&mut self, step: &Step) -> Result<Flow, Stop> {
        if let Some(calls) = step.calls() {
            let flow = self.play_calls(&calls)?;
            if flow == Flow::Next {
                self.step_done()?;
                self.take_steering()?;
            }
            return Ok(flow);
        }
        match step {
            Step::Text(text) => {
                self.say_text(text)?;
                return Ok(Flow::Next);
            }
            Step::Delay(milliseconds) => self.pause(*milliseconds)?,
            Step::Stderr(line) => eprintln!("{line}"),
            Step::Garbage(line) => self.print(&format!("{line}\n"))?,
            Step::HalfLine(part) => self.print(part)?,
            Step::Raw(event) => self.print_json(event)?,
            Step::RateLimit(info) => self.emit(&Event::rate_limit(&self.session, info.clone()))?,
            Step::CloseStdout(_) => self.output.close()?,
            Step::WaitMessage(_) => self.wait_message()?,
            Step::Crash(_) => {
                self.step_done()?;
                crash();
            }
            Step::Exit(code) => {
                self.step_done()?;
                return Err(Stop::Exit(*code));
            }
            Step::Hang(hang) => {
                self.step_done()?;
                return self.hang(*hang);
            }
            Step::Ask(_)
            | Step::Together(_)
            | Step::Write(_)
            | Step::Edit(_)
            | Step::Bash(_)
            | Step::Tool(_)
            | Step::Agent(_)
            | Step::ExitPlan(_) => {}
        }
        self.step_done()?;
        Ok(Flow::Next)
    }

    fn step_done(&mut self) -> Result<(), Stop> {
        Ok(self.transcript.note("step_done", self.turn.place)?)
    }

    fn say_text(&mut self, text: &str) -> Result<(), Stop> {
        self.pace()?;
        let text = fill(text, &self.transcript.history.answers);
        let id = self.respond()?;
        let usage = super::result::Totals::per_response(&self.turn.entry).usage;
        let message = message(&id, &self.session.model, usage, text_block(&text), None);
        self.transcript.assistant(self.turn.place, message.clone())?;
        self.emit_at_once(&Event::assistant(&self.session, message))
    }

    fn print(&mut self, text: &str) -> Result<(), Stop> {
        self.pace()?;
        self.output.raw(text)?;
        self.count_event()
    }

    fn print_json(&mut self, event: &Value) -> Result<(), Stop> {
        let event = fill_value(event, &self.transcript.history.answers);
        self.print(&format!("{event}\n"))
    }

    /// Waits for a user message during this turn; an earlier one that no step waited for is accepted too.
    fn wait_message(&mut self) -> Result<(), Stop> {
        while self.is_live() && self.turn.unclaimed == 0 && !self.host.eof && !self.host.interrupted {
            if self.host.messages.is_empty() {
                self.pump(None)?;
            }
            self.take_steering()?;
        }
        self.turn.unclaimed = self.turn.unclaimed.saturating_sub(1);
        Ok(())
    }

    fn hang(&mut self, hang: Hang) -> Result<Flow, Stop> {
        self.host.hung = true;
        if !self.is_live() {
            self.inbox.read_stdin(self.stdin_record.take());
        }
        while hang == Hang::Forever || !self.host.eof {
            self.pump(None)?;
        }
        Err(Stop::Exit(0))
    }
}
