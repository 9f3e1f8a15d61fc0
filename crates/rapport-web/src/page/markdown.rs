//! Draws the Markdown of agents as part of a page. Its HTML stays text, it loads nothing, and its links lead to the
//! web only.

use maud::{Markup, PreEscaped, Render as _};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use rapport_core::display_text;

/// Longer text, in bytes, is shown as it is, because drawing it takes too long.
const LONGEST: usize = 256 * 1024;

/// Markdown as part of a page.
pub(crate) fn markdown(source: &str) -> Markup {
    let source = visible_lines(source);
    if source.len() > LONGEST {
        return maud::html! { pre.code { (source) } };
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in Parser::new_ext(&source, options) {
        writer.take(event);
    }
    PreEscaped(format!("<div class=\"prose\">{}</div>", writer.page))
}

/// Makes hidden characters visible, and keeps the line breaks, which Markdown needs.
fn visible_lines(source: &str) -> String {
    source.lines().map(display_text::line).collect::<Vec<_>>().join("\n")
}

#[derive(Default)]
struct Writer {
    page: String,
    /// Whether each open link has an address that is allowed.
    links: Vec<bool>,
    alignments: Vec<Alignment>,
    is_head: bool,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            // HTML in the source is shown as text.
            Event::Text(words)
            | Event::Html(words)
            | Event::InlineHtml(words)
            | Event::InlineMath(words)
            | Event::DisplayMath(words)
            | Event::FootnoteReference(words) => words.as_ref().render_to(&mut self.page),
            Event::Code(words) => {
                self.page.push_str("<code>");
                words.as_ref().render_to(&mut self.page);
                self.page.push_str("</code>");
            }
            Event::SoftBreak => self.page.push('\n'),
            Event::HardBreak => self.page.push_str("<br>"),
            Event::Rule => self.page.push_str("<hr>"),
            Event::TaskListMarker(true) => self.page.push_str("☑ "),
            Event::TaskListMarker(false) => self.page.push_str("☐ "),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Link { dest_url, .. } => self.start_link(&dest_url),
            // The page loads no pictures from elsewhere; it shows the description.
            Tag::Image { .. } => self.page.push_str("<span class=\"picture\">🖼 "),
            Tag::List(Some(first)) => self.page.push_str(&format!("<ol start=\"{first}\">")),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.page.push_str("<div class=\"table\"><table>");
            }
            Tag::TableHead => {
                self.is_head = true;
                self.page.push_str("<thead><tr>");
            }
            Tag::TableCell => self.page.push_str(if self.is_head { "<th>" } else { "<td>" }),
            other => self.page.push_str(opening(&other)),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Link => {
                let closing = if self.links.pop().unwrap_or(false) { "</a>" } else { "</span>" };
                self.page.push_str(closing);
            }
            TagEnd::TableHead => {
                self.is_head = false;
                self.page.push_str("</tr></thead>");
            }
            TagEnd::TableCell => self.page.push_str(if self.is_head { "</th>" } else { "</td>" }),
            other => self.page.push_str(closing(other)),
        }
    }

    fn start_link(&mut self, to: &str) {
        let is_web = ["https://", "http://"].iter().any(|start| to.starts_with(start));
        self.links.push(is_web);
        if !is_web {
            return self.page.push_str("<span class=\"picture\">");
        }
        self.page.push_str("<a rel=\"noopener noreferrer nofollow\" target=\"_blank\" href=\"");
        to.render_to(&mut self.page);
        self.page.push_str("\">");
    }
}

fn opening(tag: &Tag<'_>) -> &'static str {
    match tag {
        Tag::Paragraph => "<p>",
        // Below the headings of the page itself.
        Tag::Heading { level: HeadingLevel::H1 | HeadingLevel::H2, .. } => "<h3>",
        Tag::Heading { .. } => "<h4>",
        Tag::BlockQuote(_) => "<blockquote>",
        Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
            "<pre class=\"code\" tabindex=\"0\"><code>"
        }
        Tag::HtmlBlock => "<pre class=\"code\" tabindex=\"0\">",
        Tag::List(_) => "<ul>",
        Tag::Item => "<li>",
        Tag::TableRow => "<tr>",
        Tag::Emphasis => "<em>",
        Tag::Strong => "<strong>",
        Tag::Strikethrough => "<s>",
        _ => "",
    }
}

fn closing(tag: TagEnd) -> &'static str {
    match tag {
        TagEnd::Paragraph => "</p>",
        TagEnd::Heading(HeadingLevel::H1 | HeadingLevel::H2) => "</h3>",
        TagEnd::Heading(_) => "</h4>",
        TagEnd::BlockQuote(_) => "</blockquote>",
        TagEnd::CodeBlock => "</code></pre>",
        TagEnd::HtmlBlock => "</pre>",
        TagEnd::List(true) => "</ol>",
        TagEnd::List(false) => "</ul>",
        TagEnd::Item => "</li>",
        TagEnd::Table => "</table></div>",
        TagEnd::TableRow => "</tr>",
        TagEnd::Emphasis => "</em>",
        TagEnd::Strong => "</strong>",
        TagEnd::Strikethrough => "</s>",
        TagEnd::Image => "</span>",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let page = markdown(source).into_string();
        assert_eq!(page, format!("<div class=\"prose\">{expected}</div>"));
    }

    #[test]
    fn what_agents_write_is_drawn() {
        check(
            "# A *b*\n\n- c\n- `d<e>`",
            "<h3>A <em>b</em></h3><ul><li>c</li><li><code>d&lt;e&gt;</code></li></ul>",
        );
        check(
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "<div class=\"table\"><table><thead><tr><th>a</th><th>b</th></tr></thead><tr><td>1</td><td>2</td></tr></table></div>",
        );
        check("```rust\nfn a() {}\n```", "<pre class=\"code\" tabindex=\"0\"><code>fn a() {}\n</code></pre>");
    }

    #[test]
    fn nothing_in_it_is_markup_loads_or_runs() {
        check("a <script>alert(1)</script>", "<p>a &lt;script&gt;alert(1)&lt;/script&gt;</p>");
        check("![x](https://evil.example/a.png)", "<p><span class=\"picture\">🖼 x</span></p>");
        check("[x](javascript:alert(1))", "<p><span class=\"picture\">x</span></p>");
        check("[x](data:text/html,a)", "<p><span class=\"picture\">x</span></p>");
        let link = markdown("[x](https://e.example/\"onclick=\"a)").into_string();
        assert!(!link.contains("\"onclick"), "{link}");
        let hidden = markdown("a\u{202e}b\u{1b}[2K").into_string();
        assert!(hidden.contains("&lt;U+202E&gt;") && !hidden.contains('\u{1b}'), "{hidden}");
    }

    #[test]
    fn a_megabyte_is_shown_as_it_is() {
        let long = markdown(&"*a* ".repeat(300_000)).into_string();
        assert!(long.starts_with("<pre class=\"code\">*a* *a*"));
    }
}
