//! An ordinary user of this machine, for tests that run as root.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use nix::unistd::{Uid, User};

use super::project::Project;

/// The same project, theirs, with a `rapport` that runs as them; and who they are.
pub(crate) fn by_an_ordinary_user(project: Project) -> (Project, Uid) {
    if !Uid::current().is_root() {
        return (project, Uid::current());
    }
    let nobody = User::from_name("nobody").unwrap().expect("the user nobody");
    // Where the program is built may be for root alone.
    let program = project.path("rapport");
    fs::copy(env!("CARGO_BIN_EXE_rapport"), &program).unwrap();
    let as_nobody = project.path("as-nobody");
    let script = "#!/bin/sh\nexec runuser -u nobody -- env HOME=\"$HOME\"";
    fs::write(&as_nobody, format!("{script} {} \"$@\"\n", program.display())).unwrap();
    fs::set_permissions(&as_nobody, fs::Permissions::from_mode(0o755)).unwrap();
    give(&project.path(""), &nobody);
    (project.run_by(&as_nobody), nobody.uid)
}

/// Makes everything below a folder theirs.
fn give(folder: &Path, user: &User) {
    chown(folder, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => give(&entry.path(), user),
            false => chown(entry.path(), Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap(),
        }
    }
}
