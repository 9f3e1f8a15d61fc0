//! Any story at all of sessions that a planner clarifies, of conversations, and of turns in directories.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use proptest::prelude::*;
use rapport_core::report::Overall;
use rapport_core::{
    Act, ActionEnd, ActionResult, AgentDid, Aim, Ask, Asking, Chosen, Clarifier, ConversationId, Created,
    Entry, Event, FoundTurn, FoundTurns, Input, Interrupted, LaterChanges, Leave, QuestionRound, Reply,
    Session, Status, Terms, TurnKind, TurnOrigin, UndoProblem, UndoneFiles, Want, World,
};

use crate::story::turns::PLAN;
use crate::support::{CONVERSATION, Play, agent, ann, bob, call, created, draft, person};

fn begin(which: u8) -> Created {
    let aim = [Aim::Work, Aim::Chat, Aim::Files][usize::from(which % 3)].clone();
    let clarifier = if aim == Aim::Work { Clarifier::Planner } else { Clarifier::Agent };
    let expire = (which % 2 == 1).then(|| SignedDuration::from_hours(2));
    let terms = Terms { max_rounds: u32::from(which % 4), clarifier, expire, ..Terms::default() };
    Created { aim, ..created("Add login", terms) }
}

fn batch(how: u8) -> QuestionRound {
    let questions = (0..how % 4).map(|n| draft(&format!("Question {how} {n}?"), &["Yes", "No"])).collect();
    QuestionRound { goal: Some("login".into()), questions, done: how % 16 == 9, ..QuestionRound::default() }
}

fn input(play: &Play, turn: u32, (what, how): (u8, u8)) -> Input {
    let id = format!("c{}", how % 4);
    let view = play.view();
    let open = view.questions.get(usize::from(how) % view.questions.len().max(1)).map(|open| open.id.clone());
    let done = view.answers.get(usize::from(how) % view.answers.len().max(1)).map(|done| done.id.clone());
    let act = |act| person(if how % 3 == 0 { bob() } else { ann() }, act);
    let did = match what % 32 {
        // What is wanted comes true, sooner or later.
        0..=9 => match play.session.wants().first() {
            Some(Want::QuestionRound(brief)) => {
                let outcome = if how % 7 == 0 { Err("away".into()) } else { Ok(batch(how)) };
                return Input::World(World::QuestionRound { round: brief.round, outcome });
            }
            Some(Want::Filed { turn, path, .. }) => {
                return Input::World(World::Filed { turn: *turn, path: path.clone() });
            }
            Some(Want::PlanSaved(file)) => {
                return Input::World(World::PlanSaved { revision: file.revision, path: file.path.clone() });
            }
            Some(Want::Baseline(turn)) => {
                return Input::World(World::Baseline { turn: *turn, baseline: None });
            }
            Some(Want::Report { .. }) => return Input::World(World::Report { changes: None }),
            Some(Want::PlanChecked { folder, revision, .. }) => {
                return Input::World(World::PlanChecked {
                    folder: folder.clone(),
                    revision: *revision,
                    problems: if how % 5 == 0 { vec!["it is not valid".into()] } else { Vec::new() },
                    remarks: vec![],
                    differs: (how % 5 == 1).then(|| PLAN.replace("a.txt", "c.txt")),
                });
            }
            Some(Want::TurnPrepared(next)) => {
                return Input::World(World::TurnPrepared {
                    after: next.after.clone(),
                    folder: format!("{:02}", 50 + how % 9),
                    conversation: ConversationId::new(format!("conversation-{how}")),
                    origin: TurnOrigin { parent: None, created: play.now, agent: None, is_replan: true },
                    shown: None,
                });
            }
            Some(Want::BatchRunning(order)) => return Input::World(batch_world(&order.batch, how)),
            Some(Want::ReportFiled { folder, .. }) => {
                let files = BTreeMap::from([("report.md".to_owned(), "aa".to_owned())]);
                return Input::World(World::ReportFiled { folder: folder.clone(), files });
            }
            Some(Want::Undone { batch, .. }) => {
                let is_partial = how % 4 == 1;
                let problem = UndoProblem { reason: "changed".into(), changed: vec![], is_partial };
                let outcome = if how % 4 < 2 { Err(problem) } else { Ok(UndoneFiles::default()) };
                return Input::World(World::Undone { batch: batch.clone(), outcome });
            }
            Some(Want::AgentRunning(order)) if how % 2 == 0 => {
                AgentDid::Connect { conversation: order.conversation.clone(), model: None }
            }
            Some(_) | None => return answer(open, how),
        },
        10..=12 => return answer(open, how),
        13 => return act(Act::Back),
        14 => return act(done.map_or(Act::Confirm, |question| Act::Reopen { question })),
        15 => return act(open.map_or(Act::Confirm, |question| Act::Keep { question })),
        16 => return act(Act::Confirm),
        17 | 18 => {
            return act(Act::Say { text: ["hello", "and now?", " "][usize::from(how % 3)].into(), id: None });
        }
        19 => {
            let conversation = ConversationId::new(format!("conversation-{how}"));
            return act(Act::PlanTurn {
                folder: format!("{:02}", how % 9),
                conversation,
                asking: Asking::Adaptive,
                origin: None,
                shown: None,
            });
        }
        20..=22 if play.session.created().aim == Aim::Files => return act(about_turns(play, what, how)),
        20..=22 => return act(Act::Restart),
        23 => return act(Act::Restart),
        24 if how == 0 => return act(Act::Cancel { reason: None }),
        24 => {
            return Input::World(World::QuestionRound { round: u32::from(how % 4), outcome: Ok(batch(how)) });
        }
        25 => return Input::World(World::Failed { reason: "no space".into() }),
        26 => AgentDid::Finish { result: "Done.".into() },
        27 => {
            let result = if how % 4 == 0 { "Which one do you mean?" } else { PLAN };
            AgentDid::Leave(Leave::Finished { result: result.into() })
        }
        28 => AgentDid::Leave(Leave::Failed { reason: "it died".into() }),
        29 => {
            let ask = Ask::Questions(vec![draft(&format!("What is {how}?"), &["A", "B"])]);
            AgentDid::Ask { call: call(&id), ask, parkable: how % 2 == 0 }
        }
        30 => AgentDid::Take { call: call(&id) },
        _ if how % 2 == 0 => {
            AgentDid::Connect { conversation: ConversationId::new(CONVERSATION), model: None }
        }
        _ if play.session.created().aim == Aim::Files => return Input::World(World::Found(found(play, how))),
        _ => return Input::World(if how % 3 == 0 { World::Tick } else { World::Lost }),
    };
    agent(turn, did)
}

