//! One participant: present at one server, and in every epoch with a message or a cover.

mod asking;
mod ending;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use ostrakon_broadcast::client::{choose_home, is_crowded, longest_wait, presence_digest, without};
use ostrakon_broadcast::envelope::{self, Issued};
use ostrakon_broadcast::outbox::{Observed, Outbox};
use ostrakon_broadcast::submission::{Author, NoSubmission, Submission};
use ostrakon_broadcast::{RowFormat, engines};
use ostrakon_crypto::SigningKey;
use ostrakon_party::PartyId;
use ostrakon_protocol::{Outcome, Presence, PresenceAnswer, Status, SubmissionRequest};
use tokio::time::Instant;

use self::asking::{fetch_issue, pauses, submit};
use super::member::Member;
use super::room::Room;
use crate::edge;

/// A presence lasts half a minute; it is renewed well before.
const PRESENCE_EVERY: Duration = Duration::from_secs(10);
/// The pause before another attempt to be present.
const PRESENCE_AGAIN: Duration = Duration::from_secs(1);
/// How long a server may take to note a presence.
const PRESENCE_TIME: Duration = Duration::from_secs(5);
/// A server has forgotten whoever said so long ago that it is there.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// Whoever comes so shortly before an epoch is closed has nobody to blame for having no slot in it.
const SETTLED: Duration = Duration::from_secs(5);
/// The pause while no server has said anything yet.
const NO_SERVER_YET: Duration = Duration::from_millis(50);
/// Within this time participants who come at the same moment choose their homes, one after the
/// other.
const SPREAD: Duration = Duration::from_millis(800);
/// How often whoever has no slot looks whether its home is fuller than others, and how often in an
/// epoch at most.
const CROWDED_EVERY: Duration = Duration::from_secs(1);
const CROWDED_LOOKS: u32 = 8;
/// How long the other servers may keep the material of enough waiting.
const OTHER_SERVERS: Duration = Duration::from_millis(1500);

/// What happened to a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is present at this server.
    Home(PartyId),
    /// Two servers at least hold what it submitted in this epoch.
    Submitted {
        /// The epoch.
        epoch: u64,
        /// Whether it was the message.
        message: bool,
    },
    /// No server gave it a slot in this epoch.
    NoSlot(u64),
    /// The epoch ended without the message, which enters the next one.
    Again(u64),
    /// The message is on the board, and the participant stays.
    Published(Published),
}

/// Where a message was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The epoch.
    pub epoch: u64,
    /// The entry's index on the board.
    pub entry: usize,
}

/// Gives the row of an epoch: bytes that are written down as used up before they are given. `None`
/// if nothing may be sent in that epoch.
pub type Rows = Box<dyn FnMut(u64) -> Result<Option<Vec<u8>>> + Send + Sync>;

/// What was done for one epoch. The submission, once made, is the only one there will ever be for
/// it.
struct Work {
    epoch: u64,
    /// What was opened of the servers' issues, by party.
    issues: Vec<Option<Issued>>,
    submission: Option<Submission>,
    /// What goes into the epoch, of a participant that has something else for each.
    row: Option<Vec<u8>>,
    accepted: Vec<bool>,
    reported: bool,
    /// Whether the participant was present when the epoch began, and so could count on a slot.
    expects_slot: bool,
    /// When it is looked next, while there is no slot, whether there are fewer elsewhere, and how
    /// often it was.
    look: Instant,
    looks: u32,
    /// Since when it waits for a slot where it is, and where it has waited in vain.
    since: Instant,
    shunned: BTreeSet<PartyId>,
    /// Of a participant with a row for each epoch: when it hands in, which does not depend on what
    /// it did before.
    moment: Instant,
}

impl Work {
    fn new(epoch: u64, parties: usize, expects_slot: bool, moment: Instant) -> Self {
        let (issues, accepted) = (vec![None; parties], vec![false; parties]);
        let look = Instant::now() + CROWDED_EVERY;
        let (submission, row, reported, looks, shunned) = Default::default();
        Self {
            epoch,
            issues,
            submission,
            row,
            accepted,
            reported,
            expects_slot,
            look,
            looks,
            since: Instant::now(),
            shunned,
            moment,
        }
    }

