//! Questions that are answered while the agent waits.

use rapport::agents::Parking;
use rapport::agents::claude::transcript::Transcript;
use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Ask as Round, Call, FullQuestion, Scenario};
use rapport_core::{AgentDid, Ask, CallId, ConversationId, Leave, NewQuestion, Order, Usage};

use super::actor::{Actor, in_quotes};
use super::{on_every_agent, on_every_version};
use crate::support::driven::{CONVERSATION, answers, order};

/// How the model is told answers that are all options.
const OFFERED: &str = "You can now continue with these answers in mind.";
/// How it is told answers of which some are not.
const OWN_WORDS: &str = "Read the answers carefully — they may request clarification, changes, or that you not proceed — \
    and follow what they actually say.";

on_every_agent! {
    no_question
    a_message_is_nothing_but_words [Parking]
    one_question
    four_questions_in_one_call [SeveralQuestions]
    options_and_own_words
    questions_in_the_same_words [SeveralQuestions]
    two_questions_that_differ_in_a_space [SeveralQuestions]
    signs_that_steer_a_terminal
    two_calls_at_once
    two_rounds
}

mod previews {
    use super::{on_every_agent, on_every_version, options_with_previews};

    on_every_version! {
        options_with_previews [Previews]
    }
}

/// CLARIFY-2, CLARIFY-3, CLARIFY-4, CLARIFY-14
async fn no_question(actor: Actor) {
    let stage = actor.with(Scenario::new("no question").respond_with_text("Done."));
    let mut run = stage.start();
    let (did, leave) = run.rest().await;
    let conversation = ConversationId::new(CONVERSATION);
    assert!(matches!(&did[0], AgentDid::Connect { conversation: it, model: Some(_) } if *it == conversation));
    assert_eq!(did[1..], [AgentDid::Say { text: "Done.".into() }, spent(1)]);
    assert_eq!(leave, finished("Done."));
}

/// A message is neither a command of the CLI nor reads a file: the agent can read it with its own tools and with
/// permission.
async fn a_message_is_nothing_but_words(actor: Actor) {
    let stage = actor.with(Scenario::new("words").respond_with_text("Done."));
    let secret = stage.path("secret.txt");
    std::fs::write(&secret, "squeamish ossifrage").unwrap();
    let prompt = format!("/clear what @{} says", secret.display());
    let mut run = stage.start_with(Order { prompt: prompt.clone(), ..order() });
    let (did, leave) = run.rest().await;
    assert_eq!(did[1..], [AgentDid::Say { text: "Done.".into() }, spent(1)]);
    assert_eq!(leave, finished("Done."));
    if let Some(model) = &stage.model {
        let told = model.seen()[0].to_string();
        assert!(told.contains(&prompt) && !told.contains("squeamish"), "{told}");
    }
    let conversation = std::fs::read(stage.transcript()).unwrap();
    assert_eq!(Transcript::read(&*conversation).unwrap().times_sent(&prompt), 1, "it is not told again");
}

/// The model is told that options can have previews, and what it sends reaches the person.
async fn options_with_previews(actor: Actor) {
    let mut question =
        FullQuestion::new("Which layout?", "Layout", &[("Sidebar", "At the left"), ("Top bar", "")]);
    question.options[0].preview = Some("+---+\n| S |\n+---+".into());
    let stage = actor.with(Scenario::new("previews").asks(Round::one(question)).respond_with_text("Done."));
    let mut run = stage.start();
    let (call, ask, _) = run.asked().await;
    let Ask::Questions(drafts) = ask else { panic!("{ask:?}") };
    let previews: Vec<_> = drafts[0].options.iter().map(|option| option.preview.as_deref()).collect();
    assert_eq!(previews, [Some("+---+\n| S |\n+---+"), None]);
    run.reply(call.as_str(), answers(&[("Which layout?", "Sidebar")]));
    assert_eq!(run.leave().await, finished("Done."));
    if let Some(model) = &stage.model {
        // The tool's schema has the field in any case; only what it is for depends on the host.
        let told = model.seen()[0]["tools"].to_string();
        for words in
            ["Use the optional `preview` field on options", "Preview content is rendered as markdown"]
        {
            assert!(told.contains(words), "the model is not told of previews: {told}");
        }
    }
}

