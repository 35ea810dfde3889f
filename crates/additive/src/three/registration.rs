//! Registrations (`docs/spec/clarion.md`, R2 to R5): the servers agree on them, and each comes to
//! hold the two seeds of every participant that its pairs share.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use futures::future::{join, pending};
use ostrakon_crypto::{Digest, Secret, VerifyingKey};
use ostrakon_party::{Party, Received, Step};
use ostrakon_threeparty::marks::epoch_mark;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::steps;
use ostrakon_threeparty::seal::{self, Scope, Slot};
use ostrakon_threeparty::{Marks, Protocol, Stop, Unheard};
use rayon::prelude::*;

use super::fault::Fault;
use super::handed::looked::{Opened, Registers, genuine, opened};
use super::messages::{ABOUT, Kind, LACKING_ENTRY, RegistrationSpec, SEEDS_ENTRY, Subject};
use crate::client::{BOX_BYTES, ClientSeed, Forgotten, commitment};

pub use super::handed::looked::{Looked, RegistrationKey};

/// A run of this engine.
pub type Run = ostrakon_threeparty::Run<Subject>;

/// Tells the other servers this server's public registration key of a batch, and hears theirs: the
/// same three at all honest servers. The number is that of [`Subject::Keys`] and used once.
///
/// # Errors
/// Evidence against a server that has told different keys.
pub async fn exchange_keys(
    party: &Party,
    number: u64,
    key: &RegistrationKey,
) -> Result<[[u8; 32]; 3], Stop<Fault>> {
    let run = Run { party: party.clone(), subject: Subject::Keys(number) };
    let told = async {
        let told = run.broadcast(Kind::RegistrationKey, key.public().to_vec()).await?;
        Ok(told.map(|key| key.body[..].try_into().expect("length is checked")))
    };
    run.with_accusations(told).await
}

/// What a server holds of one participant: its registration and the seeds of the own pairs.
pub struct Held {
    registration: Digest,
    seeds: [ClientSeed; 2],
}

impl Held {
    /// What a party holds of a registration that is complete.
    fn of<M: Registers>(opened: &Opened<'_, M>) -> Self {
        let seeds = opened.complete().map(|seed| ClientSeed::initial(*seed.expose()));
        Self { registration: opened.held.registration_name(), seeds }
    }

    /// The content of the registration that all servers have agreed on.
    pub fn registration(&self) -> &Digest {
        &self.registration
    }

    /// Both seeds, in the order of pairs.
    pub fn seeds(&self) -> [&ClientSeed; 2] {
        self.seeds.each_ref()
    }
}

/// Everybody who is registered, at one round.
#[derive(Default)]
pub struct Registry {
    /// In the order of registration numbers, as long as there was one occasion.
    held: Vec<(VerifyingKey, Held)>,
    /// Where each participant is, made when that is asked for first.
    places: OnceLock<HashMap<VerifyingKey, usize>>,
}

impl Registry {
    /// What is held of a participant.
    pub fn get(&self, owner: &VerifyingKey) -> Option<&Held> {
        self.place(owner).map(|place| &self.held[place].1)
    }

    fn place(&self, owner: &VerifyingKey) -> Option<usize> {
        let places = || self.held.iter().enumerate().map(|(place, (owner, _))| (*owner, place));
        self.places.get_or_init(|| places().collect()).get(owner).copied()
    }

    /// [`Registry::get`] of each of some participants. If they come in the order in which they
    /// registered, nothing is searched.
    pub fn find<'a>(&self, owners: impl Iterator<Item = &'a VerifyingKey>) -> Vec<Option<&Held>> {
        let mut rest = self.held.iter();
        let held = |owner: &VerifyingKey| match rest.as_slice() {
            [(next, held), ..] if next == owner => {
                rest.next();
                Some(held)
            }
            _ => self.get(owner),
        };
        owners.map(held).collect()
    }

    /// How many are registered.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nobody is.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Forgets a participant.
    pub fn remove(&mut self, owner: &VerifyingKey) {
        if let Some(place) = self.place(owner) {
            self.held.remove(place);
            self.places.take();
        }
    }

    /// Takes in an occasion's registrations. Who registers anew is held as registered last.
    pub fn admit(&mut self, registered: Registry) {
        let mut new = Vec::new();
        for (owner, held) in registered.held {
            match self.place(&owner) {
                Some(place) => self.held[place].1 = held,
                None => new.push((owner, held)),
            }
        }
        self.held.extend(new);
        self.places.take();
    }

    /// Hashes every seed forward, once the epochs before the round are settled at all servers.
    ///
    /// # Errors
    /// [`Forgotten`] if the round has passed.
    pub fn advance_to(&mut self, round: u64) -> Result<(), Forgotten> {
        let mut seeds: Vec<&mut ClientSeed> =
            self.held.iter_mut().flat_map(|(_, held)| &mut held.seeds).collect();
        seeds.par_iter_mut().with_min_len(1024).try_for_each(|seed| seed.advance_to(round))
    }
}

