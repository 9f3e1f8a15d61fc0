//! Gathers what an agent is shown: the selected files in their current state, and the project's tree. A file that
//! cannot be shown is listed with the reason; a file that git ignores is left out unless it is named explicitly.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path};
use std::thread;

use ignore::WalkBuilder;
use memchr::memchr;
use rapport_core::context::{ContextSelection, ShownSource, Unshown, is_address};

/// The maximum number of files in the tree.
const MOST_DRAWN: usize = 2000;
/// The minimum number of files for which threads pay off.
const WORTH_SHARING: usize = 64;
const MOST_THREADS: usize = 8;
/// Directories that are never part of a project's own files.
const NOT_OURS: [&str; 3] = [".git", ".rapport", ".teddy"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    /// The selected files, in order.
    pub files: Vec<ShownSource>,
    /// The project's files as a tree.
    pub tree: String,
}

/// The maximum number of suggested files of each kind.
const MOST_SUGGESTED: usize = 4;
/// The minimum length of a word that is searched for in paths.
const SHORTEST_WORD: usize = 4;

/// A file of the project.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub(super) path: String,
    /// Whether it is a regular file with no symbolic link on its path, so that it cannot lead outside the project.
    pub(super) is_plain: bool,
}

/// Gathers the selected files of a project. A file larger than the limit is only listed.
pub fn gather(project: &Path, selection: &ContextSelection, limit: u64) -> io::Result<Gathered> {
    let project = project.canonicalize()?;
    let all = all_files(&project);
    let paths: Vec<_> = all.iter().map(|found| found.path.as_str()).collect();
    let reader = Reader { project: &project, all: &all, limit };
    Ok(Gathered { files: reader.read_all(&selection.select(&paths)), tree: tree(&paths) })
}

/// Suggested files for a session of this name: those that describe the project, and those with a word of the name in
/// their path.
pub fn suggested(project: &Path, name: &str) -> Vec<String> {
    const DESCRIBING: [&str; 9] = [
        "README.md",
        "CLAUDE.md",
        "AGENTS.md",
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "go.mod",
        "pom.xml",
        "Makefile",
    ];
    // Shorter words occur in too many paths.
    let words: Vec<_> =
        name.split('-').filter(|word| word.len() >= SHORTEST_WORD).map(str::to_lowercase).collect();
    let all = project.canonicalize().map(|project| all_files(&project)).unwrap_or_default();
    let is_about = |path: &str| words.iter().any(|word| path.to_lowercase().contains(word));
    let (describing, rest): (Vec<_>, Vec<_>) =
        all.into_iter().map(|found| found.path).partition(|path| DESCRIBING.contains(&path.as_str()));
    let about = rest.into_iter().filter(|path| is_about(path)).take(MOST_SUGGESTED);
    describing.into_iter().take(MOST_SUGGESTED).chain(about).collect()
}

/// All files that git would not ignore, from the project's root, sorted. One thread lists ten thousand names faster
/// than several could coordinate.
pub(super) fn all_files(project: &Path) -> Vec<Found> {
    let mut walk = WalkBuilder::new(project);
    walk.hidden(false).require_git(false).add_custom_ignore_filename(".rapportignore");
    walk.add_custom_ignore_filename(".teddyignore");
    walk.filter_entry(|entry| {
        entry.depth() != 1 || entry.file_name().to_str().is_none_or(|name| !NOT_OURS.contains(&name))
    });
    let root = project.as_os_str().len();
    // Entries that cannot be read are not listed; if they are named explicitly, the reason is reported.
    let entries = walk.build().filter_map(Result::ok);
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let kind = entry.file_type().filter(|kind| !kind.is_dir())?;
            let path = entry.path().to_str()?.get(root..)?.trim_start_matches('/');
            Some(Found { path: path.to_owned(), is_plain: kind.is_file() })
        })
        .collect();
    found.sort_unstable();
    found
}

struct Reader<'a> {
    project: &'a Path,
    all: &'a [Found],
    /// The maximum size of a file to show.
    limit: u64,
}

