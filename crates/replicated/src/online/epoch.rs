//! One epoch on one server: seal, shuffle, certify, open (Ruffle §5.1; `docs/spec/ruffle.md`,
//! "Epoch").

use bytes::Bytes;
use futures::future::{Either, pending, select};
use ostrakon_party::{Body, Header, Party, Received};
use ostrakon_threeparty::marks::epoch_mark;

use crate::accusation::fault::{Evidence, Fault, Statement};
use crate::accusation::material::PadsEvidence;
use crate::batch::pads::{self, Show, Unpadding};
use crate::messages::{EpochSpec, Kind, Subject};
use crate::online::dispute::{Disputes, Known};
use crate::online::outcome::{self, Decision, Outcome, Standing};
use crate::online::output;
use crate::online::seal::{self, Sealed, Slot, Standing as Seal, Told, guaranteed};
use crate::online::shuffle::{self, Shuffled};
use crate::online::trusted;
use crate::pair::Pair;
use crate::preparation::stock::Stock;
use crate::run::{HEARD, Run, either};

pub use crate::online::unmixed::Unmixed;
pub use ostrakon_threeparty::Marks;

/// A mixed table. Its rows are still masked by α_out unless a trusted server finished.
pub struct Mixed(Inner);

enum Inner {
    Certified { run: Run, stock: Box<Stock>, certified: Certified },
    Trusted { finished: trusted::Finished, fault: Box<Fault> },
}

/// A shuffle's output that all three servers have certified.
struct Certified {
    beta_out: Bytes,
    accepted: u32,
    /// Memory of β's size that nobody uses any more.
    room: Vec<u8>,
}

/// The rows in their new order.
pub struct Opened {
    /// All rows; those of absent slots are noise.
    pub table: Vec<u8>,
    /// How many submissions are among them.
    pub accepted: u32,
    /// The server that finished alone, if one did.
    pub trusted: Option<u8>,
    /// What was proved against a server on the way.
    pub faults: Vec<Fault>,
}

/// The batch's mark: the digest of the one table that it may be used on.
pub fn spent_mark(spec: &EpochSpec) -> String {
    format!("batch {} spent on", spec.batch.number)
}

/// Whether, by its marks, this server may have let somebody read messages of the epoch: nothing is
/// opened without its readiness, which it marks first. In robust mode a trusted server is shown
/// masks after a fault, so there every mark counts, but one that there were too few, and what was
/// heard before anything is sealed.
pub fn may_have_opened(spec: &EpochSpec, marks: &[(String, Vec<u8>)]) -> bool {
    let instance = spec.instance();
    let any = epoch_mark(&instance, "");
    let seals = [seal::AMONG_ALL, seal::AMONG_TWO].map(|mark| epoch_mark(&instance, mark));
    let is_few = |value: &[u8]| matches!(Seal::decode(value), Some(Seal::TooFew(_)));
    if marks.iter().any(|(name, value)| seals.contains(name) && is_few(value)) {
        return false;
    }
    let heard = epoch_mark(&instance, HEARD);
    let deciding = ["outcome", "certificate"].map(|what| epoch_mark(&instance, what));
    marks.iter().any(|(name, value)| match spec.robust {
        true => name.starts_with(&any) && !name.starts_with(&heard),
        false => deciding.contains(name) && outcome::is_ready(value),
    })
}

/// Seals and shuffles. After a crash, the same call with the same slots continues: everything this
/// party sends is a function of the batch, the slots and the marks, so what it sends again is what
/// it sent before.
///
/// Marks, each written before the message that depends on it is sent: what was heard of the lists
/// of submissions, and of the signatures where these differ; the sealed list that this server voted
/// for; the table that the batch is spent on; at P2, the table that its digest of δ_12 is made of;
/// the outcome and the certificate (`outcome.rs`); the randomness of a trusted server's
/// permutation.
///
/// # Errors
/// [`Unmixed`]. In fair mode a fault ends the epoch with nothing revealed; in robust mode it does
/// not.
pub async fn mix(
    party: &Party,
    stock: Stock,
    spec: EpochSpec,
    slots: Vec<Slot>,
    marks: &dyn Marks,
    randomness: [u8; 32],
) -> Result<Mixed, Unmixed> {
    let run = Run { party: party.clone(), subject: Subject::Epoch(spec) };
    trusted::end_again(&run, marks)?;
    match Seal::of(&run, marks, seal::AMONG_ALL)? {
        Some(Seal::TooFew(count)) => return Err(too_few(&run, count)),
        Some(Seal::Nothing(fault)) => {
            run.send_all(Kind::Accusation, fault.encode());
            return after_fault(&run, &stock, marks, &slots, fault, randomness).await;
        }
        Some(Seal::Sealed(_)) | None => {}
    }
    match certified(&run, &stock, marks, shuffle_sealed(&run, &spec, &stock, &slots, marks)).await {
        Ok(certified) => Ok(Mixed(Inner::Certified { run, stock: Box::new(stock), certified })),
        Err(Unmixed::Fault(fault)) => {
            after_fault(&run, &stock, marks, &slots, fault, randomness).await
        }
        Err(other) => Err(other),
    }
}

