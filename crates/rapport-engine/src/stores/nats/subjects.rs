//! The subjects under which the sessions of a project are in the streams.
//!
//! ```text
//! STREAM.log.PROJECT.KIND.SESSION              the entries of a session
//! STREAM.doc.PROJECT.KIND.SESSION.NAME         an attachment
//! STREAM.folder.PROJECT.KIND.SESSION.NAME      a folder of documents
//! STREAM.owner.PROJECT.KIND.SESSION            who holds a session, or reserved its name
//! STREAM.lease.LEASE                           a process that holds sessions
//! STREAM.act.LEASE                             acts for the sessions of a process; they are not stored
//! ```

use rapport_core::SessionId;

/// The subjects of one project's sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subjects {
    stream: String,
    /// The project, and which kind of its sessions: `PROJECT.KIND`.
    site: String,
}

impl Subjects {
    pub(super) fn new(stream: &str, project: &str, kind: &str) -> Self {
        Self { stream: stream.to_owned(), site: format!("{}.{}", word(project), word(kind)) }
    }

    /// The project, and which of its sessions these are: in acts and in seals.
    pub(super) fn site(&self) -> &str {
        &self.site
    }

    /// A name for these sessions that no others have.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.stream, self.site)
    }

    pub(super) fn log(&self, id: &SessionId) -> String {
        format!("{}.log.{}.{}", self.stream, self.site, word(id.as_str()))
    }

    pub(super) fn all_logs(&self) -> String {
        format!("{}.log.{}.*", self.stream, self.site)
    }

    pub(super) fn document(&self, id: &SessionId, name: &str) -> String {
        format!("{}.doc.{}.{}.{}", self.stream, self.site, word(id.as_str()), word(name))
    }

    /// The attachments of one session.
    pub(super) fn documents(&self, id: &SessionId) -> String {
        format!("{}.doc.{}.{}.*", self.stream, self.site, word(id.as_str()))
    }

    /// The attachments of all sessions.
    pub(super) fn all_documents(&self) -> String {
        format!("{}.doc.{}.*.*", self.stream, self.site)
    }

    pub(super) fn folder(&self, id: &SessionId, name: &str) -> String {
        format!("{}.folder.{}.{}.{}", self.stream, self.site, word(id.as_str()), word(name))
    }

    /// The folders of one session.
    pub(super) fn folders(&self, id: &SessionId) -> String {
        format!("{}.folder.{}.{}.*", self.stream, self.site, word(id.as_str()))
    }

    pub(super) fn owner(&self, id: &SessionId) -> String {
        format!("{}.owner.{}.{}", self.stream, self.site, word(id.as_str()))
    }

    pub(super) fn all_owners(&self) -> String {
        format!("{}.owner.{}.*", self.stream, self.site)
    }

    /// The session of one of these subjects, which all have its name as their fifth word.
    pub(super) fn session(subject: &str) -> Option<SessionId> {
        subject.split('.').nth(4).and_then(name).map(SessionId::new)
    }

    /// The name of the attachment of a subject.
    pub(super) fn attachment(subject: &str) -> Option<String> {
        subject.split('.').nth(5).and_then(name)
    }
}

/// One word of a subject, for any name: dots separate words, and some characters have a meaning.
fn word(name: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        other => format!("={other:02x}"),
    };
    name.bytes().map(encode).collect()
}

/// The name that a word stands for.
fn name(word: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'=' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_one_word_and_comes_back() {
        for text in ["20260124-add-auth", "01/plan.md", "a.b", "*", ">", "", "größe", "a b", "x=2e"] {
            let word = word(text);
            assert!(!word.contains(['.', '*', '>', ' ']), "{word}");
            assert_eq!(name(&word).as_deref(), Some(text));
        }
        let subjects = Subjects::new("rapport", "my.app", "sessions");
        let id = SessionId::new("20260124-x.y");
        for subject in [subjects.log(&id), subjects.owner(&id), subjects.document(&id, "01/plan.md")] {
            assert_eq!(Subjects::session(&subject), Some(id.clone()), "{subject}");
        }
        let document = subjects.document(&id, "01/plan.md");
        assert_eq!(Subjects::attachment(&document).as_deref(), Some("01/plan.md"));
        assert_eq!(name("=2"), None);
        assert_eq!(name("=zz"), None);
    }
}
