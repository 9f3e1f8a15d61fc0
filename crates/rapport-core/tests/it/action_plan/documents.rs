//! Plans as models write them, one in each file of `documents/`, and beside it what is made of it (`.txt`): the actions as they
//! are meant, or each line that keeps it from being a plan, with what to do. None may be taken for something else.
//!
//! `RAPPORT_TEST_BLESS=1` writes down what is made of them now. Read that before it is committed: it is the expectation.

#![expect(clippy::disallowed_methods, reason = "the test reads its documents; the core reads nothing")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rapport_core::check::{Contents, Findings, validate};
use rapport_core::{ActionKind, ActionPlan, Change, Shell, Sign};

use crate::plan_check::Made;

/// Where the project is that the documents are about.
const ROOT: &str = "/home/ann/shop";
/// So many are there at least.
const LEAST: usize = 280;

fn project() -> Made {
    let mut made = Made::of(&[
        (
            "shop/cart.py",
            "class Cart:\n    def __init__(self):\n        self.items = []\n\n    def add(self, item):\n        \
             self.items.append(item)\n\n    def total(self):\n        return sum(item.price for item in self.items)\n",
        ),
        (
            "shop/util.go",
            "package shop\n\nfunc half(n int) int {\n\tif n == 0 {\n\t\treturn 0\n\t}\n\treturn n / 2\n}\n",
        ),
        ("shop/twice.py", "def a():\n    pass\n\ndef b():\n    pass\n"),
        ("README.md", "# Shop\n\nSells things.\n"),
        ("Makefile", "test:\n\tpython -m pytest\n"),
        ("docs/old.md", "Old.\n"),
        ("dos.txt", "one\r\ntwo\r\nthree\r\n"),
    ]);
    made.files.insert("logo.png".into(), Contents::Binary);
    made
}

/// What is made of a document, in lines.
fn outcome(text: &str) -> String {
    match ActionPlan::parse_in(text, ROOT) {
        Ok(plan) => checked(&plan),
        Err(errors) => {
            let told = errors.iter().map(|error| (error.line, error.what.as_str(), error.hint.as_str()));
            refused(told)
        }
    }
}

fn checked(plan: &ActionPlan) -> String {
    let Findings { problems, remarks } = validate(plan, &project());
    if !problems.is_empty() {
        return refused(problems.iter().map(|found| (found.line, found.what.as_str(), found.hint.as_str())));
    }
    let mut read = format!("read: {}\n", plan.title);
    for (name, changes) in [("context", plan.context.as_deref().unwrap_or_default()), ("memo", &plan.memos)] {
        changes.iter().for_each(|change| writeln!(read, "{name} {}", changed(change)).unwrap());
    }
    for action in &plan.actions {
        let about = action.description.as_ref().map(|about| format!(" {about:?}")).unwrap_or_default();
        let shell = match action.kind {
            ActionKind::Execute { shell: Shell::Bash, .. } => " in bash",
            _ => "",
        };
        writeln!(read, "{}: {}{shell}{about}", action.line, action.kind.identity()).unwrap();
        action.remark.iter().for_each(|remark| writeln!(read, "    remark: {remark}").unwrap());
    }
    for remark in remarks {
        writeln!(read, "remark about {}: {}", remark.action, remark.text).unwrap();
    }
    read
}

fn changed(change: &Change) -> String {
    let sign = match change.sign {
        Sign::Add => '+',
        Sign::Remove => '-',
    };
    let comment = change.comment.as_ref().map(|comment| format!(" # {comment}")).unwrap_or_default();
    format!("{sign}{}{comment}", change.what)
}

/// Every refusal has a line of the document and a remedy.
fn refused<'t>(told: impl Iterator<Item = (usize, &'t str, &'t str)>) -> String {
    let mut text = "refused\n".to_owned();
    for (line, what, hint) in told {
        assert!(line > 0 && hint.ends_with('.'), "{what}: {hint}");
        writeln!(text, "{line}: {what}\n    {hint}").unwrap();
    }
    text
}

fn documents() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/action_plan/documents");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut documents: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|end| end == "md")).collect();
    documents.sort();
    documents
}

// FILE-9, FILE-23, FILE-40
#[test]
fn file_9_plans_as_models_write_them_are_read_as_meant_or_refused() {
    let documents = documents();
    assert!(documents.len() >= LEAST, "{}", documents.len());
    let bless = env::var_os("RAPPORT_TEST_BLESS").is_some();
    let mut wrong = String::new();
    for path in &documents {
        let is = outcome(&fs::read_to_string(path).unwrap());
        let beside = path.with_extension("txt");
        if bless {
            fs::write(&beside, &is).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if is != expected {
            let name = path.file_stem().unwrap().to_string_lossy();
            write!(wrong, "\n{name} is\n{is}and should be\n{expected}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
