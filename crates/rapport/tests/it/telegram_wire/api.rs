//! The client: what is called, what errors mean, and that the token is in none of them.

use std::time::Duration;

use rapport::channels::telegram::api::{Api, Document};
use rapport::channels::telegram::api_error::ApiError;
use rapport::channels::telegram::bot_api::{
    AnswerCallbackQueryParams, BotCommand, LinkPreviewOptions, SendMessageParams, SetMyCommandsParams,
    SetWebhookParams,
};
use rapport::channels::telegram::outgoing::{Deliver as _, Edit, Outgoing, OutgoingMessage, Sent};
use rapport::channels::telegram::text::Text;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::fake::{Fake, SECRET, TOKEN, client, nobody};

fn hello() -> SendMessageParams {
    SendMessageParams {
        chat_id: 5,
        message_thread_id: None,
        text: "hello".into(),
        entities: Vec::new(),
        link_preview_options: LinkPreviewOptions::DISABLED,
        disable_notification: None,
        reply_parameters: None,
        reply_markup: None,
    }
}

#[tokio::test]
async fn refusals_are_told_apart_by_what_is_to_be_done() {
    let refused = |code: i64, description: &str| ApiError::Refused { code, description: description.into() };
    let cases: Vec<(u16, &str, Value, ApiError)> = vec![
        (401, "Unauthorized", json!({}), ApiError::Unauthorized("Unauthorized".into())),
        (404, "Not Found", json!({}), ApiError::Unauthorized("Not Found".into())),
        (
            409,
            "Conflict: terminated by other getUpdates request",
            json!({}),
            ApiError::Conflict("Conflict: terminated by other getUpdates request".into()),
        ),
        (
            429,
            "Too Many Requests: retry after 7",
            json!({ "retry_after": 7 }),
            ApiError::TooMany { retry_after: Duration::from_secs(7) },
        ),
        (
            429,
            "Too Many Requests",
            json!({ "retry_after": 100_000 }),
            ApiError::TooMany { retry_after: Duration::from_secs(100_000) },
        ),
        (
            400,
            "Bad Request: message is not modified: specified new message content is the same",
            json!({}),
            ApiError::NotModified,
        ),
        (
            400,
            "Bad Request: message to edit not found",
            json!({}),
            ApiError::MessageGone("Bad Request: message to edit not found".into()),
        ),
        (
            400,
            "Bad Request: message can't be edited",
            json!({}),
            ApiError::MessageGone("Bad Request: message can't be edited".into()),
        ),
        (
            400,
            "Bad Request: message to delete not found",
            json!({}),
            ApiError::MessageGone("Bad Request: message to delete not found".into()),
        ),
        (
            403,
            "Forbidden: bot was blocked by the user",
            json!({}),
            ApiError::Blocked("Forbidden: bot was blocked by the user".into()),
        ),
        (
            400,
            "Bad Request: query is too old and response timeout expired or query ID is invalid",
            json!({}),
            ApiError::QueryTooOld,
        ),
        (
            400,
            "Bad Request: group chat was upgraded to a supergroup chat",
            json!({ "migrate_to_chat_id": -1_009 }),
            ApiError::Moved { to: -1_009 },
        ),
        (400, "Bad Request: chat not found", json!({}), refused(400, "Bad Request: chat not found")),
        (502, "Bad Gateway", json!({}), ApiError::Failing("Bad Gateway".into())),
    ];
    let (fake, api) = Fake::start().await;
    for (code, description, parameters, expected) in cases {
        fake.will_refuse(code, description, parameters);
        assert_eq!(api.send_message(&hello()).await.unwrap_err(), expected, "{code} {description}");
    }
}