/// What a running batch may do next.
fn batch_world(batch: &str, how: u8) -> World {
    let (batch, action) = (batch.to_owned(), usize::from(how % 3));
    match how % 8 {
        0..=2 => {
            let end =
                ActionEnd { action, result: ActionResult::Done, why: None, session: None, left_behind: 0 };
            World::ActionEnded { batch, end }
        }
        3 => World::ActionAsks { batch, action, message: "Ship it?".into() },
        4 => {
            World::BatchPaused { batch, reason: "stopped".into(), unsure: (how % 16 == 4).then_some(action) }
        }
        5 => World::BatchInvalid { batch, problems: vec!["it is not valid".into()] },
        6 if how % 16 == 6 => World::BatchDiffers { batch, text: "# Another\n".into() },
        _ => World::BatchEnded {
            batch,
            status: Overall::Completed,
            report: "# Report\n".into(),
            has_changes: true,
        },
    }
}

/// What a person may do about a turn.
fn about_turns(play: &Play, what: u8, how: u8) -> Act {
    let turns = play.session.file_turns();
    let turn = turns.get(usize::from(how) % turns.len().max(1));
    let folder = turn.map_or_else(|| "01".to_owned(), |turn| turn.folder.clone());
    let batch =
        turn.and_then(|turn| turn.batch()).map_or_else(|| "01".to_owned(), |batch| batch.name.clone());
    let left = |out: bool| out.then(|| "left out".to_owned());
    match (what % 3, how % 8) {
        (0, 0..=5) => Act::Approve {
            folder,
            revision: turn.and_then(|turn| turn.plan.as_ref()).map_or(1, |plan| plan.revision),
            chosen: Chosen {
                context: vec![],
                memos: vec![left(how.is_multiple_of(4))],
                actions: vec![None, left(how.is_multiple_of(2)), None],
            },
        },
        (0, 7) if play.session.reply().is_some() => {
            let text = ["the first", " "][usize::from(how % 16 / 8)].to_owned();
            Act::AnswerReply { folder, text, asking: None, is_size_agreed: false }
        }
        (0, _) => Act::Review { folder },
        (1, 0..=3) => Act::GoOn { batch, interrupted: Interrupted::Again },
        (1, 4) => Act::Skip { folder, message: None },
        (1, 5) => Act::Pause,
        (1, _) => {
            let text = turn.and_then(|turn| turn.differs.clone()).unwrap_or_default();
            Act::AcceptPlan { folder, text }
        }
        (_, 0..=2) => Act::Undo {
            batch,
            later: if how.is_multiple_of(2) { LaterChanges::Refuse } else { LaterChanges::Keep },
        },
        (_, 3) => Act::RestorePlan { folder },
        (_, 4) => Act::LeaveDraft,
        _ => Act::AcceptChanges { turns: BTreeMap::from([(folder, BTreeMap::new())]) },
    }
}

