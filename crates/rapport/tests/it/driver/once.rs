//! A single question to the agent, as research asks it: with the rehearsal, the real CLI, and programs that fail.

use rapport::agents::claude::one_shot;

use super::fake::{Script, World};
use crate::support::model::{self, Model, Response, offline};
use crate::support::needs;

/// More than a command line takes.
fn long_prompt() -> String {
    "Look for it. ".repeat(20_000)
}

async fn ask(world: &World, prompt: &str) -> Result<String, String> {
    one_shot::ask(&world.config, &world.path(""), prompt, "WebSearch,WebFetch").await
}

#[tokio::test]
async fn the_rehearsal_says_what_it_found() {
    for prompt in ["Look for it.".to_owned(), long_prompt()] {
        let world =
            World::rehearsing("version: 1\nname: once\ninvocations:\n  - result: \"It is **here**.\"\n");
        assert_eq!(ask(&world, &prompt).await, Ok("It is **here**.".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_cli_says_what_it_found() {
    let Some(program) = needs::claude() else { return };
    for prompt in ["Look for it.".to_owned(), long_prompt()] {
        let model = Model::play(model::Script::default().say(Response::default().text("It is **here**.")));
        let mut world = World::new(Script::default());
        world.config.program = program.clone();
        world.config.leading_args.clear();
        let url = format!("http://{}", model.address());
        world.config.env.extend(offline(&url).map(|(name, value)| (name.into(), value.into())));
        assert_eq!(ask(&world, &prompt).await, Ok("It is **here**.".to_owned()));
        assert!(model.told().join("").contains(prompt.trim()), "{:?}", model.told());
        let seen = model.seen();
        let tools: Vec<_> = seen[0]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert!(tools.iter().all(|tool| *tool != "Bash" && *tool != "Write" && *tool != "Edit"), "{tools:?}");
    }
}

/// What is searched for was written by a model: a file it mentions is not read, or it would be all over the web.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_mentioned_is_not_read() {
    let Some(program) = needs::claude() else { return };
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "squeamish ossifrage").unwrap();
    let model = Model::play(model::Script::default().say(Response::default().text("Nothing.")));
    let mut world = World::new(Script::default());
    world.config.program = program;
    world.config.leading_args.clear();
    let url = format!("http://{}", model.address());
    world.config.env.extend(offline(&url).map(|(name, value)| (name.into(), value.into())));
    let prompt = format!("Look for:\n- what is in @{} now", secret.path().display());
    assert_eq!(ask(&world, &prompt).await, Ok("Nothing.".to_owned()));
    let told = model.seen()[0].to_string();
    assert!(told.contains("Look for:") && !told.contains("squeamish"), "{told}");
}

#[tokio::test]
async fn what_went_wrong_is_told_in_its_words() {
    for (script, says) in [
        ("echo 'error: no such model' >&2; exit 1", "/bin/sh ended without a reply: error: no such model"),
        ("exit 0", "/bin/sh ended without a reply"),
        (
            r#"echo '{"type":"result","is_error":true,"result":"Not logged in"}'"#,
            "the agent failed: Not logged in",
        ),
        (r#"echo '{"type":"result","result":" "}'"#, "the agent ended without a word"),
    ] {
        assert_eq!(ask(&World::new(Script::default().sh(script)), "Look.").await, Err(says.to_owned()));
    }
}
