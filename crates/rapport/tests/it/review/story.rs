//! Reviews in a real terminal: keys are typed, programs show previews, and the terminal is restored.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::support::example::example;
use crate::support::pty::Pty;

const PROMPT: &str = "(s)kip / (q)uit ›";
const CHECKLIST: &str = "? help";
const LOCALE: (&str, &str) = ("LANG", "C.UTF-8");
/// Where no `code` is.
const PATH: (&str, &str) = ("PATH", "/usr/bin:/bin");

fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| example("plan_review")).clone()
}

/// A review in a shell that says whether the terminal is as it was, and that Ctrl-C does not end.
fn review(args: &str, env: &[(&str, &str)]) -> Pty {
    let script = format!(
        "trap : INT; before=$(stty -g); {} {args}; echo \"left $?\"; test \"$before\" = \"$(stty -g)\" && echo 'as it was'",
        program().display()
    );
    let env: Vec<_> = [LOCALE, PATH, ("LC_ALL", "")].iter().chain(env).copied().collect();
    Pty::spawn("/bin/sh", &["-c", &script], &env, 100, 24)
}

/// A review whose checklist is open.
fn checklist(args: &str, env: &[(&str, &str)]) -> Pty {
    let mut pty = review(args, env);
    pty.wait_for(PROMPT);
    pty.send("m");
    pty.wait_for(CHECKLIST);
    assert!(pty.is_alternate());
    pty
}

/// Everything ended well, with this decided, and the terminal is as it was.
#[track_caller]
fn assert_decided(pty: &mut Pty, decided: &str) {
    let status = pty.wait_end();
    assert!(status.success(), "{status:?} instead of {decided:?} after:\n{}", pty.text());
    let text = pty.text();
    assert!(text.contains(&format!("decided: {decided}")), "{text}");
    assert!(text.ends_with("left 0\nas it was"), "{text}");
    assert!(!pty.is_alternate() && !pty.is_cursor_hidden());
}

#[track_caller]
fn assert_not_approved(pty: &Pty) {
    let raw = String::from_utf8_lossy(pty.raw()).into_owned();
    assert!(!raw.contains("decided: approve") && !raw.contains("decided: run"), "{raw}");
}

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// FILE-30, FILE-33, FILE-34, FILE-35: one of three is left out.
#[test]
fn file_34_modify_preview_uncheck_and_run() {
    let mut pty = checklist("", &[]);
    pty.send("\x1b[F\x1b[A");
    pty.wait_for("❯  ├─[✅] EDIT:");
    pty.send("p");
    pty.wait_for("      3  + version = \"0.2\"");
    pty.send("q");
    pty.wait_for(CHECKLIST);
    pty.send(" ");
    pty.wait_for("5 of 6 checked");
    pty.wait_for("· runs without EDIT pyproject.toml");
    pty.send("\r");
    assert_decided(
        &mut pty,
        "run context 2 memos 1 actions CREATE,EXECUTE notes [\"runs without EDIT pyproject.toml\"]",
    );
    let raw = String::from_utf8_lossy(pty.raw()).into_owned();
    assert!(raw.contains("\x1b[32m") || raw.contains("\x1b[38;5;2m"), "the diff has colours");
}

/// FILE-29, FILE-31, FILE-32.
#[test]
fn file_29_one_key_decides() {
    for (key, decided) in [
        ("a", "approve context 2 memos 1 actions CREATE,EDIT,EXECUTE notes []"),
        ("s", "skip"),
        ("q", "quit"),
        ("\x03", "quit"),
        ("\x04", "quit"),
    ] {
        let mut pty = review("", &[]);
        pty.wait_for(PROMPT);
        pty.send(key);
        assert_decided(&mut pty, decided);
    }
}

#[test]
fn keys_that_decide_nothing_are_explained() {
    let mut pty = review("", &[]);
    pty.wait_for(PROMPT);
    pty.send("\r");
    pty.wait_for("nothing else decides");
    pty.send("y");
    pty.wait_until("two explanations", |screen| screen.matches("nothing else decides").count() == 2);
    pty.send("\x1b[200~a\x1b[201~");
    // The rest of a word approves nothing.
    pty.send("a");
    pty.insist("q", "that it was left", |screen| screen.contains("decided: quit"));
    assert_decided(&mut pty, "quit");
    assert_not_approved(&pty);
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let script = format!("printf 'ready? '; read go; {}; echo over", program().display());
    let mut pty = Pty::spawn("/bin/sh", &["-c", &script], &[LOCALE, PATH], 80, 24);
    pty.wait_for("ready?");
    pty.send("go\na");
    pty.wait_for(PROMPT);
    pty.send("s");
    pty.wait_for("decided: skip");
    pty.wait_for("over");
    assert_not_approved(&pty);
}

