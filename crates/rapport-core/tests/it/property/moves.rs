//! The alphabet: what three numbers mean in the state a story is in.

use jiff::SignedDuration;
use rapport_core::{
    Act, AgentDid, Ask, By, CallId, Clarified, ConversationId, DayBudget, Input, Leave, Merged, NewQuestion,
    Permission, PhaseView, QuestionId, Reply, RoundId, Status, Terms, ToolUse, TurnId, UndoneFiles, Usage,
    Want, WorkCheck, World,
};

use super::watch::Watch;
use crate::support::{CONVERSATION, Play, ann, bob, call, draft, person, question};

/// What, whom, how.
pub(super) type Dice = (u8, u8, u8);

#[derive(Debug)]
pub(super) enum Move {
    Pass(SignedDuration),
    /// Nothing happens until something is due.
    Wait,
    Crash,
    Put(Input),
}

/// What was agreed on: few rounds, so that they run out, and questions that expire in every other story.
pub(super) fn terms(dice: u8) -> Terms {
    Terms {
        max_rounds: [3, 2, 5, 0][usize::from(dice % 16).min(3)].max(u32::from(dice % 3)),
        expire: (dice % 2 == 1).then(|| SignedDuration::from_hours(2)),
        budget_micros: (dice % 5 == 4).then_some(100_000),
        check: (dice % 7 == 3).then(|| "make test".to_owned()),
        ..Terms::default()
    }
}

/// Who began it: often a lead, so that leads may act.
pub(super) fn beginner(dice: u8) -> By {
    if dice.is_multiple_of(4) { ann() } else { lead() }
}

fn lead() -> By {
    By::Lead { name: "main".into() }
}

pub(super) fn choose(play: &Play, watch: &Watch, (what, whom, how): Dice) -> Move {
    match what {
        0..=79 => along(play, watch, whom, how),
        80..=124 => Move::Put(asks(watch, whom, how)),
        125..=169 => Move::Put(person(by(how), acts(play, watch, whom, how))),
        170..=209 => Move::Put(does(watch, whom, how)),
        210..=224 => Move::Put(Input::World(world(play, watch, whom, how))),
        225..=231 => Move::Pass(SignedDuration::from_secs([1, 60, 300, 301, 7_200][usize::from(how % 5)])),
        232..=244 => Move::Wait,
        245..=255 => Move::Crash,
    }
}

