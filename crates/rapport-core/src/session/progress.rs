//! The flow for a progress file: the agent's reply becomes the file, or the agent is told what is wrong with it.

use super::agent::decline;
use super::{Phase, Session, Turn};
use crate::aim::Existing;
use crate::event::{Changes, Event, FileChange, TurnKind};
use crate::id::CallId;
use crate::progress::{self, Problem, ProgressFile};
use crate::{prompt, slug};

impl Session {
    /// The turn is over: the file is there, or the agent is asked once more, or it has failed.
    pub(super) fn finish_file(&self, turn: &Turn, result: &str) -> Vec<Event> {
        let problems = match file_in(result, &turn.said) {
            Ok(file) => return self.take_file(&file),
            // What it left plan mode with was all right.
            Err(_) if turn.proposed => return Vec::new(),
            Err(problems) => problems,
        };
        if turn.mends {
            let reason = format!(
                "the agent's reply is no valid progress file, not even when told what is wrong ({}); its words are in \
                 the log",
                in_one_line(&problems)
            );
            return vec![Event::Failed { reason }];
        }
        vec![self.try_again(&problems, true)]
    }

    /// The agent wants to leave plan mode, and what it would leave with may be the file.
    pub(super) fn leave_plan_mode_with_file(&self, turn: &Turn, call: &CallId, plan: &str) -> Vec<Event> {
        match file_in(plan, &[]) {
            Ok(file) => {
                let noted = decline(turn, call, prompt::progress::FILE_NOTED.into(), &[]);
                vec![propose(&file), noted]
            }
            Err(problems) => vec![decline(turn, call, prompt::progress::mend(turn.id.0, &problems), &[])],
        }
    }

    /// What completes the session: the file, as what changed.
    pub(super) fn report_file(&self) -> Option<Event> {
        let aim = self.created.aim.progress()?;
        let lines = self.plan.as_ref()?.text.lines().count();
        let status = match aim.existing {
            Existing::Refuse => "added",
            Existing::Replace | Existing::KeepSections => "modified",
        };
        let added = Some(lines as u64).filter(|_| aim.existing == Existing::Refuse);
        let file = FileChange { path: aim.path.clone(), status: status.into(), added, removed: None };
        Some(Event::Reported { changes: Some(Changes { files: vec![file], ..Changes::default() }) })
    }

    /// After a failure, another turn, if the file is what has failed.
    pub(super) fn try_file_again(&self) -> Option<Event> {
        let failed_there = matches!(&self.phase, Phase::Failed { was, .. } if **was == Phase::Reporting);
        let turn = self.turns.last().filter(|_| failed_there && self.plan.is_none())?;
        self.created.aim.progress()?;
        let result = turn.result.as_deref().unwrap_or_default();
        Some(self.try_again(&file_in(result, &turn.said).err().unwrap_or_default(), false))
    }

    fn take_file(&self, file: &ProgressFile) -> Vec<Event> {
        let is_known = self.plan.as_ref().is_some_and(|plan| plan.text == file.to_string().trim());
        if is_known { Vec::new() } else { vec![propose(file)] }
    }

    /// Another turn. One that `mends` is the last; one that a person asked for may be mended in its turn.
    fn try_again(&self, problems: &[Problem], mends: bool) -> Event {
        let prompt = prompt::progress::mend(self.turns.len() as u32, problems);
        Event::TurnStarted { turn: self.next_turn(), kind: TurnKind::Plan, prompt, mends }
    }
}

fn propose(file: &ProgressFile) -> Event {
    Event::PlanProposed {
        goal: slug::part(file.name().unwrap_or_default()),
        description: "progress".into(),
        text: file.to_string().trim().into(),
    }
}

/// The file in what an agent said: in its last words, else in something it said before, else in all of it together.
fn file_in(result: &str, said: &[String]) -> Result<ProgressFile, Vec<Problem>> {
    let all = said.join("\n");
    let mut wrong = None;
    for words in [result].into_iter().chain(said.iter().rev().map(String::as_str)).chain([all.as_str()]) {
        let Some(Ok(file)) = progress::cut_out(words).map(|text| ProgressFile::parse(&text)) else {
            continue;
        };
        let problems = file.problems();
        if problems.is_empty() {
            return Ok(file);
        }
        wrong.get_or_insert(problems);
    }
    Err(wrong.unwrap_or_else(|| {
        vec![Problem { line: 1, what: "there is no heading `# Progress: Name` to begin with".into() }]
    }))
}

fn in_one_line(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
}
