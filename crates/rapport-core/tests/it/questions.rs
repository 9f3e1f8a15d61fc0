//! How what somebody gave becomes an answer (CHAT-16, CHAT-25, CHAT-26), or why it does not.

use rapport_core::{Choice, Field, FieldKind, MAX_TEXT, Purpose, Question, QuestionId, Reply};

/// A question with these options; "2 Two" has the value `2` and the label `Two`, "Two" is both.
fn question(options: &[&str], multi: bool, free_text: bool) -> Question {
    let option = |option: &&str| match option.split_once('|') {
        Some((value, label)) => Choice { label: label.into(), value: value.into(), ..Choice::plain("") },
        None => Choice::plain(*option),
    };
    Question {
        id: QuestionId::new("q1"),
        text: "Which?".into(),
        header: None,
        options: options.iter().map(option).collect(),
        multi,
        free_text,
        purpose: Purpose::Clarify,
    }
}

/// The answer as `value, value "own words"`, or the refusal.
#[track_caller]
fn check(question: &Question, reply: Reply, expected: &str) {
    let got = match question.resolve(&reply) {
        Ok(answer) => {
            let text = answer.text.map(|text| format!("\"{text}\""));
            answer.values.into_iter().chain(text).collect::<Vec<_>>().join(", ")
        }
        Err(refusal) => format!("refused: {refusal}"),
    };
    let shown = format!("{reply:?}").chars().take(200).collect::<String>();
    assert_eq!(got, expected, "{shown}");
}

fn words(words: &[&str]) -> Reply {
    Reply::Words(words.iter().map(|word| (*word).into()).collect())
}

const WAYS: [&str; 3] = ["passkey|Passkeys", "pw|Passwords", "link|Magic link"];

#[test]
fn chat_16_words_are_matched_to_labels_values_and_numbers() {
    let one = question(&WAYS, false, false);
    let no_option = "refused: q1 accepts one of its options, not free text";
    for (typed, expected) in [
        ("Passkeys", "passkey"),
        ("passKEYS", "passkey"),
        ("passkey", "passkey"),
        ("PW", "pw"),
        ("  pw\n", "pw"),
        ("Magic link", "link"),
        ("1", "passkey"),
        ("3", "link"),
        ("03", "link"),
        ("0", "refused: q1 has 3 options, there is no option 0"),
        ("4", "refused: q1 has 3 options, there is no option 4"),
        ("18446744073709551615", "refused: q1 has 3 options, there is no option 18446744073709551615"),
        ("18446744073709551616", no_option),
        ("-1", no_option),
        ("+1", no_option),
        ("1.0", no_option),
        ("", no_option),
        ("Pass", no_option),
        ("Passkeys\0", no_option),
        ("１", no_option),
    ] {
        check(&one, words(&[typed]), expected);
    }
}

#[test]
fn what_is_written_on_an_option_counts_before_its_number() {
    let numbered = question(&["3", "2", "1", "10"], false, true);
    for (typed, expected) in [("1", "1"), ("3", "3"), ("10", "10"), ("4", "10")] {
        check(&numbered, words(&[typed]), expected);
    }
    // As it is written before in any case, and the first of two that are the same.
    let similar = question(&["low|a", "high|A", "other|A"], false, false);
    for (typed, expected) in [("a", "low"), ("A", "high"), ("HIGH", "high"), ("3", "other")] {
        check(&similar, words(&[typed]), expected);
    }
}

#[test]
fn several_words_are_choices_a_label_or_a_sentence() {
    let one = question(&WAYS, false, true);
    let many = question(&WAYS, true, true);
    let one_only = "refused: q1 accepts one choice, not several";
    let unclear =
        |typed: &str| format!("refused: \"{typed}\" can mean options of q1 and free text, or free text only");
    for (typed, in_one, in_many) in [
        (vec!["magic", "link"], "link", "link"),
        (vec!["1", "1"], "passkey", "passkey"),
        (vec!["1", "3"], one_only, "passkey, link"),
        (vec!["3", "Passkeys", "link"], one_only, "link, passkey"),
        (
            vec!["1", "3", "and a smoke test"],
            "\"1 3 and a smoke test\"",
            "passkey, link, \"and a smoke test\"",
        ),
        (vec!["1", "and", "3"], "\"1 and 3\"", &unclear("1 and 3")),
        (vec!["1", "3", "smoke"], "\"1 3 smoke\"", &unclear("1 3 smoke")),
        (vec!["1", "3", " smoke "], "\"1 3  smoke\"", &unclear("1 3  smoke ")),
        (vec!["1", "3", "and", "a", "test"], "\"1 3 and a test\"", &unclear("1 3 and a test")),
        (vec!["1", "3", "and a", "test"], "\"1 3 and a test\"", &unclear("1 3 and a test")),
        (vec!["Passkeys", "are", "fine"], "\"Passkeys are fine\"", &unclear("Passkeys are fine")),
        (vec!["only", "Passkeys"], "\"only Passkeys\"", "\"only Passkeys\""),
        (vec!["9", "replicas"], "\"9 replicas\"", "\"9 replicas\""),
        (
            vec!["1", "9"],
            "refused: q1 has 3 options, there is no option 9",
            "refused: q1 has 3 options, there is no option 9",
        ),
        (vec!["none", "of", "these"], "\"none of these\"", "\"none of these\""),
        (vec![], "refused: the answer to q1 is empty", "refused: the answer to q1 is empty"),
    ] {
        check(&one, words(&typed), in_one);
        check(&many, words(&typed), in_many);
    }
    // Where options alone are accepted, nothing is unclear.
    let options_only = "refused: q1 accepts one of its options, not free text";
    check(&question(&WAYS, true, false), words(&["1", "smoke"]), options_only);
}

