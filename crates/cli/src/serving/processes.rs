//! Server processes on this machine: started, waited for, started again, stopped.
//!
//! Each is this very program. It ends when its standard input does, which
//! happens when it is told to stop, and also when this process is gone for whatever reason; so no
//! server is ever left behind. Servers are process groups of their own, so that Ctrl-C reaches this
//! process alone and they end in an orderly way.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::future::select_all;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::Instant;

use crate::client::Connection;
use crate::failure;
use crate::serving::site::{Server, Site};

/// How long a server may take to stop before it is killed.
const STOP_TIME: Duration = Duration::from_secs(10);
/// How long servers may take to find each other and to set up.
const READY_TIME: Duration = Duration::from_secs(120);
/// The pause before a server that died is started again.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// Servers on this machine, running.
pub struct Processes {
    servers: Vec<Running>,
    web: Option<PathBuf>,
}

struct Running {
    server: Server,
    child: Child,
    /// Held here and not in the child: waiting for a child closes the input that it holds.
    stdin: Option<ChildStdin>,
}

impl Running {
    fn start(server: Server, web: Option<&Path>) -> Result<Self> {
        let mut child = spawn(&server, web)?;
        let stdin = child.stdin.take();
        Ok(Self { server, child, stdin })
    }
}

impl Processes {
    /// Starts every server of a site.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub fn start(site: &Site, web: Option<&Path>) -> Result<Self> {
        Self::of(site.servers(), web)
    }

    /// Starts these servers.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub fn of(servers: Vec<Server>, web: Option<&Path>) -> Result<Self> {
        let start = |server| Running::start(server, web);
        let servers = servers.into_iter().map(start).collect::<Result<_>>()?;
        Ok(Self { servers, web: web.map(Path::to_owned) })
    }

    /// Starts further processes beside those that run.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn add(&mut self, servers: impl IntoIterator<Item = Server>) -> Result<()> {
        for server in servers {
            self.servers.push(Running::start(server, self.web.as_deref())?);
        }
        Ok(())
    }

    /// Waits until every server says that it is ready; `report` is told what they wait for.
    ///
    /// # Errors
    /// If a server dies, or takes too long; the end of its log is in the error.
    pub async fn ready(
        &mut self,
        http: &reqwest::Client,
        mut report: impl FnMut(String),
    ) -> Result<()> {
        let deadline = Instant::now() + READY_TIME;
        loop {
            let mut waiting = None;
            for running in &mut self.servers {
                if let Some(status) = running.child.try_wait()? {
                    bail!(
                        "server {} ended at once ({status}): {}",
                        running.server.name,
                        running.server.last_words()
                    );
                }
                let connection = Connection::new(http.clone(), &running.server.url);
                match connection.readiness().await {
                    Ok(readiness) if readiness.ready => {}
                    Ok(readiness) => {
                        waiting = Some(format!("{}: {}", running.server.name, readiness.detail))
                    }
                    Err(_) => {
                        waiting = Some(format!("{} does not answer yet", running.server.name))
                    }
                }
            }
            let Some(reason) = waiting else { return Ok(()) };
            if deadline <= Instant::now() {
                return Err(failure::unreachable(format!(
                    "the servers are not ready after {READY_TIME:?}: {reason}"
                )));
            }
            report(reason);
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    }

    /// The processes' ids, in the order in which they were started.
    pub fn ids(&self) -> Vec<u32> {
        self.servers.iter().filter_map(|running| running.child.id()).collect()
    }

    /// Watches over the servers for ever: one that dies is reported and started again.
    ///
    /// # Errors
    /// If a server cannot be started again.
    pub async fn keep(&mut self, mut report: impl FnMut(String)) -> Result<()> {
        loop {
            let (index, status) = self.next_death().await?;
            let server = self.servers[index].server.clone();
            report(format!(
                "server {} ended ({status}); starting it again. {}",
                server.name,
                server.last_words()
            ));
            tokio::time::sleep(RESTART_PAUSE).await;
            self.servers[index] = Running::start(server, self.web.as_deref())?;
        }
    }

    async fn next_death(&mut self) -> Result<(usize, ExitStatus)> {
        let waits = self.servers.iter_mut().map(|running| Box::pin(running.child.wait()));
        let (status, index, _) = select_all(waits).await;
        Ok((index, status?))
    }

    /// Stops all servers, in an orderly way if they let themselves be stopped.
    pub async fn stop(mut self) {
        for running in &mut self.servers {
            drop(running.stdin.take());
        }
        for running in &mut self.servers {
            if tokio::time::timeout(STOP_TIME, running.child.wait()).await.is_err() {
                tracing::warn!("server {} did not stop and is killed", running.server.name);
                // It may have ended by itself in the meantime.
                let _ = running.child.kill().await;
            }
        }
    }
}

fn spawn(server: &Server, web: Option<&Path>) -> Result<Child> {
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    let log = log_file(&server.log)?;
    let mut command = Command::new(program);
    command.args(&server.command).arg("--until-stdin-ends");
    if let Some(web) = web {
        command.arg("--web").arg(web);
    }
    command
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0)
        .kill_on_drop(true);
    command.spawn().with_context(|| format!("server {} cannot be started", server.name))
}

fn log_file(path: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.with_context(|| format!("the log {} cannot be written", path.display()))
}
