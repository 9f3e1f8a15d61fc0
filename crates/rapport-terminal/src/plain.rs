//! The channel without a screen: facts as plain lines, written at once and without control characters. If lines can be
//! typed, a line answers the first open question, an empty line answers nothing, and the end of the input leaves.
//! Otherwise nothing is read, and each question says how to answer it from elsewhere.

use std::io::{self, Write};
use std::time::Duration;

use rapport_core::{Act, By, Entry, Event, OpenQuestion, Progress, Purpose, QuestionId, Reply, SessionId};

use super::cards::LONG_GUARD;
use super::render::{prose, summary};
use super::safe;
use super::story::Story;
use super::style::Theme;
use super::text::{Line, Tone, clip};
use super::words;
use super::{AutoAnswer, Effect, Front, Happening, Outcome, Terminal};
use rapport_door::Update;

/// The agent's activity is printed only if no fact mentions it within this time.
const QUIET: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Plain<W> {
    out: W,
    story: Story,
    me: By,
    answer_hint: String,
    /// Whether lines can be typed.
    typing: bool,
    /// The prompt of the next line, as it was last written.
    prompt: Option<String>,
    auto: Option<AutoAnswer>,
    /// The printed questions, with their times.
    printed: Vec<(QuestionId, Duration)>,
    path_told: Option<String>,
    tried: Vec<QuestionId>,
    sending: bool,
    /// The agent's activity that was last printed.
    doing: Option<String>,
    /// Its current activity, and when to print it.
    progress: Option<(String, Duration)>,
}

impl<W: Write> Plain<W> {
    /// Prints to `out`; nothing is printed yet.
    pub fn new(config: Terminal, session: SessionId, past: u64, out: W) -> Self {
        let auto_by = config.auto.as_ref().map(|auto| auto.by.clone());
        Self {
            out,
            story: Story::new(session, config.by.clone(), auto_by, past),
            me: config.by,
            answer_hint: config.answer_hint,
            typing: config.interactive,
            prompt: None,
            auto: config.auto,
            printed: Vec::new(),
            path_told: None,
            tried: Vec::new(),
            sending: false,
            doing: None,
            progress: None,
        }
    }

    fn entry(&mut self, entry: &Entry, now: Duration) -> Vec<Effect> {
        let mut lines = self.story.take(entry);
        for fact in &entry.facts {
            self.note(fact);
        }
        lines.extend(self.questions(now));
        lines.extend(self.plan_saved().into_iter().flatten());
        let mut effects = vec![Effect::Print(lines)];
        effects.extend(self.story.ended().map(|status| Effect::Leave(Outcome::Ended(status))));
        effects
    }

    fn note(&mut self, fact: &Event) {
        match fact {
            Event::Answered { question, .. } => {
                // A changed answer makes another summary, which is printed again.
                let open = |id: &QuestionId| {
                    self.story.open(id).map(|question| question.purpose != Purpose::Confirm)
                };
                self.printed.retain(|(id, _)| id != question && open(id).unwrap_or(false));
            }
            Event::Kept { question, .. } => self.printed.retain(|(id, _)| id != question),
            Event::Said { text, .. } => self.told(text.trim()),
            Event::Delayed { why, .. } => self.told(why),
            Event::Used { tool, what, .. } => self.told(&format!("{tool}: {what}")),
            Event::Asked { .. } | Event::AskedAgain { .. } => self.told("asks"),
            Event::TurnEnded { .. } | Event::Parked { .. } | Event::CutOff { .. } => self.progress = None,
            _ => {}
        }
    }

    /// A fact mentions the agent's activity, so it is not printed again.
    fn told(&mut self, doing: &str) {
        self.doing = Some(doing.to_owned());
        self.progress = None;
    }

    /// The open questions that are not printed yet. The confirmation waits for the others.
    fn questions(&mut self, now: Duration) -> Vec<Line> {
        let Some(view) = self.story.view().filter(|_| self.story.is_present()) else { return Vec::new() };
        let only_confirm = view.questions.iter().all(|question| question.purpose == Purpose::Confirm);
        let is_new = |id: &QuestionId| !self.printed.iter().any(|(printed, _)| printed == id);
        let due =
            view.questions.iter().filter(|question| question.purpose != Purpose::Confirm || only_confirm);
        let due: Vec<&OpenQuestion> = due.filter(|question| is_new(&question.id)).collect();
        let mut lines = Vec::new();
        for question in &due {
            if question.purpose == Purpose::Confirm {
                lines.extend(summary::lines(view));
            }
            lines.extend(summary::preface(question));
            lines.extend(self.question(question));
        }
        let printed: Vec<_> = due.iter().map(|question| (question.id.clone(), now)).collect();
        self.printed.extend(printed);
        lines
    }