#[test]
fn going_back_keeps_what_is_unchecked_and_says_so() {
    let mut pty = checklist("", &[]);
    pty.send("\x1b[F ");
    pty.wait_for("5 of 6 checked");
    pty.send("\x1b");
    let asks_again =
        |screen: &str| screen.split_once("1 item not checked").is_some_and(|(_, rest)| rest.contains(PROMPT));
    pty.wait_until("it asks again", asks_again);
    assert!(!pty.is_alternate());
    pty.send("m");
    pty.wait_for("5 of 6 checked");
    pty.send("\x03");
    assert_decided(&mut pty, "quit");
}

#[test]
fn signals_give_the_terminal_back_and_approve_nothing() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        for open in [review, checklist] {
            let mut pty = open("", &[]);
            pty.wait_until("it asks", |screen| screen.contains(PROMPT) || screen.contains(CHECKLIST));
            kill(child_of(&pty), signal).unwrap();
            assert_decided(&mut pty, "quit");
        }
    }
}

/// The program that the shell in the terminal runs.
fn child_of(pty: &Pty) -> Pid {
    let text = fs::read_to_string(format!("/proc/{0}/task/{0}/children", pty.id())).unwrap();
    Pid::from_raw(text.trim().parse().expect("one child"))
}

#[test]
fn a_panic_gives_the_terminal_back() {
    let mut pty = checklist("panic", &[("RUST_BACKTRACE", "0")]);
    pty.send("\x1b[F\x1b[Ap");
    assert!(pty.wait_end().success());
    assert!(pty.text().contains("as wished"), "{}", pty.text());
    assert!(pty.text().ends_with("left 101\nas it was"), "{}", pty.text());
    assert!(!pty.is_alternate() && !pty.is_cursor_hidden());
}

#[test]
fn a_panic_elsewhere_does_not_end_it() {
    let mut pty = checklist("elsewhere", &[("RUST_BACKTRACE", "0")]);
    pty.send("\x1b[F\x1b[Ap");
    pty.wait_for("+ version = \"0.2\"");
    // It comes back after the panic was told, whichever was first.
    pty.send("q");
    pty.wait_for(CHECKLIST);
    pty.send("\x03");
    assert_decided(&mut pty, "quit");
}

/// FILE-36: a program that is not there, and one that fails.
#[test]
fn file_36_a_preview_command_that_fails_leaves_the_preview_here() {
    for (command, said) in [
        ("/nowhere/viewer -R", "/nowhere/viewer -R cannot be started"),
        ("false", "false failed (exit status: 1)"),
    ] {
        let mut pty = checklist("", &[("RAPPORT_PREVIEW_COMMAND", command)]);
        pty.send("\x1b[F\x1b[Ap");
        pty.wait_for(said);
        pty.wait_for("+ version = \"0.2\"");
        assert!(pty.is_alternate());
        pty.send("q");
        pty.wait_for("6 of 6 checked");
        pty.wait_for(said);
        pty.send("q");
        pty.wait_until("the question again", |screen| screen.matches(PROMPT).count() == 2);
        pty.send("q");
        assert_decided(&mut pty, "quit");
    }
}

/// FILE-36, FILE-37: a program such as `nvim -R` has the terminal for itself, and gets a diff.
#[test]
fn file_37_a_preview_command_gets_the_terminal() {
    let folder = TempDir::new().unwrap();
    let text = "stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon; echo \"$1 shows ${2##*.}\"; cat \"$2\"; printf 'more? '; \
                read word; stty raw -echo; exit 0";
    let viewer = script(folder.path(), "viewer", text);
    let command = format!("{} -R", viewer.display());
    let mut pty = checklist("", &[("RAPPORT_PREVIEW_COMMAND", &command)]);
    pty.send("\x1b[F\x1b[Ap");
    pty.wait_for("more?");
    assert!(!pty.is_alternate());
    let shown = pty.text();
    assert!(shown.contains("icanon\n-R shows diff"), "{shown}");
    assert!(shown.contains("+version = \"0.2\""), "{shown}");
    pty.send("no\n");
    wait_back(&mut pty);
    pty.send("?");
    pty.wait_for("go far");
    assert!(pty.is_alternate());
    pty.send("\x03");
    assert_decided(&mut pty, "quit");
}

