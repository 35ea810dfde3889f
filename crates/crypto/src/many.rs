//! Digests of many short values at a time: the same as one by one, several in the time of one where
//! the processor can.

pub use ostrakon_kernels::lanes::BLOCK;
use ostrakon_kernels::lanes::{self, Inputs, LANES, MOST_BLOCKS};

use crate::hash::{Digest, Transcript, context_key, keyed};

/// BLAKE3's flags of its modes.
const KEYED: u32 = 1 << 4;
const DERIVED: u32 = 1 << 6;

/// Values that a thread hashes one after another.
#[cfg(feature = "parallel")]
const TASK: usize = 1 << 10;

/// The fields of a value, as [`Transcript`] writes them.
#[derive(Default)]
pub struct Fields(Vec<u8>);

impl Fields {
    /// See [`Transcript::field`].
    pub fn field(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    /// See [`Transcript::number`].
    pub fn number(&mut self, value: u64) -> &mut Self {
        self.field(&value.to_le_bytes())
    }
}

/// The digests of `count` values for one purpose, of which `write` writes the fields of the one
/// with a number: each that of a [`Transcript`] of these fields. Uses all cores where that is
/// enabled.
pub fn digests(
    context: &'static str,
    count: usize,
    write: impl Fn(usize, &mut Fields) + Sync,
) -> Vec<Digest> {
    let mut digests = vec![Digest([0; 32]); count];
    #[cfg(feature = "parallel")]
    if count > TASK {
        use rayon::prelude::*;
        let task = |(task, digests): (usize, &mut [Digest])| {
            serial(context, task * TASK, digests, &write);
        };
        digests.par_chunks_mut(TASK).enumerate().for_each(task);
        return digests;
    }
    serial(context, 0, &mut digests, &write);
    digests
}

/// The digests of the values from `first` on.
fn serial(
    context: &'static str,
    first: usize,
    digests: &mut [Digest],
    write: &impl Fn(usize, &mut Fields),
) {
    let key = context_key(context);
    // Values of one number of blocks wait for each other.
    let mut groups: [Group; MOST_BLOCKS] = Default::default();
    let mut fields = Fields::default();
    for number in 0..digests.len() {
        fields.0.clear();
        write(first + number, &mut fields);
        let blocks = fields.0.len().div_ceil(BLOCK).max(1);
        let Some(group) = groups.get_mut(blocks - 1) else {
            digests[number] = Transcript::of_fields(&key, &fields.0);
            continue;
        };
        group.take(number, &fields.0);
        if group.numbers.len() == LANES {
            group.hash(&key, digests);
        }
    }
    groups.iter_mut().for_each(|group| group.hash(&key, digests));
}

/// Values of as many blocks each, up to [`LANES`].
#[derive(Default)]
struct Group {
    numbers: Vec<usize>,
    lengths: Vec<usize>,
    /// The values, each filled up with zeros to whole blocks.
    blocks: Vec<[u8; BLOCK]>,
}

impl Group {
    fn take(&mut self, number: usize, value: &[u8]) {
        self.numbers.push(number);
        self.lengths.push(value.len());
        let (whole, rest) = value.as_chunks::<BLOCK>();
        self.blocks.extend_from_slice(whole);
        if !rest.is_empty() || whole.is_empty() {
            let mut last = [0; BLOCK];
            last[..rest.len()].copy_from_slice(rest);
            self.blocks.push(last);
        }
    }

