//! What an MCP server asks: one round, one reply; declined or cancelled it is over at once.

use rapport_core::{ACCEPT, AgentDid, Ask, Beside, Choice, Field, FieldKind, NewQuestion, TurnId, Want};

use super::working;
use crate::support::{Story, call};

fn asks() -> Ask {
    let draft = |text: &str, key: &str, kind: FieldKind, own: &[&str]| NewQuestion {
        text: text.into(),
        options: own.iter().map(|own| Choice::plain(*own)).chain(Field::ways_out(true)).collect(),
        free_text: own.is_empty(),
        field: Some(Box::new(Field { server: "desk".into(), key: Some(key.into()), kind })),
        ..NewQuestion::default()
    };
    let count = FieldKind::Number { whole: true, least: None, most: None };
    Ask::Questions(vec![
        draft("Colour?", "colour", FieldKind::One, &["red", "green"]),
        draft("Count?", "count", count, &[]),
    ])
}

fn asked() -> Story {
    let mut story = working();
    story.did(AgentDid::Ask { call: call("e1"), ask: asks(), parkable: false }, "e1 asked round 3: q3, q4");
    story
}

fn replied(story: &Story) -> Option<(&'static str, String)> {
    let reply = story.play.session.wants().into_iter().find_map(|want| match want {
        Want::Replied { turn: TurnId(_), reply, .. } => Some(reply),
        _ => None,
    });
    match reply? {
        rapport_core::CallReply::Elicited { action, content, .. } => {
            Some((action.as_str(), serde_json::to_string(&content).unwrap()))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_form_becomes_one_reply() {
    let mut story = asked();
    assert_eq!(story.play.view().agent.kept_by, Some(Beside::Server));
    assert_eq!(story.play.session.parkable_call(), None);
    story.answer("q3", "green", "q3 answered green by ann (terminal)");
    assert_eq!(replied(&story), None);
    story.answer("q4", "7", "q4 answered \"7\" by ann (terminal)");
    assert_eq!(replied(&story), Some(("accept", r#"{"colour":"green","count":7}"#.into())));
}

#[test]
fn declined_or_cancelled_nothing_more_is_asked() {
    for (word, action) in [("decline", "decline"), ("cancel", "cancel")] {
        let mut story = asked();
        story.answer("q4", word, &format!("q4 answered mcp:{word} by ann (terminal)")).open(&[]);
        assert_eq!(replied(&story), Some((action, "{}".into())));
    }
    assert_eq!(ACCEPT, "mcp:accept");
}
