//! What a sandbox blocks and what it lets through, as a script in it reports.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use rapport::workers::keeper::mark::Mark;
use rapport::workers::network::Network;
use rapport::workers::process::{Launch, ProcessKind, no_input};
use rapport::workers::proxy::Service;
use rapport::workers::sandboxes::Sandboxes;
use rapport::workers::{Worker as _, Workplace};
use rapport_core::Created;
use tempfile::TempDir;

use super::{id, project};
use crate::support::needs;

/// A person with a secret, a project, and a sandbox on it.
struct World {
    folder: TempDir,
    project: TempDir,
    created: Created,
}

impl World {
    /// `None` where there can be no sandboxes, and that is known.
    fn new() -> Option<Self> {
        if !needs::sandbox() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("person/.cargo/bin")).unwrap();
        fs::write(folder.path().join("person/secret"), "secret\n").unwrap();
        fs::write(folder.path().join("person/.cargo/bin/tool"), "a tool\n").unwrap();
        let (project, created) = project("sandbox");
        Some(Self { folder, project, created })
    }

    fn person(&self) -> PathBuf {
        self.folder.path().join("person")
    }

    fn open(&self, network: Network) -> Arc<dyn Workplace> {
        let worktrees = self.folder.path().join("worktrees");
        let sandboxes = Sandboxes::new(worktrees, Some(self.person())).with_network(network);
        sandboxes.open(&id(), &self.created).unwrap()
    }
}

/// What a script says inside.
async fn says((place, person): (&dyn Workplace, &Path), script: &str, service: Option<Service>) -> String {
    let (mut output, written) = std::io::pipe().unwrap();
    let (_left, told) = std::io::pipe().unwrap();
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    // Even if the home of the person is a folder of programs.
    path.push(format!(":{}", person.display()));
    let mut kept = place
        .spawn(Launch {
            keeper: Path::new(env!("CARGO_BIN_EXE_rapport")),
            kind: ProcessKind::Command,
            program: "bash".as_ref(),
            args: &[OsString::from("-c"), OsString::from(script)],
            env: vec![("PATH".into(), path), ("HTTPS_PROXY".into(), "http://outer:1".into())],
            mark: Mark::unnamed(),
            stdin: no_input().unwrap(),
            stdout: written.try_clone().unwrap().into(),
            stderr: written.into(),
            beside: told.into(),
            tools: &[],
            service,
            refused: None,
        })
        .unwrap();
    kept.gone().await.unwrap();
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    said
}

#[tokio::test]
async fn an_agent_sees_its_worktree_and_the_tools_of_the_machine_and_nothing_else() {
    let Some(world) = World::new() else { return };
    let place = world.open(Network::None);
    let (person, project) = (world.person(), world.project.path().canonicalize().unwrap());
    let script = format!(
        "set -u
        cat {person}/.cargo/bin/tool
        cat {person}/secret {project}/README.md /etc/shadow 2>&1 | sed 's/.*: //'
        echo x 2>&1 > /here | sed 's/.*: //'; (echo x > {person}/.cargo/bin/tool) 2>&1 | sed 's/.*: //'
        echo \"home $HOME\" | sed s,{home},HOME,; echo made > $HOME/made && cat $HOME/made; echo x > /tmp/x && cat /tmp/x
        echo processes $(ls /proc | grep -c '^[0-9]'); echo proxy ${{HTTPS_PROXY%:*}}
        git log --format=%s; git status --short
        rm -f .git 2>&1 | sed 's/.*: //'; mv .git x 2>&1 | sed 's/.*: //'; git config user.name me 2>&1 | sed 's/.*: //'",
        person = person.display(),
        project = project.display(),
        home = place.home().unwrap().display(),
    );
    let said = says((&*place, &world.person()), &script, None).await;
    let (processes, said): (Vec<_>, Vec<_>) = said.lines().partition(|line| line.starts_with("processes "));
    let gone = "No such file or directory";
    let read_only = "Read-only file system";
    let expected = [
        "a tool",
        gone,
        gone,
        gone,
        read_only,
        read_only,
        "home HOME",
        "made",
        "x",
        "proxy http://127.0.0.1",
        "An app",
        "?? draft.txt",
        "Device or resource busy",
        "Device or resource busy",
        read_only,
    ];
    // Uncommitted work is committed on the branch of the worktree, so that there is one commit more.
    let said: Vec<_> = said.into_iter().filter(|line| !line.starts_with("The files as they were")).collect();
    let expected: Vec<_> = expected.into_iter().filter(|line| *line != "?? draft.txt").collect();
    assert_eq!(said, expected);
    let number: usize = processes[0].trim_start_matches("processes ").parse().unwrap();
    assert!(number < 10, "only its own: {number}");
    assert_eq!(fs::read_to_string(person.join(".cargo/bin/tool")).unwrap(), "a tool\n");
}

/// Answers every connection with what it was told.
pub(super) fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut told = Vec::new();
                let mut some = [0; 4096];
                while !told.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut some) {
                        Ok(read @ 1..) => told.extend_from_slice(&some[..read]),
                        _ => return,
                    }
                }
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", told.len());
                let _ = stream.write_all(&[head.as_bytes(), &told].concat());
            });
        }
    });
    address
}

