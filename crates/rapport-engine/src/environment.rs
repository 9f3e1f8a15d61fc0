//! Variables that everything gets which Rapport starts for a person: where it is, who it is, how it reaches the network. None of
//! them is a secret. What agents and commands get beside these is said where they are started.

/// The variables.
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

/// How the names of the locale's variables begin.
const LOCALE: &str = "LC_";

/// Whether a variable is one of them.
pub fn is_usual(name: &str) -> bool {
    USUAL.contains(&name) || name.starts_with(LOCALE)
}
