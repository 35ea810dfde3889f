//! One party's end of the protocols: it signs what it sends and checks what it receives.

use std::sync::Arc;

use bytes::Bytes;
use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};

use crate::{
    Body, Channel, Header, Instance, Message, Meter, PartyId, Recipient, Recorder, SessionId,
    SignedHeader, Tag,
};

/// The parties of a session: their keys, by party number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    /// The session.
    pub session: SessionId,
    /// Identity keys, pinned by whoever set the session up.
    pub keys: Vec<VerifyingKey>,
}

impl Roster {
    /// Every party, in order.
    pub fn parties(&self) -> impl Iterator<Item = PartyId> + use<> {
        (0..self.keys.len())
            .map(|i| PartyId(u8::try_from(i).expect("a roster has at most 256 parties")))
    }

    /// Whether a signed header is of this session and truly its sender's.
    #[must_use]
    pub fn vouches(&self, signed: &SignedHeader) -> bool {
        let key = self.keys.get(signed.header.from.index());
        signed.header.session == self.session && key.is_some_and(|key| signed.verifies(key))
    }
}

/// How long a message must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Exactly so many bytes.
    Exactly(u64),
    /// At most so many bytes.
    AtMost(u64),
}

impl Length {
    fn limit(self) -> u64 {
        match self {
            Length::Exactly(n) | Length::AtMost(n) => n,
        }
    }

    /// Whether a body of `length` bytes obeys the rule.
    #[must_use]
    pub fn admits(self, length: u64) -> bool {
        match self {
            Length::Exactly(n) => length == n,
            Length::AtMost(n) => length <= n,
        }
    }
}

/// A message whose signature, session, tag, recipient, length and digest have been checked.
#[derive(Clone, Debug)]
pub struct Received {
    /// What the sender signed.
    pub signed: SignedHeader,
    /// The body; its digest is `signed.header.digest`.
    pub body: Bytes,
}

impl Received {
    /// The body's digest, as signed by the sender and as computed here.
    pub fn digest(&self) -> Digest {
        self.signed.header.digest
    }

    /// The body with its digest.
    pub fn into_body(self) -> Body {
        Body::known(self.body, self.signed.header.digest)
    }
}

/// A properly signed message that breaks the length rule of its step: evidence against its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub SignedHeader);

/// One party, as an engine sees itself.
#[derive(Clone)]
pub struct Party {
    /// Its number.
    pub id: PartyId,
    /// All parties.
    pub roster: Arc<Roster>,
    /// What it has sent so far.
    pub meter: Arc<Meter>,
    signing: Arc<SigningKey>,
    channel: Arc<dyn Channel>,
    recorder: Option<Arc<dyn Recorder>>,
}

impl Party {
    /// A party with its identity key and its channel.
    pub fn new(
        id: PartyId,
        roster: Arc<Roster>,
        signing: Arc<SigningKey>,
        channel: Arc<dyn Channel>,
    ) -> Self {
        Self { id, roster, meter: Arc::default(), signing, channel, recorder: None }
    }

    /// The same party, whose messages of one run are on this recorder.
    #[must_use]
    pub fn recorded(&self, recorder: Arc<dyn Recorder>) -> Self {
        Self { recorder: Some(recorder), ..self.clone() }
    }

    /// Whether a recorder keeps it from saying two things in one place, whatever happens to the
    /// process.
    pub fn is_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    fn may_post(&self, to: PartyId, header: &Header) -> bool {
        self.recorder.as_ref().is_none_or(|recorder| recorder.posts(to, header))
    }

    /// The same party, on the same channel, in another session: what it signs there is about that.
    #[must_use]
    pub fn in_session(&self, session: SessionId) -> Self {
        let roster = Roster { session, keys: self.roster.keys.clone() };
        Self { roster: Arc::new(roster), ..self.clone() }
    }

    /// The other parties, in order.
    pub fn peers(&self) -> impl Iterator<Item = PartyId> + use<> {
        let me = self.id;
        self.roster.parties().filter(move |id| *id != me)
    }

