//! What `cargo xtask man` and `cargo xtask picture` make from the program.

use std::process::Command;

use crate::support::example::example;

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new(example("man_pages")).arg(folder.path()).status().unwrap().success());
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(page("rapport.1").contains("rapport\\-answer(1)"), "{}", page("rapport.1"));
    for command in ["run", "answer", "resume", "undo", "doctor", "completions"] {
        let text = page(&format!("rapport-{command}.1"));
        assert!(text.contains(".SH SYNOPSIS") && text.contains("Examples:"), "{command}: {text}");
    }
    assert!(!folder.path().join("rapport-keep.1").exists(), "what people do not run has none");
}

#[test]
fn the_picture_is_of_a_real_session() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("picture.svg");
    let mut picture = Command::new(example("picture"));
    assert!(picture.arg(env!("CARGO_BIN_EXE_rapport")).arg(&to).status().unwrap().success());
    let text = std::fs::read_to_string(to).unwrap();
    for shown in ["add a greeting", "Which extras should it have?", "[x]", "d leave"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(!text.contains(&std::env::temp_dir().display().to_string()), "where it was made is not told");
}
