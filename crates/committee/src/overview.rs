//! What a member's operator sees of all computations, from its memory, whether it runs or not.

use ostrakon_computation::ComputationId;
use serde::Serialize;

use crate::course::phase;
use crate::service::Service;
use crate::store::{Store, StoreError};
use crate::view::Phase;

/// A computation at one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// Its name.
    pub id: ComputationId,
    /// What is asked, for people.
    pub title: String,
    /// The job.
    pub job: String,
    /// How far it is.
    pub phase: Phase,
    /// How many inputs people have brought to this member; of the seal once there is one.
    pub inputs: u64,
    /// With fewer nothing is computed.
    pub minimum: u32,
    /// How often this member has begun to compute.
    pub begun: u32,
    /// Exchanges with the others that it has written down of what it is computing: rounds so far.
    pub exchanges: u64,
}

/// All computations that a member of number `own` among so many remembers.
///
/// # Errors
/// [`StoreError`].
pub async fn overview(
    store: &Store,
    members: usize,
    own: usize,
) -> Result<Vec<Overview>, StoreError> {
    let mut all = Vec::new();
    for known in store.computations(members).await? {
        let draft = &known.draft.draft;
        let id = draft.id();
        let begun = known.told[own].generation().map_or(0, |(_, generation)| generation);
        let few = known.seal.as_ref().is_some_and(|seal| seal.missing(draft) > 0);
        let held = known.seal.as_ref().map_or(known.entries.len(), |seal| seal.inputs.len());
        all.push(Overview {
            id,
            title: draft.title.clone(),
            job: draft.job.clone(),
            phase: phase((&known.told, known.conclusion.as_ref(), begun > 0), (own, few)),
            inputs: held as u64,
            minimum: draft.minimum,
            begun,
            exchanges: store.exchanges(&id).await?,
        });
    }
    Ok(all)
}

impl Service {
    /// What its operator sees of all computations.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn overview(&self) -> Result<Vec<Overview>, StoreError> {
        overview(self.store(), self.committee().members.len(), self.number()).await
    }
}
