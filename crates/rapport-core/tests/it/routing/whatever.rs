//! Any story at all of a session with a lead: what must hold after each step. `RAPPORT_PROPERTY_CASES` says how many stories
//! are told (2,000 where nothing is said).

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use rapport_core::routing::{ASKING_TIME, Class, Policy, Recipient, RoutingTerms};
use rapport_core::{
    Act, AgentDid, Ask, By, ConversationId, Created, Event, Input, OpenQuestion, QuestionId, Reply, Terms,
    Want, World,
};

use super::{found, lead, led};
use crate::support::{CONVERSATION, Play, agent, ann, call, draft, person};

/// What, and how.
type Dice = (u8, u8);

const PERSON_TIME: SignedDuration = SignedDuration::from_mins(30);

/// Questions, and whether somebody who is no person may decide them.
const QUESTIONS: [(&str, bool); 12] = [
    ("Which way should the login go?", true),
    ("How many columns has the table?", true),
    ("Tabs or spaces?", true),
    ("Which name do you prefer for the module?", true),
    ("Should the list be sorted by name?", true),
    ("Which of the two designs is better?", true),
    ("Where do the helpers belong?", true),
    ("Shall I drop the users table?", false),
    ("What is the API key?", false),
    ("Can I have root access?", false),
    ("Which subscription do we buy?", false),
    ("Shall I proceed with the plan?", false),
];