/// Waits until the checklist is back. Where the program took its time, nothing has to be pressed.
#[track_caller]
fn wait_back(pty: &mut Pty) {
    pty.wait_until("it is back", |screen| screen.contains("any key") || screen.contains(CHECKLIST));
    if !pty.is_alternate() {
        pty.send("x");
    }
    pty.wait_for(CHECKLIST);
}

#[test]
fn ctrl_c_is_for_the_program_that_has_the_terminal() {
    let folder = TempDir::new().unwrap();
    let text = "trap 'echo caught; exit 0' INT; printf 'more? '; read word";
    let command = script(folder.path(), "viewer", text).display().to_string();
    let env = [LOCALE, PATH, ("LC_ALL", ""), ("RAPPORT_PREVIEW_COMMAND", &command)];
    let mut pty = Pty::spawn(&program().display().to_string(), &[], &env, 100, 24);
    pty.wait_for(PROMPT);
    pty.send("m");
    pty.wait_for(CHECKLIST);
    pty.send("\x1b[F\x1b[Ap");
    pty.wait_for("more?");
    pty.send("\x03");
    wait_back(&mut pty);
    assert!(String::from_utf8_lossy(pty.raw()).contains("caught"));
    pty.send("\r");
    pty.wait_for("decided: run context 2 memos 1 actions CREATE,EDIT,EXECUTE");
    assert!(pty.wait_end().success());
}

/// The thread that reviews gives the terminal back when its batch no longer needs an answer.
#[test]
fn a_review_that_is_dropped_gives_the_terminal_back() {
    let mut pty = checklist("dropped", &[]);
    pty.send("\x1b[F\x1b[Ap");
    assert_decided(&mut pty, "quit");
}

#[test]
fn a_signal_while_a_program_has_the_terminal_ends_both() {
    let folder = TempDir::new().unwrap();
    let viewer = script(folder.path(), "viewer", "stty raw -echo; kill -TERM $PPID; read word");
    let mut pty = checklist("", &[("RAPPORT_PREVIEW_COMMAND", &viewer.display().to_string())]);
    pty.send("\x1b[F\x1b[Ap");
    assert_decided(&mut pty, "quit");
}

// FILE-37: `nvim -R`, found on the path, uses the terminal; `code` does not, and is not waited for.
#[test]
fn file_37_nvim_has_the_terminal_and_code_is_not_waited_for() {
    let folder = TempDir::new().unwrap();
    script(folder.path(), "nvim", "echo \"nvim got $1 and ${2##*.}\"; printf 'more? '; read word");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let mut pty = checklist("", &[("PATH", &path), ("RAPPORT_PREVIEW_COMMAND", "nvim -R")]);
    pty.send("\x1b[F\x1b[Ap");
    pty.wait_for("nvim got -R and diff");
    pty.wait_for("more?");
    assert!(!pty.is_alternate());
    pty.send("\n");

    let hold = folder.path().join("hold");
    nix::unistd::mkfifo(&hold, nix::sys::stat::Mode::S_IRWXU).unwrap();
    script(folder.path(), "code", &format!("read word < {}", hold.display()));
    let mut pty = checklist("", &[("PATH", &path)]);
    pty.send("\x1b[F\x1b[Ap");
    pty.send(" ");
    pty.wait_for("5 of 6 checked");
    assert!(pty.is_alternate() && !pty.text().contains("Opened in code."), "{}", pty.text());
    std::fs::write(&hold, "go on\n").unwrap();
    pty.wait_for("Opened in code.");
}

/// FILE-36, FILE-37: `code` opens a window, and the checklist stays.
#[test]
fn file_36_code_is_used_where_it_is_on_the_path() {
    let folder = TempDir::new().unwrap();
    let seen = folder.path().join("seen");
    script(folder.path(), "code", &format!("echo \"$1\" > {}; cat \"$1\" >> {0}", seen.display()));
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let mut pty = checklist("", &[("PATH", &path)]);
    pty.send("\x1b[F\x1b[A\x1b[Ap");
    pty.wait_for("Opened in code.");
    assert!(pty.is_alternate());
    let seen = fs::read_to_string(seen).unwrap();
    let (file, content) = seen.split_once('\n').unwrap();
    assert_eq!(content, "def core():\n    return 1\n");
    assert!(
        file.ends_with("/core.py") && Path::new(file).exists(),
        "{file} is kept while the review goes on"
    );
    pty.send("\r");
    assert_decided(&mut pty, "run context 2 memos 1 actions CREATE,EDIT,EXECUTE");
    assert!(!Path::new(file).exists(), "{file}");
}