    fn question(&self, question: &OpenQuestion) -> Vec<Line> {
        let place = if question.of > 1 {
            format!(" ({} of {})", question.number, question.of)
        } else {
            String::new()
        };
        let header = question.header.as_ref().map(|header| format!(" {header}:")).unwrap_or_default();
        let mut text = match &question.purpose {
            Purpose::Permission(asked) => {
                vec![Line::new(Tone::Text, &format!("May the agent use {} for this?", asked.tool))]
            }
            _ => prose::lines(&question.text, Tone::Text),
        };
        let first = if text.is_empty() { Line::empty() } else { text.remove(0) };
        let mut lines =
            vec![Line::new(Tone::Text, &format!("? {}{place}{header} ", question.id)).then(first)];
        lines.extend(text.into_iter().map(|line| line.indented(2)));
        for (place, option) in question.options.iter().enumerate() {
            let meaning = option.description.as_deref().filter(|words| !words.trim().is_empty());
            let meaning = meaning.map(|words| format!(" - {words}")).unwrap_or_default();
            lines.push(Line::new(Tone::Text, &format!("  {}. {}{meaning}", place + 1, option.label)));
            let preview = option.preview.iter().flat_map(|preview| safe::lines(preview));
            lines.extend(preview.map(|line| Line::new(Tone::Text, &format!("     | {line}"))));
        }
        if let Some(previous) = &question.previous {
            lines.push(Line::new(Tone::Text, &format!("  answered before: {previous}")));
        }
        if question.multi {
            lines.push(Line::new(Tone::Text, "  several may be chosen"));
        }
        if question.free_text && !question.options.is_empty() {
            lines.push(Line::new(Tone::Text, "  free text is accepted too"));
        }
        if self.typing {
            let own = if question.free_text { "; =WORDS for exactly these words" } else { "" };
            lines.push(Line::new(Tone::Text, &format!("  a number or a label{own}; ctrl-c leaves it open")));
            return lines;
        }
        let command = format!("{} --question {} {}", self.answer_hint, question.id, example(question));
        lines.push(Line::new(Tone::Text, &format!("  answer with: {command}")));
        lines
    }

    fn plan_saved(&mut self) -> Option<[Line; 2]> {
        // At the end the plan is shown with its outcome.
        let view = self.story.view().filter(|_| self.story.ended().is_none())?;
        let plan = view.plan.as_ref().filter(|plan| plan.saved)?;
        let path = plan.path.clone().filter(|path| self.path_told.as_ref() != Some(path))?;
        self.path_told = Some(path.clone());
        self.story.is_present().then(|| summary::saved(&path))
    }

    fn progress(&mut self, progress: Progress, now: Duration) {
        let is_told = |doing: &String| {
            self.doing.as_ref().is_some_and(|told| told.starts_with(doing.trim_end_matches('…')))
        };
        if let Some(doing) = progress.doing.filter(|doing| !is_told(doing)) {
            self.progress = Some((doing, now + QUIET));
        }
    }

    fn tell_progress(&mut self, now: Duration) -> Option<Effect> {
        let (doing, _) = self.progress.take_if(|(_, due)| *due <= now)?;
        let line = Line::new(Tone::Text, "… ").and(Tone::Text, doing.lines().next().unwrap_or_default());
        self.doing = Some(doing);
        Some(Effect::Print(vec![line]))
    }

    fn submitted(&mut self, result: Result<(), String>) -> Vec<Effect> {
        self.sending = false;
        self.prompt = None;
        let refused = result.err().map(|why| Effect::Print(vec![Line::new(Tone::Text, &format!("! {why}"))]));
        refused.into_iter().collect()
    }

    /// The question that a line answers: the first open one among those printed.
    fn in_hand(&self) -> Option<(&OpenQuestion, Duration)> {
        let open = self.printed.iter().filter_map(|(id, since)| Some((self.story.open(id)?, *since)));
        open.into_iter().next().filter(|_| self.typing && !self.sending)
    }

    /// Handles a line. A line that was typed before a decision was asked for does not decide.
    fn line(&mut self, line: &str, now: Duration) -> Vec<Effect> {
        self.prompt = None;
        let say = |words: &str| vec![Effect::Print(vec![Line::new(Tone::Text, &format!("! {words}"))])];
        let Some((question, since)) = self.in_hand() else {
            let id = self.story.view().map(|view| view.id.to_string()).unwrap_or_default();
            return say(&format!(
                "nothing is asked now; say something to the agent with: rapport say {id} WORDS"
            ));
        };
        if now < armed_at(question, since) {
            return say("this was typed before it was asked; type it again");
        }
        if line.trim().is_empty() {
            return say("an empty line is not an answer");
        }
        let act = Act::Answer { question: Some(question.id.clone()), reply: reply(question, line.trim()) };
        self.sending = true;
        vec![Effect::Submit { by: self.me.clone(), act }]
    }

