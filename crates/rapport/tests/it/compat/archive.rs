//! A directory tree as one text file, so that fixtures of old versions can be stored, read and compared.
//! `tests/fixtures/README.md` describes the format.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Stands for the directory that the tree was in.
const PLACE: &str = "/fixture";
/// Begins the line that names a file.
const NAME: &str = "-- ";

/// Everything below this directory that is wanted, but for what cannot be kept: sockets.
pub(super) fn pack(root: &Path, wanted: &dyn Fn(&str) -> bool) -> String {
    let mut packing =
        Packing { root, moved: Moved::away(root), wanted, packed: BTreeMap::new(), archive: String::new() };
    packing.folder("");
    packing.archive
}

struct Packing<'a> {
    root: &'a Path,
    moved: Moved,
    wanted: &'a dyn Fn(&str) -> bool,
    /// What is in the archive already, and where: it is not written twice.
    packed: BTreeMap<Vec<u8>, String>,
    archive: String,
}

impl Packing<'_> {
    fn folder(&mut self, folder: &str) {
        let entries = fs::read_dir(self.root.join(folder)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        if names.is_empty() {
            self.archive.push_str(&format!("{NAME}{}/\n", self.moved.text(folder)));
        }
        for name in names {
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let metadata = fs::symlink_metadata(self.root.join(&path)).unwrap();
            assert!(!metadata.is_symlink(), "{path} is a link");
            if !(self.wanted)(&path) {
            } else if metadata.is_dir() {
                self.folder(&path);
            } else if metadata.is_file() {
                self.file(&path, metadata.permissions().mode() & 0o777);
            }
        }
    }

    /// A file with its name before it.
    fn file(&mut self, path: &str, mode: u32) {
        let content = self.moved.content(path, fs::read(self.root.join(path)).unwrap());
        let path = self.moved.text(path);
        let mut marks = Vec::new();
        if mode != 0o644 {
            marks.push(format!("mode {mode:o}"));
        }
        let text = match (self.packed.get(&content), content.split_first()) {
            (Some(same), _) => {
                marks.push(format!("same as {same}"));
                String::new()
            }
            (None, Some((first, rest))) if rest.len() > 100 && rest.iter().all(|byte| byte == first) => {
                marks.push(format!("repeat {} {first}", content.len()));
                String::new()
            }
            _ => text(&content, &mut marks),
        };
        let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
        self.archive.push_str(&format!("{NAME}{path}{marks}\n{text}"));
        if content.len() > 200 {
            self.packed.insert(content, path);
        }
    }
}

/// Content as it stands in an archive, marked by how.
fn text(content: &[u8], marks: &mut Vec<String>) -> String {
    let is_text =
        |text: &&str| !text.contains(['\0', '\r']) && !text.lines().any(|line| line.starts_with(NAME));
    match std::str::from_utf8(content).ok().filter(is_text) {
        Some(text) if text.ends_with('\n') => text.to_owned(),
        Some(text) => {
            marks.push("no newline".to_owned());
            format!("{text}\n")
        }
        None => {
            marks.push("hex".to_owned());
            content.chunks(60).map(|line| hex(line) + "\n").collect()
        }
    }
}

/// Puts a tree back, below this directory.
pub(super) fn unpack(archive: &str, root: &Path) {
    let moved = Moved::to(root);
    let mut contents: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for (title, text) in files(archive) {
        let (path, marks) = match title.strip_suffix(')').and_then(|title| title.rsplit_once(" (")) {
            Some((path, marks)) => (path, marks),
            None => (title, ""),
        };
        let file = root.join(moved.text(path));
        if path.ends_with('/') {
            fs::create_dir_all(file).unwrap();
            continue;
        }
        let mut content = text.as_bytes().to_vec();
        let mut mode = 0o644;
        for mark in marks.split(", ").filter(|mark| !mark.is_empty()) {
            match mark.split(' ').collect::<Vec<_>>()[..] {
                ["hex"] => content = text.lines().flat_map(unhex).collect(),
                ["mode", octal] => mode = u32::from_str_radix(octal, 8).unwrap(),
                ["no", "newline"] => drop(content.pop()),
                ["repeat", times, byte] => content = vec![byte.parse().unwrap(); times.parse().unwrap()],
                ["same", "as", other] => content = contents[other].clone(),
                _ => panic!("{mark} is not known"),
            }
        }
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, moved.content(path, content.clone())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        contents.insert(path, content);
    }
}

/// The text of one file.
pub(super) fn read<'a>(archive: &'a str, path: &str) -> Option<&'a str> {
    files(archive).find(|(title, _)| *title == path).map(|(_, text)| text)
}

