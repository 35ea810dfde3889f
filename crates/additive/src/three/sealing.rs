//! What an epoch's rows are: lists, registrations that come with them, and the seal
//! (`docs/spec/clarion.md`, E0 to E5, J1 to J4).

use futures::future::{pending, try_join3};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::with_room;
use ostrakon_party::Received;
use ostrakon_threeparty::marks::epoch_mark;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::steps;
use ostrakon_threeparty::seal::{self, Accepted, Scope, Sealable, Slot, Taken};
use ostrakon_threeparty::{Marks, coin};
use rayon::prelude::*;

use super::fault::Abort;
use super::halt::{Halt, Unmixed};
use super::handed::Joint;
use super::handed::looked::Opened;
use super::intake::TakenIn;
use super::keys::EpochKeys;
use super::messages::{EpochSpec, Kind, PairStatement, RegistrationSpec};
use super::registration::{Held, RegistrationKey, Registry, Run};
use super::tables::Row;
use crate::client::ClientSeed;

/// Who takes part in an epoch, with what each has handed in.
pub enum Participants<'a> {
    /// Who has registered before, for a session.
    Registered(&'a Registry, Vec<Slot<TakenIn>>),
    /// Who registers for this epoch alone.
    Registering(Registering<'a>),
}

/// Participants who register for one epoch alone.
pub struct Registering<'a> {
    /// The occasion of registering.
    pub spec: RegistrationSpec,
    /// This server's key of the occasion.
    pub key: &'a RegistrationKey,
    /// What was handed in. What was looked at for another occasion, slot or owner counts as absent.
    pub slots: Vec<Slot<Joint<'a>>>,
}

/// The batch's mark: the one sealed list that it may be used on.
pub fn spent_mark(spec: &EpochSpec) -> String {
    format!("clarion batch {} spent on", spec.batch)
}

/// The rows of accepted slots, all lists being in ascending order.
pub fn rows<'a>(
    slots: &'a [Slot<TakenIn>],
    held: &[&'a Held],
    accepted: &Accepted,
    taken: &'a [Taken<'_, TakenIn>],
) -> Vec<Row<'a>> {
    let mut known = slots.iter().zip(held);
    let row = |((slot, _), taken): ((u32, Digest), &'a Taken<'_, TakenIn>)| {
        let known = known.find(|(known, _)| known.slot == slot);
        let (known, held) = known.expect("accepted slots are among the given ones, in order");
        let seeds = held.seeds().map(ClientSeed::secret);
        Row { slot, owner: &known.owner, seeds, padded: taken.padded() }
    };
    let mut rows = with_room(accepted.len());
    rows.extend(accepted.iter().zip(taken).map(row));
    rows
}

/// The row of somebody who has registered with the epoch.
pub fn row_with<'a>(opened: &'a Opened<'a, Joint<'_>>) -> Row<'a> {
    let (slot, owner, seeds) = (opened.number(), opened.owner(), opened.complete());
    Row { slot, owner, seeds, padded: opened.held.padded() }
}

/// The accepted slots whose registrations are left; both in ascending order.
pub fn left(opened: &[Opened<'_, Joint<'_>>], accepted: &Accepted) -> Accepted {
    let mut left = opened.iter().map(Opened::number).peekable();
    accepted.iter().filter(|(slot, _)| left.next_if_eq(slot).is_some()).collect()
}

/// What is agreed on beside the lists.
pub struct Begun {
    pub seeds: [Received; 3],
    pub coin: coin::Committed,
}

pub struct Epoch<'a> {
    pub run: &'a Run,
    pub spec: &'a EpochSpec,
    pub marks: &'a dyn Marks,
}

pub const OTHER_ROUND: &str = "the seeds are of another round than the epoch";

impl Epoch<'_> {
    pub fn record(&self, what: &str, value: &[u8]) -> Result<Vec<u8>, Halt> {
        let name = epoch_mark(&self.run.subject.instance(), what);
        self.marks.record(&name, value).map_err(|why| Halt::End(Unmixed::Marks(why)))
    }

    /// E0 to E3.
    pub async fn listed<'s, M: Sealable>(
        &self,
        keys: &EpochKeys,
        slots: &'s [Slot<M>],
        randomness: [u8; 32],
    ) -> Result<(Begun, seal::Agreed<'s, M>), Halt> {
        let (run, spec) = (self.run, self.spec);
        let contribution = self.contribution(randomness)?;
        let (nonce, value) = contribution.split_at(32);
        let nonce = nonce.try_into().expect("half of 64 bytes");
        let steps_of_coin = (steps::COIN_COMMITMENT, steps::COIN_OPENING);
        let statement = PairStatement::encode(&keys.statement());
        let scope = Scope { context: spec.signed(), width: spec.width };
        let (seeds, coin, agreed) = try_join3(
            async { run.broadcast(Kind::SeedStatement, statement).await.map_err(Halt::from) },
            async {
                let committing = coin::commit(run, steps_of_coin, nonce, value, self.marks);
                committing.await.map_err(Halt::from)
            },
            async { seal::agree(run, &scope, slots, self.marks).await.map_err(Halt::from) },
        )
        .await?;
        for pair in Pair::ALL {
            let [x, y] = pair
                .members()
                .map(|member| PairStatement::of(&seeds[usize::from(member)].body, member, pair));
            if x != y {
                return Err(Halt::Stop(Abort::Keys(pair)));
            }
        }
        Ok((Begun { seeds, coin }, agreed))
    }

    /// The slots of those who are registered, in ascending order and with what is held of their
    /// owners, without submissions that name another registration. Seeds of another round are
    /// nobody's for this epoch: with them, two epochs could have the same pads.
    pub fn registered<'r>(
        &self,
        registry: &'r Registry,
        mut slots: Vec<Slot<TakenIn>>,
    ) -> Result<(Vec<Slot<TakenIn>>, Vec<&'r Held>), Halt> {
        slots.retain(|slot| slot.slot < self.spec.slots);
        slots.sort_unstable_by_key(|slot| slot.slot);
        let (width, round) = (self.spec.width as usize, self.spec.round);
        let mut found = registry.find(slots.iter().map(|slot| &slot.owner));
        let look = |(slot, held): (&mut Slot<TakenIn>, &mut Option<&Held>)| {
            let Some(held) = held else { return };
            let fits = |submission: &TakenIn| {
                submission.registration() == *held.registration()
                    && submission.padded().len() == width
            };
            slot.submission = slot.submission.take().filter(fits);
        };
        slots.par_iter_mut().zip(&mut found).with_min_len(1024).for_each(look);
        let mut known = found.iter();
        slots.retain(|_| known.next().is_some_and(Option::is_some));
        let held: Vec<&Held> = found.into_iter().flatten().collect();
        if held.iter().all(|held| held.seeds().iter().all(|seed| seed.round() == round)) {
            return Ok((slots, held));
        }
        Err(Halt::End(Unmixed::Unfit(OTHER_ROUND)))
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

    /// E4, E5.
    pub async fn seal(&self, accepted: &Accepted, digest: Digest) -> Result<Digest, Halt> {
        let count = seal::guaranteed(accepted.iter().map(|(slot, _)| slot));
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
}
