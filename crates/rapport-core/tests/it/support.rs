//! A session played the way the engine plays it, and facts and wants in words, so that a story reads as text.

use jiff::{SignedDuration, Timestamp};
use rapport_core::{
    Act, AgentDid, AnsweredQuestion, Ask, Asker, By, CallId, CallReply, Choice, ConversationId, Created,
    Entry, Event, Input, Leave, NewQuestion, Order, Question, QuestionId, Refusal, Reply, RoundId, Session,
    SessionId, Terms, TurnId, View, Want, World,
};

/// The conversation every session here begins with.
pub(crate) const CONVERSATION: &str = "4f1c";

/// A session with its log and a clock that moves only when told.
pub(crate) struct Play {
    pub(crate) session: Session,
    pub(crate) log: Vec<Entry>,
    pub(crate) now: Timestamp,
}

impl Play {
    pub(crate) fn begin(task: &str) -> Self {
        Self::begin_with(task, Terms::default())
    }

    pub(crate) fn begin_with(task: &str, terms: Terms) -> Self {
        Self::begin_as(created(task, terms))
    }

    pub(crate) fn begin_as(created: Created) -> Self {
        let now: Timestamp = "2026-01-24T09:00:00Z".parse().unwrap();
        let facts = Session::begin(created).unwrap();
        let first = Entry { seq: 1, at: now, facts };
        let session = Session::open(&first).unwrap();
        Self { session, log: vec![first], now }
    }

    /// What the engine does with an input: decide, store, apply.
    pub(crate) fn put(&mut self, input: &Input) -> Result<Vec<Event>, Refusal> {
        let facts = self.session.decide(input, self.now)?;
        if !facts.is_empty() {
            let seq = self.session.seq() + 1;
            let entry = Entry { seq, at: self.now, facts: facts.clone() };
            self.session.apply_entry(&entry);
            self.log.push(entry);
        }
        Ok(facts)
    }

    /// What is left after kill -9: the log.
    pub(crate) fn replay(&mut self) {
        self.session = Session::replay(&self.log).unwrap();
    }

    pub(crate) fn view(&self) -> View {
        self.session.view(&SessionId::new("20260124-story"))
    }

    pub(crate) fn pass(&mut self, time: SignedDuration) {
        self.now = self.now.checked_add(time).unwrap();
    }
}

pub(crate) fn created(task: &str, terms: Terms) -> Created {
    let (project, conversation) = ("/home/ann/shop".into(), ConversationId::new(CONVERSATION));
    Created { terms, ..Created::new(task.into(), project, conversation, ann()) }
}

pub(crate) fn ann() -> By {
    By::Person { channel: "terminal".into(), id: "ann".into() }
}

pub(crate) fn bob() -> By {
    By::Person { channel: "telegram".into(), id: "bob".into() }
}

pub(crate) fn call(id: &str) -> CallId {
    CallId::new(id)
}

pub(crate) fn question(id: &str) -> QuestionId {
    QuestionId::new(id)
}

pub(crate) fn person(by: By, act: Act) -> Input {
    Input::Person { by, act }
}

pub(crate) fn agent(turn: u32, did: AgentDid) -> Input {
    Input::Agent { turn: TurnId(turn), did }
}

pub(crate) fn options(labels: &[&str]) -> Vec<Choice> {
    labels
        .iter()
        .map(|label| Choice {
            label: (*label).into(),
            value: label.to_lowercase().replace(' ', "-"),
            description: None,
            preview: None,
            recommended: false,
        })
        .collect()
}

/// A question with one choice among these, or own words.
pub(crate) fn draft(text: &str, labels: &[&str]) -> NewQuestion {
    NewQuestion {
        text: text.into(),
        header: None,
        options: options(labels),
        multi: false,
        free_text: true,
        field: None,
    }
}

/// A story: each step says what comes in, and what has to come of it.
pub(crate) struct Story {
    pub(crate) play: Play,
    turn: u32,
}

