//! A server as a process of its own, which is told by line what to do, and whoever starts it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ostrakon_asynchromix::service::Told;
use ostrakon_asynchromix::{Room, Shape};
use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::runner::{Config, Report, Runner, secret};

/// What a process is told first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// Where identity and journal are; made if it is not there.
    pub directory: PathBuf,
    /// The port; one that is free unless given.
    pub port: Option<u16>,
    /// What is in the directory is a restored copy: the server takes part only as one that
    /// remembers nothing.
    #[serde(default)]
    pub readmit: bool,
}

/// What it answers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Bound {
    /// Where it listens.
    pub port: u16,
    /// Its identity key.
    pub key: VerifyingKey,
}

/// What it is told then.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Join {
    /// The room's name.
    pub name: Digest,
    /// How many servers may be corrupt.
    pub corrupt: usize,
    /// All servers' keys and ports.
    pub servers: Vec<Bound>,
    /// The key by which participants come.
    pub devices: VerifyingKey,
    /// Places of an epoch.
    pub rows: usize,
    /// Bytes of a message at most.
    pub payload: usize,
    /// Fewest rows that are mixed.
    pub minimum: usize,
    /// Ticks of an epoch.
    pub ticks: u32,
}

impl Join {
    /// The room that it speaks of.
    ///
    /// # Errors
    /// If there is no such room.
    pub fn room(&self) -> Result<Room> {
        let keys = self.servers.iter().map(|server| server.key).collect();
        let Join { rows, payload, minimum, ticks, .. } = *self;
        Ok(Room::new(self.name, self.corrupt, keys, Shape { rows, payload, minimum, ticks })?)
    }

    /// Where the servers are.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect()
    }
}

/// What it tells from then on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// It takes part.
    Started,
    /// Its data are lost.
    DataLost,
    /// It has the state after so many commits from another server.
    CaughtUp(u64),
    /// A batch is begun.
    Begun(u64),
    /// Its part of a batch is prepared; elements that it sent.
    Prepared(u64, usize),
    /// A batch is ready.
    Ready(u64),
    /// A batch was given up.
    Dropped(u64),
    /// An epoch collects.
    Opened(u64),
    /// An epoch takes no more participants.
    Closed(u64),
    /// An epoch is sealed with so many rows.
    Sealed(u64, usize),
    /// Its shuffle begins here.
    Mixing(u64),
    /// Its output is here; elements that were sent for it.
    Mixed(u64, usize),
    /// Its entry is on the board.
    Published(u64),
    /// Another server did something wrong.
    Fault(u8, String),
    /// Bytes of the journal, bytes kept for others, batches held, commits.
    Size(u64, usize, usize, u64),
}

impl From<Report> for Note {
    fn from(report: Report) -> Self {
        let told = match report {
            Report::Told(told) => told,
            Report::Size { journal, messages, batches, commits } => {
                return Note::Size(journal, messages, batches, commits);
            }
        };
        match told {
            Told::Started => Note::Started,
            Told::DataLost => Note::DataLost,
            Told::CaughtUp(commits) => Note::CaughtUp(commits),
            Told::Begun(number) => Note::Begun(number),
            Told::Prepared(number, sent) => Note::Prepared(number, sent),
            Told::Ready(number) => Note::Ready(number),
            Told::Burnt(number) | Told::Dropped(number) => Note::Dropped(number),
            Told::Opened(epoch) => Note::Opened(epoch),
            Told::Closed(epoch) => Note::Closed(epoch),
            Told::Sealed(epoch, rows, _) => Note::Sealed(epoch, rows),
            Told::Mixing(epoch) => Note::Mixing(epoch),
            Told::Mixed(epoch, sent) => Note::Mixed(epoch, sent),
            Told::Published(epoch) => Note::Published(epoch),
            Told::Fault(party, what) => Note::Fault(party.0, what.to_owned()),
            Told::Convicted(party, deed) => Note::Fault(party.0, deed.in_words().to_owned()),
        }
    }
}

