//! A segment: one key, a stock of triples, one computation.

use futures::future::FutureExt;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_party::{Party, PartyId};

use crate::abort::{Abort, Refused};
use crate::bits::{Bits, words_of};
use crate::journal::Ticket;
use crate::mac::Opened;
use crate::ot::base::BaseKeys;
use crate::ot::extension::{Lane, Lot, extend_into};
use crate::ot::{MacSums, Setup, Width, words_of_lot};
use crate::run::{Run, guarded};
use crate::shares::{KeyId, MacKey, Shares};
use crate::spec::SegmentSpec;
use crate::triples::leaky::{self, Leaky, Mask, Multiplying};
use crate::triples::{Triples, bucket};

/// A prepared segment at one party, in memory only: nothing is left to use after a restart, and a
/// [`Ticket`] is good for one preparation. Every call either succeeds or burns it; a call whose
/// future is dropped burns it too.
pub struct Segment {
    pub(crate) run: Run,
    pub(crate) setup: Setup,
    pub(crate) opened: Opened,
    spec: SegmentSpec,
    pub(crate) key: MacKey,
    pub(crate) triples: Triples,
    used: usize,
    pub(crate) burnt: bool,
}

/// Why no segment was prepared.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Unprepared {
    /// The ticket belongs to another party, session or randomness; nothing was sent, and the ticket
    /// is spent.
    #[error("the ticket belongs to another party, session or randomness")]
    Ticket,
    /// The run stopped. Its number and its randomness are used up.
    #[error(transparent)]
    Aborted(#[from] Abort),
}

/// Steps 1 to 10. `random` must be fresh.
///
/// What is posted, 48⅝ bytes a triple to each peer with buckets of three, stays with the channel,
/// since peers may ask for it again: when all parties are done with the segment, the caller retires
/// [`SegmentSpec::instance`].
///
/// # Errors
/// [`Unprepared`].
pub async fn prepare(party: &Party, ticket: Ticket, random: Secret) -> Result<Segment, Unprepared> {
    prepare_with(party, ticket, random, None).await
}

/// [`prepare`] with base transfers that another protocol has made, which replace step 1.
///
/// # Errors
/// [`Unprepared`].
pub async fn prepare_with(
    party: &Party,
    ticket: Ticket,
    random: Secret,
    base: Option<BaseKeys>,
) -> Result<Segment, Unprepared> {
    let spec = ticket.spend(party, &random).ok_or(Unprepared::Ticket)?;
    let run = Run::new(party.clone(), spec.instance(), random);
    Ok(guarded(party, &[spec.instance()], steps(run, spec, base)).await?)
}

/// Random bits.
pub(crate) fn random_bits(run: &mut Run, len: usize) -> Bits {
    let mut bytes = vec![0; 8 * len.div_ceil(64)];
    run.draw_stream().fill(&mut bytes);
    Bits::from_words(words_of(&bytes), len)
}

async fn steps(mut run: Run, spec: SegmentSpec, base: Option<BaseKeys>) -> Result<Segment, Abort> {
    let mut setup = Setup::new(&mut run, base).await?;
    let (leaky, mask) = unchecked(&mut run, &mut setup, spec.leaky()).await?;
    leaky::check(&mut run, setup.delta().mac, &leaky, mask).await?;
    finish(run, setup, spec, leaky).await
}

/// Steps 3 to 7: `n` leaky triples, and what step 8 needs.
pub(crate) async fn unchecked(
    run: &mut Run,
    setup: &mut Setup,
    n: usize,
) -> Result<(Leaky, Mask), Abort> {
    let delta = setup.delta().clone();
    let x = random_bits(run, n);
    let y_and_mask = random_bits(run, n + 64);
    let positions = [setup.reserve(words_of_lot(n)), setup.reserve(words_of_lot(y_and_mask.len()))];
    let setup = &*setup;
    let lane = |width: Width, position| vec![Lane { setup, trees: width.trees(), position }];
    let lots = [
        Lot::new(run, &x, lane(Width::Wide, positions[0])),
        Lot::new(run, &y_and_mask, lane(Width::Narrow, positions[1])),
    ];
    let mut sums = [n, y_and_mask.len()].map(|bits| MacSums::new(words_of_lot(bits)));
    let mut multiplying = Multiplying::new(run, delta.hash, n);
    extend_into(run, &lots, |block| {
        sums[block.lot].add(block);
        if block.lot == 0 {
            multiplying.take(block);
        }
    })
    .await?;
    // Step 6.
    let x_macs = sums[0].macs(&x, delta.mac);
    let mut y_macs = sums[1].macs(&y_and_mask, delta.mac);
    drop((sums, lots));
    let mask = Mask { bits: y_and_mask.slice(n, 64), macs: y_macs.split_off(n) };
    let y = y_and_mask.slice(0, n);
    let leaky = multiplying.multiply(run, (x, x_macs), (y, y_macs)).await?;
    Ok((leaky, mask))
}

