//! One party's view of one run: exchanges in lock-step, what was said by all, commitments and
//! coins.

use bytes::Bytes;
use futures::future::{Either, select, select_all};
use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_kernels::Prg;
use ostrakon_party::{Instance, Length, Party, PartyId, Step, Tag};
use subtle::ConstantTimeEq;

use crate::abort::Abort;

/// The kinds of messages. Numbers are part of the wire format; the wire table is in
/// `docs/spec/stormy.md`, section 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Kind {
    /// The sender has stopped; empty.
    Stop = 0x0600,
    /// Step 1: points of the base oblivious transfers.
    BasePoints = 0x0601,
    /// Step 2: sums of the levels of the trees, and what their leaves are checked with.
    Trees = 0x0602,
    /// Step 3: sums of the leaves' streams with the bits.
    Corrections = 0x0603,
    /// Step 5: the hash of the bits.
    ChoiceHash = 0x0604,
    /// Step 5: the hashes of the columns.
    ColumnHashes = 0x0605,
    /// Step 7: 65-bit strings of the leaky triples.
    Leaky = 0x0606,
    /// Step 8: the combination of the leaky triples' bits.
    Combination = 0x0607,
    /// Step 9: differences within the buckets.
    Differences = 0x0608,
    /// Steps 11, 12 and 15: shares of bits that are opened.
    Opening = 0x0609,
    /// Step 17: what the layer above states.
    Statement = 0x060a,
    /// Step 18: shares of field elements that are opened.
    Elements = 0x060b,
    /// Step 19: what a party's masks are held against.
    Account = 0x060c,
    /// C1.
    Commitment = 0x0610,
    /// C2.
    Decommitment = 0x0611,
}

impl Kind {
    /// The step under which such messages travel.
    pub fn step(self) -> Step {
        Step(self as u16)
    }
}

const NONCE: usize = 32;

/// A joint coin: nobody could foresee or choose it. It serves one check.
pub(crate) struct Coin(Digest);

impl Coin {
    /// The stream of coefficients for one purpose.
    pub(crate) fn stream(&self, purpose: u64) -> Prg {
        let mut transcript = Transcript::new("ostrakon/v1/authbits/coefficients");
        transcript.field(&self.0.0).number(purpose);
        Prg::new(&transcript.finish().0)
    }
}

/// A run as one party sees it.
pub(crate) struct Run {
    pub(crate) party: Party,
    pub(crate) instance: Instance,
    exchange: u32,
    view: Digest,
    random: Secret,
    drawn: u64,
}

impl Run {
    /// `random` must be fresh: nothing else may be drawn from it.
    pub(crate) fn new(party: Party, instance: Instance, random: Secret) -> Self {
        let view = Digest([0; 32]);
        Self { party, instance, exchange: 0, view, random, drawn: 0 }
    }

    /// The parties' number.
    pub(crate) fn parties(&self) -> usize {
        self.party.roster.keys.len()
    }

    pub(crate) fn me(&self) -> usize {
        self.party.id.index()
    }

    /// Fresh random bytes.
    pub(crate) fn draw(&mut self, out: &mut [u8]) {
        self.drawn += 1;
        self.random.fill("ostrakon/v1/authbits/randomness", &[&self.drawn.to_le_bytes()], out);
    }

    /// A fresh random stream, for much randomness.
    pub(crate) fn draw_stream(&mut self) -> Prg {
        let mut key = zeroize::Zeroizing::new([0; 32]);
        self.draw(&mut *key);
        Prg::new(&key)
    }

    /// Starts a hash about this run.
    pub(crate) fn transcript(&self, context: &'static str) -> Transcript {
        let mut transcript = Transcript::new(context);
        transcript
            .field(&self.party.roster.session.0.0)
            .number(self.instance.kind as u64)
            .field(&self.instance.scope)
            .number(self.instance.number);
        transcript
    }

    /// Whether another run is the same party's with the same peers in the same session.
    pub(crate) fn is_of_committee(&self, other: &Self) -> bool {
        self.party.id == other.party.id && self.party.roster == other.party.roster
    }

    /// Goes on from what another run has named, and from all that was said in it.
    pub(crate) fn note_run(&mut self, kind: Kind, other: &Self) {
        let name = other.transcript("ostrakon/v1/authbits/run").finish();
        self.note(kind, &[name.0, other.view.0].concat());
    }

    /// Adds to the view what all parties must have heard alike.
    pub(crate) fn note(&mut self, kind: Kind, said: &[u8]) {
        let mut transcript = Transcript::new("ostrakon/v1/authbits/view");
        transcript.field(&self.view.0).number(kind as u64).number(u64::from(self.exchange));
        transcript.bulk_field(said);
        self.view = transcript.finish();
    }

    fn next_tag(&mut self, kind: Kind) -> Tag {
        self.exchange += 1;
        Tag { instance: self.instance, step: kind.step(), sequence: self.exchange }
    }

