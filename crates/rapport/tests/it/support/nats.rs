//! Servers of NATS: one, or a cluster of three, on free ports and in a temporary directory. A test can kill, freeze and
//! cut off each of them. All of them end with the test, whatever ends it.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport::seals::Seals;
use rapport::stores::{SettingsReader, StoreSite};
use rapport_settings::Sources;

use super::needs;
use super::patience::look_at_most;

/// How long servers may take to start and to agree on a leader.
const STARTING: Duration = Duration::from_secs(60);

/// Servers that belong together.
pub(crate) struct NatsServers {
    servers: Vec<NatsServer>,
    program: PathBuf,
    _folder: tempfile::TempDir,
}

struct NatsServer {
    port: u16,
    config: PathBuf,
    child: Mutex<Option<Child>>,
    /// What it has logged.
    log: Arc<Mutex<Vec<String>>>,
}

/// One server that all tests of this process share. `None` only where the tests that need it were left out on purpose.
#[track_caller]
pub(crate) fn single() -> Option<&'static NatsServers> {
    static SINGLE: OnceLock<NatsServers> = OnceLock::new();
    let program = needs::nats()?;
    Some(SINGLE.get_or_init(|| NatsServers::start(program, 1, "", None)))
}

/// One server of its own, with this in its configuration.
#[track_caller]
pub(crate) fn configured(configuration: &str) -> Option<NatsServers> {
    Some(NatsServers::start(needs::nats()?, 1, configuration, None))
}

/// A cluster of three servers of its own.
#[track_caller]
pub(crate) fn cluster() -> Option<NatsServers> {
    Some(NatsServers::start(needs::nats()?, 3, "", None))
}

/// The same, the first of which stores in this directory.
#[track_caller]
pub(crate) fn cluster_storing_in(first: &Path) -> Option<NatsServers> {
    Some(NatsServers::start(needs::nats()?, 3, "", Some(first)))
}

