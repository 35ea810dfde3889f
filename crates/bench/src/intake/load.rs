//! All participants of an epoch, one after another over connections that are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use super::http::{Connection, Request};
use super::participant::{Participant, Requests, Room};
use super::seconds_since_1970;

/// How long after its presence a participant asks for its issues: until then it has been given a
/// slot.
const UNTIL_SLOT: Duration = Duration::from_millis(300);
/// How many may be present before it is their turn to ask for their issues: a server forgets who is
/// silent for half a minute.
const AHEAD: usize = 1024;
/// How long to wait before asking again, if it has not.
const AGAIN: Duration = Duration::from_millis(100);
/// How often to ask again.
const TRIES: u32 = 600;

/// How long requests took, by kind, in microseconds.
#[derive(Default)]
pub struct Latencies {
    /// That somebody is there.
    pub presence: Vec<u32>,
    /// For what a server gives.
    pub issue: Vec<u32>,
    /// With a submission.
    pub submission: Vec<u32>,
    /// Requests that were answered "not yet".
    pub repeated: usize,
}

impl Latencies {
    /// Adds others to these.
    pub fn join(&mut self, other: Self) {
        self.presence.extend(other.presence);
        self.issue.extend(other.issue);
        self.submission.extend(other.submission);
        self.repeated += other.repeated;
    }
}

/// The participants and what they will ask for.
pub struct Epoch {
    /// The room.
    pub room: Arc<Room>,
    /// The epoch.
    pub number: u64,
    /// Who takes part, with prepared requests.
    pub takes_part: Vec<(Participant, Requests)>,
}

/// Connections to the servers.
pub type Lines = Vec<Connection>;

#[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
fn now() -> Instant {
    Instant::now()
}

fn micros(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_micros()).unwrap_or(u32::MAX)
}

/// Has everybody take part: one half of the lines says that participants are there, the other does
/// the rest.
///
/// # Errors
/// If anything is refused.
pub async fn take_part(epoch: Epoch, mut lines: Vec<Lines>) -> Result<Latencies> {
    let arriving = lines.split_off(lines.len() / 2);
    let epoch = Arc::new(epoch);
    let next = Arc::new(AtomicUsize::new(0));
    let (arrived, waiting) = mpsc::channel(AHEAD);
    let waiting = Arc::new(Mutex::new(waiting));
    let mut tasks = JoinSet::new();
    for line in arriving {
        tasks.spawn(arrive(epoch.clone(), line, next.clone(), arrived.clone()));
    }
    drop(arrived);
    for line in lines {
        tasks.spawn(speak(epoch.clone(), line, waiting.clone()));
    }
    let mut latencies = Latencies::default();
    while let Some(done) = tasks.join_next().await {
        latencies.join(done.context("a participant failed")??);
    }
    Ok(latencies)
}

/// Says of one participant after another that it is there.
async fn arrive(
    epoch: Arc<Epoch>,
    mut line: Lines,
    next: Arc<AtomicUsize>,
    arrived: mpsc::Sender<(usize, Instant)>,
) -> Result<Latencies> {
    let mut latencies = Latencies::default();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some((participant, requests)) = epoch.takes_part.get(index) else {
            return Ok(latencies);
        };
        let begun = now();
        let (prepared, time) = (&requests.presence, seconds_since_1970());
        let stated =
            (!prepared.is_fresh(time)).then(|| participant.state_presence(&epoch.room, time));
        let request = &stated.as_ref().unwrap_or(prepared).request;
        let answer = line[participant.home(&epoch.room)].call(request).await?;
        if answer.status != 200 {
            bail!(
                "presence was refused: {} {}",
                answer.status,
                String::from_utf8_lossy(answer.body)
            );
        }
        latencies.presence.push(micros(begun));
        arrived.send((index, now())).await.context("nobody speaks any more")?;
    }
}

type Arrived = Arc<Mutex<mpsc::Receiver<(usize, Instant)>>>;

/// Fetches the issues of one participant after another and hands in its submission.
async fn speak(epoch: Arc<Epoch>, mut line: Lines, arrived: Arrived) -> Result<Latencies> {
    let mut latencies = Latencies::default();
    loop {
        let next = arrived.lock().await.recv().await;
        let Some((index, at)) = next else { return Ok(latencies) };
        tokio::time::sleep_until((at + UNTIL_SLOT).into()).await;
        let (participant, requests) = &epoch.takes_part[index];
        let asked = requests.issues.iter().zip(&mut line).zip(0u8..);
        let asked =
            asked.map(|((request, line), party)| issue(&epoch, participant, request, line, party));
        let mut issued = Vec::with_capacity(requests.issues.len());
        for (one, micros, repeated) in try_join_all(asked).await? {
            issued.push(one);
            latencies.issue.push(micros);
            latencies.repeated += repeated;
        }
        let submission = participant.submission(&epoch.room, epoch.number, issued)?;
        // The server that closes epochs comes last: with everything there it may close this one
        // before the others have theirs.
        let (closing, others) = line.split_first_mut().context("there is no server")?;
        let others = try_join_all(others.iter_mut().map(|line| submit(&submission, line))).await?;
        latencies.submission.push(submit(&submission, closing).await?);
        latencies.submission.extend(others);
    }
}

/// Asks one server for its issue until it has one. Returns how long the answer took that brought
/// it, and how many did not.
async fn issue(
    epoch: &Epoch,
    participant: &Participant,
    request: &Request,
    line: &mut Connection,
    party: u8,
) -> Result<(ostrakon_mixing::envelope::Issued, u32, usize)> {
    for repeated in 0..TRIES {
        let begun = now();
        let answer = line.call(request).await?;
        let taken = micros(begun);
        // No slot yet, or the batch is just being read, or too many at once.
        if !matches!(answer.status, 404 | 429 | 503) {
            return Ok((
                participant.open(&epoch.room, epoch.number, party, &answer)?,
                taken,
                repeated as usize,
            ));
        }
        tokio::time::sleep(AGAIN).await;
    }
    bail!("server {party} gives participant {} no slot", participant.number)
}

async fn submit(request: &Request, line: &mut Connection) -> Result<u32> {
    let begun = now();
    let answer = line.call(request).await?;
    if answer.status != 202 {
        bail!(
            "a submission was refused: {} {}",
            answer.status,
            String::from_utf8_lossy(answer.body)
        );
    }
    Ok(micros(begun))
}