/// What a session waits for: these moves take a story into depth.
fn along(play: &Play, watch: &Watch, whom: u8, how: u8) -> Move {
    if play.session.is_failed() {
        return Move::Put(person(by(how), Act::Restart));
    }
    let view = play.view();
    if view.status == Status::Completed || view.status == Status::Idle {
        return Move::Put(person(by(how), Act::Say { text: "and now the rest".into(), id: None }));
    }
    // Second thoughts, where they are possible.
    let thought = match view.questions.iter().find(|open| open.previous.is_some()) {
        Some(open) if how % 8 == 1 => Some(Act::Keep { question: open.id.clone() }),
        Some(open) if how % 8 == 3 => {
            Some(Act::Answer { question: Some(open.id.clone()), reply: Reply::Choices(vec![1]) })
        }
        Some(_) => None,
        None => {
            let done = view.answers.get(usize::from(whom) % view.answers.len().max(1));
            let reopen = |done: &Clarified| Act::Reopen { question: done.id.clone() };
            let act = if view.phase == PhaseView::Confirming { done.map(reopen) } else { Some(Act::Back) };
            act.filter(|_| matches!(how % 8, 2 | 5))
        }
    };
    if let Some(act) = thought {
        // Second thoughts are for people; now and then somebody else has some, and is refused.
        let by = if whom > 240 { by(how) } else { [ann(), bob()][usize::from(how % 2)].clone() };
        return Move::Put(person(by, act));
    }
    if !view.questions.is_empty() && !how.is_multiple_of(4) {
        let open = &view.questions[usize::from(whom) % view.questions.len()];
        let reply = if how % 8 == 7 && open.free_text {
            Reply::Text("as you like".into())
        } else {
            Reply::Choices(vec![0])
        };
        let reply = if open.options.is_empty() { Reply::Text("blue".into()) } else { reply };
        return Move::Put(person(by(how), Act::Answer { question: Some(open.id.clone()), reply }));
    }
    let wants = play.session.wants();
    if let Some(last) = wants.get(usize::from(whom) % wants.len().max(1)).or(wants.last()) {
        let input = match last {
            Want::Baseline(turn) => {
                Input::World(World::Baseline { turn: *turn, baseline: Some("b1".into()) })
            }
            Want::Snapshot(round) => {
                Input::World(World::Snapshot { round: *round, state: Some("s1".into()) })
            }
            Want::PlanSaved(file) => {
                Input::World(World::PlanSaved { revision: file.revision, path: file.path.clone() })
            }
            Want::Checked { turn, command } => {
                let check = WorkCheck { command: command.clone(), exit: Some(1), ..WorkCheck::default() };
                Input::World(World::Checked { turn: *turn, check })
            }
            Want::Report { .. } => Input::World(World::Report { changes: None }),
            Want::QuestionRound(brief) => {
                Input::World(World::QuestionRound { round: brief.round, outcome: Err("no".into()) })
            }
            Want::Granted { question, .. } => Input::World(World::Granted { question: question.clone() }),
            Want::AnswerRuled { question, .. } => {
                Input::World(World::AnswerRuled { question: question.clone() })
            }
            Want::LeadInformed { end, .. } => {
                Input::World(World::LeadInformed { end: *end, outcome: Ok(()) })
            }
            Want::Filed { turn, path, .. } => Input::World(World::Filed { turn: *turn, path: path.clone() }),
            Want::Merged { .. } => Input::World(World::Merged {
                outcome: Ok(Merged { from: "f1".into(), to: "t1".into(), ..Merged::default() }),
            }),
            Want::Applied { .. } => Input::World(World::Applied { files: Vec::new() }),
            Want::Cleared => Input::World(World::Cleared { left: None }),
            Want::WorkLeft => Input::World(World::WorkLeft { state: Some("l1".into()) }),
            Want::WorkUndone(_) => Input::World(World::WorkUndone { outcome: Ok(UndoneFiles::default()) }),
            Want::Replied { turn, call, .. } => agent(*turn, AgentDid::Take { call: call.clone() }),
            Want::AgentParked { turn, call } => {
                agent(*turn, AgentDid::Leave(Leave::Deferred { call: call.clone() }))
            }
            Want::AgentRunning(order) if !watch.is_connected() => {
                let conversation = order.conversation.clone();
                agent(order.turn, AgentDid::Connect { conversation, model: Some("opus".into()) })
            }
            Want::AgentRunning(order) if !order.messages.is_empty() && how % 8 == 6 => {
                agent(order.turn, AgentDid::Read { message: order.messages[0].number })
            }
            Want::AgentRunning(order) if how % 8 < 3 => {
                agent(order.turn, AgentDid::Leave(Leave::Finished { result: "# Login\n\n1. Do it".into() }))
            }
            Want::AgentRunning(_)
            | Want::LeadTold { .. }
            | Want::LeadReleased { .. }
            | Want::TurnPrepared(_)
            | Want::PlanChecked { .. }
            | Want::BatchRunning(_)
            | Want::ActionReplied { .. }
            | Want::HostsAllowed(_)
            | Want::ReportFiled { .. }
            | Want::Undone { .. } => return Move::Put(asks(watch, whom, how)),
        };
        return Move::Put(input);
    }
    // Everybody waits: then time passes.
    Move::Wait
}

fn by(how: u8) -> By {
    match how % 5 {
        0 | 1 => ann(),
        2 => bob(),
        3 => lead(),
        _ => By::written_rule("style"),
    }
}

