//! The environment variables that every program gets which Rapport starts for a person: paths, user, network. None of
//! them is a secret. The modules that start agents and commands add their own.

const USUAL: [&str; 20] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "LANG",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
];

/// The prefix of the locale's variables.
const LOCALE: &str = "LC_";

/// Whether a variable is one of these.
pub fn is_usual(name: &str) -> bool {
    USUAL.contains(&name) || name.starts_with(LOCALE)
}