    /// Signs a digest with the identity key, for statements that outlive the session's messages.
    pub fn sign(&self, digest: &Digest) -> ostrakon_crypto::Signature {
        self.signing.sign(digest)
    }

    fn message(&self, to: Recipient, tag: Tag, body: Body) -> Message {
        let digest = body.digest();
        let body = body.into_bytes();
        let header = Header {
            session: self.roster.session,
            tag,
            from: self.id,
            to,
            length: body.len() as u64,
            digest,
        };
        Message { signed: header.sign(&self.signing), body, depth: 0 }
    }

    fn post(&self, to: PartyId, mut message: Message) {
        if !self.may_post(to, &message.signed.header) {
            return;
        }
        let tag = message.signed.header.tag;
        message.depth = self.meter.sent(tag.instance, tag.step, to, message.body.len() as u64);
        self.channel.post(to, message);
    }

    /// Sends `body` to one peer and returns what was signed.
    pub fn send(&self, to: PartyId, tag: Tag, body: impl Into<Body>) -> SignedHeader {
        let message = self.message(Recipient::One(to), tag, body.into());
        let signed = message.signed;
        self.post(to, message);
        signed
    }

    /// Sends one statement to all peers and returns what was signed.
    pub fn send_all(&self, tag: Tag, body: impl Into<Body>) -> SignedHeader {
        let message = self.message(Recipient::All, tag, body.into());
        for peer in self.peers() {
            self.post(peer, message.clone());
        }
        message.signed
    }

    /// Holds `body` ready for a peer that may or may not come to need it.
    pub fn offer(&self, to: PartyId, tag: Tag, body: impl Into<Body>) -> SignedHeader {
        let message = self.message(Recipient::One(to), tag, body.into());
        if self.may_post(to, &message.signed.header) {
            self.channel.offer(to, message.clone());
        }
        message.signed
    }

    /// Waits for `from`'s message under `tag`. Messages that are not properly signed, or not meant
    /// for this party, are as if they had never arrived.
    ///
    /// # Errors
    /// [`Refused`] if `from` signed a message under this tag that breaks the length rule.
    pub async fn receive(
        &self,
        from: PartyId,
        tag: Tag,
        length: Length,
    ) -> Result<Received, Refused> {
        self.receive_known(from, tag, length, None).await
    }

    /// The same of a message that may say what this party has as well: then the signed header is
    /// enough, which names the body by its digest, and the body need not travel.
    ///
    /// # Errors
    /// As [`Party::receive`].
    pub async fn receive_known(
        &self,
        from: PartyId,
        tag: Tag,
        length: Length,
        known: Option<&Body>,
    ) -> Result<Received, Refused> {
        loop {
            let limit = length.limit();
            let collecting = match known {
                Some(known) => self.channel.collect_known(from, tag, limit, known.digest()),
                None => self.channel.collect(from, tag, limit),
            };
            let mut message = collecting.await;
            let header = &message.signed.header;
            let addressed = match header.to {
                Recipient::One(id) => id == self.id,
                Recipient::All => true,
            };
            if header.tag != tag
                || header.from != from
                || !addressed
                || !self.roster.vouches(&message.signed)
            {
                continue;
            }
            if !length.admits(header.length) {
                return Err(Refused(message.signed));
            }
            let same = |known: &&Body| {
                (header.length, header.digest) == (known.bytes().len() as u64, known.digest())
            };
            if let Some(known) = known.filter(same) {
                message.body = known.bytes().clone();
            } else if header.length != message.body.len() as u64
                || header.digest != Header::digest_of(&message.body)
            {
                continue;
            }
            if self.recorder.as_ref().is_some_and(|recorder| !recorder.takes(header)) {
                continue;
            }
            self.meter.received(tag.instance, message.depth);
            return Ok(Received { signed: message.signed, body: message.body });
        }
    }

    /// See [`Channel::patience`].
    pub async fn patience(&self) {
        self.channel.patience().await;
    }

    /// See [`Channel::retire`].
    pub fn retire(&self, instance: Instance) {
        self.channel.retire(instance);
    }
}
