//! One epoch on one server (`docs/spec/clarion.md`, E0 to E15).

use std::borrow::{Borrow, Cow};

use futures::future::{Either, pending, select, try_join, try_join3};
use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_party::{Body, Party, PartyId, Received, SignedHeader, wire};
use ostrakon_threeparty::marks::epoch_mark;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::steps;
use ostrakon_threeparty::run::either;
use ostrakon_threeparty::seal::{self, Scope, Slot, Unsealed};
use ostrakon_threeparty::{Offence, Protocol, coin};
use rayon::prelude::*;

use super::checks::{Checks, Made, place};
use super::columns;
use super::fault::{Abort, Fault};
use super::keys::{BatchKeys, EpochKeys, PairStatement, Purpose};
use super::messages::{EpochSpec, Kind, Subject, TABLES, decode_tables, stated_by};
use super::opening::Opening;
use super::outcome::{self, Outcome, Standing};
use super::registration::{Held, Registry, Run, Unregistered};
use super::tables::{Mixing, Owner, Pads};
use super::{P1, P2};
use crate::client::PadContext;

pub use super::intake::{Refused, TakenIn, check, signed, verify_signature};
pub use super::prints::Prints;
pub use ostrakon_threeparty::Marks;

/// Why an epoch ended without an output. Nothing of the rows has been revealed, but where something
/// else is said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmixed {
    /// A server is proved to have cheated.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// A server has stopped. Who is at fault cannot be proved.
    #[error("{by} has stopped the epoch; one of {pair:?} is at fault")]
    Aborted {
        /// Who stopped first, as far as is known here.
        by: PartyId,
        /// The two of whom one is at fault, as far as it can be told.
        pair: Option<Pair>,
    },
    /// Fewer submissions than the minimum, not counting the largest class.
    #[error("only {0} submissions can be vouched for")]
    TooFew(u32),
    /// The batch has been spent on other rows.
    #[error("the batch is already spent on other rows")]
    Spent,
    /// A mark could not be written or read: the epoch is to be tried again once that is possible.
    /// This server may have been ready, so the others may open and read all: [`may_have_opened`]
    /// tells.
    #[error("a durable mark could not be written: {0}")]
    Marks(String),
    /// What the caller gave does not fit together; nothing of the mix was sent.
    #[error("the epoch cannot begin: {0}")]
    Unfit(&'static str),
}

/// Why the computation ends before Ready.
pub enum Halt {
    /// Something to be told to the peers.
    Stop(Abort),
    /// An end that all find alike, or a failure of this server alone.
    End(Unmixed),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Stop(Abort::Fault(Box::new(fault)))
    }
}

impl From<Unsealed<Fault>> for Halt {
    fn from(unsealed: Unsealed<Fault>) -> Self {
        match unsealed {
            Unsealed::Fault(fault) => Halt::Stop(Abort::Fault(fault)),
            Unsealed::Marks(why) => Halt::End(Unmixed::Marks(why)),
        }
    }
}

impl From<Unregistered> for Halt {
    fn from(why: Unregistered) -> Self {
        match why {
            Unregistered::Fault(fault) => Halt::Stop(Abort::Fault(fault)),
            Unregistered::Disagreement(pair) => Halt::Stop(Abort::Seeds(pair)),
            Unregistered::Marks(why) => Halt::End(Unmixed::Marks(why)),
            Unregistered::Unfit(why) => Halt::End(Unmixed::Unfit(why)),
        }
    }
}

/// The batch's mark: the one sealed list that it may be used on.
pub fn spent_mark(spec: &EpochSpec) -> String {
    format!("clarion batch {} spent on", spec.batch)
}

/// Whether, by its marks, this server may have let somebody read messages of the epoch. It has not
/// if it never was ready, or if it stopped.
pub fn may_have_opened(spec: &EpochSpec, marks: &[(String, Vec<u8>)]) -> bool {
    let name = epoch_mark(&spec.instance(), "outcome");
    marks.iter().any(|(mark, value)| *mark == name && outcome::is_ready(value))
}

