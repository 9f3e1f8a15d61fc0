//! `/digest`: what leads did while the person was away, and overruling it line by line. An answer is overruled by a branch
//! in which its question is open again; what the person answers there is proposed as a learning, so that the lead does
//! not give the other answer again.

use jiff::{SignedDuration, Timestamp};
use rapport_core::{By, Created, Digest, DigestLine, Entry, Event, LeadDid, Question, SessionId};
use rapport_door::{DoorError, JointSessions};

use super::button::{Button, Tag};
use super::callbacks::{NOT_YOURS, Tap};
use super::card::{self, Card};
use super::chat_state::{ChatState, person};
use super::effect::{AfterBranch, AfterDigest, AfterProjects, Effect, ProjectsRequest};
use super::messages::Visit;
use super::projects::Projects;
use super::step_effects::Effects;
use crate::access::Access;
use crate::room::Room;
use crate::text::Text;

/// The time that a digest covers, unless the person names another.
const USUAL: SignedDuration = SignedDuration::from_hours(24);
/// The time in which an answer can be overruled here.
const OVERRULABLE: SignedDuration = SignedDuration::from_hours(24 * 90);
/// The maximum number of lines of a digest. The newest are shown.
const MOST: usize = 15;
/// The maximum lengths of a question, an answer and a reason.
const LONGEST: usize = 160;
/// The maximum length of a question on a button.
const ON_A_BUTTON: usize = 30;

/// `/digest` and `/digest TIME`.
pub(super) fn on_command(effects: &mut Effects, visit: &Visit, rest: &str, now: Timestamp) {
    let Some(span) = span(rest) else {
        return effects.only_say(visit, "Usage: /digest, or /digest 48h for another time than a day");
    };
    let since = now.checked_sub(span).unwrap_or(Timestamp::UNIX_EPOCH);
    let (room, by, ticket) = (visit.room, visit.sender.id, visit.ticket);
    effects.type_for(room);
    effects.want(Effect::ReadDigest { since, then: AfterDigest::Show { room, by, ticket } });
}

/// The time that a person names: `48h`, `7d`, or nothing for the usual one.
fn span(words: &str) -> Option<SignedDuration> {
    let words = words.trim().to_lowercase();
    if words.is_empty() {
        return Some(USUAL);
    }
    let days = words.strip_suffix('d').and_then(|days| days.trim().parse::<u32>().ok());
    let span = match days {
        Some(days) => SignedDuration::from_hours(24 * i64::from(days)),
        None => words.parse().ok()?,
    };
    span.is_positive().then_some(span)
}

/// A tap on the button that overrules a lead's answer. The answer is looked for in the logs, because the card may be of
/// an earlier process, and its session may be over.
pub(super) fn on_overrule(effects: &mut Effects, tap: Tap, tag: Tag, now: Timestamp) {
    let Tap { room, by, query, ticket, .. } = tap;
    effects.answer_tap(query, "🌿 One moment…");
    let since = now.checked_sub(OVERRULABLE).unwrap_or(Timestamp::UNIX_EPOCH);
    effects.want(Effect::ReadDigest { since, then: AfterDigest::Overrule { room, by, ticket, tag } });
}

/// Shows a digest, or overrules one of its lines.
pub(super) fn on_digest(state: &mut ChatState, then: AfterDigest, digest: Result<Digest, DoorError>) {
    let (room, by, ticket) = match &then {
        AfterDigest::Show { room, by, ticket } | AfterDigest::Overrule { room, by, ticket, .. } => {
            (*room, *by, *ticket)
        }
    };
    let digest = match digest {
        Ok(digest) => digest,
        Err(error) => {
            state.effects.say(room, &format!("❌ That failed: {error}. Please try again."));
            return state.effects.finish(ticket);
        }
    };
    match then {
        AfterDigest::Show { .. } => {
            let theirs = |line: &DigestLine| may_see(state, line, room, by);
            let Digest { lines, usage, .. } = digest;
            let lines: Vec<_> = lines.into_iter().filter(theirs).collect();
            let card = shown(&lines, usage.cost_micros);
            state.effects.send_card(room, &card);
            state.effects.finish(ticket);
        }
        AfterDigest::Overrule { tag, .. } => {
            let is_it = |line: &&DigestLine| Tag::overruled(&line.session, &line.question) == tag;
            let Some(line) = digest.lines.iter().find(is_it) else {
                state.effects.say(room, "I cannot find that answer any more.");
                return state.effects.finish(ticket);
            };
            if !may_see(state, line, room, by) {
                state.effects.say(room, NOT_YOURS);
                return state.effects.finish(ticket);
            }
            let project = state.projects.of(&line.session).path.clone();
            let (session, question) = (line.session.clone(), line.question.clone());
            let then = AfterBranch { room, ticket, question: line.text.clone() };
            state.effects.want(Effect::Branch { project, session, question, then });
        }
    }
}

