//! Requested faults: what goes wrong with the next call of a method.

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection ends and nothing was done.
    DropBefore,
    /// It was done, and the connection ends before the answer.
    DropAfter,
    /// This status, with what a proxy would say.
    Status(u16),
    /// Too many requests; what is sent before that many seconds have passed is a violation.
    TooManyRequests {
        /// The seconds.
        retry_after: u64,
    },
    /// Telegram says no, with these words.
    Refuse {
        /// The `error_code`.
        code: u16,
        /// The `description`.
        description: String,
    },
    /// An empty list, at once.
    Empty,
    /// No answer at all, as long as the connection lasts.
    Hang,
}

/// The troubles to come.
#[derive(Default)]
pub(crate) struct Faults(Vec<Planned>);

struct Planned {
    method: String,
    fault: Fault,
    times: u32,
}

impl Faults {
    /// The next so many calls of this method meet with it; `*` is any method.
    pub(crate) fn plan(&mut self, method: &str, times: u32, fault: Fault) {
        self.0.push(Planned { method: method.to_owned(), fault, times });
    }

    /// Nothing goes wrong any more.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// What this call meets with.
    pub(crate) fn take(&mut self, method: &str) -> Option<Fault> {
        self.0.retain(|planned| planned.times > 0);
        let planned = self.0.iter_mut().find(|planned| planned.method == method || planned.method == "*")?;
        planned.times -= 1;
        Some(planned.fault.clone())
    }
}