impl Reader<'_> {
    /// Reads these files, several at a time, in their order.
    fn read_all(&self, paths: &[&str]) -> Vec<ShownSource> {
        let threads = thread::available_parallelism().map_or(1, |threads| threads.get().min(MOST_THREADS));
        if paths.len() < WORTH_SHARING || threads == 1 {
            return self.read_some(paths);
        }
        let (here, elsewhere) = paths.split_at(paths.len().div_ceil(threads));
        thread::scope(|scope| {
            let parts: Vec<_> = elsewhere
                .chunks(here.len())
                .map(|part| (part, scope.spawn(move || self.read_some(part))))
                .collect();
            let mut shown = self.read_some(here);
            for (part, thread) in parts {
                // If a thread panicked, its files are read here.
                shown.extend(thread.join().unwrap_or_else(|_| self.read_some(part)));
            }
            shown
        })
    }

    fn read_some(&self, paths: &[&str]) -> Vec<ShownSource> {
        let mut room = Vec::new();
        let shown = |path: &&str| match self.read(path, &mut room) {
            Ok(text) => ShownSource::text(*path, text),
            Err(unshown) => ShownSource::named(*path, unshown),
        };
        paths.iter().map(shown).collect()
    }

    /// Reads a file into an existing buffer.
    fn read<'r>(&self, path: &str, room: &'r mut Vec<u8>) -> Result<&'r str, Unshown> {
        if is_address(path) {
            return Err(because("an address, which READ fetches"));
        }
        let known = self.all.binary_search_by(|found| found.path.as_str().cmp(path));
        if !known.is_ok_and(|at| self.all[at].is_plain) {
            self.lies_inside(path)?;
        }
        let opened = File::open(self.project.join(path)).and_then(|file| Ok((file.metadata()?, file)));
        let (about, file) = opened.map_err(|error| unreadable(&error))?;
        if about.len() > self.limit {
            return Err(Unshown::TooLarge { bytes: about.len(), limit: self.limit });
        }
        room.clear();
        // Bytes appended since are not read.
        file.take(about.len()).read_to_end(room).map_err(|error| unreadable(&error))?;
        let text = str::from_utf8(room).ok().filter(|text| memchr(0, text.as_bytes()).is_none());
        text.ok_or_else(|| Unshown::Binary { bytes: about.len(), kind: kind(path).to_owned() })
    }

    /// Checks that a path that is named explicitly, or is a link, does not lead out of the project.
    fn lies_inside(&self, path: &str) -> Result<(), Unshown> {
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        let is_inside = Path::new(path).components().all(is_plain);
        match self.project.join(path).canonicalize() {
            Ok(real) if !real.starts_with(self.project) => Err(because("outside the project")),
            Err(_) if !is_inside => Err(because("outside the project")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Unshown::Missing),
            Err(error) => Err(unreadable(&error)),
            Ok(real) => match fs::metadata(real) {
                Ok(about) if about.is_dir() => Err(because("a directory without files to show")),
                // Opening a pipe would block until another process writes to it.
                Ok(about) if !about.is_file() => Err(because("not a file")),
                Ok(_) => Ok(()),
                Err(error) => Err(unreadable(&error)),
            },
        }
    }
}

fn unreadable(error: &io::Error) -> Unshown {
    Unshown::Because(format!("it cannot be read ({error})"))
}

fn because(why: &str) -> Unshown {
    Unshown::Because(why.to_owned())
}

/// The likely type of a file that is not text.
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

/// Sorted paths as a tree, with one level of indentation for each directory. Of too many files, each directory shows
/// its first ones, so that the tree has all parts of a large project.
fn tree(paths: &[&str]) -> String {
    let mut out = String::new();
    let mut open = "";
    let drawn = drawn(paths);
    // The last drawn file of each directory, and how many are left out there.
    let mut ends: HashMap<&str, (usize, usize)> = HashMap::new();
    for (at, path) in paths.iter().enumerate().filter(|_| paths.len() > MOST_DRAWN) {
        let end = ends.entry(split(path).0).or_default();
        if drawn[at] { end.0 = at } else { end.1 += 1 }
    }
    for (at, path) in paths.iter().enumerate().filter(|(at, _)| drawn[*at]) {
        let (directory, name) = split(path);
        if directory != open {
            directories(&mut out, open, directory);
            open = directory;
        }
        line(&mut out, depth(directory), name, "");
        if let Some((_, left)) = ends.get(directory).filter(|(end, left)| *end == at && *left > 0) {
            line(&mut out, depth(directory), &format!("... and {left} more files here"), "");
        }
    }
    if paths.len() > MOST_DRAWN {
        let _ = writeln!(out, "... and {} more files", paths.len() - MOST_DRAWN);
    }
    out
}