    /// The prompt for the next line. `None` while a line would not be accepted.
    fn next_prompt(&self, now: Duration) -> Option<String> {
        let (question, _) = self.in_hand().filter(|(question, since)| armed_at(question, *since) <= now)?;
        Some(format!("{} {} > ", question.id, clip(&words::title(question), 40)))
    }

    /// The question that is answered automatically next, and when.
    fn auto_due(&self) -> Option<(&AutoAnswer, &OpenQuestion, Duration)> {
        let auto = self.auto.as_ref().filter(|_| !self.sending)?;
        let (id, since) = self.printed.iter().find(|(id, _)| !self.tried.contains(id))?;
        Some((auto, self.story.open(id)?, *since + auto.pause))
    }

    fn answer_by_itself(&mut self, now: Duration) -> Option<Effect> {
        let (auto, question, _) = self.auto_due().filter(|(_, _, due)| *due <= now)?;
        let (by, id, reply): (By, _, _) = (auto.by.clone(), question.id.clone(), (auto.pick)(question));
        self.tried.push(id.clone());
        self.sending = true;
        Some(Effect::Submit { by, act: Act::Answer { question: Some(id), reply } })
    }

    fn stopped(&self) -> Vec<Effect> {
        let open = self.story.view().map_or(0, |view| view.questions.len());
        let line = Line::new(
            Tone::Text,
            &format!("The question stays open. Answer from anywhere with: {}", self.answer_hint),
        );
        let said = (open > 0).then(|| Effect::Print(vec![line]));
        said.into_iter().chain([Effect::Leave(Outcome::Detached)]).collect()
    }
}

impl<W: Write + Send> Front for Plain<W> {
    fn step(&mut self, happening: Happening, now: Duration) -> Vec<Effect> {
        match happening {
            Happening::Update(Update::Entry(entry)) => self.entry(&entry, now),
            Happening::Update(Update::Action(_) | Update::Lost(_)) => Vec::new(),
            Happening::Update(Update::Progress(progress)) => {
                self.progress(progress, now);
                Vec::new()
            }
            Happening::Submitted(result) => self.submitted(result),
            Happening::TimePassed => {
                self.tell_progress(now).into_iter().chain(self.answer_by_itself(now)).collect()
            }
            Happening::Stopped => self.stopped(),
            Happening::Line(line) => self.line(&line, now),
            Happening::Key(_) | Happening::Paste(_) | Happening::Resized(_) | Happening::Resumed => {
                Vec::new()
            }
        }
    }

    fn wake(&self, now: Duration) -> Option<Duration> {
        let auto = self.auto_due().map(|(_, _, due)| due);
        let armed = self.in_hand().map(|(question, since)| armed_at(question, since)).filter(|at| *at > now);
        let due = auto.into_iter().chain(armed).chain(self.progress.as_ref().map(|(_, due)| *due));
        due.min().map(|due| due.max(now))
    }

    fn show(&mut self, lines: &[Line], now: Duration) -> io::Result<()> {
        if !lines.is_empty() && self.prompt.take().is_some() {
            writeln!(self.out)?;
        }
        for line in lines {
            writeln!(self.out, "{}", Theme::Bare.paint(line).trim_end())?;
            self.out.flush()?;
        }
        let next = self.next_prompt(now);
        if next != self.prompt {
            write!(
                self.out,
                "{}",
                Theme::Bare.paint(&Line::new(Tone::Text, next.as_deref().unwrap_or_default()))
            )?;
            self.out.flush()?;
            self.prompt = next;
        }
        Ok(())
    }
}

/// When a line is first accepted as the answer to a question that was printed at `since`.
fn armed_at(question: &OpenQuestion, since: Duration) -> Duration {
    if question.purpose == Purpose::Clarify { since } else { since + LONG_GUARD }
}

/// A line as an answer: options if it names them, one or several; `=` marks literal text.
fn reply(question: &OpenQuestion, line: &str) -> Reply {
    if let Some(words) = line.strip_prefix('=') {
        return Reply::Text(words.trim().to_owned());
    }
    let pieces: Vec<String> =
        line.split([',', ' ']).filter(|piece| !piece.is_empty()).map(str::to_owned).collect();
    let several = Reply::Words(pieces);
    match question.question().resolve(&several) {
        Ok(answer) if question.multi && answer.text.is_none() => several,
        _ => Reply::Words(vec![line.to_owned()]),
    }
}

/// An example value, quoted for a shell. A value with characters that are special to a shell is replaced by its number.
fn example(question: &OpenQuestion) -> String {
    let is_harmless = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || " .,:;&/()+-_'?<>=".contains(c))
    };
    match question.options.first() {
        None => "\"your words\"".into(),
        Some(option) if is_harmless(&option.label) => format!("\"{}\"", option.label),
        Some(_) => "1".into(),
    }
}