/// T0: says how sealing has ended here, and hears how it has at the other honest server. In robust
/// mode one of the two then finishes for the others, unless there were too few at either.
async fn after_fault(
    run: &Run,
    stock: &Stock,
    marks: &dyn Marks,
    slots: &[Slot],
    fault: Box<Fault>,
    randomness: [u8; 32],
) -> Result<Mixed, Unmixed> {
    let Subject::Epoch(spec) = &run.subject else { return Err(fault.into()) };
    let own = Seal::Nothing(fault.clone()).record(run, marks, seal::AMONG_ALL)?;
    if let Seal::TooFew(count) = own {
        return Err(too_few(run, count));
    }
    if !spec.robust {
        return Err(fault.into());
    }
    own.tell(run);
    let told = seal::told_by(run, run.honest_beside(fault.culprit)).await;
    if let Told::TooFew(count) = told {
        Seal::TooFew(count).record(run, marks, seal::AMONG_TWO)?;
        return Err(Unmixed::TooFew(count));
    }
    let epoch = trusted::Epoch { run, spec, stock, marks };
    let finished = epoch.finish(slots, fault.culprit.0, randomness).await?;
    Ok(Mixed(Inner::Trusted { finished, fault }))
}

/// Ends the epoch with too few. The peers are told: one that a fault has kept from seeing it ends
/// alike.
fn too_few(run: &Run, count: u32) -> Unmixed {
    Seal::TooFew(count).tell(run);
    Unmixed::TooFew(count)
}

/// Shuffles a table that the servers share already. `beta` is the table masked with the α of a
/// batch of [`Inputs::Stream`]; all three servers hold it, and each votes for its digest before
/// anything is sent that depends on it. The opened rows are those of `β ⊕ α`, permuted. Marked as
/// [`mix`] does. There are no submissions with which a trusted server could finish, so a fault ends
/// it in either mode.
///
/// [`Inputs::Stream`]: crate::messages::Inputs::Stream
///
/// # Errors
/// [`Unmixed::Fault`], [`Unmixed::Spent`] or [`Unmixed::Marks`], with nothing revealed.
///
/// # Panics
/// If `beta` has not the shape of the batch.
pub async fn shuffle_shared(
    party: &Party,
    stock: Stock,
    spec: EpochSpec,
    beta: Bytes,
    marks: &dyn Marks,
) -> Result<Mixed, Unmixed> {
    assert_eq!(beta.len(), spec.batch.shape.bytes(), "a table has its batch's shape");
    let run = Run { party: party.clone(), subject: Subject::Epoch(spec) };
    let rows = spec.batch.shape.rows;
    let shuffled = shuffle_marked(&run, &spec, &stock, beta, rows, marks);
    let certified = certified(&run, &stock, marks, shuffled).await?;
    Ok(Mixed(Inner::Certified { run, stock: Box::new(stock), certified }))
}

/// Runs the shuffle and has its output certified by all three servers.
async fn certified(
    run: &Run,
    stock: &Stock,
    marks: &dyn Marks,
    shuffle: impl Future<Output = Result<ShuffledEpoch, Unmixed>>,
) -> Result<Certified, Unmixed> {
    let outcome = Outcome::new(run, marks);
    let shuffled = until_ready(run, stock, outcome, shuffle).await?;
    let digest = shuffled.beta_out.digest();
    let disputes = shuffled.disputes(run, stock, outcome);
    output::certify(run, outcome, &digest, disputes.shown_after()).await?;
    let ShuffledEpoch { beta_out, accepted, known, .. } = shuffled;
    Ok(Certified { beta_out: beta_out.into_bytes(), accepted, room: known.into_room() })
}

