//! The robust mode's way out: once a server is proved to have cheated, the first of the two others
//! finishes alone.
//!
//! Both others are honest, because at most one server is corrupt. The trusted one gets every
//! submission and every mask, and so learns who wrote what; a room's owner chooses this knowingly.
//! Permutations of the batch are not used: the trusted server draws a fresh one.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::pending;
use ostrakon_crypto::Secret;
use ostrakon_kernels::{Prg, gather, permutation};
use ostrakon_party::{Header, Received, wire};
use ostrakon_threeparty::Marks;
use ostrakon_threeparty::marks::epoch_mark;

use crate::batch::pads::{self, Show};
use crate::client::{Submission, verify_submission};
use crate::messages::{EpochSpec, Kind};
use crate::online::seal::{AMONG_ALL, AMONG_TWO, Slot, Standing, guaranteed};
use crate::online::unmixed::Unmixed;
use crate::pair::Pair;
use crate::params::SLOT_SEED;
use crate::preparation::stock::Stock;
use crate::run::Run;
use crate::slots::SlotSeeds;

/// What the trusted server brought out.
pub struct Finished {
    /// The rows of the accepted submissions, freshly permuted.
    pub table: Vec<u8>,
    /// How many they are.
    pub accepted: u32,
    /// The trusted server.
    pub trusted: u8,
}

/// Ends an epoch again that has ended with too few at T2. The other honest server may have been
/// restarted, too: at T0 it waits to hear how sealing ended here, and the helper then for the list,
/// of which it may not have heard yet that it is too short. It is told so with a list of none.
///
/// # Errors
/// [`Unmixed::TooFew`] if it has, or [`Unmixed::Marks`].
pub fn end_again(run: &Run, marks: &dyn Marks) -> Result<(), Unmixed> {
    let Some(Standing::TooFew(count)) = Standing::of(run, marks, AMONG_TWO)? else { return Ok(()) };
    if let Some(among_all) = Standing::of(run, marks, AMONG_ALL)? {
        among_all.tell(run);
    }
    for peer in run.peers() {
        run.send(peer, Kind::TrustedSlots, wire::encode(&Vec::<u32>::new()));
    }
    Err(Unmixed::TooFew(count))
}

/// An epoch that is to be finished so.
pub struct Epoch<'a> {
    /// Its run.
    pub run: &'a Run,
    /// What it is.
    pub spec: &'a EpochSpec,
    /// The batch that it uses.
    pub stock: &'a Stock,
    /// This server's marks.
    pub marks: &'a dyn Marks,
}

