//! Questions on the terminal itself, of a line or a few. Only what is typed there is an answer.

use std::io;

use nix::sys::termios::{FlushArg, tcflush};
use rapport_core::SessionId;
use tokio::sync::oneshot;

use crate::channels::terminal::compose::{SentBy, compose};
use crate::channels::terminal::one_key::{Pressed, one_of};
use crate::channels::terminal::safe;
use crate::cli::output::{prompt, say};
use crate::cli::screen::{self, StopSignal};
use crate::cli::{Common, typed};
use crate::error::{Code, Failure};

/// Asks for a line. `None` at the end of the input.
pub(in crate::cli) async fn line(asked: &str) -> Result<Option<String>, Failure> {
    prompt(asked)?;
    let typed = typed_in(|| {
        let mut line = String::new();
        match io::stdin().read_line(&mut line)? {
            0 => Ok(None),
            _ => Ok(Some(line.trim().to_owned())),
        }
    })
    .await?;
    if typed.is_none() {
        prompt("\n")?;
    }
    Ok(typed)
}

/// Asks for one of these letters: by one key, or in line mode by a line that begins with it. `None` at the end of the
/// input.
pub(in crate::cli) async fn letter(asked: &str, letters: &str) -> Result<Option<char>, Failure> {
    if screen::is_interactive() {
        let mut stop = StopSignal::listen()?;
        let pressed = tokio::select! {
            pressed = one_of(asked, letters) => pressed?,
            () = stop.received() => Pressed::Left,
        };
        return match pressed {
            Pressed::Key(letter) => Ok(Some(letter)),
            Pressed::End => Ok(None),
            Pressed::Left => Err(left()),
        };
    }
    loop {
        let Some(line) = line(&format!("{asked} ")).await? else { return Ok(None) };
        if let Some(letter) = line.to_lowercase().chars().next().filter(|letter| letters.contains(*letter)) {
            return Ok(Some(letter));
        }
    }
}

/// Asks a yes-or-no question. The end of the input means no.
pub(in crate::cli) async fn yes(question: &str) -> Result<bool, Failure> {
    Ok(letter(&format!("{question} (y)es / (n)o ›"), "yn").await? == Some('y'))
}

/// The same about what was just shown. `None` at the end of the input.
pub(in crate::cli) fn decision(question: &str) -> Result<Option<bool>, Failure> {
    Ok(choice(&format!("{question} (y)es / (n)o ›"), "yn")?.map(|letter| letter == 'y'))
}

/// Asks for one of these letters about what was just shown. `None` at the end of the input.
pub(in crate::cli) fn choice(asked: &str, letters: &str) -> Result<Option<char>, Failure> {
    // Input from before the question is dropped.
    let _ = tcflush(io::stdin(), FlushArg::TCIFLUSH);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let chosen = runtime.block_on(letter(asked, letters));
    // A thread may still wait for a line.
    runtime.shutdown_background();
    chosen
}

/// Shows what an act is about, and asks whether to do it; fails unless the person says yes.
pub(in crate::cli) fn agree(heading: &str, shown: Vec<String>, question: &str) -> Result<(), Failure> {
    if !shown.is_empty() {
        say(heading)?;
        shown.iter().try_for_each(|line| say(format_args!("  {}", safe::line(line))))?;
    }
    match decision(question)? {
        Some(true) => Ok(()),
        Some(false) | None => Err(left()),
    }
}

/// Asks for a message to the agent of this session, of any number of lines.
pub(in crate::cli) async fn message(common: &Common, session: &SessionId) -> Result<String, Failure> {
    let asked = format!("What next? ({session})");
    if screen::is_interactive() {
        return words(common, &asked).await?.ok_or_else(left);
    }
    prompt(&format!("{asked}\n(Type your message; two empty lines or Ctrl-D end it, Ctrl-C leaves)\n"))?;
    let message = typed_in(|| typed::in_terminal("this message").map(Some)).await?;
    message.filter(|message| !message.trim().is_empty()).ok_or_else(no_message)
}

/// Asks for a text; for one line if the terminal supports no more. `None` at the end of the input.
pub(in crate::cli) async fn words(common: &Common, asked: &str) -> Result<Option<String>, Failure> {
    if screen::is_interactive() {
        return Ok(compose(asked, SentBy::Enter, screen::colour(common.color)).await?);
    }
    loop {
        match line(&format!("{asked} › ")).await? {
            Some(empty) if empty.is_empty() => {}
            words => return Ok(words),
        }
    }
}

/// Whether a person can be asked here.
pub(in crate::cli) fn is_possible(common: &Common) -> bool {
    screen::is_terminal() && !common.json
}

/// The error if there is no message.
pub(in crate::cli) fn no_message() -> Failure {
    Failure::new(Code::Usage, "there is no message to plan from")
        .hint("Say what is to be planned: rapport plan -m \"add a login page\"")
}

/// The error if the person left.
pub(in crate::cli) fn left() -> Failure {
    Failure::new(Code::Interrupted, "left; everything is as it was")
}

/// Reads on a separate thread, which is abandoned when the person leaves.
async fn typed_in<T: Send + 'static>(
    read: impl FnOnce() -> Result<Option<T>, Failure> + Send + 'static,
) -> Result<Option<T>, Failure> {
    let mut stop = StopSignal::listen()?;
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || send.send(read()));
    tokio::select! {
        typed = receive => typed.unwrap_or(Ok(None)),
        () = stop.received() => {
            prompt("\n")?;
            Err(left())
        }
    }
}
