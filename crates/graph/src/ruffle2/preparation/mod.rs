//! Before any input: shares of U = π(α_in) − R for every use (`docs/spec/ruffle2.md`, P1 to P8).
//!
//! Nothing here takes a sorting map, a coefficient or data: a use's input mask is fresh, and so
//! needs nothing that comes later.

mod blame;
mod columns;
pub(super) mod set_equality;

use std::borrow::Cow;
use std::sync::Arc;

use futures::future::try_join_all;
use ostrakon_crypto::{Digest, Secret};
use ostrakon_field::{ELEMENT_BYTES, WordField};
use ostrakon_party::{PartyId, Received, Recipient, SignedHeader, wire};
use ostrakon_replicated::pair::Pair;
use serde::{Deserialize, Serialize};

use self::columns::{Share, Shares};
use self::set_equality::Stage;
use super::coin;
use super::factors::Factors;
use super::fault::{Evidence, Stop};
use super::journal::{Journal, begin, bind};
use super::run::Run;
use super::seeds::{FreshSeeds, JobName, JobSeeds, Phase, Purpose, seed_digest};
use super::steps::{Kind, Rule, SALT};
use super::uses::{Bundle, Permutation, Use};

/// Most bytes of one bundle's signed headers in a statement.
const HEADERS: u64 = 4 * 256;

/// A use's shares of U, as one server has them: of the last pair a table, of the others streams.
#[derive(Clone, Serialize, Deserialize)]
pub struct Prepared {
    /// The use.
    pub of: Use,
    last: Option<Vec<u8>>,
}

impl Prepared {
    /// The share of U of a pair that the server is in.
    pub fn share<F: WordField>(&self, seeds: &JobSeeds, pair: Pair) -> Cow<'_, [u8]> {
        if pair == self.of.roles().stages()[2] {
            let last = self.last.as_deref();
            return Cow::Borrowed(last.expect("its members keep the last pair's share"));
        }
        let mut table = ostrakon_kernels::zeroed_table(self.of.bytes());
        F::expand(&seeds.of(pair).prg(Purpose::Fresh(2, self.of.id)), 0, &mut table);
        Cow::Owned(table)
    }

    /// Whether it is what a server with these pairs keeps of the use.
    #[must_use]
    pub fn is_sound<F: WordField>(&self, party: u8) -> bool {
        let keeps = self.of.roles().stages()[2].contains(party);
        match &self.last {
            Some(table) => keeps && table.len() == self.of.bytes() && F::are_canonical(table),
            None => !keeps,
        }
    }
}

/// What the servers state about a job's seeds, by server: of both own pairs the digests of the job
/// seed, of the seed of a secret input's masks, and of every permutation's seed.
pub type SeedStatements = [[Vec<Digest>; 2]; 3];

/// States the seeds, before anything that depends on them is sent. The journal binds the job's
/// number to the job.
///
/// # Errors
/// [`Stop::Disagreement`] if the members of a pair state different seeds; [`Stop::Spent`] if the
/// number has been used for another job.
pub async fn state_seeds(
    run: &Run,
    job: &JobName,
    seeds: &JobSeeds,
    permutations: &[Permutation],
    journal: &dyn Journal,
) -> Result<SeedStatements, Stop> {
    bind(journal, format!("job {}", job.number), &job.digest)?;
    let count = 2 + permutations.len();
    let own: Vec<u8> = Pair::of_party(run.me())
        .into_iter()
        .flat_map(|pair| pair_digests(seeds, pair, permutations))
        .flat_map(|digest| digest.0)
        .collect();
    let rule = Rule::exactly(2 * 32 * count as u64);
    let stated = run.broadcast(Kind::SeedStatement, 0, own, rule).await?;
    let statements: SeedStatements = stated.map(|received| {
        let digests: Vec<Digest> =
            received.body.as_chunks::<32>().0.iter().map(|digest| Digest(*digest)).collect();
        [digests[..count].to_vec(), digests[count..].to_vec()]
    });
    for pair in Pair::ALL {
        let [a, b] = pair.members().map(|member| stated_by(&statements, member, pair));
        if a != b {
            return Err(Stop::Disagreement);
        }
    }
    Ok(statements)
}

/// What a member states about a pair.
pub fn stated_by(statements: &SeedStatements, member: u8, pair: Pair) -> &[Digest] {
    &statements[usize::from(member)][usize::from(Pair::of_party(member)[1] == pair)]
}

/// The digests of a pair's seeds.
pub fn pair_digests(seeds: &JobSeeds, pair: Pair, permutations: &[Permutation]) -> Vec<Digest> {
    let seed = seeds.of(pair);
    let of = |p: &Permutation| seed_digest(seed.purpose(Purpose::Permutation(p.id)).expose());
    let secret = seed_digest(seed.purpose(Purpose::Secret).expose());
    [seed_digest(seed.expose()), secret].into_iter().chain(permutations.iter().map(of)).collect()
}

