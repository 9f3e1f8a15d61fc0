//! The facts of a session as lines of history, for every kind of front end.
//!
//! A story applies the same facts to the same state as the engine does, so that it never shows a state older or newer
//! than the fact.

use rapport_core::routing::Grounding;
use rapport_core::{Aim, Asker, Asking, PhaseView, Purpose, Question, Status, TurnKind, View};
use rapport_core::{
    Answer, By, Ending, Entry, Event, Focus, OpenQuestion, Presenter, QuestionId, QuestionView, RoundId,
    SessionId, TurnCard,
};

use super::render::{ending, prose};
use super::text::{self, Line, Tone};
use super::words;

/// The maximum number of rows for the agent's remarks.
const SAID_ROWS: usize = 4;
/// The maximum length of a question's title.
const TITLE: usize = 60;

/// A question of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    pub question: &'a Question,
    /// The answer in words, if given.
    pub answer: Option<String>,
    /// Whether it is the current question.
    pub is_here: bool,
}

/// A session as it is told to a person.
#[derive(Debug)]
pub struct Story {
    id: SessionId,
    me: By,
    auto: Option<By>,
    /// Entries up to here happened before the channel was opened, and are told in brief.
    past: u64,
    presenter: Option<Presenter>,
    view: Option<View>,
    rounds: Vec<(RoundId, Vec<QuestionId>)>,
    /// The number of rounds about the task.
    clarifying: usize,
    /// The agent's text that may turn out to be its last, which is shown elsewhere.
    held: Option<String>,
    ended: bool,
    /// Whether this channel asks what a stopped agent should do next.
    asks_next: bool,
    /// The past in lines, until all of it is known: an answer may have been changed later.
    past_lines: Vec<(Option<QuestionId>, Vec<Line>)>,
}

impl Story {
    /// A story from the beginning.
    pub fn new(id: SessionId, me: By, auto: Option<By>, past: u64) -> Self {
        let (presenter, view, rounds, held) = (None, None, Vec::new(), None);
        Self {
            id,
            me,
            auto,
            past,
            presenter,
            view,
            rounds,
            clarifying: 0,
            held,
            ended: false,
            asks_next: false,
            past_lines: Vec::new(),
        }
    }

    /// The same for a channel that asks what a stopped agent should do next.
    pub(crate) fn asking_next(self) -> Self {
        Self { asks_next: true, ..self }
    }

    /// Whether the agent of a task is stopped, or a lead waits for the next message, and this channel asks for it.
    pub(crate) fn asks_next(&self) -> bool {
        let goes_on = |view: &View| view.is_lead || matches!(view.aim, Aim::Work | Aim::Progress(_));
        let rests = |view: &View| view.is_at_rest() && !view.has_failed() && goes_on(view);
        self.asks_next && self.is_present() && self.view.as_ref().is_some_and(rests)
    }

