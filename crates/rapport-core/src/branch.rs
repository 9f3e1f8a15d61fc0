//! Branches: a new session in which a question of this one is open again. The facts up to the question are copied,
//! and the answers to the questions that were asked together with it; later answers and work are not.

use jiff::Timestamp;

use crate::created::BranchPoint;
use crate::event::{Asker, Entry, Event};
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::refusal::Refusal;
use crate::session::Session;

/// A question at which a session can branch, and what the branch starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The directory the original works in.
    pub project: String,
    /// The conversation in which the question was asked.
    pub conversation: ConversationId,
    /// The call that asked it. The branch shares the conversation up to here.
    pub call: CallId,
    /// The state that the files must have.
    pub state: StateWanted,
    /// The recorded state before the work that the branch has in common with the original; `None` if there is no such
    /// work. What is applied of the branch includes that work, which may be nowhere else.
    pub base: Option<String>,
    /// Whether the original session still waits for the answer to this question.
    pub is_waited_for: bool,
    question: QuestionId,
    turn: TurnId,
    past: Vec<Entry>,
    /// The answers to the other questions of its round.
    kept: Vec<Event>,
}

/// A state of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateWanted {
    /// The state that was recorded under this name.
    Noted(String),
    /// The current state: nothing has changed since the question.
    AsItIs,
}

/// What is different in the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Where it comes from.
    pub origin: BranchPoint,
    /// The directory of the project.
    pub project: String,
    /// The kind of worker, whose workplace is separate from the project.
    pub worker: String,
    /// The conversation of its agent.
    pub conversation: ConversationId,
}

impl Branch {
    /// Finds where a question was asked, or says why the session cannot branch there.
    pub fn at(entries: &[Entry], question: &QuestionId) -> Result<Self, Refusal> {
        let refused = |why: &str| Refusal::NoBranch { question: question.clone(), why: why.into() };
        let unknown = || Refusal::UnknownQuestion { question: question.clone() };
        let whole = Session::replay(entries).ok_or_else(unknown)?;
        let (past, round, asker) = up_to(entries, question).ok_or_else(unknown)?;
        let Asker::Agent { turn, call, .. } = asker else {
            return Err(refused("Rapport itself asked it; branch at a question of the agent's"));
        };
        let then = Session::replay(&past).ok_or_else(unknown)?;
        let Some(flow) = then.flow.work() else {
            return Err(refused("only a session that works on a task has branches at questions"));
        };
        let asking = whole.shared.turns.current();
        let is_waited_for =
            asking.is_some_and(|turn| whole.shared.rounds.waited_for(turn).any(|open| open.id == round));
        let state = if flow.is_begun() {
            noted_at(entries, round)
                .or_else(|| is_waited_for.then_some(StateWanted::AsItIs))
                .ok_or_else(|| refused("the state of the files at that question was not recorded"))?
        } else {
            // Nothing changes before the work begins, so its baseline is the state at every earlier question.
            whole
                .shared
                .turns
                .first_baseline()
                .map_or(StateWanted::AsItIs, |state| StateWanted::Noted(state.to_owned()))
        };
        let asked = whole.rounds().filter(|view| view.id == round).flat_map(|view| view.items);
        let others = asked.filter(|item| item.question.id != *question);
        let kept = others.filter_map(|item| {
            let (answer, by) = item.given?;
            Some(Event::Answered {
                question: item.question.id.clone(),
                answer: answer.clone(),
                by: by.clone(),
            })
        });
        let base = then.shared.record.stretches().into_iter().next().and_then(|first| first.from);
        Ok(Self {
            kept: kept.collect(),
            base,
            project: whole.project().to_owned(),
            conversation: then.shared.turns.conversation.clone(),
            call,
            state,
            is_waited_for,
            question: question.clone(),
            turn,
            past,
        })
    }

    /// The branch's log. Copied entries keep their times; the question is asked now.
    pub fn entries(&self, to: &Destination, now: Timestamp) -> Vec<Entry> {
        let mut entries = self.past.clone();
        for fact in entries.iter_mut().flat_map(|entry| &mut entry.facts) {
            match fact {
                Event::Created(created) => {
                    created.project.clone_from(&to.project);
                    created.conversation.clone_from(&to.conversation);
                    created.branched_from = Some(to.origin.clone());
                    created.worker.clone_from(&to.worker);
                    created.apart = Some(true);
                }
                Event::Connected { conversation, .. } => conversation.clone_from(&to.conversation),
                _ => {}
            }
        }
        if let Some(asking) = entries.last_mut() {
            let reason = format!("branched from {}", to.origin);
            asking.at = now;
            let (seq, cut_off) = (asking.seq + 1, Event::cut_off(self.turn, reason));
            match self.kept.as_slice() {
                [] => asking.facts.push(cut_off),
                // An answer follows its question.
                kept => entries.push(Entry { seq, at: now, facts: [kept, &[cut_off]].concat() }),
            }
        }
        entries
    }

    /// The question that is open again.
    pub fn question(&self) -> &QuestionId {
        &self.question
    }
}

/// The log up to the fact that asked this question, and nothing after it.
fn up_to(entries: &[Entry], question: &QuestionId) -> Option<(Vec<Entry>, RoundId, Asker)> {
    for (n, entry) in entries.iter().enumerate() {
        for (index, fact) in entry.facts.iter().enumerate() {
            let Event::Asked { round, asker, questions } = fact else { continue };
            if questions.iter().any(|asked| asked.id == *question) {
                let mut past = entries[..=n].to_vec();
                past[n].facts.truncate(index + 1);
                return Some((past, *round, asker.clone()));
            }
        }
    }
    None
}

fn noted_at(entries: &[Entry], round: RoundId) -> Option<StateWanted> {
    entries.iter().flat_map(|entry| &entry.facts).find_map(|fact| match fact {
        Event::Snapshotted { round: noted, state } if *noted == round => {
            state.clone().map(StateWanted::Noted)
        }
        _ => None,
    })
}
