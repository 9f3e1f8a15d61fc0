//! Makes fixtures with another build of Rapport, named in `RAPPORT_RECORD_WITH`: a debug build, because only these
//! can be killed at a write. The fixtures go to the directory that `RAPPORT_RECORD_TO` names. A later version never
//! makes the fixtures of an earlier one again: they would no longer be what that version wrote.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Ask, FullQuestion, Scenario};
use rapport_core::Event;

use super::archive;
use super::world::{self, Answers, End, Expected};
use crate::files::{create, greeting, plan, planning, run};
use crate::support::project::Project;
use crate::support::scenarios::{ONE_QUESTION, PERMISSION};

/// Where a process dies: a variable, and what goes before the number of the point.
const DEATHS: [(&str, &str); 4] = [
    ("RAPPORT_TRIAL", "kill-before:"),
    ("RAPPORT_TRIAL", "kill-after:"),
    ("RAPPORT_TRIAL_ACTIONS", ""),
    ("RAPPORT_TRIAL_TURNS", ""),
];

#[test]
#[ignore = "makes fixtures, with the program and in the directory that two variables name"]
fn make_fixtures() {
    let variable = |name: &str| PathBuf::from(std::env::var_os(name).expect(name));
    let maker = Maker { program: variable("RAPPORT_RECORD_WITH"), into: variable("RAPPORT_RECORD_TO") };
    maker.files();
    maker.files_in_a_terminal();
    maker.run();
    maker.branched_run();
    maker.progress();
    maker.execute();
    maker.killed_files();
    maker.killed_run();
    maker.killed_progress();
}

struct Maker {
    program: PathBuf,
    into: PathBuf,
}

type Commands<'a> = &'a [&'a [&'a str]];

impl Maker {
    fn project(&self, scenario: ScenarioBuilder) -> Project {
        self.playing(&serde_json::to_string(&scenario.build()).unwrap())
    }

    fn playing(&self, yaml: &str) -> Project {
        Project::with_scenario(yaml).run_by(&self.program)
    }

    /// A session of files with an agent that makes these plans.
    fn session(&self, plans: &[&str]) -> Project {
        let project = self.project(planning(plans));
        project.rapport(&["new", "add-greeting"]).check(0, "");
        project
    }

