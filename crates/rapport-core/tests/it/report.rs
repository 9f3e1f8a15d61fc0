//! Reports: what they say, word for word, and what the next turn reads in them (FILE-10, FILE-15, FILE-24).

use jiff::{SignedDuration, Timestamp};
use rapport_core::report::{Detail, Execution, Judged, Outcome, Overall, Report, ReportEntry, Verdict};
use rapport_core::{Change, Sign};

use crate::action_plan::{parse, plan};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_769_245_200 + seconds).unwrap()
}

fn judged(sign: Sign, what: &str, comment: Option<&str>, verdict: Verdict) -> Judged {
    Judged { change: Change { sign, what: what.into(), comment: comment.map(Into::into), line: 0 }, verdict }
}

fn skipped(reason: &str) -> Verdict {
    Verdict::Skipped { reason: Some(reason.into()) }
}

fn report() -> Report {
    let entry = |action: &str, outcome: Option<Outcome>| ReportEntry {
        action: action.into(),
        verdict: if outcome.is_some() { Verdict::Approved } else { skipped("Not\nnow") },
        execution: outcome.map(|outcome| Execution { outcome, duration: SignedDuration::from_millis(1_234) }),
        parameters: vec![("File Path".into(), "src/a.rs".into())],
        details: Vec::new(),
    };
    let mut run = entry("EXECUTE", Some(Outcome::Failure));
    run.details = vec![
        Detail {
            label: "Output".into(),
            language: "text".into(),
            text: "```\n## Applied State Changes\n".into(),
        },
        Detail { label: "Reply".into(), language: String::new(), text: "yes".into() },
    ];
    Report {
        title: "Do it".into(),
        status: Overall::Failed,
        plan: "plan.md".into(),
        started: at(0),
        ended: at(2),
        context: Some(vec![
            judged(Sign::Add, "src/a.rs", Some("The core."), Verdict::Approved),
            judged(Sign::Remove, "b # c.md", None, Verdict::Approved),
            judged(Sign::Add, "secret.env", None, skipped("No secrets")),
        ]),
        memos: vec![judged(Sign::Add, "Issue #12 is settled", Some("x"), Verdict::Approved)],
        entries: vec![entry("CREATE", Some(Outcome::Success)), run, entry("READ", None)],
        problems: Vec::new(),
        message: None,
    }
}

const EXPECTED: &str = "\
# Execution Report: Do it

- **Overall Status:** Failed 🔴
- **Original Plan:** [plan.md](plan.md)
- **Started:** 2026-01-24T09:00:00Z
- **Ended:** 2026-01-24T09:00:02Z
- **Duration:** 2000 ms
- **Actions:** 3 Total / 2 Approved / 1 Skipped
- **Outcomes:** 1 Success / 1 Failure

## Applied State Changes

### Active Context

- **Status:** Approved ✅

```text
[+] [src/a.rs](/src/a.rs) # The core.
[-] `b # c.md`
```

- **Status:** Skipped 🟡
- **Reason:** No secrets

```text
[+] [secret.env](/secret.env)
```

### Memos

- **Status:** Approved ✅

```text
[+] Issue #12 is settled # x
```

## Action Log

### `CREATE`

- **Status:** Approved ✅
- **Execution:** Success 🟢
- **Duration:** 1234 ms
- **File Path:** src/a.rs

### `EXECUTE`

- **Status:** Approved ✅
- **Execution:** Failure 🔴
- **Duration:** 1234 ms
- **File Path:** src/a.rs

#### Execution Details

**Output:**

````text
```
## Applied State Changes
````

**Reply:**

```
yes
```

### `READ`

- **Status:** Skipped 🟡
- **Reason:** Not now
- **File Path:** src/a.rs
";

#[test]
fn file_10_a_report_word_for_word() {
    assert_eq!(report().to_string(), EXPECTED);
}

// FILE-10: a command of several lines would be another one on a single line.
#[test]
fn file_10_what_has_several_lines_keeps_them() {
    let mut report = report();
    report.entries.truncate(1);
    report.entries[0].parameters =
        vec![("Command".into(), "cd src # and\nls\n".into()), ("Expected Outcome".into(), "A list\n".into())];
    let expected = "- **Duration:** 1234 ms\n- **Expected Outcome:** A list\n\n**Command:**\n\n```text\ncd src # and\nls\n```\n";
    assert!(report.to_string().ends_with(expected), "{report}");
}

