//! Projects: what they cost, what is known about each, and changing that.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use jiff::ToSpan as _;
use jiff::civil::Date;
use rapport_core::LearningKind;
use rapport_door::{ContextUpdate, KnownProject, ProjectError};

use super::after;
use crate::access::{Posted, Visitor};
use crate::fields::{Fields, encoded};
use crate::page::projects::{self, Costs, DAYS, ProjectPage, ProjectRow};
use crate::page::{self, Frame, Section, framed};
use crate::site::{DeviceNotice, Site};

/// `GET /projects`: all of them, with their costs.
pub(crate) async fn list(State(site): State<Arc<Site>>, Extension(visitor): Extension<Visitor>) -> Response {
    let known = match site.knowledge.list().await {
        Ok(known) => known,
        Err(error) => return page::failure(&site, StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    };
    site.board.soon_read().await;
    let rows = rows(&site, known);
    let frame = Frame {
        site: &site,
        visitor: &visitor,
        section: Section::Projects,
        title: "Projects",
        session: None,
    };
    page::sent(&site, framed(&frame, projects::list(&site, &rows, first_day(&site))))
}

/// The served projects first, then the others that are known.
fn rows(site: &Site, known: Vec<KnownProject>) -> Vec<ProjectRow> {
    let is_served = |path: &str| site.projects.iter().any(|served| served.path == path);
    let served = site.projects.iter().map(|served| {
        let found = known.iter().find(|known| known.path == served.path).cloned();
        (served.name.clone(), served.path.clone(), found)
    });
    let others = known.iter().filter(|known| !is_served(&known.path));
    let others = others.map(|known| (known.name.clone(), known.path.clone(), Some(known.clone())));
    served
        .chain(others)
        .map(|(name, path, known)| {
            let costs = costs(site, &path);
            ProjectRow { name, path, known, costs }
        })
        .collect()
}

/// The first day of the charts.
fn first_day(site: &Site) -> Date {
    let today = (site.now)().to_zoned(site.zone.clone()).date();
    today.saturating_sub((DAYS as i64 - 1).days())
}

/// What a project cost on each of the last days, and since its first session.
fn costs(site: &Site, path: &str) -> Costs {
    let (name, first) = (site.board.project(path), first_day(site));
    let mut costs = Costs { days: vec![0; DAYS], ..Costs::default() };
    for one in site.board.summaries(|one| one.project == name) {
        costs.sessions += 1;
        costs.waiting += one.waiting.len();
        costs.all = costs.all.saturating_add(one.cost_micros);
        for (day, micros) in &one.spent {
            let place = usize::try_from((*day - first).get_days()).ok();
            if let Some(sum) = place.and_then(|place| costs.days.get_mut(place)) {
                *sum = sum.saturating_add(*micros);
            }
        }
    }
    costs
}

/// `GET /projects/NAME`: what is known about one.
pub(crate) async fn project(
    State(site): State<Arc<Site>>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
) -> Response {
    let Some(named) = offered(&site, &name).await else {
        return page::failure(&site, StatusCode::NOT_FOUND, "There is no such project.");
    };
    let loaded = match named.is_known {
        true => site.knowledge.load(&named.path).await.map(Some).map_err(|error| error.to_string()),
        false => Ok(None),
    };
    let costs = costs(&site, &named.path);
    let shown = ProjectPage {
        site: &site,
        visitor: &visitor,
        name: &named.name,
        path: &named.path,
        loaded: loaded.as_ref().map(Option::as_ref).map_err(String::as_str),
        costs: &costs,
        first_day: first_day(&site),
    };
    let frame = Frame {
        site: &site,
        visitor: &visitor,
        section: Section::Projects,
        title: &named.name,
        session: None,
    };
    page::sent(&site, framed(&frame, projects::project(&shown)))
}

/// A project that the pages list.
struct Offered {
    name: String,
    path: String,
    /// Whether anything is known about it.
    is_known: bool,
}

/// The project of this name among those that the pages list. A name in an address must not lead to any other
/// directory.
async fn offered(site: &Site, name: &str) -> Option<Offered> {
    let known = site.knowledge.list().await.unwrap_or_default();
    let found = rows(site, known).into_iter().find(|row| row.name == name)?;
    Some(Offered { is_known: found.known.is_some(), name: found.name, path: found.path })
}

/// `POST /projects/NAME`: changes what is known about one.
pub(crate) async fn change(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    posted: Posted,
) -> Response {
    let Posted { visitor, fields } = posted;
    let Some(named) = offered(&site, &name).await else {
        return page::failure(&site, StatusCode::NOT_FOUND, "There is no such project.");
    };
    let done = changed(&site, &visitor, &named, &fields).await;
    let is_gone = fields.get("do") == "unregister" && done.is_ok();
    let said = match done {
        Ok(words) => DeviceNotice::Done(words.to_owned()),
        Err(error) => DeviceNotice::Refused(format!("Not done: {error}")),
    };
    site.told.tell(&visitor.name, said);
    if is_gone { after("/projects") } else { after(&format!("/projects/{}", encoded(&named.name))) }
}

async fn changed(
    site: &Site,
    visitor: &Visitor,
    named: &Offered,
    fields: &Fields,
) -> Result<&'static str, ProjectError> {
    let (known, by, project) = (&site.knowledge, visitor.by(), named.path.as_str());
    let said = || {
        let kind = match fields.get("kind") {
            "convention" => LearningKind::Convention,
            _ => LearningKind::Preference,
        };
        ContextUpdate { learnings: vec![(kind, fields.get("text").replace("\r\n", "\n"))], from: None }
    };
    let id = fields.get("id");
    match fields.get("do") {
        "explore" => known.explore(project).await.map(|_| "Explored."),
        "add" => known.update(project, &by, &said()).await.map(|_| "Kept in mind from now on."),
        "edit" => {
            // The new text is stored first: after a kill in between, both are there.
            let changed = known.update(project, &by, &said()).await?;
            let is_same =
                changed.context.learning(id).is_some_and(|old| old.text == fields.get("text").trim());
            if !is_same {
                known.forget(project, &by, id).await?;
            }
            Ok("Changed.")
        }
        "learn" => known.learn(project, &by, id).await.map(|_| "Kept in mind from now on."),
        "forget" => known.forget(project, &by, id).await.map(|_| "Forgotten."),
        "decline" => known.forget(project, &by, id).await.map(|_| "Declined."),
        "unregister" => {
            let name = known.load(project).await?.context.name;
            known.unregister(&name, &by).await.map(|()| "Everything that was known about it is forgotten.")
        }
        _ => Err(ProjectError::Wrong("this page is from another version; load it again".to_owned())),
    }
}