fn say(value: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    let mut output = std::io::stdout().lock();
    output.write_all(line.as_bytes())?;
    Ok(output.flush()?)
}

/// The seed of the identity key in a directory, made if there is none.
fn identity(directory: &Path) -> Result<Secret> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("{} cannot be made", directory.display()))?;
    let path = directory.join("identity");
    if let Ok(bytes) = std::fs::read(&path) {
        let seed = bytes[..].try_into();
        return Ok(Secret::new(seed.with_context(|| format!("{} is no key", path.display()))?));
    }
    let seed = secret()?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path)?;
    file.write_all(seed.expose())?;
    file.sync_all()?;
    Ok(seed)
}

/// A server process: does what it is told on standard input, and ends when that does.
///
/// # Errors
/// If it cannot listen, or cannot write what it must before it speaks.
pub fn run() -> Result<()> {
    let runtime = Runtime::new().context("the network's threads cannot be started")?;
    let mut lines = std::io::stdin().lines();
    let Some(line) = lines.next() else { return Ok(()) };
    let Start { directory, port, readmit } = serde_json::from_str(&line?)?;
    let seed = identity(&directory)?;
    let address = format!("127.0.0.1:{}", port.unwrap_or(0));
    let listener = runtime
        .block_on(TcpListener::bind(&address))
        .with_context(|| format!("{address} cannot be bound"))?;
    let port = listener.local_addr()?.port();
    say(&Bound { port, key: SigningKey::from_seed(seed.expose()).verifying_key() })?;
    let Some(line) = lines.next() else { return Ok(()) };
    let join: Join = serde_json::from_str(&line?)?;
    let room = Arc::new(join.room()?);
    // The process ends with its input, so that it never outlives whoever started it.
    drop(lines);
    std::thread::spawn(|| {
        for line in std::io::stdin().lines() {
            if line.is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    runtime.block_on(async {
        let (mut runner, _visits, reports) = Runner::start(Config {
            room,
            identity: seed,
            directory,
            listener,
            addresses: join.addresses(),
            devices: Some(join.devices),
        })?;
        for report in reports {
            say(&Note::from(report))?;
        }
        if readmit {
            runner.readmit()?;
        }
        runner.run(|report| drop(say(&Note::from(report)))).await
    })
}

/// How to start a server process: a program that calls [`run`].
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// What makes it call that.
    pub arguments: Vec<OsString>,
}

/// A server process. It is killed when this is dropped.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    /// Where it listens, and its key.
    pub bound: Bound,
}

impl Process {
    /// Starts a process.
    ///
    /// # Errors
    /// If it cannot be started, or ends at once.
    pub fn start(program: &Program, start: &Start) -> Result<Self> {
        let mut command = Command::new(&program.path);
        command.args(&program.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("{} cannot be started", program.path.display()))?;
        let mut input = child.stdin.take().context("the process has no input")?;
        let mut output = BufReader::new(child.stdout.take().context("the process has no output")?);
        writeln!(input, "{}", serde_json::to_string(start)?)?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        if line.is_empty() {
            bail!("a server process has ended; its messages are above");
        }
        let bound = serde_json::from_str(&line)?;
        Ok(Self { child, input: Some(input), output: Some(output), bound })
    }

    /// Tells the process who the others are. `each` is told what it tells, on a thread of its own,
    /// until it ends.
    ///
    /// # Errors
    /// If it has ended.
    pub fn join(&mut self, join: &Join, mut each: impl FnMut(Note) + Send + 'static) -> Result<()> {
        let input = self.input.as_mut().context("the process was told to end")?;
        writeln!(input, "{}", serde_json::to_string(join)?)
            .context("a server process has ended; its messages are above")?;
        let output = self.output.take().context("the process has joined already")?;
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Ok(note) = serde_json::from_str(&line) {
                    each(note);
                }
            }
        });
        Ok(())
    }

    /// The process's number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process at once (SIGKILL on Unix): it has no say.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
