//! Output to a terminal, as a terminal shows it.

use std::num::NonZero;

use rapport::channels::terminal::region::Region;
use rapport::channels::terminal::style::Theme;
use rapport::channels::terminal::text::{Line, Tone};
use rapport::channels::terminal::{Block, Size};

const SIZE: Size = Size { columns: 20, rows: 6 };

/// A region, and a terminal that shows what it writes.
struct Drawn {
    region: Region<Vec<u8>>,
    terminal: vt100::Parser,
}

impl Drawn {
    fn new() -> Self {
        let region = Region::new(Vec::new(), Theme::Colour, SIZE);
        Self {
            region,
            terminal: vt100::Parser::new(
                NonZero::<u16>::MIN.saturating_add(5),
                NonZero::<u16>::MIN.saturating_add(19),
                100,
            ),
        }
    }

    fn show(&mut self, history: &[&str], block: Block) -> usize {
        let history: Vec<Line> = history.iter().map(|text| Line::new(Tone::Text, text)).collect();
        self.region.show(&history, block, SIZE).expect("memory can be written");
        let bytes = std::mem::take(self.region.out());
        self.terminal.process(&bytes);
        bytes.len()
    }

    fn text(&self) -> String {
        self.terminal.screen().contents()
    }
}

fn block(rows: &[&str], cursor: Option<(usize, usize)>) -> Block {
    let mut block = Block::default();
    block.rows = rows.iter().map(|text| Line::new(Tone::Dim, text)).collect();
    block.cursor = cursor;
    block
}

#[test]
fn history_scrolls_and_the_block_stays_below() {
    let mut drawn = Drawn::new();
    drawn.show(&["one"], block(&["card", "keys"], None));
    assert_eq!(drawn.text(), "one\ncard\nkeys");
    drawn.show(&["two", "three"], block(&["card"], None));
    assert_eq!(drawn.text(), "one\ntwo\nthree\ncard");
    drawn.show(&["four", "five", "six"], block(&["card", "keys"], None));
    assert_eq!(drawn.text(), "three\nfour\nfive\nsix\ncard\nkeys");
    drawn.show(&["end"], Block::default());
    assert_eq!(drawn.text(), "three\nfour\nfive\nsix\nend", "nothing of the block is left");
}

#[test]
fn the_cursor_is_where_words_are_typed() {
    let mut drawn = Drawn::new();
    drawn.show(&["one"], block(&["text", "> ab", "keys"], Some((1, 4))));
    assert_eq!(drawn.terminal.screen().cursor_position(), (2, 4));
    assert!(!drawn.terminal.screen().hide_cursor());
    drawn.show(&[], block(&["text", "> abc", "", "keys"], Some((1, 5))));
    assert_eq!(drawn.text(), "one\ntext\n> abc\n\nkeys");
    drawn.show(&["two"], block(&["card"], None));
    assert_eq!(drawn.text(), "one\ntwo\ncard");
    assert!(drawn.terminal.screen().hide_cursor());
}

/// tmux keeps a copy of what is cleared from the first cell of its screen on.
#[test]
fn a_block_that_fills_the_screen_is_not_cleared_from_its_first_cell() {
    let mut drawn = Drawn::new();
    for row in ["one", "two", "three"] {
        drawn.show(&[], block(&["card", row, "", "", "keys"], None));
    }
    assert_eq!(drawn.text(), "card\nthree\n\n\nkeys");
    drawn
        .region
        .show(&[], block(&["card", "four", "", "", "keys"], None), SIZE)
        .expect("memory can be written");
    let bytes = std::mem::take(drawn.region.out());
    let (before, _) = std::str::from_utf8(&bytes).unwrap().split_once("\x1b[J").unwrap();
    drawn.terminal.process(before.as_bytes());
    assert_eq!(drawn.terminal.screen().cursor_position(), (1, 0));
}

#[test]
fn nothing_is_written_where_nothing_changed() {
    let mut drawn = Drawn::new();
    assert!(drawn.show(&[], block(&["card"], None)) > 0);
    assert_eq!(drawn.show(&[], block(&["card"], None)), 0);
}

#[test]
fn long_history_wraps_by_words() {
    let mut drawn = Drawn::new();
    drawn.show(&["one two three four five six"], Block::default());
    assert_eq!(drawn.text(), "one two three four\nfive six");
}