/// The signed headers of one bundle's Shuffle-Pair messages, as a server sent and received them:
/// of its two stages in order, the lower member's and the higher member's.
pub type Headers = [[SignedHeader; 2]; 2];

/// The stages of a bundle that a server takes part in.
pub fn stages_of(bundle: &Bundle, party: u8) -> [usize; 2] {
    let stages = bundle.first().roles().stages();
    let out = stages.iter().position(|pair| !pair.contains(party)).expect("one pair is without it");
    [[1, 2], [0, 2], [0, 1]][out]
}

/// One stage of a bundle as a member of its pair computes it.
pub struct Permuting<'a> {
    /// The bundle.
    pub bundle: &'a Bundle,
    /// Its seeds.
    pub seeds: &'a JobSeeds,
    /// 0, 1 or 2.
    pub stage: usize,
    /// The pair's factor.
    pub index: &'a [u32],
    /// The table before.
    pub table: &'a Shares,
}

impl Permuting<'_> {
    /// ρ_m = π_ij(\[T\]_mk) − \[T'\]_mk, where k is the third server, then a salt of the pair: k
    /// sees the message's digest, and knows everything in ρ_m but π_ij.
    pub fn message<F: WordField>(&self, member: u8) -> Vec<u8> {
        let mut message = self.masked::<F>(member);
        let (stage, of) = (self.stage, self.bundle.first());
        let salt = Purpose::Salt { stage, sender: member, of: of.id };
        let salt = self.seeds.of(of.roles().stages()[stage]).purpose(salt);
        message.extend_from_slice(salt.expose());
        message
    }

    /// What the third server, too, computes from the permutation; with room for the salt.
    fn masked<F: WordField>(&self, member: u8) -> Vec<u8> {
        let pair = self.bundle.first().roles().stages()[self.stage];
        let shared = Pair::of(member, pair.outsider());
        let table = columns::of(self.table, shared);
        let mut message = table.permuted::<F>(self.bundle, self.index, SALT);
        let fresh = columns::fresh(self.seeds, shared, self.bundle, self.stage);
        fresh.subtract_from::<F>(self.bundle, &mut message);
        message
    }

    /// \[T'\]_ij = π_ij(\[T\]_ij) + ρ_i + ρ_j; the salts are left out.
    pub fn combine<F: WordField>(&self, messages: [&[u8]; 2]) -> Vec<u8> {
        let pair = self.bundle.first().roles().stages()[self.stage];
        let table = columns::of(self.table, pair);
        let mut combined = table.permuted::<F>(self.bundle, self.index, 0);
        let length = combined.len();
        messages.into_iter().for_each(|message| F::add_into(&mut combined, &message[..length]));
        combined
    }
}

/// The table after a stage, as far as the seeds go.
pub fn stage_output(
    seeds: &JobSeeds,
    bundle: &Bundle,
    stage: usize,
    combined: Option<Vec<u8>>,
) -> Shares {
    let permuting = bundle.first().roles().stages()[stage];
    let mut shares = Pair::ALL.map(|pair| {
        let known = pair != permuting && seeds.get(pair).is_some();
        known.then(|| columns::fresh(seeds, pair, bundle, stage))
    });
    shares[permuting.index()] = combined.map(|bytes| Share::Stored(Arc::new(bytes)));
    shares
}

/// A slice: bundles that are prepared together, under one coin.
pub struct Slice<'a> {
    /// The job.
    pub job: &'a JobName,
    /// Which slice of it.
    pub number: u32,
    /// Its bundles.
    pub bundles: &'a [Bundle],
    /// Its seeds, and what happens if a check fails.
    pub failing: Failing<'a>,
}

/// What servers do if a check of the preparation fails: it hangs on what the seeds are.
#[derive(Clone, Copy)]
pub enum Failing<'a> {
    /// The job's seeds are opened and the deviator is named: nothing depends on them yet.
    Opens(&'a FreshSeeds),
    /// They stop, and nobody is named: the seeds are of permutations that data went through.
    Stops(&'a JobSeeds),
}

impl<'a> Failing<'a> {
    /// The seeds, whichever they are.
    #[must_use]
    pub fn seeds(self) -> &'a JobSeeds {
        match self {
            Failing::Opens(fresh) => fresh.seeds(),
            Failing::Stops(seeds) => seeds,
        }
    }
}

