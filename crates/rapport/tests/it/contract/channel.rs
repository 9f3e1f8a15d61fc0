//! What every channel does that `serve` runs: people there see the questions, their answers carry their names, an
//! answer from elsewhere removes the question, and the channel ends when it is told to.

mod browsers;
mod choosing;
mod leads;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use rapport::channels::telegram::BotFiles;
use rapport::channels::telegram::api::Api;
use rapport::channels::telegram::channel::{Telegram, TelegramConfig};
use rapport::channels::telegram::flow::Project;
use rapport::channels::telegram::rates::Limits;
use rapport::clock::{self, Clock};
use rapport::engine::Sessions as _;
use rapport::engine::socket::person_here;
use rapport::projects::known_projects::KnownProjects;
use rapport::stores::memory::Memory;
use rapport::workers::history::commits;
use rapport_core::{
    Act, By, Choice, Clarifier, Created, Event, NewQuestion, Origin, QuestionRound, Reply, SessionId,
};
use rapport_door::{Channel, ChannelNotice, Notices, Served};
use tokio::sync::watch;

use super::door::Process;
use super::dummy::{DummyChannel, DummyPeople};
use crate::support::telegram::{Person, TelegramServer};

const PATIENCE: Duration = Duration::from_secs(30);
const ANNA: u64 = 42;

#[tokio::test]
async fn people_of_a_dummy_channel_see_and_answer() {
    let (channel, people) = DummyChannel::open();
    holds(Box::new(channel), &people).await;
}

#[tokio::test]
async fn people_in_telegram_see_and_answer() {
    let server = TelegramServer::start().await;
    let home = tempfile::tempdir().unwrap();
    let api = Api::new(&server.url(), server.token().into()).unwrap();
    let channel = Telegram::open(TelegramConfig {
        files: BotFiles::new(home.path(), api.bot()),
        api,
        folder: home.path().join("sessions"),
        left: Vec::new(),
        template: Arc::new(|_, task, aim| Created { aim, ..created(&task) }),
        new_quick_work: Arc::new(|_, wish| Ok(created(&wish.task))),
        new_branch: Arc::new(|_, _, _| Err("there are no branches here".into())),
        known_projects: Arc::new(KnownProjects::new(home.path().into(), Clock::system(), commits)),
        has_lead: false,
        project: Project { name: "app".into(), path: "/app".into(), has_quick_tasks: false },
        others: Vec::new(),
        users: vec![ANNA],
        lookers: Vec::new(),
        remind: SignedDuration::ZERO,
        webhook: None,
        transcriber: None,
        quiet: None,
        zone: jiff::tz::TimeZone::UTC,
        budget: None,
        secrets: Vec::new(),
        limits: Limits::faster(std::num::NonZeroU32::MIN),
        now: Arc::new(|| Clock::system().now()),
    });
    let person = server.person(i64::try_from(ANNA).unwrap(), "Anna");
    holds(Box::new(channel.unwrap()), &person).await;
}

/// People in front of a channel, whatever it looks like, or the leads that use it.
trait People {
    /// The first fact of a session that they may answer.
    fn begins(&self, task: &str) -> Created {
        created(task)
    }
    /// Whether this author is one of the channel's people.
    fn is_one(&self, by: &By, channel: &str) -> bool {
        matches!(by, By::Person { channel: of, .. } if of == channel)
    }
    /// Receives the notices of the channel to its starter.
    fn hear(&self, _: &ChannelNotice) {}
    /// Waits until this question can be answered.
    fn see<'a>(&'a self, id: &'a SessionId, question: &'a str) -> BoxFuture<'a, ()>;
    /// Chooses this option.
    fn choose<'a>(&'a self, id: &'a SessionId, option: &'a str) -> BoxFuture<'a, ()>;
    /// Waits until it can no longer be answered.
    fn see_it_gone<'a>(&'a self, id: &'a SessionId, question: &'a str) -> BoxFuture<'a, ()>;
}

