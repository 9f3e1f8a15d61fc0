//! The state of a conversation, derived from its transcript: the progress of the script, answers, permissions, costs
//! and open calls. The same `apply` handles lines that are read and lines that are written.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::decision::answers_in;
use super::placeholders::Answer;
use super::result::Totals;
use super::scenario::Usage;

/// A position in the script: entry, step, and the call within the step; all from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct HistoryPosition {
    pub(super) entry: usize,
    pub(super) step: usize,
    pub(super) call: usize,
}

/// A tool call without a result.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OpenCall {
    pub(super) place: HistoryPosition,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// The state of a conversation.
#[derive(Debug, Default, Clone)]
pub(super) struct History {
    /// The current entry and its next step; `None` between entries.
    pub(super) playing: Option<(usize, usize)>,
    /// The next entry that was not played.
    pub(super) next_entry: usize,
    pub(super) answers: Vec<Answer>,
    pub(super) open: Vec<OpenCall>,
    pub(super) deferred: Option<OpenCall>,
    /// The conversation continued after the deferral: the call is asked again, and the model does not read the answer.
    is_past: bool,
    pub(super) allowed_tools: BTreeSet<String>,
    pub(super) totals: Totals,
    /// The last text of the current entry.
    pub(super) last_text: String,
    /// The uuid of the last line, which the next one names as its parent.
    pub(super) last_uuid: Option<String>,
    /// The content of a file after an edit that was in progress.
    pub(super) planned_edits: HashMap<HistoryPosition, String>,
    /// Entries that had their scripted crash.
    crashed: HashSet<usize>,
    finished_calls: HashSet<HistoryPosition>,
    used_ids: HashSet<String>,
}

impl History {
    /// Applies one line.
    pub(super) fn apply(&mut self, line: &Value) {
        if let Some(uuid) = line["uuid"].as_str() {
            self.last_uuid = Some(uuid.to_owned());
        }
        match line["type"].as_str() {
            Some("assistant") => self.apply_assistant(line),
            Some("user") => self.apply_user(line),
            Some("deferred_tool_use") => {
                let id = line["tool_use_id"].as_str();
                self.deferred = self.open.iter().find(|call| Some(call.id.as_str()) == id).cloned();
                self.is_past = false;
            }
            Some("rehearsal") => self.apply_note(line),
            // Real transcripts have many kinds of lines that are irrelevant here.
            _ => {}
        }
    }

    /// Whether this call has its result.
    pub(super) fn is_finished(&self, place: HistoryPosition) -> bool {
        self.finished_calls.contains(&place)
    }

    /// Whether this entry has had its scripted crash.
    pub(super) fn has_crashed(&self, entry: usize) -> bool {
        self.crashed.contains(&entry)
    }

    /// The id itself, or with the first free suffix of `_2`, `_3`, ...: a repeated call is another call.
    pub(super) fn fresh_id(&self, base: &str) -> String {
        if !self.used_ids.contains(base) {
            return base.to_owned();
        }
        (2..).map(|n| format!("{base}_{n}")).find(|id| !self.used_ids.contains(id)).unwrap_or_default()
    }

    fn apply_assistant(&mut self, line: &Value) {
        let Some(place) = place_in(&line["rehearsal"]) else {
            return;
        };
        let block = &line["message"]["content"][0];
        if let Some(text) = block["text"].as_str() {
            self.last_text = text.to_owned();
            self.step_done(place);
            return;
        }
        let id = block["id"].as_str().unwrap_or_default().to_owned();
        let name = block["name"].as_str().unwrap_or_default().to_owned();
        self.used_ids.insert(id.clone());
        self.open.push(OpenCall { place, id, name, input: block["input"].clone() });
    }

    fn apply_user(&mut self, line: &Value) {
        let content = &line["message"]["content"];
        if let Some(message) = content.as_str() {
            self.agree(message);
        }
        let Some(id) = content[0]["tool_use_id"].as_str() else {
            return;
        };
        let is_deferred = self.deferred.as_ref().is_some_and(|call| call.id == id);
        if !(is_deferred && self.is_past) {
            self.answers.extend(answers_in(&line["toolUseResult"]));
        }
        self.is_past |= !is_deferred;
        self.close(id);
    }

    /// A message that repeats questions with their answers (`Q: ...`, `A: ...`) replaces earlier answers: a person may
    /// have changed one since.
    fn agree(&mut self, message: &str) {
        let lines: Vec<&str> = message.lines().collect();
        for pair in lines.windows(2) {
            let (Some(question), Some(answer)) = (pair[0].strip_prefix("Q: "), pair[1].strip_prefix("A: "))
            else {
                continue;
            };
            let known = self.answers.iter_mut().filter(|(asked, _)| asked == question);
            known.for_each(|(_, given)| *given = answer.to_owned());
        }
    }

    fn apply_note(&mut self, line: &Value) {
        let place = place_in(line).unwrap_or_default();
        match line["event"].as_str() {
            Some("new_conversation") => {
                *self = History { last_uuid: self.last_uuid.take(), ..History::default() }
            }
            Some("entry_started") => {
                self.playing = Some((place.entry, 0));
                self.last_text.clear();
                self.open.clear();
                self.deferred = None;
                self.finished_calls.retain(|done| done.entry != place.entry);
                self.planned_edits.retain(|planned, _| planned.entry != place.entry);
            }
            Some("step_done") => self.step_done(place),
            Some("entry_ended") => {
                self.playing = None;
                self.next_entry = place.entry + 1;
            }
            Some("crashed") => drop(self.crashed.insert(place.entry)),
            Some("tool_allowed") => {
                let _ = self.allowed_tools.insert(line["tool"].as_str().unwrap_or_default().into());
            }
            Some("edit_planned") => {
                drop(self.planned_edits.insert(place, line["content"].as_str().unwrap_or_default().into()));
            }
            Some("answered") => {
                self.answers.extend(noted_answers(&line["answers"]));
                self.close(line["tool_use_id"].as_str().unwrap_or_default());
            }
            Some("response") => self.totals.add(noted_totals(line)),
            // A newer version may record more.
            _ => {}
        }
    }

    fn step_done(&mut self, place: HistoryPosition) {
        self.playing = Some((place.entry, place.step + 1));
        self.deferred = self.deferred.take().filter(|call| !is_in_step(call, place));
        // The step's open calls stay without a result: two deferred questions, one answered.
        self.open.retain(|call| !is_in_step(call, place));
    }

    fn close(&mut self, id: &str) {
        let Some(index) = self.open.iter().position(|call| call.id == id) else {
            return;
        };
        self.finished_calls.insert(self.open.remove(index).place);
        self.deferred = self.deferred.take().filter(|call| call.id != id);
    }
}

fn is_in_step(call: &OpenCall, step: HistoryPosition) -> bool {
    (call.place.entry, call.place.step) == (step.entry, step.step)
}

fn place_in(value: &Value) -> Option<HistoryPosition> {
    let number = |key: &str| value[key].as_u64().and_then(|n| usize::try_from(n).ok());
    Some(HistoryPosition {
        entry: number("entry")?,
        step: number("step").unwrap_or_default(),
        call: number("call").unwrap_or_default(),
    })
}

fn noted_answers(list: &Value) -> Vec<Answer> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| (text(&item["question"]), text(&item["answer"]))).collect()
}

fn noted_totals(line: &Value) -> Totals {
    let usage = serde_json::from_value::<Usage>(line["usage"].clone()).unwrap_or_default();
    Totals { usage, cost_usd: line["cost_usd"].as_f64().unwrap_or_default() }
}
