//! Amounts, times and people in words.

use jiff::SignedDuration;
use rapport_core::routing::{Grounding, Hop, Recipient};
use rapport_core::{Activity, Answer, By, OpenQuestion, Permission, Purpose, Question, Usage, View};

/// The title of a question: its header, or the question itself.
pub(super) fn title(question: &OpenQuestion, view: Option<&View>) -> String {
    title_of(&question.question(), view)
}

/// The same for a question that may be answered.
pub(super) fn title_of(question: &Question, view: Option<&View>) -> String {
    match &question.purpose {
        Purpose::Permission(asked) => call(asked, view),
        Purpose::Clarify
        | Purpose::Elicit(_)
        | Purpose::LeavePlanMode { .. }
        | Purpose::Confirm
        | Purpose::Budget { .. }
        | Purpose::Idle => question.header.clone().unwrap_or_else(|| question.text.clone()),
    }
}

/// An answer as the arguments of `rapport answer`; `None` if a line of a shell cannot contain it.
pub(super) fn arguments(question: &Question, answer: &Answer) -> Option<String> {
    let number = |value: &String| {
        let place = question.options.iter().position(|option| option.value == *value)?;
        Some((place + 1).to_string())
    };
    let mut words = answer.values.iter().map(number).collect::<Option<Vec<_>>>()?;
    if let Some(text) = &answer.text {
        if text.chars().any(char::is_control) {
            return None;
        }
        words.push(format!("--text '{}'", text.replace('\'', r"'\''")));
    }
    Some(words.join(" "))
}

/// A call that a permission is about.
pub(super) fn call(asked: &Permission, view: Option<&View>) -> String {
    let what = view.map_or(asked.what.as_str(), |view| view.seen_from().subject(asked.kind, &asked.what));
    format!("{} {what}", asked.tool)
}

/// The agent's activity (`Edit src/main.rs`).
pub(super) fn activity(doing: &Activity, view: Option<&View>) -> String {
    view.map_or_else(|| doing.to_string(), |view| view.seen_from().activity(doing))
}

/// What the lead does with a question, in lines: it considers it, or it drafted an answer.
pub(super) fn of_lead(question: &OpenQuestion) -> Vec<String> {
    if let Some(draft) = &question.draft {
        return drafted(&draft.answer, draft.because.as_ref());
    }
    let Some(way) = question.way.as_ref().filter(|way| way.to == Recipient::Lead) else { return Vec::new() };
    let time = way.until.map(|until| format!(", for up to {}", short(way.since.duration_until(until))));
    let asks = if way.lead_asks { " and asks its person" } else { "" };
    vec![format!("The lead is looking{asks}{}; answer it yourself at any time", time.unwrap_or_default())]
}

/// The answer that a person gave to the same question before, in a line.
pub(super) fn offered(question: &OpenQuestion) -> Option<String> {
    let offer = question.offer.as_ref()?;
    Some(format!("Answered before, in {} by {}: {}", offer.session, somebody(&offer.by), offer.answer))
}

/// The lead's draft, and its ground.
pub(super) fn drafted(answer: &str, because: Option<&Grounding>) -> Vec<String> {
    [format!("The lead drafts: {answer}")].into_iter().chain(because.map(ground)).collect()
}

/// The ground of a lead's answer.
fn ground(because: &Grounding) -> String {
    format!("because of {}: {}", because.ground, because.quote)
}

/// A time in seconds, or in minutes from two on.
fn short(time: SignedDuration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// Where a question was routed, if that is news for the person.
pub(super) fn routed(to: Recipient, why: &Hop) -> Option<String> {
    match (to, why) {
        (_, Hop::Drafted) | (Recipient::Person, Hop::First | Hop::ForPeople) => None,
        (Recipient::Lead, _) => {
            Some("The lead is looking at it first; answer it yourself at any time".into())
        }
        (Recipient::Person, why) => Some(format!("It is your turn to answer: {}", why.in_words())),
        (Recipient::Others, why) => Some(format!("Others are asked as well: {}", why.in_words())),
    }
}

/// Who answered, unless it is the person at this terminal.
pub(super) fn answered_by(by: &By, me: &By, auto: Option<&By>) -> Option<String> {
    if by == me {
        return None;
    }
    match by {
        By::Rule { name, .. } if auto == Some(by) => Some(format!("answered by the {name} itself")),
        _ => Some(format!("answered by {}", somebody(by))),
    }
}

/// The author of an act, by name and place.
pub(super) fn somebody(by: &By) -> String {
    match by {
        By::Person { channel, id } => format!("{id} in {channel}"),
        By::Lead { .. } | By::Model { .. } | By::Rule { .. } => by.to_string(),
    }
}

/// A count with its noun: `1 round`, `3 rounds`.
pub(super) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// A number of tokens: `512`, `5.2k`, `1.2M`.
pub(super) fn tokens(number: u64) -> String {
    let scaled = |unit: f64| number as f64 / unit;
    match number {
        0..1_000 => number.to_string(),
        1_000..999_950 => format!("{:.1}k", scaled(1e3)),
        _ => format!("{:.1}M", scaled(1e6)),
    }
}

/// Tokens and money: `5.2k in, 1.2k out · $0.03`; `None` if nothing was used.
pub(super) fn usage(usage: &Usage) -> Option<String> {
    let read = usage.input.saturating_add(usage.cache_write).saturating_add(usage.cache_read);
    if read == 0 && usage.output == 0 {
        return None;
    }
    let mut words = format!("{} in, {} out", tokens(read), tokens(usage.output));
    if usage.cost_micros > 0 {
        words.push_str(&format!(" · {}", cost(usage.cost_micros)));
    }
    Some(words)
}

/// Money: `$0.03`, and `<$0.01` for less than a cent.
pub(super) fn cost(micros: u64) -> String {
    match micros {
        0..5_000 => "<$0.01".into(),
        _ => format!("${:.2}", micros as f64 / 1e6),
    }
}

/// A duration as on a clock: `01:12`, `1:02:03`.
pub(super) fn clock(time: SignedDuration) -> String {
    let seconds = time.as_secs().max(0);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes:02}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts() {
        for (number, words) in
            [(0, "0"), (999, "999"), (5_200, "5.2k"), (999_999, "1.0M"), (1_234_567, "1.2M")]
        {
            assert_eq!(tokens(number), words);
        }
        for (micros, words) in [(400, "<$0.01"), (30_000, "$0.03"), (12_345_678, "$12.35")] {
            assert_eq!(cost(micros), words);
        }
        for (seconds, words) in [(-5, "00:00"), (72, "01:12"), (3_723, "1:02:03")] {
            assert_eq!(clock(SignedDuration::from_secs(seconds)), words);
        }
    }

    #[test]
    fn people() {
        let me = By::Person { channel: "terminal".into(), id: "me".into() };
        let anna = By::Person { channel: "telegram".into(), id: "anna".into() };
        let demo = By::written_rule("demo");
        assert_eq!(answered_by(&me, &me, None), None);
        assert_eq!(answered_by(&anna, &me, None).as_deref(), Some("answered by anna in telegram"));
        assert_eq!(answered_by(&demo, &me, Some(&demo)).as_deref(), Some("answered by the demo itself"));
        assert_eq!(answered_by(&demo, &me, None).as_deref(), Some("answered by the rule demo"));
    }
}
