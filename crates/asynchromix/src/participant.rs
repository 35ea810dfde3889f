//! A participant: it asks for a place, masks its row, hands it in, and looks for it on the board
//! (spec V4). The same bytes go to all servers, and also after a restart (spec W3).

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Digest, Secret, Signature, SigningKey, Stream, VerifyingKey};
use ostrakon_party::PartyId;
use ostrakon_robust::client::{MaskReader, Submission, to_elements};
use ostrakon_robust::message::elements;
use rand_core::Rng;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use crate::board::{Outcome, SignedEntry, in_statement};
use crate::message::{Request, ToClient, ToServer, about_masks, open_masks};
use crate::room::Room;
use crate::row::{self, Said};

/// Ticks after which a participant without a place turns to another home.
const PATIENCE: u32 = 8;

/// Ticks between two questions of a participant who has handed in.
const WAITING: u32 = 4;

/// What a participant learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// t + 1 servers showed that its row is in the epoch.
    In(u64),
    /// The epoch's entry has its message.
    Published(u64),
    /// The epoch's entry has its first row, which was a cover.
    Covered(u64),
    /// The epoch is over, and its row was not in it, or there were too few: it takes part in the
    /// next one.
    Again(u64),
    /// The epoch is over, and its entry too old to be had: whether the message was said cannot be
    /// known, so it is not said again.
    Unknown(u64),
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// Another one is on its way.
    #[error("the message before is not on the board yet; wait until it is")]
    Waiting,
    /// It is too long.
    #[error("the message is too long: {0} bytes are the most in this room")]
    Long(usize),
    /// There is nothing to say.
    #[error("the message is empty")]
    Empty,
}

/// What a device keeps (spec W3): before a row leaves, and as long as its entry is unknown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Everything secret comes of it.
    pub seed: [u8; 32],
    /// The message that is not on the board.
    pub message: Option<Vec<u8>>,
    /// The row that was handed in, while its epoch's entry is unknown.
    pub handed: Option<Handed>,
    /// The first epoch in which no row was made: a second one of an earlier epoch could go under
    /// the same mask.
    pub next: u64,
}

/// A row that was handed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handed {
    /// For which epoch.
    pub epoch: u64,
    /// In which slot.
    pub slot: u32,
    /// The submission's bytes.
    pub submission: Vec<u8>,
    /// Whether the message is in it; it is a cover otherwise.
    pub carries: bool,
}

impl Kept {
    /// A device that has said nothing. `seed` is fresh, or that of an invitation.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self { seed, message: None, handed: None, next: 0 }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.seed.zeroize();
        self.message.zeroize();
    }
}

/// The key by which the device with this seed takes part.
#[must_use]
pub fn key_of(seed: &Secret) -> VerifyingKey {
    signing(seed).verifying_key()
}

fn signing(seed: &Secret) -> SigningKey {
    SigningKey::from_seed(seed.derive("ostrakon/v1/asynchromix/participant key", &[]).expose())
}

/// A slot of an epoch, as servers tell of it.
type Told = (u64, u32, u64);

/// What a participant has of one epoch.
struct Attempt {
    epoch: u64,
    exchange: ExchangeKey,
    /// By place: the servers' shares so far. Servers that lie about the place are alone with it.
    masks: BTreeMap<Told, MaskReader>,
    /// The place that a server told of first: it tells of no other one.
    told: BTreeMap<PartyId, Told>,
    /// What is handed in, and where, and whether the message is in it.
    submitted: Option<(u32, Submission, bool)>,
    shown: BTreeMap<PartyId, Signature>,
    is_in: bool,
    /// Its place is offered to another home.
    spreads: bool,
    ticks: u32,
}