/// Whether a person may see and overrule what a lead did: the owner of the lead and their guests. What leads did that
/// began elsewhere is for the first user with access, in their private chat. A group sees only its own.
fn may_see(state: &ChatState, line: &DigestLine, room: Room, user: u64) -> bool {
    let place = place_of_lead(state, line);
    match place {
        Some((home, owner)) => state.notes.may(user, home, owner) && (room.chat > 0 || room == home),
        None => room.chat > 0 && state.settings.owner == Some(user),
    }
}

/// The room and the owner of the lead that a line is about.
fn place_of_lead(state: &ChatState, line: &DigestLine) -> Option<(Room, u64)> {
    if let Some(shown) = state.sessions.get(&line.session) {
        return Some((shown.room, shown.owner));
    }
    let (LeadDid::Answered { by: By::Lead { name }, .. } | LeadDid::Drafted { by: By::Lead { name }, .. }) =
        &line.what
    else {
        return None;
    };
    // A lead is named as its own project names it.
    let prefix = JointSessions::split(&line.session).0.map(|project| format!("{project}:"));
    state.leads.place(&SessionId::new(format!("{}{name}", prefix.unwrap_or_default())))
}

/// A digest as a card, with a button for each answer that can be overruled.
fn shown(lines: &[DigestLine], cost_micros: u64) -> Card {
    let mut text = Text::new().plain("🗞 ").bold("While you were away");
    if lines.is_empty() {
        text = text.plain("\nNo lead answered, drafted or passed on anything.");
    }
    let left_out = lines.len().saturating_sub(MOST);
    if left_out > 0 {
        text = text.plain(&format!("\n{left_out} earlier ones are left out; `rapport digest` has all."));
    }
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(lines.iter().skip(left_out)) {
        text = text.plain(&format!("\n\n{number}. {}\n", card::short(&line.text, LONGEST)));
        text = text.text(&did(&line.what));
        if matches!(line.what, LeadDid::Answered { .. }) {
            let label = format!("↩️ {number}. {}", card::short(&line.text, ON_A_BUTTON));
            rows.push(vec![(label, Button::OtherWay.data(&Tag::overruled(&line.session, &line.question)))]);
        }
    }
    if !rows.is_empty() {
        text = text.plain("\n\nA button opens its question again, in a branch, to try the other way.");
    }
    text = text.plain(&format!("\n\nLeads cost {} in that time.", card::cost(cost_micros)));
    Card { rows, ..Card::plain(text) }
}

fn did(what: &LeadDid) -> Text {
    let (mark, answer, because) = match what {
        LeadDid::Answered { answer, because, .. } => ("✅", answer, because),
        LeadDid::Drafted { answer, because, .. } => ("✏️ drafted:", answer, because),
        LeadDid::PassedOn { why } => {
            return Text::new().plain(&format!("⤴️ passed on, because {}", card::short(why, LONGEST)));
        }
    };
    let text = Text::new().plain(&format!("{mark} ")).bold(&card::short(answer, LONGEST));
    because.iter().fold(text, |text, because| {
        text.plain(&format!("\n📎 {}: ", because.ground)).italic(&card::short(&because.quote, LONGEST))
    })
}

/// Tells the person that a question is open again, or why it is not.
pub(super) fn on_branched(effects: &mut Effects, then: AfterBranch, made: Result<SessionId, String>) {
    let AfterBranch { room, ticket, question } = then;
    let question = card::short(&question, LONGEST);
    let words = match made {
        Ok(id) => {
            let own = JointSessions::split(&id).1;
            format!(
                "🌿 {question}\nThe question is open again, in {own}, which works in a worktree of its own. The other session \
                 goes on as it was."
            )
        }
        Err(why) => format!("❌ I cannot open that question again: {}", card::short(&why, 600)),
    };
    effects.say(room, &words);
    effects.finish(ticket);
}