impl Story {
    pub(crate) fn of(task: &str) -> Self {
        Self::with(task, Terms::default())
    }

    pub(crate) fn with(task: &str, terms: Terms) -> Self {
        Self { play: Play::begin_with(task, terms), turn: 1 }
    }

    pub(crate) fn begun(created: Created) -> Self {
        Self { play: Play::begin_as(created), turn: 1 }
    }

    /// A session for the task "Add login" with a plan that waits to be confirmed.
    #[track_caller]
    pub(crate) fn planned(created: Created) -> Self {
        let mut story = Self::begun(created);
        story
            .connects()
            .finishes(
                "# Login\n\n1. Do it.",
                "turn 1 ended; plan proposed: login/add-login; Rapport asked round 1: confirm",
            )
            .saved();
        story
    }

    /// The plan is confirmed, and the agent works.
    #[track_caller]
    pub(crate) fn confirmed(&mut self) -> &mut Self {
        self.answer(
            "confirm",
            "confirm",
            "confirm answered confirm by ann (terminal); turn 2 started to work",
        )
        .baseline()
        .connects()
    }

    /// What comes of an input: its facts in words, joined by "; ", or why it is refused.
    pub(crate) fn put(&mut self, input: &Input) -> String {
        match self.play.put(input) {
            Ok(facts) => {
                for fact in &facts {
                    if let Event::TurnStarted { turn, .. } | Event::PlanStarted { turn, .. } = fact {
                        self.turn = turn.0;
                    }
                }
                facts.iter().map(fact_in_words).collect::<Vec<_>>().join("; ")
            }
            Err(refusal) => format!("refused: {refusal}"),
        }
    }

    #[track_caller]
    pub(crate) fn check(&mut self, input: &Input, expected: &str) -> &mut Self {
        let got = self.put(input);
        assert_eq!(got, expected, "after {input:?}");
        self
    }

    #[track_caller]
    pub(crate) fn did(&mut self, did: AgentDid, expected: &str) -> &mut Self {
        let turn = self.turn;
        self.check(&agent(turn, did), expected)
    }

    #[track_caller]
    pub(crate) fn connects(&mut self) -> &mut Self {
        let expected = format!("turn {} connected to {CONVERSATION}", self.turn);
        self.did(
            AgentDid::Connect { conversation: ConversationId::new(CONVERSATION), model: None },
            &expected,
        )
    }

    /// In a turn whose process was taken to be there already.
    #[track_caller]
    pub(crate) fn connects_again(&mut self) -> &mut Self {
        let conversation = ConversationId::new(CONVERSATION);
        self.did(AgentDid::Connect { conversation, model: None }, "")
    }

    #[track_caller]
    pub(crate) fn asks(&mut self, id: &str, drafts: &[NewQuestion], expected: &str) -> &mut Self {
        let ask = Ask::Questions(drafts.to_vec());
        self.did(AgentDid::Ask { call: call(id), ask, parkable: true }, expected)
    }

    #[track_caller]
    pub(crate) fn takes(&mut self, id: &str) -> &mut Self {
        self.did(AgentDid::Take { call: call(id) }, &format!("{id} taken"))
    }

    #[track_caller]
    pub(crate) fn leaves(&mut self, leave: Leave, expected: &str) -> &mut Self {
        self.did(AgentDid::Leave(leave), expected)
    }

    #[track_caller]
    pub(crate) fn finishes(&mut self, result: &str, expected: &str) -> &mut Self {
        self.leaves(Leave::Finished { result: result.into() }, expected)
    }

    #[track_caller]
    pub(crate) fn act(&mut self, act: Act, expected: &str) -> &mut Self {
        self.check(&person(ann(), act), expected)
    }

    #[track_caller]
    pub(crate) fn answer(&mut self, id: &str, words: &str, expected: &str) -> &mut Self {
        let reply = Reply::Words(vec![words.into()]);
        self.act(Act::Answer { question: Some(question(id)), reply }, expected)
    }

