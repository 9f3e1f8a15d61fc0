//! What it takes `rapport serve` to begin in a project with many sessions that wait: only their questions need to be known.

use std::time::Duration;

use rapport::seals::Seals;
use rapport::stores::files::Files;

use crate::support::crowd::Crowd;
use crate::support::serving::Serving;
use crate::support::telegram::{Rates, TelegramServer};
use crate::{Outcome, parked_session, row};

/// Sessions that wait, parked.
const SESSIONS: usize = 10_000;
/// How many of them are written at once.
const WRITERS: usize = 32;
/// It has begun when it takes next to no CPU time for this long.
const QUIET: Duration = Duration::from_secs(1);
/// Hundredths of a second that count as next to nothing: cards go out one by one for hours.
const NEXT_TO_NOTHING: u64 = 3;

pub(crate) fn measure() -> Outcome {
    let folder = Serving::folder();
    let (app, home) = (folder.path().join("app").canonicalize()?, folder.path().join("home/.rapport"));
    let store = Files::new(rapport::config::sessions(&app)).of(app.clone());
    let store = store.sealed_by(Seals::new(home, app));
    // The disk syncs many files at once in hardly more time than one.
    std::thread::scope(|scope| {
        let write =
            |first| (first..SESSIONS).step_by(WRITERS).try_for_each(|n| parked_session(&store, n).map(drop));
        let writers: Vec<_> = (0..WRITERS).map(|first| scope.spawn(move || write(first))).collect();
        writers.into_iter().try_for_each(|writer| writer.join().map_err(|_| "a writer panicked")?)
    })?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let server = TelegramServer::start().await;
        server.rates(Rates::Real);
        let mut serving = Serving::start_in(folder, &server, "http://127.0.0.1:9", Crowd::ids(1), &[]);
        let mut before = cpu_ticks(serving.id())?;
        let cpu = loop {
            tokio::time::sleep(QUIET).await;
            let now = cpu_ticks(serving.id())?;
            if before > 0 && now - before <= NEXT_TO_NOTHING {
                break now;
            }
            before = now;
        };
        let (cpu, peak) = (cpu as f64 / 100.0, serving.peak());
        row(
            &format!("`serve` begins with {SESSIONS} parked sessions, CPU"),
            format!("{cpu:.2} s"),
            "target: under 1 s",
        );
        row("  the most that was resident", format!("{peak:.0} MB"), "target: under 64 MB");
        serving.stop();
        Ok(())
    })
}

/// CPU time of a process so far, in hundredths of a second.
fn cpu_ticks(process: u32) -> Outcome<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    Ok(after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum())
}
