//! Many people who plan a task at the same time and answer as fast as they are asked. One loop drives them all, so
//! that the crowd itself costs little.
#![allow(dead_code, reason = "measurements share it with the tests; neither uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::rounds_api::OPTIONS;
use super::serving::Serving;
use super::telegram::{Outcome, Person, State, TelegramServer};

/// The id of the first of them; the others follow.
const FIRST: i64 = 70_001;

pub(crate) struct Crowd<'a> {
    server: &'a TelegramServer,
    people: BTreeMap<i64, Member>,
    /// How many messages were looked at.
    seen: usize,
}

struct Member {
    person: Person,
    /// The values of what they tapped.
    tapped: Vec<String>,
    /// The card in front of them, until they tap it.
    card: Option<Shown>,
    waiting_since: Instant,
    is_done: bool,
}

impl Member {
    fn new(person: Person) -> Self {
        let waiting_since = Instant::now();
        Self { person, tapped: Vec::new(), card: None, waiting_since, is_done: false }
    }

    /// Whether nothing is to come before they do something.
    fn rests(&self) -> bool {
        self.is_done || self.card.is_some()
    }

    /// Taps a button of the card in front of them.
    fn tap(&mut self, fingers: Fingers) {
        let Some(card) = self.card.take() else { return };
        let option = (card.chat.unsigned_abs() as usize + self.tapped.len() * 2) % OPTIONS.len();
        self.tapped.push(OPTIONS[option].1.to_owned());
        self.waiting_since = Instant::now();
        self.person.taps_data_on(card.card, &card.answers[option]);
        if fingers == Fingers::Nervous && card.chat % 3 == 0 {
            let another = (option + 1) % OPTIONS.len();
            self.person.taps_data_on(card.card, &card.answers[another]);
        }
    }
}

/// Whether people tap once, as they should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fingers {
    /// Taps each button once.
    Calm,
    /// Every third of them a second time, on another button.
    Nervous,
}

/// How long they waited.
#[derive(Debug, Default)]
pub(crate) struct Waited {
    /// From a task to the first question, each.
    pub(crate) first: Vec<Duration>,
    /// From a tap to the next card, each.
    pub(crate) next: Vec<Duration>,
    /// From the first task to the last card.
    pub(crate) total: Duration,
}

/// Something a person is shown.
struct Shown {
    chat: i64,
    card: i32,
    at: Instant,
    /// The data of the buttons that answer; none on a summary.
    answers: Vec<String>,
}

impl<'a> Crowd<'a> {
    /// The ids of so many people.
    pub(crate) fn ids(many: usize) -> impl Iterator<Item = i64> {
        FIRST..FIRST + many as i64
    }

    /// So many people.
    pub(crate) fn new(server: &'a TelegramServer, many: usize) -> Self {
        let member = |id: i64| Member::new(server.person(id, &format!("Person {id}")));
        Self { server, people: Self::ids(many).map(|id| (id, member(id))).collect(), seen: 0 }
    }

    /// The first of them, in a group.
    pub(crate) fn in_group(server: &'a TelegramServer) -> Self {
        let group = server.group("Team");
        let person = server.person(FIRST, "Person").in_group(group, None);
        Self { server, people: BTreeMap::from([(group, Member::new(person))]), seen: 0 }
    }

    /// Everybody plans a task and answers until they have a summary.
    pub(crate) async fn plan(&mut self, fingers: Fingers) -> Waited {
        let mut waited = Waited::default();
        let began = Instant::now();
        self.type_tasks();
        self.go_on(usize::MAX, fingers, &mut waited).await;
        waited.total = began.elapsed();
        waited
    }

    /// Everybody plans a task, and has its first card.
    pub(crate) async fn begin(&mut self) -> Waited {
        let mut waited = Waited::default();
        self.type_tasks();
        self.go_on(0, Fingers::Calm, &mut waited).await;
        waited
    }

    /// Everybody answers until so many questions of their task are answered, and has the next card.
    pub(crate) async fn answer(&mut self, most: usize) -> Waited {
        let mut waited = Waited::default();
        let began = Instant::now();
        self.go_on(most, Fingers::Calm, &mut waited).await;
        waited.total = began.elapsed();
        waited
    }

    fn type_tasks(&mut self) {
        for (id, member) in &mut self.people {
            member.tapped.clear();
            (member.card, member.is_done) = (None, false);
            member.waiting_since = Instant::now();
            member.person.types(&format!("/plan the way of {id}"));
        }
    }

