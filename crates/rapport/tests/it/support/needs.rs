//! What some tests need and not every machine has. A test that cannot run fails and says what is missing; whoever knows that
//! leaves it out by name: `RAPPORT_TEST_WITHOUT=claude,disk,engine,mcp-client,root,sandbox`.

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

/// Where the MCP client of the protocol's own project is installed. `None` only where the tests that need it were left out on purpose.
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

/// The Python that has the MCP client of the protocol's own project for it. `None` only where the tests that need it were left out on purpose.
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

/// The same, for whoever can do without.
pub(crate) fn engine_if_any() -> Option<String> {
    std::env::var(ENGINE).ok()
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
}
