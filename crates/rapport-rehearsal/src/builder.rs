//! Builds scenarios in Rust, for tests: the same value as from a file, step by step.

use std::io;
use std::path::{Path, PathBuf};

use super::scenario::{
    Ask, Bash, Call, Counter, EditFile, Entry, FORMAT_VERSION, FullQuestion, Question, QuestionOption,
    Scenario, Step, Usage, WriteFile,
};

/// A scenario being built; steps are added to the latest invocation.
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
    /// Sets the session id of new conversations; every response announces it once.
    pub fn with_session_id(mut self, id: &str) -> Self {
        self.scenario.session_id = Some(id.to_owned());
        self
    }

    /// Sets what selects the next invocation.
    pub fn counted_by(mut self, counter: Counter) -> Self {
        self.scenario.counter = Some(counter);
        self
    }

    /// Adds a reply to a call with a JSON schema: a round of questions, or an unusable text.
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

    /// Makes the tool of the last step ask for permission first.
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

    /// Sets the tokens of each model response.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.entry.usage = Some(usage);
        self
    }

    /// Changes any other property of an invocation.
    pub fn entry(mut self, change: impl FnOnce(&mut Entry)) -> Self {
        change(&mut self.entry);
        self
    }

    /// Begins the answer to the next message.
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

/// JSON is YAML, except for a few characters that YAML does not allow.
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

    /// Adds another question to the round.
    pub fn and(mut self, question: FullQuestion) -> Self {
        self.questions.push(Question::Full(question));
        self
    }

    /// Sets the tool use id of the round.
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

    /// Allows several choices.
    pub fn multi(mut self) -> Self {
        self.multi_select = true;
        self
    }
}