    /// Whether it is time to look whether there are fewer elsewhere.
    fn is_kept_waiting(&self) -> bool {
        self.submission.is_none()
            && self.looks < CROWDED_LOOKS
            && self.issues.iter().all(Option::is_none)
    }
}

/// A participant of a room.
pub struct Participant {
    room: Arc<Room>,
    key: SigningKey,
    /// Of a member: where it is written down what the key was used for.
    member: Option<Member>,
    outbox: Outbox,
    /// Of a participant that has something else to say in every epoch, and never a cover.
    rows: Option<Rows>,
    home: Option<PartyId>,
    /// Whether the home server knows that the participant is there.
    present: bool,
    /// When that was noted there last.
    greeted: Instant,
    /// When the program went on after it had been stopped for so long that it was forgotten.
    returned: Option<Instant>,
    /// Whether another home is to be looked for.
    displaced: bool,
    /// The last epoch with too few that was taken notice of.
    failed: Option<u64>,
    seen: usize,
    /// The minimum that a host has lowered below what the participant joined with.
    eased: Option<u32>,
    /// Whether it goes on with covers once its message is on the board.
    stays: bool,
    work: Work,
}

impl Participant {
    /// A participant with a fresh key and one message, or `None` to send covers only. `home` is
    /// where it is present at first, if it has a preference.
    ///
    /// # Errors
    /// If the message is longer than the room admits.
    pub fn new(room: Arc<Room>, message: Option<Vec<u8>>, home: Option<PartyId>) -> Result<Self> {
        let limit = RowFormat::new(&room.descriptor, 0).limit();
        let length = message.as_ref().map_or(0, Vec::len);
        ensure!(
            length <= limit,
            "the message has {length} bytes; this room takes at most {limit}: shorten it"
        );
        let mut outbox = Outbox::default();
        outbox.put(message.unwrap_or_default())?;
        let parties = room.connections.len();
        let seen = room.entries().borrow().len();
        let key = SigningKey::from_seed(&edge::random());
        let work = Work::new(0, parties, false, Instant::now());
        let member = None;
        let rows = None;
        Ok(Self {
            room,
            key,
            member,
            outbox,
            rows,
            home,
            present: false,
            greeted: Instant::now(),
            returned: None,
            displaced: false,
            failed: None,
            seen,
            eased: None,
            stays: false,
            work,
        })
    }

    /// Like [`Participant::new`], for a member with a key that is kept.
    ///
    /// # Errors
    /// If the message is longer than the room admits.
    pub fn of_member(room: Arc<Room>, message: Vec<u8>, member: Member) -> Result<Self> {
        let mut participant = Self::new(room, Some(message), None)?;
        participant.key = member.key();
        if let Some(spent) = member.spent() {
            // Whatever became of it: nothing is made for that epoch again.
            participant.outbox.ended_without_board(spent);
        }
        participant.member = Some(member);
        Ok(participant)
    }

    /// Like [`Participant::new`], for who hands in a row of its own in every epoch. It takes part
    /// until it is stopped, and does not look at boards.
    ///
    /// # Errors
    /// None that depend on what is said.
    pub fn of_rows(room: Arc<Room>, rows: Rows) -> Result<Self> {
        let mut participant = Self::new(room, None, None)?;
        participant.rows = Some(rows);
        Ok(participant)
    }

    /// The same participant, which goes on with covers once its message is on the board: those who
    /// have spoken are the crowd of those who have not.
    #[must_use]
    pub fn staying(mut self) -> Self {
        self.stays = true;
        self
    }

    /// Of a member: sees to it that its key may take part ([`Member::admit`]).
    ///
    /// # Errors
    /// If it may not.
    pub async fn admit(&self) -> Result<()> {
        match &self.member {
            Some(member) => member.admit(&self.room).await,
            None => Ok(()),
        }
    }