    #[track_caller]
    pub(crate) fn world(&mut self, world: World, expected: &str) -> &mut Self {
        self.check(&Input::World(world), expected)
    }

    #[track_caller]
    pub(crate) fn crash(&mut self, expected: &str) -> &mut Self {
        self.play.replay();
        self.world(World::Lost, expected)
    }

    /// Time passes until something is due, and that happens.
    #[track_caller]
    pub(crate) fn due(&mut self, after: &str, expected: &str) -> &mut Self {
        let deadline = self.play.session.deadline().expect("something is due");
        let wait = deadline.duration_since(self.play.now);
        assert_eq!(format!("{wait:#}"), after);
        self.play.now = deadline;
        self.world(World::Tick, expected)
    }

    #[track_caller]
    pub(crate) fn wants(&mut self, expected: &[&str]) -> &mut Self {
        let wants: Vec<_> = self.play.session.wants().iter().map(want_in_words).collect();
        assert_eq!(wants, expected);
        self
    }

    /// The open questions, by their names.
    #[track_caller]
    pub(crate) fn open(&mut self, expected: &[&str]) -> &mut Self {
        let view = self.play.view();
        let open: Vec<_> = view.questions.iter().map(|question| question.id.as_str()).collect();
        assert_eq!(open, expected);
        self
    }

    /// What the agent has to be started with.
    #[track_caller]
    pub(crate) fn order(&self) -> Order {
        let wants = self.play.session.wants().into_iter();
        let mut orders =
            wants.filter_map(|want| if let Want::AgentRunning(order) = want { Some(order) } else { None });
        orders.next().expect("an agent is wanted")
    }

    /// What the agent is told about a call.
    #[track_caller]
    pub(crate) fn told(&mut self, id: &str, expected: &str) -> &mut Self {
        let order = self.order();
        let reply = order.replies.iter().find(|(replied, _)| replied.as_str() == id);
        assert_eq!(reply_in_words(&reply.expect("the call has a reply").1), expected);
        self
    }

    /// The plan is saved and, if there is work, the state before it noted.
    #[track_caller]
    pub(crate) fn saved(&mut self) -> &mut Self {
        for want in self.play.session.wants() {
            if let Want::PlanSaved(file) = want {
                let expected = format!("plan {} saved", file.revision);
                self.world(World::PlanSaved { revision: file.revision, path: file.path }, &expected);
            }
        }
        self
    }

    #[track_caller]
    pub(crate) fn baseline(&mut self) -> &mut Self {
        let turn = self.turn;
        let world = World::Baseline { turn: TurnId(turn), baseline: Some("b1".into()) };
        self.world(world, &format!("turn {turn} baselined at b1"))
    }

    /// The state at a round is noted.
    #[track_caller]
    pub(crate) fn noted(&mut self, round: u32) -> &mut Self {
        let state = format!("s{round}");
        let expected = format!("round {round} snapshotted at {state}");
        self.world(World::Snapshot { round: RoundId(round), state: Some(state) }, &expected)
    }
}