/// Functions for scripts: `ask ADDRESS LINE...` says lines to an address and shows what comes back.
const ASK: &str = r#"
ask() {
    local address=${1#http://}; address=${address%%/*}; shift
    if ! exec 9<>/dev/tcp/${address%:*}/${address#*:}; then return; fi 2>&-
    printf '%s\r\n' "$@" connection:close '' >&9; cat <&9 | tr -d '\r'; exec 9>&-
}
"#;

/// A credential is not in the workplace. Only the agent's own service gets it.
#[tokio::test]
async fn the_hosts_proxy_adds_credentials_and_lets_only_named_hosts_through() {
    let Some(world) = World::new() else { return };
    let (allowed, other) = (echo(), echo());
    let place = world.open(Network::Allowlist(vec![allowed.to_string().parse().unwrap()]));
    let said = reaching((&*place, &world.person()), allowed, other).await;
    assert_only_named_hosts(&said);
}

/// What a script says inside that tries its service with a credential, a host that is allowed, and another one.
pub(super) async fn reaching(
    there: (&dyn Workplace, &Path),
    allowed: SocketAddr,
    other: SocketAddr,
) -> String {
    let service = Service {
        variable: "MODEL",
        url: format!("http://{}/api", echo()),
        credentials: vec![("KEY", "secret key".to_owned().into())],
    };
    let script = format!(
        r#"{ASK}
        env | grep -c 'secret key'; echo "stand-in ${{#KEY}}"
        echo "1 $(ask $MODEL 'POST /api/x?y=1 HTTP/1.1' 'host: a' "x-key: Bearer $KEY" 'content-length: 0')"
        echo "2 $(ask $MODEL 'GET /else HTTP/1.1' 'host: a' "x-key: $KEY")"
        echo "3 $(ask $HTTPS_PROXY 'GET http://{allowed}/x HTTP/1.1' 'host: a' "x-key: $KEY")"
        echo "4 $(ask $HTTPS_PROXY 'GET http://{other}/x HTTP/1.1' 'host: a')"
        echo "5 $(ask $HTTPS_PROXY 'CONNECT {other} HTTP/1.1' 'host: a')"
        echo "6 $(ask {other} 'GET / HTTP/1.1' 'host: a' 2>&1)"
        exec 8<>/dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}}
        printf 'CONNECT {allowed} HTTP/1.1\r\nhost: a\r\n\r\n' >&8; read -r line <&8; read -r rest <&8; echo "7 $line"
        printf 'tunnelled: yes\r\n\r\n' >&8; read -r -t 5 -N 56 answer <&8; echo "$answer""#
    );
    says(there, &script, Some(service)).await
}

/// It reached its service, with the credential that it does not have, and the host that is allowed, and nothing else.
#[track_caller]
pub(super) fn assert_only_named_hosts(said: &str) {
    let part = |number: u32| {
        let from = said.find(&format!("\n{number} ")).unwrap_or_else(|| panic!("{number}: {said}"));
        let to = said.find(&format!("\n{} ", number + 1)).unwrap_or(said.len());
        said[from..to].to_lowercase()
    };
    assert!(said.starts_with("0\nstand-in "), "{said}");
    let one = part(1);
    assert!(one.contains("post /api/x?y=1 http/1.1") && one.contains("x-key: bearer secret key"), "{said}");
    assert!(part(2).contains("404") && !part(2).contains("secret"), "{said}");
    assert!(
        part(3).contains("get /x") && part(3).contains("x-key: sk-") && !part(3).contains("secret"),
        "{said}"
    );
    assert!(part(4).contains("403") && part(4).contains("is not among the hosts"), "{said}");
    assert!(part(5).contains("403"), "{said}");
    assert!(!part(6).contains("200"), "there is no other way out: {said}");
    assert!(part(7).contains("200") && part(7).contains("tunnelled: yes"), "{said}");
}

/// With the network open a program reaches what the host reaches, and the credentials are still not inside.
#[tokio::test]
async fn an_open_network_is_the_hosts_own() {
    let Some(world) = World::new() else { return };
    let (model, other) = (echo(), echo());
    let place = world.open(Network::Open);
    let service = Service {
        variable: "MODEL",
        url: format!("http://{model}"),
        credentials: vec![("KEY", "secret key".to_owned().into())],
    };
    let script = format!(
        r#"{ASK}
        env | grep -c 'secret key'; echo "$HTTPS_PROXY"
        ask {other} 'GET /direct HTTP/1.1' 'host: a'; ask $MODEL 'GET /x HTTP/1.1' 'host: a' "x-key: $KEY""#
    );
    let said = says((&*place, &world.person()), &script, Some(service)).await;
    assert!(said.starts_with("0\nhttp://outer:1\n"), "{said}");
    assert!(said.contains("GET /direct") && said.contains("x-key: secret key"), "{said}");
}

/// What an agent leaves in its worktree leads its host nowhere: neither a link, nor a repository of its own.
#[tokio::test]
async fn nothing_inside_leads_the_host_out() {
    let Some(mut world) = World::new() else { return };
    // A project in a subdirectory: there the agent can make a repository where its host looks for one.
    fs::create_dir(world.project.path().join("inner")).unwrap();
    world.created.project = world.project.path().canonicalize().unwrap().join("inner").display().to_string();
    let place = world.open(Network::None);
    let before = place.snapshot().unwrap().unwrap();
    let person = world.person();
    let script = format!(
        "git init --quiet . && git config core.worktree {} && echo made > made.txt",
        person.display()
    );
    assert_eq!(says((&*place, &world.person()), &script, None).await, "");
    assert_eq!(place.changes(&before).unwrap().files, [], "what is in such a repository is in no state");
    let refused = place.merge(false).map(drop).unwrap_err().to_string();
    assert!(refused.contains("is a git repository of its own"), "{refused}");
    symlink(world.person().join("secret"), place.directory().join("link.txt")).unwrap();
    assert!(place.read("link.txt").is_err());
    assert_eq!(place.read("made.txt").unwrap().as_deref(), Some(&b"made\n"[..]));
}
