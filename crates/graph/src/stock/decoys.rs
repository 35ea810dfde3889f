//! Values that nobody has, among which those that vertices have are shown (`docs/spec/graph.md`,
//! section 8).

use ostrakon_crypto::Secret;
use ostrakon_field::WordField;

use crate::batches::Batches;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::journal::Journal;
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::JobSeeds;
use crate::ruffle2::sharing::Rss;
use crate::spec::JobSpec;

/// The batch of products of the decoys, which are made before the hops. Other batches of a job are
/// counted from 0.
const BATCH: u32 = (1 << 16) - 1;

/// The decoys of a job, in shares: row k of value j is j or −1, as a coin falls. Values of −1 are
/// not counted.
pub(crate) async fn decoys<F: WordField>(
    run: &Run,
    seeds: &JobSeeds,
    spec: &JobSpec,
    randomness: &Secret,
    journal: &dyn Journal,
) -> Result<Option<Rss<F>>, Stop> {
    let Some(decoys) = spec.decoys else { return Ok(None) };
    let next = std::sync::atomic::AtomicU32::new(BATCH);
    let batches = Batches { run, seeds, job: spec.number, journal, randomness, next: &next };
    let bits = batches.bits::<F>(decoys.rows() as usize).await?;
    let value = |row: usize| F::nth(row as u64 / u64::from(decoys.each)) + F::ONE;
    let steps: Vec<F> = (0..bits.len()).map(value).collect();
    Ok(Some(bits.affine(&steps, &vec![-F::ONE; steps.len()])))
}