async fn one_question(actor: Actor) {
    let stage = actor.with(
        Scenario::new("one").respond_with_text("I need to know.").asks(database()).respond_with_text("Done."),
    );
    let mut run = stage.start();
    let (call, ask, parkable) = run.asked().await;
    let can_park = stage.agent().abilities().parking != Parking::Never;
    assert_eq!((call.as_str(), parkable), ("toolu_0102", can_park));
    let Ask::Questions(drafts) = ask else { panic!("{ask:?}") };
    assert_eq!(drafts.len(), 1);
    assert_eq!((drafts[0].text.as_str(), drafts[0].header.as_deref()), ("Which database?", Some("DB")));
    assert_eq!(labels(&drafts[0]), ["Postgres", "SQLite"]);
    assert_eq!((drafts[0].multi, drafts[0].free_text), (false, true));
    run.reply("toolu_0102", answers(&[("Which database?", "SQLite")]));
    let (did, leave) = run.rest().await;
    assert_eq!(did, [AgentDid::Take { call }, AgentDid::Say { text: "Done.".into() }, spent(2)]);
    assert_eq!(leave, finished("Done."));
    stage.assert_answered("toolu_0102", &[("Which database?", "SQLite")], offered);
}

async fn four_questions_in_one_call(actor: Actor) {
    let round = database()
        .and(FullQuestion::new("Which tests?", "Tests", &[("Unit", "Small"), ("Load", "Large")]).multi())
        .and(FullQuestion::new("Which \"style\"?", "Style", &[("Plain", ""), ("Fancy", "")]))
        .and(FullQuestion::new("Which name?", "Name", &[("One", ""), ("Two", "")]));
    let stage = actor.with(Scenario::new("four").asks(round).respond_with_text("Done."));
    let mut run = stage.start();
    let (call, ask, _) = run.asked().await;
    let Ask::Questions(drafts) = ask else { panic!("{ask:?}") };
    assert_eq!(drafts.iter().map(|draft| draft.multi).collect::<Vec<_>>(), [false, true, false, false]);
    let pairs = [
        ("Which database?", "Postgres"),
        ("Which tests?", "Unit, Load"),
        ("Which \"style\"?", "Plain"),
        ("Which name?", "neither; call it \"Ada\"\nand be done"),
    ];
    run.reply(call.as_str(), answers(&pairs));
    assert_eq!(run.leave().await, finished("Done."));
    let (told, is_error) = stage.tool_result(call.as_str()).unwrap();
    assert_eq!(told, format!("The user answered: {}. {OWN_WORDS}", in_quotes(&pairs)));
    assert!(!is_error);
}

/// What the model is told tells options that were offered from own words.
async fn options_and_own_words(actor: Actor) {
    let cases = [
        (false, "Postgres", true),
        (false, "postgres", false),
        (false, "Postgres, SQLite", false),
        (false, "Postgres (answered by a person in telegram)", false),
        (true, "SQLite", true),
        (true, "Postgres, SQLite", true),
        (true, "Postgres,SQLite", false),
        (true, "Postgres, and MySQL", false),
    ];
    let question = |several| if several { which_database().multi() } else { which_database() };
    let asked = cases.iter().map(|(several, ..)| Round::one(question(*several)));
    let scenario = asked.fold(Scenario::new("options"), ScenarioBuilder::asks);
    let stage = actor.with(scenario.respond_with_text("Done."));
    let mut run = stage.start();
    for (_, answer, _) in cases {
        let (call, ..) = run.asked().await;
        run.reply(call.as_str(), answers(&[("Which database?", answer)]));
    }
    assert_eq!(run.leave().await, finished("Done."));
    for (n, (_, answer, is_offered)) in cases.iter().enumerate() {
        let words = if *is_offered { offered } else { own_words };
        stage.assert_answered(&format!("toolu_01{:02}", n + 1), &[("Which database?", answer)], words);
    }
}

/// No person sees them, because answers are keyed by the question's text.
async fn questions_in_the_same_words(actor: Actor) {
    let scenario = Scenario::new("same").asks(database().and(which_database())).asks(storage());
    let stage = actor.with(scenario.respond_with_text("Done."));
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    assert_eq!(call.as_str(), "toolu_0102");
    run.reply("toolu_0102", answers(&[("Which storage?", "Cookie")]));
    assert_eq!(run.leave().await, finished("Done."));
    let (told, is_error) = stage.tool_result("toolu_0101").unwrap();
    assert!(is_error && told.contains("Question texts must be unique"), "{told}");
}

async fn two_questions_that_differ_in_a_space(actor: Actor) {
    let spaced = FullQuestion { question: "Which database? ".into(), ..which_database() };
    let stage = actor.with(Scenario::new("space").asks(database().and(spaced)).respond_with_text("Done."));
    let mut run = stage.start();
    let (call, ..) = run.asked().await;
    run.reply(call.as_str(), answers(&[("Which database?", "Postgres"), ("Which database?", "SQLite")]));
    assert_eq!(run.leave().await, finished("Done."));
    let pairs = in_quotes(&[("Which database?", "Postgres"), ("Which database? ", "SQLite")]);
    let told = format!("Your questions have been answered: {pairs}. {OFFERED}");
    assert_eq!(stage.tool_result(call.as_str()), Some((told, false)));
}

