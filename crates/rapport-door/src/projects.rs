//! The door to projects, for all channels: what is known about each project. It is as small as the door to sessions.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use rapport_core::{By, LearningKind, PastSession, ProjectContext, Stale};
use serde::Serialize;
use thiserror::Error;

/// All projects that this person's Rapport knows, and those that it can find. A project is named by its name, or by the
/// path of its directory.
pub trait Projects: Send + Sync {
    /// The known projects, by name, including those whose file cannot be read.
    fn list(&self) -> ProjectReply<'_, Vec<KnownProject>>;

    /// What is known about a project, and whether that is still current. Does not explore.
    fn load<'a>(&'a self, project: &'a str) -> ProjectReply<'a, LoadedProject>;

    /// Explores a project, and makes it known. Runs no program of the project. What people changed in its context is
    /// kept.
    fn explore<'a>(&'a self, project: &'a str) -> ProjectReply<'a, LoadedProject>;

    /// Adds learnings to a project: those of a person take effect, all others are proposals.
    fn update<'a>(
        &'a self,
        project: &'a str,
        by: &'a By,
        update: &'a ContextUpdate,
    ) -> ProjectReply<'a, LoadedProject>;

    /// Accepts a proposal, by its id. Only a person can.
    fn learn<'a>(&'a self, project: &'a str, by: &'a By, id: &'a str) -> ProjectReply<'a, LoadedProject>;

    /// Revokes a learning, or declines a proposal, by its id or its text. Only a person can.
    fn forget<'a>(
        &'a self,
        project: &'a str,
        by: &'a By,
        learning: &'a str,
    ) -> ProjectReply<'a, LoadedProject>;

    /// Registers a directory under this name. A project that moved keeps what is known about it. Only a person can.
    fn register<'a>(&'a self, name: &'a str, path: &'a str, by: &'a By) -> ProjectReply<'a, LoadedProject>;

    /// Forgets a project with all that is known about it; its directory stays as it is. Only a person can.
    fn unregister<'a>(&'a self, name: &'a str, by: &'a By) -> ProjectReply<'a, ()>;

    /// The directory of a project, named by an absolute path, a known name, or the name of a directory in a
    /// configured place.
    fn resolve<'a>(&'a self, project: &'a str) -> ProjectReply<'a, PathBuf>;
}

/// The result of a request about projects.
pub type ProjectReply<'a, T> = BoxFuture<'a, Result<T, ProjectError>>;

/// A known project, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownProject {
    pub name: String,
    pub path: String,
    /// The language, if it was explored.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Why it should be explored again, if it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<Stale>,
    /// Whether its directory no longer exists.
    pub is_missing: bool,
    /// Why its file cannot be read, if it cannot; the other fields are empty then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A project's context as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadedProject {
    pub context: ProjectContext,
    /// Why it should be explored again, if it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<Stale>,
    /// Whether its directory no longer exists.
    pub is_missing: bool,
    /// Its latest sessions that ended, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recent_sessions: Vec<PastSession>,
    /// Remarks about the exploration, in clauses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// What to add to a project's context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextUpdate {
    /// The learnings: what each is, and its text.
    pub learnings: Vec<(LearningKind, String)>,
    /// The session that they came from, if any.
    pub from: Option<String>,
}

/// Why a request about a project was not carried out.
#[derive(Debug, Error)]
pub enum ProjectError {
    /// No project has this name, and no directory this path.
    #[error("there is no project {named:?}")]
    Unknown {
        named: String,
        /// The names of the known projects.
        known: Vec<String>,
    },
    /// Its directory no longer exists.
    #[error("the directory of {name} is gone: {path}")]
    Missing { name: String, path: String },
    /// Another project has this name.
    #[error("{name} is already the project in {path}")]
    Taken { name: String, path: String },
    /// The name, learning or directory is not valid.
    #[error("{0}")]
    Wrong(String),
    /// There is no such learning.
    #[error("{name} has no learning {learning:?}")]
    NoLearning { name: String, learning: String },
    /// Only a person may do that.
    #[error("only a person may {0}")]
    NeedsPerson(&'static str),
    /// The role of the caller does not allow it.
    #[error("{0}")]
    Forbidden(&'static str),
    /// A file cannot be parsed. It was not changed.
    #[error("{place}: {what}")]
    Broken { place: String, what: String },
    /// A file was written by a newer program. It was not changed.
    #[error("{place} has format {found}, this program knows formats up to {known}")]
    Newer { place: String, found: u32, known: u32 },
    /// The operating system reported an error.
    #[error("cannot {what} {place}: {source}")]
    Io { what: &'static str, place: String, source: std::io::Error },
    /// Rapport itself failed.
    #[error("{0}")]
    Failed(String),
}
