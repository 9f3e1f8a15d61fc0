//! Any story at all of a session that is to make a progress file.

use jiff::SignedDuration;
use proptest::prelude::*;
use rapport_core::{
    Act, AgentDid, Aim, Ask, Asking, ConversationId, Created, Entry, Event, Existing, Input, Leave, PlanMode,
    ProgressAim, ProgressFile, Reply, Session, Status, Terms, TurnKind, Want, World,
};

use crate::support::{CONVERSATION, Play, agent, ann, call, created, draft, person};

const FILE: &str = "# Progress: X\n\n## Status\n\nNew\n\n## Tasks\n\n### Phase 1\n\n- [ ] a\n\n## Testing Strategy\n\nNone.\n";

fn words(dice: u8) -> String {
    match dice % 4 {
        0 => FILE.into(),
        1 => format!("Here it is:\n```\n{FILE}```"),
        2 => FILE.replace("## Tasks", "## Work"),
        _ => "Let me see.".into(),
    }
}

fn input(play: &Play, turn: u32, (what, how): (u8, u8)) -> Input {
    let id = format!("c{}", how % 8);
    let did = match what % 24 {
        0 | 1 => AgentDid::Connect { conversation: ConversationId::new(CONVERSATION), model: None },
        2 | 3 => AgentDid::Say { text: words(how) },
        4..=6 => {
            let ask = Ask::Questions(vec![draft(&format!("What is {how}?"), &["A", "B"])]);
            AgentDid::Ask { call: call(&id), ask, parkable: how % 2 == 0 }
        }
        7 => AgentDid::Ask { call: call(&id), ask: Ask::LeavePlanMode { plan: words(how) }, parkable: false },
        8 | 9 => AgentDid::Take { call: call(&id) },
        10 => AgentDid::Withdraw { call: call(&id) },
        11..=13 => AgentDid::Leave(Leave::Finished { result: words(how) }),
        14 => AgentDid::Leave(Leave::Failed { reason: "it died".into() }),
        15 => AgentDid::Leave(Leave::Deferred { call: call(&id) }),
        16 => return Input::World(World::Lost),
        17 => return Input::World(World::Tick),
        18 | 19 => {
            let done = play.session.wants().into_iter().find_map(|want| match want {
                Want::Baseline(turn) => {
                    Some(World::Baseline { turn, baseline: (how % 2 == 0).then(|| "b".into()) })
                }
                Want::PlanSaved(file) => Some(World::PlanSaved { revision: file.revision, path: file.path }),
                Want::Report { .. } => Some(World::Report { changes: None }),
                Want::WorkLeft => Some(World::WorkLeft { state: Some("l".into()) }),
                _ => None,
            });
            return Input::World(done.unwrap_or(World::Failed { reason: "no space".into() }));
        }
        20 => return Input::World(World::Report { changes: None }),
        21 => return person(ann(), [Act::Restart, Act::Confirm, Act::Back][usize::from(how % 3)].clone()),
        22 if how == 0 => return person(ann(), Act::Cancel { reason: None }),
        _ => {
            let open = play.view().questions.first().map(|open| open.id.clone());
            return person(ann(), Act::Answer { question: open, reply: Reply::Choices(vec![0]) });
        }
    };
    agent(turn, did)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_file_is_only_ever_a_valid_one(
        adaptive in any::<bool>(),
        story in prop::collection::vec(any::<(u8, u8)>(), 1..60),
    ) {
        let asking = if adaptive { Asking::Adaptive } else { Asking::Assume };
        let aim = ProgressAim {
            path: "progress.md".into(), asking, mode: PlanMode::Gsd, existing: Existing::Refuse, stack: None,
        };
        let terms = Terms { max_rounds: 2, ..Terms::default() };
        let mut play = Play::begin_as(Created { aim: Aim::Progress(aim), ..created("x", terms) });
        let (mut turn, mut asked, mut saved) = (1, 0, false);
        for dice in story {
            play.pass(SignedDuration::from_secs(i64::from(dice.1)));
            let input = input(&play, turn, dice);
            for fact in play.put(&input).unwrap_or_default() {
                match fact {
                    Event::TurnStarted { turn: next, kind, .. } => {
                        prop_assert_eq!(kind, TurnKind::Plan);
                        turn = next.0;
                    }
                    Event::Asked { .. } => asked += 1,
                    Event::PlanSaved { .. } => saved = true,
                    Event::Reported { .. } => prop_assert!(saved, "completed without a file"),
                    _ => {}
                }
            }
            prop_assert!(asked <= if adaptive { 2 } else { 0 }, "asked {asked} times");
            for want in play.session.wants() {
                match want {
                    Want::PlanSaved(file) => {
                        prop_assert_eq!(file.path, "progress.md");
                        prop_assert_eq!(ProgressFile::parse(&file.content).unwrap().problems(), []);
                    }
                    Want::Baseline(_) | Want::Report { .. } | Want::WorkLeft => {}
                    Want::Snapshot(_) | Want::Checked { .. } => prop_assert!(false, "this is no work"),
                    Want::Merged { .. } | Want::Applied { .. } | Want::Cleared | Want::WorkUndone(_) => {
                        prop_assert!(false, "it is done in the project itself")
                    }
                    Want::QuestionRound(_) | Want::Filed { .. } | Want::TurnPrepared(_) | Want::PlanChecked { .. } | Want::BatchRunning(_)
                    | Want::ActionReplied { .. } | Want::ReportFiled { .. } | Want::Undone { .. } => {
                        prop_assert!(false, "the agent makes it");
                    }
                    Want::AgentRunning(_) | Want::Replied { .. } | Want::AgentParked { .. } | Want::Granted { .. } | Want::AnswerRuled { .. } | Want::LeadTold { .. } | Want::LeadInformed { .. } | Want::LeadReleased { .. } => {}
                    Want::HostsAllowed(_) => prop_assert!(false, "nobody allowed a host"),
                }
            }
            let view = play.view();
            prop_assert_eq!(view.status == Status::Completed, saved && view.changes.is_some());
            // Whatever happened: somebody can do something, or something goes on by itself, or it is over.
            let goes_on = !play.session.wants().is_empty() || !view.questions.is_empty();
            let can_restart = play.session.decide(&person(ann(), Act::Restart), play.now).is_ok();
            prop_assert!(goes_on || can_restart || play.session.is_over(), "stuck: {:?}", view);
        }
        let read: Vec<Entry> = play.log.iter()
            .map(|entry| Entry::from_json(&serde_json::to_string(entry).unwrap()).unwrap()).collect();
        prop_assert_eq!(Session::replay(&read).unwrap(), play.session);
    }
}