    fn hash(&mut self, key: &[u8; 32], digests: &mut [Digest]) {
        if self.numbers.is_empty() {
            return;
        }
        let each = self.blocks.len() / self.numbers.len();
        let value = |lane: usize| &self.blocks[lane * each..(lane + 1) * each];
        let together = (self.numbers.len() == LANES).then(|| {
            lanes::digests(&Inputs {
                keys: [key; LANES],
                mode: DERIVED,
                blocks: std::array::from_fn(value),
                last: std::array::from_fn(|lane| (self.lengths[lane] - (each - 1) * BLOCK) as u32),
            })
        });
        match together.flatten() {
            Some(hashed) => {
                for (number, digest) in self.numbers.iter().zip(hashed) {
                    digests[*number] = Digest(digest);
                }
            }
            None => {
                for (lane, number) in self.numbers.iter().enumerate() {
                    let bytes = &value(lane).as_flattened()[..self.lengths[lane]];
                    digests[*number] = Transcript::of_fields(key, bytes);
                }
            }
        }
        self.numbers.clear();
        self.lengths.clear();
        self.blocks.clear();
    }
}

/// [`keyed`] of many values of `length` bytes, at most a block, each under a key of its own and
/// filled up with zeros to a block. `take` is given each result, with the value's number, in order.
///
/// # Panics
/// If `length` is 0, or more than a block has.
pub fn keyed_blocks<'k>(
    length: usize,
    values: impl IntoIterator<Item = (&'k [u8; 32], [u8; BLOCK])>,
    mut take: impl FnMut(usize, &[u8; 32]),
) {
    assert!((1..=BLOCK).contains(&length), "1 to {BLOCK} bytes, not {length}");
    let mut values = values.into_iter();
    let mut group: [(&[u8; 32], [u8; BLOCK]); LANES] = [(&[0; 32], [0; BLOCK]); LANES];
    let mut first = 0;
    loop {
        let mut count = 0;
        for (place, value) in group.iter_mut().zip(&mut values) {
            debug_assert!(value.1[length..].iter().all(|b| *b == 0), "filled up with zeros");
            *place = value;
            count += 1;
        }
        let together = (count == LANES).then(|| {
            lanes::digests(&Inputs {
                keys: group.each_ref().map(|(key, _)| *key),
                mode: KEYED,
                blocks: group.each_ref().map(|(_, block)| std::slice::from_ref(block)),
                last: [length as u32; LANES],
            })
        });
        match together.flatten() {
            Some(hashed) => {
                hashed.iter().enumerate().for_each(|(lane, digest)| take(first + lane, digest));
            }
            None => {
                for (lane, (key, block)) in group[..count].iter().enumerate() {
                    take(first + lane, keyed(key, &block[..length]).expose());
                }
            }
        }
        first += count;
        if count < LANES {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of every length up to a block beyond a chunk, in an order in which groups fill one after the
    /// other, and some remain.
    #[test]
    fn many_digests_are_those_of_transcripts() {
        let count = 3000;
        let text: Vec<u8> = (0..1200).map(|i| (i * 7 + i / 256) as u8).collect();
        let value = |number: usize| &text[number % 11..number % 11 + number * 37 % 1140];
        let many = digests("many", count, |number, fields| {
            fields.number(number as u64).field(value(number));
        });
        for (number, digest) in many.into_iter().enumerate() {
            let mut one = Transcript::new("many");
            one.number(number as u64).field(value(number));
            assert_eq!(digest, one.finish(), "value {number}");
        }
        assert_eq!(digests("many", 9, |_, _| {}), vec![Transcript::new("many").finish(); 9]);
        assert!(digests("many", 0, |_, _| {}).is_empty());
    }

    #[test]
    fn many_keyed_values_are_hashed_as_one_by_one() {
        for (count, length) in
            [(0, 9), (1, BLOCK), (LANES - 1, 1), (LANES, 21), (LANES, BLOCK), (3 * LANES + 2, 37)]
        {
            let keys: Vec<[u8; 32]> = (0..count).map(|i| [i as u8; 32]).collect();
            let byte = |i: usize, at: usize| if at < length { (i * 5 + at) as u8 } else { 0 };
            let block = |i: usize| std::array::from_fn(|at| byte(i, at));
            let values = keys.iter().enumerate().map(|(i, key)| (key, block(i)));
            let mut seen = 0;
            keyed_blocks(length, values, |i, hashed| {
                let one = keyed(&keys[i], &block(i)[..length]);
                assert_eq!(hashed, one.expose(), "value {i} of {count} with {length} bytes");
                assert_eq!(i, seen);
                seen += 1;
            });
            assert_eq!(seen, count);
        }
    }
}
