//! Plain technical English: phrases that readers had to read twice do not come back, and a comment says something.

use std::path::PathBuf;

use super::{crates, ending_with, files, sources};

/// Phrases that make a reader guess. What to write instead is beside each.
const RIDDLES: [(&str, &str); 30] = [
    ("gone on with", "resumed, continued"),
    ("for who ", "for readers that only ..., name them"),
    ("who only looks", "without locking it"),
    ("somebody may be writing on", "a writer may still be appending"),
    ("whoever did it.", "Who did this."),
    ("which one.", "name the thing, or leave the comment out"),
    ("as that one is owned", "with the owner and mode of the target"),
    ("what the latest of all", "ids of recent messages, for de-duplication"),
    ("it is not said what", "say what is missing: pass ..."),
    ("is there already", "already exists"),
    ("that is there", "existing"),
    ("what is there", "the existing file, the current content"),
    ("is told no", "is refused"),
    ("taken up", "resumed"),
    ("let in no more", "can no longer connect"),
    ("as that one", "like the other one: name it"),
    ("what stands there", "the text at that place, the quote"),
    ("else was faster", "another process, or another person, did it first"),
    ("else is faster", "another process, or another person, does it first"),
    ("gets nobody", "is refused"),
    ("made up for when", "done later, when"),
    ("nobody's silence", "silence never decides"),
    ("somebody wants", "a person wants, ... was requested"),
    ("what somebody may", "name who may: a person, a lead, a caller"),
    ("is no lead", "is not a lead"),
    ("which is none", "which is not ..."),
    ("holds any more", "no longer holds"),
    ("needs any more", "no longer needs"),
    ("need any more", "no longer need"),
    ("open any more", "no longer open"),
];

/// Names that were replaced, and by what. They do not come back as identifiers, nor as parts of one.
const REPLACED: [(&str, &str); 9] = [
    ("take_up", "resume"),
    ("takes_up", "resumes"),
    ("taken_up", "resumed"),
    ("TakenUp", "Resumed"),
    ("is_for_good", "is_irreversible"),
    ("may_be_repeated", "is_idempotent"),
    ("Errand", "Effect"),
    ("Keepsake", "ConversationStore"),
    ("fn told(", "a name for what the function does: prints, notes, waits for the signal"),
];

/// Names of files that were replaced: a file is named after the thing in it.
const REPLACED_FILES: [(&str, &str); 80] = [
    ("beside", "neighbours"),
    ("beside_turns", "unaddressed_texts"),
    ("enriched", "project_task"),
    ("clean", "cleanup"),
    ("in_text", "text_question"),
    ("depends", "dependencies"),
    ("faulty", "faults"),
    ("halves", "surrogates"),
    ("tell", "replies"),
    ("once", "one_shot"),
    ("said", "settings_report"),
    ("announce", "announcements"),
    ("answering", "answer"),
    ("approving", "review"),
    ("aside", "diagnosis"),
    ("asked", "rounds"),
    ("asking", "prompts"),
    ("brought", "project_setup"),
    ("came", "messages"),
    ("carrying", "transfer"),
    ("choose", "session_choice"),
    ("deck", "cards"),
    ("desk", "chat_state"),
    ("drafting", "plan"),
    ("elsewhere", "sessions"),
    ("errands", "effects"),
    ("fetched", "downloads"),
    ("filing", "writer"),
    ("found", "discovery"),
    ("fulfil", "reconcile"),
    ("handed", "handover"),
    ("hands", "outbound"),
    ("hosted", "hosted_session"),
    ("keepsake", "conversation_store"),
    ("kin", "descendants"),
    ("launching", "launch"),
    ("lending", "external_viewer"),
    ("looking", "status"),
    ("looks", "read"),
    ("moved", "chat_moves"),
    ("placing", "placement"),
    ("planning", "plan"),
    ("press", "callbacks"),
    ("remind", "reminders"),
    ("resting", "chat, turns"),
    ("resuming", "resumption"),
    ("reviewing", "review"),
    ("running", "run"),
    ("sealed", "checked_line"),
    ("sealing", "signer"),
    ("sense", "parse_reply"),
    ("shelf", "temp_files"),
    ("sitting", "review_session"),
    ("starting", "start"),
    ("take_up", "resume"),
    ("told", "context"),
    ("trial", "crash_points"),
    ("waiting", "wait"),
    ("closest", "closest_match"),
    ("compose", "composer"),
    ("confirm", "confirmation_card"),
    ("cut", "extraction"),
    ("ends", "world"),
    ("fold", "facts"),
    ("hurried", "timed_body"),
    ("known", "known_projects"),
    ("take_over", "project_update"),
    ("unopened", "lazy_store"),
    ("verify", "verifier"),
    ("would", "foreign_preview"),
    ("by_name", "registry"),
    ("reported", "settings_report"),
    ("lenient", "lenient_values"),
    ("structured", "structured_call"),
    ("pending", "pending_calls"),
    ("seen_from", "viewpoint"),
    ("live", "raw_terminal, live_mode"),
    ("load", "loader"),
    ("play", "player"),
    ("reading", "deserializers"),
];

