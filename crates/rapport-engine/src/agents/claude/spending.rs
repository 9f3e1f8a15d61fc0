//! The usage of a process so far, from its messages.

use rapport_core::Usage;

use super::wire::{Line, Message, Tokens};

/// The sum over all messages. A message comes in several pieces, each with its whole usage so far.
#[derive(Debug, Default)]
pub(super) struct Spending {
    before: Usage,
    message: String,
    current: Usage,
}

impl Spending {
    pub(super) fn note(&mut self, message: &Message<'_>) {
        let Some(tokens) = message.usage.as_ref() else {
            return;
        };
        if *self.message != *message.id {
            self.before += self.current;
            self.message = message.id.to_string();
        }
        self.current = usage(tokens);
    }

    pub(super) fn so_far(&self) -> Usage {
        let mut sum = self.before;
        sum += self.current;
        sum
    }
}

/// The usage that a result reports.
pub(super) fn of_result(line: &Line<'_>) -> Usage {
    let tokens = line.usage.as_ref().map(usage).unwrap_or_default();
    Usage { cost_micros: line.cost_micros(), ..tokens }
}

fn usage(tokens: &Tokens) -> Usage {
    Usage {
        input: tokens.input_tokens.count(),
        output: tokens.output_tokens.count(),
        cache_write: tokens.cache_creation_input_tokens.count(),
        cache_read: tokens.cache_read_input_tokens.count(),
        cost_micros: 0,
    }
}