    /// Keeps this world: how it came to be, how it stands, and what each of these commands leads to.
    fn keep(&self, name: &str, made: &str, project: &Project, ends: &[Vec<Vec<String>>]) {
        project.wait_alone(Duration::from_secs(10));
        let wanted = world::worth_keeping(project);
        let world = archive::pack(project.root().parent().unwrap(), &wanted);
        let end = |commands: &Vec<Vec<String>>| {
            let project = world::open(&world, Some(&self.program));
            let before = world::files(&project);
            let codes = world::act(&project, commands);
            let then = world::look(&project, &before).in_the_end();
            End { commands: commands.iter().cloned().zip(codes).collect(), then }
        };
        let project = world::open(&world, Some(&self.program));
        let now = world::look(&project, &world::files(&project));
        let expected = Expected { made: made.to_owned(), now, ends: ends.iter().map(end).collect() };
        let path = self.into.join(name).with_extension("txt");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, world::with_expected(&world, &expected)).unwrap();
    }

    fn files(&self) {
        let again: Commands = &[&["plan", "-m", "More."], &["resume", "-y"], &["undo"]];
        let keep = |name: &str, made: &str, project: &Project, ends: &[Commands]| {
            self.keep(&format!("files/{name}"), made, project, &owned(ends));
        };
        let two = || {
            self.session(&[&greeting(), &plan("More", &[], &["[+] Another."], &[create("more.txt", "More")])])
        };

        let project = two();
        keep("1-new", "rapport new", &project, &[again]);
        project.plan_turn("Greet.").check(0, "");
        keep(
            "2-planned",
            "rapport new, plan",
            &project,
            &[&[&["resume", "-y"]], &[&["resume", "-y"], &["undo"]]],
        );
        project.rapport(&["resume", "-y"]).check(0, "Completed");
        keep("3-run", "rapport new, plan, resume -y", &project, &[&[&["undo"]], again]);
        project.rapport(&["undo", "--yes"]).check(0, "removed");
        keep("4-undone", "rapport new, plan, resume -y, undo", &project, &[again, &[&["undo"]]]);
        project.plan_turn("More.").check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
        keep(
            "5-two-turns",
            "two turns, the first of them undone",
            &project,
            &[&[&["undo"]], &[&["branch", "01"]]],
        );

        let other =
            plan("Other", &[], &["[-] Greetings are in English.", "[+] Nothing."], &[create("o.txt", "o")]);
        let next = plan("Next", &["[-] hello.txt"], &[], &[create("next.txt", "n")]);
        let project = self.session(&[&greeting(), &create_more(), &other, &next]);
        for message in ["one", "two"] {
            project.plan_turn(message).check(0, "");
            project.rapport(&["resume", "-y"]).check(0, "Completed");
        }
        project.rapport(&["branch", "01"]).check(0, "01-branch-01");
        let on: Commands = &[&["plan", "-m", "other"], &["resume", "-y"]];
        keep("6-branched", "two turns, then branch 01", &project, &[on]);
        project.plan_turn("other").check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
        keep("7-branch-run", "the branch planned and run", &project, &[on, &[&["undo"]]]);

        let failing = plan(
            "Fail",
            &[],
            &["[+] A fact."],
            &[create("one.txt", "1"), run("exit 1"), create("two.txt", "2")],
        );
        let project = self.session(&[&failing, &greeting()]);
        project.plan_turn("x").check(0, "");
        project.rapport(&["resume", "-y"]).check(1, "");
        keep("8-failed", "a command of the plan failed", &project, &[&[&["undo"]], again]);

        let project = self.session(&["This is no plan.", &greeting()]);
        project.plan_turn("x");
        keep(
            "9-not-a-plan",
            "the agent made no plan",
            &project,
            &[&[&["resume", "-y"]], &[&["plan", "--replan", "-m", "x"]]],
        );

        self.waiting_files();
    }

    /// Sessions of files that wait for an answer.
    fn waiting_files(&self) {
        let question =
            Ask::one(FullQuestion::new("Which language?", "Language", &[("English", ""), ("French", "")]));
        let project = self.project(Scenario::new("asks").asks(question).respond_with_text(&greeting()));
        project.rapport(&["new", "a"]).check(0, "");
        let mut running = project.launch(&["plan", "--json", "-m", "Greet.", "--adaptive"], &[]);
        running.until_asked();
        running.kill();
        let session = project.session().to_string();
        let answer: &[&str] = &["answer", &session, "French"];
        let on: Commands = &[answer, &["resume"], &["resume", "-y"]];
        let instead: Commands = &[&["plan", "--instead", "-m", "Greet."]];
        let made = "planning asked, and was killed";
        self.keep(
            "files/asked-while-planning",
            made,
            &project,
            &owned(&[on, instead, &[&["cancel", &session]]]),
        );
        project.rapport(answer).check(0, "");
        let made = "planning asked, was killed, and was answered";
        self.keep(
            "files/answered-while-planning",
            made,
            &project,
            &owned(&[&[&["resume"], &["resume", "-y"]]]),
        );

        let chat = "### `CHAT_WITH_USER`\n\nWhich colour?\n".to_owned();
        let project =
            self.session(&[&plan("Ask", &[], &[], &[create("a.txt", "a"), chat, create("b.txt", "b")])]);
        project.plan_turn("x").check(0, "");
        let mut resuming = project.spawn(&["resume", "-y"]);
        project.wait_asked();
        resuming.kill().unwrap();
        resuming.wait().unwrap();
        let session = project.session().to_string();
        let on: Commands = &[&["answer", &session, "Blue"], &["resume", "-y"]];
        let made = "a batch asked, and was killed";
        self.keep("files/asked-by-a-batch", made, &project, &owned(&[on, &[&["undo"]]]));

        let project = self.session(&[&greeting()]);
        project.rapport(&["cancel", project.session().as_str()]).check(0, "");
        self.keep("files/cancelled", "cancelled", &project, &owned(&[&[&["resume", "-m", "x"]]]));
    }

    /// What takes a person at a terminal: approving in part, and skipping.
    fn files_in_a_terminal(&self) {
        for (name, variable) in [("partly-run", ""), ("partly-approved", "RAPPORT_TRIAL_ACTIONS")] {
            let project =
                self.session(&[&greeting(), &create_more()]).set("TERM", "dumb").set("LANG", "C.UTF-8");
            project.plan_turn("Greet.").check(0, "");
            let project = if variable.is_empty() { project } else { project.set(variable, "1") };
            let mut terminal = project.terminal(&["resume"], 100, 50);
            terminal.wait_for("(q)uit ›");
            terminal.send("m\n");
            terminal.wait_for("5 [✅] EXECUTE: cat hello.txt");
            terminal.send("5\n");
            terminal.wait_for("5 [ ]  EXECUTE: cat hello.txt");
            terminal.send("r\n");
            terminal.wait_end();
            let made = match variable {
                "" => "two of three actions were approved and run",
                _ => "two of three actions were approved, and it was killed before the first",
            };
            let on: Commands = &[&["resume", "-y"]];
            self.keep(&format!("files/{name}"), made, &project, &owned(&[on, &[&["undo"]]]));
        }
        let project = self.session(&[&greeting(), &create_more()]).set("LANG", "C.UTF-8");
        project.plan_turn("Greet.").check(0, "");
        let mut terminal = project.terminal(&["resume"], 100, 30);
        terminal.wait_for("(q)uit ›");
        terminal.send("s");
        terminal.wait_for("What next?");
        terminal.send("Rather more.\r");
        terminal.wait_for("left 0");
        let made = "the plan was skipped with a message, and another one made";
        self.keep("files/skipped", made, &project, &owned(&[&[&["resume", "-y"]]]));
    }

    fn run(&self) {
        let keep = |name: &str, made: &str, project: &Project, ends: &[Commands]| {
            self.keep(&format!("run/{name}"), made, project, &owned(ends));
        };
        let colour = answers(&[("Which colour?", &["Blue"])]);

        let project = self.playing(ONE_QUESTION);
        let mut running = project.start(&["paint"], &[]);
        running.until_asked();
        running.kill();
        let id = project.session().to_string();
        let finish: &[&str] = &["finish", &id, &colour];
        let cancel: &[&str] = &["cancel", &id];
        keep("1-asked", "a question is open; killed", &project, &[&[finish], &[cancel]]);
        let answer: &[&str] = &["answer", &id, "--question", "q1", "Red"];
        project.rapport(answer).check(0, "");
        keep("2-answered", "killed with a question open, then answered", &project, &[&[finish], &[cancel]]);
        let mut running = project.start(&["--resume", &id], &[]);
        running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
        running.kill();
        let edit: &[&str] = &["answer", &id, "--question", "q1", "--edit", "Blue"];
        keep(
            "3-planned",
            "the plan waits for its confirmation; killed",
            &project,
            &[&[finish], &[edit, finish]],
        );
        project.rapport(&["answer", &id, "confirm"]).check(0, "");
        keep("4-confirmed", "the plan was confirmed while nothing ran", &project, &[&[finish], &[cancel]]);
        assert_eq!(project.start(&["--resume", &id], &[]).finish(), 0);
        keep("5-completed", "completed", &project, &[&[finish], &[cancel]]);

        let project = self.playing(ONE_QUESTION).set("RAPPORT_AGENT_HOT", "0s");
        let mut running = project.start(&["paint"], &[]);
        running.until(|fact| matches!(fact, Event::Parked { .. }));
        running.kill();
        let id = project.session().to_string();
        let finish: &[&str] = &["finish", &id, &colour];
        let cancel: &[&str] = &["cancel", &id];
        keep("6-parked", "parked at a question", &project, &[&[finish], &[cancel]]);
        project.rapport(&["answer", &id, "--question", "q1", "Red"]).check(0, "");
        keep("7-parked-answered", "parked at a question, then answered", &project, &[&[finish]]);
        project.rapport(&["cancel", &id, "--reason", "enough"]).check(0, "");
        keep("8-cancelled", "cancelled with a reason", &project, &[&[cancel]]);

        let project = self.playing(PERMISSION);
        let mut running = project.start(&["build"], &[]);
        running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
        let id = project.session().to_string();
        project.rapport(&["answer", &id, "confirm"]).check(0, "");
        running.until_asked();
        running.kill();
        let finish: &[&str] = &["finish", &id, "{}"];
        let deny: &[&str] = &["answer", &id, "deny"];
        let denying: &[&str] = &["finish", &id, &answers(&[(world::PERMISSION, &["deny"])])];
        keep("9-permission", "a permission is asked for; killed", &project, &[&[finish], &[deny, denying]]);

        let project = self.playing(ONE_QUESTION);
        assert_eq!(project.start(&["--agent", "/nowhere/claude", "paint"], &[]).finish(), 7);
        let id = project.session().to_string();
        keep("failed", "there was no agent", &project, &[&[&["finish", &id, &colour]], &[&["cancel", &id]]]);
    }

    fn branched_run(&self) {
        let project = self.playing(ONE_QUESTION).set("RAPPORT_AGENT_HOT", "0s");
        let mut running = project.start(&["paint"], &[]);
        running.until(|fact| matches!(fact, Event::Parked { .. }));
        running.kill();
        let original = project.session().to_string();
        project.rapport(&["branch", &original, "--at", "q1"]).check(0, "");
        let branch = format!("{original}-branch");
        let (red, blue) = (answers(&[("Which colour?", &["Red"])]), answers(&[("Which colour?", &["Blue"])]));
        let both: Commands = &[&["finish", &original, &red], &["finish", &branch, &blue]];
        self.keep("run/branched", "parked at a question, then branched there", &project, &owned(&[both]));
    }

    fn progress(&self) {
        let project = self.project(progress());
        let mut running = project.launch(&["plan", "--json", "x", "--as", "progress", "--adaptive"], &[]);
        running.until_asked();
        running.kill();
        let id = project.session().to_string();
        let finish = ["finish", &id, &answers(&[("Which language?", &["Rust"])])];
        let ends = owned(&[&[&finish], &[&["cancel", &id]]]);
        self.keep("run/progress-asked", "a progress file: a question is open; killed", &project, &ends);
        world::act(&project, &owned(&[&[&finish]])[0]);
        self.keep("run/progress-completed", "a progress file was made", &project, &owned(&[&[&finish]]));
    }

    fn execute(&self) {
        let project = || {
            let project = self.project(Scenario::new("nothing").respond_with_text("Hm."));
            std::fs::write(project.root().join("plan.md"), greeting()).unwrap();
            project
        };
        let keep = |name: &str, made: &str, project: &Project, ends: &[Commands]| {
            self.keep(&format!("execute/{name}"), made, project, &owned(ends));
        };
        let execute: &[&str] = &["execute", "plan.md", "-y"];
        let done = project();
        done.rapport(execute).check(0, "Completed");
        keep("run", "rapport execute plan.md -y", &done, &[&[&["undo"]]]);
        done.rapport(&["undo", "--yes"]).check(0, "removed");
        keep("undone", "rapport execute plan.md -y, undo", &done, &[&[&["undo"]], &[execute]]);
        self.every_point("execute/killed", &project, execute, &|_| owned(&[&[&["undo"]]]));
    }

    fn killed_files(&self) {
        let (plan, resume, undo): (&[&str], &[&str], &[&str]) =
            (&["plan", "-m", "Greet."], &["resume", "-y"], &["undo"]);
        let new = || self.project(Scenario::new("plan").respond_with_text(&greeting()));
        let begun = || {
            let project = new();
            project.rapport(&["new", "add-greeting"]).check(0, "");
            project
        };
        let planned = || {
            let project = begun();
            project.rapport(plan).check(0, "");
            project
        };
        let ran = || {
            let project = planned();
            project.rapport(resume).check(0, "");
            project
        };
        self.every_point("killed-plan/killed", &begun, plan, &|project| {
            let has_plan = project.folder().join("01/plan.md").exists();
            owned(&[&[plan, resume, undo][usize::from(has_plan)..]])
        });
        self.every_point("killed-resume/killed", &planned, resume, &|project| {
            let has_report = project.folder().join("01/report.md").exists();
            owned(&[&[resume, undo][usize::from(has_report)..], &[undo]])
        });
        self.every_point("killed-undo/killed", &ran, undo, &|_| owned(&[&[undo]]));
    }

    /// Dies at every point of a command, one world after another, and keeps each.
    fn every_point(
        &self,
        name: &str,
        begin: &dyn Fn() -> Project,
        command: &[&str],
        ends: &dyn Fn(&Project) -> Vec<Vec<Vec<String>>>,
    ) {
        for (variable, order) in DEATHS {
            for point in 1.. {
                let project = begin();
                let output = project
                    .command()
                    .args(command)
                    .env(variable, format!("{order}{point}"))
                    .output()
                    .unwrap();
                if output.status.signal().is_none() {
                    break;
                }
                let made = format!("rapport {} with {variable}={order}{point}", command.join(" "));
                let place =
                    format!("{}-{}{point:02}", variable.replace("RAPPORT_", ""), order.trim_end_matches(':'));
                let place = place.replace('_', "-").to_lowercase();
                self.keep(&format!("{name}-{place}"), &made, &project, &ends(&project));
            }
        }
    }

    fn killed_run(&self) {
        let given: Answers = crate::crash::ANSWERS
            .iter()
            .map(|(text, values)| {
                ((*text).to_owned(), values.iter().map(|value| (*value).to_owned()).collect())
            })
            .collect();
        self.every_append(
            "killed-run",
            &|| self.playing(crate::crash::STORY),
            &["run", "--json", "paint", "it"],
            &given,
        );
    }

    fn killed_progress(&self) {
        let given: Answers = [("Which language?".to_owned(), vec!["Rust".to_owned()])].into();
        let command = ["plan", "--json", "x", "--as", "progress", "--adaptive"];
        self.every_append("killed-progress", &|| self.project(progress()), &command, &given);
    }

    /// Dies before and after every append of a story in which everything is answered, and keeps each world.
    fn every_append(&self, name: &str, begin: &dyn Fn() -> Project, command: &[&str], given: &Answers) {
        for when in ["before", "after"] {
            // How many writes a story takes varies a little with time.
            let mut misses = 0;
            for point in 1.. {
                if misses == 3 {
                    break;
                }
                let project = begin();
                let trial = format!("kill-{when}:{point}");
                let mut running = project.launch(command, &[("RAPPORT_TRIAL", &trial)]);
                let first = running.next();
                let session = first.is_some().then(|| project.session().to_string());
                if let Some(session) = &session {
                    world::answer_everything(&project, &mut running, session, given);
                }
                if running.finish() != -1 {
                    misses += 1;
                    continue;
                }
                let made = format!("rapport {} with RAPPORT_TRIAL={trial}", command.join(" "));
                let sessions = project.store().list().unwrap();
                let finish = sessions.first().map(|id| {
                    vec!["finish".to_owned(), id.to_string(), serde_json::to_string(given).unwrap()]
                });
                let ends: Vec<_> = finish.map(|finish| vec![finish]).into_iter().collect();
                let folder = if name == "killed-run" { format!("{name}-{when}") } else { name.to_owned() };
                self.keep(&format!("{folder}/killed-{when}-{point:02}"), &made, &project, &ends);
            }
        }
    }
}

fn create_more() -> String {
    plan("More", &[], &["[+] Another."], &[create("more.txt", "More")])
}

/// Asks, makes a mistake, and makes it good.
fn progress() -> ScenarioBuilder {
    Scenario::new("crash")
        .respond_with_text("I look around.")
        .asks_questions(&["Which language?"])
        .respond_with_text("no file yet")
        .next_invocation()
        .respond_with_text(&crate::planning::file("Crash", "{{answer:1}}"))
}

fn owned(ends: &[Commands]) -> Vec<Vec<Vec<String>>> {
    let words = |words: &&[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    ends.iter().map(|commands| commands.iter().map(words).collect()).collect()
}

fn answers(given: &[(&str, &[&str])]) -> String {
    let given: Answers = given
        .iter()
        .map(|(text, values)| ((*text).to_owned(), values.iter().map(|value| (*value).to_owned()).collect()))
        .collect();
    serde_json::to_string(&given).unwrap()
}
