//! Three party processes, and what they are told: one JSON value a line, over their standard input
//! and output.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use ostrakon_crypto::VerifyingKey;
use ostrakon_mixing::EngineKind;
use ostrakon_replicated::messages::BatchSpec;
use ostrakon_replicated::pair::Pair;
use serde::{Deserialize, Serialize};

/// What a party process does next.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Binds a port for the other parties.
    Bind,
    /// Connects with the others and runs the set-up.
    Join {
        /// All identity keys.
        keys: Vec<VerifyingKey>,
        /// All ports.
        ports: Vec<u16>,
    },
    /// Prepares a batch.
    Prepare(BatchSpec),
    /// Forgets the messages of the batch's preparation, makes its permutations, and takes a table
    /// that is to be shuffled: all three take the same.
    Hold,
    /// Shuffles the table, until its output is certified.
    Shuffle,
    /// Opens the output.
    Open(BatchSpec),
    /// Forgets everything of the run.
    Retire(BatchSpec),
    /// Computes what commits the party's two pairs to their slots.
    CommitSlots(BatchSpec),
    /// Prepares the batch of a room's epoch and loads it.
    PrepareEpoch(Epoch),
    /// Makes the submissions of a third of the participants, those whose slots the party gives out,
    /// and leaves them in a file.
    Submit {
        /// Of Ruffle the batch seeds of all three pairs, by
        /// [`ostrakon_replicated::pair::Pair::index`]; of Clarion what each server gives out.
        seeds: [[u8; 32]; 3],
        /// Where the file goes.
        directory: PathBuf,
    },
    /// Reads what all parties left: every party has all submissions, and nobody is absent.
    Collect {
        /// Where the files are.
        directory: PathBuf,
    },
    /// Checks every submission as a server does when it comes in.
    TakeIn,
    /// Seals, shuffles, certifies and opens the epoch, reads the rows, and signs the board's entry.
    Mix,
    /// The first part of that, up to the certified table.
    MixOnly,
    /// The rest.
    OpenEpoch,
    /// Forgets everything of the epoch.
    RetireEpoch,
}

/// An epoch of a room that all the participants' slots are taken in.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Epoch {
    /// Its number, and its batch's.
    pub number: u64,
    /// Participants.
    pub clients: u32,
    /// Bytes of payload of a row.
    pub payload: u32,
    /// Who mixes.
    pub engine: EngineKind,
}

/// What a party process answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// Where it listens, and its key.
    Bound {
        /// The port.
        port: u16,
        /// The identity key.
        key: VerifyingKey,
    },
    /// The command has been carried out.
    Done(Report),
    /// A batch is prepared. For measuring, one process has to be all participants, who know the
    /// masks of all three pairs.
    Prepared {
        /// Of Ruffle the batch seeds of the party's two pairs, in order; of Clarion what it gives
        /// out.
        seeds: Vec<[u8; 32]>,
    },
}

/// What a command cost a party.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Bytes of message bodies sent so far in the command's run.
    pub bytes: u64,
    /// Rounds of the command's run so far.
    pub rounds: u32,
    /// The most memory that was resident while the command was carried out.
    pub peak_rss: u64,
    /// Milliseconds of processor time that the command took.
    pub cpu_ms: u64,
    /// Of a mix: microseconds from its beginning until the list was sealed here.
    pub sealed_us: u64,
    /// What the parties must agree on, if the command has such a result.
    pub result: String,
}

/// How to start a party process: a program that calls [`crate::party::run`].
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// What makes it call that.
    pub arguments: Vec<OsString>,
}

/// A process that takes and gives JSON by line.
pub(crate) struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The three processes. They end when their input does, and so never outlive this one.
pub struct Parties(Vec<Running>);

/// All three parties' answers to one command.
pub struct Answers {
    /// From giving the command until the slowest had carried it out.
    pub seconds: f64,
    /// By party.
    pub reports: Vec<Report>,
}

impl Answers {
    /// The rounds of whoever saw most.
    pub fn rounds(&self) -> u32 {
        self.reports.iter().map(|report| report.rounds).max().unwrap_or(0)
    }

    /// Seconds of processor time of all parties together.
    pub fn cpu_seconds(&self) -> f64 {
        self.reports.iter().map(|report| report.cpu_ms).sum::<u64>() as f64 / 1e3
    }

    /// Seconds after the last party had sealed the list.
    pub fn after_seal(&self) -> f64 {
        let sealed = self.reports.iter().map(|report| report.sealed_us).max().unwrap_or(0);
        self.seconds - sealed as f64 / 1e6
    }

