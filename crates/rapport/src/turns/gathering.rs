//! Gathering what an agent is shown: the files of the project that are selected, each as it is now, and the project's tree.
//! What cannot be shown is named, with why; what git ignores is left out unless it is named outright.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path};
use std::thread;

use ignore::WalkBuilder;
use memchr::memchr;
use rapport_core::context::{Selection, Shown, Unshown};

/// More files than this are not drawn in the tree.
const MOST_DRAWN: usize = 2000;
/// Fewer files than this are not worth a thread.
const WORTH_SHARING: usize = 64;
const MOST_THREADS: usize = 8;
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

/// A file of the project, as it was found.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    path: String,
    /// Whether it is a file itself, below directories that are none but themselves: then it cannot lead elsewhere.
    is_plain: bool,
}

/// Gathers what is selected in a project. A file larger than the limit is only named.
pub fn gather(project: &Path, selection: &Selection, limit: u64) -> io::Result<Gathered> {
    let project = project.canonicalize()?;
    let all = all_files(&project);
    let selected = selection.select(all.iter().map(|found| found.path.as_str()));
    Ok(Gathered { files: read_all(&project, selected, &all, limit), tree: tree(&all) })
}

/// Every file that git would not ignore, from the project's root, sorted. One thread lists ten thousand names in the time
/// in which several have only agreed that there are no more.
fn all_files(project: &Path) -> Vec<Found> {
    let mut walk = WalkBuilder::new(project);
    walk.hidden(false).require_git(false).add_custom_ignore_filename(".rapportignore");
    walk.add_custom_ignore_filename(".teddyignore");
    walk.filter_entry(|entry| {
        entry.depth() != 1 || entry.file_name().to_str().is_none_or(|name| !NOT_OURS.contains(&name))
    });
    // What cannot be looked into is not listed; named outright, it is told why.
    let entries = walk.build().filter_map(Result::ok);
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let kind = entry.file_type().filter(|kind| !kind.is_dir())?;
            let path = entry.path().strip_prefix(project).ok()?.to_str()?;
            Some(Found { path: path.to_owned(), is_plain: kind.is_file() })
        })
        .collect();
    found.sort_unstable();
    found
}

/// Reads them, many at a time; in the order in which they were selected.
fn read_all(project: &Path, selected: Vec<String>, all: &[Found], limit: u64) -> Vec<Shown> {
    let read = |paths: &[String]| {
        let mut room = Vec::new();
        let shown = |path: &String| {
            let known = all.binary_search_by(|found| found.path.as_str().cmp(path));
            let is_plain = known.ok().and_then(|at| all.get(at)).is_some_and(|found| found.is_plain);
            shown(project, path, is_plain, limit, &mut room)
        };
        paths.iter().map(shown).collect::<Vec<_>>()
    };
    if selected.len() < WORTH_SHARING {
        return read(&selected);
    }
    let share = selected.len().div_ceil(threads());
    thread::scope(|scope| {
        let read = &read;
        let parts: Vec<_> =
            selected.chunks(share).map(|part| (part, scope.spawn(move || read(part)))).collect();
        // A thread that could not be joined has read nothing; then it is done here.
        parts.into_iter().flat_map(|(part, thread)| thread.join().unwrap_or_else(|_| read(part))).collect()
    })
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, |threads| threads.get().min(MOST_THREADS))
}

fn shown(project: &Path, path: &str, is_plain: bool, limit: u64, room: &mut Vec<u8>) -> Shown {
    let text = if path.contains("://") {
        Err(because("an address, which READ fetches"))
    } else if is_plain {
        read(project, path, limit, room)
    } else {
        lies_inside(project, path).and_then(|()| read(project, path, limit, room))
    };
    text.map_or_else(|unshown| Shown::named(path, unshown), |text| Shown::text(path, text))
}

