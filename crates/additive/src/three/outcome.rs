//! How an epoch ends, alike at honest servers and over crashes (`docs/spec/clarion.md`, E14 and
//! section 7).
//!
//! Two marks, each written before the message that follows from it. *Outcome* is "ready", for one
//! digest, or "stopped", with the reason. *Certificate* is the collection of three Readys, or
//! "withdrawn", with who had stopped.

use futures::future::{Either, join, pending, select};
use ostrakon_crypto::Digest;
use ostrakon_party::{Header, PartyId, SignedHeader, wire};
use ostrakon_threeparty::Marks;
use ostrakon_threeparty::marks::epoch_mark;
use ostrakon_threeparty::run::either;
use serde::{Deserialize, Serialize};

use super::fault::Abort;
use super::halt::Unmixed;
use super::messages::{Kind, abort_limit};
use super::registration::Run;

/// What stands as the outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Standing {
    /// Ready for this digest.
    Ready(Digest),
    /// Stopped by a server for a reason.
    Stopped(PartyId, Abort),
}

/// What a server that is ready has decided on.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Decision {
    Certified(Box<[SignedHeader; 3]>),
    Withdrawn(PartyId),
}

/// A collection, and who has sent it.
type Sent = (u8, [SignedHeader; 3]);

/// The marks of one epoch's end.
#[derive(Clone, Copy)]
pub struct Outcome<'a> {
    /// The run.
    pub run: &'a Run,
    /// Where marks are kept.
    pub marks: &'a dyn Marks,
}

/// Whether a mark's value says that Ready may have been signed.
pub fn is_ready(mark: &[u8]) -> bool {
    !matches!(wire::decode(mark), Ok(Standing::Stopped(..)))
}

impl Outcome<'_> {
    /// Marks one of the two, unless one stands. Returns what stands.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn settle(&self, outcome: &Standing) -> Result<Standing, Unmixed> {
        self.record("outcome", outcome)
    }

    /// What stands, as far as the store tells.
    ///
    /// # Errors
    /// [`Unmixed::Marks`].
    pub fn standing(&self) -> Result<Option<Standing>, Unmixed> {
        self.read("outcome")
    }

    fn read<T: Serialize + serde::de::DeserializeOwned>(
        &self,
        what: &str,
    ) -> Result<Option<T>, Unmixed> {
        let name = self.name(what);
        let standing = self.marks.standing(&name).map_err(Unmixed::Marks)?;
        let decode = |mark: Vec<u8>| wire::decode(&mark);
        standing.map(decode).transpose().map_err(|_| Unmixed::Marks(format!("{name} is damaged")))
    }

    fn name(&self, what: &str) -> String {
        epoch_mark(&ostrakon_threeparty::Protocol::instance(&self.run.subject), what)
    }

    fn record<T: Serialize + serde::de::DeserializeOwned>(
        &self,
        what: &str,
        value: &T,
    ) -> Result<T, Unmixed> {
        let name = self.name(what);
        let standing = self.marks.record(&name, &wire::encode(value)).map_err(Unmixed::Marks)?;
        wire::decode(&standing).map_err(|_| Unmixed::Marks(format!("{name} is damaged")))
    }

    /// Stops, unless this server may have signed Ready: marks it and says so to both peers. For a
    /// server that is ready, the digest for which it is.
    ///
    /// # Errors
    /// Why it stops, or [`Unmixed::Marks`].
    pub fn stop(&self, by: PartyId, why: Abort) -> Result<Digest, Unmixed> {
        match self.settle(&Standing::Stopped(by, why))? {
            Standing::Ready(digest) => Ok(digest),
            Standing::Stopped(by, why) => Err(self.stopped(by, why)),
        }
    }

    /// Says to both peers that this server has stopped, which is marked.
    pub fn stopped(&self, by: PartyId, why: Abort) -> Unmixed {
        let shown = match &why {
            // Another's reason is not this server's to vouch for, unless it proves itself.
            Abort::Fault(_) | Abort::Contradiction(_) => why.clone(),
            _ if by == self.run.party.id => why.clone(),
            _ => Abort::Told,
        };
        let mut body = wire::encode(&shown);
        if body.len() as u64 > abort_limit(&self.run.subject) {
            // A peer's own malformed reason may be the evidence.
            body = wire::encode(&Abort::Told);
        }
        self.run.send_all(Kind::Abort, body);
        match why {
            Abort::Fault(fault) => Unmixed::Fault(fault),
            why => Unmixed::Aborted {
                by,
                pair: why.pair(&self.run.party.roster, &self.run.subject, by),
            },
        }
    }

    /// Signs Ready for the digest, which is marked, and waits until all three have, or all have
    /// stopped. `heard` is a peer that is known to have stopped.
    ///
    /// # Errors
    /// [`Unmixed::Aborted`] or [`Unmixed::Marks`].
    pub async fn certify(&self, digest: &Digest, heard: Option<u8>) -> Result<(), Unmixed> {
        let own = self.run.send_all(Kind::Ready, digest.0.to_vec());
        let (decision, votes) = match self.read("certificate")? {
            Some(decision) => (decision, None),
            None => self.decide(own, digest, heard).await?,
        };
        self.obey(decision, votes, digest).await
    }

    /// Waits for three Readys or for somebody who stops, and marks which came. A collection that a
    /// peer sent comes with who that was.
    async fn decide(
        &self,
        own: SignedHeader,
        digest: &Digest,
        heard: Option<u8>,
    ) -> Result<(Decision, Option<Sent>), Unmixed> {
        let run = self.run;
        let [a, b] = run.peers();
        let direct = async {
            let (x, y) = join(ready(run, a, digest), ready(run, b, digest)).await;
            ([own, x, y], None)
        };
        let proof = either(direct, either(collected(run, a, digest), collected(run, b, digest)));
        let aborted = async {
            match heard {
                Some(by) => by,
                None => either(stopped_by(run, a), stopped_by(run, b)).await,
            }
        };
        let (decision, votes) = match select(Box::pin(proof), Box::pin(aborted)).await {
            Either::Left(((votes, from), _)) => {
                (Decision::Certified(Box::new(votes)), from.map(|from| (from, votes)))
            }
            Either::Right((by, _)) => (Decision::Withdrawn(PartyId(by)), None),
        };
        Ok((self.record("certificate", &decision)?, votes))
    }

    /// Does what is on record.
    async fn obey(
        &self,
        decision: Decision,
        votes: Option<Sent>,
        digest: &Digest,
    ) -> Result<(), Unmixed> {
        let run = self.run;
        let by = match decision {
            Decision::Certified(votes) => return self.relay(&votes),
            Decision::Withdrawn(by) => by,
        };
        run.send_all(Kind::Withdrawn, Vec::new());
        let other = run.honest_beside(by);
        if let Some((_, votes)) = votes.filter(|(from, _)| *from == other) {
            return self.relay(&votes);
        }
        let also = either(stopped_by(run, other), withdrawn(run, other));
        let proof = Box::pin(collected(run, other, digest));
        match select(proof, Box::pin(also)).await {
            Either::Left(((votes, _), _)) => self.relay(&votes),
            Either::Right(_) => Err(Unmixed::Aborted { by, pair: None }),
        }
    }

    fn relay(&self, votes: &[SignedHeader; 3]) -> Result<(), Unmixed> {
        self.run.send_all(Kind::Collection, wire::encode(votes));
        Ok(())
    }
}