    /// Takes part until the message is on the board; without a message, or if it stays
    /// ([`Participant::staying`]), for ever.
    ///
    /// # Errors
    /// If the room is closed.
    pub async fn take_part(mut self, mut report: impl FnMut(Event)) -> Result<Published> {
        let (mut entries, mut ended) = (self.room.entries(), self.room.ended());
        let (mut collecting, mut closed) = (self.room.collecting(), self.room.closed());
        let mut present = Instant::now();
        loop {
            entries.mark_unchanged();
            // Before the board is read, so that it holds what is over.
            let over = *ended.borrow_and_update();
            self.doubt();
            while let Some(published) = self.learn(&mut report) {
                if !self.stays {
                    return Ok(published);
                }
                report(Event::Published(published));
            }
            self.make_room();
            self.go_on(*closed.borrow_and_update(), over)?;
            if self.present && self.greeted.elapsed() >= FORGOTTEN {
                self.return_as_newcomer();
                present = Instant::now();
            }
            if present <= Instant::now() {
                present = Instant::now() + self.be_present(&mut report).await;
            }
            let current = *collecting.borrow_and_update();
            if self.turn_to(current, &mut report) {
                present = Instant::now();
            }
            if self.go_where_there_are_fewer().await {
                present = Instant::now();
                continue;
            }
            if let Some(minimum) = self.eased {
                bail!(
                    "the room's host has lowered the minimum to {minimum}, and the message was not sent: give the same command \
                     again if that is enough"
                );
            }
            let (look, waits) = (self.work.look, self.present && self.work.is_kept_waiting());
            tokio::select! {
                () = self.work_on(current, &mut report) => {}
                () = tokio::time::sleep_until(look), if waits => {}
                _ = entries.changed() => {}
                _ = ended.changed() => {}
                _ = collecting.changed() => {}
                _ = closed.changed() => {}
                () = tokio::time::sleep_until(present) => {}
            }
        }
    }

    /// Reads the board's new entries. That an epoch ended without the message is believed of a
    /// later one's entry only, since entries are signed: who could make a single participant
    /// believe it would see its message come out twice.
    fn learn(&mut self, report: &mut impl FnMut(Event)) -> Option<Published> {
        let entries = self.room.entries();
        let entries = entries.borrow();
        if self.rows.is_some() {
            self.seen = entries.len();
        }
        for signed in entries.iter().skip(self.seen) {
            let entry = self.seen;
            self.seen += 1;
            let epoch = signed.entry.epoch.number;
            match self
                .outbox
                .observe_with(&signed.entry, |message| self.room.claim(signed, message))
            {
                Observed::Published => return Some(Published { epoch, entry }),
                Observed::Again => report(Event::Again(epoch)),
                Observed::Nothing | Observed::Held => {}
            }
        }
        None
    }

    /// Says to the home server that the participant is there. Returns when to do so again.
    async fn be_present(&mut self, report: &mut impl FnMut(Event)) -> Duration {
        let home = match self.home.filter(|_| !self.displaced) {
            Some(home) => Some(home),
            None => self.choose().await,
        };
        let Some(home) = home else { return NO_SERVER_YET };
        let time = edge::unix_time();
        let room = &self.room.link.room;
        let signature = self.key.sign(&presence_digest(room, time, home));
        let presence = Presence { key: self.key.verifying_key(), time, signature };
        let path = format!("rooms/{}/presence", room.to_hex());
        let answer = self.room.connection(home).post::<PresenceAnswer>(&path, &presence);
        let welcome = matches!(tokio::time::timeout(PRESENCE_TIME, answer).await, Ok(Ok(_)));
        if welcome && (!self.present || self.home != Some(home)) {
            report(Event::Home(home));
            (self.work.since, self.work.looks) = (Instant::now(), 0);
        }
        self.displaced = !welcome;
        self.present = welcome;
        self.home = Some(home);
        self.greeted = Instant::now();
        if welcome { PRESENCE_EVERY } else { PRESENCE_AGAIN }
    }

    /// The program was stopped, or the machine was: the home has forgotten the participant, and
    /// could not serve it. It is a newcomer there; going elsewhere at once, it would be counted
    /// twice.
    fn return_as_newcomer(&mut self) {
        let now = Instant::now();
        (self.present, self.returned) = (false, Some(now));
        (self.work.since, self.work.look, self.work.looks) = (now, now + CROWDED_EVERY, 0);
        self.work.expects_slot = false;
    }

    /// Chooses a home by what the servers say now. Participants who come at the same moment wait
    /// for a random time first, so that each sees where the ones before it went: a room whose
    /// participants are all at one server publishes nothing.
    async fn choose(&self) -> Option<PartyId> {
        let draw = u32::from_le_bytes(edge::random());
        tokio::time::sleep(SPREAD * (draw >> 16) / (1 << 16)).await;
        let present = without(&self.room.counts().await, &self.work.shunned);
        choose_home(&present, self.home, draw)
    }