/// They pass as they are; what is shown is made safe where it is shown.
async fn signs_that_steer_a_terminal(actor: Actor) {
    const ODD: &str = "\u{1b}[31mRed\u{7}\u{0} \u{202e}right to left\u{2066} \u{200b}\u{feff}\u{2028}\u{9b}?";
    let question = FullQuestion::new(ODD, "Odd", &[("\u{1b}]0;title\u{7}", "a\u{202e}b"), ("Plain", "")]);
    let stage = actor.with(Scenario::new("odd").asks(Round::one(question)).respond_with_text("Done."));
    let mut run = stage.start();
    let (call, ask, _) = run.asked().await;
    let Ask::Questions(drafts) = ask else { panic!("{ask:?}") };
    assert_eq!(drafts[0].text, ODD);
    assert_eq!(labels(&drafts[0]), ["\u{1b}]0;title\u{7}", "Plain"]);
    run.reply(call.as_str(), answers(&[(ODD, "\u{1b}]0;title\u{7}")]));
    assert_eq!(run.leave().await, finished("Done."));
    stage.assert_answered(call.as_str(), &[(ODD, "\u{1b}]0;title\u{7}")], offered);
}

async fn two_calls_at_once(actor: Actor) {
    let calls = vec![Call::Ask(database()), Call::Ask(storage())];
    let stage = actor.with(Scenario::new("at once").together(calls).respond_with_text("Done."));
    let mut run = stage.start();
    let (first, ..) = run.asked().await;
    let (second, ..) = run.asked().await;
    assert_eq!((first.as_str(), second.as_str()), ("toolu_0101a", "toolu_0101b"));
    run.reply("toolu_0101b", answers(&[("Which storage?", "Cookie")]));
    run.reply("toolu_0101a", answers(&[("Which database?", "Postgres")]));
    let (did, leave) = run.rest().await;
    for call in [first, second] {
        assert!(did.contains(&AgentDid::Take { call }), "{did:?}");
    }
    assert_eq!(leave, finished("Done."));
    assert!(stage.tool_result("toolu_0101a").unwrap().0.contains("Postgres"));
    assert!(stage.tool_result("toolu_0101b").unwrap().0.contains("Cookie"));
}

/// CLARIFY-12, CLARIFY-15: what is used sums up over rounds.
async fn two_rounds(actor: Actor) {
    let stage =
        actor.with(Scenario::new("rounds").asks(database()).asks(storage()).respond_with_text("Done."));
    let mut run = stage.start();
    for (question, answer) in [("Which database?", "Postgres"), ("Which storage?", "Cookie")] {
        let (call, ..) = run.asked().await;
        run.reply(call.as_str(), answers(&[(question, answer)]));
    }
    let (did, leave) = run.rest().await;
    assert_eq!(leave, finished("Done."));
    assert_eq!(did.last(), Some(&spent(3)));
    assert!(did.contains(&AgentDid::Take { call: CallId::new("toolu_0102") }), "{did:?}");
}

pub(super) fn database() -> Round {
    Round::one(which_database())
}

fn which_database() -> FullQuestion {
    FullQuestion::new("Which database?", "DB", &[("Postgres", "A server"), ("SQLite", "A file")])
}

pub(super) fn storage() -> Round {
    Round::one(FullQuestion::new("Which storage?", "Storage", &[("Cookie", "HttpOnly"), ("Local", "")]))
}

pub(super) fn finished(result: &str) -> Leave {
    Leave::Finished { result: result.into() }
}

/// What so many responses of the model take.
pub(super) fn spent(responses: u64) -> AgentDid {
    let usage = Usage { input: 1000, output: 50, cost_micros: 5_000, ..Usage::default() };
    let mut sum = Usage::default();
    (0..responses).for_each(|_| sum += usage);
    AgentDid::Spend { usage: sum }
}

fn offered(pairs: &str) -> String {
    format!("Your questions have been answered: {pairs}. {OFFERED}")
}

fn own_words(pairs: &str) -> String {
    format!("The user answered: {pairs}. {OWN_WORDS}")
}

fn labels(draft: &NewQuestion) -> Vec<&str> {
    draft.options.iter().map(|option| option.label.as_str()).collect()
}
