//! The tables of `docs/routing.md` are what the code does.

use rapport_core::routing::{Class, MOST_IN_A_ROW, Policy, ROWS, Recipient, RoutingTerms, chain};

const PAGE: &str = include_str!("../../../../../docs/routing.md");

/// LEAD-26: the page names all verbs of tasks that need no planning.
#[test]
fn lead_26_the_page_names_the_verbs_of_obvious_tasks() {
    use rapport_core::quick_task::{MENDING_VERBS, OBVIOUS_VERBS};
    let section =
        PAGE.split("## Tasks that need no planning").nth(1).and_then(|rest| rest.split("\n## ").next());
    for verb in OBVIOUS_VERBS.iter().chain(&MENDING_VERBS) {
        assert!(section.unwrap().contains(&format!("`{verb}`")), "{verb}");
    }
}

/// LEAD-15: who is asked, in which order, for how long, for every class and policy.
#[test]
fn the_page_says_for_every_class_and_policy_who_is_asked() {
    let terms = RoutingTerms::default();
    for class in Class::ALL {
        let ways = Policy::ALL.map(|policy| {
            let stops = chain(class, policy, &terms).into_iter().map(|stop| {
                let who = match (stop.who, policy) {
                    (Recipient::Lead, Policy::Assist) => "lead drafts",
                    (Recipient::Lead, _) => "lead answers",
                    (Recipient::Person, _) => "person",
                    (Recipient::Others, _) => "others",
                };
                stop.time.map_or(who.to_owned(), |time| format!("{who} ({} s)", time.as_secs()))
            });
            stops.chain(["wait".to_owned()]).collect::<Vec<_>>().join(", ")
        });
        let row = format!("| `{}` | {} |", class.word(), ways.join(" | "));
        assert!(PAGE.contains(&row), "docs/routing.md has to say:\n{row}");
    }
    let limits = format!("{MOST_IN_A_ROW} answers in a row, {} in an hour", terms.per_hour);
    assert!(PAGE.contains(&limits), "docs/routing.md has to say: {limits}");
}

#[test]
fn the_page_has_the_table_of_words() {
    for row in ROWS {
        let words = row.words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
        let row = format!("| `{}` | {words} |", row.class.word());
        assert!(PAGE.contains(&row), "docs/routing.md has to say:\n{row}");
    }
}
