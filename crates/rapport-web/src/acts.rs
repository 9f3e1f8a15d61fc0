//! Turns submitted forms into acts. A form names the showing of the question that it answers, so it cannot answer a
//! question that was asked again since, nor another plan.

use std::collections::BTreeMap;

use rapport_core::review::{Checks, Dependencies, Group, MAX_COMMENT, items};
use rapport_core::{
    Act, ActionPlan, ApplyTo, FileTurn, Interrupted, LaterChanges, Presenter, Purpose, Question, QuestionId,
    Reply, RoundView, TurnPlan,
};

use crate::fields::Fields;

/// The acts of a form, in order; or an error message for its sender.
pub(crate) fn acts(presenter: &Presenter, fields: &Fields) -> Result<Vec<Act>, String> {
    let (verb, object) = fields.get("do").split_once(':').unwrap_or((fields.get("do"), ""));
    let one = |act: Act| Ok(vec![act]);
    match verb {
        "option" | "done" | "text" => answer(presenter, fields, verb, object).and_then(one),
        "recommended" => recommended(presenter, fields),
        "back" => one(Act::Back),
        "keep" => one(Act::Keep { question: QuestionId::new(fields.get("question")) }),
        "reopen" => one(Act::Reopen { question: QuestionId::new(object) }),
        "draft" => {
            let question = QuestionId::new(object);
            let drafted = presenter.session().draft(&question).map(|draft| draft.answer);
            // The draft may have changed since it was shown. Forms send line breaks as CR LF.
            let seen = fields.get("drafted").replace("\r\n", "\n");
            drafted
                .filter(|drafted| *drafted == seen)
                .ok_or("The lead has changed its draft. Look at it once more.")?;
            one(Act::SendDraft { question })
        }
        "offer" | "offer_always" => offer(presenter, fields, verb == "offer_always"),
        // The id makes sending the same form again idempotent.
        "say" => one(Act::Say { text: words(fields, "text")?, id: message(fields) }),
        "stop" => one(Act::Stop),
        "restart" => one(Act::Restart),
        "cancel" => one(Act::Cancel { reason: optional(fields, "text") }),
        "apply" | "apply_conflicts" => {
            let with_conflicts = verb == "apply_conflicts";
            one(Act::Apply { with_conflicts, end: fields.number("end"), to: ApplyTo::Files })
        }
        "discard" => one(Act::Discard { reason: None, end: fields.number("end") }),
        "undo_work" => one(Act::UndoWork),
        "allow_host" => one(Act::AllowHost { host: object.to_owned() }),
        "revoke" => {
            let rule =
                object.parse().ok().and_then(|place: usize| presenter.session().rules().get(place).cloned());
            let rule = rule.filter(|rule| rule.to_string() == fields.get("rule"));
            one(Act::Revoke { rule: rule.ok_or("That rule is no longer in force.")? })
        }
        "approve" | "approve_all" | "reply" | "skip" | "accept" | "restore" | "go_on" | "redo" | "undo"
        | "undo_rest" => turn_act(presenter, fields, verb).and_then(one),
        "pause" => one(Act::Pause),
        _ => Err("This page is from another version. Load it again.".to_owned()),
    }
}

/// The round of a question, and its index in that round.
pub(crate) fn find<'a>(presenter: &'a Presenter, question: &QuestionId) -> Option<(RoundView<'a>, usize)> {
    presenter.session().rounds().find_map(|round| {
        let place = round.items.iter().position(|item| item.question.id == *question)?;
        Some((round, place))
    })
}

/// Whether every open question of a round has exactly one recommended option.
pub(crate) fn is_all_recommended(round: &RoundView<'_>) -> bool {
    let mut open = round.items.iter().filter(|item| item.given.is_none()).peekable();
    open.peek().is_some()
        && open.all(|item| {
            item.question.purpose == Purpose::Clarify && recommended_option(item.question).is_some()
        })
}

/// The plan of a turn, as it is shown.
pub(crate) fn plan_of(turn: &FileTurn) -> ActionPlan {
    turn.plan.as_ref().map_or_else(|| ActionPlan::unread(""), TurnPlan::shown)
}