/// Mixes. After a crash the same call with the same slots, registry and batch continues: what this
/// server sends again is what it sent before.
///
/// `registry` brings those who are registered. Where they register for this epoch alone it is
/// [`super::registration::agree`], which a crash has repeated like the rest: like the rest, it then
/// stops nobody who was ready.
///
/// Marks, each written before the message that depends on it is sent: its contribution to the coin;
/// all commitments to it; the lists, if they differ; the sealed list; what the batch is spent on;
/// the header of each table received; the joint coin; the outcome and the certificate.
///
/// `randomness` is 32 fresh random bytes.
///
/// If this server was ready before a crash, and its store tells so ([`Marks::standing`]), it says
/// so again at once, or that it has stopped: it may be what the others wait for.
///
/// # Errors
/// [`Unmixed`].
pub async fn mix<R: Borrow<Registry>>(
    party: &Party,
    batch: BatchKeys,
    spec: EpochSpec,
    slots: Vec<Slot<TakenIn<'_>>>,
    registry: impl Future<Output = Result<R, Unregistered>>,
    marks: &dyn Marks,
    randomness: [u8; 32],
) -> Result<Mixed, Unmixed> {
    if batch.number() != spec.batch {
        return Err(Unmixed::Spent);
    }
    let run = Run { party: party.clone(), subject: Subject::Epoch(spec) };
    if !run.subject.is_valid() {
        return Err(Unmixed::Unfit("its size is not within the limits"));
    }
    let outcome = Outcome { run: &run, marks };
    let mixing = async {
        let registry = registry.await?;
        let epoch = Epoch { run: &run, spec: &spec, marks, registry: registry.borrow() };
        epoch.checked(batch.epoch(&spec), slots, randomness).await
    };
    let state = match outcome.standing()? {
        Some(Standing::Ready(digest)) => resumed(outcome, &digest, mixing).await?,
        Some(Standing::Stopped(by, why)) => return Err(outcome.stopped(by, why)),
        None => {
            let (mixed, heard) = until_ready(&run, outcome, mixing).await?;
            outcome.certify(&mixed.ready, heard).await?;
            mixed
        }
    };
    Ok(Mixed { run, state })
}

/// For a server that was ready before a crash: repeats the mix, for which it needs its peers, and
/// beside it says that it is ready, for which it needs its marks alone.
async fn resumed(
    outcome: Outcome<'_>,
    ready: &Digest,
    mixing: impl Future<Output = Result<Checked, Halt>>,
) -> Result<Checked, Unmixed> {
    let certifying = Box::pin(outcome.certify(ready, None));
    let finished = match select(certifying, Box::pin(mixing)).await {
        Either::Left((certified, mixing)) => {
            certified?;
            mixing.await
        }
        Either::Right((Err(Halt::End(unmixed)), _)) => return Err(unmixed),
        Either::Right((finished, certifying)) => {
            certifying.await?;
            finished
        }
    };
    match finished {
        Ok(checked) if checked.ready == *ready => Ok(checked),
        Err(Halt::End(unmixed)) => Err(unmixed),
        // A peer shows other things than before: who has the tables publishes.
        Ok(_) | Err(Halt::Stop(_)) => pending().await,
    }
}

/// Runs the computation unless a peer stops first, and marks the outcome. A server that was ready
/// before a crash no longer stops alone; it then returns, beside what it mixed, who has stopped.
async fn until_ready(
    run: &Run,
    outcome: Outcome<'_>,
    mixing: impl Future<Output = Result<Checked, Halt>>,
) -> Result<(Checked, Option<u8>), Unmixed> {
    let [a, b] = run.peers();
    let heard = Box::pin(either(outcome::abort(run, a), outcome::abort(run, b)));
    let (finished, heard) = match select(Box::pin(mixing), heard).await {
        Either::Left((finished, _)) => (finished, None),
        Either::Right(((by, why), mixing)) => {
            outcome.stop(by, checked_reason(run, by, why))?;
            (mixing.await, Some(by.0))
        }
    };
    let ready = match finished {
        Ok(checked) => match outcome.settle(&Standing::Ready(checked.ready))? {
            Standing::Ready(before) if before == checked.ready => return Ok((checked, heard)),
            Standing::Ready(before) => before,
            Standing::Stopped(by, why) => return Err(outcome.stopped(by, why)),
        },
        Err(Halt::Stop(why)) => outcome.stop(run.party.id, why)?,
        Err(Halt::End(unmixed)) => return Err(unmixed),
    };
    // Ready before a crash, and without the tables now: if all are, who has them publishes.
    outcome.certify(&ready, heard).await?;
    pending().await
}

