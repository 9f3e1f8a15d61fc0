//! The core of Rapport: questions, sessions, and the facts that sessions are made of.
//!
//! The core is pure. It reads no file, clock, socket or environment variable and uses no randomness: what happened,
//! and when, comes in as an argument; what should be done goes out as data. Read [`Event`] first, then [`Session`],
//! whose three functions are all there is to it:
//!
//! - [`Session::decide`] says which facts follow from an [`Input`], or refuses it ([`Refusal`]). It changes nothing.
//! - [`Session::apply_entry`] folds stored facts into the state. It cannot fail.
//! - [`Session::wants`] says what should be true of the world now ([`Want`]). The engine makes it true.
//!
//! # Glossary
//!
//! One word per thing, in the code, on screens and in the docs.
//!
//! | word | what it is | type |
//! |---|---|---|
//! | project | a directory that agents work in | [`Created::project`] |
//! | context | what is known about a project; also, in the words of a turn, what its agent is shown ([`context`]) | [`ProjectContext`] |
//! | learning | something to keep in mind for a project, which a person agreed to | [`Learning`] |
//! | task | what a person wants done there, in their words | [`Created::task`] |
//! | session | one task from the first word to the result | [`Session`], named by [`SessionId`] |
//! | flow | what a session is for, with the phases, state and rules that go with it | chosen by [`Aim`] |
//! | log | the facts of a session, append-only; all else is derived from it | a list of [`Entry`] |
//! | fact | something that became true; past tense, never edited | [`Event`] |
//! | input | something that came in: from a person, the agent, or the engine | [`Input`] of [`Act`], [`AgentDid`], [`World`] |
//! | want | a state that should hold; the engine can make it true twice without harm | [`Want`] |
//! | question | text and options, with or without free text, one choice or several | [`Question`]; not yet asked, a [`NewQuestion`] |
//! | round | questions that are asked together and answered into one place | [`RoundId`], as it stands a [`RoundView`]; made by a planner, a [`QuestionRound`] |
//! | answer | the value that was chosen or typed, and by whom | [`Answer`], [`By`] |
//! | permission | what a tool call would do, shown in full before it is allowed | [`Permission`], by a [`Rule`] |
//! | plan | a Markdown document that is agreed on before the work | [`PlanFile`]; as steps to carry out, an [`ActionPlan`] |
//! | action | one step of a plan of actions | [`Action`], of an [`ActionKind`] |
//! | selection | which items of a plan were approved | [`review::Selection`], stored as [`Chosen`] |
//! | batch | the approved actions of one plan, run in order; it can be resumed and undone | [`FileBatch`] |
//! | turn | one piece of the agent's work, from its prompt to its result | [`TurnId`], [`TurnKind`]; with a directory, a [`FileTurn`] |
//! | branch | another try from a question or a turn | [`Branch`], [`BranchPoint`] |
//! | memo | a lasting fact that every session is told | [`Change`] of a plan's memos |
//! | progress file | a task list in Markdown that a session can be for | [`ProgressFile`], [`ProgressAim`] |
//! | agent | the program that does the work | [`AgentCommand`] |
//! | lead | the agent that a person talks to and that may answer for them, as far as [`authority`] and [`routing`] go | [`By`], [`Created::lead`] |
//! | class | what is at stake in a question, which decides whether only people are asked | [`routing::Class`] |
//! | policy | what a lead may do with the questions of a session | [`routing::Policy`] |
//! | ground | what a lead's answer is based on; without one it is a draft | [`routing::Ground`] |
//! | draft of an answer | what a lead proposes and a person sends | [`Event::Drafted`] |
//! | planner | a model that makes rounds of questions before any agent runs | [`Brief`], [`Clarifier`] |
//! | worker, workplace | the kind of place an agent runs in; one such place, opened for one session. In the names of MCP tools, which clients know, a worker is a session with its agent | [`Created::worker`], [`WorkplaceView`] |
//! | engine | the part of Rapport that makes wants true; what runs containers, such as Docker, is a container engine | |
//! | channel, origin | where people see and answer; the channel and key that a session came from | [`Presenter`], [`Origin`] |
//! | hot, parked | how a waiting agent waits: with its process alive, or with no process at all | [`AgentState`] |
//! | cut off | an agent's process that ended in the middle of something | [`Event::CutOff`] |

#![warn(missing_docs)]