    /// After an epoch with too few: every second one of those at a server that is too full looks
    /// for another one.
    fn make_room(&mut self) {
        let Some(home) = self.home else { return };
        let statuses = self.room.statuses();
        let statuses = statuses.borrow();
        let failed =
            too_few(statuses[home.index()].as_ref()).filter(|failed| self.failed < Some(*failed));
        if let Some(failed) = failed {
            self.failed = Some(failed);
            let count = |(party, status): (usize, &Option<Status>)| {
                status.as_ref()?.places.get(party).copied()
            };
            let present: Vec<_> = statuses.iter().enumerate().map(count).collect();
            self.displaced |=
                is_crowded(&present, home) && edge::random::<1>()[0].is_multiple_of(2);
        }
    }

    /// Without a slot at a server that has more participants than another one, or for too long: it
    /// is time to look for another home. Servers give out their slots evenly.
    async fn go_where_there_are_fewer(&mut self) -> bool {
        let Some(home) = self.home.filter(|_| self.present && self.work.is_kept_waiting()) else {
            return false;
        };
        if Instant::now() < self.work.look {
            return false;
        }
        self.work.look = Instant::now() + CROWDED_EVERY;
        self.work.looks += 1;
        // One server alone keeps nobody out by what it says of the numbers.
        let starved = self.work.since.elapsed() >= longest_wait(self.room.descriptor.seconds);
        if starved {
            self.work.shunned.insert(home);
        }
        self.displaced |= starved || is_crowded(&self.room.counts().await, home);
        self.displaced
    }

    /// Prepares for the epoch that collects now. Returns whether another home is to be looked for,
    /// because the one before gave no slot.
    fn turn_to(&mut self, collecting: Option<u64>, report: &mut impl FnMut(Event)) -> bool {
        let Some(epoch) = collecting.filter(|epoch| *epoch != self.work.epoch) else {
            return false;
        };
        let moment = self.moment();
        // Epochs that began meanwhile are heard of one after the other.
        let settled = self.returned.is_none_or(|at| at.elapsed() >= SETTLED);
        let expects_slot = self.present && settled;
        let work = Work::new(epoch, self.room.connections.len(), expects_slot, moment);
        let before = std::mem::replace(&mut self.work, work);
        let without_slot = before.expects_slot && before.submission.is_none();
        if without_slot {
            report(Event::NoSlot(before.epoch));
            self.displaced = true;
        }
        without_slot
    }

    /// When the row of an epoch that begins now is handed in: drawn from its second quarter, so
    /// that what was read and written before does not show in when it leaves. Whoever looks for a
    /// message instead hands in as soon as it can.
    fn moment(&self) -> Instant {
        if self.rows.is_none() {
            return Instant::now();
        }
        let quarter = Duration::from_secs(u64::from(self.room.descriptor.seconds)) / 4;
        let draw = u32::from(u16::from_le_bytes(edge::random()));
        Instant::now() + quarter + quarter * draw / (1 << 16)
    }

    /// Does what is left to do in an epoch, and then waits. May be dropped and called again at any
    /// time.
    async fn work_on(&mut self, collecting: Option<u64>, report: &mut impl FnMut(Event)) {
        if let (Some(epoch), Some(_)) = (collecting, self.home) {
            if self.work.submission.is_none() {
                self.make_submission(epoch).await;
            }
            if self.eased.is_some() {
                return;
            }
            self.deliver(report).await;
        }
        std::future::pending::<()>().await;
    }

    /// Collects the servers' issues until a submission can be made of them.
    async fn make_submission(&mut self, epoch: u64) {
        let mut pauses = pauses();
        loop {
            self.collect_issues(epoch).await;
            if let Some(agreed) = envelope::agreed(&self.work.issues) {
                // Whoever joins agrees to what it finds.
                let minimum = agreed.context.minimum;
                if self.outbox.agreed().is_none_or(|before| minimum >= before) {
                    self.outbox.agree(minimum);
                } else if self.would_be_said() {
                    self.eased = Some(minimum);
                    return;
                }
                tokio::time::sleep_until(self.work.moment).await;
                if !self.has_row(epoch, minimum) {
                    return std::future::pending().await;
                }
            }
            match self.submission() {
                Ok(Some(submission)) => {
                    match self.member.as_mut().map_or(Ok(()), |member| member.spend(epoch)) {
                        Ok(()) => {
                            self.work.submission = Some(submission);
                            return;
                        }
                        // It must not leave.
                        Err(error) => tracing::error!(epoch, "{error:#}"),
                    }
                }
                Ok(None) => return std::future::pending().await,
                Err(error) => tracing::warn!(epoch, "{error}"),
            }
            self.work.issues.fill(None);
            pauses.pause().await;
        }
    }

