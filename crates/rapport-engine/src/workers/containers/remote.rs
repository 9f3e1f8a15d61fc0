//! The connection to an engine on another machine: over TCP, or through `ssh`, which runs `docker system dial-stdio`
//! there, as Docker's own client does. Each call has its own connection.

use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};
use std::time::Duration;

use bollard::BollardRequest;
use bollard::errors::Error;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::{Response, Uri};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How many bytes of the error output of `ssh` are read.
const LONGEST_COMPLAINT: u64 = 4096;

/// How long `ssh` may take to say why it failed.
const COMPLAINING: Duration = Duration::from_secs(1);

/// How an engine is reached on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RemoteEngine {
    /// A host and a port.
    Tcp(String),
    /// The arguments of `ssh`.
    Ssh(Vec<String>),
}

/// The last line of the error output of `ssh`.
type Complaint = JoinHandle<Option<String>>;

impl RemoteEngine {
    /// Sends a request on its own connection.
    pub(super) async fn request(self, mut request: BollardRequest) -> Result<Response<Incoming>, Error> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
        *request.uri_mut() = path.parse::<Uri>().map_err(|error| Error::from(io::Error::other(error)))?;
        request.headers_mut().insert(HOST, HeaderValue::from_static("docker"));
        let (connection, complaint) = self.dial().await?;
        let answer = send(connection, request).await;
        let (Err(_), Some(complaint)) = (&answer, complaint) else { return answer };
        match timeout(COMPLAINING, complaint).await {
            Ok(Ok(Some(said))) => Err(io::Error::other(said).into()),
            _ => answer,
        }
    }

    async fn dial(&self) -> io::Result<(Dialled, Option<Complaint>)> {
        let args = match self {
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                return Ok((Dialled::Tcp(stream), None));
            }
            Self::Ssh(args) => args,
        };
        let mut ssh = Command::new("ssh");
        ssh.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut ssh = ssh.kill_on_drop(true).spawn()?;
        let (Some(input), Some(output), Some(errors)) =
            (ssh.stdin.take(), ssh.stdout.take(), ssh.stderr.take())
        else {
            return Err(io::Error::other("ssh has no input or output"));
        };
        Ok((Dialled::Ssh { input, output, _ssh: Box::new(ssh) }, Some(tokio::spawn(last_line(errors)))))
    }
}

async fn send(connection: Dialled, request: BollardRequest) -> Result<Response<Incoming>, Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(connection)).await?;
    tokio::spawn(async move {
        // The caller that waits for the response notices the end of the connection.
        let _ = connection.with_upgrades().await;
    });
    Ok(sender.send_request(request).await?)
}

/// The last line of the error output of `ssh`.
async fn last_line(errors: ChildStderr) -> Option<String> {
    let mut said = Vec::new();
    // If reading fails, the bytes so far are used.
    let _ = errors.take(LONGEST_COMPLAINT).read_to_end(&mut said).await;
    let said = String::from_utf8_lossy(&said);
    said.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

impl RemoteEngine {
    /// The way to the engine at this address; `None` if the address does not name another machine.
    pub(super) fn at(address: &str) -> Option<Self> {
        if let Some(host) = address.strip_prefix("tcp://").or_else(|| address.strip_prefix("http://")) {
            let host = host.trim_end_matches('/');
            return (!host.is_empty() && !host.contains('/')).then(|| Self::Tcp(with_port(host)));
        }
        let url = Url::parse(address).ok().filter(|url| url.scheme() == "ssh")?;
        if !matches!(url.path(), "" | "/") {
            return None;
        }
        // No person can type a password here.
        let mut args = vec!["-o".to_owned(), "BatchMode=yes".to_owned()];
        if !url.username().is_empty() {
            args.extend(["-l".to_owned(), url.username().to_owned()]);
        }
        args.extend(url.port().into_iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        args.extend(["--".to_owned(), host]);
        args.extend(["docker", "system", "dial-stdio"].map(str::to_owned));
        Some(Self::Ssh(args))
    }
}

/// A host with the engine's usual port, if it names none.
fn with_port(host: &str) -> String {
    let has_port =
        host.rsplit_once(':').is_some_and(|(before, _)| !before.contains(':') || before.ends_with(']'));
    if has_port { host.to_owned() } else { format!("{host}:2375") }
}

/// A connection to an engine.
#[derive(Debug)]
enum Dialled {
    Tcp(TcpStream),
    Ssh {
        input: ChildStdin,
        output: ChildStdout,
        /// The `ssh` process, which ends with the connection.
        _ssh: Box<Child>,
    },
}

impl AsyncRead for Dialled {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Ssh { output, .. } => Pin::new(output).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Dialled {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Ssh { input, .. } => Pin::new(input).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Ssh { input, .. } => Pin::new(input).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Ssh { input, .. } => Pin::new(input).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_how_the_engine_is_reached() {
        let ssh = |words: &str| Some(RemoteEngine::Ssh(words.split(' ').map(str::to_owned).collect()));
        for (address, remote) in [
            ("tcp://10.0.0.5:2375", Some(RemoteEngine::Tcp("10.0.0.5:2375".into()))),
            ("tcp://build.example", Some(RemoteEngine::Tcp("build.example:2375".into()))),
            ("tcp://[::1]:99", Some(RemoteEngine::Tcp("[::1]:99".into()))),
            ("tcp://[::1]", Some(RemoteEngine::Tcp("[::1]:2375".into()))),
            ("ssh://build.example", ssh("-o BatchMode=yes -- build.example docker system dial-stdio")),
            (
                "ssh://me@build.example:2222",
                ssh("-o BatchMode=yes -l me -p 2222 -- build.example docker system dial-stdio"),
            ),
            // A host that looks like an option of ssh is passed as a host.
            ("ssh://-oProxyCommand=x", ssh("-o BatchMode=yes -- -oProxyCommand=x docker system dial-stdio")),
            ("ssh://build.example/run/docker.sock", None),
            ("tcp://", None),
            ("tcp://a/b", None),
            ("unix:///var/run/docker.sock", None),
            ("build.example", None),
        ] {
            assert_eq!(RemoteEngine::at(address), remote, "{address}");
        }
    }
}