impl Attempt {
    fn new(epoch: u64, secret: &Secret) -> Self {
        let secret = secret.derive(
            "ostrakon/v1/asynchromix/participant exchange of an epoch",
            &[&epoch.to_le_bytes()],
        );
        Self {
            epoch,
            exchange: ExchangeKey::new(&secret),
            masks: BTreeMap::new(),
            told: BTreeMap::new(),
            submitted: None,
            shown: BTreeMap::new(),
            is_in: false,
            spreads: false,
            ticks: 0,
        }
    }
}

/// A participant with one message, or none.
pub struct Participant {
    room: Arc<Room>,
    seed: Secret,
    key: SigningKey,
    message: Option<Vec<u8>>,
    /// At which server it asks first.
    home: usize,
    secret: Secret,
    rng: Stream,
    /// By server: the epoch that collects.
    now: BTreeMap<PartyId, u64>,
    attempt: Option<Attempt>,
    /// The first epoch in which it has made no row.
    next: u64,
    /// The newest entry that was shown to it.
    seen: Option<Arc<SignedEntry>>,
    done: bool,
}

impl Participant {
    /// A participant with something to say, or `None` for a cover. `secret` is 32 fresh random
    /// bytes.
    ///
    /// `None` if the message is too long for the room.
    #[must_use]
    pub fn new(
        room: Arc<Room>,
        message: Option<Vec<u8>>,
        home: usize,
        secret: &Secret,
    ) -> Option<Self> {
        let mut kept = Kept::new(*secret.expose());
        kept.message = message;
        let fresh = secret.derive("ostrakon/v1/asynchromix/participant checks", &[]);
        let mut participant = Self::restore(room, &kept, fresh)?;
        participant.home = home % participant.room.servers();
        Some(participant)
    }

    /// A participant that goes on with what its device kept. `fresh` is 32 fresh random bytes at
    /// every start.
    ///
    /// `None` if what was kept is not of this room.
    #[must_use]
    pub fn restore(room: Arc<Room>, kept: &Kept, fresh: Secret) -> Option<Self> {
        let seed = Secret::new(kept.seed);
        let said = said(kept.message.as_deref());
        row::encode(&room.digest(), 0, &said, room.shape().payload)?;
        let key = signing(&seed);
        let secret = seed.derive("ostrakon/v1/asynchromix/participant exchange", &[]);
        let attempt = match &kept.handed {
            None => None,
            Some(handed) => {
                let submission = Submission::from_bytes(&handed.submission, room.width())?;
                let mut attempt = Attempt::new(handed.epoch, &secret);
                attempt.submitted = Some((handed.slot, submission, handed.carries));
                Some(attempt)
            }
        };
        Some(Self {
            home: usize::from(key.verifying_key().0[0]) % room.servers(),
            rng: Stream::of(fresh, "ostrakon/v1/asynchromix/participant randomness"),
            message: kept.message.clone(),
            room,
            seed,
            key,
            secret,
            now: BTreeMap::new(),
            next: kept
                .next
                .max(kept.handed.as_ref().map_or(0, |handed| handed.epoch.saturating_add(1))),
            attempt,
            seen: None,
            done: false,
        })
    }

    /// What the device must keep: before anything that was said since leaves it (spec W3).
    #[must_use]
    pub fn kept(&self) -> Kept {
        let handed = self.attempt.as_ref().and_then(|attempt| {
            let (slot, submission, carries) = attempt.submitted.as_ref()?;
            let (epoch, submission) = (attempt.epoch, submission.to_bytes());
            Some(Handed { epoch, slot: *slot, submission, carries: *carries })
        });
        Kept { seed: *self.seed.expose(), message: self.message.clone(), handed, next: self.next }
    }

    /// Takes a message to be said in the next epoch that can carry it.
    ///
    /// # Errors
    /// [`NotTaken`].
    pub fn say(&mut self, message: Vec<u8>) -> Result<(), NotTaken> {
        let longest = self.room.shape().payload;
        if self.message.is_some() {
            return Err(NotTaken::Waiting);
        }
        if message.is_empty() {
            return Err(NotTaken::Empty);
        }
        let said = Said::Message(message);
        if row::encode(&self.room.digest(), 0, &said, longest).is_none() {
            return Err(NotTaken::Long(longest));
        }
        if let Said::Message(message) = said {
            self.message = Some(message);
        }
        Ok(())
    }

