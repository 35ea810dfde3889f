//! Steps 9 and 10: buckets of leaky triples become triples of which nobody knows anything.

use ostrakon_kernels::{gather, permutation, wipe, zeroed_table};

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

/// Bytes of a leaky triple on its way into its bucket: the MACs of x, y and z, and their bits.
const ROW: usize = 32;

/// A leaky triple.
struct Row {
    x_mac: u64,
    y_mac: u64,
    z_mac: u64,
    /// Bit 0 is x, bit 1 y, bit 2 z.
    bits: u64,
}

impl Row {
    fn of(leaky: &Leaky, k: usize) -> Self {
        let bit = |bits: &Bits, place: u32| u64::from(bits.get(k)) << place;
        Self {
            x_mac: leaky.x_macs[k],
            y_mac: leaky.y_macs[k],
            z_mac: leaky.z_macs[k],
            bits: bit(&leaky.x, 0) | bit(&leaky.y, 1) | bit(&leaky.z, 2),
        }
    }

    fn write(&self, bytes: &mut [u8; ROW]) {
        let words = [self.x_mac, self.y_mac, self.z_mac, self.bits];
        bytes.as_chunks_mut::<8>().0.iter_mut().zip(words).for_each(|(out, word)| {
            *out = word.to_le_bytes();
        });
    }

    fn read(bytes: &[u8; ROW]) -> Self {
        let word = |i: usize| u64::from_le_bytes(bytes.as_chunks::<8>().0[i]);
        Self { x_mac: word(0), y_mac: word(1), z_mac: word(2), bits: word(3) }
    }

    fn bit(&self, place: u32) -> bool {
        self.bits >> place & 1 == 1
    }
}

/// Bytes of leaky triples that are moved into their buckets at a time: they stay in the cache.
const PART: usize = 1 << 16;

/// Leaky triples, and the order in which they stand in buckets. Each pass over them moves some at a
/// time: all of them, moved, would take as much memory again. Wiped when dropped.
struct Buckets {
    rows: Vec<u8>,
    order: Vec<u32>,
    size: usize,
}

impl Buckets {
    fn fill(leaky: &Leaky, order: Vec<u32>, size: usize) -> Self {
        let mut rows = zeroed_table(ROW * leaky.x.len());
        for (k, bytes) in rows.as_chunks_mut::<ROW>().0.iter_mut().enumerate() {
            Row::of(leaky, k).write(bytes);
        }
        Self { rows, order, size }
    }

    fn len(&self) -> usize {
        self.order.len() / self.size
    }

    /// Shows each bucket with its number.
    fn each(&self, mut show: impl FnMut(usize, &[[u8; ROW]])) {
        let buckets = (PART / ROW / self.size).max(1);
        let mut part = vec![0; ROW * self.size * buckets];
        for (n, order) in self.order.chunks(self.size * buckets).enumerate() {
            let part = &mut part[..ROW * order.len()];
            gather(part, &self.rows, ROW, order);
            for (i, bucket) in part.as_chunks::<ROW>().0.chunks_exact(self.size).enumerate() {
                show(n * buckets + i, bucket);
            }
        }
        wipe(&mut part);
    }

    /// The first member's y plus each other's, and so for its MAC, bucket by bucket.
    fn differences(&self) -> (Bits, Vec<u64>) {
        let mut macs = Vec::with_capacity(self.len() * (self.size - 1));
        let mut bits = Bits::zeros(self.len() * (self.size - 1));
        self.each(|_, bucket| {
            let mut bucket = bucket.iter().map(Row::read);
            let first = bucket.next().expect("no bucket is empty");
            for other in bucket {
                bits.xor_bit(macs.len(), first.bit(1) ^ other.bit(1));
                macs.push(first.y_mac ^ other.y_mac);
            }
        });
        (bits, macs)
    }
}

impl Drop for Buckets {
    fn drop(&mut self) {
        wipe(&mut self.rows);
    }
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
    let buckets = Buckets::fill(&leaky, order, bucket);
    drop(leaky);
    let (shares, macs) = buckets.differences();
    let d = open(run, Kind::Differences, &shares).await?;
    // Step 10.
    let mut opened = Opened::default();
    opened.push(&d, &macs);
    opened.check(run, delta).await?;
    Ok(joined(key, &buckets, &d))
}

