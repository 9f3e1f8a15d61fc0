//! Requirements of some tests that not every machine meets. A test that cannot run fails and says what is missing.
//! Such tests are left out by name:
//! `RAPPORT_TEST_WITHOUT=browser,claude,disk,engine,mcp-client,mcp-conformance,nats,root,sandbox,shells`.

use std::path::PathBuf;

use rapport::workers::containers::Containers;
use rapport::workers::sandboxes::Sandboxes;

/// Names what may be left out.
const WITHOUT: &str = "RAPPORT_TEST_WITHOUT";
/// Names the pinned Claude Code CLI; those of older ones end in `_2_1_90` and the like.
const CLAUDE: &str = "RAPPORT_TEST_CLAUDE";
/// Names the container engine of the tests.
const ENGINE: &str = "RAPPORT_TEST_ENGINE";
/// The image that this engine has.
pub(crate) const IMAGE: &str = "rapport-test";

/// The pinned Claude Code CLI. `None` only where the tests that need it were left out on purpose.
#[track_caller]
pub(crate) fn claude() -> Option<PathBuf> {
    program(CLAUDE)
}

/// The Claude Code CLI that this variable names.
#[track_caller]
pub(crate) fn program(variable: &str) -> Option<PathBuf> {
    let Some(program) = std::env::var_os(variable).map(PathBuf::from) else {
        missing(
            "claude",
            &format!("{variable} names no Claude Code CLI; `cargo xtask test` installs one and sets it"),
        );
        return None;
    };
    assert!(program.is_file(), "{variable} is {}, and there is no such program", program.display());
    Some(program)
}

/// Where the MCP client of the protocol's own project is installed. `None` only where the tests that need it were
/// left out on purpose.
#[track_caller]
pub(crate) fn mcp_client() -> Option<PathBuf> {
    const CLIENT: &str = "RAPPORT_TEST_MCP_CLIENT";
    let Some(place) = std::env::var_os(CLIENT).map(PathBuf::from) else {
        let why = format!("{CLIENT} names no MCP client; `cargo xtask test` installs one and sets it");
        missing("mcp-client", &why);
        return None;
    };
    assert!(place.is_dir(), "{CLIENT} is {}, and there is no such folder", place.display());
    Some(place)
}

/// Where the conformance suite of MCP is installed. `None` only where the tests that need it were left out on purpose.
#[track_caller]
pub(crate) fn mcp_conformance() -> Option<PathBuf> {
    const SUITE: &str = "RAPPORT_TEST_MCP_CONFORMANCE";
    let Some(place) = std::env::var_os(SUITE).map(PathBuf::from) else {
        let why = format!("{SUITE} names no conformance suite; `cargo xtask test` installs one and sets it");
        missing("mcp-conformance", &why);
        return None;
    };
    assert!(place.is_dir(), "{SUITE} is {}, and there is no such folder", place.display());
    Some(place)
}

/// The Python that has the MCP client of the protocol's own project for it. `None` only where the tests that need it
/// were left out on purpose.
#[track_caller]
pub(crate) fn mcp_python() -> Option<PathBuf> {
    const PYTHON: &str = "RAPPORT_TEST_MCP_PYTHON";
    let Some(python) = std::env::var_os(PYTHON).map(PathBuf::from) else {
        let why = format!(
            "{PYTHON} names no Python with an MCP client; `cargo xtask test` installs one and sets it"
        );
        missing("mcp-client", &why);
        return None;
    };
    assert!(python.is_file(), "{PYTHON} is {}, and there is no such program", python.display());
    Some(python)
}

/// The folder with the checker of accessibility, where a browser can be driven. `None` only where the tests that need
/// one were left out on purpose.
#[track_caller]
pub(crate) fn browser() -> Option<PathBuf> {
    const AXE: &str = "RAPPORT_TEST_AXE";
    let is_there = |name: &str| std::process::Command::new(name).arg("--version").output().is_ok();
    let missing_program = ["chromium", "chromedriver"].into_iter().find(|name| !is_there(name));
    let place = std::env::var_os(AXE).map(PathBuf::from);
    let why = match (missing_program, &place) {
        (None, Some(place)) => {
            assert!(place.is_dir(), "{AXE} is {}, and there is no such folder", place.display());
            return Some(place.clone());
        }
        (Some(program), _) => format!("{program} is not installed; `cargo xtask test` installs it"),
        (None, None) => format!("{AXE} names no axe-core; `cargo xtask test` installs it and sets it"),
    };
    missing("browser", &why);
    None
}

/// Whether sandboxes can be made here. False only where the tests that need them were left out on purpose.
#[track_caller]
pub(crate) fn sandbox() -> bool {
    match Sandboxes::check() {
        Ok(_) => true,
        Err(none) => {
            missing("sandbox", &none.why);
            false
        }
    }
}

/// The address of the container engine of the tests. `None` only where the tests that need it were left out on purpose.
#[track_caller]
pub(crate) fn engine() -> Option<String> {
    let Some(address) = std::env::var(ENGINE).ok() else {
        missing(
            "engine",
            &format!(
                "{ENGINE} names no container engine; `cargo xtask engine` starts one, and `cargo xtask test` too"
            ),
        );
        return None;
    };
    if let Err(none) = Containers::check(Some(&address)) {
        panic!("{ENGINE} is {address}: {none}");
    }
    Some(address)
}

/// The engine, for a test that can do without.
pub(crate) fn engine_if_any() -> Option<String> {
    std::env::var(ENGINE).ok()
}

/// The program of the NATS server. `None` only where the tests that need it were left out on purpose.
#[track_caller]
pub(crate) fn nats() -> Option<PathBuf> {
    const SERVER: &str = "RAPPORT_TEST_NATS";
    let Some(program) = std::env::var_os(SERVER).map(PathBuf::from) else {
        let why = format!("{SERVER} names no NATS server; `cargo xtask test` installs one and sets it");
        missing("nats", &why);
        return None;
    };
    assert!(program.is_file(), "{SERVER} is {}, and there is no such program", program.display());
    Some(program)
}

/// Whether this shell is installed. False only where the tests that need it were left out on purpose.
#[track_caller]
pub(crate) fn shell(name: &str) -> bool {
    let is_there = std::process::Command::new(name).arg("--version").output().is_ok();
    if !is_there {
        missing("shells", &format!("{name} is not installed; `cargo xtask test` installs it"));
    }
    is_there
}

/// Says that something a test needs is missing: the test has failed, unless this was left out on purpose.
#[track_caller]
pub(crate) fn missing(what: &str, why: &str) {
    let left_out = std::env::var(WITHOUT).unwrap_or_default();
    assert!(
        left_out.split(',').any(|name| name.trim() == what),
        "this test cannot run: {why}. `{WITHOUT}={what}` leaves out all tests like it"
    );
    println!("SKIPPED, as {WITHOUT} says: {why}");
    // `cargo xtask test` names every skipped test at its end.
    if let Some(list) = std::env::var_os("RAPPORT_TEST_SKIPPED") {
        let thread = std::thread::current();
        let line = format!("{}: {why}\n", thread.name().unwrap_or("a test").replace('\n', " "));
        let mut list = std::fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
        std::io::Write::write_all(&mut list, line.as_bytes()).unwrap();
    }
}