/// Why registrations could not be agreed on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unregistered {
    /// A server cheated.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// A holder says that it has a participant's seed and gives a false one: it or the other
    /// holder, who says so, lies.
    #[error("servers {0:?} disagree about a participant's seed")]
    Disagreement(Pair),
    /// A mark could not be written.
    #[error("a durable mark could not be written: {0}")]
    Marks(String),
    /// What the caller gave does not fit together; nothing was sent.
    #[error("the registration cannot begin: {0}")]
    Unfit(&'static str),
}

impl From<Fault> for Unregistered {
    fn from(fault: Fault) -> Self {
        Unregistered::Fault(Box::new(fault))
    }
}

impl From<Unheard<Fault>> for Unregistered {
    fn from(unheard: Unheard<Fault>) -> Self {
        match unheard {
            Unheard::Fault(fault) => Unregistered::Fault(fault),
            Unheard::Marks(why) => Unregistered::Marks(why),
        }
    }
}

/// Agrees on the registrations of one occasion and returns those that all servers hold. After a
/// crash the same call continues; `key` and the boxes are erased when every server has returned.
/// What was looked at for another occasion, number or owner counts as absent.
///
/// Marks, each written before what depends on it is sent: what was heard of the lists, and of the
/// signatures where these differ; the accepted list, and the list that results. A peer that says
/// other things of lacking seeds after a crash of this server is waited for without end.
///
/// # Errors
/// [`Unregistered`].
pub async fn agree(
    party: &Party,
    spec: RegistrationSpec,
    key: &RegistrationKey,
    slots: Vec<Slot<Looked>>,
    marks: &dyn Marks,
) -> Result<Registry, Unregistered> {
    let run = Run { party: party.clone(), subject: Subject::Registration(spec) };
    if !run.subject.is_valid() {
        return Err(Unregistered::Unfit("there are no slots, or too many"));
    }
    if spec.keys[usize::from(run.me())] != key.public() {
        return Err(Unregistered::Unfit("participants were told another key of this server"));
    }
    let scope = Scope { context: spec.occasion(), width: BOX_BYTES as u32 };
    let slots = genuine(&spec, slots);
    // R2.
    let (accepted, registrations) = seal::agree(&run, &scope, &slots, marks).await?;
    vote(&run, marks, steps::SEAL_VOTE, "registrations", &accepted.digest()).await?;
    let mut opened = opened(party, key, &slots, &accepted, &registrations);
    complete(&run, &accepted.digest(), &mut opened).await?;
    finish(&run, marks, opened).await
}

/// R3, R4: seeds that one holder lacks are given by the other one; who has a seed that both lack is
/// dropped, at every server alike. What is said of lacking seeds begins with the digest of the
/// accepted list that it is about. Who hears it of another list cannot tell who was lied to, and
/// goes no further.
pub(super) async fn complete<M: Registers>(
    run: &Run,
    accepted: &Digest,
    opened: &mut Vec<Opened<'_, M>>,
) -> Result<(), Unregistered> {
    // R3.
    let lacking = run.broadcast(Kind::Lacking, encode_lacking(accepted, opened)).await?;
    if lacking.iter().any(|said| said.body[..ABOUT] != accepted.0) {
        return pending().await;
    }
    let lacking = Lacking([0, 1, 2].map(|server: usize| decode_lacking(&lacking[server].body)));
    // R4.
    repair(run, &lacking, opened).await?;
    if !lacking.is_empty() {
        opened.retain(|entry| !lacking.is_lost(entry.number()));
    }
    Ok(())
}

/// What each server says that it lacks: by number, a bit for each of its pairs.
struct Lacking([BTreeMap<u32, u8>; 3]);

impl Lacking {
    /// Whether a server says that it lacks a pair's seed of a registration.
    fn lacks(&self, server: u8, number: u32, pair: Pair) -> bool {
        let bit = 1 << usize::from(Pair::of_party(server)[1] == pair);
        self.0[usize::from(server)].get(&number).is_some_and(|bits| bits & bit != 0)
    }

    /// Whether no server says that it lacks any.
    fn is_empty(&self) -> bool {
        self.0.iter().all(BTreeMap::is_empty)
    }

    /// Whether both holders lack a seed of a registration.
    fn is_lost(&self, number: u32) -> bool {
        Pair::ALL
            .iter()
            .any(|pair| pair.members().into_iter().all(|member| self.lacks(member, number, *pair)))
    }
}