/// Options and free text that are given apart are never mistaken for each other.
#[test]
fn options_and_free_text_given_apart() {
    let one = question(&WAYS, false, true);
    let many = question(&WAYS, true, true);
    let both = |options: &[&str], text: &str| {
        Reply::NamedAndText(options.iter().map(|option| (*option).into()).collect(), text.into())
    };
    check(&many, both(&["1", "3"], "smoke"), "passkey, link, \"smoke\"");
    check(&many, both(&["magic", "link"], "3"), "link, \"3\"");
    check(&many, both(&["Passkeys"], "yes"), "passkey, \"yes\"");
    let not = "refused: q1 does not accept that answer: \"smoke\" is not one of its options";
    check(&many, both(&["1", "smoke"], "test"), not);
    check(&many, both(&["1", "9"], "x"), "refused: q1 has 3 options, there is no option 9");
    check(&many, both(&["1"], " "), "refused: the answer to q1 is empty");
    check(&one, both(&["1"], "smoke"), "refused: q1 accepts one choice, not several");
    let closed = question(&WAYS, true, false);
    check(&closed, both(&["1"], "smoke"), "refused: q1 accepts one of its options, not free text");
}

/// What an MCP server asks for has limits, and what does not keep them is not taken.
#[test]
fn a_field_of_a_form_takes_what_fits() {
    let field = |kind: FieldKind, own: &[&str], free_text: bool| {
        let field = Field { server: "desk".into(), key: Some("key".into()), kind };
        let options = own.iter().map(|own| Choice::plain(*own)).chain(Field::ways_out(false)).collect();
        let multi = matches!(field.kind, FieldKind::Several { .. });
        Question { options, purpose: Purpose::Elicit(field), ..question(&[], multi, free_text) }
    };
    let whole = FieldKind::Number { whole: true, least: Some(1.into()), most: Some(5.into()) };
    let text = |format: Option<&str>| FieldKind::Text {
        shortest: Some(2),
        longest: Some(8),
        format: format.map(str::to_owned),
    };
    let several = FieldKind::Several { fewest: Some(1), most: Some(2) };
    let not = |why: &str| format!("refused: q1 does not accept that answer: {why}");
    for (kind, own, typed, expected) in [
        (whole.clone(), &[][..], "3", "\"3\"".to_owned()),
        (whole.clone(), &[], "0", not("it has to be at least 1")),
        (whole.clone(), &[], "6", not("it has to be at most 5")),
        (whole.clone(), &[], "2.5", not("it has to be a whole number")),
        (whole.clone(), &[], "three", not("it has to be a number")),
        (whole, &[], "decline", "mcp:decline".to_owned()),
        (text(None), &[], "Ada", "\"Ada\"".to_owned()),
        (text(None), &[], "7", not("it needs at least 2 characters")),
        (text(None), &[], "nine chars", not("it may have at most 8 characters")),
        (text(Some("email")), &[], "a@b.c", "\"a@b.c\"".to_owned()),
        (text(Some("email")), &[], "nobody", not("it has to be of the form email")),
        (text(Some("date")), &[], "tomorrow", not("it has to be of the form date")),
        (text(None), &[], "leave it out", "mcp:leave_out".to_owned()),
        (several.clone(), &["a", "b", "c"], "a", "a".to_owned()),
    ] {
        let free_text = matches!(kind, FieldKind::Number { .. } | FieldKind::Text { .. });
        check(&field(kind, own, free_text), words(&[typed]), &expected);
    }
    let several = field(several, &["a", "b", "c"], false);
    check(&several, words(&["a", "c"]), "a, c");
    check(&several, words(&["a", "b", "c"]), &not("choose at most 2"));
    check(&several, words(&["a", "cancel"]), "a, mcp:cancel");
}

