//! A connection to one server that is kept open: HTTP/1.1 with as little work as possible, because
//! the client of the measurement runs on the same cores as the servers.

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest answer that is read: a page of a board.
const LONGEST: usize = 1 << 30;

/// A request as it is sent.
#[derive(Debug, PartialEq)]
pub struct Request(Vec<u8>);

impl Request {
    /// A request without a body.
    pub fn get(path: &str) -> Self {
        Self(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes())
    }

    /// A request with a JSON body; `more` is further lines of the header, each with its end.
    pub fn post(path: &str, more: &str, body: &str) -> Self {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}content-length: {}\r\n\r\n",
            body.len()
        );
        Self((head + body).into_bytes())
    }
}

/// A connection and what was read from it.
pub struct Connection {
    port: u16,
    stream: TcpStream,
    read: Vec<u8>,
}

/// What a server answered.
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: &'a [u8],
}

impl Answer<'_> {
    /// The body, if the server did what it was asked to.
    ///
    /// # Errors
    /// With the server's words if it did not, or if they are not of this form.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        if !(200..300).contains(&self.status) {
            bail!("a server answered {}: {}", self.status, String::from_utf8_lossy(self.body));
        }
        serde_json::from_slice(self.body)
            .context("a server's answer is of another form than expected")
    }
}

impl Connection {
    /// Connects with a server.
    ///
    /// # Errors
    /// If it does not listen.
    pub async fn open(port: u16) -> Result<Self> {
        Ok(Self { port, stream: connect(port).await?, read: Vec::new() })
    }

    /// Sends a request and waits for the answer; on a new connection, if the server has closed this
    /// one because nothing was asked for a while. Requests can be repeated.
    ///
    /// # Errors
    /// If the connection breaks, or the answer is no HTTP.
    pub async fn call(&mut self, request: &Request) -> Result<Answer<'_>> {
        if !self.is_answered(request).await {
            self.stream = connect(self.port).await?;
            if !self.is_answered(request).await {
                bail!("a server closes connections without an answer");
            }
        }
        let head = loop {
            if let Some(head) = self.read.windows(4).position(|end| end == b"\r\n\r\n") {
                break head + 4;
            }
            self.fill().await?;
        };
        let (status, length) = parse(&self.read[..head])?;
        while self.read.len() < head + length {
            self.read.reserve(head + length - self.read.len());
            self.fill().await?;
        }
        Ok(Answer { status, body: &self.read[head..head + length] })
    }

    /// Sends a request; whether an answer begins.
    async fn is_answered(&mut self, request: &Request) -> bool {
        self.read.clear();
        self.stream.write_all(&request.0).await.is_ok() && self.fill().await.is_ok()
    }

    async fn fill(&mut self) -> Result<()> {
        if self.stream.read_buf(&mut self.read).await? == 0 {
            bail!("a server has closed a connection in the middle of an answer");
        }
        Ok(())
    }
}

async fn connect(port: u16) -> Result<TcpStream> {
    let stream =
        TcpStream::connect(("127.0.0.1", port)).await.context("a server refuses connections")?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Status and length of the body.
fn parse(head: &[u8]) -> Result<(u16, usize)> {
    let text = std::str::from_utf8(head).context("an answer's header is no text")?;
    let status = text
        .get(9..12)
        .and_then(|status| status.parse().ok())
        .context("an answer has no status")?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length
        .filter(|length| *length <= LONGEST)
        .context("an answer does not say how long it is")?;
    Ok((status, length))
}