    /// Gives the message back, so that it is not said; `None` if there is none, or it is handed in.
    pub fn take_back(&mut self) -> Option<Vec<u8>> {
        if self.carries() { None } else { self.message.take() }
    }

    /// The message that is not on the board.
    #[must_use]
    pub fn message(&self) -> Option<&[u8]> {
        self.message.as_deref()
    }

    /// Whether the message is in the row that is handed in.
    #[must_use]
    pub fn carries(&self) -> bool {
        let submitted = self.attempt.as_ref().and_then(|attempt| attempt.submitted.as_ref());
        submitted.is_some_and(|(_, _, carries)| *carries)
    }

    /// Whether a cover is handed in, so that a message waits for the next epoch.
    #[must_use]
    pub fn covers(&self) -> bool {
        self.awaited().is_some() && !self.carries()
    }

    /// The epoch in which it has asked for a place.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        self.attempt.as_ref().map(|attempt| attempt.epoch)
    }

    /// The epoch for which a row is handed in and whose entry is unknown.
    #[must_use]
    pub fn awaited(&self) -> Option<u64> {
        let attempt = self.attempt.as_ref()?;
        attempt.submitted.as_ref().map(|_| attempt.epoch)
    }

    /// The participant's key.
    #[must_use]
    pub fn key(&self) -> VerifyingKey {
        self.key.verifying_key()
    }

    /// Whether its message is on the board. From then on it takes part as a cover, for as long as
    /// its messages are carried.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The board's newest entry about an epoch that it took part in.
    #[must_use]
    pub fn seen(&self) -> Option<&Arc<SignedEntry>> {
        self.seen.as_ref()
    }

    /// Of how many places it holds mask shares: what grows if a server may tell of many.
    #[must_use]
    pub fn places(&self) -> usize {
        self.attempt.as_ref().map_or(0, |attempt| attempt.masks.len())
    }

    /// Whether its row is shown to be in the epoch under way.
    #[must_use]
    pub fn is_in(&self) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| attempt.is_in)
    }

    /// What all servers are told at a tick, if entries are asked for by [`Request`].
    pub fn tick(&mut self) -> Vec<Vec<u8>> {
        self.pass();
        if let Some(attempt) = &self.attempt {
            // Who has handed in only waits.
            if attempt.submitted.is_some() && !attempt.ticks.is_multiple_of(WAITING) {
                return Vec::new();
            }
        }
        let mut wants = self.wants();
        if let Some(attempt) = self.attempt.as_ref().filter(|attempt| attempt.is_in) {
            wants.push(self.request(attempt));
        }
        wants.iter().map(ToServer::encode).collect()
    }

    /// Some time has passed.
    pub fn pass(&mut self) {
        let Some(attempt) = &mut self.attempt else { return };
        attempt.ticks += 1;
        // A home that gave no place is not asked first again: it may be dead, or full.
        if attempt.ticks.is_multiple_of(PATIENCE) && attempt.submitted.is_none() {
            self.turn(&[]);
        }
    }

    /// Turns to another home, which is not one of `silent`. All who leave one home go to different
    /// ones.
    fn turn(&mut self, silent: &[PartyId]) {
        let others = self.room.parties().filter(|party| !silent.contains(party));
        let others = others.map(PartyId::index).filter(|home| *home != self.home);
        let others: Vec<usize> = others.collect();
        let drawn = usize::try_from(self.rng.next_u32()).unwrap_or(0);
        self.home = others.get(drawn % others.len().max(1)).copied().unwrap_or(self.home);
    }

    /// The epoch is not over although it has had its time: its rows may be too few without those of
    /// the fullest homes. So its place is offered to another home, which takes it over if homes are
    /// more alike then.
    pub fn spread(&mut self, silent: &[PartyId]) {
        if self.attempt.as_ref().is_some_and(|attempt| attempt.is_in) {
            self.turn(silent);
            self.attempt.as_mut().expect("it is there").spreads = true;
        }
    }

    /// The epoch has time yet, or is closed: its place is offered to nobody any more.
    pub fn stay(&mut self) {
        if let Some(attempt) = &mut self.attempt {
            attempt.spreads = false;
        }
    }

    /// What every server is to be told now, but that an entry is wanted.
    #[must_use]
    pub fn wants(&self) -> Vec<ToServer> {
        let client = self.key();
        let Some(attempt) = &self.attempt else { return vec![ToServer::Hello(client)] };
        if attempt.is_in && !attempt.spreads {
            return Vec::new();
        }
        let mut messages = vec![self.request(attempt)];
        if attempt.is_in {
            return messages;
        }
        if let Some((slot, submission, _)) = &attempt.submitted {
            let (epoch, submission) = (attempt.epoch, submission.to_bytes());
            messages.push(ToServer::Submit { client, epoch, slot: *slot, submission });
        }
        messages
    }

    fn request(&self, attempt: &Attempt) -> ToServer {
        let home = PartyId(u8::try_from(self.home).expect("servers are numbered by bytes"));
        let exchange = attempt.exchange.public();
        ToServer::Request(Request::sign(&self.room, attempt.epoch, &self.key, exchange, home))
    }

    /// Takes a server's message. What is to be said at once comes with the news.
    pub fn receive(&mut self, from: PartyId, bytes: &[u8]) -> (Vec<Vec<u8>>, Option<News>) {
        match ToClient::decode(bytes, &self.room) {
            Ok(message) => {
                let (now, news) = self.take(from, message);
                (if now { self.tick() } else { Vec::new() }, news)
            }
            Err(_) => (Vec::new(), None),
        }
    }

    /// Takes a server's message; whether there is something to be said at once, and the news.
    pub fn take(&mut self, from: PartyId, message: ToClient) -> (bool, Option<News>) {
        match message {
            ToClient::Now(now) => {
                self.now.extend(now.map(|now| (from, now)));
                (self.begin(), None)
            }
            ToClient::Masks { epoch, slot, batch, sealed } => {
                (self.masks(from, (epoch, slot, batch), &sealed), None)
            }
            ToClient::In { epoch, slot, row, signature } => {
                (false, self.shown(from, (epoch, slot, row), signature))
            }
            ToClient::Entry(entry) => (false, self.entry(&Arc::new(entry))),
        }
    }

    /// A server shows that a row is in.
    fn shown(
        &mut self,
        from: PartyId,
        (epoch, slot, row): (u64, u32, Digest),
        signature: Signature,
    ) -> Option<News> {
        let attempt = self.attempt.as_mut().filter(|attempt| attempt.epoch == epoch)?;
        let (at, submission, _) = attempt.submitted.as_ref()?;
        let statement = in_statement(&self.room.digest(), epoch, slot, &row);
        let key = self.room.identities().get(from)?;
        if *at != slot || submission.row() != row || !key.verifies(&statement, &signature) {
            return None;
        }
        attempt.shown.insert(from, signature);
        let shown = attempt.shown.len() >= self.room.trust().believed();
        (shown && !std::mem::replace(&mut attempt.is_in, shown)).then_some(News::In(epoch))
    }

    /// Asks for a place in the highest epoch of which t + 1 servers, so one honest one, say that it
    /// or a later one collects.
    fn begin(&mut self) -> bool {
        let mut told: Vec<u64> = self.now.values().copied().collect();
        told.sort_unstable_by_key(|epoch| std::cmp::Reverse(*epoch));
        let Some(epoch) = told.get(self.room.trust().corrupt()).copied() else { return false };
        // What arrives late of an epoch that is over must not lead to a second row under its masks.
        if epoch < self.next {
            return false;
        }
        let current = self.attempt.as_ref();
        // One who handed in waits for the entry; without a place it goes on with the newest epoch.
        if current.is_some_and(|attempt| attempt.submitted.is_some() || attempt.epoch >= epoch) {
            return false;
        }
        self.attempt = Some(Attempt::new(epoch, &self.secret));
        true
    }

    /// A server's shares of a place's masks; whether the row is there now.
    fn masks(
        &mut self,
        from: PartyId,
        told: Told,
        sealed: &ostrakon_crypto::sealed::Sealed,
    ) -> bool {
        let (epoch, slot, batch) = told;
        let room = &self.room;
        let Some(attempt) = self.attempt.as_mut().filter(|a| a.epoch == epoch) else {
            return false;
        };
        let slots = u32::try_from(room.shape().rows).unwrap_or(u32::MAX);
        if attempt.submitted.is_some() || slot >= slots || epoch < self.next {
            return false;
        }
        // Each server may be alone with a place of its own, and takes nobody else's room.
        if *attempt.told.entry(from).or_insert(told) != told {
            return false;
        }
        let mut about = about_masks(&room.digest(), from, told);
        let Some(opened) = open_masks(&attempt.exchange, &mut about, sealed) else {
            return false;
        };
        let Some(shares) = elements(&opened, room.width() + 2) else { return false };
        let committee = room.committee_of(batch);
        let reader = attempt
            .masks
            .entry(told)
            .or_insert_with(|| MaskReader::new((**committee).clone(), room.width() + 2));
        let Some(masks) = reader.receive(from, &shares, &mut self.rng) else { return false };
        let said = said(self.message.as_deref());
        let Some(row) = row::encode(&room.digest(), epoch, &said, room.shape().payload) else {
            return false;
        };
        let masked = masks.for_row(&to_elements(&row));
        let place = crate::state::place(room, epoch, slot, batch);
        let submission = place.submit(&self.key, masked);
        attempt.submitted = Some((slot, submission, self.message.is_some()));
        self.next = epoch.saturating_add(1);
        // The masks of every other place that was told are of no use any more.
        attempt.masks.clear();
        attempt.ticks = WAITING - 1;
        true
    }

    /// Takes an entry of the board.
    pub fn entry(&mut self, signed: &Arc<SignedEntry>) -> Option<News> {
        let attempt = self.attempt.as_ref()?;
        let epoch = attempt.epoch;
        if signed.entry.epoch != epoch || !signed.verifies(&self.room) {
            return None;
        }
        let carried = attempt.submitted.as_ref();
        let carried = carried.filter(|(slot, ..)| signed.entry.sealed.contains(slot));
        let carried = carried.map(|(_, _, carries)| *carries);
        self.attempt = None;
        self.now.clear();
        self.seen = Some(Arc::clone(signed));
        match (carried, &signed.entry.outcome) {
            (None, _) | (_, Outcome::TooFew) => {
                // Where homes were too unlike another draw may do better.
                let servers = self.room.servers();
                self.home = usize::try_from(self.rng.next_u32()).unwrap_or(0) % servers;
                Some(News::Again(epoch))
            }
            // It goes on as a cover: whose message is left must not be alone.
            (Some(true), Outcome::Messages(_)) => {
                self.done = true;
                self.message = None;
                Some(News::Published(epoch))
            }
            (Some(false), Outcome::Messages(_)) => {
                let first = !std::mem::replace(&mut self.done, true);
                first.then_some(News::Covered(epoch))
            }
        }
    }

    /// The entry of the awaited epoch is not to be had any more (spec W3).
    pub fn give_up(&mut self) -> Option<News> {
        let awaited = self.awaited();
        if self.carries() {
            self.message = None;
        }
        self.attempt = None;
        awaited.map(News::Unknown)
    }
}

fn said(message: Option<&[u8]>) -> Said {
    message.map_or(Said::Cover, |message| Said::Message(message.to_vec()))
}
