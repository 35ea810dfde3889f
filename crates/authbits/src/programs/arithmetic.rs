//! Adding numbers: carry-save, what is ready first is added first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::circuit::{Builder, Wire};

/// The number of ones among `bits`, lowest digit first. n − s(n) AND gates, where s(n) is the
/// number of ones in n.
pub fn popcount(builder: &mut Builder, bits: &[Wire]) -> Vec<Wire> {
    compress(builder, vec![bits.to_vec()])
}

/// The sum of numbers, each lowest digit first; they need not have one length.
pub fn sum(builder: &mut Builder, numbers: &[Vec<Wire>]) -> Vec<Wire> {
    let width = numbers.iter().map(Vec::len).max().unwrap_or(0);
    let column = |digit: usize| numbers.iter().filter_map(|n| n.get(digit)).copied().collect();
    let columns = (0..width).map(column).collect();
    compress(builder, columns)
}

/// The sum of bits, of which those of column d count 2^d each; lowest digit first. Full adders with
/// one AND each: of every column the wires that are ready first are added first.
pub fn compress(builder: &mut Builder, mut columns: Vec<Vec<Wire>>) -> Vec<Wire> {
    let mut sum = Vec::new();
    let mut digit = 0;
    while digit < columns.len() {
        let column = std::mem::take(&mut columns[digit]);
        let (bit, carries) = add_column(builder, &column);
        let zero = || builder.constant(false);
        sum.push(bit.unwrap_or_else(zero));
        if !carries.is_empty() {
            if digit + 1 == columns.len() {
                columns.push(Vec::new());
            }
            columns[digit + 1].extend(carries);
        }
        digit += 1;
    }
    sum
}

/// Adds the bits of a column to one, and the carries of the next column.
fn add_column(builder: &mut Builder, column: &[Wire]) -> (Option<Wire>, Vec<Wire>) {
    let entry = |builder: &Builder, i: usize, wire: Wire| {
        Reverse(Ready { depth: builder.depth(wire), since: i, wire })
    };
    let mut ready: BinaryHeap<_> =
        column.iter().enumerate().map(|(i, &wire)| entry(builder, i, wire)).collect();
    let mut carries = Vec::new();
    let mut next = column.len();
    loop {
        let Some(Reverse(Ready { wire: a, .. })) = ready.pop() else { return (None, carries) };
        let Some(Reverse(Ready { wire: b, .. })) = ready.pop() else { return (Some(a), carries) };
        let half = builder.xor(a, b);
        let (digit, carry) = match ready.pop() {
            None => (half, builder.and(a, b)),
            Some(Reverse(Ready { wire: c, .. })) => {
                let other = builder.xor(a, c);
                let both = builder.and(half, other);
                (builder.xor(half, c), builder.xor(both, a))
            }
        };
        carries.push(carry);
        ready.push(entry(builder, next, digit));
        next += 1;
    }
}

/// A wire that waits to be added: the shallowest first, of those the one that came first.
struct Ready {
    depth: u32,
    since: usize,
    wire: Wire,
}

impl PartialEq for Ready {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ready {}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ready {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.depth, self.since).cmp(&(other.depth, other.since))
    }
}