    /// Whether something is kept from an epoch only by its minimum. Of a message that is handed in
    /// the epoch that has it decides; said once more, it would be there twice. Until then covers go
    /// into the others, whatever their minimum.
    fn would_be_said(&self) -> bool {
        let unsaid = self.outbox.message().is_some() && self.outbox.undecided().is_none();
        unsaid || self.rows.is_some()
    }

    /// Draws the row of an epoch, once, if this participant has one for each. Whether there is
    /// something to hand in.
    fn has_row(&mut self, epoch: u64, minimum: u32) -> bool {
        let Some(rows) = self.rows.as_mut().filter(|_| self.work.row.is_none()) else {
            return true;
        };
        let row = match rows(epoch) {
            Ok(Some(row)) => row,
            Ok(None) => return false,
            // It must not leave.
            Err(error) => {
                tracing::error!(epoch, "{error:#}");
                return false;
            }
        };
        self.work.row = Some(row.clone());
        self.outbox = Outbox::default();
        self.outbox.agree(minimum);
        if let Err(error) = self.outbox.put(row) {
            tracing::error!(epoch, "{error}");
            return false;
        }
        true
    }

    /// How many servers must say the same, or have something, for an honest one to be among them.
    fn believed(&self) -> usize {
        engines::believed(self.room.descriptor.engine, self.work.issues.len())
    }

    /// Waits for the issues of all servers, or of enough if the others take their time.
    async fn collect_issues(&mut self, epoch: u64) {
        let missing = self.room.parties().filter(|party| self.work.issues[party.index()].is_none());
        let mut waiting: FuturesUnordered<_> =
            missing.map(|party| fetch_issue(&self.room, &self.key, party, epoch)).collect();
        let believed = self.believed();
        let mut patience = std::pin::pin!(tokio::time::sleep(OTHER_SERVERS));
        let issues = &mut self.work.issues;
        while issues.iter().any(Option::is_none) {
            tokio::select! {
                Some((party, issue)) = waiting.next() => issues[party.index()] = Some(issue),
                () = &mut patience => {
                    if issues.iter().flatten().count() >= believed {
                        return;
                    }
                    patience.as_mut().reset(Instant::now() + OTHER_SERVERS);
                }
            }
        }
    }

    fn submission(&mut self) -> Result<Option<Submission>, NoSubmission> {
        let Room { servers, descriptor, engine, .. } = &*self.room;
        let author = Author { engine: *engine, servers, room: descriptor, key: &self.key };
        author.submission(&self.work.issues, &mut self.outbox)
    }

    /// Hands the submission to every server that does not have it yet.
    async fn deliver(&mut self, report: &mut impl FnMut(Event)) {
        let Some(Submission { slot, body, message }) = &self.work.submission else { return };
        let request =
            SubmissionRequest { key: self.key.verifying_key(), slot: *slot, body: body.clone() };
        let mut waiting: FuturesUnordered<_> = self
            .room
            .parties()
            .filter(|party| !self.work.accepted[party.index()])
            .map(|party| submit(&self.room, &request, party, self.work.epoch))
            .collect();
        let believed = self.believed();
        while let Some((party, accepted)) = waiting.next().await {
            self.work.accepted[party.index()] = accepted;
            let have = self.work.accepted.iter().filter(|accepted| **accepted).count();
            if !self.work.reported && have >= believed {
                self.work.reported = true;
                report(Event::Submitted { epoch: self.work.epoch, message: *message });
            }
        }
    }
}

#[cfg(test)]
mod tests;

/// The epoch that a server says ended with too few, if it was the last one.
fn too_few(status: Option<&Status>) -> Option<u64> {
    let last = status?.last.as_ref()?;
    (last.outcome == Outcome::TooFew).then_some(last.number)
}
