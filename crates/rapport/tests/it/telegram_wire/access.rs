//! Who may use the bot: nobody, unless somebody says so.

use jiff::{SignedDuration, Timestamp};
use rapport::channels::telegram::BotFiles;
use rapport::channels::telegram::access::{Access, REFUSAL, Verdict};
use rapport::channels::telegram::pairing::{Pairing, TRIES};
use rapport::channels::telegram::users::{Paired, Users};

fn at(minutes: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
}

/// A code out of known chance: `ABCDEFGH`.
const CHANCE: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

fn with_code() -> Access {
    let mut access = Access::new([]);
    assert_eq!(access.code(CHANCE, at(0)).unwrap().code(), "ABCDEFGH");
    access
}

#[test]
fn only_those_who_are_named_may_and_strangers_are_told_once_an_hour() {
    let mut access = Access::new([42]);
    assert_eq!(REFUSAL, "This bot is private.");
    assert_eq!(access.judge(42, Some("hello"), at(0)), Verdict::Allowed);
    assert!(access.code(CHANCE, at(0)).is_none(), "no code where somebody may already");
    let heard = [(7, 0), (7, 1), (8, 1), (7, 59), (7, 60), (7, 61), (8, 62)];
    let verdicts = heard.map(|(user, minute)| access.judge(user, Some("ABCDEFGH"), at(minute)));
    use Verdict::{Ignore, Refuse};
    assert_eq!(verdicts, [Refuse, Ignore, Refuse, Ignore, Refuse, Ignore, Refuse]);
}

#[test]
fn with_nobody_named_nobody_is_served() {
    let mut access = Access::new([]);
    assert_eq!(access.judge(1, Some("/plan x"), at(0)), Verdict::Refuse);
    assert_eq!(access.judge(0, None, at(0)), Verdict::Refuse);
}

#[test]
fn many_strangers_do_not_fill_the_memory() {
    let mut access = Access::new([42]);
    let told = (100..30_000).filter(|user| access.judge(*user, None, at(0)) == Verdict::Refuse).count();
    assert_eq!(told, 10_000);
    assert_eq!(access.judge(50_000, None, at(61)), Verdict::Refuse);
}

#[test]
fn the_code_lets_one_person_in_once() {
    for words in ["ABCDEFGH", "abcd-efgh", " abcd efgh\n", "/start ABCDEFGH"] {
        let mut access = with_code();
        assert_eq!(access.judge(7, Some("hello"), at(1)), Verdict::Refuse);
        assert_eq!(access.judge(7, Some(words), at(2)), Verdict::Paired, "{words:?}");
        assert_eq!(access.judge(8, Some(words), at(2)), Verdict::Refuse, "one-time");
        access.allow(7);
        assert_eq!(access.judge(7, Some("hello"), at(3)), Verdict::Allowed);
        assert_eq!(access.judge(9, Some(words), at(3)), Verdict::Refuse);
    }
}

#[test]
fn a_code_ends_after_an_hour_or_five_tries_of_all_together() {
    let mut access = with_code();
    assert_eq!(access.judge(7, Some("ABCDEFGH"), at(60)), Verdict::Refuse);
    assert!(!access.pairing_is_open(at(60)));
    let mut access = with_code();
    for user in 0..u64::from(TRIES) {
        assert!(access.pairing_is_open(at(1)));
        assert_eq!(access.judge(user, Some("ABCDEFGJ"), at(1)), Verdict::Refuse);
    }
    assert_eq!(access.judge(7, Some("ABCDEFGH"), at(1)), Verdict::Refuse);
    assert!(!access.pairing_is_open(at(1)));
    // A new one is needed, and works.
    assert_eq!(access.code([9; 8], at(2)).unwrap().code(), "KKKKKKKK");
    assert_eq!(access.judge(7, Some("KKKKKKKK"), at(3)), Verdict::Paired);
    // Words that cannot be a code are no try.
    let mut access = with_code();
    for _ in 0..20 {
        access.judge(7, Some("hello there"), at(1));
    }
    assert_eq!(access.judge(7, Some("ABCDEFGH"), at(1)), Verdict::Paired);
}

#[test]
fn codes_are_unambiguous_and_not_shown_by_accident() {
    for _ in 0..100 {
        let pairing = Pairing::new(Pairing::chance(), at(0));
        assert_eq!(pairing.code().len(), 8);
        assert!(!pairing.code().contains(['0', 'O', '1', 'I']));
        assert!(!format!("{pairing:?}").contains(pairing.code()));
    }
}

#[test]
fn those_who_were_let_in_are_kept_in_a_file_and_a_broken_one_lets_nobody_in() {
    let home = tempfile::TempDir::new().unwrap();
    let path = BotFiles::new(home.path(), 7001).users();
    let users = Users::new(&path);
    assert_eq!(users.load().unwrap(), []);
    let ada = Paired { id: 42, name: "Ada: \"the\" first #1".into(), since: at(0) };
    let bob = Paired { id: 43, name: String::new(), since: at(5) };
    users.add(ada.clone()).unwrap();
    users.add(bob.clone()).unwrap();
    users.add(bob.clone()).unwrap();
    assert_eq!(Users::new(&path).load().unwrap(), [ada, bob]);
    for broken in ["users: everybody", "version: 1\nusers: [{id: all}]", "version: 9\nusers: []"] {
        std::fs::write(&path, broken).unwrap();
        let error = users.load().unwrap_err();
        assert!(error.to_string().contains("7001.users.yaml"), "{error}");
    }
}

/// Whatever a newer program writes there: it is not mistaken for damage, which people would be told to mend.
#[test]
fn a_newer_file_of_those_who_were_let_in_is_refused_as_newer() {
    let home = tempfile::TempDir::new().unwrap();
    let path = BotFiles::new(home.path(), 7001).users();
    let users = Users::new(&path);
    users.add(Paired { id: 42, name: "Ada".into(), since: at(0) }).unwrap();
    let newer = "version: 2\npeople: {ada: {id: 42}}\n";
    std::fs::write(&path, newer).unwrap();
    for error in [
        users.load().unwrap_err(),
        users.add(Paired { id: 43, name: String::new(), since: at(0) }).unwrap_err(),
    ] {
        assert!(error.to_string().contains("was written by a newer program (format 2)"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
}