    /// The session's state after the entries so far.
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    /// Whether all entries from before the channel was opened are told.
    pub(crate) fn is_present(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.seq >= self.past)
    }

    /// Whether this entry is from before the channel was opened.
    pub fn is_past(&self, entry: &Entry) -> bool {
        entry.seq <= self.past
    }

    /// How the session ended, once that was told.
    pub fn ended(&self) -> Option<Status> {
        self.view.as_ref().filter(|_| self.ended).map(|view| view.status)
    }

    /// The question answered last before this one, in its round.
    pub fn before(&self, question: &OpenQuestion) -> Option<&QuestionId> {
        let (_, ids) = self.rounds.iter().find(|(round, _)| *round == question.round)?;
        let place = ids.iter().position(|id| *id == question.id)?;
        let is_open = |id: &&QuestionId| self.open(id).is_some();
        ids[..place].iter().rev().find(|id| !is_open(id))
    }

    /// The question that is in front of the person, if any.
    pub fn in_front(&self) -> Option<&QuestionId> {
        // A plan that waits is reviewed elsewhere.
        let is_question = |focus: &&Focus| TurnCard::read(&focus.question).is_none();
        self.presenter.as_ref()?.focus().iter().find(is_question).map(|focus| &focus.question)
    }

    /// The questions of a round, in order, with the answers so far. `here` is the current one.
    pub fn round(&self, round: RoundId, here: &QuestionId) -> Vec<Asked<'_>> {
        let rounds = self.presenter.iter().flat_map(|presenter| presenter.session().rounds());
        let items = rounds.filter(|view| view.id == round).flat_map(|view| view.items);
        items
            .map(|item| Asked {
                question: item.question,
                answer: item.given.map(|(answer, _)| item.question.words(answer)),
                is_here: item.question.id == *here,
            })
            .collect()
    }

    pub fn open(&self, id: &QuestionId) -> Option<&OpenQuestion> {
        self.view.as_ref()?.questions.iter().find(|question| question.id == *id)
    }

    /// The agent's last text, if nothing followed it yet. A person who leaves now would not see it otherwise.
    pub(crate) fn last_words(&mut self) -> Vec<Line> {
        self.held.take().map(|text| prose::in_passing(&text, SAID_ROWS)).unwrap_or_default()
    }

    /// Applies an entry, and returns its lines.
    pub fn take(&mut self, entry: &Entry) -> Vec<Line> {
        let lines = entry.facts.iter().flat_map(|fact| self.tell(fact, entry)).collect::<Vec<_>>();
        match &mut self.presenter {
            // Entries come in order, each once.
            Some(presenter) => drop(presenter.apply(entry)),
            None => self.presenter = Presenter::open(entry),
        }
        self.view = self.presenter.as_ref().map(|presenter| presenter.session().view(&self.id));
        let past = if entry.seq >= self.past { self.take_past() } else { Vec::new() };
        lines.into_iter().chain(past).chain(self.tell_end()).collect()
    }

    /// The lines of the past, once. A question that is open again is asked, and not told.
    fn take_past(&mut self) -> Vec<Line> {
        let told = std::mem::take(&mut self.past_lines).into_iter();
        let is_settled = |id: &Option<QuestionId>| id.as_ref().is_none_or(|id| self.open(id).is_none());
        told.filter(|(id, _)| is_settled(id)).flat_map(|(_, lines)| lines).collect()
    }

    fn tell(&mut self, fact: &Event, entry: &Entry) -> Vec<Line> {
        self.note(fact);
        if entry.seq <= self.past {
            return self.tell_past(fact);
        }
        let mut lines = self.tell_held(fact);
        lines.extend(self.tell_present(fact, entry));
        lines
    }

    fn is_lead(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.is_lead)
    }

    /// The question by which this channel asks for the next message.
    pub(crate) fn next_prompt(&self) -> &'static str {
        match self.is_lead() {
            true => "What do you want to say to the lead?",
            false => "The agent was stopped. What should it do next?",
        }
    }

    fn note(&mut self, fact: &Event) {
        match fact {
            Event::Asked { round, questions, .. } => {
                let clarifies = questions.iter().all(|question| question.purpose == Purpose::Clarify);
                self.clarifying += usize::from(clarifies);
                self.rounds.push((*round, questions.iter().map(|question| question.id.clone()).collect()));
            }
            Event::Restarted { .. } | Event::TurnStarted { .. } => self.ended = false,
            _ => {}
        }
    }

    fn tell_past(&mut self, fact: &Event) -> Vec<Line> {
        if self.is_of_files() {
            // The files of the session show its past.
            return Vec::new();
        }
        match fact {
            Event::Created(created) if created.aim == Aim::Files => Vec::new(),
            Event::Created(created) => header(&created.task, &self.id, &created.project),
            Event::Answered { question, answer, by } => {
                let lines = self.answered(question, answer, by, None);
                self.past_lines.retain(|(id, _)| id.as_ref() != Some(question));
                self.past_lines.push((Some(question.clone()), lines));
                Vec::new()
            }
            Event::Closed { round, how } => {
                self.past_lines.push((None, self.closed(*round, how)));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn tell_present(&mut self, fact: &Event, entry: &Entry) -> Vec<Line> {
        match fact {
            Event::Created(created) => header(&created.task, &self.id, &created.project),
            Event::TurnStarted { turn, kind, mends, .. } => self.turn_started(turn.0, *kind, *mends),
            Event::Asked { asker: Asker::Agent { .. }, questions, .. } => self.asked(questions),
            Event::Declined { asked, .. } if !asked.is_empty() => self.declined(asked),
            Event::Connected { model: Some(model), .. } if self.is_new(model) => {
                vec![passing(&format!("Agent connected, model {model}"))]
            }
            Event::Said { text, .. } => {
                self.held = Some(text.clone());
                Vec::new()
            }
            Event::Used { tool, what, kind, .. } => {
                let used = Line::new(Tone::Dim, "· ").and(Tone::Text, tool);
                let what =
                    self.view.as_ref().map_or(what.as_str(), |view| view.seen_from().subject(*kind, what));
                vec![used.and_giving(Tone::Dim, &format!(" {what}")).hanging(2)]
            }
            Event::Delayed { why, .. } => vec![passing(why)],
            // Nothing else shows the reply of a lead, because its conversation does not end with it.
            Event::TurnEnded { result, .. } if self.asks_next && self.is_lead() => {
                let mut lines = prose::lines(result, Tone::Text);
                lines.insert(0, Line::empty());
                lines
            }
            Event::Heard { text, by, .. } if *by != self.me => {
                vec![passing(&format!("{}: {text}", words::somebody(by)))]
            }
            Event::Heard { text, .. } if !self.is_conversation() => vec![passing(&format!("You: {text}"))],
            Event::Stopped { by, .. } if *by == self.me => vec![passing("Stopped")],
            Event::Stopped { by, .. } => vec![passing(&format!("Stopped ({})", words::somebody(by)))],
            Event::Unchecked { reason } => {
                vec![Line::warning(&format!("It is unknown whether more has to be asked: {reason}"))]
            }
            Event::Unreadable { line, .. } => {
                vec![Line::new(Tone::Dim, "· not understood: ").and_giving(Tone::Dim, line)]
            }
            Event::Answered { question, answer, by: by @ By::Rule { .. } }
                if self.open(question).is_none() =>
            {
                self.ruled(question, (answer, by), entry)
            }
            Event::HostRefused { host, .. } => {
                let line = Line::warning(&format!("The agent cannot reach {host} from here. Let it with: "));
                vec![line.and_command(&format!("rapport allow {} {host}", self.id))]
            }
            Event::HostAllowed { host, by } => {
                vec![passing(&format!("The agent may reach {host} now ({})", words::somebody(by)))]
            }
            Event::Revoked { rule, by } => {
                vec![passing(&format!("{rule} is no longer allowed here ({})", words::somebody(by)))]
            }
            Event::Routed { to, why, .. } => {
                words::routed(*to, why).map(|words| passing(&words)).into_iter().collect()
            }
            Event::LeadAsks { .. } => vec![passing("The lead asks its person, and has ten minutes more")],
            Event::Drafted { question, answer, because, .. } => {
                self.drafted(question, answer, because.as_ref())
            }
            Event::Grounded { question, because } => {
                let words =
                    format!("The lead's answer to {question} rests on {}: {}", because.ground, because.quote);
                let line = passing(&words).and(Tone::Dim, "; try the other way with: ");
                vec![line.and_command(&format!("rapport branch {} --at {question}", self.id))]
            }
            Event::Answered { question, answer, by } => {
                let mut lines = self.answered(question, answer, by, self.replaced(question));
                lines.extend(self.resuming(question));
                lines
            }
            Event::Reopened { question, by } if *by != self.me => self.reopened(question, by),
            Event::Kept { question, by } => self.kept(question, by),
            Event::Closed { round, how } => self.closed(*round, how),
            Event::CutOff { reason, .. } if !is_failing(entry) && !self.is_stopped() => {
                vec![Line::warning(&format!("The agent's process is gone: {reason}"))]
            }
            Event::Restarted { by } if *by == self.me => vec![passing("Trying again")],
            Event::Restarted { by } => vec![passing(&format!("Trying again ({})", words::somebody(by)))],
            // The rest is only of interest in the log, or another part of the screen shows it: the card, the ending,
            // the command that runs a plan of actions.
            _ => Vec::new(),
        }
    }

    /// The lead's draft, and how to send it.
    fn drafted(&self, question: &QuestionId, answer: &Answer, because: Option<&Grounding>) -> Vec<Line> {
        let Some(open) = self.open(question) else { return Vec::new() };
        let words = words::drafted(&open.question().words(answer), because);
        let mut lines: Vec<_> = words.iter().map(|words| passing(words)).collect();
        let send = format!("rapport answer {} --question {question} --draft", self.id);
        lines.push(Line::new(Tone::Dim, "  send it with: ").and_command(&send));
        lines
    }

    /// The agent's previous text, unless this fact repeats it.
    fn tell_held(&mut self, next: &Event) -> Vec<Line> {
        if matches!(next, Event::Spent { .. }) {
            return Vec::new();
        }
        let Some(text) = self.held.take() else { return Vec::new() };
        match next {
            Event::TurnEnded { result, .. } if result.trim() == text.trim() => Vec::new(),
            Event::PlanProposed { text: plan, .. } if plan.trim() == text.trim() => Vec::new(),
            _ => prose::in_passing(&text, SAID_ROWS),
        }
    }

    fn tell_end(&mut self) -> Vec<Line> {
        let Some(view) = self.view.as_ref().filter(|view| view.seq >= self.past && !self.ended) else {
            return Vec::new();
        };
        // A turn is over when its plan exists, or its agent has answered; the next one begins elsewhere.
        let rests = || (view.is_at_rest() && !self.asks_next()).then(|| ending::at_rest(view));
        let ending = ending::lines(view, self.clarifying).or_else(rests);
        let Some(lines) = ending else { return Vec::new() };
        self.ended = true;
        lines
    }

    /// An answer, and which one it replaces, if that is news. Its question need not be open: an answer may be changed
    /// by one entry.
    fn answered(&self, id: &QuestionId, answer: &Answer, by: &By, replaces: Option<String>) -> Vec<Line> {
        let Some(item) = self.item(id) else { return Vec::new() };
        let asked = item.question;
        let mark = if asked.is_denied_by(answer) { DENIED } else { SETTLED };
        let replaces = replaces.map(|before| format!("instead of {before}"));
        let by = words::answered_by(by, &self.me, self.auto.as_ref());
        let notes: Vec<_> = replaces.into_iter().chain(by).collect();
        let note = (!notes.is_empty()).then(|| notes.join(", "));
        vec![settled(mark, &words::title_of(asked, self.view.as_ref()), &asked.words(answer), note)]
    }

    /// A question in the state before the entry, open or answered.
    fn item(&self, id: &QuestionId) -> Option<QuestionView<'_>> {
        let rounds = self.presenter.as_ref()?.session().rounds();
        rounds.flat_map(|round| round.items).find(|item| item.question.id == *id)
    }

    /// The answer that the question had before this entry.
    fn replaced(&self, id: &QuestionId) -> Option<String> {
        let item = self.item(id)?;
        item.given.map(|(answer, _)| item.question.words(answer))
    }

    fn title(&self, question: &OpenQuestion) -> String {
        words::title(question, self.view.as_ref())
    }

    /// A question that a rule answered was never open to a person.
    fn ruled(&self, id: &QuestionId, (answer, by): (&Answer, &By), entry: &Entry) -> Vec<Line> {
        let asked = entry.facts.iter().find_map(|fact| match fact {
            Event::Asked { questions, .. } => questions.iter().find(|question| question.id == *id),
            _ => None,
        });
        let Some(asked) = asked else { return Vec::new() };
        match &asked.purpose {
            Purpose::Permission(call) => {
                let title = words::call(call, self.view.as_ref());
                vec![settled(SETTLED, &title, "Allow once", Some(format!("allowed by {by}")))]
            }
            Purpose::Clarify => {
                let title = asked.header.as_deref().unwrap_or(&asked.text);
                vec![settled(SETTLED, title, &asked.words(answer), Some(format!("answered by {by}")))]
            }
            _ => Vec::new(),
        }
    }

    fn reopened(&self, id: &QuestionId, by: &By) -> Vec<Line> {
        let given = self.view.iter().flat_map(|view| &view.answers).find(|given| given.id == *id);
        let question = given.map_or_else(|| id.to_string(), |given| text::clip(&given.text, TITLE));
        vec![passing(&format!("{} changes the answer: {question}", words::somebody(by)))]
    }

    fn kept(&self, id: &QuestionId, by: &By) -> Vec<Line> {
        let Some(question) = self.open(id) else { return Vec::new() };
        let note = match by == &self.me {
            true => "as before".to_owned(),
            false => format!("as before, kept by {}", words::somebody(by)),
        };
        let previous = question.previous.as_deref().unwrap_or_default();
        vec![settled(SETTLED, &self.title(question), previous, Some(note))]
    }

    fn closed(&self, round: RoundId, how: &Ending) -> Vec<Line> {
        let questions = self.view.iter().flat_map(|view| &view.questions);
        let of_round = questions.filter(|question| question.round == round);
        let line = |question: &OpenQuestion| {
            let title = text::clip(&self.title(question), TITLE);
            Line::new(Tone::Care, "– ").and(Tone::Text, &title).and(Tone::Dim, &format!(": {how}")).hanging(2)
        };
        of_round.filter(|question| question.purpose != Purpose::Confirm).map(line).collect()
    }

    fn turn_started(&self, number: u32, kind: TurnKind, mends: bool) -> Vec<Line> {
        match (number, kind) {
            (1, TurnKind::Plan) => Vec::new(),
            (_, TurnKind::Plan) if self.makes_file() && mends => {
                vec![passing("The progress file is invalid; the agent is told what is wrong")]
            }
            (_, TurnKind::Plan) if self.makes_file() => vec![passing("The agent makes the file again")],
            (_, TurnKind::Plan) => vec![passing("The agent makes the plan again")],
            (_, TurnKind::Chat | TurnKind::TurnPlan) => Vec::new(),
            (_, TurnKind::Work) if self.has_worked() => vec![passing("The agent continues")],
            (_, TurnKind::Work) => {
                vec![Line::empty(), Line::new(Tone::Strong, "Starting the work"), Line::empty()]
            }
        }
    }

    /// If a file is made, the questions of a round are listed before they are asked one by one.
    fn asked(&self, questions: &[Question]) -> Vec<Line> {
        let clarifies = questions.iter().all(|question| question.purpose == Purpose::Clarify);
        if !self.makes_file() || !clarifies {
            return Vec::new();
        }
        let title = format!("--- Round {} of clarifications ---", self.clarifying);
        let mut lines = vec![Line::empty(), Line::new(Tone::Dim, &title)];
        for (place, question) in questions.iter().enumerate() {
            let number = format!("{:>3}. ", place + 1);
            let question = prose::in_tones(&question.text, Tone::Text);
            lines.push(Line::new(Tone::Dim, &number).then(question).hanging(5));
        }
        lines
    }

    /// The questions that the agent wanted to ask, and why they were not asked.
    fn declined(&self, asked: &[String]) -> Vec<Line> {
        let view = self.view.as_ref();
        let assumes = view.is_some_and(|view| match &view.aim {
            Aim::Progress(aim) => aim.asking == Asking::Assume,
            Aim::Files => view.rounds.asked < view.rounds.max,
            Aim::Work | Aim::Chat => false,
        });
        let max = view.map_or(0, |view| view.rounds.max);
        let why = match assumes {
            true => "The agent wanted to ask, and assumes instead; --adaptive lets it ask:".to_owned(),
            false => format!(
                "Maximum clarification rounds ({max}) reached. Proceeding with available context. Not asked:"
            ),
        };
        let first = Line::warning(&why);
        let questions =
            asked.iter().map(|text| Line::new(Tone::Dim, "  - ").and(Tone::Text, text).hanging(4));
        [first].into_iter().chain(questions).collect()
    }

    /// The note that the agent continues after the last answer of a round.
    fn resuming(&self, answered: &QuestionId) -> Option<Line> {
        let question = self.open(answered).filter(|_| self.makes_file())?;
        let mut open = self.view.iter().flat_map(|view| &view.questions);
        let is_last = !open.any(|other| other.round == question.round && other.id != question.id);
        is_last.then(|| passing("Resuming session with your answers..."))
    }

    fn is_of_files(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.aim == Aim::Files)
    }

    fn is_conversation(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.aim == Aim::Chat)
    }

    fn is_stopped(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.status == Status::Idle)
    }

    fn has_worked(&self) -> bool {
        let phase = self.view.as_ref().map(|view| view.phase);
        matches!(
            phase,
            Some(PhaseView::Working | PhaseView::Reporting | PhaseView::Resting | PhaseView::Ended)
        )
    }

    fn makes_file(&self) -> bool {
        self.view.as_ref().is_some_and(|view| matches!(view.aim, Aim::Progress(_)))
    }

    fn is_new(&self, model: &str) -> bool {
        self.view.as_ref().is_none_or(|view| view.agent.model.as_deref() != Some(model))
    }
}

