//! The transfer between the host and a container: the project's history as a bundle and its files on the way in, a
//! patch on the way out. Nothing but a patch is taken from a container: git checks every path in it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{SessionId, display_text};
use rapport_durable as durable;

use super::container::{self, Container, give, give_all};
use super::{GIVEN, PREPARED, PROJECT};
use crate::workers::git::{git, line};
use crate::workers::local::{self, Scratch};
use crate::workers::separate_work::{Apart, lock};
use crate::workers::{OURS, WorkerError, file_error};
use crate::workers::{repositories, repository};

/// Makes the repository and the files. The host determines the work by `base.git`, so that it does not matter what an
/// agent does to the repository of its files.
const FILL: &str = r#"set -eu
given=$1 base=$2 start=$3 branch=$4 format=$5 inside=$6 prepared=$7 home=$8
rm -rf base.git project ready
command -v git >/dev/null || { echo "there is no git in the image" >&2; exit 1; }
git init --quiet --bare --object-format="$format" base.git
git --git-dir=base.git fetch --quiet "$given/bundle" "+$base:refs/heads/base"
# What is ignored and committed all the same is part of the work.
GIT_INDEX_FILE=base.git/work git --git-dir=base.git read-tree refs/heads/base
git clone --quiet --no-checkout base.git project
cd project
if [ -d "$prepared/project" ]; then
  for path in "$prepared"/project/* "$prepared"/project/.[!.]* "$prepared"/project/..?*; do
    [ ! -e "$path" ] && [ ! -L "$path" ] || cp -a -- "$path" .
  done
  [ ! -d "$prepared/home" ] || cp -a -n -- "$prepared/home/." "$home"
fi
git checkout --quiet --force -b "$branch" "$start"
# Of what the setup left, only what is ignored is not work.
git clean --quiet -d --force --force
git remote remove origin
cat "$given/config" >> .git/config
git --git-dir=../base.git config core.bare false
cat "$given/config" >> ../base.git/config
mkdir -p "./$inside"
[ ! -d "$given/include" ] || cp -R "$given/include/." "./$inside"
# Their files are there before the patch, which may name their commits.
for module in "$given"/modules/*; do
  [ -d "$module" ] || continue
  path=$(cat "$module/path"; echo /)
  git init --quiet --object-format="$format" "./${path%/}"
  git -C "./${path%/}" fetch --quiet "$module/bundle" "$base"
  git -C "./${path%/}" checkout --quiet --detach "$(cat "$module/commit")"
done
[ ! -f "$given/patch" ] || git apply --binary --whitespace=nowarn "$given/patch"
cd ..
touch ready
sync"#;

/// Whether the files are complete.
const IS_READY: &str = "[ -f ready ]";

/// Prints the difference between a state and the files, and, as error output, the names of files that cannot be read,
/// each with a zero byte. The index remembers which files have not changed; each run has a copy, so that one that is
/// killed leaves no lock that others wait for.
///
/// All files in a container belong to the agent's user, as which this runs. What the agent closed is made readable:
/// git could not add it, and it would be missing in the patch.
const TELL: &str = r#"set -eu
base=$1 inside=$2
shift 2
known=$PWD/base.git/work
export GIT_DIR=$PWD/base.git GIT_WORK_TREE=$PWD/project GIT_INDEX_FILE=$known-$$
rm -f "$GIT_INDEX_FILE.lock"
cp -p "$known" "$GIT_INDEX_FILE"
trap 'rm -f "$GIT_INDEX_FILE"' EXIT
cd "project/$inside"
all() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false add --all --ignore-errors -- :/ "$@"; }
add() {
  for try in 1 2 3 4 5 6 7 8 9 10; do
    said=$(all "$@" 2>&1 >/dev/null) && code=0 || code=$?
    [ $code -gt 1 ] || break
    sleep 0.05
  done
}
open() {
  [ -r "$1" ] && [ -x "$1" ] || chmod u+rwx -- "$1" || return 0
  for path in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    if [ -L "$path" ]; then continue; fi
    if [ -d "$path" ]; then open "$path"; continue; fi
    [ ! -f "$path" ] || [ -r "$path" ] || chmod u+r -- "$path" || continue
  done
}
left() {
  git -c core.fsmonitor=false ls-files -z --others --modified --exclude-standard -- :/ "$@" 2>/dev/null
  printf '%s\n' "$said" | sed -n "s,.*could not open directory '\(.*[^/]\)/*'.*,\1,p" | tr '\n' '\0'
}
add "$@"
case "$said" in *"ermission denied"*) open "$GIT_WORK_TREE" 2>/dev/null; add "$@";; esac
# There is no room for it in the repository, which is no property of a file.
case "$said" in *"No space left"*) code=2;; esac
[ $code -le 1 ] || { printf '%s\n' "$said" >&2; exit 1; }
[ -z "$said" ] || left "$@" >&2
git diff --cached --binary --full-index --no-renames --no-color --no-ext-diff --no-textconv "$base" -- :/ "$@"
mv -f "$GIT_INDEX_FILE" "$known""#;

/// Lists files that are not in the patch; a name that ends with a slash is a repository of its own, such as a
/// submodule with changes. The agent's own repository is not asked: it may be gone.
const NESTED: &str = r#"export GIT_DIR=$PWD/base.git GIT_WORK_TREE=$PWD/project GIT_INDEX_FILE=$PWD/base.git/work
cd project && git -c core.fsmonitor=false ls-files -z --others --exclude-standard || exit
git ls-files --stage -z | tr '\0' '\n' | grep '^160000 ' | cut -f 2- | while IFS= read -r path; do
  [ -e "$path/.git" ] || continue
  changed=$(unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE; git -C "$path" -c core.fsmonitor=false status --porcelain 2>&1)
  [ -z "$changed" ] || printf '%s/\0' "$path"
done"#;

/// The name of the branch that the agent sees.
fn branch(apart: &Apart) -> String {
    format!("rapport/{}", apart.session)
}

/// Fills a new container with the project as it is, and begins the work. A stored patch is applied to the files.
pub(super) fn fill(
    container: &Arc<Container>,
    apart: &Apart,
    inside: &str,
    patch: Option<&[u8]>,
) -> Result<(), WorkerError> {
    let given = Given::gather(container, apart, patch)?;
    container::wait(container, |container| async move { container.make().await })?;
    given.put_into(container, apart, inside)?;
    // The files that it was filled from are removed before the work begins: later no process would look for them.
    let base = given.base.clone();
    drop(given);
    apart.begin(&base)
}

/// Fills a container in which no agent will work.
pub(super) fn fill_template(
    container: &Arc<Container>,
    apart: &Apart,
    inside: &str,
) -> Result<(), WorkerError> {
    let given = Given::gather(container, apart, None)?;
    container::wait(container, |container| async move { container.make_template().await })?;
    given.put_into(container, apart, inside)
}

/// The files from which a container is filled, in the folder of given files: the history up to a commit, and the
/// files that belong to it. Removed on drop.
struct Given {
    folder: PathBuf,
    /// The commit at which the work begins.
    base: String,
    history: Bundle,
    _modules: Vec<Bundle>,
    /// The object format of the repository.
    format: String,
}

impl Given {
    /// The files in the folder.
    const NAMES: [&str; 5] = ["bundle", "config", "patch", "include", "modules"];

    /// Gathers the files under the project's lock, so that no process applies or undoes work meanwhile. The container
    /// itself is not made under the lock: that takes long, and other sessions want to start.
    fn gather(container: &Container, apart: &Apart, patch: Option<&[u8]>) -> Result<Self, WorkerError> {
        let _lock = lock(&apart.project)?;
        let base = if apart.is_made() { apart.base()? } else { new_base(apart)? };
        let folder = container.given.clone();
        let history = bundle(&apart.project, &apart.session, &base, folder.join("bundle"))?;
        let modules = modules(apart, &base, &folder)?;
        let format = line(&apart.project, &["rev-parse", "--show-object-format"])?;
        let given = Self { folder, base, history, _modules: modules, format };
        given.write("config", &repository::of_people(&apart.project)?)?;
        match patch {
            Some(patch) => given.write("patch", patch)?,
            None => {
                durable::remove(&given.folder.join("patch")).map_err(file_error("remove", &given.folder))?;
            }
        }
        include(apart, &given.folder)?;
        Ok(given)
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), WorkerError> {
        let path = self.folder.join(name);
        let written = durable::replace_private(&path, content).and_then(|()| give(&path));
        written.map_err(file_error("write", &path))
    }

    /// Fills a container from these files.
    fn put_into(&self, container: &Arc<Container>, apart: &Apart, inside: &str) -> Result<(), WorkerError> {
        let start = format!("{}^", self.base);
        let (name, branch, inside) = (self.history.name.clone(), branch(apart), inside.to_owned());
        let (format, home) = (self.format.clone(), container.home.to_string_lossy().into_owned());
        let names = Self::NAMES.map(PathBuf::from).into_iter();
        let names: Vec<_> = names.filter(|name| self.folder.join(name).exists()).collect();
        let filled = container::wait(container, |container| async move {
            let inside = if inside.is_empty() { "." } else { inside.as_str() };
            let args = [GIVEN, &name, &start, &branch, &format, inside, PREPARED, &home];
            container.show(&names).await?;
            let filled = container.script(FILL, &args).await;
            container.hide(&names).await?;
            filled
        })?;
        if filled.code != 0 {
            return Err(WorkerError::Engine {
                what: "put the project into the container",
                why: filled.why(),
            });
        }
        Ok(())
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // Leftovers are replaced the next time. The bundles are removed with their refs.
        for name in ["config", "patch"] {
            let _ = durable::remove(&self.folder.join(name));
        }
        for name in ["include", "modules"] {
            let _ = durable::remove_folder(&self.folder.join(name));
        }
    }
}

/// Whether a container is completely filled.
pub(super) async fn is_filled(container: &Container) -> Result<bool, WorkerError> {
    Ok(container.script(IS_READY, &[]).await?.code == 0)
}

/// The commit with the current state, on top of the one at which the work begins.
fn new_base(apart: &Apart) -> Result<String, WorkerError> {
    let state = apart.project_here().state()?;
    let is_shallow = line(&apart.project, &["rev-parse", "--is-shallow-repository"])? == "true";
    // The history of a shallow repository is incomplete, so a bundle of it could not be read elsewhere.
    let start = match is_shallow {
        true => apart.commit(&apart.with_ours(&state)?, None)?,
        false => apart.start(&state)?,
    };
    apart.commit(&state, Some(&start))
}

/// The ref that a bundle for a session contains.
fn bundled(session: &SessionId) -> String {
    format!("refs/rapport-in/{session}")
}

/// Removes the refs that a process left which was killed while it made the bundles.
pub(super) fn remove_bundle_refs(apart: &Apart) -> Result<(), WorkerError> {
    let name = bundled(&apart.session);
    // Without a commit there are no submodules.
    let modules = repositories::checked_out(&apart.project, "HEAD").unwrap_or_default();
    let directories = modules.into_iter().map(|module| module.directory);
    for repository in [apart.project.clone()].into_iter().chain(directories) {
        git(&repository, None, &["update-ref", "-d", &name])?;
    }
    Ok(())
}

/// A file with the history of a repository up to a commit, and the ref in it. Both are removed on drop.
struct Bundle {
    repository: PathBuf,
    name: String,
    file: PathBuf,
}

fn bundle(
    repository: &Path,
    session: &SessionId,
    commit: &str,
    file: PathBuf,
) -> Result<Bundle, WorkerError> {
    let bundle = Bundle { repository: repository.to_owned(), name: bundled(session), file };
    git(repository, None, &["update-ref", &bundle.name, commit])?;
    let file = bundle.file.to_string_lossy().into_owned();
    git(repository, None, &["bundle", "create", "--quiet", &file, &bundle.name])?;
    give(&bundle.file).map_err(file_error("give away", &bundle.file))?;
    Ok(bundle)
}

/// Bundles of the submodules that are checked out here, each with its path and its commit.
fn modules(apart: &Apart, base: &str, given: &Path) -> Result<Vec<Bundle>, WorkerError> {
    let folder = given.join("modules");
    durable::remove_folder(&folder).map_err(file_error("remove", &folder))?;
    let mut bundles = Vec::new();
    for module in repositories::checked_out(&apart.project, base)? {
        let module_folder = folder.join(bundles.len().to_string());
        durable::folder(&module_folder).map_err(file_error("make", &module_folder))?;
        for (name, content) in
            [("path", module.path.as_os_str().as_bytes()), ("commit", module.commit.as_bytes())]
        {
            let file = module_folder.join(name);
            durable::replace_private(&file, content).map_err(file_error("write", &file))?;
        }
        bundles.push(bundle(
            &module.directory,
            &apart.session,
            &module.commit,
            module_folder.join("bundle"),
        )?);
    }
    if !bundles.is_empty() {
        give_all(&folder).map_err(file_error("give away", &folder))?;
    }
    Ok(bundles)
}

impl Drop for Bundle {
    fn drop(&mut self) {
        // What stays here is replaced the next time, or removed with the container.
        let _ = git(&self.repository, None, &["update-ref", "-d", &self.name]);
        let _ = durable::remove(&self.file);
    }
}

/// Copies the ignored files that the project wants in its containers.
fn include(apart: &Apart, given: &Path) -> Result<(), WorkerError> {
    let folder = given.join("include");
    durable::remove_folder(&folder).map_err(file_error("remove", &folder))?;
    let included = apart.included()?;
    if included.is_empty() {
        return Ok(());
    }
    for path in included {
        let (from, to) = (apart.project.join(&path), folder.join(&path));
        durable::copy(&from, &to).map_err(file_error("copy", &from))?;
    }
    give_all(&folder).map_err(file_error("give away", &folder))
}

/// The work in a container.
pub(super) struct ReadWork {
    /// A patch since the beginning, safe for every kind of content.
    pub(super) patch: Vec<u8>,
    /// The files that the patch lacks because they cannot be read.
    pub(super) unread: Vec<String>,
}

pub(super) fn work(container: &Arc<Container>, apart: &Apart, inside: &str) -> Result<ReadWork, WorkerError> {
    let base = format!("{}^{{tree}}", apart.base()?);
    let inside = if inside.is_empty() { "." } else { inside }.to_owned();
    let outcome = container::wait(container, |container| async move {
        let without = OURS.map(|ours| format!(":(exclude){ours}"));
        let args = [base.as_str(), &inside].into_iter().chain(without.iter().map(String::as_str));
        container.script(TELL, &args.collect::<Vec<_>>()).await
    })?;
    match outcome.code {
        0 => Ok(ReadWork { patch: outcome.out, unread: unread(&outcome.err) }),
        _ => Err(WorkerError::Engine { what: "read the work in the container", why: outcome.why() }),
    }
}

/// The names of files in the error output of `TELL`. One with a slash at its end is a nested repository (`nested`).
fn unread(names: &[u8]) -> Vec<String> {
    let names = names.split_inclusive(|byte| *byte == 0).filter_map(|name| name.strip_suffix(b"\0"));
    let files = names.filter(|name| !name.is_empty() && !name.ends_with(b"/"));
    files.map(|name| display_text::line(&String::from_utf8_lossy(name))).collect()
}

/// The state of the files after a patch, as a tree in the project's repository. Git refuses paths that lead out of the
/// tree, through a link or otherwise, or into `.git`.
pub(super) fn state_of(given: &Path, apart: &Apart, patch: &[u8]) -> Result<String, WorkerError> {
    let base = format!("{}^{{tree}}", apart.base()?);
    if patch.is_empty() {
        return line(&apart.project, &["rev-parse", "--verify", &base]);
    }
    let file = given.join(format!("out-{}", uuid::Uuid::new_v4().simple()));
    durable::replace_private(&file, patch).map_err(file_error("write", &file))?;
    let top = local::top(&apart.project)?;
    let scratch = Scratch::take(&top)?;
    let index = Some(scratch.path());
    git(&top, index, &["read-tree", &base])?;
    let name = file.to_string_lossy().into_owned();
    let applied = git(&top, index, &["apply", "--cached", "--binary", "--whitespace=nowarn", &name]);
    let removed = durable::remove(&file).map_err(file_error("remove", &file));
    applied?;
    removed?;
    let tree = git(&top, index, &["write-tree"])?;
    Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
}

/// Nested repositories with work that a patch does not contain.
pub(super) fn nested(container: &Arc<Container>) -> Result<Vec<String>, WorkerError> {
    let outcome = container::wait(container, |container| async move { container.script(NESTED, &[]).await })?;
    if outcome.code != 0 {
        return Err(WorkerError::Engine { what: "read the work in the container", why: outcome.why() });
    }
    let names = outcome.out.split(|byte| *byte == 0).filter_map(|name| name.strip_suffix(b"/"));
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// The project's directory in the container.
pub(super) fn directory(inside: &str) -> PathBuf {
    let top = PathBuf::from(PROJECT);
    if inside.is_empty() { top } else { top.join(inside.trim_end_matches('/')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project with a link that leads out of it, and a session that has begun.
    fn begun(folder: &Path) -> Apart {
        let app = folder.join("app");
        std::fs::create_dir(&app).unwrap();
        std::fs::write(app.join("a.txt"), "a\n").unwrap();
        std::os::unix::fs::symlink(folder, app.join("out")).unwrap();
        git(&app, None, &["init", "--quiet"]).unwrap();
        git(&app, None, &["add", "--all"]).unwrap();
        git(&app, None, &["commit", "--quiet", "-m", "begun"]).unwrap();
        let apart = Apart::of(&app, &SessionId::new("20260124-one"));
        apart.begin(&new_base(&apart).unwrap()).unwrap();
        apart
    }

    fn adding(path: &str) -> String {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
        )
    }

    /// Names are complete with their zero byte; what follows is a message of git.
    #[test]
    fn the_names_of_unread_files_are_told_apart_from_repositories_and_messages() {
        let said = b"a\nb.txt\0nested/\0closed\0warning: something else\n";
        assert_eq!(unread(said), [display_text::line("a\nb.txt"), "closed".into()]);
        assert_eq!(unread(b"warning: something else\n"), [""; 0]);
    }

    #[test]
    fn a_patch_becomes_a_state_and_one_that_leads_elsewhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let apart = begun(folder.path());
        let run = folder.path().join("run");
        std::fs::create_dir(&run).unwrap();
        let state = state_of(&run, &apart, adding("new/b.txt").as_bytes()).unwrap();
        let files = git(&apart.project, None, &["ls-tree", "-r", "--name-only", &state]).unwrap();
        assert_eq!(String::from_utf8(files).unwrap(), "a.txt\nnew/b.txt\nout\n");
        let nothing = state_of(&run, &apart, b"").unwrap();
        assert_eq!(nothing, line(&apart.project, &["rev-parse", "HEAD^{tree}"]).unwrap());
        for path in
            [".git/hooks/x", ".GIT/config", "deep/.git/config", "../outside", "a/../../outside", "out/x"]
        {
            let refused = state_of(&run, &apart, adding(path).as_bytes());
            assert!(refused.is_err(), "{path}");
        }
        assert!(state_of(&run, &apart, b"no patch\n").is_err());
        assert_eq!(std::fs::read_dir(&run).unwrap().count(), 0, "nothing is left");
        assert!(!apart.project.join("new").exists(), "the project is not touched");
    }
}
