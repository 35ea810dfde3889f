//! Who spoilt a preparation: its seeds are opened, and everything is computed again.
//!
//! Allowed only because nothing depends on the job's seeds yet, which their type says: what a
//! preparation leaves behind is no [`FreshSeeds`].

use ostrakon_crypto::Digest;
use ostrakon_field::WordField;
use ostrakon_party::{Header, PartyId};
use ostrakon_replicated::pair::Pair;

use super::columns;
use super::set_equality::{self, Stage};
use super::{Headers, Permuting, SeedStatements, Slice, stage_output, stages_of, stated_by};
use crate::ruffle2::factors::Factors;
use crate::ruffle2::fault::Stop;
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::{FreshSeeds, JobSeeds, PairSeed, Purpose, seed_digest};
use crate::ruffle2::steps::{Kind, Rule};
use crate::ruffle2::uses::Bundle;

/// What the servers said in a slice.
pub struct Said<'a> {
    /// Countersigned headers, by server.
    pub transcripts: &'a [Vec<Headers>; 3],
    /// The coin.
    pub coin: &'a Digest,
    /// Coin and sums, by server.
    pub opened: &'a [Vec<u8>; 3],
}

/// Opens the job's seeds to both peers, takes theirs, and finds the first word that they do not
/// prescribe.
pub async fn open_slice<F: WordField>(
    run: &Run,
    fresh: &FreshSeeds,
    slice: &Slice<'_>,
    statements: &SeedStatements,
    said: Said<'_>,
) -> Stop {
    let seeds = fresh.seeds();
    let own: Vec<u8> =
        Pair::of_party(run.me()).into_iter().flat_map(|pair| *seeds.of(pair).expose()).collect();
    run.send_all(Kind::SeedOpening, 0, own);
    let theirs = match run.receive_both(Kind::SeedOpening, 0, Rule::exactly(64)).await {
        Ok(theirs) => theirs,
        Err(stop) => return stop,
    };
    let mut all =
        JobSeeds(Pair::ALL.map(|pair| seeds.get(pair).map(|seed| PairSeed::known(*seed.expose()))));
    for (peer, opening) in run.peers().into_iter().zip(&theirs) {
        for (pair, seed) in Pair::of_party(peer).into_iter().zip(opening.body.as_chunks().0) {
            if seed_digest(seed) != stated_by(statements, peer, pair)[0] {
                return Stop::Broken(PartyId(peer), "its seed");
            }
            all.0[pair.index()].get_or_insert_with(|| PairSeed::known(*seed));
        }
    }
    match deviator::<F>(&all, slice, &said) {
        Some(party) => Stop::Broken(PartyId(party), "its seeds"),
        None => Stop::Check("the preparation"),
    }
}

/// The first server, in the order of the protocol, whose words are not what the seeds prescribe.
fn deviator<F: WordField>(seeds: &JobSeeds, slice: &Slice<'_>, said: &Said<'_>) -> Option<u8> {
    let factors = Factors::expand(seeds, slice.bundles.iter().map(Bundle::first));
    let mut all = Vec::new();
    for (number, bundle) in slice.bundles.iter().enumerate() {
        let mut stages: Vec<Stage> = Vec::new();
        for stage in 0..3 {
            let previous = stages.last().map(|stage| &stage.after);
            let before = columns::stage_input(seeds, bundle, stage, previous);
            let pair = bundle.first().roles().stages()[stage];
            let index = factors.of(bundle.first(), pair);
            let permuting = Permuting { bundle, seeds, stage, index, table: &before };
            let messages = pair.members().map(|member| permuting.message::<F>(member));
            for (place, (member, message)) in pair.members().into_iter().zip(&messages).enumerate()
            {
                let which = usize::from(stages_of(bundle, member)[1] == stage);
                let stated = &said.transcripts[usize::from(member)][number][which][place];
                if stated.header.digest != Header::digest_of(message) {
                    return Some(member);
                }
            }
            let combined = permuting.combine::<F>([&messages[0], &messages[1]]);
            let after = stage_output(seeds, bundle, stage, Some(combined));
            stages.push(Stage { before, after });
        }
        all.push(stages);
    }
    (0..3).find(|party| {
        let zero = Purpose::Zero(slice.number);
        let zero: Vec<F> = seeds.zero_shares(*party, zero, 3 * all.len());
        let stages = all.iter().enumerate().flat_map(|(b, stages)| {
            stages.iter().enumerate().map(move |(s, stage)| ((b, s), stage))
        });
        let sums = stages.zip(zero).map(|((place, stage), zero)| {
            let bundle = &slice.bundles[place.0];
            zero + set_equality::local_terms::<F>(*party, said.coin, place, bundle, stage)
        });
        said.opened[usize::from(*party)][32..] != ostrakon_field::to_table(sums)
    })
}