    /// This command and the one before it, of the same run, as one.
    pub fn after(&self, before: &Answers) -> Answers {
        let mut reports = self.reports.clone();
        for (report, earlier) in reports.iter_mut().zip(&before.reports) {
            report.peak_rss = report.peak_rss.max(earlier.peak_rss);
            report.cpu_ms += earlier.cpu_ms;
        }
        Answers { seconds: self.seconds + before.seconds, reports }
    }
}

impl Parties {
    /// Starts the processes and sets them up with each other.
    ///
    /// # Errors
    /// If one cannot be started, or ends.
    pub fn start(program: &Program) -> Result<Self> {
        let mut parties = Self((0..3).map(|_| spawn(program)).collect::<Result<_>>()?);
        let mut keys = Vec::new();
        let mut ports = Vec::new();
        for running in &mut parties.0 {
            running.tell(&Command::Bind)?;
            let Reply::Bound { port, key } = running.answer()? else {
                bail!("a party process did not bind a port")
            };
            keys.push(key);
            ports.push(port);
        }
        parties.all(&Command::Join { keys, ports })?;
        Ok(parties)
    }

    /// Has all three prepare the batch of an epoch. Returns its seeds by pair, or what is given out
    /// by server.
    ///
    /// # Errors
    /// If a process ends.
    pub fn prepare_epoch(&mut self, epoch: Epoch) -> Result<[[u8; 32]; 3]> {
        for running in &mut self.0 {
            running.tell(&Command::PrepareEpoch(epoch))?;
        }
        let mut all = [[0; 32]; 3];
        for (running, party) in self.0.iter_mut().zip(0..) {
            let Reply::Prepared { seeds } = running.answer()? else {
                bail!("a party process prepared no batch")
            };
            match (epoch.engine, &seeds[..]) {
                (EngineKind::Clarion, [issue]) => all[usize::from(party)] = *issue,
                (EngineKind::Ruffle, [_, _]) => {
                    for (pair, seed) in Pair::of_party(party).into_iter().zip(seeds) {
                        all[pair.index()] = seed;
                    }
                }
                _ => bail!("a party process prepared another batch"),
            }
        }
        Ok(all)
    }

    /// Has the participants of a prepared epoch hand in, and all three servers take it in.
    ///
    /// # Errors
    /// If a process ends, or a submission is refused.
    pub fn hand_in(&mut self, seeds: [[u8; 32]; 3]) -> Result<Answers> {
        let name = format!("ostrakon-bench-submissions-{}", std::process::id());
        let directory = Files::new(std::env::temp_dir().join(name))?;
        self.all(&Command::Submit { seeds, directory: directory.0.clone() })?;
        self.all(&Command::Collect { directory: directory.0.clone() })?;
        drop(directory);
        self.all(&Command::TakeIn)
    }

    /// Has all three carry out a command at once.
    ///
    /// # Errors
    /// If a process ends, or if the parties' results differ.
    #[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
    pub fn all(&mut self, command: &Command) -> Result<Answers> {
        let begun = Instant::now();
        for running in &mut self.0 {
            running.tell(command)?;
        }
        let mut reports = Vec::new();
        for running in &mut self.0 {
            let Reply::Done(report) = running.answer()? else {
                bail!("a party process gave an unexpected answer")
            };
            reports.push(report);
        }
        let seconds = begun.elapsed().as_secs_f64();
        if reports.iter().any(|report| report.result != reports[0].result) {
            bail!("the parties hold different results");
        }
        Ok(Answers { seconds, reports })
    }
}

/// A directory for as long as it is needed.
struct Files(PathBuf);

impl Files {
    fn new(path: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&path)
            .with_context(|| format!("{} cannot be made for submissions", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It ends by itself when its input does; how is of no interest any more.
        drop(self.input.take());
        drop(self.child.wait());
    }
}

pub(crate) fn spawn(program: &Program) -> Result<Running> {
    let mut process = Process::new(&program.path);
    process.args(&program.arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child =
        process.spawn().with_context(|| format!("{} cannot be started", program.path.display()))?;
    let input = child.stdin.take();
    let output = BufReader::new(child.stdout.take().context("a party process has no output")?);
    Ok(Running { child, input, output })
}

impl Running {
    pub(crate) fn tell(&mut self, command: &impl Serialize) -> Result<()> {
        let input = self.input.as_mut().context("the party process was told to end")?;
        let mut line = serde_json::to_string(command)?;
        line.push('\n');
        input
            .write_all(line.as_bytes())
            .context("a party process has ended; its messages are above")
    }

    pub(crate) fn answer<R: serde::de::DeserializeOwned>(&mut self) -> Result<R> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            bail!("a party process has ended; its messages are above");
        }
        Ok(serde_json::from_str(&line)?)
    }
}