pub(crate) fn fact_in_words(fact: &Event) -> String {
    match fact {
        Event::Created(created) => format!("created: {}", created.task),
        Event::TurnStarted { turn, kind, .. } => format!("turn {turn} started to {kind:?}").to_lowercase(),
        Event::PlanStarted { turn, folder, .. } => format!("turn {turn} started to draft in {folder}"),
        Event::Filed { path, .. } => format!("filed at {path}"),
        Event::Sealed { folder, by: Some(by), .. } => format!("{folder} sealed by {by}"),
        Event::Sealed { folder, .. } => format!("{folder} sealed"),
        Event::PlanLeft { folder, by } => format!("{folder} left by {by}"),
        Event::TurnFound(found) => format!("{} found", found.folder),
        Event::TurnGone { folder } => format!("{folder} gone"),
        Event::ReplyAnswered { folder, text, by, .. } => {
            format!("reply to {folder} answered {text:?} by {by}")
        }
        Event::ReplySkipped { folder, by } => format!("reply to {folder} skipped by {by}"),
        Event::ReviewStarted { folder, by } => format!("{folder} looked at by {by}"),
        Event::PlanChecked { folder, revision, problems, .. } => match problems.as_slice() {
            [] => format!("{folder} checked at {revision}"),
            problems => format!("{folder} checked at {revision}: {}", problems.join(", ")),
        },
        Event::PlanDiffers { folder, .. } => format!("{folder} differs"),
        Event::PlanAccepted { folder, by } => format!("{folder} accepted by {by}"),
        Event::PlanRestored { folder, by } => format!("{folder} restored by {by}"),
        Event::Approved { batch, chosen, by, .. } => {
            let left = chosen.actions.iter().filter(|left| left.is_some()).count();
            format!("{batch} approved without {left} by {by}")
        }
        Event::Skipped { folder, by, .. } => format!("{folder} skipped by {by}"),
        Event::ActionAsked { batch, action, question } => format!("{question} is of {batch} action {action}"),
        Event::ActionEnded { batch, end } => {
            format!("{batch} action {} {:?}", end.action, end.result).to_lowercase()
        }
        Event::BatchPaused { batch, reason, unsure: None } => format!("{batch} paused: {reason}"),
        Event::BatchPaused { batch, reason, unsure: Some(at) } => {
            format!("{batch} paused unsure of {at}: {reason}")
        }
        Event::BatchResumed { batch, interrupted, by } => format!("{batch} resumed {interrupted:?} by {by}"),
        Event::BatchEnded { batch, status, .. } => format!("{batch} ended: {status:?}"),
        Event::UndoStarted { batch, later, by } => format!("{batch} to be undone {later:?} by {by}"),
        Event::UndoRefused { batch, problem } => format!("{batch} not undone: {}", problem.reason),
        Event::Undone { batch, .. } => format!("{batch} undone"),
        Event::Heard { turn: Some(turn), text, by, .. } => format!("heard {text} from {by} in turn {turn}"),
        Event::Heard { text, by, .. } => format!("heard {text} from {by}"),
        Event::Read { message, .. } => format!("message {message} read"),
        Event::Interrupted { turn, by } => format!("turn {turn} interrupted by {by}"),
        Event::Dropped { is_summarized: true } => "the oldest dropped and summarized".into(),
        Event::Dropped { is_summarized: false } => "the oldest dropped".into(),
        Event::Offered { question, earlier } => format!("{question} offered {}", earlier.question),
        Event::AnswerRuled { question, by } => format!("{question} always answered so, says {by}"),
        Event::AnswerRuleKept { question } => format!("the rule of {question} kept"),
        Event::Stopped { turn, by } => format!("turn {turn} stopped by {by}"),
        Event::Outlined { goal, description } => format!("outlined: {goal}/{description}"),
        Event::Unchecked { reason } => format!("unchecked: {reason}"),
        Event::Baselined { turn, baseline } => {
            format!("turn {turn} baselined at {}", baseline.as_deref().unwrap_or("nothing"))
        }
        Event::Snapshotted { round, state } => {
            format!("round {round} snapshotted at {}", state.as_deref().unwrap_or("nothing"))
        }
        Event::Connected { turn, conversation, .. } => format!("turn {turn} connected to {conversation}"),
        Event::Said { text, .. } => format!("said {text}"),
        Event::Used { tool, what, .. } => format!("used {tool} {what}"),
        Event::Unreadable { line, .. } => format!("unreadable: {line}"),
        Event::Noted { line, .. } => format!("noted: {line}"),
        Event::Asked { round, asker, questions } => {
            let asker = match asker {
                Asker::Rapport => "Rapport".to_owned(),
                Asker::Planner => "planner".to_owned(),
                Asker::Agent { call, .. } => call.to_string(),
            };
            format!("{asker} asked round {round}: {}", names(questions))
        }
        Event::AskedAgain { round, call, .. } => format!("{call} asked round {round} again"),
        Event::Declined { call, reason, .. } => {
            format!("{call} declined: {}", reason.split('.').next().unwrap_or_default())
        }
        Event::Answered { question, answer, by } => {
            let text = answer.text.iter().map(|text| format!("\"{text}\""));
            let words: Vec<_> = answer.values.iter().cloned().chain(text).collect();
            format!("{question} answered {} by {by}", words.join(", "))
        }
        Event::Routed { question, to, class, why } => {
            let to = format!("{to:?}").to_lowercase();
            format!("{question} ({}) to {to}: {}", class.word(), why.in_words())
        }
        Event::LeadTold { question } => format!("lead told of {question}"),
        Event::LeadInformed { end, .. } => format!("lead informed of end {end}"),
        Event::LeadAsks { question } => format!("lead asks about {question}"),
        Event::LeadReleased { question } => format!("lead released from {question}"),
        Event::Drafted { question, answer, by, because } => {
            let words: Vec<_> = answer.values.iter().chain(&answer.text).cloned().collect();
            let because = because.as_ref().map_or("nothing".to_owned(), |because| because.ground.to_string());
            format!("{question} drafted {} by {by} on {because}", words.join(", "))
        }
        Event::Grounded { question, because } => format!("{question} rests on {}", because.ground),
        Event::Granted { question } => format!("{question} granted"),
        Event::HostRefused { host, .. } => format!("{host} refused"),
        Event::HostAllowed { host, by } => format!("{host} allowed by {by}"),
        Event::TermsChanged { change, by } => format!("{change}, says {by}"),
        Event::Revoked { rule, by } => format!("{rule} revoked by {by}"),
        Event::Reopened { question, by } => format!("{question} reopened by {by}"),
        Event::Kept { question, by } => format!("{question} kept by {by}"),
        Event::Taken { call } => format!("{call} taken"),
        Event::Closed { round, how } => format!("round {round} closed: {how}"),
        Event::Cooled { call, .. } => format!("{call} cooled"),
        Event::Delayed { why, .. } => format!("delayed: {why}"),
        Event::StayedHot { call, beside, .. } => format!("{call} stayed hot: {beside}"),
        Event::Parked { call, .. } => format!("parked at {call}"),
        Event::CutOff { reason, .. } => format!("cut off: {reason}"),
        Event::Spent { usage, .. } => format!("spent {}", usage.output),
        Event::PlanProposed { goal, description, .. } => format!("plan proposed: {goal}/{description}"),
        Event::PlanSaved { revision, .. } => format!("plan {revision} saved"),
        Event::TurnEnded { turn, .. } => format!("turn {turn} ended"),
        Event::Failed { reason } => format!("failed: {reason}"),
        Event::Restarted { by } => format!("restarted by {by}"),
        Event::Checked { check, .. } => format!("checked: {:?}", check.exit),
        Event::Reported { .. } => "reported".into(),
        Event::ApplyRequested { by, .. } => format!("{by} asks a person to apply it"),
        Event::Applying { by, .. } => format!("to be applied by {by}"),
        Event::Merged(merged) => format!("merged from {} to {}", merged.from, merged.to),
        Event::NotApplied(why) => {
            format!(
                "not applied: {}",
                why.reason.iter().chain(&why.conflicts).cloned().collect::<Vec<_>>().join(", ")
            )
        }
        Event::Applied { by, files } => format!("{} files applied by {by}", files.len()),
        Event::Discarded { by, reason: None } => format!("discarded by {by}"),
        Event::Discarded { by, reason: Some(reason) } => format!("discarded by {by}: {reason}"),
        Event::WorkUndoStarted { by, .. } => format!("the work to be undone by {by}"),
        Event::WorkUndoRefused { problem } => format!("the work not undone: {}", problem.reason),
        Event::WorkUndone { .. } => "the work undone".into(),
        Event::WorkLeft { state } => format!("left at {}", state.as_deref().unwrap_or("an unknown state")),
        Event::Cleared { left } => {
            format!("cleared{}", left.as_ref().map_or(String::new(), |why| format!(", but {why}")))
        }
        Event::Cancelled { by, .. } => format!("cancelled by {by}"),
        _ => fact.words(),
    }
}

