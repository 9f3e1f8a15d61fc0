//! A turn: from a message to its `result`, or continuing from where the last process stopped.

use std::time::Instant;

use serde_json::{Value, json};

use super::decision::{ANSWERS_HEADER, answers_in_message, answers_to, question_texts};
use super::history::{HistoryPosition, OpenCall};
use super::host::Message;
use super::placeholders::fill;
use super::player::{Player, Stop};
use super::result::{Ending, Sums, Totals, result_event};
use super::scenario::{Counter, Entry};
use super::stream::{ASK_TOOL, Event, new_uuid, text_block};
use rapport_core::prompt::{GO_ON, SAY_ALL};

#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) running: bool,
    pub(super) place: HistoryPosition,
    pub(super) entry: Entry,
    pub(super) events: u64,
    /// The id of the current model response, which texts and the following tool calls share.
    pub(super) message_id: Option<String>,
    pub(super) speaking: bool,
    pub(super) user_events: u64,
    pub(super) permission_denials: Vec<Value>,
    pub(super) spent: Totals,
    /// Messages during the turn for which no step waited.
    pub(super) unclaimed: usize,
    pub(super) prompt_id: String,
    started: Option<Instant>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Flow {
    Next,
    /// The host interrupted it, while a tool was running or not.
    Interrupted {
        during_tool: bool,
    },
    /// The host deferred this tool call.
    Deferred(Value),
}

impl Player {
    /// Plays the response to a message, or the rest of a response that was cut off.
    pub(super) fn play_message(&mut self, message: &Message) -> Result<(), Stop> {
        if [GO_ON, SAY_ALL].contains(&message.text.as_str())
            && let Some(ended) = self.last_ended()
        {
            return self.say_result_again(ended, message);
        }
        let (entry, step) = self.next_place()?;
        let place = HistoryPosition { entry, step, call: 0 };
        let goes_on =
            self.loaded.counter == Counter::Conversation && self.transcript.history.playing.is_some();
        self.begin_turn(place);
        self.transcript.message(&message.text, message.uuid.as_deref())?;
        if !goes_on {
            self.start_entry(place)?;
        }
        self.answer_by_message(&message.text)?;
        self.emit(&Event::init(&self.session))?;
        self.replay(message)?;
        self.play_from(place)
    }

    /// The entry that ended, if nothing is being played: then a resume message has nothing to continue.
    pub(super) fn last_ended(&self) -> Option<HistoryPosition> {
        let history = &self.transcript.history;
        let is_between = self.loaded.counter == Counter::Conversation && history.playing.is_none();
        let entry = history.next_entry.checked_sub(1).filter(|_| is_between)?;
        Some(HistoryPosition { entry, step: self.entry(entry).steps.len(), call: 0 })
    }

    /// Repeats the result, as a model does that is resumed after it was done: its host may have missed the end.
    pub(super) fn say_result_again(&mut self, ended: HistoryPosition, message: &Message) -> Result<(), Stop> {
        self.begin_turn(ended);
        self.transcript.message(&message.text, message.uuid.as_deref())?;
        self.emit(&Event::init(&self.session))?;
        self.replay(message)?;
        self.play_from(ended)
    }

    /// Repeats a deferred tool call, with the same id, and continues.
    pub(super) fn resume_deferred(&mut self) -> Result<(), Stop> {
        let Some(deferred) = self.transcript.history.deferred.clone() else {
            return Ok(());
        };
        self.begin_turn(deferred.place);
        match self.repeat_deferred(deferred.clone())? {
            Flow::Next => {}
            other => return self.end_early(other),
        }
        let mut place = HistoryPosition { step: deferred.place.step + 1, call: 0, ..deferred.place };
        if self.loaded.counter == Counter::Invocations {
            let (entry, step) = self.next_place()?;
            place = HistoryPosition { entry, step, call: 0 };
            self.turn.entry = self.entry(entry);
            self.start_entry(place)?;
        }
        self.emit(&Event::init(&self.session))?;
        self.turn.user_events = 0;
        self.play_from(place)
    }

    /// Starts a model response unless one is in progress. Returns the message's id.
    pub(super) fn respond(&mut self) -> Result<String, Stop> {
        if let Some(id) = &self.turn.message_id {
            return Ok(id.clone());
        }
        let totals = Totals::per_response(&self.turn.entry);
        self.transcript.response(self.turn.place, totals)?;
        self.turn.spent.add(totals);
        let id = format!("msg_{}", jiff::Timestamp::now().as_microsecond());
        self.turn.message_id = Some(id.clone());
        self.stream("message_start")?;
        self.turn.speaking = true;
        Ok(id)
    }

    /// Ends the model's message.
    pub(super) fn end_message(&mut self) -> Result<(), Stop> {
        if std::mem::take(&mut self.turn.speaking) { self.stream("message_stop") } else { Ok(()) }
    }

    /// These lines are not counted: a host may request them or not.
    fn stream(&mut self, event: &str) -> Result<(), Stop> {
        if self.arguments.partial {
            self.output.event(&Event::streamed(&self.session, event))
        } else {
            Ok(())
        }
    }

