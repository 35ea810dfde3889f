//! Steps 9 and 10: buckets of leaky triples become triples of which nobody knows anything.

use ostrakon_kernels::permutation;

use super::Triples;
use super::leaky::Leaky;
use crate::abort::Abort;
use crate::bits::Bits;
use crate::mac::Opened;
use crate::run::{Kind, Run};
use crate::shares::{KeyId, Shares};

/// Opens bits of which each party holds a share: sends the share, and returns the sum. What was
/// opened enters the view.
///
/// # Errors
/// [`Abort::Malformed`].
pub(crate) async fn open(run: &mut Run, kind: Kind, share: &Bits) -> Result<Bits, Abort> {
    let all = run.broadcast(kind, share.to_bytes()).await?;
    let mut sum = Bits::zeros(share.len());
    for (party, said) in run.party.roster.parties().zip(&all) {
        sum.xor(&Bits::from_bytes(said, share.len()).ok_or(Abort::Malformed(party))?);
    }
    run.note(kind, &sum.to_bytes());
    Ok(sum)
}

/// Steps 9 and 10. `bucket` divides the number of leaky triples.
///
/// # Errors
/// As [`Opened::check`].
pub(crate) async fn combine(
    run: &mut Run,
    key: KeyId,
    delta: u64,
    leaky: Leaky,
    bucket: usize,
) -> Result<Triples, Abort> {
    // Step 9. Who has not passed step 8 does not get here, so there is no coin without its word.
    let coin = run.toss().await?;
    let order = permutation::sample(&coin.stream(0), leaky.x.len());
    let buckets: Vec<&[u32]> = order.chunks_exact(bucket).collect();
    let differences = |get: &dyn Fn(usize) -> u64| -> Vec<u64> {
        let of_bucket = |members: &&[u32]| {
            let first = get(members[0] as usize);
            members[1..].iter().map(|&k| first ^ get(k as usize)).collect::<Vec<_>>()
        };
        buckets.iter().flat_map(of_bucket).collect()
    };
    let shares: Bits =
        differences(&|k| u64::from(leaky.y.get(k))).into_iter().map(|d| d == 1).collect();
    let d = open(run, Kind::Differences, &shares).await?;
    // Step 10.
    let mut opened = Opened::default();
    opened.push(&d, &differences(&|k| leaky.y_macs[k]));
    opened.check(run, delta).await?;
    let (mut x, mut z) = (Bits::zeros(buckets.len()), Bits::zeros(buckets.len()));
    let y = buckets.iter().map(|members| leaky.y.get(members[0] as usize)).collect();
    let y_macs = buckets.iter().map(|members| leaky.y_macs[members[0] as usize]).collect();
    let (mut x_macs, mut z_macs) = (vec![0; buckets.len()], vec![0; buckets.len()]);
    for (q, members) in buckets.iter().enumerate() {
        for (i, &k) in members.iter().enumerate() {
            let k = k as usize;
            // d of the first is zero.
            let d = i > 0 && d.get(q * (bucket - 1) + i - 1);
            x.xor_bit(q, leaky.x.get(k));
            z.xor_bit(q, leaky.z.get(k) ^ (d & leaky.x.get(k)));
            x_macs[q] ^= leaky.x_macs[k];
            z_macs[q] ^= leaky.z_macs[k] ^ if d { leaky.x_macs[k] } else { 0 };
        }
    }
    Ok(Triples {
        x: Shares::new(key, x, x_macs),
        y: Shares::new(key, y, y_macs),
        z: Shares::new(key, z, z_macs),
    })
}
