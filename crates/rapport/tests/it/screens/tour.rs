//! The channel in a real terminal: the tour is played, keys are typed, and the terminal is restored.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use nix::sys::signal::Signal;

use crate::support::example::example;
use crate::support::pty::Pty;

/// The tour in a shell that says how the terminal is after it.
fn tour(args: &str, env: &[(&str, &str)], columns: u16, rows: u16) -> Pty {
    let script = format!(
        "{} {args}; echo \"left $?\"; stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo",
        program().display()
    );
    let env: Vec<_> = [("TOUR_PACE", "20")].iter().chain(env).copied().collect();
    Pty::spawn("/bin/sh", &["-c", &script], &env, columns, rows)
}

/// The example, built if it is not.
fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| example("terminal_tour")).clone()
}

#[track_caller]
fn assert_given_back(pty: &mut Pty) {
    assert!(pty.wait_end().success());
    let text = pty.text();
    assert!(text.ends_with("left 0\nicanon\necho"), "{text}");
    assert!(!pty.is_cursor_hidden());
    assert!(pty.raw().windows(8).any(|bytes| bytes == b"\x1b[?2004l"), "bracketed paste is off again");
}

#[test]
fn from_the_first_question_to_the_end() {
    let mut pty = tour("", &[], 100, 50);
    pty.wait_for("Q1 of 3");
    pty.wait_for("enter answer");
    pty.send("\x1b[B\r");
    pty.wait_for("✓ Auth method → Session cookies");
    pty.wait_gone("Q1 of 3");
    pty.send(" o");
    pty.send("\x1b[200~and fuzz\ntests\x1b[201~");
    pty.wait_for("  tests");
    pty.send("\r");
    pty.wait_for("✓ Tests → Unit, and fuzz tests");
    pty.send("b");
    pty.wait_for("Answered before");
    pty.send("\x1b");
    pty.wait_for("(as before)");
    pty.send("1");
    pty.wait_for("Send these answers");
    pty.send("\r");
    pty.wait_for("enter or c confirm");
    pty.send("e1");
    pty.wait_for("esc keep the answer");
    pty.send("1");
    pty.wait_for("→ JWT");
    pty.wait_until("the card again", |screen| {
        screen.matches("Plan ready").count() == 2 && screen.contains("e edit")
    });
    pty.send("c");
    pty.wait_for("May the agent use Bash");
    pty.wait_for("enter answer");
    pty.send("1");
    pty.wait_for("✓ Done");
    pty.wait_for("The tour is over: completed.");
    assert_given_back(&mut pty);
}

#[test]
fn ctrl_c_leaves_and_everything_stays_open() {
    let mut pty = tour("", &[("NO_COLOR", "1")], 80, 24);
    pty.wait_for("Q1 of 3");
    pty.send("\x03");
    pty.wait_for("You left the tour.");
    assert_given_back(&mut pty);
    assert!(pty.text().contains("rapport answer 20260124-add-user-auth"));
    let raw = String::from_utf8_lossy(pty.raw()).into_owned();
    assert!((30..=37).all(|colour| !raw.contains(&format!("[{colour}m"))), "no colours");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let mut direct = Pty::spawn(&program().display().to_string(), &[], &[("TOUR_PACE", "20")], 80, 24);
    direct.wait_for("Q1 of 3");
    direct.signal(Signal::SIGTERM);
    direct.wait_for("You left the tour.");
    assert!(direct.wait_end().success());
    assert!(!direct.is_cursor_hidden());
}

#[test]
fn a_panic_gives_the_terminal_back() {
    let mut pty = tour("die", &[], 80, 24);
    pty.wait_for("as wished");
    assert!(pty.wait_end().success());
    assert!(pty.text().ends_with("left 101\nicanon\necho"), "{}", pty.text());
    assert!(!pty.is_cursor_hidden());
}

#[test]
fn a_panic_elsewhere_does_not_end_it() {
    let mut pty = tour("panic", &[("RUST_BACKTRACE", "0")], 80, 30);
    pty.wait_for("as wished");
    pty.wait_for("enter answer");
    pty.send("\x1b[B");
    pty.wait_for("❯ 2.");
    pty.send("\r");
    pty.wait_for("✓ Auth method → Session cookies");
    pty.send("\x03");
    assert_given_back(&mut pty);
}

#[test]
fn another_size_is_drawn_anew() {
    let mut pty = tour("", &[], 100, 40);
    pty.wait_for("enter answer");
    pty.resize(50, 20);
    pty.wait_until("the card, narrow", |screen| {
        screen.contains("   Stateless tokens, verified without a\n       lookup") && screen.contains("? help")
    });
    pty.send("1");
    pty.wait_for("✓ Auth method → JWT");
    pty.send("\x03");
    assert_given_back(&mut pty);
}

#[test]
fn the_demo_runs_by_itself_with_and_without_a_terminal() {
    let mut shown = tour("demo", &[], 100, 50);
    shown.wait_for("(answered by the demo itself)");
    shown.wait_for("The tour is over: completed.");
    assert_given_back(&mut shown);

    let plain = Command::new(program()).arg("plain").env("TOUR_PACE", "100").output();
    let text = String::from_utf8(plain.expect("it runs").stdout).expect("text");
    assert!(
        text.contains("answer with: rapport answer 20260124-add-user-auth --question q1 \"JWT\""),
        "{text}"
    );
    assert!(text.contains("✓ Auth method → JWT (answered by the demo itself)"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
}

#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let env = [("TERM", "dumb"), ("TOUR_PACE", "20")];
    let mut pty = Pty::spawn(&program().display().to_string(), &[], &env, 100, 50);
    pty.wait_for("q1 Auth method >");
    pty.send("jwt\n");
    pty.wait_for("✓ Auth method → JWT");
    pty.wait_for("q2 Tests >");
    pty.send("1 3\n");
    pty.wait_for("✓ Tests → Unit, Load");
    pty.wait_for("q3 Language >");
    pty.send("\x03");
    pty.wait_for("You left the tour.");
    assert!(pty.wait_end().success());
    assert!(!pty.raw().contains(&0x1b), "{}", pty.text());
    assert!(!pty.text().contains("✓ Language"), "leaving is no answer");
}
