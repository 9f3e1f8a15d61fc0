//! The usage of a process so far, from its messages.

use std::collections::HashMap;

use rapport_core::Usage;

use super::prices;
use super::wire::{Line, Message, Tokens};

/// The sum over all messages. A message comes in several pieces, each with its whole usage so far, and messages of
/// sub-agents that work in parallel come between them.
#[derive(Debug, Default)]
pub(super) struct Spending {
    /// By the ids of the messages.
    messages: HashMap<String, Spent>,
    /// The id of the last message that is not of a sub-agent.
    own: String,
    sum: Usage,
}

/// What one message used.
#[derive(Debug, Default)]
struct Spent {
    model: String,
    /// Its usage so far, with the estimated cost.
    usage: Usage,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// The agent of the session.
    Agent,
    SubAgent,
}

impl Spending {
    pub(super) fn note(&mut self, message: &Message<'_>, author: Author) {
        let Some(tokens) = message.usage.as_ref() else {
            return;
        };
        if author == Author::Agent {
            self.own = message.id.to_string();
        }
        let spent = self.messages.entry(message.id.to_string()).or_default();
        spent.model = message.model.to_string();
        let output = tokens.output_tokens.count().max(spent.usage.output);
        spent.count(Usage { output, ..usage(tokens) }, &mut self.sum);
    }

    /// Applies the output tokens of the agent's whole message, which the pieces do not tell.
    pub(super) fn complete(&mut self, tokens: &Tokens) {
        if let Some(spent) = self.messages.get_mut(&self.own) {
            let output = tokens.output_tokens.count().max(spent.usage.output);
            spent.count(Usage { output, ..spent.usage }, &mut self.sum);
        }
    }

    /// The estimated cost of all messages, in millionths of a dollar.
    pub(super) fn cost(&self) -> u64 {
        self.sum.cost_micros
    }

    /// The tokens so far.
    pub(super) fn so_far(&self) -> Usage {
        Usage { cost_micros: 0, ..self.sum }
    }
}

impl Spent {
    /// Replaces its usage, in the sum too.
    fn count(&mut self, usage: Usage, sum: &mut Usage) {
        let usage = Usage { cost_micros: prices::estimate(&self.model, usage), ..usage };
        let exchanged = |sum: u64, before: u64, now: u64| sum.saturating_sub(before).saturating_add(now);
        *sum = Usage {
            input: exchanged(sum.input, self.usage.input, usage.input),
            output: exchanged(sum.output, self.usage.output, usage.output),
            cache_write: exchanged(sum.cache_write, self.usage.cache_write, usage.cache_write),
            cache_read: exchanged(sum.cache_read, self.usage.cache_read, usage.cache_read),
            cost_micros: exchanged(sum.cost_micros, self.usage.cost_micros, usage.cost_micros),
        };
        self.usage = usage;
    }
}

/// The usage that a result reports. `total_before` is the total cost at the last result of the same process.
pub(super) fn of_result(line: &Line<'_>, total_before: u64) -> Usage {
    let tokens = line.usage.as_ref().map(usage).unwrap_or_default();
    Usage { cost_micros: line.cost_micros(total_before), ..tokens }
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

    /// CLIs before `model_usage_since_last_result` report the total of their process with each result.
    #[test]
    fn a_result_costs_what_was_added_to_the_total() {
        let since = r#","model_usage_since_last_result":{"m":{"costUSD":0.005}}"#;
        for (total, rest, before, cost) in [
            ("0.00625", "", 0, 6250),
            ("0.0125", "", 6250, 6250),
            ("0.0125", "", 12_500, 0),
            ("0.004", "", 12_500, 4000),
            ("0.02", since, 0, 5000),
            ("0.02", since, 15_000, 5000),
        ] {
            let line = format!(r#"{{"type":"result","total_cost_usd":{total}{rest}}}"#);
            assert_eq!(wire::parse(&line).unwrap().cost_micros(before), cost, "{line} after {before}");
        }
    }

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

    /// Sub-agents work in parallel with the agent: each message counts once, however its pieces are mixed with those of
    /// others, and the end of the agent's message is not taken for that of a sub-agent's.
    #[test]
    fn a_message_counts_once_although_others_come_between_its_pieces() {
        let of_sub_agent = |id: &str, output: u64| {
            assistant(id, output).replace(r#"{"type""#, r#"{"parent_tool_use_id":"t1","type""#)
        };
        let lines = [
            assistant("m1", 1),
            of_sub_agent("s1", 1),
            assistant("m1", 1),
            of_sub_agent("s1", 1),
            of_sub_agent("s2", 1),
            DELTA.into(),
            assistant("m1", 1),
        ];
        let mut response = Response::default();
        let mut costs = Vec::new();
        for line in lines {
            response.process(&wire::parse(&line).unwrap());
            costs.push(response.cost_so_far());
        }
        assert_eq!(costs, [3015, 6030, 6030, 6030, 9045, 12_030, 12_030]);
        let spent = response.spent_so_far();
        assert_eq!((spent.input, spent.output), (3000, 202));
    }
}