/// The lines that name files, each with what follows it.
fn files(archive: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut starts: Vec<_> = archive.match_indices(&format!("\n{NAME}")).map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    starts.push(archive.len());
    let mut files = Vec::new();
    for pair in starts.windows(2) {
        let (title, text) = archive[pair[0]..pair[1]].split_once('\n').unwrap();
        files.push((title.strip_prefix(NAME).unwrap(), text));
    }
    files.into_iter()
}

/// A tree on its way from one directory to another.
struct Moved {
    /// What is replaced by what: the directory, and the directory as agents make names of it.
    words: [(String, String); 2],
}

impl Moved {
    fn away(root: &Path) -> Self {
        Self::between(root.to_str().unwrap(), PLACE)
    }

    fn to(root: &Path) -> Self {
        Self::between(PLACE, root.to_str().unwrap())
    }

    fn between(from: &str, to: &str) -> Self {
        let name = |path: &str| path.replace(['/', '.'], "-");
        Self { words: [(from.to_owned(), to.to_owned()), (name(from), name(to))] }
    }

    fn text(&self, text: &str) -> String {
        self.words.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    /// What a file says in the other place. Lines with a checksum get the one they would have there. Files of turns
    /// stay as they are: the log has their digests.
    fn content(&self, path: &str, content: Vec<u8>) -> Vec<u8> {
        if is_of_turn(path) {
            return content;
        }
        let text = match String::from_utf8(content) {
            Ok(text) if self.words.iter().any(|(from, _)| text.contains(from)) => text,
            Ok(text) => return text.into_bytes(),
            Err(error) => return error.into_bytes(),
        };
        let text = self.text(&text);
        if !path.ends_with(".jsonl") {
            return text.into_bytes();
        }
        text.split_inclusive('\n').map(with_checksum).collect::<String>().into_bytes()
    }
}

fn is_of_turn(path: &str) -> bool {
    let inside = path.split_once("/.rapport/sessions/").and_then(|(_, inside)| inside.split_once('/'));
    inside.is_some_and(|(_, file)| file.contains('/') && file.starts_with(|c: char| c.is_ascii_digit()))
}

/// A line whose checksum is right, where it has one.
fn with_checksum(line: &str) -> String {
    const SUM: &str = ",\"crc\":\"";
    match line.strip_suffix("\"}\n").and_then(|line| line.rsplit_once(SUM)) {
        Some((checked, sum)) if sum.len() == 8 => {
            format!("{checked}{SUM}{:08x}\"}}\n", crc32(checked.as_bytes()))
        }
        _ => line.to_owned(),
    }
}

/// The CRC-32 of zip, gzip and PNG.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(line: &str) -> Vec<u8> {
    let digits = line.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn a_tree_comes_back_in_another_place_as_it_was() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let here = one.path().to_str().unwrap();
    let name = here.replace(['/', '.'], "-");
    fs::create_dir_all(one.path().join("a/empty")).unwrap();
    for folder in ["b", "app/.rapport/sessions/s/01", name.as_str()] {
        fs::create_dir_all(one.path().join(folder)).unwrap();
    }
    let line = |place: &str| with_checksum(&format!("{{\"at\":\"{place}/x\",\"crc\":\"00000000\"}}\n"));
    let (logged, binary) = (line(here), format!("{name}/binary"));
    let (many, much) = (vec![b'x'; 300], "much\n".repeat(50));
    let files: [(&str, &[u8], u32); 11] = [
        ("a/many", &many, 0o600),
        ("a/much", much.as_bytes(), 0o644),
        ("b/much", much.as_bytes(), 0o755),
        ("app/.rapport/sessions/s/01/a.txt", here.as_bytes(), 0o644),
        ("left-out", b"x", 0o644),
        ("a/log.jsonl", logged.as_bytes(), 0o644),
        ("a/plain.txt", b"Hello\n\n", 0o600),
        ("a/open", b"no end", 0o755),
        ("a/none", b"", 0o644),
        ("a/dashes", b"x\n-- y\n", 0o644),
        (&binary, &[0, 255, 10, 13], 0o644),
    ];
    for (path, content, mode) in files {
        fs::write(one.path().join(path), content).unwrap();
        fs::set_permissions(one.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let archive = pack(one.path(), &|path| path != "left-out");
    assert_eq!(archive.matches(here).count(), 1, "only the file of a turn is as it was: {archive}");
    assert!(!archive.contains(&name) && archive.len() < 1500, "{archive}");
    unpack(&archive, two.path());
    assert_eq!(pack(two.path(), &|_| true), archive);
    let there = two.path().to_str().unwrap();
    assert_eq!(fs::read_to_string(two.path().join("a/log.jsonl")).unwrap(), line(there));
    assert!(two.path().join("a/empty").is_dir());
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926, "the check value that everybody gives");
}
