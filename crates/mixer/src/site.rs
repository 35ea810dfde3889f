//! Several server processes on this machine, and what they tell, with its time.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ostrakon_crypto::{Digest, Secret, SigningKey};

use crate::process::{Join, Note, Process, Program, Start};
use crate::runner::secret;

/// Ticks in which the system counts processor time, a second.
const TICKS: f64 = 100.0;

/// What the room of a site is like.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// n.
    pub servers: usize,
    /// t.
    pub corrupt: usize,
    /// Places of an epoch.
    pub rows: usize,
    /// Bytes of a message at most.
    pub payload: usize,
    /// Fewest rows that are mixed.
    pub minimum: usize,
    /// Ticks of an epoch.
    pub ticks: u32,
}

/// Something that a server told.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Which server.
    pub server: usize,
    /// When: since the processes were started.
    pub at: Duration,
    /// Seconds of processor time that its process had used; 0 where the system does not tell.
    pub computed: f64,
    /// What.
    pub note: Note,
}

/// The processes. They are killed when this is dropped.
pub struct Site {
    program: Program,
    directory: PathBuf,
    processes: Vec<Option<Process>>,
    join: Join,
    devices: Secret,
    begun: Instant,
    notes: (Sender<Heard>, Receiver<Heard>),
}

impl Site {
    /// Starts all servers and has them found a room.
    ///
    /// # Errors
    /// If a process cannot be started, or there is no such room.
    pub fn start(program: &Program, directory: &Path, plan: &Plan) -> Result<Self> {
        let begun = now();
        let mut processes = Vec::new();
        for i in 0..plan.servers {
            let start = start_of(directory, i, None);
            processes.push(Some(Process::start(program, &start)?));
        }
        let devices = secret()?;
        let Plan { corrupt, rows, payload, minimum, ticks, .. } = *plan;
        let join = Join {
            name: Digest(*secret()?.expose()),
            corrupt,
            servers: processes.iter().flatten().map(|process| process.bound).collect(),
            devices: SigningKey::from_seed(devices.expose()).verifying_key(),
            rows,
            payload,
            minimum,
            ticks,
        };
        drop(join.room()?);
        let (program, directory) = (program.clone(), directory.to_owned());
        let notes = channel();
        let mut site = Self { program, directory, processes, join, devices, begun, notes };
        (0..plan.servers).try_for_each(|i| site.tell(i))?;
        Ok(site)
    }

    fn tell(&mut self, i: usize) -> Result<()> {
        let (notes, begun) = (self.notes.0.clone(), self.begun);
        let process = self.processes[i].as_mut().context("the server was killed")?;
        let id = process.id();
        process.join(&self.join, move |note| {
            let (at, computed) = (now().duration_since(begun), processor_time(id));
            drop(notes.send(Heard { server: i, at, computed, note }));
        })
    }

    /// What is public of the room.
    #[must_use]
    pub fn join(&self) -> &Join {
        &self.join
    }

    /// The seed of the key by which participants come.
    #[must_use]
    pub fn devices(&self) -> &Secret {
        &self.devices
    }

    /// How long the processes have run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        now().duration_since(self.begun)
    }

    /// What a server told next, within so much time.
    pub fn hear(&self, within: Duration) -> Option<Heard> {
        self.notes.1.recv_timeout(within).ok()
    }

    /// What was told and not heard yet.
    pub fn heard(&self) -> Vec<Heard> {
        self.notes.1.try_iter().collect()
    }

    /// Waits until every server that runs has told something; returns all that was heard.
    ///
    /// # Errors
    /// If that takes too long.
    pub fn all_tell(&self, within: Duration, of: impl Fn(&Note) -> bool) -> Result<Vec<Heard>> {
        let mut heard = Vec::new();
        let mut lacking: Vec<usize> =
            (0..self.processes.len()).filter(|i| self.processes[*i].is_some()).collect();
        let until = now() + within;
        while !lacking.is_empty() {
            let left = until.saturating_duration_since(now());
            let Some(next) = self.hear(left) else {
                bail!("servers {lacking:?} have not come so far after {within:?}")
            };
            if of(&next.note) {
                lacking.retain(|i| *i != next.server);
            }
            heard.push(next);
        }
        Ok(heard)
    }

    /// Kills a server at once.
    ///
    /// # Errors
    /// If there is no such server, or the system refuses.
    pub fn kill(&mut self, i: usize) -> Result<()> {
        let process = self.processes.get_mut(i).and_then(Option::take);
        process.context("there is no such server, or it was killed already")?.kill()
    }

    /// Starts a server that was killed, with its disk.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn restart(&mut self, i: usize) -> Result<()> {
        let port = Some(self.join.servers[i].port);
        let start = start_of(&self.directory, i, port);
        self.processes[i] = Some(Process::start(&self.program, &start)?);
        self.tell(i)
    }

    /// The numbers of the processes that run.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.processes.iter().flatten().map(Process::id).collect()
    }
}

fn start_of(directory: &Path, i: usize, port: Option<u16>) -> Start {
    Start { directory: directory.join(format!("server-{i}")), port, readmit: false }
}

/// Seconds of processor time that a process has used; 0 where the system does not tell.
pub fn processor_time(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in parentheses, may contain anything; what follows is numbers.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS
}

/// The time, for measuring.
#[expect(clippy::disallowed_methods, reason = "a process is where the clock is read")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