/// Runs the shuffle unless a peer shows evidence first, and marks the outcome: ready, or stopped. A
/// party that has raised a dispute before it was restarted goes on with it: it is never ready.
///
/// If an earlier attempt at this epoch got as far as being ready, this party no longer stops on its
/// own ([`output::certify`]), whatever is shown to it.
async fn until_ready(
    run: &Run,
    stock: &Stock,
    outcome: Outcome<'_>,
    shuffle: impl Future<Output = Result<ShuffledEpoch, Unmixed>>,
) -> Result<ShuffledEpoch, Unmixed> {
    let [a, b] = run.peers();
    let heard = Box::pin(either(run.accused_by(a), run.accused_by(b)));
    let finished = match select(Box::pin(shuffle), heard).await {
        Either::Left((finished, _)) => finished,
        Either::Right(((fault, by), shuffle)) => match outcome.stopped(&fault)? {
            Standing::Stopped(fault) => return Err(stop(run, fault)),
            Standing::Disputed(_) => return Err(stop(run, Box::new(fault))),
            Standing::Ready(_) => {
                let honest = run.honest_beside(fault.culprit);
                let ended = Box::pin(ended_with(run, outcome, fault, by == Some(honest)));
                match select(shuffle, ended).await {
                    Either::Left((finished, _)) => finished,
                    Either::Right((ended, shuffle)) => match ended {
                        Ok(()) => shuffle.await,
                        Err(unmixed) => return Err(unmixed),
                    },
                }
            }
        },
    };
    match finished {
        Ok(shuffled) => {
            let digest = shuffled.beta_out.digest();
            match outcome.ready(&digest)? {
                Standing::Ready(before) if before == digest => Ok(shuffled),
                Standing::Ready(_) => Err(Unmixed::Spent),
                Standing::Stopped(fault) => Err(stop(run, fault)),
                Standing::Disputed(conflict) => {
                    let disputes = shuffled.disputes(run, stock, outcome);
                    let raised = Box::pin(disputes.raise(*conflict));
                    let heard = Box::pin(either(run.accusation(a), run.accusation(b)));
                    Err(stop(run, Box::new(select(raised, heard).await.factor_first().0)))
                }
            }
        }
        Err(Unmixed::Fault(fault)) => match outcome.stopped(&fault)? {
            Standing::Stopped(fault) => Err(stop(run, fault)),
            Standing::Disputed(_) => Err(stop(run, fault)),
            Standing::Ready(_) => {
                ended_with(run, outcome, *fault, false).await?;
                // Certified before a crash, and without the table now: the servers that have it
                // publish.
                pending().await
            }
        },
        Err(other) => Err(other),
    }
}

/// For a party that was ready before it was restarted: stops together with the other honest one, or
/// returns if it had certified, after showing the votes again. `agreed` says whether the other
/// honest one has accused already.
async fn ended_with(
    run: &Run,
    outcome: Outcome<'_>,
    fault: Fault,
    agreed: bool,
) -> Result<(), Unmixed> {
    match outcome.accusing(&fault)? {
        Decision::Certified(votes) => output::relay(run, &votes),
        Decision::Accused(fault) => {
            run.send_all(Kind::Accusation, fault.encode());
            if !agreed {
                run.accusation(run.honest_beside(fault.culprit)).await;
            }
            Err(Unmixed::Fault(fault))
        }
    }
}

/// Shows the peers the fault for which this party stops.
fn stop(run: &Run, fault: Box<Fault>) -> Unmixed {
    run.send_all(Kind::Accusation, fault.encode());
    Unmixed::Fault(fault)
}

impl Mixed {
    /// Opens the rows.
    pub async fn open(self) -> Opened {
        match self.0 {
            Inner::Certified { run, stock, certified: Certified { beta_out, accepted, room } } => {
                let (table, faults) = output::open(&run, &stock, beta_out, room).await;
                Opened { table, accepted, trusted: None, faults }
            }
            Inner::Trusted { finished, fault } => Opened {
                table: finished.table,
                accepted: finished.accepted,
                trusted: Some(finished.trusted),
                faults: vec![*fault],
            },
        }
    }
}

/// A finished shuffle that is not yet certified.
struct ShuffledEpoch {
    beta_out: Body,
    accepted: u32,
    known: Known,
    votes: [Statement; 3],
}

impl ShuffledEpoch {
    fn disputes<'a>(
        &'a self,
        run: &'a Run,
        stock: &'a Stock,
        outcome: Outcome<'a>,
    ) -> Disputes<'a> {
        Disputes { run, stock, known: &self.known, votes: &self.votes, outcome }
    }
}

async fn shuffle_sealed(
    run: &Run,
    spec: &EpochSpec,
    stock: &Stock,
    slots: &[Slot],
    marks: &dyn Marks,
) -> Result<ShuffledEpoch, Unmixed> {
    let sealed = seal_slots(run, spec, slots, marks).await?;
    let beta = unpad(run, spec, stock, &sealed).await?;
    let accepted = sealed.slots.len() as u32;
    drop(sealed);
    shuffle_marked(run, spec, stock, beta.into(), accepted, marks).await
}

/// Marks the batch as spent on β, has it voted for, and shuffles.
async fn shuffle_marked(
    run: &Run,
    spec: &EpochSpec,
    stock: &Stock,
    beta: Bytes,
    accepted: u32,
    marks: &dyn Marks,
) -> Result<ShuffledEpoch, Unmixed> {
    let digest = Header::digest_of(&beta);
    if marks.record_spent(&spent_mark(spec), &digest.0).map_err(Unmixed::Marks)? != digest.0 {
        return Err(Unmixed::Spent);
    }
    let votes = seal::vote(run, Kind::TableVote, &digest).await?;
    let known = Known::new(beta);
    let beta_out = shuffle_disputed(run, stock, &votes, &known, marks).await?;
    Ok(ShuffledEpoch { beta_out, accepted, known, votes })
}

