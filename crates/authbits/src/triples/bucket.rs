//! Steps 9 and 10: buckets of leaky triples become triples of which nobody knows anything.

use ostrakon_kernels::permutation;

use super::Triples;
use super::leaky::Leaky;
use crate::abort::Abort;
use crate::bits::{Bits, mask};
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

/// The first member's value plus each other's, bucket by bucket.
fn differences(buckets: &[&[u32]], get: impl Fn(usize) -> u64) -> impl Iterator<Item = u64> {
    let others = buckets.iter().flat_map(|members| {
        let (first, others) = members.split_first().expect("no bucket is empty");
        others.iter().map(move |other| (*first, *other))
    });
    others.map(move |(first, other)| get(first as usize) ^ get(other as usize))
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
    let shares: Bits =
        differences(&buckets, |k| u64::from(leaky.y.get(k))).map(|d| d == 1).collect();
    let d = open(run, Kind::Differences, &shares).await?;
    // Step 10.
    let mut opened = Opened::default();
    opened.push(&d, &differences(&buckets, |k| leaky.y_macs[k]).collect::<Vec<_>>());
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
            let mac = leaky.x_macs[k];
            x_macs[q] ^= mac;
            z_macs[q] ^= leaky.z_macs[k] ^ (mac & mask(u64::from(d)));
        }
    }
    Ok(Triples {
        x: Shares::new(key, x, x_macs),
        y: Shares::new(key, y, y_macs),
        z: Shares::new(key, z, z_macs),
    })
}