async fn holds(channel: Box<dyn Channel>, people: &dyn People) {
    let name = channel.name();
    let process = Process::start(Arc::new(Memory::new()));
    let (stop, stopped) = watch::channel(false);
    let (notices, mut told) = Notices::channel();
    let sessions = Arc::new(process.sessions.clone());
    let served = Served { sessions: sessions.clone(), stop: stopped, notices };
    let mut running = tokio::spawn(channel.run(served));
    let story = answers(&process, name, people);
    let hearing = async {
        while let Some(notice) = told.recv().await {
            heard(&notice, name, people);
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = &mut running => panic!("the channel ended by itself: {ended:?}"),
        () = story => {}
        () = hearing => {}
    }
    stop.send(true).unwrap();
    tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap().unwrap();
    process.stop().await;
    while let Ok(notice) = told.try_recv() {
        heard(&notice, name, people);
    }
}

#[track_caller]
fn heard(notice: &ChannelNotice, name: &str, people: &dyn People) {
    match notice {
        ChannelNotice::Serving { channel, .. }
        | ChannelNotice::Invitation { channel, .. }
        | ChannelNotice::Message { channel, .. } => {
            assert_eq!(*channel, name);
        }
        ChannelNotice::LeftOut { project, message } => panic!("{project}: {message}"),
        ChannelNotice::Dropped { count } => panic!("{count} notices were dropped"),
    }
    people.hear(notice);
}

async fn answers(process: &Process, name: &str, people: &dyn People) {
    let sessions = &process.sessions;
    let elsewhere =
        sessions.create(people.begins("paint the door"), Some(round("Which shape?"))).await.unwrap();
    people.see(&elsewhere, "Which shape?").await;
    sessions.act(&elsewhere, &person_here(), &answer("Blue")).await.unwrap();
    people.see_it_gone(&elsewhere, "Which shape?").await;

    let here = sessions.create(people.begins("paint the wall"), Some(round("Which colour?"))).await.unwrap();
    people.see(&here, "Which colour?").await;
    people.choose(&here, "Blue").await;
    people.see_it_gone(&here, "Which colour?").await;
    let by = answered_by(process, &here).await;
    assert!(people.is_one(&by, name), "{by:?}");
}

async fn answered_by(process: &Process, id: &SessionId) -> By {
    let entries = process.sessions.entries(id, 0).await.unwrap();
    let mut facts = entries.into_iter().flat_map(|entry| entry.facts);
    let by = facts.find_map(|fact| match fact {
        Event::Answered { by, .. } => Some(by),
        _ => None,
    });
    by.unwrap()
}

fn created(task: &str) -> Created {
    let by = By::Person { channel: "telegram".into(), id: ANNA.to_string() };
    let mut created = Created::new(task.into(), "/".into(), clock::new_conversation(), by);
    created.terms.clarifier = Clarifier::Planner;
    created.origin = Some(Origin { channel: "telegram".into(), key: ANNA.to_string() });
    created
}

fn round(question: &str) -> QuestionRound {
    let options = ["Blue", "Red"].map(Choice::plain);
    let question = NewQuestion { text: question.into(), options: options.into(), ..NewQuestion::default() };
    QuestionRound { questions: vec![question], ..QuestionRound::default() }
}

fn answer(option: &str) -> Act {
    Act::Answer { question: None, reply: Reply::Words(vec![option.into()]) }
}

impl People for DummyPeople {
    fn see<'a>(&'a self, id: &'a SessionId, question: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut shown = self.shown.clone();
            let is_there = shown.wait_for(|shown| {
                shown.get(id).is_some_and(|open| open.iter().any(|open| open.text == question))
            });
            tokio::time::timeout(PATIENCE, is_there).await.unwrap().unwrap();
        })
    }

    fn choose<'a>(&'a self, id: &'a SessionId, option: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.says.send((id.clone(), answer(option))).unwrap() })
    }

    fn see_it_gone<'a>(&'a self, id: &'a SessionId, question: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut shown = self.shown.clone();
            let is_gone = shown.wait_for(|shown| {
                shown.get(id).is_some_and(|open| open.iter().all(|open| open.text != question))
            });
            tokio::time::timeout(PATIENCE, is_gone).await.unwrap().unwrap();
        })
    }
}

impl People for Person {
    fn see<'a>(&'a self, _: &'a SessionId, question: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { drop(self.sees(question).await) })
    }

    fn choose<'a>(&'a self, _: &'a SessionId, option: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { drop(self.taps(option).await) })
    }

    fn see_it_gone<'a>(&'a self, _: &'a SessionId, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.sees_no_button("Blue"))
    }
}
