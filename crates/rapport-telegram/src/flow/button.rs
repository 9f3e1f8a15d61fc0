//! The callback data of buttons: `iq:` and a few words, at most 64 bytes, with a tag that identifies the card.

use std::collections::BTreeSet;
use std::fmt;

use crate::bot_api::InlineKeyboardMarkup;
use rapport_core::{QuestionId, Rule, SessionId};

/// The prefix of our callback data.
const PREFIX: &str = "iq:";
/// The number of letters in a tag.
const TAG_LENGTH: usize = 6;

/// The function of a button. Questions and options are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Button {
    /// `iq:a:{question}:{option}`: answers with this option.
    Answer(usize, usize),
    /// `iq:m1:{question}:{option}`: selects this option among several; `iq:m0`: deselects it. In a plan's list `option`
    /// is the item.
    Pick(Pick, usize, usize),
    /// `iq:d`: answers with the selected options.
    Done,
    /// `iq:t`: asks for free text.
    Type,
    /// `iq:aw`: answers with the text that this message replies to.
    Words,
    /// `iq:nw`: begins something new with the text that this message replies to.
    BeginNew,
    /// `iq:r`: answers this question and all after it as recommended.
    Recommended,
    /// `iq:sd`: sends what the lead drafted.
    SendDraft,
    /// `iq:of`: gives the answer that was given to the same question before.
    TakeOffer,
    /// `iq:oa`: does the same, and has it always answered so in this project.
    AlwaysOffer,
    /// `iq:my`: has the person asked instead of the lead.
    Myself,
    /// `iq:ow`: opens a question again that a lead answered, in a branch.
    OtherWay,
    /// `iq:lk`: keeps what was learned.
    KeepLearning,
    /// `iq:ln`: declines what was learned.
    DropLearning,
    /// `iq:back`: goes back to the previous question.
    Back,
    /// `iq:confirm`: starts the work.
    Confirm,
    /// `iq:edit`: lists the answers to change.
    Edit,
    /// `iq:eq:{question}`: changes this answer.
    EditQuestion(usize),
    /// `iq:edit_cancel`: closes the list without changing an answer.
    EditCancel,
    /// `iq:cx`: asks whether to end the session.
    AskCancel,
    /// `iq:cancel`: ends the session.
    Cancel,
    /// `iq:cn`: declines a confirmation.
    NoCancel,
    /// `iq:yd`, `iq:ys`, `iq:yu`, `iq:yf`: confirms an irreversible act.
    Sure(Grave),
    /// `iq:w`: shows the full text of the question.
    Whole,
    /// `iq:j`: shows the card again.
    Jump,
    /// `iq:again`: retries what failed.
    Again,
    /// `iq:ap`: runs all of a plan.
    Approve,
    /// `iq:ch`: lists the items of a plan.
    Choose,
    /// `iq:run`: runs the selected items.
    Run,
    /// `iq:pv:{item}`: shows the preview of this item.
    Preview(usize),
    /// `iq:pg:{page}:{selected}`: shows this page of the list. Its selected items are the bits of the number, so that the
    /// card knows them after a restart.
    Page(usize, u64),
    /// `iq:sk`: asks whether to skip a plan.
    Skip,
    /// `iq:go`: resumes an interrupted run after the interrupted action.
    GoOn,
    /// `iq:re`: resumes an interrupted run and repeats the interrupted action.
    Redo,
    /// `iq:un`: asks whether to undo a run's changes to files.
    Undo,
    /// `iq:uf`: asks the same, except for files that were changed after the run.
    UndoRest,
    /// `iq:rp`: shows the report.
    Report,
    /// `iq:ok`: accepts the plan as it is in its file.
    Accept,
    /// `iq:rs`: restores the plan's file.
    Restore,
    /// `iq:zz`: snoozes the reminder.
    Snooze,
    /// `iq:rv`: revokes a rule.
    Revoke,
    /// `iq:st`: stops the agent's turn.
    Stop,
    /// `iq:hu`: uses the transcription of a voice message.
    UseHeard,
    /// `iq:hd`: discards the transcription.
    DropHeard,
    /// `iq:pr`: selects this project for a chat.
    Project,
    /// `iq:ws`: shows the changes of work that waits for a decision, and the possible decisions.
    SeeWork,
    /// `iq:wa`: applies such work to the project.
    ApplyWork,
    /// `iq:wd`: asks whether to discard it.
    DiscardWork,
    /// `iq:wr`: asks what to change about it.
    ReviseWork,
    /// `iq:f:{file}`: sends this file of ended work.
    File(usize),
}