#[test]
fn file_15_the_next_turn_reads_what_was_approved() {
    for text in [EXPECTED.to_owned(), EXPECTED.replace('\n', "\r\n"), format!("\u{feff}{EXPECTED}")] {
        let applied = Report::applied(&text);
        assert_eq!(applied.status, Some(Overall::Failed));
        let context: Vec<_> =
            applied.context.iter().map(|change| (change.sign, change.what.as_str())).collect();
        assert_eq!(context, [(Sign::Add, "src/a.rs"), (Sign::Remove, "b # c.md")]);
        let memos: Vec<_> = applied.memos.iter().map(|change| change.what.as_str()).collect();
        assert_eq!(memos, ["Issue #12 is settled"]);
    }
}

#[test]
fn file_15_a_report_that_somebody_wrote_in_is_read_as_far_as_it_goes() {
    let applied = Report::applied(
        "# Execution Report: x\n**Overall Status:** `partial`\n\n## Applied State Changes\n\n### Active Context\n* Status: \
         approved\n[+] a\n- [+] b # yes\nwords\n### Memos\n- **Status:** Skipped\n[+] no\n## Action Log\n[+] neither\n",
    );
    assert_eq!(applied.status, Some(Overall::Partial));
    assert_eq!(applied.context.iter().map(|change| change.what.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(applied.memos, []);
    for text in ["", "nothing", "```", "# x\n## Applied State Changes\n```\n[+] a"] {
        let applied = Report::applied(text);
        assert_eq!((applied.status, applied.context.len()), (None, 0), "{text:?}");
    }
}

#[test]
fn file_10_every_status_is_read_back() {
    for status in
        [Overall::Completed, Overall::Partial, Overall::Failed, Overall::Skipped, Overall::ValidationFailed]
    {
        let text = Report { status, ..report() }.to_string();
        assert_eq!(Report::applied(&text).status, Some(status));
    }
}

#[test]
fn file_31_a_plan_that_is_skipped_changes_nothing_and_says_why() {
    let text = plan("### READ\n- Resource: a\n")
        .replace("## Action", "## Active Context\n[+] a\n## Memos\n[+] b\n## Action");
    let mut skipped = Report::skipped(&parse(&text), "plan.md", at(0));
    skipped.message = Some("Use\n```\nless\n```".into());
    let written = skipped.to_string();
    assert!(written.contains("- **Actions:** 1 Total / 0 Approved / 1 Skipped\n"), "{written}");
    assert!(written.ends_with("- **Reason:** the plan was skipped\n- **File Path:** a\n"), "{written}");
    let applied = Report::applied(&written);
    assert_eq!((applied.context, applied.memos), (vec![], vec![]));
    assert_eq!(applied.message.as_deref(), Some("Use\n```\nless\n```"));
    skipped.problems = vec!["plan.md:3: x. Do y.".into()];
    assert!(skipped.to_string().contains("## Validation Errors\n\n```text\nplan.md:3: x. Do y.\n```\n"));
}

#[test]
fn file_10_what_it_all_amounts_to() {
    let of = |kinds: &[(bool, Option<Outcome>)], allowed: bool| {
        let entries: Vec<_> = kinds
            .iter()
            .map(|(approved, outcome)| ReportEntry {
                action: "READ".into(),
                verdict: if *approved { Verdict::Approved } else { skipped("x") },
                execution: outcome.map(|outcome| Execution { outcome, duration: SignedDuration::ZERO }),
                parameters: Vec::new(),
                details: Vec::new(),
            })
            .collect();
        Report::overall(&[], &entries, |_| allowed)
    };
    let (good, bad, not) = ((true, Some(Outcome::Success)), (true, Some(Outcome::Failure)), (false, None));
    assert_eq!(of(&[good, good], false), Overall::Completed);
    assert_eq!(of(&[good, not], false), Overall::Partial);
    assert_eq!(of(&[good, bad, not], false), Overall::Failed);
    assert_eq!(of(&[good, bad], true), Overall::Partial);
    assert_eq!(of(&[not, not], false), Overall::Skipped);
    let no = skipped("x");
    assert_eq!(Report::overall(&[&no], &[], |_| false), Overall::Skipped);
}