pub mod authority;
pub mod check;
pub mod context;
pub mod display_text;
pub mod report;
pub mod review;
pub mod routing;
pub mod slug;

mod action_plan;
mod activity;
mod aim;
mod answer;
mod branch;
mod created;
mod diff_stat;
mod digest;
mod earlier_answer;
mod edit;
mod elicitation;
mod event;
pub mod export;
mod id;
mod input;
mod interactive;
pub mod lead_ids;
pub mod message_queue;
mod permission;
mod plan;
mod plan_effects;
mod presenter;
mod progress;
mod project;
pub mod prompt;
mod question;
mod question_round;
pub mod quick_task;
mod quiet_hours;
mod refusal;
mod session;
mod turn;
mod turn_card;
mod view;
mod viewpoint;
mod want;
mod work_check;

pub use action_plan::{
    Action, ActionKind, ActionPlan, Change, Effect, Fenced, PlanError, Replacement, Resource, Shell, Sign,
    fenced, first_heading,
};
pub use activity::{Activity, ToolUse};
pub use aim::{Aim, Asking, Existing, PlanMode, ProgressAim};
pub use answer::{Answer, By, MAX_TEXT, RuleSource};
pub use branch::{Branch, Destination, StateWanted};
pub use created::{
    AgentCommand, Assignment, BranchPoint, Clarifier, Created, Decider, Origin, Seed, Terms, TermsChange,
    WorkplaceLimits,
};
pub use diff_stat::FileDiff;
pub use digest::{Digest, DigestLine, LeadDid};
pub use earlier_answer::{EarlierAnswer, Offerable};
pub use edit::{EditError, Mismatch, apply_edits};
pub use elicitation::{ACCEPT, Consent, Field, FieldKind};
pub use event::{
    Asker, Beside, ChangeStatus, Changes, Ending, Entry, Event, FORMAT, FactTone, FileChange, TurnKind, Usage,
};
pub use id::{CallId, ConversationId, QuestionId, RoundId, SessionId, TurnId};
pub use input::{
    Act, AgentDid, ApplyTo, Ask, DayBudget, Input, Leave, Merged, NewQuestion, NotMerged, World,
};
pub use interactive::{
    AnsweredPair, InteractiveFile, InteractiveOption, InteractiveQuestion, InteractiveState,
};
pub use permission::{LineKind, Part, Pattern, Permission, PermissionRemark, Rule, ShownLine};
pub use plan::{PLAN_IS_BEHIND, PlanFile};
pub use plan_effects::{FileEffect, PlanEffects};
pub use presenter::{Focus, Followed, Presenter};
pub use progress::{DONE, NoProgress, ProgressFile, ProgressProblem, Task, cut_out};
pub use project::{
    CONTEXT_FORMAT, Learning, LearningKind, Observed, PastOutcome, PastSession, ProjectContext,
    ProjectFindings, STALE_AFTER, Stale, major,
};
pub use prompt::action_plan::ACTION_PLAN;
pub use prompt::planning_request::{PlannedAction, PlanningRequest};
pub use prompt::progress::plan_prompt;
pub use prompt::project_task::Enrichment;
pub use prompt::question_round::INTERACTIVE;
pub use question::{Choice, Purpose, Question, Reply};
pub use question_round::{Brief, QuestionRound, signal};
pub use quiet_hours::QuietHours;
pub use refusal::Refusal;
pub use session::{
    AgentTurnView, MAX_TASK, QuestionView, RoundView, Session, SessionHistory, SpentAt, Stretch, Unrecorded,
    WorkUndo, ruled_by_project,
};
pub use turn::{
    ActionEnd, ActionResult, Chosen, FileBatch, FileTurn, FoundBatch, FoundTurn, FoundTurns, Interrupted,
    LaterChanges, TurnOrigin, TurnPlan, TurnStage, UndoProblem, UndoState, UndoneFiles,
};
pub use turn_card::{TurnCard, TurnCardKind};
pub use view::{
    AgentState, AgentView, Clarified, DraftView, OfferView, OpenQuestion, PhaseView, PlanView, Progress,
    ReviewView, Rounds, Status, View, WayView, WorkplaceState, WorkplaceView,
};
pub use viewpoint::SeenFrom;
pub use want::{ActionReply, AnsweredQuestion, BatchOrder, CallReply, NextTurn, Order, SentMessage, Want};
pub use work_check::WorkCheck;
