//! Methods about the bot itself and about chats.

use serde_json::{Value, json};

use super::super::refusal::Refusal;
use super::super::request::Parameters;
use super::super::shown;
use super::super::state::{Privacy, State, bot};
use super::{Result, chat};

pub(super) fn get_me(state: &mut State, _: &Parameters) -> Result {
    let mut me = bot();
    me["can_join_groups"] = true.into();
    me["can_read_all_group_messages"] = (state.privacy == Privacy::Off).into();
    me["supports_inline_queries"] = false.into();
    Ok(me)
}

pub(super) fn get_chat(state: &mut State, parameters: &Parameters) -> Result {
    let chat = chat(state, parameters)?;
    let mut full = shown::chat(&state.chats[&chat]);
    full["accent_color_id"] = 1.into();
    full["max_reaction_count"] = 11.into();
    full["accepted_gift_types"] = json!({
        "unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false,
        "premium_subscription": false, "gifts_from_channels": false,
    });
    Ok(full)
}

/// Only what somebody sent, and at most 20 MB of it.
pub(super) fn get_file(state: &mut State, parameters: &Parameters) -> Result {
    let id = parameters.text("file_id");
    let Some(size) = state.file(id).map(<[u8]>::len) else {
        return Err(Refusal::bad_request("wrong file_id or the file is temporarily unavailable"));
    };
    if size > 20 << 20 {
        return Err(Refusal::bad_request("file is too big"));
    }
    Ok(json!({
        "file_id": id, "file_unique_id": format!("u{id}"), "file_size": size, "file_path": format!("files/{id}"),
    }))
}

pub(super) fn set_my_commands(state: &mut State, parameters: &Parameters) -> Result {
    let Some(commands) = parameters.value("commands").and_then(Value::as_array) else {
        return Err(Refusal::bad_request("expected an Array of BotCommand"));
    };
    if commands.len() > 100 {
        return Err(Refusal::bad_request("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in commands {
        check(command)?;
    }
    state.commands.insert(scope(parameters), commands.clone().into());
    Ok(true.into())
}

fn check(command: &Value) -> Result<()> {
    let field = |name: &str| {
        let wrong = || Refusal::bad_request(format!("can't parse BotCommand: Can't find field \"{name}\""));
        command[name].as_str().map(str::trim).ok_or_else(wrong)
    };
    let name = field("command")?.trim_start_matches('/');
    let description = field("description")?;
    let why = match (name.chars().count(), description.chars().count()) {
        (0, _) => "command must be non-empty",
        (33.., _) => "command length must not exceed 32",
        (_, 0) => "command description must be non-empty",
        (_, 257..) => "command description length must not exceed 256",
        _ if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') => {
            "BOT_COMMAND_INVALID"
        }
        _ => return Ok(()),
    };
    Err(Refusal::bad_request(why))
}

pub(super) fn get_my_commands(state: &mut State, parameters: &Parameters) -> Result {
    Ok(state.commands.get(&scope(parameters)).cloned().unwrap_or_else(|| json!([])))
}

/// For whom the commands are, as one word.
fn scope(parameters: &Parameters) -> String {
    let default = json!({ "type": "default" });
    format!("{} {}", parameters.value("scope").unwrap_or(&default), parameters.text("language_code"))
}
