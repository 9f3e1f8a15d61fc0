//! An estimate of what a message costs: the CLI reports money only at the end of a turn, which is too late to notice
//! that a budget is exceeded.

use rapport_core::Usage;

/// US dollars per million tokens, which are millionths of a dollar per token.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Price {
    input: f64,
    output: f64,
}

/// Prefixes of the models' names, longer ones before their own prefixes. Writing to the cache costs 1.25 times the
/// input, reading from it a tenth.
const PRICES: [(&str, Price); 9] = [
    ("claude-opus-4-0", Price { input: 15.0, output: 75.0 }),
    ("claude-opus-4-1", Price { input: 15.0, output: 75.0 }),
    ("claude-opus-4-2", Price { input: 15.0, output: 75.0 }),
    ("claude-opus-", Price { input: 5.0, output: 25.0 }),
    ("claude-sonnet-", Price { input: 3.0, output: 15.0 }),
    ("claude-haiku-", Price { input: 1.0, output: 5.0 }),
    ("claude-3-5-haiku", Price { input: 0.8, output: 4.0 }),
    ("claude-3-7-sonnet", Price { input: 3.0, output: 15.0 }),
    ("claude-3-5-sonnet", Price { input: 3.0, output: 15.0 }),
];

/// The price of a model that is not listed: the highest, so that a budget is reached too early rather than too late.
const UNKNOWN: Price = Price { input: 15.0, output: 75.0 };

/// The estimated cost of these tokens of a model, in millionths of a dollar.
pub(super) fn estimate(model: &str, tokens: Usage) -> u64 {
    let listed = PRICES.iter().find(|(name, _)| model.starts_with(name));
    let price = listed.map_or(UNKNOWN, |(_, price)| *price);
    let read = tokens.input as f64 + tokens.cache_write as f64 * 1.25 + tokens.cache_read as f64 * 0.1;
    (read * price.input + tokens.output as f64 * price.output) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &str, tokens: [u64; 4], micros: u64) {
        let [input, output, cache_write, cache_read] = tokens;
        let tokens = Usage { input, output, cache_write, cache_read, cost_micros: 0 };
        assert_eq!(estimate(model, tokens), micros);
    }

    #[test]
    fn tokens_cost_what_the_model_costs() {
        check("claude-sonnet-4-5-20250929", [1000, 100, 0, 0], 3000 + 1500);
        check("claude-opus-4-5-20251101", [1000, 0, 0, 0], 5000);
        check("claude-opus-4-20250514", [1000, 0, 0, 0], 15_000);
        check("claude-opus-4-1-20250805", [0, 10, 0, 0], 750);
        check("claude-haiku-4-5", [0, 0, 1000, 10_000], 1250 + 1000);
        check("something-new", [1000, 0, 0, 0], 15_000);
        check("claude-sonnet-5", [0, 0, 0, 0], 0);
    }
}
