//! From a reply to a round. A reply that makes no sense is asked for once more, with what was wrong.

use rapport_core::{Brief, QuestionRound, Usage};

use super::PlannerError;

/// How often a round is asked for.
const TRIES: usize = 2;

/// What a model replied.
#[derive(Debug)]
pub(super) struct Reply {
    /// Its words, or what is wrong with them, in words for the model.
    pub(super) said: Result<String, String>,
    pub(super) usage: Usage,
}

/// Asks for a round until it makes sense, but not for ever. Beyond the last round nothing is asked (CHAT-8).
pub(super) async fn round<F, Asked>(brief: Brief, ask: F) -> Result<QuestionRound, PlannerError>
where
    F: Fn(String) -> Asked,
    Asked: Future<Output = Result<Reply, PlannerError>>,
{
    if brief.round > brief.max_rounds {
        return Ok(QuestionRound::done());
    }
    let mut usage = Usage::default();
    let mut prompt = brief.prompt();
    let mut problem = String::new();
    for _ in 0..TRIES {
        let reply = ask(prompt).await?;
        usage += reply.usage;
        match reply.said.and_then(|text| QuestionRound::parse(&text, &brief)) {
            Ok(batch) => return Ok(QuestionRound { usage, ..batch }),
            Err(wrong) => problem = wrong,
        }
        prompt = brief.prompt_again(&problem);
    }
    Err(PlannerError::Senseless(format!(
        "the model's questions make no sense, asked {TRIES} times: {problem}"
    )))
}
