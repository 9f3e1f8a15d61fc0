//! A plan to review: the real thing, with nothing behind it. Says what was decided, and runs nothing.
//!
//! `cargo run --example plan_review`, `-- long` for a thousand actions, `-- hostile` for a plan that tries to do harm.
//! `-- panic` lets the reading of a file panic, `-- elsewhere` something beside the review.
//! `-- dropped` lets nobody want the review any more as soon as a page is read.
//! `RAPPORT_PREVIEW_COMMAND="nvim -R"` shows previews there.

#[allow(dead_code, reason = "shared with the tests, which use all of it")]
#[path = "../tests/it/review/plans.rs"]
mod plans;

use std::io::IsTerminal as _;
use std::sync::Arc;

use rapport::channels::terminal::ColourChoice;
use rapport::channels::terminal::review::{
    Fetch, Pick, Previewer, Review, ReviewError, Selection, Verdict, review, unasked,
};
use rapport_core::{ActionPlan, Resource};
use tokio::sync::Notify;

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let plan = match mode.as_str() {
        "every" => plans::every_kind(),
        "long" => plans::long(1000),
        "hostile" => plans::hostile(),
        _ => plans::bootstrap(),
    };
    let command = std::env::var("RAPPORT_PREVIEW_COMMAND").ok();
    let config = Review {
        interactive: std::io::stdin().is_terminal() && std::io::stdout().is_terminal(),
        colour: ColourChoice::Auto,
        previewer: Previewer {
            command: command.map(|line| line.split_whitespace().map(str::to_owned).collect()),
            fetch: fetch(mode.clone()),
        },
    };
    match reviewed(&plan, &config, mode == "dropped") {
        Ok(verdict) => println!("decided: {}", words(&plan, &verdict)),
        Err(error @ ReviewError::NoTerminal) => print!("{}\n{error}\n", unasked(&plan, &[])),
        Err(error) => println!("failed: {error}"),
    }
}

#[tokio::main]
async fn reviewed(plan: &ActionPlan, config: &Review, is_dropped: bool) -> Result<Verdict, ReviewError> {
    let dropped = async {
        match is_dropped {
            true => FETCHED.notified().await,
            false => std::future::pending().await,
        }
    };
    tokio::select! {
        verdict = review(plan, &[], config) => verdict,
        () = dropped => Ok(Verdict::Quit),
    }
}

/// Told when something is fetched.
static FETCHED: Notify = Notify::const_new();

fn fetch(mode: String) -> Fetch {
    Arc::new(move |resource| {
        let mode = mode.clone();
        Box::pin(async move {
            FETCHED.notify_one();
            assert!(mode != "panic", "as wished");
            if mode == "elsewhere" {
                tokio::spawn(async { panic!("as wished") });
            }
            match resource {
                Resource::File(path) if path == "pyproject.toml" => {
                    Ok("[project]\nname = \"demo\"\nversion = \"0.1\"\n".into())
                }
                Resource::File(path) => Err(format!("there is no {path}")),
                // A page that never comes.
                Resource::Url(_) => std::future::pending().await,
            }
        })
    })
}

fn words(plan: &ActionPlan, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Approve(selection) => format!("approve {}", taken(plan, selection)),
        Verdict::Run(selection) => format!("run {}", taken(plan, selection)),
        Verdict::Skip => "skip".into(),
        Verdict::Quit => "quit".into(),
    }
}

fn taken(plan: &ActionPlan, selection: &Selection) -> String {
    let count = |picks: &[Pick]| picks.iter().filter(|pick| pick.is_taken()).count();
    let actions = plan.actions.iter().zip(&selection.actions).filter(|(_, pick)| pick.is_taken());
    let names: Vec<&str> = actions.map(|(action, _)| action.kind.name()).collect();
    assert_eq!(selection.actions.len(), plan.actions.len(), "every action has its mark");
    let notes: Vec<&str> = selection.notes.iter().map(|note| note.text.as_str()).collect();
    let (context, memos) = (count(&selection.context), count(&selection.memos));
    format!("context {context} memos {memos} actions {} notes {notes:?}", names.join(","))
}