impl Epoch<'_> {
    /// Finishes the epoch without the culprit. The first `randomness` given for it counts. Neither
    /// honest server may have ended it with too few.
    ///
    /// # Errors
    /// [`Unmixed::TooFew`] if fewer submissions than the minimum can be vouched for, or
    /// [`Unmixed::Marks`].
    pub async fn finish(
        &self,
        slots: &[Slot],
        culprit: u8,
        randomness: [u8; 32],
    ) -> Result<Finished, Unmixed> {
        let Self { run, spec, stock, marks } = *self;
        let name = epoch_mark(&run.subject.instance(), "trusted randomness");
        let randomness = marks.record(&name, &randomness).map_err(Unmixed::Marks)?;
        let [trusted, helper] = Pair::without(culprit).members();
        if run.me() == trusted {
            let secret = randomness.try_into();
            let secret = secret.map_err(|_| Unmixed::Marks("a mark is damaged".to_owned()))?;
            return self.finish_alone(slots, helper, secret).await;
        }
        let own: Vec<(u32, Submission)> =
            slots.iter().filter_map(|slot| Some((slot.slot, slot.submission.clone()?))).collect();
        run.send(trusted, Kind::TrustedSubmissions, wire::encode(&own));
        let shown: Vec<u32> = honest(run, trusted, Kind::TrustedSlots, |received| {
            wire::decode::<Vec<u32>>(&received.body).ok()
        })
        .await;
        self.seal(&shown).await?;
        let pair = Pair::of(helper, culprit);
        let session = run.party.roster.session.0;
        let masks =
            pads::encode(Show::Masks, &spec.batch, &session, pair, stock.seeds.of(pair), &shown);
        run.send(trusted, Kind::TrustedMasks, masks);
        let bytes = shown.len() * spec.batch.shape.width as usize;
        let table = honest(run, trusted, Kind::TrustedTable, |received| {
            (received.body.len() == bytes).then(|| received.body.to_vec())
        })
        .await;
        Ok(Finished { table, accepted: shown.len() as u32, trusted })
    }

    /// T2: E4 and E5 among two. The list that the epoch is finished with is marked before anything
    /// of it is shown, and there is no other one, whatever a restart brings.
    async fn seal(&self, shown: &[u32]) -> Result<(), Unmixed> {
        let ends = match guaranteed(shown.iter().copied()) {
            count if count < self.spec.minimum => Standing::TooFew(count),
            _ => Standing::Sealed(Header::digest_of(&wire::encode(&shown))),
        };
        match ends.clone().record(self.run, self.marks, AMONG_TWO)? {
            Standing::TooFew(count) => Err(Unmixed::TooFew(count)),
            standing if standing == ends => Ok(()),
            _ => pending().await,
        }
    }

    /// The part of the trusted server.
    async fn finish_alone(
        &self,
        slots: &[Slot],
        helper: u8,
        randomness: [u8; 32],
    ) -> Result<Finished, Unmixed> {
        let Self { run, spec, .. } = *self;
        let theirs: Vec<(u32, Submission)> =
            honest(run, helper, Kind::TrustedSubmissions, |received| {
                wire::decode(&received.body).ok()
            })
            .await;
        let accepted = merge(spec, slots, theirs);
        let shown: Vec<u32> = accepted.keys().copied().collect();
        let sealed = self.seal(&shown).await;
        run.send(helper, Kind::TrustedSlots, wire::encode(&shown));
        sealed?;
        let table = self.unmask(&accepted, &shown, helper, randomness).await;
        run.send(helper, Kind::TrustedTable, table.clone());
        Ok(Finished { table, accepted: shown.len() as u32, trusted: run.me() })
    }

    /// T3 and T4: the rows in a fresh order.
    async fn unmask(
        &self,
        accepted: &BTreeMap<u32, Vec<u8>>,
        shown: &[u32],
        helper: u8,
        randomness: [u8; 32],
    ) -> Vec<u8> {
        let Self { run, spec, stock, .. } = *self;
        let missing = Pair::without(run.me());
        let session = run.party.roster.session.0;
        let root = stock.stated(missing).slots;
        let masks = honest(run, helper, Kind::TrustedMasks, |received| {
            let body = &received.body;
            pads::verify(Show::Masks, &spec.batch, &session, missing, &root, shown, body)
                .then(|| body.clone())
        })
        .await;
        let width = spec.batch.shape.width as usize;
        let own = Pair::of_party(run.me()).map(|pair| pads::own_pads(stock.seeds.of(pair)));
        let mut rows = Vec::with_capacity(shown.len() * width);
        for (slot, masked) in accepted {
            let mut row = masked.clone();
            let at = *slot as usize * 2 * SLOT_SEED;
            let (mask, pad) = masks[at..][..2 * SLOT_SEED].split_at(SLOT_SEED);
            let theirs = SlotSeeds {
                mask: mask.try_into().expect("half"),
                pad: pad.try_into().expect("half"),
            };
            for seeds in own.iter().map(|prg| SlotSeeds::derive(prg, *slot)).chain([theirs]) {
                seeds.xor_mask(&mut row);
                seeds.xor_pad(&mut row);
            }
            rows.extend_from_slice(&row);
        }
        let secret = Secret::new(randomness).derive("ostrakon/v1/ruffle/trusted permutation", &[]);
        let index = permutation::sample(&Prg::new(secret.expose()), shown.len());
        let mut table = vec![0; rows.len()];
        gather(&mut table, &rows, width, &index);
        table
    }
}

/// The submissions of both honest servers, one for an owner. Two different ones for a slot, both
/// validly signed, drop it.
fn merge(
    spec: &EpochSpec,
    slots: &[Slot],
    theirs: Vec<(u32, Submission)>,
) -> BTreeMap<u32, Vec<u8>> {
    let mut theirs: BTreeMap<u32, Submission> = theirs.into_iter().collect();
    let width = spec.batch.shape.width as usize;
    let mut accepted = BTreeMap::new();
    let mut owners = BTreeSet::new();
    for slot in slots {
        let theirs = theirs.remove(&slot.slot).filter(|submission| {
            submission.masked().len() == width
                && verify_submission(&spec.context, slot.slot, &slot.owner, submission)
        });
        let masked = match (&slot.submission, &theirs) {
            (Some(own), Some(their)) => (own.masked() == their.masked()).then(|| own.masked()),
            (Some(one), None) | (None, Some(one)) => Some(one.masked()),
            (None, None) => None,
        };
        if let Some(masked) = masked
            && owners.insert(slot.owner)
        {
            accepted.insert(slot.slot, masked.to_vec());
        }
    }
    accepted
}

/// Receives from a party that is proved honest: whatever is not as it should be cannot be from it,
/// and is waited past.
async fn honest<T>(run: &Run, from: u8, kind: Kind, read: impl Fn(&Received) -> Option<T>) -> T {
    if let Ok(received) = run.receive(from, kind).await
        && let Some(value) = read(&received)
    {
        return value;
    }
    pending().await
}
