//! Files that people send. The channel fetches them before it handles their message, and passes them to the agent with
//! its text.

use rapport_door::NewFile;

use super::chat_state::ChatState;
use super::effect::{AfterFetch, AfterHear, Effect};
use super::incoming::{FileRef, What};
use super::messages::{Visit, on_other};

/// The maximum size of a file that Telegram lets a bot download, in bytes.
pub(super) const LARGEST_FILE: usize = 20 << 20;

const TOO_LARGE: &str = "That file is larger than 20 MB, which is all that Telegram gives to a bot. I took nothing of \
     your message. Please send something smaller, or put the file into the project.";

impl ChatState {
    /// Handles a message, after its files are fetched.
    pub(super) fn on_visit(&mut self, visit: Visit, what: What, files: Vec<FileRef>) {
        if files.is_empty() {
            return self.on_what(visit, what);
        }
        let is_too_large = |file: &FileRef| file.size.is_some_and(|size| size > LARGEST_FILE as u64);
        if files.iter().any(is_too_large) {
            return self.effects.only_say(&visit, TOO_LARGE);
        }
        let is_voice = matches!(what, What::Other { .. }) && files.iter().any(|file| file.is_voice);
        if let What::Other { kind, .. } = what {
            let is_answer =
                !self.sessions.open_questions(visit.room, visit.sender.id, &self.notes).is_empty();
            match (is_voice, self.settings.can_hear) {
                (true, true) => {}
                (false, _) if !is_answer => {}
                _ => return on_other(&self.sessions, &self.notes, &mut self.effects, &visit, kind),
            }
        }
        self.effects.type_for(visit.room);
        self.effects.want(Effect::Fetch { files, then: Box::new(AfterFetch { visit, what, is_voice }) });
    }

    /// Handles the fetched files of a message, or the failure to fetch them.
    pub(super) fn on_fetched(&mut self, then: AfterFetch, fetched: Result<Vec<NewFile>, String>) {
        let AfterFetch { visit, what, is_voice } = then;
        let files = match fetched {
            Ok(files) => files,
            Err(why) => {
                let words = format!(
                    "❌ I could not fetch that ({why}), so I ignored the message. Please send it again."
                );
                return self.effects.only_say(&visit, &words);
            }
        };
        match (what, &files[..]) {
            (What::Other { reply_to, .. }, [voice, ..]) if is_voice => {
                let then = Box::new(AfterHear { visit, reply_to });
                self.effects.want(Effect::Hear { voice: voice.clone(), then });
            }
            (what, _) => self.on_what(Visit { files, ..visit }, what),
        }
    }
}