    /// Reads user messages during the turn, as the model does between tools.
    pub(super) fn take_steering(&mut self) -> Result<(), Stop> {
        self.pump_ready()?;
        self.take_notices()?;
        while let Some(message) = self.host.messages.pop_front() {
            self.transcript.steering(&message.text, message.uuid.as_deref())?;
            self.replay(&message)?;
            self.turn.unclaimed += 1;
        }
        Ok(())
    }

    /// Echoes a user message that the model has read, if the host wants that.
    fn replay(&mut self, message: &Message) -> Result<(), Stop> {
        if !self.arguments.replay {
            return Ok(());
        }
        let event = Event::user(&self.session, json!(message.text), json!({"isReplay": true}));
        self.emit(&event.called(message.uuid.as_deref()))
    }

    pub(super) fn begin_turn(&mut self, place: HistoryPosition) {
        self.host.interrupted = false;
        self.turn = Turn {
            running: true,
            place,
            entry: self.entry(place.entry),
            prompt_id: new_uuid(),
            started: Some(Instant::now()),
            ..Turn::default()
        };
    }

    fn start_entry(&mut self, place: HistoryPosition) -> Result<(), Stop> {
        self.transcript.note("entry_started", place)?;
        for line in &self.turn.entry.stderr_lines {
            eprintln!("{line}");
        }
        Ok(())
    }

    /// Questions are answered if the message says so (CLARIFY-11): the open ones, or, after a turn in which nobody
    /// could answer, those that the message repeats.
    fn answer_by_message(&mut self, message: &str) -> Result<(), Stop> {
        if !message.contains(ANSWERS_HEADER) {
            return Ok(());
        }
        if self.transcript.history.open.is_empty() {
            let answers = answers_in_message(message);
            self.transcript.answered(&OpenCall::default(), &answers)?;
        }
        for call in self.transcript.history.open.clone() {
            let answers = answers_to(&question_texts(&call.input), message);
            if let Some(answers) = answers.filter(|_| call.name == ASK_TOOL) {
                self.transcript.answered(&call, &answers)?;
            }
        }
        Ok(())
    }

    pub(super) fn play_from(&mut self, from: HistoryPosition) -> Result<(), Stop> {
        let steps = self.turn.entry.steps.clone();
        for (index, step) in steps.iter().enumerate().skip(from.step) {
            self.turn.place = HistoryPosition { step: index, ..from };
            let flow = if self.host.interrupted {
                Flow::Interrupted { during_tool: false }
            } else {
                self.play_step(step)?
            };
            if flow != Flow::Next {
                return self.end_early(flow);
            }
        }
        if self.host.interrupted {
            return self.end_early(Flow::Interrupted { during_tool: false });
        }
        self.complete()
    }

    fn complete(&mut self) -> Result<(), Stop> {
        let entry = self.turn.entry.clone();
        for line in &entry.raw_lines {
            self.pace()?;
            self.output.raw(&format!("{line}\n"))?;
            self.count_event()?;
        }
        let history = &self.transcript.history;
        let text =
            entry.result.map_or_else(|| history.last_text.clone(), |text| fill(&text, &history.answers));
        let subtype = entry.subtype.unwrap_or_else(|| "success".to_owned());
        let is_error = entry.is_error.unwrap_or(subtype != "success");
        let stop_reason = entry.stop_reason.unwrap_or_else(|| "end_turn".to_owned());
        self.end(Ending::Completed { text, stop_reason, subtype, is_error })?;
        match entry.exit_code {
            Some(code) => Err(Stop::Exit(code)),
            None => Ok(()),
        }
    }

    fn end_early(&mut self, flow: Flow) -> Result<(), Stop> {
        match flow {
            Flow::Next => Ok(()),
            Flow::Interrupted { during_tool } => {
                let note = if during_tool { " for tool use" } else { "" };
                self.note_interrupt(&format!("[Request interrupted by user{note}]"))?;
                self.end(Ending::Interrupted { during_tool })
            }
            Flow::Deferred(tool_use) => {
                self.end(Ending::Deferred(tool_use))?;
                self.go_on_without_answer()?;
                Err(Stop::Exit(0))
            }
        }
    }

    fn note_interrupt(&mut self, text: &str) -> Result<(), Stop> {
        self.transcript.message(text, None)?;
        self.turn.user_events += 1;
        self.emit(&Event::user(&self.session, json!([text_block(text)]), json!({})))
    }

    fn end(&mut self, ending: Ending) -> Result<(), Stop> {
        self.end_message()?;
        self.pace()?;
        if !matches!(ending, Ending::Deferred(_)) {
            self.transcript.note("entry_ended", self.turn.place)?;
        }
        let sums = Sums {
            conversation: self.transcript.history.totals,
            turn: self.turn.spent,
            num_turns: 1 + self.turn.user_events,
            duration_ms: self
                .turn
                .started
                .map_or(0, |at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX)),
            result_index: self.results,
            queued: self.host.messages.len(),
            permission_denials: std::mem::take(&mut self.turn.permission_denials),
        };
        self.results += 1;
        self.turn.running = false;
        self.host.interrupted = false;
        self.output.result(&result_event(&self.session, ending, &sums))?;
        self.count_event()
    }
}