/// The name of an item of a plan in forms and addresses.
pub(crate) fn item_name(group: usize, item: usize) -> String {
    format!("{group}.{item}")
}

/// The field with the comment on an item.
pub(crate) fn comment_name(item: &str) -> String {
    format!("c{item}")
}

/// The marks of a plan whose boxes are checked as in this form.
pub(crate) fn checks(plan: &ActionPlan, is_checked: impl Fn(&str) -> bool) -> Checks {
    let mut checks = Checks::all(plan);
    for (at, group) in Group::ALL.into_iter().enumerate() {
        for item in 0..items(plan, group).len() {
            if !is_checked(&item_name(at, item)) {
                checks.toggle(group, item);
            }
        }
    }
    checks
}

fn answer(presenter: &Presenter, fields: &Fields, verb: &str, object: &str) -> Result<Act, String> {
    let id = QuestionId::new(fields.get("question"));
    is_as_seen(presenter, &id, fields)?;
    let chosen = || fields.all("o").filter_map(|place| place.parse().ok()).collect::<Vec<usize>>();
    let reply = match (verb, optional(fields, "text")) {
        ("option", _) => {
            Reply::Choices(vec![object.parse().map_err(|_| "There is no such option.".to_owned())?])
        }
        ("done", Some(text)) => Reply::Both(chosen(), text),
        ("done", None) => Reply::Choices(chosen()),
        _ => Reply::Text(words(fields, "text")?),
    };
    Ok(Act::Answer { question: Some(id), reply })
}

/// Gives the answer that was offered, and makes it a rule if it is to be given `always`.
fn offer(presenter: &Presenter, fields: &Fields, always: bool) -> Result<Vec<Act>, String> {
    let question = QuestionId::new(fields.get("question"));
    is_as_seen(presenter, &question, fields)?;
    let offered = presenter.session().offer(&question).map(|offer| offer.answer);
    // Forms send line breaks as CR LF.
    let seen = fields.get("offered").replace("\r\n", "\n");
    offered.filter(|offered| *offered == seen).ok_or("That answer is no longer offered.")?;
    let rule = always.then(|| Act::AlwaysAnswer { question: question.clone() });
    Ok([Act::TakeOffer { question }].into_iter().chain(rule).collect())
}

/// Refuses an answer to an earlier showing of a question, because the question may have changed since.
fn is_as_seen(presenter: &Presenter, id: &QuestionId, fields: &Fields) -> Result<(), String> {
    let since = presenter.focus().iter().find(|focus| focus.question == *id).map(|focus| focus.since);
    // The session itself refuses an answered question, and says who answered it.
    let asked = find(presenter, id).map(|(round, place)| {
        let item = &round.items[place];
        (item.given.is_some(), item.question.purpose == Purpose::Confirm)
    });
    match (since, fields.number::<u64>("seen"), asked) {
        (None, Some(_), Some((true, _))) => Ok(()),
        // A confirmation has to name the showing that it answers.
        (None, None, Some((_, is_confirmation))) if !is_confirmation => Ok(()),
        (Some(since), Some(seen), _) if since == seen => Ok(()),
        _ => Err("This was asked again meanwhile. Look at it once more.".to_owned()),
    }
}

fn recommended(presenter: &Presenter, fields: &Fields) -> Result<Vec<Act>, String> {
    let id = QuestionId::new(fields.get("question"));
    is_as_seen(presenter, &id, fields)?;
    let round = find(presenter, &id).map(|(round, _)| round).filter(is_all_recommended);
    let round = round.ok_or("Not every question has one recommended option.")?;
    let open = round.items.iter().filter(|item| item.given.is_none());
    let acts = open.filter_map(|item| {
        let reply = Reply::Choices(vec![recommended_option(item.question)?]);
        Some(Act::Answer { question: Some(item.question.id.clone()), reply })
    });
    Ok(acts.collect())
}

/// The recommended option of a question, if it has exactly one.
fn recommended_option(question: &Question) -> Option<usize> {
    let mut recommended = question.options.iter().enumerate().filter(|(_, option)| option.recommended);
    recommended.next().filter(|_| recommended.next().is_none()).map(|(place, _)| place)
}