#[tokio::test]
async fn what_is_on_the_way_is_not_taken_for_telegram() {
    let (fake, api) = Fake::start().await;
    for (status, body) in
        [(502, "<html>Bad Gateway</html>"), (200, "<html>Log in here</html>"), (302, ""), (404, "")]
    {
        fake.will_answer(status, body);
        let error = api.get_me().await.unwrap_err();
        let is_failing = matches!(error, ApiError::Failing(_));
        assert!(is_failing == (status == 502), "{status}: {error:?}");
        assert!(is_failing || matches!(error, ApiError::Unreachable(_)), "{status}: {error:?}");
    }
    fake.will_answer(429, "slow down");
    assert!(matches!(api.get_me().await, Err(ApiError::TooMany { .. })));
    // It was done, so it must not be tried again.
    fake.will_answer(200, r#"{"ok":true,"result":{"no":"id"}}"#);
    assert!(matches!(api.send_message(&hello()).await, Err(ApiError::Refused { code: 200, .. })));
}

/// CHAT: the token sits in every address; whatever goes wrong, it is not told.
#[tokio::test]
async fn the_token_is_in_no_error() {
    let (fake, api) = Fake::start().await;
    let echo = format!("what is /bot{TOKEN}/sendMessage or {SECRET}?");
    let mut errors = Vec::new();
    for code in [400, 401, 403, 404, 409, 500] {
        fake.will_refuse(code, &echo, json!({}));
        errors.push(api.send_message(&hello()).await.unwrap_err());
    }
    fake.will_answer(200, &json!({ "ok": true, "result": { "message_id": echo } }).to_string());
    errors.push(api.send_message(&hello()).await.unwrap_err());
    fake.will_answer(500, &echo);
    errors.push(api.get_me().await.unwrap_err());
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hangs_up = silent.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = silent.accept().await {
            drop(connection);
        }
    });
    for base in [
        format!("http://{}", nobody().await),
        format!("http://{}", breaks_off().await),
        format!("https://{hangs_up}"),
        format!("http://{hangs_up}"),
        "http://name.invalid".into(),
        format!("http://user:{SECRET}@{hangs_up}"),
    ] {
        errors.push(client(&base).send_message(&hello()).await.unwrap_err());
        errors.push(client(&base).get_updates(None).await.unwrap_err());
        let document = Document { name: "a.md".into(), ..Document::default() };
        errors.push(client(&base).send_document(5, &document).await.unwrap_err());
    }
    for error in errors {
        let told = format!("{error} {error:?} {error:#?}");
        assert!(!told.contains(SECRET), "{told}");
    }
    assert!(!format!("{api:?} {api:#?}").contains(SECRET));
}

/// The clock runs ahead while everybody waits, so that nobody has to.
#[tokio::test(start_paused = true)]
async fn who_never_answers_is_unreachable_and_the_token_is_not_told() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = client(&format!("http://{}", silent.local_addr().unwrap()));
    for error in [api.get_me().await.unwrap_err(), api.get_updates(None).await.unwrap_err()] {
        assert!(matches!(error, ApiError::Unreachable(_)), "{error:?}");
        assert!(!format!("{error} {error:?}").contains(SECRET));
    }
}

/// A server that begins an answer and hangs up.
async fn breaks_off() -> std::net::SocketAddr {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let _ = connection.read(&mut [0; 1024]).await;
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"ok\"").await;
        }
    });
    address
}

#[test]
fn what_is_no_token_is_refused_without_being_repeated() {
    for token in ["", "7001", "x:abc", "7001:", "7001:a/../getMe?", "7001:ab cd", "7001:ab\ncd", ":abc"] {
        let error = Api::new("http://127.0.0.1:1", SecretString::from(token)).unwrap_err();
        assert!(matches!(error, ApiError::Unauthorized(_)), "{token:?}");
        assert!(token.len() < 5 || !error.to_string().contains(token));
    }
    assert_eq!(client("http://127.0.0.1:1").bot(), 7001);
}

#[test]
fn what_is_no_address_is_refused_without_being_repeated() {
    for base in
        ["", "x", "api.telegram.org", "ftp://x", "file:///x", "https://", "https://x?y", "https://x#y"]
    {
        let error = Api::new(base, SecretString::from(TOKEN)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the address of Telegram's Bot API is not a plain http or https URL",
            "{base}"
        );
    }
    for base in ["http://127.0.0.1:8081", "https://x/", "https://x/below"] {
        assert!(Api::new(base, SecretString::from(TOKEN)).is_ok(), "{base}");
    }
}