    /// People who have answered fewer questions than this tap as soon as they are asked.
    async fn go_on(&mut self, most: usize, fingers: Fingers, waited: &mut Waited) {
        let taps = |member: &Member| member.tapped.len() < most;
        self.people.values_mut().filter(|member| taps(member)).for_each(|member| member.tap(fingers));
        while !self.people.values().all(Member::rests) {
            for shown in self.look().await {
                let Some(member) = self.people.get_mut(&shown.chat) else { continue };
                let took = shown.at.saturating_duration_since(member.waiting_since);
                if member.tapped.is_empty() { &mut waited.first } else { &mut waited.next }.push(took);
                if shown.answers.is_empty() {
                    member.is_done = true;
                    continue;
                }
                member.card = Some(shown);
                if taps(member) {
                    member.tap(fingers);
                }
            }
        }
    }

    /// Waits for cards that were not handled yet.
    async fn look(&mut self) -> Vec<Shown> {
        let mut seen = self.seen;
        let cards = self.server.wait_for("cards for the crowd", |state| {
            let cards: Vec<_> = state.messages[seen..].iter().filter_map(shown).collect();
            seen = state.messages.len();
            (!cards.is_empty()).then_some((seen, cards))
        });
        let (seen, cards) = cards.await;
        self.seen = seen;
        cards
    }

    /// What is wrong with what was kept of their answers and with how they were sent: nothing, if none is lost or
    /// doubled.
    pub(crate) fn complaints(&self, serving: &Serving) -> Vec<String> {
        let mut wrong = self.wrong_logs(serving);
        for (chat, Member { tapped, .. }) in &self.people {
            let file = serving.file(*chat).map(|file| file.answers);
            let expected: Vec<_> = tapped.iter().cloned().map(Some).collect();
            if file.as_ref() != Some(&expected) {
                wrong.push(format!("{chat} tapped {tapped:?}; the file has {file:?}"));
            }
        }
        wrong.extend(self.server.violations().iter().map(|violation| format!("{violation:?}")));
        let untold = |state: &State| state.callbacks.iter().filter(|tap| tap.answer.is_none()).count();
        let untold = self.server.look(untold);
        if untold > 0 {
            wrong.push(format!("{untold} taps were never answered"));
        }
        wrong
    }

    /// Whose answers are not exactly in one log.
    pub(crate) fn wrong_logs(&self, serving: &Serving) -> Vec<String> {
        let mut logged: BTreeMap<i64, Vec<Vec<String>>> = BTreeMap::new();
        for log in serving.logged() {
            logged.entry(log.chat).or_default().push(log.answers);
        }
        let mut wrong = Vec::new();
        for (chat, member) in &self.people {
            let tapped = &member.tapped;
            match logged.remove(chat).as_deref() {
                Some([answers]) if answers == tapped => {}
                other => wrong.push(format!("{chat} tapped {tapped:?}; the logs have {other:?}")),
            }
        }
        wrong.extend(logged.keys().map(|chat| format!("nobody planned anything in {chat}")));
        wrong
    }
}

/// How often Telegram had to refuse because it was too much.
pub(crate) fn refused(server: &TelegramServer) -> usize {
    let too_many = |outcome: &Outcome| matches!(outcome, Outcome::Refused(refusal) if refusal.code == 429);
    server.look(|state| state.calls.iter().filter(|call| too_many(&call.outcome)).count())
}

/// How many messages and edits were taken: those that count for Telegram's limits.
pub(crate) fn sent(server: &TelegramServer) -> usize {
    let counts =
        |method: &str| method.starts_with("send") && method != "sendChatAction" || method.starts_with("edit");
    server.look(|state| state.calls.iter().filter(|call| counts(&call.method)).count())
}

fn shown(message: &super::telegram::ChatMessage) -> Option<Shown> {
    let first = message.versions.first().filter(|_| message.is_by_bot())?;
    let data: Vec<_> =
        first.markup.rows().iter().flatten().filter_map(|button| button.data.clone()).collect();
    let is_summary = data.iter().any(|data| data.starts_with("iq:confirm"));
    let answers: Vec<_> = data.into_iter().filter(|data| data.starts_with("iq:a:")).collect();
    (is_summary || !answers.is_empty()).then_some(Shown {
        chat: message.chat,
        card: message.id,
        at: first.at,
        answers,
    })
}
