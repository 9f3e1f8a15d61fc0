//! The image of containers: the page shows the whole `Dockerfile`, and the image contains the programs that Rapport
//! runs there.

use std::collections::BTreeSet;

use super::{crates, files};

/// The packages with the programs that Rapport runs in containers. Debian has all of them in every image, but for git.
const PACKAGES: [(&str, &[&str]); 5] = [
    (
        "coreutils",
        &[
            "cat", "chmod", "cp", "cut", "dirname", "head", "ls", "mkdir", "mv", "realpath", "rm", "sleep",
            "sync", "tail", "touch", "tr",
        ],
    ),
    ("dash", &["sh"]),
    ("grep", &["grep"]),
    ("sed", &["sed"]),
    ("git", &["git"]),
];
const ESSENTIAL: [&str; 4] = ["coreutils", "dash", "grep", "sed"];

/// What the shell does itself.
const SHELL: [&str; 30] = [
    "[", "break", "case", "cd", "command", "continue", "do", "done", "echo", "elif", "else", "esac", "exec",
    "exit", "export", "fi", "for", "if", "in", "printf", "read", "return", "set", "shift", "then", "trap",
    "unset", "until", "wait", "while",
];

fn text(path: &str) -> String {
    let path = crates().parent().unwrap().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_page_shows_the_dockerfile() {
    let (page, file) = (text("docs/workers.md"), text("docs/Dockerfile"));
    assert!(page.contains(&format!("```dockerfile\n{file}```\n")), "docs/workers.md has another one");
}

/// Also the image of the tests has them, so that a test of a script fails for no other reason.
#[test]
fn the_programs_that_scripts_call_in_containers_are_in_the_image() {
    let (dockerfile, of_tests) = (text("docs/Dockerfile"), text("xtask/src/engine.rs"));
    let image = dockerfile.lines().find_map(|line| line.strip_prefix("FROM ")).unwrap();
    assert!(image.starts_with("debian:"), "{image}");
    let installed = dockerfile.lines().find(|line| line.starts_with("RUN apt-get")).unwrap();
    for (package, programs) in PACKAGES {
        let is_there = ESSENTIAL.contains(&package) || installed.split(' ').any(|word| word == package);
        assert!(is_there, "{package} is not in the image");
        for program in programs {
            assert!(
                of_tests.contains(&format!("\"{program}\"")),
                "{program} is not in the image of the tests"
            );
        }
    }
    let known: BTreeSet<_> = PACKAGES.iter().flat_map(|(_, programs)| programs.iter().copied()).collect();
    // These are called without a script.
    let mut called = BTreeSet::from(["chmod".to_owned(), "sh".to_owned()]);
    let workers = crates().join("rapport-engine/src/workers");
    for file in files(&workers).into_iter().filter(|file| file.to_string_lossy().contains("/containers")) {
        let source = std::fs::read_to_string(&file).unwrap();
        let source = source.split("#[cfg(test)]").next().unwrap();
        scripts(source).into_iter().for_each(|script| called.extend(commands(script)));
    }
    let called: BTreeSet<_> = called.iter().map(String::as_str).collect();
    assert_eq!(called, known, "what scripts call, and what this test knows");
}

/// The shell scripts in a source.
fn scripts(source: &str) -> Vec<&str> {
    let raw = source.split("r#\"").skip(1).map(|rest| rest.split("\"#").next().unwrap());
    let plain = source.split(": &str = \"").skip(1).map(|rest| rest.split("\";").next().unwrap());
    raw.chain(plain.filter(|text| text.contains(" && ") || text.starts_with("[ "))).collect()
}

/// The programs that a script calls: the first word of each command.
fn commands(script: &str) -> BTreeSet<String> {
    let code =
        script.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n");
    let functions: BTreeSet<_> = code
        .split("()")
        .map(|before| before.rsplit(char::is_whitespace).next().unwrap().to_owned())
        .collect();
    let parts = code.split(['\n', ';', '|', '(', '{']).flat_map(|part| part.split("&&"));
    let words = parts.filter_map(|part| {
        let is_before = |word: &&str| {
            let is_set = word.split_once('=').is_some_and(|(name, _)| {
                name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            });
            // Of `case`.
            let is_pattern = word.ends_with(')') && word.starts_with(['*', '"']);
            is_set || is_pattern || ["!", "if", "while", "until", "do", "then", "else", "exec"].contains(word)
        };
        part.split_whitespace().find(|word| !is_before(word))
    });
    let words = words.filter(|word| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '['));
    let known = |word: &&str| SHELL.contains(word) || functions.contains(*word);
    words.filter(|word| !known(word)).map(str::to_owned).collect()
}

#[test]
fn the_commands_of_a_script_are_found() {
    let script = "set -eu\n# not this\na=$(ls -l | cut -f 2) || exit\nf() { rm x; }\nf && A=b cp a b\nfor x in y; do mv a b; done";
    let found: Vec<_> = commands(script).into_iter().collect();
    assert_eq!(found, ["cp", "cut", "ls", "mv", "rm"]);
}