/// A path's directory and name.
fn split<'a>(path: &&'a str) -> (&'a str, &'a str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Which paths are drawn: one file of each directory before a second of any, and the outermost directories first.
fn drawn(paths: &[&str]) -> Vec<bool> {
    let mut drawn = vec![paths.len() <= MOST_DRAWN; paths.len()];
    if paths.len() > MOST_DRAWN {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut order: Vec<_> = paths.iter().enumerate().collect();
        order.sort_by_cached_key(|(at, path)| {
            let place = seen.entry(split(path).0).or_default();
            *place += 1;
            (*place, depth(split(path).0), *at)
        });
        order.iter().take(MOST_DRAWN).for_each(|(at, _)| drawn[*at] = true);
    }
    drawn
}

/// Draws the directories above a file, except for those that the previous path shares.
fn directories(out: &mut String, before: &str, directory: &str) {
    let parts = directory.split('/').filter(|part| !part.is_empty());
    let common = before.split('/').zip(parts.clone()).take_while(|(before, part)| before == part).count();
    for (level, part) in parts.enumerate().skip(common) {
        line(out, level, part, "/");
    }
}

fn depth(directory: &str) -> usize {
    if directory.is_empty() { 0 } else { directory.matches('/').count() + 1 }
}

fn line(out: &mut String, level: usize, name: &str, end: &str) {
    out.extend(std::iter::repeat_n("  ", level).chain([name, end, "\n"]));
}

#[cfg(test)]
mod tests {
    use rapport_core::context::cascade;

    use super::*;

    /// Of a large project all parts are in the tree, not only those whose names come first.
    #[test]
    fn a_large_tree_shows_some_files_of_each_directory() {
        let paths: Vec<_> = (0..5000).map(|n| format!("m{:02}/f{:03}.rs", n / 100, n % 100)).collect();
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let tree = tree(&paths);
        for line in ["m00/\n  f000.rs\n", "m49/\n  f000.rs\n", "  f039.rs\n  ... and 60 more files here\n"] {
            assert!(tree.contains(line), "{line:?} is not in\n{tree}");
        }
        assert!(tree.ends_with("\n... and 3000 more files\n"), "{tree}");
    }

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

    fn check(context: &str, expected: &[&ShownSource]) {
        let project = project();
        let gathered = gather(project.path(), &cascade(context, "", ""), 1000).unwrap();
        assert_eq!(gathered.files.iter().collect::<Vec<_>>(), expected, "{context}");
    }

    // FILE-12, FILE-13: globs and directories, .gitignore is respected, files that cannot be shown are listed.
    #[test]
    fn file_12_what_is_selected_is_shown_or_named() {
        let main = ShownSource::text("src/main.rs", "fn main() {}\n");
        let page = ShownSource::text("src/ui/page.rs", "// page\n");
        let png = Unshown::Binary { bytes: 5, kind: "image/png".into() };
        let logo = ShownSource::named("src/ui/logo.png", png);
        check("src", &[&main, &logo, &page]);
        check("src/**/*.rs", &[&main, &page]);
        check("src\n-src/ui", &[&main]);
        let (readme, absent) =
            (ShownSource::text("README.md", "# App\n"), ShownSource::named("not/there.md", Unshown::Missing));
        check("README.md\nnot/there.md", &[&readme, &absent]);
        let large = Unshown::TooLarge { bytes: 2000, limit: 1000 };
        check("**/*.txt", &[&ShownSource::named("big.txt", large)]);
        check("src/../README.md", &[&ShownSource::text("src/../README.md", "# App\n")]);
        check(".env", &[&ShownSource::text(".env", "KEY=1\n")]);
        for (path, why) in [
            ("target", "a directory without files to show"),
            ("../secret", "outside the project"),
            ("https://example.org/a", "an address, which READ fetches"),
        ] {
            check(path, &[&ShownSource::named(path, because(why))]);
        }
    }

    /// Many files are read at a time, in order; a pipe does not block.
    #[test]
    fn many_files_and_a_pipe() {
        let project = tempfile::tempdir().unwrap();
        for number in 0..300 {
            fs::write(project.path().join(format!("{number:03}.txt")), format!("{number}\n")).unwrap();
        }
        nix::unistd::mkfifo(&project.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let gathered = gather(project.path(), &cascade("*", "", ""), 1000).unwrap();
        assert_eq!(gathered.files.len(), 301);
        for (number, file) in gathered.files[..300].iter().enumerate() {
            let expected = ShownSource::text(format!("{number:03}.txt"), &format!("{number}\n"));
            assert_eq!(*file, expected);
        }
        assert_eq!(gathered.files[300].unshown, Some(because("not a file")));
    }

    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let (project, elsewhere) = (project(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("secret"), project.path().join("link")).unwrap();
        let gathered = gather(project.path(), &cascade("link", "", ""), 1000).unwrap();
        assert_eq!(gathered.files[0].unshown, Some(because("outside the project")));
    }

    #[test]
    fn the_tree_has_what_git_would_have() {
        let gathered = gather(project().path(), &ContextSelection::default(), 10).unwrap();
        let expected = ".gitignore\nREADME.md\nbig.txt\nsrc/\n  main.rs\n  ui/\n    logo.png\n    page.rs\n";
        assert_eq!(gathered.tree, expected);
    }
}