/// Waits until a peer says why it has stopped.
pub async fn abort(run: &Run, from: u8) -> (PartyId, Abort) {
    let why = match run.receive(from, Kind::Abort).await {
        Ok(received) => wire::decode(&received.body).expect("receiving has checked the content"),
        Err(fault) => Abort::Fault(Box::new(fault)),
    };
    (PartyId(from), why)
}

async fn stopped_by(run: &Run, from: u8) -> u8 {
    abort(run, from).await.0.0
}

async fn withdrawn(run: &Run, from: u8) -> u8 {
    match run.receive(from, Kind::Withdrawn).await {
        Ok(_) => from,
        Err(_) => pending().await,
    }
}

/// A peer's vote for this digest; anything else is as nothing.
async fn ready(run: &Run, from: u8, digest: &Digest) -> SignedHeader {
    match run.receive(from, Kind::Ready).await {
        Ok(received) if received.body[..] == digest.0 => received.signed,
        _ => pending().await,
    }
}

/// A peer's collection of three votes for this digest; anything else is as nothing.
async fn collected(run: &Run, from: u8, digest: &Digest) -> ([SignedHeader; 3], Option<u8>) {
    if let Ok(received) = run.receive(from, Kind::Collection).await
        && let Ok(votes) = wire::decode::<[SignedHeader; 3]>(&received.body)
    {
        let vote = Header::digest_of(&digest.0);
        let of = |party: PartyId| {
            votes.iter().any(|signed| {
                let header = &signed.header;
                header.from == party
                    && header.tag == run.tag(Kind::Ready)
                    && header.digest == vote
                    && run.party.roster.vouches(signed)
            })
        };
        if run.party.roster.parties().all(of) {
            return (votes, Some(from));
        }
    }
    pending().await
}