/// A peer's reason, if it stands by itself; otherwise that it has stopped.
fn checked_reason(run: &Run, by: PartyId, why: Abort) -> Abort {
    let roster = &run.party.roster;
    match &why {
        Abort::Fault(fault)
            if fault.subject == run.subject
                && fault.culprit != run.party.id
                && fault.verify(roster) =>
        {
            why
        }
        Abort::Contradiction(found) if found.pair(roster, &run.subject).is_some() => why,
        Abort::Fault(_) | Abort::Contradiction(_) => Abort::Told,
        // On a peer's word alone only a pair that it is in is suspected.
        Abort::Keys(pair) | Abort::Seeds(pair) if !pair.contains(by.0) => Abort::Told,
        _ => why,
    }
}

/// A mixed and checked table on one server, which all three servers are ready to open.
pub struct Mixed {
    run: Run,
    state: Checked,
}

/// The rows in their new order.
pub struct Opened {
    /// All sealed rows.
    pub table: Vec<u8>,
    /// How many they are.
    pub accepted: u32,
    /// What was proved against a server on the way.
    pub faults: Vec<Fault>,
}

impl Mixed {
    /// Opens the rows (E15).
    pub async fn open(self) -> Opened {
        let Checked { mixing, made, seeds, tables, z1, .. } = self.state;
        let opening =
            Opening { run: &self.run, mixing: &mixing, made, seeds: &seeds, tables: &tables, z1 };
        let (table, faults) = opening.run().await;
        Opened { table, accepted: mixing.rows as u32, faults }
    }
}

/// What a server holds once every check has passed.
struct Checked {
    ready: Digest,
    mixing: Mixing,
    made: Made,
    seeds: [Received; 3],
    tables: [Received; 3],
    z1: Digest,
}

/// What is sealed, as tables need it.
struct Sealed<'a, 's> {
    digest: Digest,
    owners: Vec<Owner<'a>>,
    /// In order of slots.
    submissions: Vec<Cow<'s, TakenIn<'s>>>,
}

/// Slots, and what is held of their owners.
type Registered<'a, 't> = (Vec<Slot<TakenIn<'t>>>, Vec<&'a Held>);

/// Whose accepted slots are, both lists being in ascending order.
fn owners<'a>(
    slots: &[Slot<TakenIn<'_>>],
    held: &[&'a Held],
    accepted: &[(u32, Digest)],
) -> Vec<Owner<'a>> {
    let mut known = slots.iter().zip(held);
    let owner = |(slot, _): &(u32, Digest)| {
        let known = known.find(|(known, _)| known.slot == *slot);
        let (known, held) = known.expect("accepted slots are among the given ones, in order");
        Owner { slot: *slot, key: known.owner, held }
    };
    accepted.iter().map(owner).collect()
}

struct Epoch<'a> {
    run: &'a Run,
    spec: &'a EpochSpec,
    marks: &'a dyn Marks,
    registry: &'a Registry,
}

impl<'a> Epoch<'a> {
    fn record(&self, what: &str, value: &[u8]) -> Result<Vec<u8>, Halt> {
        let name = epoch_mark(&self.run.subject.instance(), what);
        self.marks.record(&name, value).map_err(|why| Halt::End(Unmixed::Marks(why)))
    }

