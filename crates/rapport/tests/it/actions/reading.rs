//! READ and RESEARCH: files and pages, as far as they can be shown, and a program that searches.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::Redirect;
use axum::routing::get;
use rapport::actions::{Details, Outcome};
use rapport_core::{ActionKind, Resource};

use super::{Stage, details, plan, read, told};

#[tokio::test]
async fn file_40_read_shows_files_of_the_project() {
    let stage = Stage::new()
        .with("a.txt", "one\ntwo\n")
        .with("long.txt", "x\n".repeat(2000))
        .with("image.png", b"\x89PNG\r\n\x1a\n\0\0")
        .with("../outside/secret", "secret");
    let files = ["a.txt", "long.txt", "image.png"];
    let ran = stage.run(&plan(files.map(read))).await;
    let text =
        |text: &str, note: Option<&str>| Details::Text { text: text.into(), note: note.map(Into::into) };
    assert_eq!(details(&ran, 0), &text("one\ntwo\n", None));
    let note = "the first 1000 lines, 2000 of 4000 bytes";
    assert_eq!(details(&ran, 1), &text(&"x\n".repeat(1000), Some(note)));
    assert_eq!(details(&ran, 2), &text("", Some("not text: a PNG image of 10 bytes")));
    for (path, said) in [
        ("none", "failed: none does not exist"),
        (".", "failed: \".\" is not the path of a file"),
        ("../outside/secret", "failed: ../outside/secret is outside the project"),
    ] {
        let stage = Stage::at(&stage.site.project.join("..").join(path.replace(['.', '/'], "_")));
        stage.write("../../outside/secret", "secret");
        assert_eq!(told(&stage.run(&plan([read(path)])).await), [said]);
    }
}

#[tokio::test]
async fn file_40_read_shows_pages_as_text() {
    let server = serve().await;
    let nested = format!("{}Blue.\n", "> ".repeat(60));
    let cases = [
        ("/page", "done", "# Colours\n\nBlue and *green*.\n"),
        ("/nested", "done", nested.as_str()),
        ("/json", "done", "{\"colour\": \"blue\"}"),
        ("/moved", "done", "{\"colour\": \"blue\"}"),
        ("/none", "failed: the server says 404 Not Found", ""),
        ("/round", "failed: it redirects more than 5 times", ""),
        ("/metadata", "failed: 169.254.169.254 is not the address of a page", ""),
        ("/huge", "failed: it is larger than 10485760 bytes", ""),
    ];
    for (path, said, shown) in cases {
        let ran = look(&format!("{server}{path}")).await;
        let said = said.replace("failed: ", &format!("failed: cannot read {server}{path}: "));
        match ran {
            Outcome::Done { details: Details::Text { text, note: None } } => {
                assert_eq!(("done", text.as_str()), (said.as_str(), shown), "{path}");
            }
            other => assert_eq!(super::short(&other), said, "{path}"),
        }
    }
    let binary = look(&format!("{server}/binary")).await;
    let note = Some("not text: application/octet-stream of 4 bytes".to_owned());
    assert_eq!(binary, Outcome::Done { details: Details::Text { text: String::new(), note } });
}

#[tokio::test]
async fn only_pages_are_read_from_elsewhere() {
    for (url, why) in [
        ("file:///etc/passwd", "only http and https can be read, not file"),
        ("http://169.254.169.254/latest/", "169.254.169.254 is not the address of a page"),
        ("no address", "relative URL without a base"),
    ] {
        assert_eq!(super::short(&look(url).await), format!("failed: cannot read {url}: {why}"));
    }
}

#[tokio::test]
async fn file_40_research_runs_the_program_of_the_settings() {
    let mut stage = Stage::new();
    let script = "for query; do echo \"[$query]\"; done";
    stage.config.research_command = ["sh", "-c", script, "search"].map(Into::into).into();
    let research = |queries: [&str; 2]| ActionKind::Research { queries: queries.map(Into::into).into() };
    let ran = stage.run(&plan([research(["paint that dries", "$(rm -rf x); -n"])])).await;
    let text = "[paint that dries]\n[$(rm -rf x); -n]".to_owned();
    assert_eq!(details(&ran, 0), &Details::Research { text });

    let mut stage = Stage::new();
    stage.config.research_command = ["seq", "1"].map(Into::into).into();
    let ran = stage.run(&plan([ActionKind::Research { queries: vec!["300".into()] }])).await;
    let Details::Research { text } = details(&ran, 0) else { panic!() };
    assert!(text.starts_with("(The first 200 of 300 lines are left out.)\n\n201\n"), "{text}");

    let mut stage = Stage::new();
    stage.config.research_command = vec!["program_that_is_not_here".into()];
    let ran = stage.run(&plan([research(["a", "b"])])).await;
    assert_eq!(told(&ran), ["failed: program_that_is_not_here: exit code 127"]);
}

async fn look(url: &str) -> Outcome {
    let stage = Stage::new();
    let ran = stage.run(&plan([ActionKind::Read { resource: Resource::Url(url.into()) }])).await;
    ran.actions.into_iter().next().unwrap().outcome
}

async fn serve() -> String {
    let html = "<html><head><style>p { color: red }</style></head><body><h1>Colours</h1><p>Blue and <em>green</em>.\
                <script>alert(1)</script></body></html>";
    let page = get(move || async move { ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html) });
    let json = get(|| async { ([(header::CONTENT_TYPE, "application/json")], "{\"colour\": \"blue\"}") });
    let deep = format!("{}Blue.{}", "<blockquote>".repeat(60), "</blockquote>".repeat(60));
    let nested = get(move || async move { ([(header::CONTENT_TYPE, "text/html")], deep) });
    let router = Router::new()
        .route("/nested", nested)
        .route("/page", page)
        .route("/json", json)
        .route("/moved", get(|| async { Redirect::temporary("/json") }))
        .route("/round", get(|| async { Redirect::temporary("/round") }))
        .route("/metadata", get(|| async { Redirect::temporary("http://169.254.169.254/latest/") }))
        .route(
            "/binary",
            get(|| async { ([(header::CONTENT_TYPE, "application/octet-stream")], "\0\0\0\0") }),
        )
        .route("/huge", get(|| async { "x".repeat(11 * 1024 * 1024) }))
        .fallback(|| async { StatusCode::NOT_FOUND });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}