fn acts(play: &Play, watch: &Watch, whom: u8, how: u8) -> Act {
    let view = play.view();
    let pick = |from: Vec<QuestionId>| from.get(usize::from(whom) % from.len().max(1)).cloned();
    let never = || question("q99");
    let any = || pick(watch.questions()).unwrap_or_else(never);
    let open = || pick(view.questions.iter().map(|open| open.id.clone()).collect()).unwrap_or_else(never);
    let answered = || pick(view.answers.iter().map(|done| done.id.clone()).collect()).unwrap_or_else(any);
    let reopened = || view.questions.iter().find(|open| open.previous.is_some()).map(|open| open.id.clone());
    match how % 28 {
        0..=3 => Act::Answer { question: Some(open()), reply: reply(whom) },
        4 | 5 => Act::Answer { question: Some(any()), reply: reply(whom) },
        6 => Act::Answer { question: Some(never()), reply: reply(whom) },
        7 => Act::Answer { question: None, reply: reply(whom) },
        8..=10 | 26 => Act::Back,
        11 | 12 => Act::Reopen { question: answered() },
        13 => Act::Change { question: answered(), reply: reply(whom) },
        14 => Act::Change { question: reopened().unwrap_or_else(any), reply: reply(whom) },
        15 => Act::Reopen { question: any() },
        16 => Act::Keep { question: any() },
        17 | 18 => Act::Keep { question: reopened().unwrap_or_else(any) },
        19 => Act::Confirm,
        20 | 21 => Act::Answer {
            question: view.questions.last().map(|open| open.id.clone()),
            reply: Reply::Text("smaller steps, please".into()),
        },
        24 | 25 => Act::Say {
            text: ["mind the tests", "and the docs", " "][usize::from(whom % 8).min(2)].into(),
            id: None,
        },
        27 => Act::Stop,
        22 if whom > 128 => Act::Cancel { reason: Some("enough".into()) },
        _ => Act::Restart,
    }
}

fn reply(whom: u8) -> Reply {
    let words = |words: &[&str]| Reply::Words(words.iter().map(|word| (*word).into()).collect());
    match whom % 12 {
        0 => Reply::Choices(vec![0]),
        1 => Reply::Choices(vec![1]),
        2 => Reply::Choices(vec![0, 1]),
        3 => Reply::Choices(vec![7]),
        4 => Reply::Choices(Vec::new()),
        5 => Reply::Text("blue".into()),
        6 => Reply::Text("  ".into()),
        7 => Reply::Both(vec![0], "blue".into()),
        8 => words(&["2"]),
        9 => words(&["deny"]),
        10 => words(&["cancel"]),
        _ => words(&["green", "or", "so"]),
    }
}

fn asks(watch: &Watch, whom: u8, how: u8) -> Input {
    let way = |text: &str| draft(text, &["Passkeys", "Passwords"]);
    let ask = match how % 12 {
        0 => Ask::Questions(vec![way("Which way?")]),
        1 => Ask::Questions(vec![way("Which way?"), draft("How long?", &[])]),
        2 => Ask::Questions(vec![
            NewQuestion { multi: true, ..way("Which ones?") },
            NewQuestion { free_text: false, ..way("Which first?") },
            way("Which last?"),
        ]),
        3 => Ask::Questions(vec![way("One?"), way("Two?"), way("Three?"), way("Four?")]),
        4 => Ask::Questions(Vec::new()),
        5 | 6 => Ask::Questions(vec![way("Which way?")]),
        7 | 8 => Ask::Permission(Permission::new("Bash", "cargo test")),
        9 => Ask::LeavePlanMode { plan: "# Login\n\n1. Ask\n2. Do".into() },
        10 => Ask::Questions(vec![draft(" ", &["Yes"]), way("Which way?")]),
        _ => Ask::Questions(vec![draft("What colour?", &[])]),
    };
    let turn = TurnId(watch.turn());
    agent(turn, AgentDid::Ask { call: a_call(whom), ask, parkable: how < 200 })
}

