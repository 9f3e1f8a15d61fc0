//! Scenarios written in Rust, for tests: the same value that a file gives, step by step.

use std::io;
use std::path::{Path, PathBuf};

use super::scenario::{
    Ask, Bash, Call, Counter, EditFile, Entry, FORMAT_VERSION, FullQuestion, Question, QuestionOption,
    Scenario, Step, Usage, WriteFile,
};

/// A scenario in the making; what is added goes to the latest invocation.
#[derive(Debug, Clone)]
pub struct ScenarioBuilder {
    scenario: Scenario,
    entry: Entry,
}

impl Scenario {
    /// Begins a scenario.
    #[expect(clippy::new_ret_no_self, reason = "reads as the sentence it begins; `build` gives the scenario")]
    pub fn new(name: &str) -> ScenarioBuilder {
        let scenario = Scenario {
            version: FORMAT_VERSION,
            name: name.to_owned(),
            session_id: None,
            counter: None,
            invocations: Vec::new(),
            batches: Vec::new(),
        };
        ScenarioBuilder { scenario, entry: Entry::default() }
    }
}

impl ScenarioBuilder {
    /// The session id of new conversations; every response announces it once.
    pub fn with_session_id(mut self, id: &str) -> Self {
        self.scenario.session_id = Some(id.to_owned());
        self
    }

    /// What decides which invocation comes next.
    pub fn counted_by(mut self, counter: Counter) -> Self {
        self.scenario.counter = Some(counter);
        self
    }

    /// Replies with this to a call that wants JSON: a round of questions, or words that are none.
    pub fn replies_with(mut self, reply: serde_json::Value) -> Self {
        self.scenario.batches.push(reply);
        self
    }

    /// Asks questions that are only text.
    pub fn asks_questions(self, questions: &[&str]) -> Self {
        let questions = questions.iter().map(|text| Question::Plain((*text).to_owned())).collect();
        self.asks(Ask { questions, id: None })
    }

    /// Asks a round of questions.
    pub fn asks(self, ask: Ask) -> Self {
        self.step(Step::Ask(ask))
    }

    /// Says something; the last text of an invocation is its result.
    pub fn respond_with_text(self, text: &str) -> Self {
        self.step(Step::Text(text.to_owned()))
    }

    /// Writes a file.
    pub fn uses_write(self, path: &str, content: &str) -> Self {
        self.step(Step::Write(WriteFile {
            path: path.to_owned(),
            content: content.to_owned(),
            ..WriteFile::default()
        }))
    }

    /// Replaces a text in a file.
    pub fn uses_edit(self, path: &str, find: &str, replace: &str) -> Self {
        let (path, find, replace) = (path.to_owned(), find.to_owned(), replace.to_owned());
        self.step(Step::Edit(EditFile { path, find, replace, ..EditFile::default() }))
    }

    /// Runs a command.
    pub fn uses_bash(self, command: &str) -> Self {
        self.step(Step::Bash(Bash { command: command.to_owned(), ..Bash::default() }))
    }

    /// The tool of the last step asks for permission first.
    pub fn with_permission(mut self) -> Self {
        match self.entry.steps.last_mut() {
            Some(Step::Write(write)) => write.permission = true,
            Some(Step::Edit(edit)) => edit.permission = true,
            Some(Step::Bash(bash)) => bash.permission = true,
            Some(Step::Tool(tool)) => tool.permission = true,
            _ => {}
        }
        self
    }

    /// Calls several tools in one message.
    pub fn together(self, calls: Vec<Call>) -> Self {
        self.step(Step::Together(calls))
    }

    /// Dies as if killed.
    pub fn crash(self) -> Self {
        self.step(Step::Crash(true))
    }

    pub fn step(mut self, step: Step) -> Self {
        self.entry.steps.push(step);
        self
    }

    /// Tokens of each model response.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.entry.usage = Some(usage);
        self
    }

    /// Changes whatever else an invocation says about itself.
    pub fn entry(mut self, change: impl FnOnce(&mut Entry)) -> Self {
        change(&mut self.entry);
        self
    }

    /// What follows answers the next message.
    pub fn next_invocation(mut self) -> Self {
        self.scenario.invocations.push(std::mem::take(&mut self.entry));
        self
    }

    pub fn build(mut self) -> Scenario {
        self.scenario.invocations.push(self.entry);
        self.scenario
    }

    /// Writes the scenario into a directory, under a name made from its own.
    pub fn write_into(self, dir: &Path) -> io::Result<PathBuf> {
        self.build().write_into(dir)
    }
}

impl Scenario {
    /// Writes the scenario into a directory, under a name made from its own.
    pub fn write_into(&self, dir: &Path) -> io::Result<PathBuf> {
        let stem: String = self.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let path = dir.join(format!("{stem}.yaml"));
        std::fs::write(&path, as_yaml(&serde_json::to_string_pretty(self)?))?;
        Ok(path)
    }
}

/// JSON is YAML, but for a few signs that it lets stand and YAML does not.
fn as_yaml(json: &str) -> String {
    let plain = |c: char| match c {
        '\u{7f}'..='\u{9f}' | '\u{feff}' => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    json.chars().map(plain).collect()
}

impl Ask {
    /// A round with one question.
    pub fn one(question: FullQuestion) -> Self {
        Ask { questions: vec![Question::Full(question)], id: None }
    }

    /// The same round with another question.
    pub fn and(mut self, question: FullQuestion) -> Self {
        self.questions.push(Question::Full(question));
        self
    }

    /// The same round under this tool use id.
    pub fn with_id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }
}

impl FullQuestion {
    /// A question with a header and options, each a label with its description.
    pub fn new(question: &str, header: &str, options: &[(&str, &str)]) -> Self {
        let option = |(label, description): &(&str, &str)| QuestionOption {
            label: (*label).to_owned(),
            description: (*description).to_owned(),
            preview: None,
        };
        FullQuestion {
            question: question.to_owned(),
            header: header.to_owned(),
            options: options.iter().map(option).collect(),
            multi_select: false,
        }
    }

    /// The same question with several choices allowed.
    pub fn multi(mut self) -> Self {
        self.multi_select = true;
        self
    }
}
