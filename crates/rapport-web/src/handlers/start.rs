//! Starting work: a task with its project, worker, agent, policy and files.

use std::sync::Arc;

use axum::extract::{Extension, FromRequest as _, Multipart, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use rapport_core::routing::Policy;
use rapport_core::{Created, Origin, SessionId, slug};
use rapport_door::{NewFile, ProjectSetup, WorkWish};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::after;
use crate::CHANNEL;
use crate::access::{self, Visitor};
use crate::fields::encoded;
use crate::page::start::{self, Filled};
use crate::page::{self, Frame, Section, framed};
use crate::site::{DeviceNotice, Site};

/// The maximum length of a form with its files.
pub(crate) const LONGEST: usize = 25 * 1024 * 1024;
/// The maximum number of files.
const MOST_FILES: usize = 20;

/// A submitted task, with its files.
#[derive(Default)]
struct Wanted {
    form: String,
    request: String,
    filled: Filled,
    files: Vec<NewFile>,
}

/// `GET /new`: an empty form.
pub(crate) async fn form(State(site): State<Arc<Site>>, Extension(visitor): Extension<Visitor>) -> Response {
    if !visitor.may_answer() {
        return page::failure(&site, StatusCode::FORBIDDEN, "This device may only look.");
    }
    drawn(&site, &visitor, &Filled::default(), &new_request())
}

/// `POST /new`: starts the work.
pub(crate) async fn start(State(site): State<Arc<Site>>, request: Request) -> Response {
    let Some(visitor) = access::visitor(&request) else { return page::stranger(&site, false) };
    let mut wanted = match read(&site, request).await {
        Ok(wanted) => wanted,
        Err(why) => return page::failure(&site, StatusCode::BAD_REQUEST, &why),
    };
    if let Err(why) = access::check(&visitor, &wanted.form) {
        return page::failure(&site, StatusCode::FORBIDDEN, why);
    }
    if wanted.request.is_empty() {
        wanted.request = new_request();
    }
    let wanted = Arc::new(wanted);
    let begun = match site.begun.reserve(&wanted.request) {
        Ok(()) => {
            // In a task of its own, so that a browser that disconnects does not leave the start half done.
            let (site, visitor, wanted) = (site.clone(), visitor.clone(), wanted.clone());
            let task = tokio::spawn(async move {
                let begun = begin(&site, &visitor, &wanted).await;
                site.begun.settle(&wanted.request, begun.as_ref().ok().cloned());
                begun
            });
            task.await.unwrap_or_else(|error| Err(error.to_string()))
        }
        Err(Some(id)) => Ok(id),
        Err(None) => Err("It is being started.".to_owned()),
    };
    match begun {
        Ok(id) => {
            site.told.tell(&visitor.name, DeviceNotice::Done("Started.".to_owned()));
            after(&format!("/s/{}", encoded(id.as_str())))
        }
        Err(why) => {
            site.told.tell(&visitor.name, DeviceNotice::Refused(why));
            // With the same request id, so that a session that was started after all is not started twice.
            drawn(&site, &visitor, &wanted.filled, &wanted.request)
        }
    }
}

fn new_request() -> String {
    Uuid::new_v4().simple().to_string()
}

fn drawn(site: &Site, visitor: &Visitor, filled: &Filled, request: &str) -> Response {
    let frame = Frame { site, visitor, section: Section::Start, title: "New task", session: None };
    page::sent(site, framed(&frame, start::form(visitor, &site.projects, filled, request)))
}

async fn read(site: &Arc<Site>, request: Request) -> Result<Wanted, String> {
    let cut = |error: &dyn std::fmt::Display| format!("What was sent cannot be read: {error}");
    let mut form = Multipart::from_request(request, site).await.map_err(|error| cut(&error))?;
    let mut wanted = Wanted::default();
    while let Some(field) = form.next_field().await.map_err(|error| cut(&error))? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "files" {
            let file = field.file_name().map(file_name).unwrap_or_default();
            let content = field.bytes().await.map_err(|error| cut(&error))?;
            // A browser sends an empty file without a name if none was chosen.
            if !file.is_empty() && !content.is_empty() {
                let name = free_name(file, &wanted.files);
                wanted.files.push(NewFile { name, content: content.to_vec().into() });
            }
            continue;
        }
        let value = field.text().await.map_err(|error| cut(&error))?;
        match name.as_str() {
            "form" => wanted.form = value,
            "request" => wanted.request = value,
            "task" => wanted.filled.task = value.replace("\r\n", "\n"),
            "project" => wanted.filled.project = value,
            "worker" => wanted.filled.worker = value,
            "agent" => wanted.filled.agent = value,
            "policy" => wanted.filled.policy = value,
            _ => {}
        }
    }
    if wanted.files.len() > MOST_FILES {
        return Err(format!("A task comes with at most {MOST_FILES} files."));
    }
    Ok(wanted)
}

/// A name for a file that is unique in its task.
fn free_name(name: String, others: &[NewFile]) -> String {
    let is_free = |name: &String| others.iter().all(|other| other.name != *name);
    let numbered = (2..).map(|number| format!("{number}-{name}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

/// The file's name as one path component, whatever the browser sent.
fn file_name(said: &str) -> String {
    let last = said.rsplit(['/', '\\']).next().unwrap_or_default();
    if last.is_empty() {
        return String::new();
    }
    match last.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && !ending.is_empty() => {
            format!("{}.{}", slug::part(stem), slug::part(ending))
        }
        _ => slug::part(last),
    }
}

async fn begin(site: &Site, visitor: &Visitor, wanted: &Wanted) -> Result<SessionId, String> {
    let filled = &wanted.filled;
    if filled.task.trim().is_empty() {
        return Err("Nothing was written.".to_owned());
    }
    let named = |project: &&ProjectSetup| filled.project.is_empty() || project.name == filled.project;
    let project = site.projects.iter().find(named).ok_or("There is no such project.")?;
    let chosen = |word: &String| Some(word.clone()).filter(|word| !word.is_empty());
    let policy = chosen(&filled.policy)
        .map(|word| Policy::of_word(&word).ok_or_else(|| format!("There is no policy {word:?}.")))
        .transpose()?;
    let wish = WorkWish {
        task: filled.task.trim().to_owned(),
        worker: chosen(&filled.worker),
        agent: chosen(&filled.agent),
        policy,
    };
    let new = project.new_work.clone();
    // It reads the project's files, which blocks.
    let created = spawn_blocking(move || new(wish)).await.map_err(|error| error.to_string())??;
    let created = Created {
        by: visitor.by(),
        origin: Some(Origin { channel: CHANNEL.to_owned(), key: visitor.name.clone() }),
        request: chosen(&wanted.request),
        ..created
    };
    let sessions = site.sessions_of(visitor);
    let begun = match wanted.files.is_empty() {
        true => sessions.create(created, None).await,
        false => sessions.create_with_files(created, &wanted.files).await,
    };
    let id = begun.map_err(|error| format!("It was not started: {error}"))?;
    let _ = site.board.refresh(&id).await;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_plain_name() {
        for (said, name) in [
            ("notes.txt", "notes.txt"),
            ("C:\\Users\\a\\shot 1.PNG", "shot-1.png"),
            ("../../etc/passwd", "passwd"),
            ("..", "untitled"),
            ("", ""),
        ] {
            assert_eq!(file_name(said), name, "{said}");
        }
    }
}
