//! A participant: it asks for a place, masks its row, hands it in, and looks for it on the board
//! (spec V4). The same bytes go to all servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Secret, Signature, SigningKey, Stream, VerifyingKey};
use ostrakon_party::PartyId;
use ostrakon_robust::client::{MaskReader, Submission, to_elements};
use ostrakon_robust::message::elements;

use crate::board::{Outcome, SignedEntry, in_statement};
use crate::message::{Request, ToClient, ToServer, about_masks, open_masks};
use crate::room::Room;
use crate::row::{self, Said};

/// Ticks after which a participant without a place turns to the next home.
const PATIENCE: u32 = 8;

/// Ticks between two questions of a participant who has handed in.
const WAITING: u32 = 4;

/// What a participant learns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// t + 1 servers showed that its row is in the epoch.
    In(u64),
    /// The epoch's entry has its message.
    Published(u64),
    /// The epoch is over, and its row was not in it, or there were too few: it takes part in the
    /// next one.
    Again(u64),
}

/// A slot of an epoch, as servers tell of it.
type Told = (u64, u32, u64);

/// What a participant has of one epoch.
struct Attempt {
    epoch: u64,
    exchange: ExchangeKey,
    /// By place: the servers' shares so far. Servers that lie about the place are alone with it.
    masks: BTreeMap<Told, MaskReader>,
    /// What is handed in, and where.
    submitted: Option<(u32, Submission)>,
    shown: BTreeMap<PartyId, Signature>,
    is_in: bool,
    ticks: u32,
}

/// A participant with one message, or none.
pub struct Participant {
    room: Arc<Room>,
    key: SigningKey,
    said: Said,
    /// At which server it asks first.
    home: usize,
    secret: Secret,
    rng: Stream,
    /// By server: the epoch that collects.
    now: BTreeMap<PartyId, u64>,
    attempt: Option<Attempt>,
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
        let said = message.map_or(Said::Cover, Said::Message);
        row::encode(&room.digest(), 0, &said, room.shape().payload)?;
        let of = |context| secret.derive(context, &[]);
        let seed = of("ostrakon/v1/asynchromix/participant key");
        Some(Self {
            key: SigningKey::from_seed(seed.expose()),
            home: home % room.servers(),
            secret: of("ostrakon/v1/asynchromix/participant exchange"),
            rng: Stream::of(
                of("ostrakon/v1/asynchromix/participant checks"),
                "ostrakon/v1/asynchromix/participant randomness",
            ),
            said,
            room,
            now: BTreeMap::new(),
            attempt: None,
            seen: None,
            done: false,
        })
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