    async fn collect(&self, tag: Tag, length: usize) -> Result<Vec<Bytes>, Abort> {
        let mut received = vec![Bytes::new(); self.parties()];
        for peer in self.party.peers() {
            let exactly = Length::Exactly(length as u64);
            let message = self.party.receive(peer, tag, exactly).await;
            received[peer.index()] = message.map_err(|_| Abort::Length(peer))?.body;
        }
        Ok(received)
    }

    /// Sends each peer its message and waits for one of `length` bytes from each. By party; what
    /// stands at the own place is neither sent nor received.
    pub(crate) async fn exchange(
        &mut self,
        kind: Kind,
        bodies: Vec<Vec<u8>>,
        length: usize,
    ) -> Result<Vec<Bytes>, Abort> {
        let tag = self.next_tag(kind);
        for (peer, body) in self.party.roster.parties().zip(bodies) {
            if peer != self.party.id {
                self.party.send(peer, tag, body);
            }
        }
        self.collect(tag, length).await
    }

    /// Sends all peers the same and waits for as much from each. By party, the own one included.
    /// Whether all have heard the same shows when views are compared: see [`Run::note`].
    pub(crate) async fn broadcast(
        &mut self,
        kind: Kind,
        body: Vec<u8>,
    ) -> Result<Vec<Bytes>, Abort> {
        let (tag, body) = (self.next_tag(kind), Bytes::from(body));
        self.party.send_all(tag, body.clone());
        let mut received = self.collect(tag, body.len()).await?;
        received[self.me()] = body;
        Ok(received)
    }

    fn commitment(&self, exchange: u32, party: PartyId, opening: &[u8]) -> Digest {
        let mut transcript = self.transcript("ostrakon/v1/authbits/commitment");
        transcript.number(u64::from(exchange)).number(u64::from(party.0)).field(opening);
        transcript.finish()
    }

    /// C1 and C2: the parties' values, by party, none of which was chosen after another.
    ///
    /// # Errors
    /// If the views differ, or a value is not what was committed to.
    pub(crate) async fn commit_open(&mut self, value: &[u8]) -> Result<Vec<Bytes>, Abort> {
        let mut opening = vec![0; NONCE];
        self.draw(&mut opening);
        opening.extend_from_slice(value);
        let exchange = self.exchange + 1;
        let own = self.commitment(exchange, self.party.id, &opening);
        let first = self.broadcast(Kind::Commitment, [self.view.0, own.0].concat()).await?;
        let parties: Vec<PartyId> = self.party.roster.parties().collect();
        for (&party, said) in parties.iter().zip(&first) {
            if said[..32] != self.view.0 {
                return Err(Abort::View(party));
            }
        }
        let mut all = Transcript::new("ostrakon/v1/authbits/commitments");
        first.iter().for_each(|said| {
            all.field(said);
        });
        let all = all.finish();
        let length = opening.len();
        opening.extend_from_slice(&all.0);
        let second = self.broadcast(Kind::Decommitment, opening).await?;
        for ((&party, said), opened) in parties.iter().zip(&first).zip(&second) {
            let (opening, view) = opened.split_at(length);
            if view != all.0 {
                return Err(Abort::View(party));
            }
            let committed = self.commitment(exchange, party, opening).0;
            if !bool::from(committed.ct_eq(&said[32..])) {
                return Err(Abort::Commitment(party));
            }
        }
        Ok(second.into_iter().map(|opened| opened.slice(NONCE..length)).collect())
    }

    /// Tosses a joint coin; compares the views on the way.
    ///
    /// # Errors
    /// As [`Run::commit_open`].
    pub(crate) async fn toss(&mut self) -> Result<Coin, Abort> {
        let mut contribution = [0; 32];
        self.draw(&mut contribution);
        let all = self.commit_open(&contribution).await?;
        let mut transcript = self.transcript("ostrakon/v1/authbits/coin");
        transcript.number(u64::from(self.exchange));
        all.iter().for_each(|value| {
            transcript.field(value);
        });
        Ok(Coin(transcript.finish()))
    }
}

/// Runs `main` unless a peer says first that it has stopped in one of the instances; if this party
/// stops, it says so in all.
pub(crate) async fn guarded<T>(
    party: &Party,
    instances: &[Instance],
    main: impl Future<Output = Result<T, Abort>>,
) -> Result<T, Abort> {
    let tag = |&instance: &Instance| Tag { instance, step: Kind::Stop.step(), sequence: 0 };
    let stops = party.peers().flat_map(|peer| {
        instances.iter().map(move |instance| {
            Box::pin(async move {
                let _ = party.receive(peer, tag(instance), Length::Exactly(0)).await;
                peer
            })
        })
    });
    let result = match select(Box::pin(main), select_all(stops)).await {
        Either::Left((result, _)) => result,
        Either::Right(((peer, _, _), _)) => Err(Abort::Stopped(peer)),
    };
    if result.is_err() {
        for instance in instances {
            party.send_all(tag(instance), Vec::new());
        }
    }
    result
}