fn turn_act(presenter: &Presenter, fields: &Fields, verb: &str) -> Result<Act, String> {
    let folder = fields.get("turn").to_owned();
    let turn = presenter.session().file_turn(&folder).ok_or("There is no such turn.")?;
    let batch = turn.batch().map(|batch| batch.name.clone()).unwrap_or_default();
    Ok(match verb {
        "approve" | "approve_all" => {
            let plan = plan_of(turn);
            // An item with a comment is left out: the agent reads the comment as the reason.
            let checks = checks(&plan, |name| {
                let is_checked = verb == "approve_all" || fields.all("i").any(|i| i == name);
                is_checked && comment(fields, name).is_none()
            });
            if checks.checked() == 0 {
                return Err("Nothing is checked. Check something, or skip the plan.".to_owned());
            }
            let mut selection = checks.selection(&Dependencies::of(&plan));
            let comments = comments(&plan, fields);
            selection.explain(|group, item| comments.get(&(group, item)).map(String::as_str));
            let chosen = selection.chosen();
            // The revision that the person saw. The session refuses any other.
            let revision =
                fields.number("revision").ok_or("The form does not say which plan it is about.")?;
            Act::Approve { folder, revision, chosen }
        }
        "reply" => {
            Act::AnswerReply { folder, text: words(fields, "text")?, asking: None, is_size_agreed: false }
        }
        "skip" => {
            let plan = plan_of(turn);
            let commented = comments(&plan, fields).into_iter().filter_map(|((group, item), comment)| {
                let of = items(&plan, group).into_iter().nth(item)?;
                Some(format!("{} {}: {comment}", of.label.trim_end_matches([':', ' ']), of.what))
            });
            let parts: Vec<_> = optional(fields, "text").into_iter().chain(commented).collect();
            let message = Some(parts.join("\n")).filter(|message| !message.is_empty());
            Act::Skip { folder, message }
        }
        "accept" => {
            let text = turn.differs.clone().unwrap_or_default();
            if rapport_durable::digest(text.as_bytes()) != fields.get("digest") {
                return Err("The file was changed again meanwhile. Look at it once more.".to_owned());
            }
            Act::AcceptPlan { folder, text }
        }
        "restore" => Act::RestorePlan { folder },
        "go_on" if turn.batch().is_some_and(|batch| batch.unsure.is_some()) => {
            Act::GoOn { batch, interrupted: Interrupted::GoOn }
        }
        "go_on" | "redo" => Act::GoOn { batch, interrupted: Interrupted::Again },
        "undo" => Act::Undo { batch, later: LaterChanges::Refuse },
        _ => Act::Undo { batch, later: LaterChanges::Keep },
    })
}

/// The comments on the items of a plan.
fn comments(plan: &ActionPlan, fields: &Fields) -> BTreeMap<(Group, usize), String> {
    let all = Group::ALL.into_iter().enumerate().flat_map(|(at, group)| {
        (0..items(plan, group).len()).map(move |item| ((group, item), item_name(at, item)))
    });
    all.filter_map(|(place, name)| Some((place, comment(fields, &name)?))).collect()
}

/// The comment on the item of this name, on one line.
fn comment(fields: &Fields, name: &str) -> Option<String> {
    let words = fields.get(&comment_name(name)).split_whitespace().collect::<Vec<_>>().join(" ");
    Some(words.chars().take(MAX_COMMENT).collect()).filter(|comment: &String| !comment.is_empty())
}

/// The message id that the form carries.
fn message(fields: &Fields) -> Option<String> {
    let id = fields.get("message");
    let is_own = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_own.then(|| format!("web-{id}"))
}

fn words(fields: &Fields, name: &str) -> Result<String, String> {
    optional(fields, name).ok_or_else(|| "Nothing was written.".to_owned())
}

fn optional(fields: &Fields, name: &str) -> Option<String> {
    // Forms send line breaks as CR LF.
    Some(fields.get(name).replace("\r\n", "\n")).filter(|text| !text.trim().is_empty())
}