/// Agrees on the submissions, checks the minimum, marks and votes.
async fn seal_slots<'a>(
    run: &Run,
    spec: &EpochSpec,
    slots: &'a [Slot],
    marks: &dyn Marks,
) -> Result<Sealed<'a>, Unmixed> {
    let (accepted, submissions) = seal::agree(run, &seal::scope(spec), slots, marks).await?;
    let count = guaranteed(accepted.iter().map(|(slot, _)| slot));
    let digest = accepted.digest();
    let ends = match count >= spec.minimum {
        true => Seal::Sealed(digest),
        false => Seal::TooFew(count),
    };
    match ends.record(run, marks, seal::AMONG_ALL)? {
        Seal::TooFew(count) => return Err(too_few(run, count)),
        Seal::Nothing(fault) => return Err(fault.into()),
        // What was heard is on record, so this cannot follow from a peer's word. This server may
        // have signed a Ready since: it may not stop now.
        Seal::Sealed(standing) if standing != digest => return pending().await,
        Seal::Sealed(_) => {}
    }
    let votes = seal::vote(run, Kind::SealVote, &digest).await?;
    Ok(Sealed { slots: accepted, submissions, votes })
}

/// Opens the pads of the sealed slots to all three servers and removes them: β. Rows of absent
/// slots are zero.
async fn unpad(
    run: &Run,
    spec: &EpochSpec,
    stock: &Stock,
    sealed: &Sealed<'_>,
) -> Result<Vec<u8>, Unmixed> {
    let shown: Vec<u32> = sealed.slots.iter().map(|(slot, _)| slot).collect();
    let session = run.party.roster.session.0;
    for peer in run.peers() {
        let pair = Pair::without(peer);
        let body =
            pads::encode(Show::Pads, &spec.batch, &session, pair, stock.seeds.of(pair), &shown);
        let first = pair.members()[0] == run.me();
        if first {
            run.send(peer, Kind::Pads, body)
        } else {
            run.offer(peer, Kind::Pads, body)
        };
    }
    let missing = Pair::without(run.me());
    let root = stock.stated(missing).slots;
    let accept = |received: &Received| {
        if pads::verify(Show::Pads, &spec.batch, &session, missing, &root, &shown, &received.body) {
            return Ok(received.body.clone());
        }
        let from = received.signed.header.from.index();
        Err(Evidence::Pads(Box::new(PadsEvidence {
            message: received.into(),
            vote: sealed.votes[from].clone(),
            sealed: sealed.slots.iter().collect(),
            statement: stock.statements[from].clone(),
        })))
    };
    let (pads_received, faults) =
        run.receive_from_either(missing.members(), Kind::Pads, accept).await;
    if let Some(fault) = faults.into_iter().next() {
        return Err(fault.into());
    }
    let own = Pair::of_party(run.me()).map(|pair| pads::own_pads(stock.seeds.of(pair)));
    let unpadding = Unpadding { own, received: &pads_received };
    Ok(unpadding.table(spec.batch.shape, &shown, |place| sealed.submissions[place].masked()))
}

/// The shuffle, and the decision of a dispute that it or a peer raises.
async fn shuffle_disputed(
    run: &Run,
    stock: &Stock,
    votes: &[Statement; 3],
    known: &Known,
    marks: &dyn Marks,
) -> Result<Body, Unmixed> {
    let outcome = Outcome::new(run, marks);
    let disputes = Disputes { run, stock, known, votes, outcome };
    let shuffle = Box::pin(shuffle::shuffle(run, stock, known, marks));
    match select(shuffle, Box::pin(disputes.shown_during())).await {
        Either::Left((Ok(Shuffled::Done(beta_out)), _)) => Ok(beta_out),
        Either::Left((Ok(Shuffled::Disputed(conflict)), others)) => {
            match outcome.disputing(&conflict)? {
                Standing::Disputed(conflict) => Err(disputes.raise(*conflict).await.into()),
                Standing::Stopped(fault) => Err(fault.into()),
                // Ready before a restart, and now a sender says something else. The output may be
                // open, and what a dispute shows would tell the order: who has the table publishes.
                Standing::Ready(digest) => {
                    run.send_all(Kind::Ready, digest.0.to_vec());
                    Err(others.await.into())
                }
            }
        }
        Either::Left((Err(unmixed), _)) => Err(unmixed),
        Either::Right((fault, _)) => Err(fault.into()),
    }
}