/// Prepares a slice. `randomness` is 32 fresh random bytes, used for this slice alone.
///
/// # Errors
/// [`Stop::Spent`] if this slice has been begun before: half a preparation is never resumed.
/// [`Stop::Check`] or [`Stop::Broken`] if a check fails; the job is then worthless.
pub async fn prepare<F: WordField>(
    run: &Run,
    slice: &Slice<'_>,
    statements: &SeedStatements,
    randomness: [u8; 32],
    journal: &dyn Journal,
) -> Result<Vec<Prepared>, Stop> {
    let (randomness, seeds) = (Secret::new(randomness), slice.failing.seeds());
    begin(journal, format!("job {} slice {}", slice.job.number, slice.number))?;
    let factors = Factors::expand(seeds, slice.bundles.iter().map(Bundle::first));
    let (stages, headers) = shuffle_pairs::<F>(run, seeds, slice.bundles, &factors).await?;
    let transcripts = countersign(run, slice.bundles, &headers).await?;
    let coin = coin::toss(run, 0, &randomness).await?;
    let sums = masked_sums::<F>(run, slice, &stages, &coin);
    let own: Vec<u8> = coin.0.into_iter().chain(ostrakon_field::to_table(sums)).collect();
    let kinds = (Kind::SumCommitment, Kind::SumOpening);
    let nonce = randomness.derive("ostrakon/v1/ruffle2/sum nonce", &[]);
    let opened = coin::commit_and_open(run, kinds, 0, *nonce.expose(), &own).await?;
    if verdict::<F>(&coin, &opened)? {
        return Ok(keep(slice.bundles, stages, run.me()));
    }
    match slice.failing {
        Failing::Stops(_) => Err(Stop::Check("the preparation")),
        Failing::Opens(fresh) => {
            let said = blame::Said { transcripts: &transcripts, coin: &coin, opened: &opened };
            Err(blame::open_slice::<F>(run, fresh, slice, statements, said).await)
        }
    }
}

type Shuffled = (Vec<[Stage; 3]>, Vec<Headers>);

/// P3: three Shuffle-Pairs for every bundle, all bundles side by side.
async fn shuffle_pairs<F: WordField>(
    run: &Run,
    seeds: &JobSeeds,
    bundles: &[Bundle],
    factors: &Factors,
) -> Result<Shuffled, Stop> {
    let mut stages: Vec<Vec<Stage>> = bundles.iter().map(|_| Vec::new()).collect();
    let mut headers: Vec<Vec<[SignedHeader; 2]>> = bundles.iter().map(|_| Vec::new()).collect();
    for stage in 0..3 {
        let kind = Kind::shuffle_pair(stage);
        let mut sent = Vec::new();
        for (number, bundle) in (0..).zip(bundles) {
            let previous = stages[number as usize].last().map(|stage| &stage.after);
            let before = columns::stage_input(seeds, bundle, stage, previous);
            let pair = bundle.first().roles().stages()[stage];
            let own = pair.contains(run.me()).then(|| {
                let index = factors.of(bundle.first(), pair);
                let permuting = Permuting { bundle, seeds, stage, index, table: &before };
                let message = bytes::Bytes::from(permuting.message::<F>(run.me()));
                let signed = run.send(pair.other(run.me()), kind, number, message.clone());
                (message, signed)
            });
            sent.push((before, own));
        }
        let made =
            (0..).zip(bundles).zip(sent).map(|((number, bundle), (before, own))| async move {
                let Some((message, signed)) = own else {
                    let after = stage_output(seeds, bundle, stage, None);
                    return Ok((None, Stage { before, after }));
                };
                let pair = bundle.first().roles().stages()[stage];
                let rule = Rule::salted_table::<F>(bundle.bytes() / ELEMENT_BYTES);
                let theirs = run.receive(pair.other(run.me()), kind, number, rule).await?;
                let index = factors.of(bundle.first(), pair);
                let permuting = Permuting { bundle, seeds, stage, index, table: &before };
                let combined = permuting.combine::<F>([&message, &theirs.body]);
                let both = match pair.members()[0] == run.me() {
                    true => [signed, theirs.signed],
                    false => [theirs.signed, signed],
                };
                let after = stage_output(seeds, bundle, stage, Some(combined));
                Ok::<_, Stop>((Some(both), Stage { before, after }))
            });
        // All at once: a long message travels when it is asked for.
        for (bundle, (both, made)) in try_join_all(made).await?.into_iter().enumerate() {
            headers[bundle].extend(both);
            stages[bundle].push(made);
        }
    }
    let three = |stages: Vec<Stage>| stages.try_into().ok().expect("three stages");
    let two = |headers: Vec<_>| headers.try_into().expect("every server is in two stages");
    Ok((stages.into_iter().map(three).collect(), headers.into_iter().map(two).collect()))
}

