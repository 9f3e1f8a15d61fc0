//! The repository's settings that an agent may see: the committer, and the remotes. Other settings name programs, or
//! contain credentials.

use std::path::Path;

use super::WorkerError;
use super::git::git;

/// Settings that git needs to read the repository, and those about people.
const SHOWN: [&str; 10] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.ignorecase",
    "core.symlinks",
    "core.precomposeunicode",
    "core.autocrlf",
    "core.eol",
    "user.name",
    "user.email",
];

/// The settings about how the repository itself is stored.
const FORMAT: [&str; 2] = ["core.repositoryformatversion", "core.bare"];

/// The settings of a project's repository, as a git config file.
pub(super) fn settings(project: &Path) -> Result<Vec<u8>, WorkerError> {
    chosen(project, |_| true)
}

/// The settings for another repository with the same history, which has its own format.
pub(super) fn of_people(project: &Path) -> Result<Vec<u8>, WorkerError> {
    chosen(project, |key| !FORMAT.contains(&key) && !key.starts_with("extensions."))
}

fn chosen(project: &Path, is_chosen: impl Fn(&str) -> bool) -> Result<Vec<u8>, WorkerError> {
    let all = git(project, None, &["config", "--local", "--null", "--list"])?;
    let all = String::from_utf8_lossy(&all);
    let pairs = all.split('\0').filter_map(|pair| pair.split_once('\n'));
    let pairs = pairs.filter(|(key, _)| is_chosen(key));
    Ok(pairs.filter_map(|(key, value)| shown(key, value)).collect::<String>().into_bytes())
}

fn shown(key: &str, value: &str) -> Option<String> {
    let (section, rest) = key.split_once('.')?;
    let (below, name) = rest.rsplit_once('.').map_or((None, rest), |(below, name)| (Some(below), name));
    let is_shown = SHOWN.contains(&key) || section == "extensions" || section == "remote" && name == "fetch";
    let value = match (section, name) {
        ("remote", "url") => without_password(value),
        _ => is_shown.then(|| value.to_owned())?,
    };
    let below = below.map(|below| format!(" {}", quoted(below))).unwrap_or_default();
    Some(format!("[{section}{below}]\n\t{name} = {}\n", quoted(&value)))
}

/// An address without its credentials.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_passwords_are_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path();
        git(app, None, &["init", "--quiet"]).unwrap();
        for (key, value) in [
            ("core.sshCommand", "ssh -i secret"),
            ("http.https://example.com/.extraheader", "Authorization: secret"),
            ("remote.up stream.url", "https://me:secret@example.com/a.git"),
            ("remote.up stream.fetch", "+refs/heads/*:refs/remotes/up/*"),
            ("remote.ssh.url", "git@example.com:a.git"),
            ("user.name", "Me \"the\" \\ one"),
        ] {
            git(app, None, &["config", key, value]).unwrap();
        }
        let shown = folder.path().join("shown");
        std::fs::write(&shown, settings(app).unwrap()).unwrap();
        let shown = shown.to_str().unwrap();
        let listed = git(app, None, &["config", "--file", shown, "--list"]).unwrap();
        let listed = String::from_utf8(listed).unwrap();
        assert!(!listed.contains("secret"), "{listed}");
        for line in [
            "core.repositoryformatversion=0",
            "remote.up stream.url=https://example.com/a.git",
            "remote.up stream.fetch=+refs/heads/*:refs/remotes/up/*",
            "remote.ssh.url=git@example.com:a.git",
            "user.name=Me \"the\" \\ one",
        ] {
            assert!(listed.lines().any(|listed| listed == line), "{line}: {listed}");
        }
    }
}