/// Steps 9 and 10.
pub(crate) async fn finish(
    mut run: Run,
    setup: Setup,
    spec: SegmentSpec,
    leaky: Leaky,
) -> Result<Segment, Abort> {
    let (id, delta) = (key_id(&run), setup.delta().mac);
    let triples = bucket::combine(&mut run, id, delta, leaky, spec.bucket).await?;
    let (key, opened) = (MacKey::new(delta), Opened::default());
    Ok(Segment { run, setup, opened, spec, key, triples, used: 0, burnt: false })
}

fn key_id(run: &Run) -> KeyId {
    KeyId(run.transcript("ostrakon/v1/authbits/key").finish())
}

impl Segment {
    /// The key's name.
    pub fn key_id(&self) -> KeyId {
        self.triples.x.key()
    }

    /// The own part of the MAC key.
    pub fn key(&self) -> &MacKey {
        &self.key
    }

    /// What it was prepared as.
    pub fn spec(&self) -> SegmentSpec {
        self.spec
    }

    /// Triples that are left.
    pub fn triples_left(&self) -> usize {
        self.triples.x.len() - self.used
    }

    /// The own shares of all triples, for handing them over and for audits by all parties together.
    pub fn triples(&self) -> [&Shares; 3] {
        [&self.triples.x, &self.triples.y, &self.triples.z]
    }

    /// The own number.
    pub fn party(&self) -> PartyId {
        self.run.party.id
    }

    pub(crate) fn delta(&self) -> u64 {
        self.key.expose()
    }

    /// Takes `count` triples out of stock.
    ///
    /// # Errors
    /// [`Refused::Exhausted`]; nothing is used up then.
    pub(crate) fn take(&mut self, count: usize) -> Result<Triples, Refused> {
        let left = self.triples_left();
        if left < count {
            return Err(Refused::Exhausted { needed: count, left });
        }
        let cut = |shares: &Shares| shares.slice(self.used, count);
        let taken =
            Triples { x: cut(&self.triples.x), y: cut(&self.triples.y), z: cut(&self.triples.z) };
        self.used += count;
        Ok(taken)
    }

    /// Whether shares are under this segment's key.
    pub(crate) fn accept(&self, shares: &Shares) -> Result<(), Refused> {
        if shares.key() == self.key_id() { Ok(()) } else { Err(Refused::ForeignKey) }
    }

    /// Runs one call: the segment is burnt unless it succeeds, so also if it is broken off.
    pub(crate) async fn call<T>(
        &mut self,
        main: impl AsyncFnOnce(&mut Self) -> Result<T, Abort>,
    ) -> Result<T, Refused> {
        if std::mem::replace(&mut self.burnt, true) {
            return Err(Refused::Burnt);
        }
        let (party, instance) = (self.run.party.clone(), self.run.instance);
        let result = guarded(&party, &[instance], main(self)).boxed_local().await?;
        self.burnt = false;
        Ok(result)
    }

    /// Runs one call on this segment and `source`: both are burnt unless it succeeds, and a peer
    /// that has stopped in either has stopped.
    pub(crate) async fn call_both<T>(
        &mut self,
        source: &mut Self,
        main: impl AsyncFnOnce(&mut Self, &mut Self) -> Result<T, Abort>,
    ) -> Result<T, Refused> {
        if !self.run.is_of_committee(&source.run) {
            return Err(Refused::OtherCommittee);
        }
        if self.burnt || source.burnt {
            return Err(Refused::Burnt);
        }
        (self.burnt, source.burnt) = (true, true);
        let (party, instances) = (self.run.party.clone(), [self.run.instance, source.run.instance]);
        let result = guarded(&party, &instances, main(self, source)).boxed_local().await?;
        (self.burnt, source.burnt) = (false, false);
        Ok(result)
    }

    /// The digest that names this segment's run, for records.
    pub fn name(&self) -> Digest {
        self.key_id().0
    }
}
