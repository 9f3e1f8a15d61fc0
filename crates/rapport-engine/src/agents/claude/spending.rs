//! The usage of a process so far, from its messages.

use rapport_core::Usage;

use super::prices;
use super::wire::{Line, Message, Tokens};

/// The sum over all messages. A message comes in several pieces, each with its whole usage so far.
#[derive(Debug, Default)]
pub(super) struct Spending {
    before: Usage,
    message: String,
    current: Usage,
    /// The model of the current message.
    model: String,
    /// About what the messages before the current one cost, in millionths of a dollar.
    cost_before: u64,
}

impl Spending {
    pub(super) fn note(&mut self, message: &Message<'_>) {
        let Some(tokens) = message.usage.as_ref() else {
            return;
        };
        if *self.message != *message.id {
            self.before += self.current;
            self.cost_before = self.cost();
            self.current = Usage::default();
            self.message = message.id.to_string();
            self.model = message.model.to_string();
        }
        self.current =
            Usage { output: tokens.output_tokens.count().max(self.current.output), ..usage(tokens) };
    }

    /// Applies what the model wrote in the whole message, which its pieces do not tell.
    pub(super) fn complete(&mut self, tokens: &Tokens) {
        self.current.output = self.current.output.max(tokens.output_tokens.count());
    }

    /// About what all of it cost, in millionths of a dollar.
    pub(super) fn cost(&self) -> u64 {
        self.cost_before.saturating_add(prices::estimate(&self.model, self.current))
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

#[cfg(test)]
mod tests {
    use super::super::response::Response;
    use super::super::wire;

    fn assistant(id: &str, output: u64) -> String {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"claude-sonnet-4-5","content":[],"usage":{{"input_tokens":1000,"output_tokens":{output}}}}}}}"#
        )
    }

    const DELTA: &str =
        r#"{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":200}}}"#;

    /// The pieces of a message tell one token of output; its end tells them all.
    #[test]
    fn a_message_costs_what_its_end_says() {
        let mut response = Response::default();
        let mut costs = Vec::new();
        for line in [assistant("m1", 1), assistant("m1", 1), DELTA.into(), assistant("m2", 1), DELTA.into()] {
            response.process(&wire::parse(&line).unwrap());
            costs.push(response.cost_so_far());
        }
        assert_eq!(costs, [3015, 3015, 6000, 9015, 12_000]);
        assert_eq!(response.spent_so_far().output, 400);
    }
}
