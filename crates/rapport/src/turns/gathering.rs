//! Gathering what an agent is shown: the files of the project that are selected, each as it is now, and the project's tree.
//! What cannot be shown is named, with why; what git ignores is left out unless it is named outright.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Component, Path};

use ignore::WalkBuilder;
use rapport_core::context::{Selection, Shown, Shows};

/// More files than this are not drawn in the tree.
const MOST_DRAWN: usize = 2000;
/// What is never part of a project's own files.
const NOT_OURS: [&str; 3] = [".git", ".rapport", ".teddy"];

/// What was gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// The selected files, in order.
    pub files: Vec<Shown>,
    /// The project's files as a tree.
    pub tree: String,
}

/// Gathers what is selected in a project. A file larger than the limit is only named.
pub fn gather(project: &Path, selection: &Selection, limit: u64) -> io::Result<Gathered> {
    let project = project.canonicalize()?;
    let all = all_files(&project);
    let selected = selection.select(all.iter().map(String::as_str));
    let files = selected.into_iter().map(|path| shown(&project, path, limit)).collect();
    Ok(Gathered { files, tree: tree(&all) })
}

/// Every file that git would not ignore, from the project's root, sorted.
fn all_files(project: &Path) -> Vec<String> {
    let mut walk = WalkBuilder::new(project);
    walk.hidden(false).require_git(false).add_custom_ignore_filename(".rapportignore");
    walk.add_custom_ignore_filename(".teddyignore").sort_by_file_name(Ord::cmp);
    walk.filter_entry(|entry| {
        entry.depth() != 1 || entry.file_name().to_str().is_none_or(|name| !NOT_OURS.contains(&name))
    });
    let mut files = Vec::new();
    // What cannot be looked into is not listed; named outright, it is told why.
    for entry in walk.build().flatten() {
        if entry.file_type().is_some_and(|kind| !kind.is_dir())
            && let Some(path) = entry.path().strip_prefix(project).ok().and_then(Path::to_str)
        {
            files.push(path.to_owned());
        }
    }
    files
}

fn shown(project: &Path, path: String, limit: u64) -> Shown {
    let content = if path.contains("://") {
        instead("an address, which READ fetches", 0)
    } else {
        content(project, &path, limit)
    };
    Shown::new(path, content)
}

fn content(project: &Path, path: &str, limit: u64) -> Shows {
    let is_plain =
        Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let place = project.join(path);
    match place.canonicalize() {
        Ok(real) if !is_plain || !real.starts_with(project) => return instead("outside the project", 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_plain => return Shows::Missing,
        Err(_) if !is_plain => return instead("outside the project", 0),
        Err(error) => return instead(&format!("it cannot be read ({error})"), 0),
        Ok(_) => {}
    }
    let about = match fs::metadata(&place) {
        Ok(about) => about,
        Err(error) => return instead(&format!("it cannot be read ({error})"), 0),
    };
    if !about.is_file() {
        let what = if about.is_dir() { "a directory without files to show" } else { "not a file" };
        return instead(what, 0);
    }
    if about.len() > limit {
        return Shows::TooLarge { bytes: about.len(), limit };
    }
    match fs::read(&place).map(String::from_utf8) {
        Ok(Ok(text)) if !text.contains('\0') => Shows::Text(text),
        Ok(_) => instead(kind(path), about.len()),
        Err(error) => instead(&format!("it cannot be read ({error})"), about.len()),
    }
}

fn instead(what: &str, bytes: u64) -> Shows {
    Shows::Binary { bytes, kind: what.to_owned() }
}

/// What a file that is not text most likely is.
fn kind(path: &str) -> &'static str {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "woff" | "woff2" | "ttf" | "otf" => "a font",
        "db" | "sqlite" | "sqlite3" => "a database",
        _ => "not UTF-8 text",
    }
}

/// Sorted paths as a tree, a level of indentation for each directory.
fn tree(files: &[String]) -> String {
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    for path in files.iter().take(MOST_DRAWN) {
        let mut parts: Vec<_> = path.split('/').collect();
        let name = parts.pop().unwrap_or_default();
        let common = open.iter().zip(&parts).take_while(|(open, part)| open == part).count();
        open.truncate(common);
        for part in &parts[common..] {
            let _ = writeln!(out, "{}{part}/", "  ".repeat(open.len()));
            open.push(part);
        }
        let _ = writeln!(out, "{}{name}", "  ".repeat(open.len()));
    }
    if files.len() > MOST_DRAWN {
        let _ = writeln!(out, "... and {} more files", files.len() - MOST_DRAWN);
    }
    out
}

#[cfg(test)]
mod tests {
    use rapport_core::context::cascade;

    use super::*;

    fn project() -> tempfile::TempDir {
        let project = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &[u8]| {
            let path = project.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("README.md", b"# App\n");
        write("src/main.rs", b"fn main() {}\n");
        write("src/ui/page.rs", b"// page\n");
        write("src/ui/logo.png", b"\x89PNG\0");
        write("target/out.txt", b"built\n");
        write(".env", b"KEY=1\n");
        write(".gitignore", b"target\n.env\n");
        write(".rapport/memos.yaml", b"[]\n");
        write("big.txt", &[b'x'; 2000]);
        project
    }

    fn check(context: &str, expected: &[(&str, &str)]) {
        let project = project();
        let gathered = gather(project.path(), &cascade(context, "", ""), 1000).unwrap();
        let words = |shows: &Shows| match shows {
            Shows::Text(text) => text.trim_end().to_owned(),
            Shows::Binary { kind, .. } => format!("({kind})"),
            Shows::Missing => "(missing)".to_owned(),
            Shows::TooLarge { bytes, .. } => format!("(too large: {bytes})"),
        };
        let found: Vec<_> =
            gathered.files.iter().map(|file| (file.path.as_str(), words(&file.content))).collect();
        let expected: Vec<_> = expected.iter().map(|(path, words)| (*path, (*words).to_owned())).collect();
        assert_eq!(found, expected, "{context}");
    }

    // FILE-12, FILE-13: globs and directories, .gitignore honoured, what cannot be shown is named.
    #[test]
    fn file_12_what_is_selected_is_shown_or_named() {
        let (main, page, logo) = (
            ("src/main.rs", "fn main() {}"),
            ("src/ui/page.rs", "// page"),
            ("src/ui/logo.png", "(image/png)"),
        );
        check("src", &[main, logo, page]);
        check("src/**/*.rs", &[main, page]);
        check("src\n-src/ui", &[main]);
        check("README.md\nnot/there.md", &[("README.md", "# App"), ("not/there.md", "(missing)")]);
        check("**/*.txt", &[("big.txt", "(too large: 2000)")]);
        check(".env", &[(".env", "KEY=1")]);
        check("target", &[("target", "(a directory without files to show)")]);
        check("../secret", &[("../secret", "(outside the project)")]);
        check("https://example.org/a", &[("https://example.org/a", "(an address, which READ fetches)")]);
    }

    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let (project, elsewhere) = (project(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("secret"), project.path().join("link")).unwrap();
        let gathered = gather(project.path(), &cascade("link", "", ""), 1000).unwrap();
        assert!(
            matches!(&gathered.files[0].content, Shows::Binary { kind, .. } if kind == "outside the project")
        );
    }

    #[test]
    fn the_tree_has_what_git_would_have() {
        let gathered = gather(project().path(), &Selection::default(), 10).unwrap();
        let expected = ".gitignore\nREADME.md\nbig.txt\nsrc/\n  main.rs\n  ui/\n    logo.png\n    page.rs\n";
        assert_eq!(gathered.tree, expected);
    }
}
