//! Commands in Rapport's messages can be pasted: the command line accepts each of them.

use clap::{CommandFactory as _, Parser as _};
use rapport::cli::Cli;

use super::sources;

#[test]
fn every_command_in_a_message_can_be_pasted() {
    let verbs: Vec<_> = Cli::command()
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    // The first line of a context log names its format, which reads like a command.
    for file in sources().into_iter().filter(|file| !file.ends_with("rapport-core/src/context/log.rs")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let text = super::without_tests(&text);
        for line in literals(text).iter().flat_map(|literal| literal.lines()) {
            for command in commands(line, &verbs) {
                seen += 1;
                if let Err(why) = check(&command) {
                    wrong.push(format!("{}: {command}: {why}", file.display()));
                }
            }
            if ends_with_a_dotted_flag(line) {
                wrong.push(format!("{}: {line}: something follows the flag", file.display()));
            }
        }
    }
    assert!(seen > 100, "only {seen} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The commands in a line of a message. Each goes up to the end of the line, of its quotes (`), or of its column.
fn commands(line: &str, verbs: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, name) in line.match_indices("rapport ") {
        let is_word = line[..at].chars().next_back().is_none_or(|before| " `(\"".contains(before));
        let verb: String = line[at + name.len()..].chars().take_while(|c| c.is_ascii_lowercase()).collect();
        if !is_word || !verbs.contains(&verb) {
            continue;
        }
        let end = if line[..at].ends_with('`') { "`" } else { "  " };
        let command = line[at..].split(end).next().unwrap_or_default();
        let stops = [" | ", " > ", "; rapport "];
        let command = stops.iter().fold(command, |rest, stop| rest.split(stop).next().unwrap_or_default());
        found.push(command.to_owned());
    }
    found
}

fn check(command: &str) -> Result<(), String> {
    if command.ends_with(['.', ',', ';', ':', ')']) {
        return Err("something follows it".into());
    }
    Cli::try_parse_from(words(command)).map(drop).map_err(|error| error.to_string())
}

/// Whether a line ends with a flag, its value, and a full stop that would be copied along.
fn ends_with_a_dotted_flag(line: &str) -> bool {
    let Some(rest) = line.strip_suffix(['.', ',', ';']) else { return false };
    let mut words = rest.rsplit(' ');
    let is_flag = |word: &str| word.starts_with("--") && word.len() > 2;
    let is_value = |word: &str| word.starts_with('{') || word.chars().all(|c| c.is_ascii_uppercase());
    words.next().is_some_and(|last| is_flag(last) || is_value(last) && words.next().is_some_and(is_flag))
}

/// A command's words, as a shell has them. What is filled in is a word or a part of one; `{number}` is a number.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    let mut name: Option<String> = None;
    for c in command.chars() {
        match c {
            '{' => name = Some(String::new()),
            '}' => word.push(if name.take().as_deref() == Some("number") { '1' } else { 'x' }),
            c if name.is_some() => name.as_mut().into_iter().for_each(|name| name.push(c)),
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The strings in a file of Rust, as the program has them.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => while rest.next().is_some_and(|c| c != '\n') {},
            // A quote as a character: '"' or '\''.
            '\'' if rest.peek() == Some(&'"') => drop(rest.next()),
            '\'' if rest.peek() == Some(&'\\') => drop((rest.next(), rest.next())),
            '"' => found.push(literal(&mut rest)),
            _ => {}
        }
    }
    found
}

fn literal(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut literal = String::new();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => match rest.next() {
                Some('n') => literal.push('\n'),
                Some('\n') => while rest.next_if(|c| c.is_whitespace()).is_some() {},
                Some(other) => literal.push(other),
                None => break,
            },
            c => literal.push(c),
        }
    }
    literal
}

#[test]
fn commands_are_found_and_mistakes_in_them_noticed() {
    let verbs = ["answer", "resume", "run", "log"].map(str::to_owned);
    for (line, expected) in [
        ("Go on with: rapport resume {id}", &["rapport resume {id}"][..]),
        ("or `rapport log` and `rapport answer {id} VALUE`.", &["rapport log", "rapport answer {id} VALUE"]),
        ("  rapport run \"add a greeting\"   what comes next", &["rapport run \"add a greeting\""]),
        ("  rapport log x --json | jq .", &["rapport log x --json"]),
        ("what rapport does, and .rapport log", &[]),
    ] {
        assert_eq!(commands(line, &verbs), expected, "{line}");
    }
    for good in ["rapport resume {id}{}", "rapport run \"add a greeting\"", "rapport answer {id} VALUE"] {
        check(good).unwrap();
    }
    for bad in ["rapport log.", "rapport run \"add a greeting\".", "rapport run", "rapport resume --nothing"]
    {
        check(bad).unwrap_err();
    }
    for line in ["say so with --text {number}.", "Name it with --question ID.", "by --yes."] {
        assert!(ends_with_a_dotted_flag(line), "{line}");
    }
    assert!(!ends_with_a_dotted_flag("With --force those files stay as they are."));
    assert_eq!(
        literals(
            r#"f('"', "a\
        b\"c"); // "not this""#
        ),
        ["ab\"c"]
    );
}