#[test]
fn choices_are_places() {
    let (one, many) = (question(&WAYS, false, false), question(&WAYS, true, true));
    check(&one, Reply::Choices(vec![1]), "pw");
    check(&one, Reply::Choices(vec![1, 1]), "pw");
    check(&one, Reply::Choices(vec![1, 2]), "refused: q1 accepts one choice, not several");
    check(&one, Reply::Choices(vec![]), "refused: the answer to q1 is empty");
    check(&one, Reply::Choices(vec![3]), "refused: q1 has 3 options, there is no option 4");
    check(
        &one,
        Reply::Choices(vec![usize::MAX]),
        "refused: q1 has 3 options, there is no option 18446744073709551615",
    );
    check(&one, Reply::Both(vec![0], "x".into()), "refused: q1 accepts one of its options, not free text");
    check(&many, Reply::Choices(vec![2, 0, 2]), "link, passkey");
    check(&many, Reply::Both(vec![2], "and more".into()), "link, \"and more\"");
    check(&many, Reply::Both(vec![], "only this".into()), "\"only this\"");
    check(&many, Reply::Both(vec![0], " ".into()), "refused: the answer to q1 is empty");
    check(
        &question(&[], false, true),
        Reply::Choices(vec![0]),
        "refused: q1 has 0 options, there is no option 1",
    );
}

#[test]
fn chat_25_own_words_are_taken_as_they_are() {
    let free = question(&WAYS, false, true);
    let empty = "refused: the answer to q1 is empty";
    for (text, expected) in [
        ("OAuth", "\"OAuth\""),
        ("  two\nlines \n", "\"two\nlines\""),
        ("1", "\"1\""),
        ("Passkeys", "\"Passkeys\""),
        ("$(rm -rf /) `x` \u{1b}[31m", "\"$(rm -rf /) `x` \u{1b}[31m\""),
        ("", empty),
        (" \t\r\n\u{a0}\u{3000}", empty),
        ("\0", empty),
        ("\u{1b}\u{7}\n", empty),
    ] {
        check(&free, Reply::Text(text.into()), expected);
    }
}

#[test]
fn chat_26_own_words_are_refused_where_only_options_count() {
    let closed = question(&WAYS, false, false);
    let refused = "refused: q1 accepts one of its options, not free text";
    for text in ["OAuth", "Passkeys", "", "\0"] {
        check(&closed, Reply::Text(text.into()), refused);
    }
}

#[test]
fn a_question_without_options_takes_numbers_as_words() {
    let open = question(&[], false, true);
    check(&open, words(&["8080"]), "\"8080\"");
    check(&open, words(&["0"]), "\"0\"");
    check(&open, words(&["a", "b"]), "\"a b\"");
    check(&open, words(&[""]), "refused: the answer to q1 is empty");
    check(&open, words(&[" ", "\t"]), "refused: the answer to q1 is empty");
}

/// No empty text ever becomes an answer, not even where an option's value is empty.
#[test]
fn nothing_is_not_the_option_without_a_value() {
    let odd = question(&["|None", "x|Some"], false, true);
    check(&odd, words(&[""]), "refused: the answer to q1 is empty");
    check(&odd, words(&["none"]), "");
    check(&odd, words(&[" "]), "refused: the answer to q1 is empty");
}

#[test]
fn what_is_too_long_is_refused_with_its_length() {
    let free = question(&WAYS, false, true);
    let most = "x".repeat(MAX_TEXT);
    check(&free, Reply::Text(most.clone()), &format!("\"{most}\""));
    let more = "refused: this answer has 1048576 bytes; the maximum is 65536";
    let huge = "x".repeat(1024 * 1024);
    check(&free, Reply::Text(huge.clone()), more);
    check(&free, words(&[&huge]), more);
    check(&question(&WAYS, true, true), Reply::Both(vec![0], huge.clone()), more);
    check(
        &question(&WAYS, false, false),
        Reply::Text(huge),
        "refused: q1 accepts one of its options, not free text",
    );
}

#[test]
fn an_answer_reads_as_its_labels_and_own_words() {
    let many = question(&WAYS, true, true);
    let answer = many.resolve(&Reply::Both(vec![2, 0], "and more".into())).unwrap();
    assert_eq!(many.words(&answer), "Magic link, Passkeys, and more");
}

/// Words that decide something elsewhere are not taken for words of one's own; `confirm` answered whatever was open.
#[test]
fn reserved_words_are_refused_where_no_option_is_called_that() {
    let ways = question(&WAYS, false, true);
    for word in ["yes", "Y", "ok", "no", "n", "allow", "deny", "confirm"] {
        let refused = format!(
            "refused: \"{word}\" is not an option of q1, and may have been meant for another question"
        );
        check(&ways, words(&[word]), &refused);
        check(&ways, Reply::Text(word.into()), &format!("\"{word}\""));
    }
    let yes_or_no = question(&["y|Yes", "n|No"], false, true);
    check(&yes_or_no, words(&["yes"]), "y");
    check(&yes_or_no, words(&["N"]), "n");
    // The letter is enough where the options are called that, whatever their values are.
    let sure = question(&["go|Yes", "stay|No", "later|Later"], false, true);
    check(&sure, words(&["y"]), "go");
    check(&sure, words(&["N"]), "stay");
    let drinks = question(&["water|Water", "n|Nothing"], false, true);
    check(&drinks, words(&["n"]), "n");
}