/// The directories as they would be found after a crash; now and then one is gone, or there is another.
fn found(play: &Play, how: u8) -> FoundTurns {
    let turn = |folder: &str, plan: Option<&str>| FoundTurn {
        folder: folder.into(),
        origin: TurnOrigin { parent: None, created: play.now, agent: None, is_replan: false },
        is_ready: how.is_multiple_of(2),
        shown: None,
        is_ours: true,
        plan: plan.map(str::to_owned),
        is_complete: false,
        status: None,
        files: BTreeMap::new(),
        batches: Vec::new(),
    };
    let skipped = usize::from(how.is_multiple_of(16));
    let known = play.session.file_turns().iter().skip(skipped);
    let mut turns: Vec<_> =
        known.map(|known| turn(&known.folder, known.plan.as_ref().map(|_| PLAN))).collect();
    turns.extend((how % 16 == 1).then(|| turn("31", Some(PLAN))));
    FoundTurns { turns }
}

fn answer(question: Option<rapport_core::QuestionId>, how: u8) -> Input {
    let reply =
        if how.is_multiple_of(5) { Reply::Text("as you like".into()) } else { Reply::Choices(vec![0]) };
    person(ann(), Act::Answer { question, reply })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn every_turn_has_its_reason_and_nothing_gets_stuck(
        which in any::<u8>(),
        story in prop::collection::vec(any::<(u8, u8)>(), 1..60),
    ) {
        let mut play = Play::begin_as(begin(which));
        let (mut turn, mut planned, mut confirmed, mut approved) = (1, 0, false, false);
        let rests = which % 3 != 0;
        for dice in story {
            play.pass(SignedDuration::from_secs(i64::from(dice.1)));
            let input = input(&play, turn, dice);
            for fact in play.put(&input).unwrap_or_default() {
                match fact {
                    Event::TurnStarted { turn: next, kind, .. } => {
                        turn = next.0;
                        prop_assert_eq!(kind == TurnKind::Chat, which % 3 == 1);
                        prop_assert!(kind != TurnKind::Work || confirmed, "work that nobody confirmed");
                    }
                    Event::PlanStarted { turn: next, .. } => {
                        turn = next.0;
                        prop_assert_eq!(which % 3, 2);
                    }
                    Event::Approved { .. } => approved = true,
                    Event::Asked { asker: rapport_core::Asker::Planner, .. } => planned += 1,
                    Event::Answered { question, answer, .. } => {
                        confirmed |= question.as_str().starts_with("confirm") && answer.is("confirm");
                    }
                    _ => {}
                }
            }
            prop_assert!(planned <= (which % 4).into(), "asked {planned} rounds");
            let view = play.view();
            let wants = play.session.wants();
            prop_assert!(wants.iter().filter(|want| matches!(want, Want::AgentRunning(_))).count() <= 1);
            // Whatever happened: somebody can do something, or something goes on by itself, or it is over.
            let goes_on = !wants.is_empty() || !view.questions.is_empty();
            let can_restart = play.session.decide(&person(ann(), Act::Restart), play.now).is_ok();
            let idle = rests && view.status == Status::Idle;
            let reviews = view.review.is_some() || play.session.reply().is_some();
            prop_assert!(goes_on || can_restart || idle || reviews || play.session.is_over(), "stuck: {:?}", view);
            // Nothing is run that nobody approved, one batch at a time, and never while something is undone.
            let running = wants.iter().filter(|want| matches!(want, Want::BatchRunning(_))).count();
            prop_assert!(running <= 1 && (running == 0 || approved), "a batch that nobody approved");
            if idle || reviews {
                prop_assert!(running == 0);
            }
            if idle || reviews {
                prop_assert!(wants.is_empty(), "it rests, but wants {:?}", wants);
            }
            if let Some(at) = play.session.deadline() {
                prop_assert!(!play.session.decide(&Input::World(World::Tick), at).unwrap().is_empty());
            }
        }
        let read: Vec<Entry> = play.log.iter()
            .map(|entry| Entry::from_json(&serde_json::to_string(entry).unwrap()).unwrap()).collect();
        prop_assert_eq!(Session::replay(&read).unwrap(), play.session);
    }
}
