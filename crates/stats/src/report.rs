//! What a reporter sends (`docs/spec/statistics.md`, steps 1 and 2).

use ostrakon_crypto::Secret;
use serde::{Deserialize, Serialize};

use crate::question::Question;

/// One server's share of one report: bits of the question's width, lowest first. All servers'
/// shares together add up to the number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report(pub u64);

/// The shares of a number, one for each of `servers`, in order. `None` if the number does not fit
/// the question. `randomness` is fresh and serves this report alone.
pub fn report(
    question: &Question,
    number: u64,
    servers: usize,
    randomness: &Secret,
) -> Option<Vec<Report>> {
    let mask = (1 << question.width) - 1;
    if number & !mask != 0 || servers == 0 {
        return None;
    }
    let mut drawn = vec![0; 8 * (servers - 1)];
    randomness.fill("ostrakon/v1/stats/shares of a report", &[], &mut drawn);
    let mut shares: Vec<Report> = drawn
        .chunks_exact(8)
        .map(|bytes| Report(u64::from_le_bytes(bytes.try_into().expect("8 bytes")) & mask))
        .collect();
    let rest = shares.iter().fold(number, |rest, share| rest ^ share.0);
    shares.push(Report(rest));
    Some(shares)
}