    /// E0 to E13.
    async fn checked(
        &self,
        keys: EpochKeys,
        slots: Vec<Slot<TakenIn<'_>>>,
        randomness: [u8; 32],
    ) -> Result<Checked, Halt> {
        let (slots, held) = self.registered(slots)?;
        let (seeds, coin, sealed) = self.sealed(&keys, &slots, &held, randomness).await?;
        let (rows, width) = (sealed.owners.len(), self.spec.width as usize);
        let mixing = Mixing::new(rows, width, keys);
        let context = PadContext::new(&self.spec.context, self.spec.round);
        let pads = Pads::new(context, &sealed.owners);
        let padded: Vec<&[u8]> = sealed.submissions.iter().map(|taken| taken.padded()).collect();
        let (made, headers) = self.tables(&mixing, &pads, &padded).await?;
        let (tables, digests) = self.stated(&headers).await?;
        let coin = self.toss(coin).await?;
        let c = columns::vectors(&coin, width);
        let checks =
            Checks { run: self.run, mixing: &mixing, pads: &pads, padded: &padded, made, c };
        let made = checks.run().await?;
        let mut transcript = Transcript::new("ostrakon/v1/clarion/ready");
        transcript.field(&sealed.digest.0).field(&coin.0);
        digests.iter().for_each(|digest| {
            transcript.field(&digest.0);
        });
        let (ready, z1) = (transcript.finish(), digests[2]);
        Ok(Checked { ready, mixing, made, seeds, tables, z1 })
    }

