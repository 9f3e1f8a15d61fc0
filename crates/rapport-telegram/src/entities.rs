//! Converts the styles of a text to Telegram's entities: in UTF-16 units, following its nesting rules.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::bot_api::{MessageEntity, MessageEntityType};

use super::text::{Span, Style, units};

/// The maximum number of entities in a message; Telegram drops the rest.
const MOST: usize = 100;

/// The entities of a text that is no longer than a message.
pub(super) fn of(words: &str, spans: &[Span]) -> Vec<MessageEntity> {
    let mut spans = allowed(spans);
    spans.retain(|span| !words[span.range.clone()].trim().is_empty());
    // Telegram orders nested entities from the outside in.
    spans.sort_by_key(|span| (span.range.start, Reverse(span.range.end), rank(&span.style, 0)));
    spans.truncate(MOST);
    let at = positions(words, &spans);
    let unit = |byte| at.get(&byte).copied().unwrap_or_default();
    spans.iter().map(|span| entity(span, unit(span.range.start), unit(span.range.end))).collect()
}

/// Telegram's nesting rules: code cannot contain other entities, and only a quotation can contain code; quotations and
/// links cannot contain their own kind. If code is inside a link, the link stays; other styles are dropped where they
/// overlap with code.
fn allowed(spans: &[Span]) -> Vec<Span> {
    let inside = |inner: &Span, outer: &Span| {
        inner.range.start >= outer.range.start && inner.range.end <= outer.range.end
    };
    let kept = |at: usize, span: &Span| {
        let among = |fits: &dyn Fn(&Style) -> bool| {
            let larger = |(other, outer): (usize, &Span)| {
                other != at
                    && fits(&outer.style)
                    && inside(span, outer)
                    // Of two equal spans, the first one stays.
                    && (outer.range != span.range || rank(&outer.style, other) < rank(&span.style, at))
            };
            spans.iter().enumerate().any(larger)
        };
        match &span.style {
            Style::Code => !among(&|style| matches!(style, Style::Link(_) | Style::Pre(_) | Style::Code)),
            Style::Link(_) => !among(&|style| matches!(style, Style::Link(_) | Style::Pre(_))),
            Style::Pre(_) => !among(&|style| matches!(style, Style::Pre(_))),
            Style::Quote | Style::Folded => {
                !among(&|style| matches!(style, Style::Quote | Style::Folded | Style::Pre(_)))
            }
            Style::Heading | Style::Bold => !among(&|style| matches!(style, Style::Heading | Style::Bold)),
            Style::Italic | Style::Struck => true,
        }
    };
    let whole: Vec<Span> =
        spans.iter().enumerate().filter(|(at, span)| kept(*at, span)).map(|(_, span)| span.clone()).collect();
    let code: Vec<Range<usize>> =
        whole.iter().filter(|span| is_code(span)).map(|span| span.range.clone()).collect();
    whole.into_iter().flat_map(|span| without(span, &code)).collect()
}

fn rank(style: &Style, at: usize) -> (u8, usize) {
    let outer = match style {
        Style::Pre(_) => 0,
        Style::Link(_) => 1,
        Style::Quote | Style::Folded => 2,
        Style::Code => 3,
        Style::Heading | Style::Bold | Style::Italic | Style::Struck => 4,
    };
    (outer, at)
}

fn is_code(span: &Span) -> bool {
    matches!(span.style, Style::Code | Style::Pre(_))
}

/// The parts of a span outside of code, if it may not contain code.
fn without(span: Span, code: &[Range<usize>]) -> Vec<Span> {
    if !is_inline(&span.style) {
        return vec![span];
    }
    let mut code: Vec<_> =
        code.iter().filter(|c| c.start < span.range.end && c.end > span.range.start).cloned().collect();
    code.sort_by_key(|range| range.start);
    let (mut left, mut start) = (Vec::new(), span.range.start);
    for hole in code {
        if start < hole.start {
            left.push(Span { range: start..hole.start, style: span.style.clone() });
        }
        start = start.max(hole.end);
    }
    if start < span.range.end {
        left.push(Span { range: start..span.range.end, style: span.style });
    }
    left
}

fn is_inline(style: &Style) -> bool {
    match style {
        Style::Heading | Style::Bold | Style::Italic | Style::Struck => true,
        Style::Code | Style::Pre(_) | Style::Link(_) | Style::Quote | Style::Folded => false,
    }
}

/// Maps the byte offsets at which spans begin and end to UTF-16 units.
fn positions(words: &str, spans: &[Span]) -> BTreeMap<usize, usize> {
    let mut at: BTreeMap<usize, usize> =
        spans.iter().flat_map(|span| [span.range.start, span.range.end]).map(|byte| (byte, 0)).collect();
    let (mut from, mut unit) = (0, 0);
    for (byte, place) in &mut at {
        unit += units(&words[from..*byte]);
        from = *byte;
        *place = unit;
    }
    at
}

fn entity(span: &Span, start: usize, end: usize) -> MessageEntity {
    let (kind, url, language) = match &span.style {
        Style::Heading | Style::Bold => (MessageEntityType::Bold, None, None),
        Style::Italic => (MessageEntityType::Italic, None, None),
        Style::Struck => (MessageEntityType::Strikethrough, None, None),
        Style::Code => (MessageEntityType::Code, None, None),
        Style::Pre(language) => (MessageEntityType::Pre, None, language.clone()),
        Style::Link(to) => (MessageEntityType::TextLink, Some(to.clone()), None),
        Style::Quote => (MessageEntityType::Blockquote, None, None),
        Style::Folded => (MessageEntityType::ExpandableBlockquote, None, None),
    };
    // A finished text has at most 4096 units.
    let short = |units: usize| u16::try_from(units).unwrap_or(u16::MAX);
    MessageEntity { type_field: kind, offset: short(start), length: short(end - start), url, language }
}