/// An irreversible act, which requires a confirmation by a second tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grave {
    /// Discards work that waits for a decision.
    Discard,
    /// Skips a plan.
    Skip,
    /// Undoes a run's changes to files.
    Undo,
    /// Undoes a run's changes, except for files that were changed after the run.
    UndoRest,
}

/// The effect of a tap on a check box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    TakeIn,
    LeaveOut,
}

/// A button that was pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Press {
    pub button: Button,
    /// The tag of the card, if the button has one.
    pub tag: Option<Tag>,
}

/// Identifies one showing of a question.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tag(String);

impl Tag {
    /// The tag of a session's question that has been in front of the person since this entry of the log.
    pub fn of(session: &SessionId, question: &QuestionId, since: u64) -> Self {
        Self::made_of(&format!("{session}\0{question}\0{since}"))
    }

    /// The tag of a voice message's transcription, by the update that brought it.
    pub fn heard(update: &str) -> Self {
        Self::made_of(&format!("heard\0{update}"))
    }

    /// The tag of a rule with its scope: a session, or one of several projects, or the only project.
    pub fn rule(rule: &Rule, scope: Option<&str>) -> Self {
        Self::made_of(&format!("rule\0{}\0{rule:?}", scope.unwrap_or_default()))
    }

    /// The tag of the files that the work of a session produced.
    pub fn files(session: &SessionId) -> Self {
        Self::made_of(&format!("files\0{session}"))
    }

    /// The tag of a project, by its directory.
    pub fn project(path: &str) -> Self {
        Self::made_of(&format!("project\0{path}"))
    }

    /// The tag of a question that a lead answered.
    pub fn overruled(session: &SessionId, question: &QuestionId) -> Self {
        Self::made_of(&format!("overruled\0{session}\0{question}"))
    }

    /// The tag of something that was learned about the project in this directory.
    pub fn learning(project: &str, id: &str) -> Self {
        Self::made_of(&format!("learning\0{project}\0{id}"))
    }