#[test]
#[expect(clippy::disallowed_methods, reason = "the test may know its surroundings; the core may not")]
fn no_silence_decides_and_no_lead_decides_what_it_may_not() {
    let cases = std::env::var("RAPPORT_PROPERTY_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = Config { cases: cases.unwrap_or(2_000), failure_persistence: None, ..Config::default() };
    let stories = (any::<u8>(), vec(any::<Dice>(), 0..60));
    let outcome = TestRunner::new(config)
        .run(&stories, |(terms, dice)| tell(terms, &dice).map(drop).map_err(TestCaseError::fail));
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// The stories above are worth telling only if they get everywhere.
#[test]
fn the_stories_of_leads_get_everywhere() {
    let mut runner = TestRunner::deterministic();
    let mut reached = Reached::default();
    for _ in 0..1_000 {
        let stories = (any::<u8>(), vec(any::<Dice>(), 0..60));
        let (terms, dice) = proptest::strategy::ValueTree::current(&stories.new_tree(&mut runner).unwrap());
        reached.add(&tell(terms, &dice).unwrap());
    }
    let Reached { answers, drafts, sent, hops, limits, refused } = reached;
    for (what, count) in [
        ("answers of a lead", answers),
        ("drafts", drafts),
        ("drafts that were sent", sent),
        ("steps by time", hops),
        ("limits", limits),
        ("refused leads", refused),
    ] {
        assert!(count >= 50, "only {count} {what}");
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    answers: usize,
    drafts: usize,
    sent: usize,
    hops: usize,
    limits: usize,
    refused: usize,
}

impl Reached {
    fn add(&mut self, other: &Self) {
        self.answers += other.answers;
        self.drafts += other.drafts;
        self.sent += other.sent;
        self.hops += other.hops;
        self.limits += other.limits;
        self.refused += other.refused;
    }
}

/// What the story knows by itself, without asking the code that it watches.
#[derive(Default)]
struct Seen {
    asked: Vec<(QuestionId, &'static str, bool)>,
    /// Texts that have an answer.
    settled: Vec<&'static str>,
    in_a_row: u32,
    by_lead: Vec<Timestamp>,
    reached: Reached,
}

fn tell(dice: u8, moves: &[Dice]) -> Result<Reached, String> {
    let policies = [Policy::Auto, Policy::Auto, Policy::Assist, Policy::Ask, Policy::Trust];
    let policy = policies[usize::from(dice % 5)];
    let per_hour = [20, 3, 6, 1][usize::from(dice / 5 % 4)];
    let person_time = dice.is_multiple_of(7).then_some(PERSON_TIME);
    let routing = RoutingTerms { per_hour, person_time, ..RoutingTerms::default() };
    let terms = Terms { questions: policy, routing, max_rounds: 1_000, ..Terms::default() };
    let mut play = Play::begin_as(Created { terms, ..led(policy) });
    let mut seen = Seen::default();
    let connect = AgentDid::Connect { conversation: ConversationId::new(CONVERSATION), model: None };
    put(&mut play, &mut seen, policy, per_hour, &agent(1, connect))?;
    for (what, how) in moves {
        let input = choose(&mut play, &mut seen, *what, *how);
        put(&mut play, &mut seen, policy, per_hour, &input)?;
        let live = play.session.clone();
        play.replay();
        if play.session != live {
            return Err("the replayed session is another than the live one".into());
        }
    }
    Ok(seen.reached)
}

fn choose(play: &mut Play, seen: &mut Seen, what: u8, how: u8) -> Input {
    let view = play.view();
    let open: Vec<&OpenQuestion> = view.questions.iter().collect();
    let Some(open) = open.get(usize::from(how) % open.len().max(1)) else {
        let number = seen.asked.len() + 1;
        let (text, is_free) = QUESTIONS[usize::from(how) % QUESTIONS.len()];
        seen.asked.push((QuestionId::new(format!("q{number}")), text, is_free));
        let ask = Ask::Questions(vec![draft(text, &["One", "Two"])]);
        return agent(1, AgentDid::Ask { call: call(&format!("c{number}")), ask, parkable: true });
    };
    let question = open.id.clone();
    match what {
        0..=109 => {
            let (ground, because) = found("preference:p1");
            let because = (how % 8 < 7).then_some(Box::new(because));
            person(
                lead(),
                Act::Respond { question, reply: Reply::Choices(vec![0]), ground: Some(ground), because },
            )
        }
        110..=124 => person(lead(), Act::Answer { question: Some(question), reply: Reply::Choices(vec![1]) }),
        125..=139 => person(ann(), Act::Answer { question: Some(question), reply: Reply::Choices(vec![1]) }),
        140..=159 => person(ann(), Act::SendDraft { question }),
        160..=169 => {
            let class = [None, Some(Class::Money), Some(Class::Clarification)][usize::from(how % 3)];
            person(lead(), Act::PassOn { question, class, reason: "unsure".into() })
        }
        170..=179 => Input::World(World::LeadAsks { question }),
        180..=199 => {
            let want = play.session.wants().into_iter().find_map(|want| match want {
                Want::LeadTold { question, .. } if how.is_multiple_of(4) => {
                    Some(World::LeadTold { question, outcome: Err("gone".into()) })
                }
                Want::LeadTold { question, .. } => Some(World::LeadTold { question, outcome: Ok(()) }),
                Want::LeadReleased { question, .. } => Some(World::LeadReleased { question }),
                _ => None,
            });
            Input::World(want.unwrap_or(World::Tick))
        }
        200..=209 => person(
            By::Lead { name: "somebody else".into() },
            Act::Answer { question: Some(question), reply: Reply::Choices(vec![0]) },
        ),
        210..=219 => person(ann(), Act::Say { text: "go on".into(), id: None }),
        220..=229 => agent(1, AgentDid::Withdraw { call: call(&format!("c{}", seen.asked.len())) }),
        230..=244 => {
            if let Some(deadline) = play.session.deadline() {
                play.now = play.now.max(deadline);
            }
            Input::World(World::Tick)
        }
        245..=255 => {
            play.pass(SignedDuration::from_secs([1, 59, 3_600, 600][usize::from(how % 4)]));
            Input::World(World::Tick)
        }
    }
}

fn put(play: &mut Play, seen: &mut Seen, policy: Policy, per_hour: u32, input: &Input) -> Result<(), String> {
    let now = play.now;
    let wrong = |why: &str| Err(format!("{why}, after {input:?}"));
    let facts = match play.put(input) {
        Ok(facts) => facts,
        Err(_) => {
            seen.reached.refused += usize::from(matches!(input, Input::Person { by: By::Lead { .. }, .. }));
            return Ok(());
        }
    };
    let is_time = matches!(input, Input::World(_));
    for (place, fact) in facts.iter().enumerate() {
        match fact {
            Event::Answered { .. } | Event::Drafted { .. } if is_time => {
                return wrong("silence decided something");
            }
            Event::Answered { question, by: By::Lead { name }, .. } => {
                let Some((_, text, is_free)) = seen.asked.iter().find(|(id, ..)| id == question) else {
                    return wrong("an unknown question was answered");
                };
                let is_grounded = place > 0
                    && matches!(&facts[place - 1], Event::Grounded { question: grounded, .. } if grounded == question);
                let since = now.checked_sub(SignedDuration::from_hours(1)).unwrap();
                let lately = seen.by_lead.iter().filter(|at| **at > since).count();
                seen.in_a_row += 1;
                match () {
                    () if name != super::LEAD => return wrong("another lead answered"),
                    () if !matches!(policy, Policy::Auto | Policy::Trust) => {
                        return wrong("a lead answered where it may only draft");
                    }
                    () if !is_free => return wrong("a lead decided what is for people"),
                    () if !is_grounded && policy == Policy::Auto => {
                        return wrong("a lead answered without a ground");
                    }
                    () if seen.in_a_row > 5 => return wrong("a lead answered six times in a row"),
                    () if lately >= per_hour as usize => {
                        return wrong("a lead answered too often in an hour");
                    }
                    () if seen.settled.contains(text) => {
                        return wrong("a lead answered the same question twice");
                    }
                    () => {}
                }
                seen.by_lead.push(now);
                seen.settled.push(text);
                seen.reached.answers += 1;
            }
            Event::Answered { question, by, .. } => {
                if !matches!(by, By::Person { .. }) {
                    return wrong("somebody else answered");
                }
                seen.in_a_row = 0;
                seen.reached.sent +=
                    usize::from(matches!(input, Input::Person { act: Act::SendDraft { .. }, .. }));
                seen.settled
                    .extend(seen.asked.iter().find(|(id, ..)| id == question).map(|(_, text, _)| *text));
            }
            Event::Heard { .. } => seen.in_a_row = 0,
            Event::Drafted { .. } if policy == Policy::Ask => {
                return wrong("a lead drafted where only people are asked");
            }
            Event::Drafted { .. } => seen.reached.drafts += 1,
            Event::Routed { why: rapport_core::routing::Hop::TimeOver, .. } => seen.reached.hops += 1,
            Event::Routed { why: rapport_core::routing::Hop::LimitReached(_), .. } => {
                seen.reached.limits += 1
            }
            _ => {}
        }
    }
    // Every open question is with somebody: a lead only for a time, or people for as long as it takes.
    for open in &play.view().questions {
        let Some(way) = &open.way else { return wrong("an open question is with nobody") };
        let is_bounded = way.to != Recipient::Lead || way.until.is_some();
        let is_for_lead = way.to == Recipient::Lead && way.class.is_for_people();
        if !is_bounded || is_for_lead {
            return wrong("a question stays with a lead");
        }
        let withheld_until = way.withheld_until;
        let longest = now.checked_add(ASKING_TIME + PERSON_TIME).unwrap();
        if withheld_until.is_some_and(|until| until > longest || way.to == Recipient::Others) {
            return wrong("a question is kept from others for ever");
        }
    }
    Ok(())
}