/// P4: everything sent and received is countersigned before the coin is tossed.
async fn countersign(
    run: &Run,
    bundles: &[Bundle],
    headers: &[Headers],
) -> Result<[Vec<Headers>; 3], Stop> {
    let rule = Rule::at_most(16 + HEADERS * bundles.len() as u64);
    let own = wire::encode(&headers.to_vec());
    let stated = run.broadcast(Kind::TranscriptStatement, 0, own, rule).await?;
    let mut transcripts = Vec::new();
    for (party, received) in (0..).zip(&stated) {
        transcripts.push(read_transcript(run, bundles, party, received)?);
    }
    let transcripts: [Vec<Headers>; 3] = transcripts.try_into().expect("three servers");
    for (number, bundle) in bundles.iter().enumerate() {
        for (stage, pair) in bundle.first().roles().stages().into_iter().enumerate() {
            let [x, y] = pair.members().map(|member| {
                let place = usize::from(stages_of(bundle, member)[1] == stage);
                transcripts[usize::from(member)][number][place]
            });
            for (a, b) in x.into_iter().zip(y) {
                if a.contradicts(&b) {
                    return Err(Stop::Evidence(Evidence::Equivocation(Box::new([a, b]))));
                }
            }
        }
    }
    Ok(transcripts)
}

fn read_transcript(
    run: &Run,
    bundles: &[Bundle],
    party: u8,
    received: &Received,
) -> Result<Vec<Headers>, Stop> {
    let malformed = || Stop::Malformed(Box::new(received.signed));
    let headers: Vec<Headers> = wire::decode(&received.body).map_err(|_| malformed())?;
    let wellformed = headers.len() == bundles.len()
        && (0..).zip(bundles).zip(&headers).all(|((number, bundle), headers)| {
            stages_of(bundle, party).into_iter().zip(headers).all(|(stage, headers)| {
                let pair = bundle.first().roles().stages()[stage];
                pair.members().into_iter().zip(headers).all(|(member, signed)| {
                    let header = &signed.header;
                    let step = Kind::shuffle_pair(stage).step();
                    header.from == PartyId(member)
                        && header.to == Recipient::One(PartyId(pair.other(member)))
                        && (header.tag.instance, header.tag.step, header.tag.sequence)
                            == (run.instance, step, number)
                        && run.party.roster.vouches(signed)
                })
            })
        });
    if wellformed { Ok(headers) } else { Err(malformed()) }
}

/// P6: a server's masked terms of every V.
fn masked_sums<F: WordField>(
    run: &Run,
    slice: &Slice<'_>,
    stages: &[[Stage; 3]],
    coin: &Digest,
) -> Vec<F> {
    let purpose = Purpose::Zero(slice.number);
    let zero: Vec<F> = slice.failing.seeds().zero_shares(run.me(), purpose, 3 * stages.len());
    let places = stages
        .iter()
        .enumerate()
        .flat_map(|(b, three)| three.iter().enumerate().map(move |(s, stage)| ((b, s), stage)));
    let term = |(place, stage): ((usize, usize), &Stage)| {
        set_equality::local_terms::<F>(run.me(), coin, place, &slice.bundles[place.0], stage)
    };
    places.map(term).zip(zero).map(|(term, zero)| term + zero).collect()
}

/// P7: whether all sums cancel. A function of what was broadcast, so the same at both honest
/// servers.
fn verdict<F: WordField>(coin: &Digest, opened: &[Vec<u8>; 3]) -> Result<bool, Stop> {
    let mut sums: Option<Vec<u8>> = None;
    for (party, opening) in (0..).zip(opened) {
        let (stated, terms) = opening.split_at(32);
        if stated != coin.0 || !F::are_canonical(terms) {
            return Err(Stop::Broken(PartyId(party), "the coin"));
        }
        match &mut sums {
            None => sums = Some(terms.to_vec()),
            Some(sums) => F::add_into(sums, terms),
        }
    }
    Ok(sums.is_some_and(|sums| sums.iter().all(|byte| *byte == 0)))
}

/// P8: what is kept of a slice that passed.
fn keep(bundles: &[Bundle], stages: Vec<[Stage; 3]>, me: u8) -> Vec<Prepared> {
    let mut kept = Vec::new();
    for (bundle, [_, _, last]) in bundles.iter().zip(stages) {
        let pair = bundle.first().roles().stages()[2];
        let share = &last.after[pair.index()];
        let mut tables = match share {
            Some(Share::Stored(bytes)) if pair.contains(me) => columns::tables(bytes, bundle),
            _ => Vec::new(),
        }
        .into_iter();
        kept.extend(bundle.uses().iter().map(|u| Prepared { of: *u, last: tables.next() }));
    }
    kept
}

/// The run of a slice.
pub fn slice_run(party: &ostrakon_party::Party, job: &JobName, number: u32) -> Run {
    Run { party: party.clone(), instance: job.instance(Phase::Slice(number)) }
}

#[cfg(test)]
mod tests;