/// The fewest words of a comment on an item. Fewer only repeat its name.
const FEWEST: usize = 3;

#[test]
fn phrases_that_need_a_second_reading_do_not_come_back() {
    let mut wrong = Vec::new();
    let read = sources().into_iter().chain(tests()).chain(pages());
    // This file has to name them.
    for file in read.filter(|file| !file.ends_with("tidy/words.rs")) {
        let text = std::fs::read_to_string(&file).unwrap();
        wrong.extend(riddles(&text).into_iter().map(|(line, found, instead)| {
            format!("{}:{line}: {found:?}; rather: {instead}", file.display())
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_that_were_replaced_do_not_come_back() {
    let mut wrong = Vec::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).unwrap();
        wrong.extend(
            replaced(&text).into_iter().map(|(line, found, instead)| {
                format!("{}:{line}: {found}; rather: {instead}", file.display())
            }),
        );
        let stem = file.file_stem().unwrap().to_string_lossy();
        let named = REPLACED_FILES.into_iter().find(|(name, _)| *name == stem);
        wrong.extend(named.map(|(_, instead)| format!("{}; rather: {instead}.rs", file.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_comment_on_an_item_says_something() {
    let mut wrong = Vec::new();
    for file in sources() {
        let name = file.strip_prefix(crates()).unwrap().to_string_lossy().into_owned();
        // The core documents everything that is public, and the doc comments of commands and options are their help.
        let is_help = name.starts_with("rapport/src/cli/") || name == "rapport/src/options.rs";
        if name.starts_with("rapport-core/") || is_help {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        wrong.extend(short_docs(&text).into_iter().map(|(line, doc)| format!("{name}:{line}: {doc}")));
    }
    assert!(wrong.is_empty(), "say something, or nothing:\n{}", wrong.join("\n"));
}

#[test]
fn riddles_and_short_comments_are_recognized() {
    assert_eq!(riddles("/// It is Gone On With.\nlet x = 1;").len(), 1);
    assert_eq!(riddles("let x = \"a.txt is there already\";").len(), 1);
    assert!(riddles("/// Resumes the session.").is_empty());
    assert_eq!(replaced("fn x() {\n    self.take_up_all();").len(), 1);
    assert!(replaced("/// It is to take up space.").is_empty());
    assert_eq!(short_docs("/// The path.\npath: PathBuf,"), [(1, "The path.".to_owned())]);
    assert!(short_docs("/// The path of the log.\npath: PathBuf,").is_empty());
    assert!(short_docs("/// First,\n/// then more of it.\nfn x() {}").is_empty());
}

/// Every file of the tests of every crate.
fn tests() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap().path().join("tests"));
    crates.filter(|tests| tests.is_dir()).flat_map(|tests| files(&tests)).collect()
}

/// What people and agents read. The changelog tells of the past in its own words.
fn pages() -> Vec<PathBuf> {
    let root = crates().parent().unwrap().to_owned();
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root.join(name));
    let prompts = ending_with(&root.join("crates/rapport-core/src"), "md");
    top.into_iter().chain(ending_with(&root.join("docs"), "md")).chain(prompts).collect()
}

/// The lines with a riddle, in comments and messages alike, and what to write instead.
fn riddles(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        let here = RIDDLES.into_iter().filter(|(riddle, _)| line.contains(riddle));
        found.extend(here.map(|(riddle, instead)| (number + 1, riddle, instead)));
    }
    found
}

/// The lines with a name that was replaced, and by what.
fn replaced(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let lines = text.lines().enumerate();
    let found = lines.flat_map(|(number, line)| {
        let here = REPLACED.into_iter().filter(move |(name, _)| line.contains(name));
        here.map(move |(name, instead)| (number + 1, name, instead))
    });
    found.collect()
}

/// Doc comments of one line with too few words.
fn short_docs(text: &str) -> Vec<(usize, String)> {
    let docs: Vec<_> = text.lines().map(|line| line.trim_start().strip_prefix("///")).collect();
    let is_doc = |at: Option<usize>| at.and_then(|at| docs.get(at)).is_some_and(Option::is_some);
    let alone = |at: usize| !is_doc(at.checked_sub(1)) && !is_doc(Some(at + 1));
    let short = |doc: &str| doc.split_whitespace().count() < FEWEST;
    let found = docs.iter().enumerate().filter_map(|(at, doc)| Some((at, (*doc)?)));
    found
        .filter(|(at, doc)| alone(*at) && short(doc))
        .map(|(at, doc)| (at + 1, doc.trim().to_owned()))
        .collect()
}
