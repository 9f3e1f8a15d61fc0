//! A session without an engine: acts of the agent and of people go straight into the core, and come out as entries.
//! Shows channels what they would see, without files, processes or time.

#![allow(dead_code, reason = "the example uses less of it than the tests")]

use jiff::{SignedDuration, Timestamp};
use rapport_core::routing::Policy;
use rapport_core::{
    Act, AgentDid, Ask, By, CallId, Choice, ConversationId, Created, Entry, Event, Input, NewQuestion,
};
use rapport_core::{Leave, Refusal, Session, SessionId, TurnId, Usage, View, Want, World};

/// A session without an engine.
pub(crate) struct Stage {
    session: Session,
    turn: TurnId,
    now: Timestamp,
    calls: u32,
}

impl Stage {
    /// A session about this task, and its first entry.
    pub(crate) fn new(task: &str) -> (Self, Entry) {
        Self::of(Created::new(task.into(), "/home/me/shop".into(), ConversationId::new("c-1"), me()))
    }

    /// The same for a session with a lead that answers what it may.
    pub(crate) fn led(task: &str) -> (Self, Entry) {
        let mut created = Created::new(task.into(), "/home/me/shop".into(), ConversationId::new("c-1"), me());
        created.lead = Some(SessionId::new(LEAD));
        created.terms.questions = Policy::Auto;
        Self::of(created)
    }

    fn of(created: Created) -> (Self, Entry) {
        let now: Timestamp = "2026-01-24T10:00:00Z".parse().expect("a time");
        let first = Entry { seq: 1, at: now, facts: Session::begin(created).expect("a task") };
        let session = Session::open(&first).expect("a session");
        (Self { session, turn: TurnId(1), now, calls: 0 }, first)
    }

    /// How the session stands.
    pub(crate) fn view(&self) -> View {
        self.session.view(&id())
    }

    /// An act of this author.
    pub(crate) fn person(&mut self, by: By, act: Act) -> Result<Entry, Refusal> {
        self.input(&Input::Person { by, act })
    }

    /// The agent does something.
    pub(crate) fn agent(&mut self, did: AgentDid) -> Entry {
        self.input(&Input::Agent { turn: self.turn, did }).expect("the agent may do that")
    }

    /// Rapport brings something about.
    pub(crate) fn world(&mut self, world: World) -> Entry {
        self.input(&Input::World(world)).expect("that may happen")
    }

    /// The agent is there.
    pub(crate) fn connect(&mut self) -> Entry {
        self.agent(AgentDid::Connect {
            conversation: ConversationId::new("c-1"),
            model: Some("sonnet".into()),
        })
    }

    /// The agent asks.
    pub(crate) fn ask(&mut self, ask: Ask) -> Entry {
        self.calls += 1;
        let call = CallId::new(format!("call-{}", self.calls));
        self.agent(AgentDid::Ask { call, ask, parkable: true })
    }

    /// The agent no longer wants to know what it asked last.
    pub(crate) fn withdraw(&mut self) -> Entry {
        let call = CallId::new(format!("call-{}", self.calls));
        self.agent(AgentDid::Withdraw { call })
    }

    /// The agent comes to the end of its turn.
    pub(crate) fn finish(&mut self, result: &str) -> Entry {
        self.agent(AgentDid::Leave(Leave::Finished { result: result.into() }))
    }

    /// The plan is in its file.
    pub(crate) fn save_plan(&mut self) -> Entry {
        let wanted = self.session.wants().into_iter().find_map(|want| match want {
            Want::PlanSaved(file) => Some(file),
            _ => None,
        });
        let file = wanted.expect("there is a plan to be saved");
        self.world(World::PlanSaved { revision: file.revision, path: file.path })
    }

    fn input(&mut self, input: &Input) -> Result<Entry, Refusal> {
        let facts = self.session.decide(input, self.now)?;
        self.now += SignedDuration::from_secs(1);
        for fact in &facts {
            if let Event::TurnStarted { turn, .. } = fact {
                self.turn = *turn;
            }
        }
        let entry = Entry { seq: self.session.seq() + 1, at: self.now, facts };
        self.session.apply_entry(&entry);
        Ok(entry)
    }
}

/// The session of the lead.
pub(crate) const LEAD: &str = "20260124-hello";

/// The lead.
pub(crate) fn lead() -> By {
    By::Lead { name: LEAD.into() }
}

/// What the session is called.
pub(crate) fn id() -> SessionId {
    SessionId::new("20260124-add-user-auth")
}

/// The person at the terminal.
pub(crate) fn me() -> By {
    By::Person { channel: "terminal".into(), id: "me".into() }
}

/// A person in another channel.
pub(crate) fn anna() -> By {
    By::Person { channel: "telegram".into(), id: "anna".into() }
}

/// Tokens and money.
pub(crate) fn usage(input: u64, output: u64, cost_micros: u64) -> Usage {
    Usage { input, output, cost_micros, ..Usage::default() }
}

/// A question with options, each a label and what it means; own words are an answer too.
pub(crate) fn draft(header: &str, text: &str, options: &[(&str, &str)]) -> NewQuestion {
    let option = |(label, meaning): &(&str, &str)| Choice {
        label: (*label).into(),
        value: label.to_lowercase(),
        description: (!meaning.is_empty()).then(|| (*meaning).into()),
        preview: None,
        recommended: false,
    };
    let header = (!header.is_empty()).then(|| header.into());
    NewQuestion {
        text: text.into(),
        header,
        options: options.iter().map(option).collect(),
        multi: false,
        free_text: true,
        field: None,
    }
}

/// Which authentication: three options with meanings.
pub(crate) fn auth() -> NewQuestion {
    draft(
        "Auth method",
        "Which authentication method should the API use?",
        &[
            ("JWT", "Stateless tokens, verified without a lookup"),
            ("Session cookies", "Server-side sessions in Redis"),
            ("OAuth only", "No passwords at all; Google and GitHub"),
        ],
    )
}

/// Which tests: several may be chosen.
pub(crate) fn tests() -> NewQuestion {
    let options = [("Unit", ""), ("Integration", ""), ("Load", "")];
    NewQuestion { multi: true, ..draft("Tests", "Which tests should be written?", &options) }
}

/// Which language: two options, nothing else.
pub(crate) fn language() -> NewQuestion {
    let options = [("English", ""), ("German", "")];
    NewQuestion { free_text: false, ..draft("Language", "In which language are the messages?", &options) }
}

/// A plan as an agent writes it.
pub(crate) const PLAN: &str = "# User auth\n\n1. Add a `users` table and a migration, with passwords hashed by argon2\n\
    2. Issue JWTs from `POST /login` and verify them in a middleware that every route under `/api` goes through\n\
    3. Write unit and integration tests";