/// What is named outright, or is a link, may lead out of the project.
fn lies_inside(project: &Path, path: &str) -> Result<(), Unshown> {
    let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let is_inside = Path::new(path).components().all(is_plain);
    let place = project.join(path);
    match place.canonicalize() {
        Ok(real) if !real.starts_with(project) => Err(because("outside the project")),
        Err(_) if !is_inside => Err(because("outside the project")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Unshown::Missing),
        Err(error) => Err(unreadable(&error)),
        Ok(real) => match fs::metadata(real) {
            Ok(about) if about.is_dir() => Err(because("a directory without files to show")),
            // To open a pipe would be to wait for who writes to it.
            Ok(about) if !about.is_file() => Err(because("not a file")),
            Ok(_) => Ok(()),
            Err(error) => Err(unreadable(&error)),
        },
    }
}

/// Reads a file into room that is there already.
fn read<'r>(project: &Path, path: &str, limit: u64, room: &'r mut Vec<u8>) -> Result<&'r str, Unshown> {
    let opened = File::open(project.join(path)).and_then(|file| Ok((file.metadata()?, file)));
    let (about, file) = opened.map_err(|error| unreadable(&error))?;
    if about.len() > limit {
        return Err(Unshown::TooLarge { bytes: about.len(), limit });
    }
    room.clear();
    // What it has grown by meanwhile is not asked for.
    file.take(about.len()).read_to_end(room).map_err(|error| unreadable(&error))?;
    let text = str::from_utf8(room).ok().filter(|text| memchr(0, text.as_bytes()).is_none());
    text.ok_or_else(|| Unshown::Binary { bytes: about.len(), kind: kind(path).to_owned() })
}

fn unreadable(error: &io::Error) -> Unshown {
    Unshown::Because(format!("it cannot be read ({error})"))
}

fn because(why: &str) -> Unshown {
    Unshown::Because(why.to_owned())
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
fn tree(files: &[Found]) -> String {
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    for Found { path, .. } in files.iter().take(MOST_DRAWN) {
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

    fn check(context: &str, expected: &[&Shown]) {
        let project = project();
        let gathered = gather(project.path(), &cascade(context, "", ""), 1000).unwrap();
        assert_eq!(gathered.files.iter().collect::<Vec<_>>(), expected, "{context}");
    }

    // FILE-12, FILE-13: globs and directories, .gitignore honoured, what cannot be shown is named.
    #[test]
    fn file_12_what_is_selected_is_shown_or_named() {
        let main = Shown::text("src/main.rs", "fn main() {}\n");
        let page = Shown::text("src/ui/page.rs", "// page\n");
        let png = Unshown::Binary { bytes: 5, kind: "image/png".into() };
        let logo = Shown::named("src/ui/logo.png", png);
        check("src", &[&main, &logo, &page]);
        check("src/**/*.rs", &[&main, &page]);
        check("src\n-src/ui", &[&main]);
        let (readme, absent) =
            (Shown::text("README.md", "# App\n"), Shown::named("not/there.md", Unshown::Missing));
        check("README.md\nnot/there.md", &[&readme, &absent]);
        let large = Unshown::TooLarge { bytes: 2000, limit: 1000 };
        check("**/*.txt", &[&Shown::named("big.txt", large)]);
        check("src/../README.md", &[&Shown::text("src/../README.md", "# App\n")]);
        check(".env", &[&Shown::text(".env", "KEY=1\n")]);
        for (path, why) in [
            ("target", "a directory without files to show"),
            ("../secret", "outside the project"),
            ("https://example.org/a", "an address, which READ fetches"),
        ] {
            check(path, &[&Shown::named(path, because(why))]);
        }
    }

    /// Many are read at a time, and come in order; a pipe keeps nobody waiting.
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
            let expected = Shown::text(format!("{number:03}.txt"), &format!("{number}\n"));
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
        let gathered = gather(project().path(), &Selection::default(), 10).unwrap();
        let expected = ".gitignore\nREADME.md\nbig.txt\nsrc/\n  main.rs\n  ui/\n    logo.png\n    page.rs\n";
        assert_eq!(gathered.tree, expected);
    }
}
