//! As much of HTTP/1.1 as an API client needs: one request per connection, a body of known length in, any body out.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

pub(super) struct Request {
    pub(super) method: String,
    path: String,
    pub(super) body: String,
    /// The API key of the caller.
    pub(super) key: Option<String>,
    /// The same by a login.
    pub(super) token: Option<String>,
}

impl Request {
    /// Whether it is for this path, whatever its query.
    pub(super) fn is_for(&self, path: &str) -> bool {
        self.path.split('?').next() == Some(path)
    }
}

/// Reads a request.
pub(super) fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let first = line(&mut reader)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut key, mut token) = (0, None, None);
    loop {
        let header = line(&mut reader)?;
        if header.is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
            "x-api-key" => key = Some(value.trim().to_owned()),
            "authorization" => token = value.trim().strip_prefix("Bearer ").map(str::to_owned),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Request { method, path, body: String::from_utf8_lossy(&body).into_owned(), key, token })
}

/// Responds with a whole body.
pub(super) fn respond(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<()> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n{headers}\r\n{body}"
    )?;
    stream.flush()
}

/// Responds with a stream of events. If it breaks off, the client can tell: the last chunk is missing.
pub(super) fn stream(
    stream: &mut TcpStream,
    events: impl Iterator<Item = String>,
    whole: bool,
) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    )?;
    for event in events {
        write!(stream, "{:x}\r\n{event}\r\n", event.len())?;
    }
    if whole {
        stream.write_all(b"0\r\n\r\n")?;
    }
    stream.flush()
}

/// Says nothing, for as long as the client is there.
pub(super) fn wait_until_closed(mut stream: &TcpStream) -> io::Result<()> {
    io::copy(&mut stream, &mut io::sink()).map(drop)
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}