/// The signs before an answer, and before a refusal.
const SETTLED: (Tone, &str) = (Tone::Good, "✓ ");
const DENIED: (Tone, &str) = (Tone::Bad, "✗ ");

fn settled(mark: (Tone, &str), title: &str, answer: &str, note: Option<String>) -> Line {
    let line = Line::new(mark.0, mark.1)
        .and(Tone::Text, &text::clip(title, TITLE))
        .and(Tone::Dim, " → ")
        .and(Tone::Strong, answer)
        .hanging(2);
    match note {
        Some(note) => line.and(Tone::Dim, &format!(" ({note})")),
        None => line,
    }
}

fn passing(words: &str) -> Line {
    Line::new(Tone::Dim, "· ").and(Tone::Dim, words)
}

fn header(task: &str, id: &SessionId, project: &str) -> Vec<Line> {
    let mut lines = prose::clipped(task, Tone::Strong, 6);
    if let Some(first) = lines.first_mut() {
        *first = Line::new(Tone::Here, "● ").then(first.clone()).hanging(2);
    }
    for more in lines.iter_mut().skip(1) {
        *more = more.clone().indented(2);
    }
    lines.push(Line::new(Tone::Dim, "  ").and_giving(Tone::Dim, &format!("{id} in {project}")));
    lines.push(Line::empty());
    lines
}

fn is_failing(entry: &Entry) -> bool {
    entry.facts.iter().any(|fact| matches!(fact, Event::Failed { .. } | Event::Cancelled { .. }))
}
