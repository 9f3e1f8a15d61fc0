//! One process per bot on this machine.

use rapport::channels::telegram::BotFiles;
use rapport::channels::telegram::lease::{Lease, LeaseError};

#[test]
fn a_second_one_is_told_who_has_it_and_gets_it_afterwards() {
    let home = tempfile::TempDir::new().unwrap();
    let lock = BotFiles::new(home.path(), 7001).lock();
    let first = Lease::take(&lock).unwrap();
    let error = Lease::take(&lock).unwrap_err();
    let pid = std::process::id();
    assert!(matches!(error, LeaseError::Busy { pid: Some(named) } if named == pid));
    assert!(error.to_string().contains(&format!("already served by process {pid};")));
    let other = Lease::take(&BotFiles::new(home.path(), 7002).lock());
    assert!(other.is_ok(), "another bot is nobody's business");
    drop(first);
    assert!(Lease::take(&lock).is_ok());
}

#[test]
fn where_the_home_cannot_be_written_the_file_is_named() {
    let home = tempfile::TempDir::new().unwrap();
    std::fs::write(home.path().join("telegram"), "a file").unwrap();
    let error = Lease::take(&BotFiles::new(home.path(), 7001).lock()).unwrap_err();
    assert!(error.to_string().contains("7001.lock"), "{error}");
}