#[test]
fn a_page_that_does_not_come_can_be_given_up() {
    let mut pty = checklist("every", &[]);
    pty.send("\x1b[F\x1b[A\x1b[A\x1b[A\x1b[Ap");
    pty.wait_for("Esc stops it");
    pty.send("\x1b");
    pty.wait_for("The preview was stopped.");
    pty.send("\x03");
    assert_decided(&mut pty, "quit");
}

#[test]
fn another_size_is_drawn_anew() {
    let mut pty = checklist("long", &[]);
    pty.send("\x1b[F");
    pty.wait_for("└─[✅] CREATE:");
    pty.resize(40, 10);
    pty.wait_until("the list, small", |screen| screen.contains("[↑/↓] [space] (p)review [enter] run"));
    pty.send("k");
    pty.wait_for("❯  ├─[✅] EXECUTE:");
    assert_eq!(pty.text().lines().count(), 10, "{}", pty.text());
    pty.send("\x03");
    assert_decided(&mut pty, "quit");
}

#[test]
fn ctrl_z_and_fg() {
    let script = format!("PS1='shell: '; {}\n", program().display());
    let env = [LOCALE, PATH, ("LC_ALL", ""), ("PS1", "shell: ")];
    let mut pty = Pty::spawn("/bin/bash", &["--norc", "--noprofile", "-i"], &env, 80, 24);
    pty.wait_for("shell:");
    pty.send(&script);
    pty.wait_for(PROMPT);
    pty.send("\x1a");
    pty.wait_for("Stopped");
    pty.send("fg\n");
    pty.wait_until("the question again", |screen| screen.matches(PROMPT).count() == 2);
    pty.send("m");
    pty.wait_for(CHECKLIST);
    pty.send("\x1b[F ");
    pty.wait_for("5 of 6 checked");
    pty.send("\x1a");
    pty.wait_for("Stopped");
    assert!(!pty.is_alternate() && !pty.is_cursor_hidden());
    pty.send("fg\n");
    pty.wait_for("5 of 6 checked");
    assert!(pty.is_alternate());
    pty.send("\r");
    pty.wait_for("decided: run context 2 memos 1 actions CREATE,EDIT notes");
    pty.send("exit\n");
    pty.wait_end();
}

/// Lines where keys cannot be had, down to the end of what can be typed.
#[test]
fn a_dumb_terminal_is_asked_by_lines() {
    let dumb = [("TERM", "dumb")];
    let mut pty = review("", &dumb);
    pty.wait_for(PROMPT);
    for (line, shown) in [
        ("", "nothing else decides"),
        ("m", "6 [✅] EXECUTE: poetry lock"),
        ("5 7", "There is no item \"7\""),
        ("5", "6 [✅] EXECUTE: poetry lock  · runs without EDIT pyproject.toml"),
        ("p", "Say which one"),
        ("p 4", "  2      return 1"),
    ] {
        pty.send(&format!("{line}\n"));
        pty.wait_until(shown, |screen| screen.contains(shown) && screen.ends_with('›'));
    }
    pty.send("r\n");
    assert_decided(&mut pty, "run context 2 memos 1 actions CREATE,EXECUTE");
    assert!(!pty.raw().contains(&0x1b), "no control characters");
    for (keys, decided) in [
        ("\x04", "quit"),
        ("\x03", "quit"),
        ("q\n", "quit"),
        ("s\n", "skip"),
        ("m\nq\n", "quit"),
        ("m\n\x04", "quit"),
    ] {
        let mut pty = review("", &dumb);
        pty.wait_for(PROMPT);
        pty.send(keys);
        assert_decided(&mut pty, decided);
    }
}

#[test]
fn hostile_plans_do_nothing_to_the_terminal() {
    let mut pty = review("hostile", &[]);
    pty.wait_for(PROMPT);
    pty.send("m");
    pty.wait_for(CHECKLIST);
    pty.send("\x1b[Fp");
    pty.wait_for("# cwd: .");
    pty.send("\x03");
    assert_decided(&mut pty, "quit");
    let raw = String::from_utf8_lossy(pty.raw()).into_owned();
    assert!(!raw.contains("\x1b]0;") && !raw.contains('\u{202e}') && !raw.contains('\u{9b}'), "{raw:?}");
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let output = Command::new(program()).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("EXECUTE: poetry lock\n"), "{text}");
    assert!(text.ends_with("a plan cannot be reviewed without a terminal\n"), "{text}");
    assert!(!text.contains("decided"), "{text}");
}
