//! Whatever comes in, reading it ends, soon, and without a panic; and whatever is read can be written and read again.
//!
//! `RAPPORT_FUZZ_CASES=10000000 cargo test -p rapport-core --release fuzz_plan -- --ignored` looks for long.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rapport_core::{ActionKind, ActionPlan};

use super::placeless;
use super::round_trip::{plans, text};

/// A small generator of numbers that is the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % (sides.max(1) as u64)).unwrap()
    }
}

const SPLINTERS: [&str; 30] = [
    "\n",
    "\r\n",
    "\r",
    "```",
    "\n```\n",
    "\n```rust\n",
    "\n````\n",
    "\n~~~\n",
    "# ",
    "\n# T\n",
    "\n## Rationale\n",
    "\n## Active Context\n",
    "\n## Memos\n",
    "\n## Action Plan\n",
    "\n### `CREATE`\n",
    "\n### `EDIT`\n",
    "\n### `CHAT_WITH_USER`\n",
    "\n### `INVOKE`\n",
    "\n#### FIND:\n",
    "\n#### REPLACE:\n",
    "\n- **File Path:** ",
    "\n- **env:**\n  - ",
    "\n---\n",
    "[+] ",
    "`",
    "**",
    "](",
    "\u{feff}",
    "é🟢",
    "\t",
];

/// A text with a few things done to it: pieces doubled, dropped, moved in from another, or put in between.
fn mutated(dice: &mut Dice, text: &str, other: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..=dice.roll(6) {
        let (from, to) = range(dice, &text);
        match dice.roll(5) {
            0 => text.replace_range(from..to, ""),
            1 => {
                let twin = text[from..to].to_owned();
                text.insert_str(from, &twin);
            }
            2 => {
                let (start, end) = range(dice, other);
                text.replace_range(from..to, &other[start..end]);
            }
            3 => text = text.replacen(if dice.roll(2) == 0 { "\n" } else { "```" }, "\r\n", dice.roll(9)),
            _ => text.insert_str(from, SPLINTERS[dice.roll(SPLINTERS.len())]),
        }
        if text.len() > 20_000 {
            break;
        }
    }
    text
}

fn range(dice: &mut Dice, text: &str) -> (usize, usize) {
    let mut at = |within: usize| {
        let mut at = dice.roll(within + 1).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (a, b) = (at(text.len()), at(text.len()));
    (a.min(b), a.max(b))
}

fn survives(text: &str) -> bool {
    match ActionPlan::parse(text) {
        Ok(plan) => {
            let written = plan.to_string();
            let again = ActionPlan::parse(&written).map(placeless);
            assert_eq!(again, Ok(placeless(plan)), "{text:?}\n{written}");
            true
        }
        Err(errors) => {
            let lines = text.lines().count().max(1);
            assert!(
                !errors.is_empty() && errors.iter().all(|error| (1..=lines).contains(&error.line)),
                "{text:?} {errors:?}"
            );
            false
        }
    }
}

fn fuzz(cases: usize, seed: u64) -> usize {
    let mut dice = Dice(seed);
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut read = 0;
    let mut left = cases;
    while left > 0 {
        let some = left.min(20_000);
        read += fuzz_some(some, &mut dice, &mut runner);
        left -= some;
    }
    read
}

/// Texts made from two hundred plans and as many that are none.
fn fuzz_some(cases: usize, dice: &mut Dice, runner: &mut TestRunner) -> usize {
    let plans: Vec<_> = (0..200).map(|_| plans().new_tree(runner).unwrap().current().to_string()).collect();
    let noise: Vec<_> = (0..200).map(|_| text().new_tree(runner).unwrap().current()).collect();
    let mut read = 0;
    for _ in 0..cases {
        let (one, other) = (dice.roll(plans.len()), dice.roll(plans.len()));
        let subject = match dice.roll(8) {
            0 => mutated(dice, &noise[one], &noise[other]),
            1 => super::plan(&mutated(dice, &noise[one], &plans[other])),
            _ => mutated(dice, &plans[one], &plans[other]),
        };
        read += usize::from(survives(&subject));
    }
    read
}

#[test]
fn file_9_no_text_is_too_strange() {
    let read = fuzz(100_000, 7);
    assert!(read > 2_500, "only {read} of them were plans at all");
}

#[test]
#[ignore = "takes as long as RAPPORT_FUZZ_CASES says"]
#[expect(clippy::disallowed_methods, reason = "the test may know its surroundings; the core may not")]
fn fuzz_plan() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let cases = number("RAPPORT_FUZZ_CASES").unwrap_or(100_000);
    let seed = number("RAPPORT_FUZZ_SEED").unwrap_or(1);
    let read = fuzz(usize::try_from(cases).unwrap(), seed);
    eprintln!("{cases} texts, {read} of them plans");
}

#[test]
fn file_9_ten_megabytes_are_a_plan() {
    let content = "some words of code\n".repeat(500_000);
    let plan = super::parse(&super::plan(&format!("### CREATE\n- **File Path:** a\n\n```\n{content}```\n")));
    assert_eq!(plan.actions.len(), 1);
    assert!(matches!(&plan.actions[0].kind, ActionKind::Create { content: is, .. } if *is == content));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn file_9_random_text_is_read_to_its_end(text in any::<String>()) {
        survives(&text);
        survives(&super::plan(&text));
    }
}