    /// E0 to E5.
    async fn sealed<'s>(
        &self,
        keys: &EpochKeys,
        slots: &'s [Slot<TakenIn<'s>>],
        held: &[&'a Held],
        randomness: [u8; 32],
    ) -> Result<([Received; 3], coin::Committed, Sealed<'a, 's>), Halt> {
        let (run, spec) = (self.run, self.spec);
        let contribution = self.contribution(randomness)?;
        let (nonce, value) = contribution.split_at(32);
        let nonce = nonce.try_into().expect("half of 64 bytes");
        let steps_of_coin = (steps::COIN_COMMITMENT, steps::COIN_OPENING);
        let statement = PairStatement::encode(&keys.statement());
        let scope = Scope { context: spec.signed(), width: spec.width };
        let (seeds, committed, (accepted, submissions)) = try_join3(
            async { run.broadcast(Kind::SeedStatement, statement).await.map_err(Halt::from) },
            async { coin::commit(run, steps_of_coin, nonce, value).await.map_err(Halt::from) },
            async { seal::agree(run, &scope, slots, self.marks).await.map_err(Halt::from) },
        )
        .await?;
        self.stand_by(&committed)?;
        for pair in Pair::ALL {
            let [x, y] = pair
                .members()
                .map(|member| PairStatement::of(&seeds[usize::from(member)].body, member, pair));
            if x != y {
                return Err(Halt::Stop(Abort::Keys(pair)));
            }
        }
        let digest = self.seal(&accepted).await?;
        let owners = owners(slots, held, &accepted);
        Ok((seeds, committed, Sealed { digest, owners, submissions }))
    }

    /// The slots of those who are registered, in ascending order and with what is held of their
    /// owners, without submissions that name another registration. Seeds of another round are
    /// nobody's for this epoch: with them, two epochs could have the same pads.
    fn registered<'t>(
        &self,
        mut slots: Vec<Slot<TakenIn<'t>>>,
    ) -> Result<Registered<'a, 't>, Halt> {
        slots.retain(|slot| slot.slot < self.spec.slots);
        slots.sort_unstable_by_key(|slot| slot.slot);
        let (width, round, registry) = (self.spec.width as usize, self.spec.round, self.registry);
        let mut found = registry.find(slots.iter().map(|slot| &slot.owner));
        let look = |(slot, held): (&mut Slot<TakenIn<'t>>, &mut Option<&'a Held>)| {
            let Some(held) = held else { return };
            let fits = |submission: &TakenIn<'t>| {
                submission.registration() == *held.registration()
                    && submission.padded().len() == width
            };
            slot.submission = slot.submission.take().filter(fits);
        };
        slots.par_iter_mut().zip(&mut found).with_min_len(1024).for_each(look);
        let mut known = found.iter();
        slots.retain(|_| known.next().is_some_and(Option::is_some));
        let held: Vec<&'a Held> = found.into_iter().flatten().collect();
        if held.iter().all(|held| held.seeds().iter().all(|seed| seed.round() == round)) {
            return Ok((slots, held));
        }
        Err(Halt::End(Unmixed::Unfit("the seeds are of another round than the epoch")))
    }

    /// This server's nonce and contribution to the coin, the same after a crash.
    fn contribution(&self, randomness: [u8; 32]) -> Result<Vec<u8>, Halt> {
        let mut drawn = [0; 64];
        Secret::new(randomness).fill("ostrakon/v1/clarion/coin contribution", &[], &mut drawn);
        let standing = self.record("coin contribution", &drawn)?;
        if standing.len() != drawn.len() {
            return Err(Halt::End(Unmixed::Marks("the coin's mark is damaged".to_owned())));
        }
        Ok(standing)
    }

    /// Marks everybody's commitment to the coin, before the seal vote and so before anybody opens.
    /// Who commits to something else after a crash has seen what the coin would be, or would let
    /// the two others compute with different ones.
    fn stand_by(&self, committed: &coin::Committed) -> Result<(), Halt> {
        let heard = committed.headers();
        let standing = self.record("coin commitments", &wire::encode(&heard))?;
        let standing: [SignedHeader; 3] = wire::decode(&standing)
            .map_err(|_| Halt::End(Unmixed::Marks("the coin's mark is damaged".to_owned())))?;
        for (before, now) in standing.into_iter().zip(heard) {
            if before.contradicts(&now) {
                let two = Offence::Equivocation(Box::new([before, now]));
                return Err(self.run.fault(now.header.from, two).into());
            }
        }
        Ok(())
    }

    /// E4, E5.
    async fn seal(&self, accepted: &[(u32, Digest)]) -> Result<Digest, Halt> {
        let count = seal::guaranteed(accepted.iter().map(|(slot, _)| *slot));
        let digest = seal::digest(accepted);
        let enough = count >= self.spec.minimum && !accepted.is_empty();
        let result: &[u8] = if enough { &digest.0 } else { &[] };
        let standing = self.record("sealed", result)?;
        if standing.is_empty() {
            return Err(Halt::End(Unmixed::TooFew(count)));
        }
        if standing != result {
            // A peer shows other signatures than before a restart; this server may be ready.
            return pending().await;
        }
        let spent = self.marks.record_spent(&spent_mark(self.spec), result);
        if spent.map_err(|why| Halt::End(Unmixed::Marks(why)))? != result {
            return Err(Halt::End(Unmixed::Spent));
        }
        seal::vote(self.run, steps::SEAL_VOTE, &digest).await?;
        Ok(digest)
    }

    /// E6 to E8. Returns this server's tables and the signed headers of what it sent and received.
    async fn tables(
        &self,
        mixing: &Mixing,
        pads: &Pads<'_>,
        padded: &[&[u8]],
    ) -> Result<(Made, Vec<SignedHeader>), Halt> {
        let mut held = Tables { made: [None, None, None, None], headers: [None; 4] };
        let inner = match self.run.me() {
            // What is long travels when it is asked for, so that comes first.
            P1 => {
                let while_z2_comes = async {
                    mixing.permutation(Purpose::Pi1);
                    Ok(mixing.padless(padded, pads))
                };
                let (z2, padless) = try_join(self.table(mixing, Kind::Z2), while_z2_comes).await?;
                held.keep(Kind::Z2, z2);
                let y = mixing.y(padless, held.message(Kind::Z2));
                held.keep(Kind::Z1, self.send_table(Kind::Z1, mixing.z1(&y)));
                held.keep(Kind::S, self.table(mixing, Kind::S).await?);
                y
            }
            P2 => {
                let sending = async {
                    let z2 = self.send_table(Kind::Z2, mixing.z2(pads));
                    mixing.permutation(Purpose::Pi2);
                    Ok(z2)
                };
                let (delta, z1, z2) = try_join3(
                    self.table(mixing, Kind::Delta),
                    self.table(mixing, Kind::Z1),
                    sending,
                )
                .await?;
                held.keep(Kind::Z2, z2);
                held.keep(Kind::Delta, delta);
                held.keep(Kind::Z1, z1);
                let s = mixing.s(held.message(Kind::Z1), held.message(Kind::Delta));
                held.keep(Kind::S, self.send_table(Kind::S, s));
                Vec::new()
            }
            _ => {
                let (delta, inner) = mixing.delta();
                held.keep(Kind::Delta, self.send_table(Kind::Delta, delta));
                inner
            }
        };
        let headers = held.headers.into_iter().flatten().collect();
        Ok((Made { messages: held.made, inner }, headers))
    }

    fn send_table(&self, kind: Kind, message: Vec<u8>) -> (SignedHeader, Body) {
        let route = TABLES.into_iter().find(|table| table.kind == kind).expect("a table");
        let body = Body::from(message);
        (self.run.send(route.to, kind, body.clone()), body)
    }

    /// Receives a table and marks its header: what follows from it is sent for no other. Returns
    /// the header that stands: its signer can sign it in many ways, and what this server states of
    /// it must be the same after a crash.
    async fn table(&self, mixing: &Mixing, kind: Kind) -> Result<(SignedHeader, Body), Halt> {
        let route = TABLES.into_iter().find(|table| table.kind == kind).expect("a table");
        let received = self.run.receive(route.from, kind).await?;
        let name = format!("received {:04x}", kind.step().0);
        let standing = self.record(&name, &wire::encode(&received.signed))?;
        let standing: SignedHeader = wire::decode(&standing)
            .map_err(|_| Halt::End(Unmixed::Marks(format!("the mark {name} is damaged"))))?;
        if standing.contradicts(&received.signed) {
            let two = Offence::Equivocation(Box::new([standing, received.signed]));
            return Err(self.run.fault(PartyId(route.from), two).into());
        }
        if received.body.len() != mixing.message() {
            return Err(Halt::Stop(Abort::Table(kind)));
        }
        Ok((standing, received.into_body()))
    }

    /// E9. Returns all statements and the digests of the four tables.
    async fn stated(
        &self,
        headers: &Vec<SignedHeader>,
    ) -> Result<([Received; 3], [Digest; 4]), Halt> {
        let stated = self.run.broadcast(Kind::TableStatement, wire::encode(headers)).await?;
        let roster = &self.run.party.roster;
        let mut digests: [Option<SignedHeader>; 4] = [None; 4];
        for (party, statement) in stated.iter().enumerate() {
            let id = PartyId(party as u8);
            let headers = decode_tables(&self.run.subject, roster, id, &statement.body)
                .expect("receiving has checked the content");
            for (route, header) in stated_by(id.0).zip(headers) {
                let place = TABLES.iter().position(|table| *table == route).expect("a table");
                match digests[place] {
                    Some(before) if before.contradicts(&header) => {
                        let two = Offence::Equivocation(Box::new([before, header]));
                        return Err(self.run.fault(PartyId(route.from), two).into());
                    }
                    _ => digests[place] = Some(header),
                }
            }
        }
        let digest = |header: Option<SignedHeader>| {
            header.expect("every table is stated twice").header.digest
        };
        Ok((stated, digests.map(digest)))
    }

    /// E10.
    async fn toss(&self, committed: coin::Committed) -> Result<Digest, Halt> {
        let openings = committed.open(self.run).await?;
        let coin = coin::joint_coin(openings.iter().map(|opening| &opening.body[..]));
        if self.record("coin", &coin.0)? != coin.0 {
            return Err(Halt::Stop(Abort::Coin));
        }
        Ok(coin)
    }
}

/// A server's tables as they come.
struct Tables {
    made: [Option<Body>; 4],
    headers: [Option<SignedHeader>; 4],
}

impl Tables {
    fn keep(&mut self, kind: Kind, (header, body): (SignedHeader, Body)) {
        self.headers[place(kind)] = Some(header);
        self.made[place(kind)] = Some(body);
    }

    fn message(&self, kind: Kind) -> &[u8] {
        self.made[place(kind)].as_ref().expect("kept before").bytes()
    }
}
