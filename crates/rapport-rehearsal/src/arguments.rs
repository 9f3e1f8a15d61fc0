//! The command line, parsed leniently: Claude Code's own flags are understood or ignored.

use std::iter::Peekable;

/// The parsed command line.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Arguments {
    pub(super) scenario: Option<String>,
    pub(super) version: bool,
    pub(super) input: Input,
    pub(super) output: OutputFormat,
    pub(super) resume: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) fork: bool,
    /// Whether user messages are echoed when the model reads them.
    pub(super) replay: bool,
    /// Whether to report the beginning and end of each message.
    pub(super) partial: bool,
    pub(super) permission_mode: Option<String>,
    pub(super) model: Option<String>,
    pub(super) allowed_tools: Vec<String>,
    /// The JSON schema of the reply, if a JSON reply is requested.
    pub(super) json_schema: Option<String>,
    /// The last argument that does not belong to a flag.
    pub(super) message: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The command line: plain mode.
    #[default]
    Text,
    /// Lines of JSON on stdin: live mode.
    Stream,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputFormat {
    #[default]
    Text,
    Json,
    Stream,
}

/// Flags of the real CLI with a value that is ignored here.
const PASSED_OVER: &[&str] = &[
    "--permission-prompt-tool",
    "--append-system-prompt",
    "--system-prompt",
    "--settings",
    "--setting-sources",
    "--max-turns",
    "--fallback-model",
    "--agents",
    "--plugin-dir",
    "--max-budget-usd",
    "--effort",
];

/// Flags of the real CLI that take all words up to the next flag, even if one of them is the message.
const LISTS: &[&str] =
    &["--disallowedTools", "--disallowed-tools", "--add-dir", "--mcp-config", "--betas", "--tools"];

impl Arguments {
    /// Parses the arguments after `rapport rehearse`.
    pub(super) fn parse(argv: &[String]) -> Self {
        let mut arguments = Arguments::default();
        let mut words = argv.iter().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                arguments.message = words.next_back().cloned().or(arguments.message);
                break;
            }
            let (flag, joined) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value = || joined.clone().or_else(|| words.next().cloned());
            match flag {
                "--scenario" => arguments.scenario = value(),
                "--version" | "-v" => arguments.version = true,
                "--input-format" if value().as_deref() == Some("stream-json") => {
                    arguments.input = Input::Stream
                }
                "--input-format" => arguments.input = Input::Text,
                "--output-format" => arguments.output = output_format(value().as_deref()),
                "--resume" | "-r" => arguments.resume = value(),
                "--session-id" => arguments.session_id = value(),
                "--fork-session" => arguments.fork = true,
                "--replay-user-messages" => arguments.replay = true,
                "--include-partial-messages" => arguments.partial = true,
                "--permission-mode" => arguments.permission_mode = value(),
                "--dangerously-skip-permissions" => {
                    arguments.permission_mode = Some("bypassPermissions".into())
                }
                "--model" => arguments.model = value(),
                "--json-schema" => arguments.json_schema = value(),
                "--allowedTools" | "--allowed-tools" => {
                    arguments
                        .allowed_tools
                        .extend(list(joined, &mut words).iter().flat_map(|word| names(word)));
                }
                other if LISTS.contains(&other) => drop(list(joined, &mut words)),
                other if PASSED_OVER.contains(&other) => drop(value()),
                other if other.len() > 1 && other.starts_with('-') => {}
                _ => arguments.message = Some(word.clone()),
            }
        }
        if arguments.input == Input::Stream {
            // A host that sends lines reads lines.
            arguments.output = OutputFormat::Stream;
        }
        arguments
    }
}

fn output_format(word: Option<&str>) -> OutputFormat {
    match word {
        Some("stream-json") => OutputFormat::Stream,
        Some("json") => OutputFormat::Json,
        _ => OutputFormat::Text,
    }
}

/// The words of a flag that takes several.
fn list<'a>(joined: Option<String>, words: &mut Peekable<impl Iterator<Item = &'a String>>) -> Vec<String> {
    let more = std::iter::from_fn(|| words.next_if(|word| !word.starts_with('-')).cloned());
    joined.map_or_else(|| more.collect(), |word| vec![word])
}

fn names(list: &str) -> impl Iterator<Item = String> {
    list.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Arguments {
        Arguments::parse(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_live_command_line_of_the_driver() {
        let arguments = parse(&[
            "-p",
            "--verbose",
            "--input-format",
            "stream-json",
            "--output-format=stream-json",
            "--permission-prompt-tool",
            "stdio",
            "--resume",
            "abc",
            "--fork-session",
            "--permission-mode",
            "plan",
            "--allowedTools",
            "Write,Bash Edit",
            "--brand-new-flag",
        ]);
        assert_eq!((arguments.input, arguments.output), (Input::Stream, OutputFormat::Stream));
        assert_eq!((arguments.resume.as_deref(), arguments.fork), (Some("abc"), true));
        assert_eq!(arguments.permission_mode.as_deref(), Some("plan"));
        assert_eq!(arguments.allowed_tools, ["Write", "Bash", "Edit"]);
        assert_eq!(arguments.message, None);
    }

    #[test]
    fn the_message_is_the_last_positional() {
        for line in [
            &["-p", "--append-system-prompt", "be kind", "add auth"][..],
            &["-p", "--resume", "abc", "ignored", "add auth"],
            &["-p", "--", "--scenario", "add auth"],
        ] {
            assert_eq!(parse(line).message.as_deref(), Some("add auth"), "{line:?}");
        }
        let swallowed = parse(&["-p", "--disallowedTools", "Edit,Write", "add auth"]);
        assert_eq!(swallowed.message, None, "as with the real CLI, it is one more tool");
    }
}
