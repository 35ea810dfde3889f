//! What an attempt begins with: keys of the pairs, and the seeds that owners dealt to them
//! (`docs/spec/graph.md`, G1 and G2).

use bytes::Bytes;
use futures::future::join;
use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_crypto::{Secret, Transcript};
use ostrakon_party::{Length, PartyId};
use ostrakon_replicated::pair::Pair;

use crate::asked::{Contribution, SEEDS};
use crate::ruffle2::fault::Stop;
use crate::ruffle2::run::Run;
use crate::ruffle2::seeds::{JobName, JobSeeds};
use crate::ruffle2::steps::{Kind, Rule};

/// Bytes of a pair's seeds of one list.
const OF_LIST: usize = SEEDS * 32;

/// The seeds of one list that a server has, in the order of [`Pair::of_party`].
pub type Held = [Option<[Secret; SEEDS]>; 2];

/// G1: fresh keys for both own pairs, in the order of [`Pair::of_party`]. That both members of a
/// pair have the same one is found by the statements of the preparation (P1). `randomness` is used
/// for nothing else.
///
/// # Errors
/// [`Stop`].
pub async fn pair_keys(run: &Run, randomness: &Secret) -> Result<[Secret; 2], Stop> {
    let draw = |what: &[u8]| randomness.derive("ostrakon/v1/graph/pair key", &[what]);
    let ephemeral = ExchangeKey::new(&draw(b"ephemeral"));
    let rule = Rule::exactly(32);
    let publics = run.broadcast(Kind::PairKey, 0, ephemeral.public().to_vec(), rule).await?;
    // Over the members' links, whose key exchange a quantum computer does not break.
    let [a, b] = run.peers();
    let own = [draw(b"contribution a"), draw(b"contribution b")];
    for (peer, contribution) in [a, b].into_iter().zip(&own) {
        run.send(peer, Kind::PairContribution, 0, contribution.expose().to_vec());
    }
    let theirs = join(
        run.receive(a, Kind::PairContribution, 0, Rule::exactly(32)),
        run.receive(b, Kind::PairContribution, 0, Rule::exactly(32)),
    )
    .await;
    let theirs = [theirs.0?, theirs.1?];
    let mut keys = Vec::with_capacity(2);
    for ((peer, own), theirs) in [a, b].into_iter().zip(&own).zip(&theirs) {
        let public: [u8; 32] =
            publics[usize::from(peer)].body[..].try_into().expect("length is checked");
        let known = || Stop::Broken(PartyId(peer), "its key, which everybody knows");
        let agreed = ephemeral.agree(&public).ok_or_else(known)?;
        let (lower, higher): (&[u8], &[u8]) = match run.me() < peer {
            true => (own.expose(), &theirs.body),
            false => (&theirs.body, own.expose()),
        };
        let mut transcript = Transcript::new("ostrakon/v1/graph/pair key of an attempt");
        transcript
            .field(&run.party.roster.session.0.0)
            .number(Pair::of(run.me(), peer).index() as u64);
        publics.iter().for_each(|public| {
            transcript.field(&public.body);
        });
        transcript.field(agreed.expose()).field(lower).field(higher);
        keys.push(Secret::new(transcript.finish().0));
    }
    Ok(keys.try_into().ok().expect("two peers"))
}

/// G2: the members of a pair have the same seeds of a list, or neither has any and the list is out.
/// Returns the seeds of the own pairs, for the lists that are in.
///
/// # Errors
/// [`Stop`]; [`Stop::Broken`] if a member passes on other seeds than the owner's digests name.
pub async fn complete(
    run: &Run,
    contributions: &[Contribution],
    held: Vec<Held>,
) -> Result<Vec<Option<[[Secret; SEEDS]; 2]>>, Stop> {
    let own: Vec<u8> = held.iter().flatten().map(|seeds| u8::from(seeds.is_some())).collect();
    let bits = |body: &[u8]| body.iter().all(|bit| *bit <= 1);
    let rule = Rule { length: Length::Exactly(own.len() as u64), content: bits };
    let stated = run.broadcast(Kind::Holding, 0, own, rule).await?;
    let has = |list: usize, member: u8, pair: Pair| {
        let place = usize::from(Pair::of_party(member)[1] == pair);
        stated[usize::from(member)].body[2 * list + place] == 1
    };
    let lists = 0..contributions.len();
    let is_in = |list: usize| {
        Pair::ALL.iter().all(|pair| pair.members().iter().any(|m| has(list, *m, *pair)))
    };
    // Everything is sent before anything is awaited.
    let pairs = Pair::of_party(run.me());
    for list in lists.clone().filter(|list| is_in(*list)) {
        for (pair, seeds) in pairs.into_iter().zip(&held[list]) {
            let other = pair.other(run.me());
            if let (Some(seeds), false) = (seeds, has(list, other, pair)) {
                let bytes: Vec<u8> = seeds.iter().flat_map(|seed| *seed.expose()).collect();
                run.send(other, Kind::DealtSeeds, sequence(list, pair), Bytes::from(bytes));
            }
        }
    }
    let mut complete = Vec::with_capacity(contributions.len());
    for ((list, contribution), held) in lists.zip(contributions).zip(held) {
        if !is_in(list) {
            complete.push(None);
            continue;
        }
        let mut both = Vec::with_capacity(2);
        for (pair, seeds) in pairs.into_iter().zip(held) {
            both.push(match seeds {
                Some(seeds) => seeds,
                None => lacking(run, list, contribution, pair).await?,
            });
        }
        complete.push(both.try_into().ok());
    }
    Ok(complete)
}

async fn lacking(
    run: &Run,
    list: usize,
    contribution: &Contribution,
    pair: Pair,
) -> Result<[Secret; SEEDS], Stop> {
    let other = pair.other(run.me());
    let rule = Rule::exactly(OF_LIST as u64);
    let received = run.receive(other, Kind::DealtSeeds, sequence(list, pair), rule).await?;
    let seeds = contribution.seeds(pair, &received.body);
    seeds.ok_or(Stop::Broken(PartyId(other), "the seeds that it holds of an owner"))
}

fn sequence(list: usize, pair: Pair) -> u32 {
    3 * u32::try_from(list).expect("few lists") + pair.index() as u32
}

/// The seeds of an attempt: fresh ones of the pairs, and the owners' for their lists.
pub fn seeds(
    run: &Run,
    keys: &[Secret; 2],
    job: &JobName,
    dealt: &[Option<[[Secret; SEEDS]; 2]>],
) -> JobSeeds {
    let pairs = Pair::of_party(run.me());
    let keyed = [(pairs[0], &keys[0]), (pairs[1], &keys[1])];
    let mut seeds = JobSeeds::of_pairs(&run.party.roster.session, keyed, job);
    for (which, pair) in pairs.into_iter().enumerate() {
        let of_list = |dealt: &Option<[[Secret; SEEDS]; 2]>| match dealt {
            Some(both) => both[which].each_ref().map(|seed| Some(Secret::new(*seed.expose()))),
            None => [const { None }; SEEDS],
        };
        let dealt = dealt.iter().flat_map(of_list).collect();
        let place = &mut seeds.0[pair.index()];
        *place = place.take().map(|seed| seed.with_dealt(dealt));
    }
    seeds
}
