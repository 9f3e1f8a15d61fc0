//! The channel without a screen: facts as plain lines, written at once and without control characters. If lines can
//! be typed, one question is printed at a time and a line answers it; an empty line answers nothing, and the end of
//! the input leaves. Otherwise nothing is read, and each question says how to answer it from elsewhere.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use rapport_core::{
    Act, Activity, By, Entry, Event, OpenQuestion, Progress, Purpose, QuestionId, Refusal, Reply, SessionId,
    View,
};

use super::cards::LONG_GUARD;
use super::last_look::{self, LastLook};
use super::render::{prose, summary};
use super::story::Story;
use super::style::Theme;
use super::terminal_text;
use super::text::{Line, Tone, clip};
use super::words;
use super::{AutoAnswer, Effect, Front, Outcome, ScreenInput, Terminal};
use rapport_door::Update;

/// The agent's activity is printed only if no fact mentions it within this time.
const QUIET: Duration = Duration::from_secs(5);

/// What a line may be at the last look over a round.
const LOOK_KEYS: &str = "y sends them; edit NUMBER changes that answer; < goes back to the last question";

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
    tried: BTreeSet<QuestionId>,
    /// The last answer of a round of several, while the person looks over all of them once more.
    look: Option<LastLook>,
    sending: bool,
    /// The width of the terminal, if the lines go to one.
    columns: Option<fn() -> usize>,
    /// The agent's activity that was last printed.
    doing: Option<Activity>,
    /// Its current activity, and when to print it.
    progress: Option<(Activity, Duration)>,
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
            tried: BTreeSet::new(),
            look: None,
            sending: false,
            columns: None,
            doing: None,
            progress: None,
        }
    }

    /// The same for a terminal, whose width is asked for each time: words are not broken at its edge.
    #[must_use]
    pub fn wrapped_at(self, columns: fn() -> usize) -> Self {
        Self { columns: Some(columns), ..self }
    }

    fn entry(&mut self, entry: &Entry, now: Duration) -> Vec<Effect> {
        let mut lines = self.story.take(entry);
        for fact in &entry.facts {
            self.note(fact);
        }
        self.look.take_if(|look| self.story.open(&look.question).is_none());
        lines.extend(self.questions(now));
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
            Event::Said { text, .. } => self.set_activity(Activity::words(text)),
            Event::Delayed { why, .. } => self.set_activity(Activity::words(why)),
            Event::Used { tool, what, kind, .. } => self.set_activity(Activity::tool(tool, what, *kind)),
            Event::Asked { .. } | Event::AskedAgain { .. } => self.set_activity(Activity::words("asks")),
            Event::TurnEnded { .. } | Event::Parked { .. } | Event::CutOff { .. } => self.progress = None,
            _ => {}
        }
    }

    /// A fact mentions the agent's activity, so it is not printed again.
    fn set_activity(&mut self, doing: Activity) {
        self.doing = Some(doing);
        self.progress = None;
    }

    /// The open questions that are not printed yet. The confirmation waits for the others, and for the plan's file.
    /// Where lines can be typed, only the question that the next line answers is printed.
    fn questions(&mut self, now: Duration) -> Vec<Line> {
        let Some(view) = self.story.view().filter(|_| self.story.is_present()) else { return Vec::new() };
        let is_saved = view.plan.as_ref().is_none_or(|plan| plan.saved);
        let confirms = is_saved && view.questions.iter().all(|question| question.purpose == Purpose::Confirm);
        if self.typing {
            let in_front = self.story.in_front();
            self.printed.retain(|(id, _)| in_front == Some(id));
        }
        let is_new = |id: &QuestionId| !self.printed.iter().any(|(printed, _)| printed == id);
        let is_next = |id: &QuestionId| !self.typing || self.story.in_front() == Some(id);
        let due = view.questions.iter().filter(|question| question.purpose != Purpose::Confirm || confirms);
        let due: Vec<&OpenQuestion> =
            due.filter(|question| is_new(&question.id) && is_next(&question.id)).collect();
        let lines = due.iter().flat_map(|question| self.whole(question, view)).collect();
        let printed: Vec<_> = due.iter().map(|question| (question.id.clone(), now)).collect();
        self.printed.extend(printed);
        lines
    }

    /// A question with all that is to be decided: the plan, or the call.
    fn whole(&self, question: &OpenQuestion, view: &View) -> Vec<Line> {
        let mut lines = Vec::new();
        if question.purpose == Purpose::Confirm {
            let path = view.plan.as_ref().and_then(|plan| plan.path.as_deref());
            lines.extend(summary::lines(view).into_iter().chain(path.into_iter().flat_map(summary::saved)));
        }
        lines.extend(summary::preface(question));
        lines.extend(self.question(question));
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
        let head = Line::new(Tone::Text, &format!("? {}{place}{header} ", question.id));
        let mut lines = vec![head.then(first).hanging(2)];
        lines.extend(text.into_iter().map(|line| line.indented(2)));
        for (place, option) in question.options.iter().enumerate() {
            let meaning = option.description.as_deref().filter(|words| !words.trim().is_empty());
            let meaning = meaning.map(|words| format!(" - {words}")).unwrap_or_default();
            let number = format!("{}. ", place + 1);
            let line = Line::new(Tone::Text, &format!("{number}{}{meaning}", option.label));
            lines.push(line.hanging(number.len()).indented(2));
            let preview = option.preview.iter().flat_map(|preview| terminal_text::lines(preview));
            lines.extend(preview.map(|line| Line::new(Tone::Text, &format!("     | {line}")).whole()));
        }
        let note = |words: &str| Line::new(Tone::Text, words).indented(2);
        if let Some(previous) = &question.previous {
            let keeps = if self.typing { "; an empty line keeps it" } else { "" };
            lines.push(note(&format!("answered before: {previous}{keeps}")));
        }
        lines.extend(words::of_lead(question).iter().map(|words| note(words)));
        if question.multi {
            lines.push(note("several may be chosen"));
        }
        if question.free_text && !question.options.is_empty() {
            lines.push(note("free text is accepted too"));
        }
        if self.typing {
            lines.push(note(&self.what_to_type(question)));
            return lines;
        }
        let command = format!("{} --question {} {}", self.answer_hint, question.id, example(question));
        lines.push(Line::new(Tone::Text, "answer with: ").and_command(&command).indented(2));
        lines
    }

    /// What a line may be.
    fn what_to_type(&self, question: &OpenQuestion) -> String {
        let named = if question.options.is_empty() { "type the answer" } else { "a number or a label" };
        let own = question.free_text.then_some("=WORDS for exactly these words");
        let draft = question.draft.is_some().then_some("== sends the draft");
        let offer = question.offer.is_some().then_some("=< answers as before");
        let change = match question.purpose {
            Purpose::Confirm => Some("edit NUMBER changes that answer").filter(|_| self.has_answers()),
            _ => self.story.before(question).map(|_| "< goes back"),
        };
        let all = [
            Some(named),
            own,
            draft,
            offer,
            change,
            Some("? shows this again"),
            Some("ctrl-c leaves it open"),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn has_answers(&self) -> bool {
        self.story.view().is_some_and(|view| !view.answers.is_empty())
    }

    fn progress(&mut self, progress: Progress, now: Duration) {
        let is_told = |doing: &Activity| {
            let is_same = |told: &Activity| {
                std::mem::discriminant(told) == std::mem::discriminant(doing)
                    && told.to_string().starts_with(doing.to_string().trim_end_matches('…'))
            };
            self.doing.as_ref().is_some_and(is_same)
        };
        if let Some(doing) = progress.doing.filter(|doing| !is_told(doing)) {
            self.progress = Some((doing, now + QUIET));
        }
    }

    fn tell_progress(&mut self, now: Duration) -> Option<Effect> {
        let (doing, _) = self.progress.take_if(|(_, due)| *due <= now)?;
        let shown = words::activity(&doing, self.story.view());
        let line = Line::new(Tone::Text, "… ").and(Tone::Text, &shown).hanging(2);
        self.doing = Some(doing);
        Some(Effect::Print(vec![line]))
    }

    fn submitted(&mut self, result: Result<(), String>) -> Vec<Effect> {
        self.sending = false;
        let refused = result.err().map(|why| Effect::Print(vec![remark(&why)]));
        refused.into_iter().collect()
    }

    /// The question that a line answers.
    fn in_hand(&self) -> Option<(&OpenQuestion, Duration)> {
        let open = self.printed.iter().filter_map(|(id, since)| Some((self.story.open(id)?, *since)));
        open.into_iter().next().filter(|_| self.typing && !self.sending)
    }

    /// Handles a line. A line that was typed before a decision was asked for does not decide.
    fn line(&mut self, line: &str, now: Duration) -> Vec<Effect> {
        self.prompt = None;
        let say = |words: &str| vec![Effect::Print(vec![remark(words)])];
        let Some((question, since)) = self.in_hand() else {
            let id = self.story.view().map(|view| view.id.to_string()).unwrap_or_default();
            let line = remark("nothing is asked now; say something to the agent with: ");
            return vec![Effect::Print(vec![line.and_command(&format!("rapport say {id} WORDS"))])];
        };
        if now < armed_at(question, since) {
            return say("this was typed before it was asked; type it again");
        }
        let question = question.clone();
        if self.look.as_ref().is_some_and(|look| look.question == question.id) {
            return self.line_at_last_look(&question, line.trim());
        }
        match self.meant(&question, line.trim()) {
            Ok(Act::Answer { question: Some(id), reply }) if self.is_last_of_round(&question, &reply) => {
                self.look = Some(LastLook::new(id, reply));
                vec![Effect::Print(self.last_look(&question))]
            }
            Ok(act) => self.submit(act),
            Err(instead) => vec![Effect::Print(instead)],
        }
    }

    fn submit(&mut self, act: Act) -> Vec<Effect> {
        self.sending = true;
        vec![Effect::Submit { by: self.me.clone(), act: Box::new(act) }]
    }

    /// Whether this answer would complete a round of several. One that is refused completes nothing.
    fn is_last_of_round(&self, question: &OpenQuestion, reply: &Reply) -> bool {
        let is_due = self.story.view().is_some_and(|view| last_look::is_due(question, view));
        is_due && question.question().resolve(reply).is_ok()
    }

    /// All answers of the round, before the last of them is sent.
    fn last_look(&self, question: &OpenQuestion) -> Vec<Line> {
        let round = self.story.round(question.round, &question.id);
        let mut lines = vec![Line::new(Tone::Text, "? These are your answers:")];
        for (place, asked) in round.iter().enumerate() {
            let unsent = self.look.as_ref().and_then(|look| look.words(asked));
            let answer = unsent.or_else(|| asked.answer.clone()).unwrap_or_default();
            let number = format!("{}. ", place + 1);
            let question = prose::in_tones(&asked.question.text, Tone::Text);
            let line = Line::new(Tone::Text, &number).then(question).and(Tone::Text, &format!(" → {answer}"));
            lines.push(line.hanging(number.len()).indented(2));
        }
        lines.push(Line::new(Tone::Text, LOOK_KEYS).indented(2));
        lines
    }

    fn line_at_last_look(&mut self, question: &OpenQuestion, line: &str) -> Vec<Effect> {
        let asked_again = |this: &Self| {
            let lines = this.story.view().map(|view| this.whole(question, view)).unwrap_or_default();
            vec![Effect::Print(lines)]
        };
        match line.to_lowercase().as_str() {
            "y" | "yes" => match self.look.take() {
                Some(look) => self.submit(Act::Answer { question: Some(look.question), reply: look.reply }),
                None => Vec::new(),
            },
            "n" | "no" | "<" => {
                self.look = None;
                asked_again(self)
            }
            "?" => vec![Effect::Print(self.last_look(question))],
            edit if is_edit(edit) => {
                let round = self.story.round(question.round, &question.id);
                let number = edit.split_whitespace().nth(1).and_then(|word| word.parse::<usize>().ok());
                let named = number.and_then(|number| round.get(number.checked_sub(1)?));
                let Some(named) = named.map(|asked| asked.question.id.clone()) else {
                    return vec![Effect::Print(vec![remark("name an answer by its number, as in: edit 1")])];
                };
                self.look = None;
                if named == question.id {
                    return asked_again(self);
                }
                self.submit(Act::Reopen { question: named })
            }
            _ => vec![Effect::Print(vec![remark(LOOK_KEYS)])],
        }
    }

    /// What a line does about the question, or what to print instead.
    fn meant(&self, question: &OpenQuestion, line: &str) -> Result<Act, Vec<Line>> {
        let say = |words: &str| Err(vec![remark(words)]);
        let id = question.id.clone();
        match (line, self.story.view()) {
            ("?", Some(view)) => Err(self.whole(question, view)),
            ("==", _) if self.story.open(&id).is_some_and(|open| open.draft.is_some()) => {
                Ok(Act::SendDraft { question: id })
            }
            ("=<", _) if question.offer.is_some() => Ok(Act::TakeOffer { question: id }),
            ("", _) if question.previous.is_some() => Ok(Act::Keep { question: id }),
            ("", _) => say("an empty line is not an answer"),
            ("<", _) => match self.story.before(question).cloned() {
                Some(question) => Ok(Act::Reopen { question }),
                None => say("there is no earlier question to go back to in this round"),
            },
            (line, Some(view)) if question.purpose == Purpose::Confirm && is_edit(line) => {
                match edited(line, view) {
                    Some(question) => Ok(Act::Reopen { question }),
                    None => say("name an answer by its number, as in: edit 1"),
                }
            }
            (line, _) => {
                let reply = reply(question, line);
                match question.question().resolve(&reply) {
                    Err(Refusal::OptionsOrText { options, text, .. }) => say(&either(&options, &text)),
                    Ok(_) | Err(_) => Ok(Act::Answer { question: Some(id), reply }),
                }
            }
        }
    }

    /// The prompt for the next line. `None` while a line would not be accepted.
    fn next_prompt(&self, now: Duration) -> Option<String> {
        let (question, _) = self.in_hand().filter(|(question, since)| armed_at(question, *since) <= now)?;
        if self.look.as_ref().is_some_and(|look| look.question == question.id) {
            return Some("send these answers? > ".to_owned());
        }
        let title = words::title(question, self.story.view());
        Some(format!("{} {} > ", question.id, clip(&title, 40)))
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
        self.tried.insert(id.clone());
        self.sending = true;
        Some(Effect::Submit { by, act: Box::new(Act::Answer { question: Some(id), reply }) })
    }

    fn stopped(&mut self) -> Vec<Effect> {
        // No line is read from now on, so no prompt follows the last words.
        self.typing = false;
        let mut lines = self.story.last_words();
        let stays = match self.story.view().map_or(0, |view| view.questions.len()) {
            0 => None,
            1 => Some("The question stays open. Answer from anywhere with: "),
            _ => Some("The questions stay open. Answer from anywhere with: "),
        };
        lines.extend(stays.map(|stays| Line::new(Tone::Text, stays).and_command(&self.answer_hint)));
        vec![Effect::Print(lines), Effect::Leave(Outcome::Detached)]
    }

    /// The rows of a line. Other programs get it as it is; at a terminal its words stay whole, and nothing is left out.
    fn rows(&self, line: &Line) -> Vec<Line> {
        let line = line.clone().in_full();
        self.columns.map_or_else(|| vec![line.clone()], |columns| line.history_rows(columns()))
    }
}

impl<W: Write + Send> Front for Plain<W> {
    fn step(&mut self, happening: ScreenInput, now: Duration) -> Vec<Effect> {
        match happening {
            ScreenInput::Update(Update::Entry(entry)) => self.entry(&entry, now),
            ScreenInput::Update(Update::Action(_) | Update::Lost(_)) => Vec::new(),
            ScreenInput::Update(Update::Progress(progress)) => {
                self.progress(progress, now);
                Vec::new()
            }
            ScreenInput::Submitted(result) => self.submitted(result),
            ScreenInput::TimePassed => {
                self.tell_progress(now).into_iter().chain(self.answer_by_itself(now)).collect()
            }
            ScreenInput::Stopped => self.stopped(),
            ScreenInput::Line(line) => self.line(&line, now),
            ScreenInput::Key(_) | ScreenInput::Paste(_) | ScreenInput::Resized(_) | ScreenInput::Resumed => {
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
        let next = self.next_prompt(now);
        // Lines after a prompt that was not answered here begin on a row of their own.
        if (!lines.is_empty() || next != self.prompt) && self.prompt.take().is_some() {
            writeln!(self.out)?;
        }
        for row in lines.iter().flat_map(|line| self.rows(line)).collect::<Vec<_>>() {
            writeln!(self.out, "{}", Theme::Bare.paint(&row).trim_end())?;
            self.out.flush()?;
        }
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

/// Whether a line at the confirmation is about an answer: `edit`, or `edit` and one word.
fn is_edit(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("edit")) && words.count() <= 1
}

/// The question whose answer such a line names, by its number in the summary or by its id.
fn edited(line: &str, view: &View) -> Option<QuestionId> {
    let named = line.split_whitespace().nth(1)?;
    let by_number = named.parse::<usize>().ok().and_then(|number| view.answers.get(number.checked_sub(1)?));
    let given = by_number.or_else(|| view.answers.iter().find(|given| given.id.as_str() == named))?;
    Some(given.id.clone())
}

/// What was wrong with a line.
fn remark(words: &str) -> Line {
    Line::new(Tone::Text, &format!("! {words}")).hanging(2)
}

/// A line as an answer: options if it names them, one or several. Literal text follows a `=`, alone or after options.
fn reply(question: &OpenQuestion, line: &str) -> Reply {
    let pieces = |line: &str| -> Vec<String> {
        line.split([',', ' ']).filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
    };
    let resolves = |reply: &Reply| question.question().resolve(reply);
    if let Some((before, words)) = line.split_once('=') {
        let words = words.trim().to_owned();
        if before.is_empty() {
            return Reply::Text(words);
        }
        // A line that names too many options is refused with the reason, and is not taken for free text.
        let both = Reply::NamedAndText(pieces(before), words);
        if matches!(resolves(&both), Ok(_) | Err(Refusal::OneChoiceOnly { .. })) {
            return both;
        }
    }
    let several = Reply::Words(pieces(line));
    match resolves(&several) {
        Ok(answer) if question.multi && answer.text.is_none() => several,
        Err(Refusal::OptionsOrText { .. }) => several,
        _ => Reply::Words(vec![line.to_owned()]),
    }
}

/// How to write a line that may mean options and free text, or free text only.
fn either(options: &str, text: &str) -> String {
    format!("is that options and free text? Write: {options} = {text}; or free text only: = {options} {text}")
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