fn a_call(whom: u8) -> CallId {
    call(["c1", "c2", "c3", "c4", "c5"][usize::from(whom % 5)])
}

fn does(watch: &Watch, whom: u8, how: u8) -> Input {
    let stray = whom > 240;
    let turn = TurnId(if stray { watch.turn() + u32::from(whom % 2) * 2 - 1 } else { watch.turn() });
    let call = watch.waiting(whom).unwrap_or_else(|| a_call(whom));
    let did = match how % 16 {
        0 | 1 => AgentDid::Connect { conversation: ConversationId::new(CONVERSATION), model: None },
        2 if whom.is_multiple_of(4) => {
            AgentDid::Connect { conversation: ConversationId::new("other"), model: None }
        }
        2 | 3 => AgentDid::Say { text: "Looking around\nat things".into() },
        4 => AgentDid::Use { tool: "Read".into(), what: "src/lib.rs".into(), kind: ToolUse::Reads },
        5 if whom.is_multiple_of(2) => AgentDid::Note { line: r#"{"type":"news"}"#.into() },
        5 => AgentDid::Babble { line: "warning: something".into() },
        6 => AgentDid::Withdraw { call },
        7 | 8 => AgentDid::Take { call },
        9 if whom.is_multiple_of(2) => {
            AgentDid::SpendSoFar { cost_micros: 1000 * u64::from(whom), today: day(whom, how) }
        }
        9 => AgentDid::Spend { usage: Usage { input: 1, output: u64::MAX / 2, ..Usage::default() } },
        10 => AgentDid::Leave(Leave::Finished {
            result: ["# Plan:", "", "Done."][usize::from(whom % 3)].into(),
        }),
        11 | 12 => AgentDid::Leave(Leave::Deferred { call }),
        13 => AgentDid::Leave(Leave::Stopped),
        14 => AgentDid::Leave(Leave::Failed { reason: "exit status 1".into() }),
        _ => AgentDid::Take { call: a_call(how / 16) },
    };
    agent(turn, did)
}

fn world(play: &Play, watch: &Watch, whom: u8, how: u8) -> World {
    match how % 8 {
        // A state that comes when its batch no longer needs an answer, or never did.
        0 => World::Snapshot { round: RoundId(1 + u32::from(whom % 8)), state: None },
        1 if whom % 4 == 1 => World::Queued { turn: TurnId(watch.turn() + u32::from(whom % 2)) },
        1 => World::Tick,
        2 => World::Lost,
        3 => World::Baseline { turn: TurnId(watch.turn() + u32::from(whom % 2)), baseline: None },
        4 | 5 => {
            let wanted = play.session.wants().into_iter().find_map(|want| match want {
                Want::PlanSaved(file) => Some(file.revision),
                _ => None,
            });
            // What is wanted, what was wanted before, and what never will be.
            let revision = (wanted.unwrap_or(1) + u32::from(whom % 3)).saturating_sub(1);
            World::PlanSaved { revision, path: ".claude/todos/login/add-login.md".into() }
        }
        6 if whom.is_multiple_of(2) => {
            World::Checked { turn: TurnId(u32::from(whom % 4)), check: WorkCheck::default() }
        }
        6 => World::Report { changes: None },
        _ => World::Failed { reason: "the disk is full".into() },
    }
}

/// A budget of the day, in every other story, that is used up now and then.
fn day(whom: u8, how: u8) -> Option<DayBudget> {
    let budget = || DayBudget {
        day: format!("2026-01-2{}", whom % 3),
        spent_micros: 2000 * u64::from(whom),
        limit_micros: 300_000,
    };
    (how % 2 == 1).then(budget)
}

fn agent(turn: TurnId, did: AgentDid) -> Input {
    Input::Agent { turn, did }
}