    /// Whether its row is shown to be in the epoch under way.
    #[must_use]
    pub fn is_in(&self) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| attempt.is_in)
    }

    /// What all servers are told at a tick.
    pub fn tick(&mut self) -> Vec<Vec<u8>> {
        let client = self.key();
        let Some(attempt) = &mut self.attempt else {
            return vec![ToServer::Hello(client).encode()];
        };
        attempt.ticks += 1;
        // A home that gave no place is not asked first again: it may be dead, or full.
        if attempt.ticks.is_multiple_of(PATIENCE) && attempt.submitted.is_none() {
            self.home = (self.home + 1) % self.room.servers();
        }
        let home = PartyId(u8::try_from(self.home).expect("servers are numbered by bytes"));
        // Who has handed in only waits.
        if attempt.submitted.is_some() && !attempt.ticks.is_multiple_of(WAITING) {
            return Vec::new();
        }
        let exchange = attempt.exchange.public();
        let request = Request::sign(&self.room, attempt.epoch, &self.key, exchange, home);
        let mut messages = vec![ToServer::Request(request).encode()];
        if let Some((slot, submission)) = &attempt.submitted
            && !attempt.is_in
        {
            let (epoch, submission) = (attempt.epoch, submission.to_bytes());
            let submit = ToServer::Submit { client, epoch, slot: *slot, submission };
            messages.push(submit.encode());
        }
        messages
    }

    /// Takes a server's message. What is to be said at once comes with the news.
    pub fn receive(&mut self, from: PartyId, bytes: &[u8]) -> (Vec<Vec<u8>>, Option<News>) {
        let nothing = (Vec::new(), None);
        match ToClient::decode(bytes, &self.room) {
            Ok(ToClient::Now(now)) => {
                self.now.extend(now.map(|now| (from, now)));
                (self.begin(), None)
            }
            Ok(ToClient::Masks { epoch, slot, batch, sealed }) => {
                (self.masks(from, (epoch, slot, batch), &sealed), None)
            }
            Ok(ToClient::In { epoch, slot, row, signature }) => {
                let attempt = self.attempt.as_mut().filter(|attempt| attempt.epoch == epoch);
                let own = attempt.filter(|attempt| {
                    let right = |(at, s): &(u32, Submission)| *at == slot && s.row() == row;
                    attempt.submitted.as_ref().is_some_and(right)
                });
                let statement = in_statement(&self.room.digest(), epoch, slot, &row);
                let key = self.room.identities().get(from);
                if let Some(attempt) = own
                    && key.is_some_and(|key| key.verifies(&statement, &signature))
                {
                    attempt.shown.insert(from, signature);
                    let shown = attempt.shown.len() >= self.room.trust().believed();
                    if shown && !attempt.is_in {
                        attempt.is_in = true;
                        return (Vec::new(), Some(News::In(epoch)));
                    }
                }
                nothing
            }
            Ok(ToClient::Entry(entry)) => (Vec::new(), self.entry(&Arc::new(entry))),
            Err(_) => nothing,
        }
    }

    /// Asks for a place in the highest epoch of which t + 1 servers, so one honest one, say that it
    /// or a later one collects.
    fn begin(&mut self) -> Vec<Vec<u8>> {
        let mut told: Vec<u64> = self.now.values().copied().collect();
        told.sort_unstable_by_key(|epoch| std::cmp::Reverse(*epoch));
        let Some(epoch) = told.get(self.room.trust().corrupt()).copied() else {
            return Vec::new();
        };
        let current = self.attempt.as_ref();
        // One who handed in waits for the entry; without a place it goes on with the newest epoch.
        if current.is_some_and(|attempt| attempt.submitted.is_some() || attempt.epoch >= epoch) {
            return Vec::new();
        }
        let secret = self.secret.derive(
            "ostrakon/v1/asynchromix/participant exchange of an epoch",
            &[&epoch.to_le_bytes()],
        );
        self.attempt = Some(Attempt {
            epoch,
            exchange: ExchangeKey::new(&secret),
            masks: BTreeMap::new(),
            submitted: None,
            shown: BTreeMap::new(),
            is_in: false,
            ticks: 0,
        });
        self.tick()
    }

    fn masks(
        &mut self,
        from: PartyId,
        told: Told,
        sealed: &ostrakon_crypto::sealed::Sealed,
    ) -> Vec<Vec<u8>> {
        let (epoch, slot, batch) = told;
        let room = &self.room;
        let Some(attempt) = self.attempt.as_mut().filter(|a| a.epoch == epoch) else {
            return Vec::new();
        };
        let slots = u32::try_from(room.shape().rows).unwrap_or(u32::MAX);
        // Each server may be alone with a place of its own.
        let many = attempt.masks.len() >= room.servers() && !attempt.masks.contains_key(&told);
        if attempt.submitted.is_some() || slot >= slots || many {
            return Vec::new();
        }
        let mut about = about_masks(&room.digest(), from, told);
        let Some(opened) = open_masks(&attempt.exchange, &mut about, sealed) else {
            return Vec::new();
        };
        let Some(shares) = elements(&opened, room.width() + 2) else { return Vec::new() };
        let committee = room.committee_of(batch);
        let reader = attempt
            .masks
            .entry(told)
            .or_insert_with(|| MaskReader::new((**committee).clone(), room.width() + 2));
        let Some(masks) = reader.receive(from, &shares, &mut self.rng) else { return Vec::new() };
        let Some(row) = row::encode(&room.digest(), epoch, &self.said, room.shape().payload) else {
            return Vec::new();
        };
        let masked = masks.for_row(&to_elements(&row));
        let place = crate::state::place(room, epoch, slot, batch);
        attempt.submitted = Some((slot, place.submit(&self.key, masked)));
        // The masks of every other place that was told are of no use any more.
        attempt.masks.clear();
        attempt.ticks = WAITING - 1;
        self.tick()
    }

    fn entry(&mut self, signed: &Arc<SignedEntry>) -> Option<News> {
        let attempt = self.attempt.as_ref()?;
        let epoch = attempt.epoch;
        if signed.entry.epoch != epoch || !signed.verifies(&self.room) {
            return None;
        }
        let sealed =
            attempt.submitted.as_ref().is_some_and(|(slot, _)| signed.entry.sealed.contains(slot));
        self.attempt = None;
        self.now.clear();
        self.seen = Some(Arc::clone(signed));
        if !sealed || signed.entry.outcome == Outcome::TooFew {
            return Some(News::Again(epoch));
        }
        // It goes on as a cover: whose message is left must not be alone.
        self.said = Said::Cover;
        let first = !std::mem::replace(&mut self.done, true);
        first.then_some(News::Published(epoch))
    }
}