/// Proposes to keep the answer by which a person overruled a lead: the answer to the question at which a session branched
/// off.
pub(super) fn propose(
    effects: &mut Effects,
    (id, created, room): (&SessionId, &Created, Room),
    entry: &Entry,
    asked: impl Fn(&rapport_core::QuestionId) -> Option<Question>,
) {
    let Some(point) = created.branched_from.as_ref().filter(|_| created.lead.is_some()) else { return };
    for fact in &entry.facts {
        let Event::Answered { question, answer, by: by @ By::Person { .. } } = fact else { continue };
        let Some(asked) = asked(question).filter(|_| point.question() == Some(question)) else { continue };
        let (asked, answer) = (card::short(&asked.text, LONGEST), card::short(&asked.words(answer), LONGEST));
        let text = format!("When asked \"{asked}\": {answer}");
        let from = format!("{}/{question}", JointSessions::split(id).1);
        let request = ProjectsRequest::Propose { project: created.project.clone(), text, from };
        let then = AfterProjects { room, ticket: None };
        effects.want(Effect::AskProjects { by: by.clone(), request, then });
    }
}

/// Asks whether to keep something that was learned.
pub(super) fn proposal(project: &str, id: &str, text: &str) -> Card {
    let words =
        Text::new().plain("📌 Shall I keep this for next time?\n").italic(&card::short(text, 2 * LONGEST));
    let words =
        words.plain("\nLeads may then answer so, and name it as the ground. /claude PROJECT knows it, too.");
    let tag = Tag::learning(project, id);
    let rows = vec![vec![
        ("📌 Keep it".to_owned(), Button::KeepLearning.data(&tag)),
        ("✖ No".to_owned(), Button::DropLearning.data(&tag)),
    ]];
    Card { rows, ..Card::plain(words) }
}

/// A tap on such a card.
pub(super) fn on_learning(
    (projects, access): (&Projects, &Access),
    effects: &mut Effects,
    tap: Tap,
    tag: Tag,
    keeps: bool,
) {
    if !access.allows(tap.by) {
        return effects.only_answer(tap, "Only people who may use this bot can do that.");
    }
    let Tap { room, by, query, message, ticket, .. } = tap;
    if let Some(message) = message {
        effects.strip(room, message);
    }
    effects.answer_tap(query, "");
    let paths = projects.all().map(|project| project.path.clone()).collect();
    let request = ProjectsRequest::Decide { projects: paths, tag, keeps };
    let then = AfterProjects { room, ticket: Some(ticket) };
    effects.want(Effect::AskProjects { by: person(by), request, then });
}

#[cfg(test)]
mod tests {
    use rapport_core::QuestionId;
    use rapport_core::routing::{Ground, Grounding};

    use super::*;

    fn line(question: &str, what: LeadDid) -> DigestLine {
        let (session, at) = (SessionId::new("s"), Timestamp::UNIX_EPOCH);
        DigestLine { session, question: QuestionId::new(question), text: format!("{question}?"), at, what }
    }

    fn answered(question: &str) -> DigestLine {
        let (answer, by) = ("Cookies".to_owned(), By::Lead { name: "lead".into() });
        let ground = Ground::Preference("p1".into());
        let because = Some(Grounding { ground, quote: "No tokens in\nlocal storage.".into() });
        line(question, LeadDid::Answered { answer, by, because })
    }

    #[test]
    fn lead_28_a_digest_names_grounds_and_costs_and_each_answer_can_be_overruled() {
        let passed_on = line("q2", LeadDid::PassedOn { why: "the time for an answer is over".into() });
        let card = shown(&[answered("q1"), passed_on], 12_345);
        let text = card.text.words();
        for part in [
            "1. q1?\n✅ Cookies\n📎 preference:p1: No tokens in local storage.",
            "2. q2?\n⤴️ passed on, because the time for an answer is over",
            "Leads cost $0.02 in that time.",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let tag = Tag::overruled(&SessionId::new("s"), &QuestionId::new("q1"));
        assert_eq!(card.rows, [[("↩️ 1. q1?".to_owned(), Button::OtherWay.data(&tag))]]);
    }

    #[test]
    fn an_empty_digest_says_so() {
        let card = shown(&[], 0);
        assert!(card.text.words().contains("No lead answered, drafted or passed on anything."));
        assert!(card.rows.is_empty());
    }

    #[test]
    fn the_newest_lines_are_shown() {
        let many: Vec<_> = (0..20).map(|n| answered(&format!("q{n}"))).collect();
        let card = shown(&many, 0);
        assert_eq!(card.rows.len(), MOST);
        let text = card.text.words();
        assert!(
            text.contains("5 earlier ones") && text.contains("15. q19?") && !text.contains(" q4?"),
            "{text}"
        );
    }

    #[test]
    fn a_time_is_hours_or_days() {
        for (words, hours) in
            [("", Some(24)), ("48h", Some(48)), ("7d", Some(168)), ("soon", None), ("0h", None)]
        {
            assert_eq!(span(words).map(|span| span.as_hours()), hours, "{words:?}");
        }
    }
}