impl NatsServers {
    fn start(program: PathBuf, count: usize, configuration: &str, first: Option<&Path>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // All are taken before any is released, so that they differ.
        let taken: Vec<_> = (0..2 * count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<_> = taken.iter().map(|taken| taken.local_addr().unwrap().port()).collect();
        drop(taken);
        let routes: Vec<_> = ports[count..].iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        let servers = (0..count).map(|number| {
            let usual = folder.path().join(format!("server-{number}"));
            let store = first.filter(|_| number == 0).map_or(usual, Path::to_owned);
            let config = folder.path().join(format!("server-{number}.conf"));
            let cluster = match count {
                1 => String::new(),
                _ => format!(
                    "cluster {{ name: tests, listen: \"127.0.0.1:{}\", routes: [{}] }}\n",
                    ports[count + number],
                    routes.iter().map(|route| format!("\"{route}\"")).collect::<Vec<_>>().join(", "),
                ),
            };
            let text = format!(
                "server_name: server-{number}\nlisten: \"127.0.0.1:{}\"\n{cluster}\
                 jetstream {{ store_dir: \"{}\", sync_interval: always }}\n{configuration}",
                ports[number],
                store.display(),
            );
            std::fs::write(&config, text).unwrap();
            NatsServer { port: ports[number], config, child: Mutex::new(None), log: Arc::default() }
        });
        let started = Self { servers: servers.collect(), program, _folder: folder };
        (0..count).for_each(|number| started.start_again(number));
        if count > 1 {
            started.wait_until(|log| log.iter().any(|line| line.contains("new metadata leader")));
        }
        started
    }

    /// The addresses of all servers, as the setting `store` has them.
    pub(crate) fn addresses(&self) -> String {
        let addresses = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port));
        addresses.collect::<Vec<_>>().join(",")
    }

    pub(crate) fn replicas(&self) -> usize {
        self.servers.len()
    }

    /// The sessions of a project with this name on the servers, as a host with a home in this folder sees them.
    pub(crate) fn site(&self, folder: &Path, project: &str) -> StoreSite {
        self.site_with(folder, project, &[])
    }

    /// The same with these settings.
    pub(crate) fn site_with(&self, folder: &Path, project: &str, more: &[(&str, &str)]) -> StoreSite {
        self.site_by(folder, project, self.addresses(), more)
    }

    /// The same, by way of these addresses.
    pub(crate) fn site_at(&self, folder: &Path, project: &str, addresses: String) -> StoreSite {
        self.site_by(folder, project, addresses, &[])
    }

    fn site_by(&self, folder: &Path, project: &str, addresses: String, more: &[(&str, &str)]) -> StoreSite {
        let (home, directory) = (folder.join("home"), folder.join("project"));
        std::fs::create_dir_all(&directory).unwrap();
        let variables = [
            ("RAPPORT_NATS_PROJECT", project.to_owned()),
            ("RAPPORT_NATS_REPLICAS", self.replicas().to_string()),
            ("RAPPORT_NATS_HOST", folder.file_name().unwrap().to_string_lossy().into_owned()),
        ];
        let mut env: HashMap<_, _> = variables.map(|(name, value)| (name.to_owned(), value)).into();
        env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        StoreSite {
            root: directory.join(".rapport/sessions"),
            project: directory.clone(),
            seals: Arc::new(Seals::new(home.clone(), directory)),
            home,
            address: Some(addresses),
            settings: SettingsReader::new(move || Ok(Sources { env: env.clone(), ..Sources::default() })),
        }
    }

    /// Starts a server that is not running.
    pub(crate) fn start_again(&self, number: usize) {
        let server = &self.servers[number];
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(&self.program).arg("--config").arg(&server.config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = spawned(command);
        let (lines, log) = (BufReader::new(child.stderr.take().unwrap()).lines(), server.log.clone());
        log.lock().unwrap().clear();
        // The pipe is read for as long as the server runs, or the server would wait.
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| log.lock().unwrap().push(line))
        });
        *server.child.lock().unwrap() = Some(child);
        let is_ready = || server.log.lock().unwrap().iter().any(|line| line.contains("Server is ready"));
        self.wait_for(is_ready);
    }

    /// Kills a server.
    pub(crate) fn kill(&self, number: usize) {
        let child = self.servers[number].child.lock().unwrap().take();
        let mut child = child.expect("it runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Stops a server in its tracks: it keeps its connections, and answers nothing.
    pub(crate) fn freeze(&self, number: usize) {
        self.signal(number, Signal::SIGSTOP);
    }

    /// Lets a frozen server continue.
    pub(crate) fn thaw(&self, number: usize) {
        self.signal(number, Signal::SIGCONT);
    }

    fn signal(&self, number: usize, signal: Signal) {
        let pid = self.servers[number].child.lock().unwrap().as_ref().expect("it runs").id();
        kill(Pid::from_raw(pid as i32), signal).unwrap();
    }

    pub(crate) fn port(&self, number: usize) -> u16 {
        self.servers[number].port
    }

    /// Waits until one of the servers has logged this.
    fn wait_until(&self, is_there: impl Fn(&[String]) -> bool) {
        self.wait_for(|| self.servers.iter().any(|server| is_there(&server.log.lock().unwrap())));
    }

    fn wait_for(&self, is_so: impl Fn() -> bool) {
        if look_at_most(STARTING, || is_so().then_some(())).is_none() {
            let logs = self.servers.iter().map(|server| server.log.lock().unwrap().join("\n"));
            panic!("the servers do not start:\n{}", logs.collect::<Vec<_>>().join("\n\n"));
        }
    }
}

impl Drop for NatsServers {
    fn drop(&mut self) {
        for server in &self.servers {
            if let Some(mut child) = server.child.lock().unwrap().take() {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// Starts a process from a thread that lives as long as this process: the system ends it with that thread.
fn spawned(command: Command) -> Child {
    type Order = (Command, Sender<Child>);
    static SPAWNER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, received) = channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in received {
                answer.send(command.spawn().expect("the server can be started")).unwrap();
            }
        });
        Mutex::new(orders)
    });
    let (answer, answered) = channel();
    spawner.lock().unwrap().send((command, answer)).unwrap();
    answered.recv().unwrap()
}

/// Passes connections on to a server until it is cut, as a network would be.
pub(crate) struct Network {
    port: u16,
    state: Arc<Mutex<NetworkState>>,
}

#[derive(Default)]
struct NetworkState {
    is_cut: bool,
    delay: Duration,
    connections: Vec<TcpStream>,
}

impl Network {
    /// A way to the server on this port.
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state: Arc<Mutex<NetworkState>> = Arc::default();
        let shared = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.lock().unwrap().is_cut {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let shared = shared.clone();
                    std::thread::spawn(move || pass_on(from, to, &shared));
                }
                shared.lock().unwrap().connections.extend([client, server]);
            }
        });
        Self { port, state }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends all connections, and lets no new one through.
    pub(crate) fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_cut = true;
        for connection in state.connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Lets connections through again.
    pub(crate) fn mend(&self) {
        self.state.lock().unwrap().is_cut = false;
    }

    /// Delays everything by this time in each direction.
    pub(crate) fn slow_down(&self, delay: Duration) {
        self.state.lock().unwrap().delay = delay;
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, state: &Mutex<NetworkState>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let delay = state.lock().unwrap().delay;
        if !delay.is_zero() {
            // A slow network, and not a wait for something.
            std::thread::sleep(delay);
        }
        if to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
