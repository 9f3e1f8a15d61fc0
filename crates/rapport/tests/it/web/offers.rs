//! Earlier answers on the page: offered on the card, given again by one tap, made a rule.

use rapport_core::{By, Event, RuleSource, SessionId};

use super::{WebSite, WebVisitor};
use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};
use crate::support::scenarios::ONE_QUESTION;

/// The facts of a session.
fn facts(project: &Project, id: &SessionId) -> Vec<Event> {
    project.store().read(id, 0).unwrap().into_iter().flat_map(|entry| entry.facts).collect()
}

/// Who answered the first question of a session.
fn answered_by(project: &Project, id: &SessionId) -> Option<By> {
    facts(project, id).into_iter().find_map(|fact| match fact {
        Event::Answered { question, by, .. } if question.as_str() == "q1" => Some(by),
        _ => None,
    })
}

/// Runs a task up to its question.
fn asked(project: &Project, task: &str) -> (Running, SessionId) {
    let before = project.store().list().unwrap();
    let mut run = project.start(&[task], &[]);
    run.until(|fact| matches!(fact, Event::Asked { .. }));
    let id = project.store().list().unwrap().into_iter().find(|id| !before.contains(id)).unwrap();
    (run, id)
}

/// A project in which the question was answered once, in a session that is over.
async fn answered_once(site: &WebSite, phone: &WebVisitor) {
    let (run, first) = asked(&site.project, "paint the door");
    let card = phone.sees(&format!("/?s={first}&q=q1"), "data-option=\"2\"").await;
    assert!(!card.text.contains("Answered before"), "{}", card.text);
    phone.press(&card, "option:1", &[]).await.check(200, "Answered.");
    run.kill();
    site.project.rapport(&["cancel", first.as_str()]).check(0, "");
    // Ends that no process recorded are recorded when the project is loaded.
    site.project.rapport(&["project", "explore"]).check(0, "");
    site.project.rapport(&["project", "show"]).check(0, "");
}

/// LEAD-28: what was answered once is offered on the card of the same question, and is given only by a tap; a second
/// button makes it a rule of the project.
#[tokio::test]
async fn lead_28_an_earlier_answer_is_offered_and_given_by_a_tap() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    answered_once(&site, &phone).await;
    let (run, second) = asked(&site.project, "paint the gate");
    let card = phone.sees(&format!("/?s={second}&q=q1"), "data-option=\"2\"").await;
    card.check(200, "Answered before: <b>Blue</b>").check(200, "phone (web)").check(200, "rapport revoke");
    assert_eq!(answered_by(&site.project, &second), None, "an offer answers nothing");
    // What the form says was offered has to be what is offered.
    let (token, seen) = (card.form_token(), card.text.split_once("name=\"seen\" value=\"").unwrap().1);
    let seen = seen.split('"').next().unwrap();
    let fields =
        [("form", token.as_str()), ("question", "q1"), ("seen", seen), ("offered", "Red"), ("do", "offer")];
    phone.send(&format!("/s/{second}/act"), &fields).await;
    assert_eq!(answered_by(&site.project, &second), None, "another answer was offered");
    phone.press(&card, "offer", &[]).await.check(200, "Answered.");
    let by = By::Person { channel: "web".into(), id: "phone".into() };
    assert_eq!(answered_by(&site.project, &second), Some(by.clone()));
    // A late tap is told that it was answered.
    phone.press(&card, "offer_always", &[]).await.check(200, "Not done: ");
    run.kill();
    let (run, third) = asked(&site.project, "paint the fence");
    let card = phone.sees(&format!("/?s={third}&q=q1"), "data-option=\"2\"").await;
    phone.press(&card, "offer_always", &[]).await.check(200, "The same question is answered so from now on.");
    assert_eq!(answered_by(&site.project, &third), Some(by));
    wait_for("the rule", || {
        facts(&site.project, &third)
            .iter()
            .any(|fact| matches!(fact, Event::AnswerRuleKept { .. }))
            .then_some(())
    });
    run.kill();
    let (run, fourth) = asked(&site.project, "paint the roof");
    assert!(
        matches!(answered_by(&site.project, &fourth), Some(By::Rule { source: RuleSource::Answer, .. })),
        "{:?}",
        answered_by(&site.project, &fourth)
    );
    run.kill();
    site.project.rapport(&["revoke"]).check(0, "\"Which colour?\" is answered Blue");
}

/// A device that may only look sees the offer, and can do nothing with it.
#[tokio::test]
async fn a_device_that_may_only_look_takes_no_offer() {
    let site = WebSite::start(Project::with_scenario(ONE_QUESTION));
    let phone = site.pair("phone").await;
    answered_once(&site, &phone).await;
    let (run, second) = asked(&site.project, "paint the gate");
    let looker = WebVisitor::pair(&site.invite(&["--look"]), "wall").await;
    let card = looker.sees(&format!("/?s={second}&q=q1"), "Which colour?").await;
    card.check(200, "Answered before: <b>Blue</b>");
    assert!(!card.text.contains("value=\"offer\""), "{}", card.text);
    let fields = [("do", "offer"), ("question", "q1"), ("offered", "Blue")];
    let refused = looker.post(&format!("/s/{second}/act"), &fields).send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 403);
    assert_eq!(answered_by(&site.project, &second), None);
    run.kill();
}
