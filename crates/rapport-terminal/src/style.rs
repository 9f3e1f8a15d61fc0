//! The appearance of tones: the sixteen standard colours with bold and dim, bold and dim alone, or nothing. Colour only
//! repeats what a sign or a word says.

use anstyle::{AnsiColor, Style};

use super::text::{Line, Tone};

/// Whether to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourChoice {
    /// As the environment says (`NO_COLOR`, `TERM`).
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Colours, bold and dim.
    Colour,
    /// Bold and dim, for `NO_COLOR`.
    Mono,
    /// Text alone, without control characters.
    Bare,
}

impl Theme {
    /// The theme for a terminal; `env` looks up a variable.
    pub fn choose(choice: ColourChoice, env: impl Fn(&str) -> Option<String>) -> Self {
        let no_colour = || env("NO_COLOR").is_some_and(|value| !value.is_empty());
        match choice {
            ColourChoice::Always => Theme::Colour,
            ColourChoice::Never => Theme::Mono,
            ColourChoice::Auto if no_colour() => Theme::Mono,
            ColourChoice::Auto => Theme::Colour,
        }
    }

    /// A line with the control characters of this theme.
    pub fn paint(self, line: &Line) -> String {
        let mut out = String::new();
        for span in &line.spans {
            let style = self.style(span.tone);
            out.push_str(&format!("{style}{}{style:#}", span.text));
        }
        out
    }

    fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        let colour = |colour: AnsiColor| colour.on_default();
        match (self, tone) {
            (Theme::Bare, _) | (_, Tone::Text) => plain,
            (_, Tone::Strong) => plain.bold(),
            (_, Tone::Dim) => plain.dimmed(),
            (Theme::Mono, Tone::Here) => plain.bold(),
            (Theme::Mono, Tone::Good | Tone::Code | Tone::Care | Tone::Bad) => plain,
            // Many terminals brighten what is bold, and bright cyan cannot be read on white.
            (Theme::Colour, Tone::Here | Tone::Code) => colour(AnsiColor::Cyan),
            (Theme::Colour, Tone::Good) => colour(AnsiColor::Green),
            // Yellow cannot be read on white.
            (Theme::Colour, Tone::Care) => colour(AnsiColor::Magenta).bold(),
            (Theme::Colour, Tone::Bad) => colour(AnsiColor::Red),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(choice: ColourChoice, no_color: Option<&str>, expected: Theme) {
        assert_eq!(Theme::choose(choice, |_| no_color.map(str::to_owned)), expected);
    }

    #[test]
    fn no_color_is_honoured_unless_colour_is_wanted() {
        check(ColourChoice::Auto, None, Theme::Colour);
        check(ColourChoice::Auto, Some("1"), Theme::Mono);
        check(ColourChoice::Auto, Some(""), Theme::Colour);
        check(ColourChoice::Always, Some("1"), Theme::Colour);
        check(ColourChoice::Never, None, Theme::Mono);
    }

    #[test]
    fn bare_text_has_no_control_characters() {
        let line = Line::new(Tone::Here, "❯ ").and(Tone::Bad, "no\u{1b}[31m");
        assert_eq!(Theme::Bare.paint(&line), "❯ no␛[31m");
        assert_eq!(Theme::Colour.paint(&Line::new(Tone::Good, "✓")), "\u{1b}[32m✓\u{1b}[0m");
    }
}
