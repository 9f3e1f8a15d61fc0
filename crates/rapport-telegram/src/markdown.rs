//! Converts Markdown, as agents write it, to a text with styles. Elements that Telegram cannot format become plain
//! characters: lists get bullets and numbers, tables become blocks of code.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr as _;

use super::text::{Style, Text};

/// Converts Markdown to a text.
pub fn text(markdown: &str) -> Text {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in Parser::new_ext(markdown, options) {
        writer.take(event);
    }
    writer.text
}

#[derive(Default)]
struct Writer {
    text: Text,
    /// The start of each open element.
    open: Vec<usize>,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    links: Vec<String>,
    language: Option<String>,
    table: Option<Table>,
    /// Whether a bullet or a number was just written, so that the following text belongs on the same line.
    at_item: bool,
    quotes: usize,
}

#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(words)
            | Event::Html(words)
            | Event::InlineHtml(words)
            | Event::InlineMath(words)
            | Event::DisplayMath(words)
            | Event::FootnoteReference(words) => self.words(&words),
            Event::Code(words) => self.code(&words),
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => {
                self.block();
                self.words("━━━━━━━━━━");
            }
            Event::TaskListMarker(true) => self.words("☑ "),
            Event::TaskListMarker(false) => self.words("☐ "),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(),
            Tag::Heading { .. } => self.open_block(),
            Tag::BlockQuote(_) => {
                self.open_block();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.open_block();
                self.language = language(&kind);
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.open_block();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(String::new());
                }
            }
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough => self.open.push(self.here()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.open.push(self.here());
                self.links.push(dest_url.into_string());
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.close(Style::Heading),
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                self.close(Style::Quote);
            }
            TagEnd::CodeBlock => {
                self.drop_newline();
                let style = Style::Pre(self.language.take());
                self.close(style);
            }
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Item => self.at_item = false,
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis => self.close(Style::Italic),
            TagEnd::Strong => self.close(Style::Bold),
            TagEnd::Strikethrough => self.close(Style::Struck),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Paragraph
            | TagEnd::HtmlBlock
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn words(&mut self, words: &str) {
        self.at_item = false;
        match self.table.as_mut().and_then(|table| table.rows.last_mut()?.last_mut()) {
            Some(cell) => cell.push_str(words),
            None => self.text.push(words),
        }
    }

    fn code(&mut self, words: &str) {
        let start = self.here();
        self.words(words);
        self.text.mark(start, Style::Code);
    }

    fn line_break(&mut self) {
        let indent = "  ".repeat(self.lists.len());
        self.words(&format!("\n{indent}"));
    }

    /// Begins a new block: a blank line before it, or just a new line within a list.
    fn block(&mut self) {
        if self.at_item || self.text.words().is_empty() || self.begins_quote() {
            self.at_item = false;
            return;
        }
        self.drop_newline();
        let indent = "  ".repeat(self.lists.len());
        let gap = if self.lists.is_empty() { "\n\n".to_owned() } else { format!("\n{indent}") };
        self.text.push(&gap);
    }

    fn open_block(&mut self) {
        self.block();
        self.open.push(self.here());
    }

    /// Whether an open quotation is still empty.
    fn begins_quote(&self) -> bool {
        self.quotes > 0 && self.open.last() == Some(&self.here())
    }

    fn item(&mut self) {
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "• ".to_owned(),
        };
        let fresh = self.text.words().is_empty() || self.text.words().ends_with('\n') || self.begins_quote();
        let newline = if fresh || self.at_item { "" } else { "\n" };
        self.text.push(&format!("{newline}{}{mark}", "  ".repeat(depth)));
        self.at_item = true;
    }

    fn end_link(&mut self) {
        let to = self.links.pop().unwrap_or_default();
        // Telegram accepts only absolute addresses.
        let leads = ["http://", "https://", "tg://", "mailto:"].iter().any(|scheme| to.starts_with(scheme));
        let Some(start) = self.open.pop() else { return };
        if leads {
            self.text.mark(start, Style::Link(to));
        }
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            self.text.push(&table.drawn());
        }
        self.close(Style::Pre(None));
    }

    fn close(&mut self, style: Style) {
        if let Some(start) = self.open.pop() {
            self.text.mark(start, style);
        }
    }

    fn drop_newline(&mut self) {
        let floor = self.open.last().copied().unwrap_or(0);
        self.text.drop_newlines(floor);
    }

    fn here(&self) -> usize {
        self.text.words().len()
    }
}

impl Table {
    fn drawn(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| line(row, &widths)).collect();
        let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("─┼─");
        if lines.len() > 1 {
            lines.insert(1, rule);
        }
        lines.join("\n")
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cell = |(column, width): (usize, &usize)| {
        let words = row.get(column).map_or("", String::as_str);
        format!("{words}{}", " ".repeat(width.saturating_sub(words.width())))
    };
    widths.iter().enumerate().map(cell).collect::<Vec<_>>().join(" │ ").trim_end().to_owned()
}

/// The language of a code block: the first word after the fence.
fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    match kind {
        CodeBlockKind::Fenced(info) => {
            info.split([' ', ',', '{']).next().filter(|word| !word.is_empty()).map(str::to_owned)
        }
        CodeBlockKind::Indented => None,
    }
}