    fn made_of(words: &str) -> Self {
        // FNV-1a is sufficient, because a tag is not a secret: the channel checks the sender as well.
        let hash = words.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let letter = |place: u32| {
            let digit = hash / 36_u64.pow(place) % 36;
            char::from_digit(u32::try_from(digit).unwrap_or(0), 36).unwrap_or('0')
        };
        Self((0..TAG_LENGTH).map(|place| letter(u32::try_from(place).unwrap_or(0))).collect())
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Button {
    /// The callback data of this button on the card with this tag.
    pub fn data(self, tag: &Tag) -> String {
        let words = match self {
            Button::Answer(question, option) => format!("a:{question}:{option}"),
            Button::Pick(Pick::TakeIn, question, option) => format!("m1:{question}:{option}"),
            Button::Pick(Pick::LeaveOut, question, option) => format!("m0:{question}:{option}"),
            Button::EditQuestion(question) => format!("eq:{question}"),
            Button::Done => "d".into(),
            Button::Type => "t".into(),
            Button::Words => "aw".into(),
            Button::BeginNew => "nw".into(),
            Button::Recommended => "r".into(),
            Button::SendDraft => "sd".into(),
            Button::TakeOffer => "of".into(),
            Button::AlwaysOffer => "oa".into(),
            Button::Myself => "my".into(),
            Button::OtherWay => "ow".into(),
            Button::KeepLearning => "lk".into(),
            Button::DropLearning => "ln".into(),
            Button::Back => "back".into(),
            Button::Confirm => "confirm".into(),
            Button::Edit => "edit".into(),
            Button::EditCancel => "edit_cancel".into(),
            Button::AskCancel => "cx".into(),
            Button::Cancel => "cancel".into(),
            Button::NoCancel => "cn".into(),
            Button::Sure(Grave::Discard) => "yd".into(),
            Button::Sure(Grave::Skip) => "ys".into(),
            Button::Sure(Grave::Undo) => "yu".into(),
            Button::Sure(Grave::UndoRest) => "yf".into(),
            Button::Whole => "w".into(),
            Button::Jump => "j".into(),
            Button::Again => "again".into(),
            Button::Approve => "ap".into(),
            Button::Choose => "ch".into(),
            Button::Run => "run".into(),
            Button::Preview(item) => format!("pv:{item}"),
            Button::Page(page, selected) => format!("pg:{page}:{selected}"),
            Button::Skip => "sk".into(),
            Button::GoOn => "go".into(),
            Button::Redo => "re".into(),
            Button::Undo => "un".into(),
            Button::UndoRest => "uf".into(),
            Button::Report => "rp".into(),
            Button::Accept => "ok".into(),
            Button::Restore => "rs".into(),
            Button::Snooze => "zz".into(),
            Button::Revoke => "rv".into(),
            Button::Stop => "st".into(),
            Button::UseHeard => "hu".into(),
            Button::DropHeard => "hd".into(),
            Button::Project => "pr".into(),
            Button::SeeWork => "ws".into(),
            Button::ApplyWork => "wa".into(),
            Button::DiscardWork => "wd".into(),
            Button::ReviseWork => "wr".into(),
            Button::File(file) => format!("f:{file}"),
        };
        format!("{PREFIX}{words}:{tag}")
    }
}

/// Parses callback data; `None` if it does not come from a button of this bot.
pub fn read(data: &str) -> Option<Press> {
    let mut words = data.strip_prefix(PREFIX)?.split(':');
    let kind = words.next()?;
    let mut number = || words.next()?.parse::<usize>().ok();
    let button = match kind {
        "a" => Button::Answer(number()?, number()?),
        "m1" => Button::Pick(Pick::TakeIn, number()?, number()?),
        "m0" => Button::Pick(Pick::LeaveOut, number()?, number()?),
        // Check boxes of earlier versions did not say whether they select or deselect. The card is shown again, with
        // check boxes that do.
        "m" => number().and_then(|_| number()).map(|_| Button::Jump)?,
        "eq" => Button::EditQuestion(number()?),
        "d" => Button::Done,
        "t" => Button::Type,
        "aw" => Button::Words,
        "nw" => Button::BeginNew,
        "r" => Button::Recommended,
        "sd" => Button::SendDraft,
        "of" => Button::TakeOffer,
        "oa" => Button::AlwaysOffer,
        "my" => Button::Myself,
        "ow" => Button::OtherWay,
        "lk" => Button::KeepLearning,
        "ln" => Button::DropLearning,
        "back" => Button::Back,
        "confirm" => Button::Confirm,
        "edit" => Button::Edit,
        "edit_cancel" => Button::EditCancel,
        "cx" => Button::AskCancel,
        "cancel" => Button::Cancel,
        "cn" => Button::NoCancel,
        "yd" => Button::Sure(Grave::Discard),
        "ys" => Button::Sure(Grave::Skip),
        "yu" => Button::Sure(Grave::Undo),
        "yf" => Button::Sure(Grave::UndoRest),
        "w" => Button::Whole,
        "j" => Button::Jump,
        "again" => Button::Again,
        "ap" => Button::Approve,
        "ch" => Button::Choose,
        "run" => Button::Run,
        "pv" => Button::Preview(number()?),
        "pg" => Button::Page(number()?, u64::try_from(number()?).ok()?),
        "sk" => Button::Skip,
        "go" => Button::GoOn,
        "re" => Button::Redo,
        "un" => Button::Undo,
        "uf" => Button::UndoRest,
        "rp" => Button::Report,
        "ok" => Button::Accept,
        "rs" => Button::Restore,
        "zz" => Button::Snooze,
        "rv" => Button::Revoke,
        "st" => Button::Stop,
        "hu" => Button::UseHeard,
        "hd" => Button::DropHeard,
        "pr" => Button::Project,
        "ws" => Button::SeeWork,
        "wa" => Button::ApplyWork,
        "wd" => Button::DiscardWork,
        "wr" => Button::ReviseWork,
        "f" => Button::File(number()?),
        _ => return None,
    };
    let tag = words.next().map(|tag| Tag(tag.to_owned()));
    words.next().is_none().then_some(Press { button, tag })
}

/// The maximum number of items with check boxes on one page. A message has at most a hundred buttons.
pub const ON_A_PAGE: usize = 40;

/// The selected options on a card, according to its check boxes and the page buttons, which encode the selection of
/// other pages.
pub fn chosen_on(keyboard: Option<&InlineKeyboardMarkup>) -> BTreeSet<usize> {
    let buttons = keyboard.into_iter().flat_map(|keyboard| keyboard.inline_keyboard.iter().flatten());
    let pressed = buttons.filter_map(|shown| Some(read(shown.callback_data.as_deref()?)?.button));
    let mut chosen = BTreeSet::new();
    for button in pressed {
        match button {
            Button::Pick(Pick::LeaveOut, _, option) => drop(chosen.insert(option)),
            Button::Page(page, selected) => {
                let bits = (0..ON_A_PAGE).filter(|bit| selected >> bit & 1 == 1);
                chosen.extend(bits.filter_map(|bit| page.checked_mul(ON_A_PAGE)?.checked_add(bit)));
            }
            _ => {}
        }
    }
    chosen
}

/// The button of a page with these items selected.
pub fn page_of(page: usize, chosen: &BTreeSet<usize>) -> Button {
    let items = chosen.iter().filter(|item| **item / ON_A_PAGE == page);
    Button::Page(page, items.fold(0, |bits, item| bits | 1 << (item % ON_A_PAGE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag() -> Tag {
        Tag::of(&SessionId::new("20260124-add-user-auth"), &QuestionId::new("q1"), 7)
    }

    /// CHAT-21: the documented part, then a tag; CHAT-22: nothing else is accepted.
    #[test]
    fn every_button_is_read_as_it_was_written_and_is_short() {
        let all = [
            Button::Answer(12, 3),
            Button::Pick(Pick::TakeIn, 99, 3),
            Button::Pick(Pick::LeaveOut, 99, 3),
            Button::Done,
            Button::Type,
            Button::Words,
            Button::BeginNew,
            Button::Recommended,
            Button::SendDraft,
            Button::Back,
            Button::Confirm,
            Button::Edit,
            Button::EditQuestion(20),
            Button::EditCancel,
            Button::AskCancel,
            Button::Cancel,
            Button::NoCancel,
            Button::Sure(Grave::Discard),
            Button::Sure(Grave::Skip),
            Button::Sure(Grave::Undo),
            Button::Sure(Grave::UndoRest),
            Button::Whole,
            Button::Jump,
            Button::Again,
            Button::Approve,
            Button::Choose,
            Button::Run,
            Button::Preview(99),
            Button::Page(17, (1 << ON_A_PAGE) - 1),
            Button::Skip,
            Button::GoOn,
            Button::Redo,
            Button::Undo,
            Button::UndoRest,
            Button::Report,
            Button::Accept,
            Button::Restore,
            Button::Snooze,
            Button::Revoke,
            Button::Stop,
            Button::UseHeard,
            Button::DropHeard,
            Button::SeeWork,
            Button::ApplyWork,
            Button::DiscardWork,
            Button::ReviseWork,
            Button::Project,
            Button::File(7),
        ];
        for button in all {
            let data = button.data(&tag());
            assert!(data.len() <= 64 && data.starts_with("iq:"), "{data}");
            assert_eq!(read(&data), Some(Press { button, tag: Some(tag()) }), "{data}");
        }
    }

    #[test]
    fn data_without_a_tag_is_read_as_the_document_has_it() {
        let cases = [
            ("iq:a:0:2", Button::Answer(0, 2)),
            ("iq:m:1:2", Button::Jump),
            ("iq:back", Button::Back),
            ("iq:confirm", Button::Confirm),
            ("iq:edit", Button::Edit),
            ("iq:eq:2", Button::EditQuestion(2)),
            ("iq:cancel", Button::Cancel),
        ];
        for (data, button) in cases {
            assert_eq!(read(data), Some(Press { button, tag: None }), "{data}");
        }
    }

    #[test]
    fn what_is_not_ours_is_nobodys() {
        let others = [
            "code_answer:option:1",
            "code_plan:approve:x",
            "code_dash:status:x",
            "routine_target:1",
            "iq",
            "iq:",
            "iq:a",
            "iq:a:0",
            "iq:a:x:y",
            "iq:a:0:1:tag:more",
            "iq:a:-1:0",
            "iq:nothing",
        ];
        for data in others {
            assert_eq!(read(data), None, "{data}");
        }
    }

    #[test]
    fn another_session_question_or_showing_has_another_tag() {
        let session = SessionId::new("20260124-add-user-auth");
        let others = [
            Tag::of(&SessionId::new("20260124-add-user-auth-2"), &QuestionId::new("q1"), 7),
            Tag::of(&session, &QuestionId::new("q2"), 7),
            Tag::of(&session, &QuestionId::new("q1"), 8),
        ];
        assert!(others.iter().all(|other| *other != tag()));
    }
}