#[tokio::test]
async fn calls_say_what_they_should() {
    let (fake, api) = Fake::start().await;
    fake.will_answer(
        200,
        r#"{"ok":true,"result":{"id":7001,"is_bot":true,"first_name":"Ra","username":"ra_bot"}}"#,
    );
    assert_eq!(api.get_me().await.unwrap().username.as_deref(), Some("ra_bot"));
    assert_eq!(fake.call().0, "getMe");
    fake.will_answer(200, r#"{"ok":true,"result":[{"update_id":1,"strange":{}},{"update_id":2}]}"#);
    assert_eq!(api.get_updates(Some(1)).await.unwrap().len(), 2);
    let (method, body) = fake.call();
    assert_eq!((method.as_str(), &body["offset"]), ("getUpdates", &json!(1)));
    assert_eq!(
        body["allowed_updates"],
        json!(["message", "edited_message", "callback_query", "my_chat_member"])
    );
    let answer = AnswerCallbackQueryParams { callback_query_id: "q".into(), text: None };
    api.answer_callback_query(&answer).await.unwrap();
    assert_eq!(fake.call(), ("answerCallbackQuery".into(), json!({ "callback_query_id": "q" })));
    let command = BotCommand { command: "plan".into(), description: "Plan".into() };
    api.set_my_commands(&SetMyCommandsParams { commands: vec![command] }).await.unwrap();
    assert_eq!(fake.call().1["commands"][0]["command"], "plan");
    let webhook = SetWebhookParams { url: "https://x".into(), allowed_updates: vec![], secret_token: None };
    api.set_webhook(&webhook).await.unwrap();
    assert_eq!(fake.call(), ("setWebhook".into(), json!({ "url": "https://x", "allowed_updates": [] })));
    fake.will_answer(
        200,
        r#"{"ok":true,"result":{"url":"https://x","has_custom_certificate":false,"pending_update_count":3}}"#,
    );
    assert_eq!(api.get_webhook_info().await.unwrap().pending_update_count, 3);
    fake.calls();
}

#[tokio::test]
async fn everything_that_goes_out_becomes_its_call() {
    let (fake, api) = Fake::start().await;
    let posted = || fake.will_answer(200, r#"{"ok":true,"result":{"message_id":9,"new_thing":[1]}}"#);
    posted();
    let message = OutgoingMessage {
        reply_to: Some(3),
        silent: true,
        thread: Some(4),
        ..OutgoingMessage::new(&Text::new().plain("👍 ").bold("yes"))
    };
    assert_eq!(api.deliver(5, &Outgoing::Message(message)).await, Ok(Sent::Posted(9)));
    let (method, body) = fake.call();
    assert_eq!(method, "sendMessage");
    assert_eq!(body["chat_id"], 5);
    assert_eq!(body["entities"], json!([{ "type": "bold", "offset": 3, "length": 3 }]));
    assert_eq!(body["reply_parameters"], json!({ "message_id": 3, "allow_sending_without_reply": true }));
    assert_eq!((&body["disable_notification"], &body["message_thread_id"]), (&json!(true), &json!(4)));
    assert!(body.get("parse_mode").is_none());
    let edit = Edit::new(9, &Text::new().plain("no"));
    assert_eq!(api.deliver(5, &Outgoing::Edit(edit)).await, Ok(Sent::Done));
    let (method, body) = fake.call();
    assert_eq!(
        (method.as_str(), &body["message_id"], &body["text"]),
        ("editMessageText", &json!(9), &json!("no"))
    );
    assert_eq!(api.deliver(5, &Outgoing::Buttons { message: 9, keyboard: None }).await, Ok(Sent::Done));
    assert_eq!(fake.call(), ("editMessageReplyMarkup".into(), json!({ "chat_id": 5, "message_id": 9 })));
    assert_eq!(api.deliver(5, &Outgoing::Delete { message: 9 }).await, Ok(Sent::Done));
    assert_eq!(fake.call(), ("deleteMessage".into(), json!({ "chat_id": 5, "message_id": 9 })));
    posted();
    let (caption, entities) = Text::new().italic("all of it").finish();
    let document = Document {
        name: "plan \"1\".md".into(),
        bytes: b"# Plan".to_vec(),
        caption,
        entities,
        ..Document::default()
    };
    assert_eq!(api.deliver(5, &Outgoing::Document(document)).await, Ok(Sent::Posted(9)));
    let calls = fake.calls();
    let form = String::from_utf8_lossy(&calls[0].1);
    assert_eq!(calls[0].0, "sendDocument");
    for part in [
        "name=\"chat_id\"",
        "# Plan",
        "all of it",
        "name=\"caption_entities\"",
        "\"italic\"",
        "name=\"document\"; filename=",
    ] {
        assert!(form.contains(part), "{part} in {form}");
    }
}
