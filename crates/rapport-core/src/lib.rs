//! The pure heart of Rapport: questions, sessions, and the facts they are made of.
//!
//! Nothing here reads a file, a clock, a socket or the environment, and nothing here is random: what happened and when
//! comes in as an argument, and what should be done goes out as data. Read [`Event`] first, then [`Session`].

pub mod check;
pub mod context;
pub mod report;
pub mod review;
pub mod slug;
pub mod visible;

mod action_plan;
mod aim;
mod answer;
mod branch;
mod edit;
mod elicitation;
mod event;
mod id;
mod input;
mod interactive;
mod permission;
mod plan;
mod presenter;
mod progress;
pub mod prompt;
mod question;
mod question_round;
mod refusal;
mod session;
mod turn;
mod turn_card;
mod view;
mod want;

pub use action_plan::{
    Action, ActionKind, ActionPlan, Change, Fenced, PlanError, Replacement, Resource, Sign, fenced,
    first_heading,
};
pub use aim::{Aim, Asking, Existing, PlanMode, ProgressAim};
pub use answer::{Answer, By, MAX_TEXT};
pub use branch::{Branch, Destination, StateWanted};
pub use edit::{EditError, Mismatch, apply_edits};
pub use elicitation::{ACCEPT, Consent, Field, FieldKind};
pub use event::{
    AgentCommand, Asker, Beside, BranchPoint, Changes, Clarifier, Created, Ending, Entry, Event, FORMAT,
    FileChange, Origin, Seed, Terms, TurnKind, Usage,
};
pub use id::{CallId, ConversationId, QuestionId, RoundId, SessionId, TurnId};
pub use input::{Act, AgentDid, Ask, Draft, Input, Leave, Merged, NotMerged, World};
pub use interactive::{
    AnsweredPair, InteractiveFile, InteractiveOption, InteractiveQuestion, InteractiveState,
};
pub use permission::{Mark, Part, Pattern, Permission, Remark, Rule, ShownLine};
pub use plan::PlanFile;
pub use presenter::{Focus, Followed, Presenter};
pub use progress::{Attempt, DONE, NoProgress, Problem, ProgressFile, Task, cut_out};
pub use prompt::action_plan::ACTION_PLAN;
pub use prompt::progress::plan_prompt;
pub use prompt::question_round::INTERACTIVE;
pub use question::{Choice, Purpose, Question, Reply};
pub use question_round::{Brief, QuestionRound, signal};
pub use refusal::Refusal;
pub use session::{MAX_TASK, QuestionView, RoundView, Session, WorkUndo, ruled_by_project};
pub use turn::{
    ActionEnd, ActionResult, Chosen, FileBatch, FileTurn, FoundBatch, FoundTurn, FoundTurns, Interrupted,
    LaterChanges, TurnOrigin, TurnPlan, TurnStage, UndoProblem, UndoState, UndoneFiles,
};
pub use turn_card::{TurnCard, TurnCardKind};
pub use view::{
    AgentState, AgentView, Clarified, OpenQuestion, PhaseView, PlanView, Progress, ReviewView, Rounds,
    Status, View, WorkplaceView,
};
pub use want::{ActionReply, BatchOrder, CallReply, Order, Told, Want};