/// Each bucket's triple: of its members' x the sum, of y the first member's.
fn joined(key: KeyId, buckets: &Buckets, d: &Bits) -> Triples {
    let len = buckets.len();
    let [mut x, mut y, mut z] = [(); 3].map(|()| Bits::zeros(len));
    let [mut x_macs, mut y_macs, mut z_macs] = [(); 3].map(|()| vec![0; len]);
    buckets.each(|q, bucket| {
        for (i, row) in bucket.iter().map(Row::read).enumerate() {
            if i == 0 {
                y.xor_bit(q, row.bit(1));
                y_macs[q] = row.y_mac;
            }
            // d of the first is zero.
            let d = i > 0 && d.get(q * (buckets.size - 1) + i - 1);
            x.xor_bit(q, row.bit(0));
            z.xor_bit(q, row.bit(2) ^ (d & row.bit(0)));
            x_macs[q] ^= row.x_mac;
            z_macs[q] ^= row.z_mac ^ (row.x_mac & mask(u64::from(d)));
        }
    });
    Triples {
        x: Shares::new(key, x, x_macs),
        y: Shares::new(key, y, y_macs),
        z: Shares::new(key, z, z_macs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_crypto::Digest;

    const KEYS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0x0123_4567_89ab_cdef];

    /// Both parties' shares of two leaky triples of these x and y, with their MACs.
    fn dealt(x: [bool; 2], y: [bool; 2], noise: u64) -> [Buckets; 2] {
        let mut stream = noise;
        let mut draw = || {
            stream = stream.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            stream ^ stream >> 31
        };
        let delta = KEYS[0] ^ KEYS[1];
        let mut of =
            [(); 2].map(|()| Buckets { rows: zeroed_table(2 * ROW), order: vec![0, 1], size: 2 });
        for (k, (x, y)) in x.into_iter().zip(y).enumerate() {
            let whole = [x, y, x & y];
            let (bits, macs) = (draw() & 7, [draw(), draw(), draw()]);
            let rest = (0..3).fold(bits, |all, i| all ^ u64::from(whole[i]) << i);
            let [x_mac, y_mac, z_mac] = macs;
            let other = |i: usize| macs[i] ^ mask(u64::from(whole[i])) & delta;
            let rows = [
                Row { x_mac, y_mac, z_mac, bits },
                Row { x_mac: other(0), y_mac: other(1), z_mac: other(2), bits: rest },
            ];
            for (buckets, row) in of.iter_mut().zip(rows) {
                row.write(&mut buckets.rows.as_chunks_mut::<ROW>().0[k]);
            }
        }
        of
    }

    /// Attack (step 9): a party lies about d. Whatever the bits are, the triple has valid MACs; it
    /// is wrong in exactly half of the cases, those in which x of the second leaky triple is one.
    /// So d is checked before anything goes to stock.
    #[test]
    fn a_lied_difference_makes_a_wrong_triple_with_valid_macs_in_half_of_the_cases() {
        let (key, delta) = (KeyId(Digest([0; 32])), KEYS[0] ^ KEYS[1]);
        let mut wrong = 0;
        for case in 0..16u64 {
            let bit = |i: u64| case >> i & 1 == 1;
            let of = dealt([bit(0), bit(1)], [bit(2), bit(3)], case);
            for lie in [false, true] {
                let d: Bits = std::iter::once(bit(2) ^ bit(3) ^ lie).collect();
                let triples = of.each_ref().map(|buckets| joined(key, buckets, &d));
                let whole = |shares: [&Shares; 2]| {
                    let [one, other] = shares;
                    let value = one.bits().get(0) ^ other.bits().get(0);
                    let mac = one.macs()[0] ^ other.macs()[0];
                    assert_eq!(mac, mask(u64::from(value)) & delta, "case {case}, lie {lie}");
                    value
                };
                let [x, y, z] = [
                    whole(triples.each_ref().map(|of| &of.x)),
                    whole(triples.each_ref().map(|of| &of.y)),
                    whole(triples.each_ref().map(|of| &of.z)),
                ];
                assert!(lie || z == x & y, "case {case}");
                wrong += usize::from(z != x & y);
            }
        }
        assert_eq!(wrong, 8, "of 16 lies");
    }
}