/// R4: gives the peers the seeds that they alone lack, and takes the own ones from them.
async fn repair<M: Registers>(
    run: &Run,
    lacking: &Lacking,
    opened: &mut [Opened<'_, M>],
) -> Result<(), Unregistered> {
    if lacking.is_empty() {
        return Ok(());
    }
    for peer in run.peers() {
        give(run, peer, opened, |number, pair| lacking.lacks(peer, number, pair));
    }
    let me = run.me();
    let takes = |peer: u8, number: u32| {
        let pair = Pair::of(me, peer);
        lacking.lacks(me, number, pair) && !lacking.lacks(peer, number, pair)
    };
    let wanted = |peer: u8| opened.iter().any(|entry| takes(peer, entry.number()));
    let [a, b] = run.peers();
    let (from_a, from_b) = join(given(run, a, wanted(a)), given(run, b, wanted(b))).await;
    let deployment = run.party.roster.session.0;
    for (peer, received) in [(a, from_a?), (b, from_b?)] {
        let pair = Pair::of(me, peer);
        let seeds = received.map(|received| decode_seeds(&received.body)).unwrap_or_default();
        for entry in opened.iter_mut().filter(|entry| takes(peer, entry.number())) {
            let seed = seeds.get(&entry.number()).filter(|seed| {
                commitment(&deployment, entry.owner(), pair, &seed[..]) == entry.commitment(pair)
            });
            let Some(seed) = seed else { return Err(Unregistered::Disagreement(pair)) };
            entry.take(usize::from(Pair::of_party(me)[1] == pair), Secret::new(*seed));
        }
    }
    Ok(())
}

/// Marks a list by its digest, signs it, and waits until both peers have signed the same one. If
/// another one is on record, this server has signed that, and a second vote would convict it.
async fn vote(
    run: &Run,
    marks: &dyn Marks,
    step: impl Into<Step>,
    what: &str,
    digest: &Digest,
) -> Result<(), Unregistered> {
    let name = epoch_mark(&Protocol::instance(&run.subject), what);
    if marks.record(&name, &digest.0).map_err(Unregistered::Marks)? != digest.0 {
        return pending().await;
    }
    seal::vote(run, step, digest).await?;
    Ok(())
}

/// R5: all three sign the list that results.
async fn finish<M: Registers>(
    run: &Run,
    marks: &dyn Marks,
    opened: Vec<Opened<'_, M>>,
) -> Result<Registry, Unregistered> {
    let listed: Vec<(u32, Digest)> =
        opened.iter().map(|entry| (entry.number(), entry.held.registration_name())).collect();
    vote(run, marks, Kind::Registered, "registered", &seal::digest(&listed)).await?;
    let held = opened.iter().map(|entry| (*entry.owner(), Held::of(entry)));
    Ok(Registry { held: held.collect(), places: OnceLock::new() })
}

fn encode_lacking<M: Registers>(accepted: &Digest, opened: &[Opened<'_, M>]) -> Vec<u8> {
    let bits = |entry: &Opened<'_, M>| {
        let [first, second] = entry.seeds();
        u8::from(first.is_none()) | u8::from(second.is_none()) << 1
    };
    let lacking = opened.iter().filter(|entry| bits(entry) != 0);
    let entries =
        lacking.flat_map(|entry| entry.number().to_le_bytes().into_iter().chain([bits(entry)]));
    accepted.0.into_iter().chain(entries).collect()
}

fn decode_lacking(body: &[u8]) -> BTreeMap<u32, u8> {
    let entry =
        |entry: &[u8]| (u32::from_le_bytes(entry[..4].try_into().expect("4 bytes")), entry[4]);
    body[ABOUT..].chunks_exact(LACKING_ENTRY).map(entry).collect()
}

/// Gives a peer the initial seeds that it lacks and this server has.
fn give<M: Registers>(
    run: &Run,
    peer: u8,
    opened: &[Opened<'_, M>],
    lacks: impl Fn(u32, Pair) -> bool,
) {
    let pair = Pair::of(run.me(), peer);
    let place = usize::from(Pair::of_party(run.me())[1] == pair);
    let mut body = Vec::new();
    for entry in opened.iter().filter(|entry| lacks(entry.number(), pair)) {
        if let Some(seed) = &entry.seeds()[place] {
            body.extend_from_slice(&entry.number().to_le_bytes());
            body.extend_from_slice(seed.expose());
        }
    }
    if !body.is_empty() {
        run.send(peer, Kind::Seeds, body);
    }
}

async fn given(run: &Run, peer: u8, wanted: bool) -> Result<Option<Received>, Fault> {
    if wanted { run.receive(peer, Kind::Seeds).await.map(Some) } else { Ok(None) }
}

fn decode_seeds(body: &[u8]) -> BTreeMap<u32, [u8; 32]> {
    let entry = |entry: &[u8]| {
        let (number, seed) = entry.split_at(4);
        let number = u32::from_le_bytes(number.try_into().expect("4 bytes"));
        (number, seed.try_into().expect("32 bytes"))
    };
    body.chunks_exact(SEEDS_ENTRY).map(entry).collect()
}