fn names(questions: &[Question]) -> String {
    questions.iter().map(|question| question.id.as_str()).collect::<Vec<_>>().join(", ")
}

fn want_in_words(want: &Want) -> String {
    match want {
        Want::Baseline(turn) => format!("baseline of turn {turn}"),
        Want::Snapshot(round) => format!("snapshot at round {round}"),
        Want::AgentRunning(order) => {
            let replies: Vec<_> = order.replies.iter().map(|(call, _)| call.as_str()).collect();
            let kind = format!("{:?}", order.kind).to_lowercase();
            format!("turn {} running to {kind} [{}]", order.turn, replies.join(", "))
        }
        Want::Replied { call, reply, .. } => format!("{call} replied: {}", reply_in_words(reply)),
        Want::HostsAllowed(hosts) => format!("{} reachable", hosts.join(", ")),
        Want::AgentParked { call, .. } => format!("parked at {call}"),
        Want::Granted { question, rule, by } => format!("{rule} granted by {by} in {question}"),
        Want::AnswerRuled { question, by, .. } => format!("the answer to {question} given always, by {by}"),
        Want::LeadTold { lead, question } => format!("{lead} told of {question}"),
        Want::LeadInformed { lead, end } => format!("{lead} informed of end {end}"),
        Want::LeadReleased { lead, question } => format!("{lead} released from {question}"),
        Want::PlanSaved(file) => format!("plan {} saved at {}", file.revision, file.path),
        Want::QuestionRound(brief) => format!("round {} of {} made", brief.round, brief.max_rounds),
        Want::Filed { path, .. } => format!("filed at {path}"),
        Want::TurnPrepared(next) => format!("turn after {} prepared with {:?}", next.after, next.answer),
        Want::PlanChecked { folder, revision, restore, .. } => {
            format!("{folder} checked at {revision}{}", if *restore { ", written anew" } else { "" })
        }
        Want::BatchRunning(order) => format!("{} running {:?}", order.batch, order.interrupted),
        Want::ActionReplied { batch, action, reply } => format!("{batch} action {action} told {reply:?}"),
        Want::ReportFiled { folder, memos, .. } => format!("{folder} reported with {} memos", memos.len()),
        Want::Undone { batch, later, .. } => format!("{batch} undone {later:?}"),
        Want::Merged { with_conflicts: false } => "merged".into(),
        Want::Merged { with_conflicts: true } => "merged with conflicts".into(),
        Want::Applied { merged, .. } => format!("applied from {} to {}", merged.from, merged.to),
        Want::WorkLeft => "the state that was left noted".into(),
        Want::WorkUndone(stretches) => {
            let states = stretches.iter().map(|states| format!("from {} to {}", states.from, states.to));
            format!("the work undone {}", states.collect::<Vec<_>>().join(", then "))
        }
        Want::Cleared => "cleared".into(),
        Want::Checked { turn, command } => format!("turn {turn} checked by {command}"),
        Want::Report { turn, baseline } => {
            format!("report of turn {turn} since {}", baseline.as_deref().unwrap_or("nothing"))
        }
    }
}

fn reply_in_words(reply: &CallReply) -> String {
    match reply {
        CallReply::Answers(told) => {
            let told: Vec<_> = told
                .iter()
                .map(|t: &AnsweredQuestion| format!("{} {}", t.question, t.attributed()))
                .collect();
            told.join(", ")
        }
        CallReply::Allow { asked } => format!("{asked} allowed"),
        CallReply::Elicited { action, .. } => action.as_str().to_owned(),
        CallReply::Deny { asked, message } => format!("{asked} denied: {message}"),
    }
}
