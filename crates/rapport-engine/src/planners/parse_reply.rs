//! Parses a reply into a round. If that fails, the model is asked once more, with the reason.

use rapport_core::{Brief, QuestionRound, Usage};

use super::PlannerError;

/// The number of attempts for a round.
const TRIES: usize = 2;

#[derive(Debug)]
pub(super) struct Reply {
    /// Its text, or what is wrong with it, in words for the model.
    pub(super) said: Result<String, String>,
    pub(super) usage: Usage,
}

/// Asks for a round until it can be parsed, up to a limit. After the last round nothing is asked (CHAT-8).
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
        "the model's questions could not be used, after {TRIES} attempts: {problem}"
    )))
}
