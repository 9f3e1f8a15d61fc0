//! `rapport hosts` and `rapport store`, where there is only this machine. `nats/story.rs` has them where there are
//! several.

use crate::support::project::Project;

#[test]
fn one_machine_alone_has_no_hosts_and_no_copies() {
    let project = Project::with_agent("rehearsal");
    for command in [&["hosts"][..], &["store", "verify"], &["store", "restore"]] {
        project.rapport(command).check(2, "on this machine alone").check(2, "docs/many-machines.md");
    }
}

#[test]
fn a_store_without_its_servers_is_refused_with_what_to_write() {
    let project = Project::with_agent("rehearsal").set("RAPPORT_STORE", "nats");
    project.rapport(&["status"]).check(2, "nats needs the addresses of its servers: nats://HOST,HOST,HOST");
    let project = project.set("RAPPORT_STORE", "files://here");
    project.rapport(&["status"]).check(2, "files has no address; write only files");
    let project = project.set("RAPPORT_STORE", "nats://127.0.0.1:1").set("RAPPORT_NATS_KEY", "/x");
    project.rapport(&["status"]).check(6, "nats.key is set without nats.certificate");
}
