//! The sabotage sweep over what comes before an epoch: keys of a batch, registration keys, and
//! registrations, with all that they can bring about. As in `sabotage`: no honest server is blamed
//! or alone suspected, nobody honest is left out, and both holders of a seed have the same one.
//! What does not come to an end is a batch or an occasion less.

use futures::FutureExt;
use ostrakon_additive::client::{OwnSeeds, Registration};
use ostrakon_additive::three::fault::Fault;
use ostrakon_additive::three::keys::BatchKeys;
use ostrakon_additive::three::messages::{EpochSpec, Kind, PairStatement};
use ostrakon_additive::three::registration::{RegistrationKey, Unregistered, exchange_keys};
use ostrakon_crypto::Digest;
use ostrakon_party::{Message, Party, PartyId};
use ostrakon_testkit::{Case, Mutation, Network, Script};
use ostrakon_threeparty::Stop;
use ostrakon_threeparty::pair::Pair;
use ostrakon_threeparty::protocol::steps;
use ostrakon_threeparty::seal::Slot;

use crate::registrations::{agreed, sign};
use crate::sabotage::{assert_convicts, crash, honest, seeds};
use crate::world::*;

/// The batch whose keys are made.
const MADE: u64 = 7;
/// Marks of a server that registers participants: what it heard of the lists, which differ, and of
/// the details; the accepted list, the one that results.
const MARKS: u64 = 4;

/// How many ways are drawn for each message.
fn drawn() -> u64 {
    if nightly() { 2 } else { 1 }
}

/// How often a sweep came to what.
#[derive(Default)]
struct Reached {
    convicted: usize,
    suspected: usize,
    finished: usize,
    waited: usize,
}

impl Reached {
    fn convicts(&mut self, case: &Case, deployment: &Deployment, fault: &Fault) {
        self.convicted += 1;
        assert_convicts(case, &deployment.world.roster, fault);
    }

    fn suspects(&mut self, case: &Case, pair: Pair) {
        self.suspected += 1;
        assert!(pair.contains(case.corrupt.0), "{case:?}: two honest servers are suspected");
    }

    fn told(&self, corrupt: PartyId, least: [usize; 3]) {
        let Self { convicted, suspected, finished, waited } = self;
        println!(
            "{corrupt}: {convicted} convicted, {suspected} suspected, {finished} finished, {waited} waited"
        );
        for (count, least) in [convicted, suspected, finished].into_iter().zip(least) {
            assert!(*count >= least, "{convicted}, {suspected}, {finished}");
        }
    }
}

/// A delay or a repetition stops nobody.
fn is_harmless(case: &Case) -> bool {
    matches!(case.mutation, Mutation::Duplicate | Mutation::Delay)
}

/// A server's keys of the batch, and all servers' registration keys.
pub type Made = Result<(BatchKeys, [[u8; 32]; 3]), Stop<Fault>>;

pub fn make_keys(deployment: &Deployment, network: &Network) -> Vec<Option<Made>> {
    async fn make(party: Party, randomness: [u8; 32], own: RegistrationKey) -> Made {
        let keys = BatchKeys::agree(&party, MADE, randomness).await?;
        Ok((keys, exchange_keys(&party, MADE, &own).await?))
    }
    let world = &deployment.world;
    world.run(network, |party| {
        let randomness = world.randomness(party.id, "batch keys");
        let own = deployment.registration_key(party.id);
        make(party, randomness, own).boxed_local()
    })
}

/// What a holder would state of a pair's key in an epoch of the batch.
fn stated(keys: BatchKeys, holder: u8, pair: Pair) -> PairStatement {
    let spec = EpochSpec {
        context: Digest([8; 32]),
        number: 5,
        batch: MADE,
        round: 0,
        slots: 3,
        width: 16,
        minimum: 0,
    };
    keys.epoch(&spec).statement()[usize::from(Pair::of_party(holder)[1] == pair)]
}

fn judge_keys(
    case: &Case,
    deployment: &Deployment,
    made: Vec<Option<Made>>,
    reached: &mut Reached,
) {
    let pair = honest(case.corrupt).map(|server| server as u8);
    let mut both = Vec::new();
    for (server, made) in (0u8..).zip(made).filter(|(server, _)| pair.contains(server)) {
        match made {
            Some(Ok((keys, told))) => {
                reached.finished += 1;
                for honest in pair {
                    let own = deployment.registration_key(PartyId(honest)).public();
                    assert_eq!(told[usize::from(honest)], own, "{case:?}");
                }
                both.push((stated(keys, server, Pair::of(pair[0], pair[1])), told));
            }
            Some(Err(Stop::Fault(fault))) => reached.convicts(case, deployment, &fault),
            Some(Err(Stop::Disagreement(pair))) => reached.suspects(case, pair),
            Some(Err(Stop::Marks(why))) => panic!("{case:?}: {why}"),
            None => reached.waited += 1,
        }
    }
    if let [one, other] = &both[..] {
        assert_eq!(one, other, "{case:?}: the honest servers have other keys");
    }
    assert!(both.len() == 2 || !is_harmless(case), "{case:?}: stopped by a delay or a repetition");
}

fn sweep_keys(corrupt: PartyId) {
    let mut reached = Reached::default();
    for seed in seeds() {
        let deployment = Deployment::new(seed);
        let network = Network::default();
        assert!(make_keys(&deployment, &network).iter().all(|made| matches!(made, Some(Ok(_)))));
        let replay = Network::default();
        make_keys(&Deployment::new(seed + 5000), &replay);
        let other = Script::of(&replay, corrupt);
        for case in Script::of(&network, corrupt).drawn_cases(seed, 3, drawn()) {
            let made = make_keys(&deployment, &case.network(&deployment.world, &other));
            judge_keys(&case, &deployment, made, &mut reached);
        }
    }
    reached.told(corrupt, [5, 1, 10]);
}

#[test]
fn keys_beside_a_corrupt_p1() {
    sweep_keys(PartyId(0));
}

#[test]
fn keys_beside_a_corrupt_p2() {
    sweep_keys(PartyId(1));
}

#[test]
fn keys_beside_a_corrupt_p3() {
    sweep_keys(PartyId(2));
}

/// Participants with which everything that an occasion has happens, whose words two servers hold
/// alike: 1 gave one of these a box that does not open, 2 did not come there, 4 gave both such
/// boxes, and 5 told them two registrations.
struct Occasion {
    deployment: Deployment,
    list: Vec<(Registration, OwnSeeds)>,
    second: Registration,
    servers: [usize; 2],
}

const PARTICIPANTS: u32 = 6;
/// Whoever is not at fault itself, and was heard by all.
const SOUND: [u32; 2] = [0, 3];
/// Whoever is registered if nobody cheats.
const REGISTERED: [u32; 4] = [0, 1, 2, 3];

impl Occasion {
    fn new(seed: u64, servers: [usize; 2]) -> Self {
        let deployment = Deployment::new(seed);
        let mut list: Vec<_> =
            (0..PARTICIPANTS).map(|number| deployment.register(number, seed)).collect();
        let mut spoil = |number: usize, of: &[usize]| {
            let registration = &mut list[number].0;
            of.iter().for_each(|server| registration.boxes[*server].closed[5] ^= 1);
            sign(&deployment, registration, number as u32);
        };
        spoil(1, &servers[..1]);
        spoil(4, &servers);
        let second = deployment.register(5, seed + 1).0;
        Self { deployment, list, second, servers }
    }

    fn slots(&self, party: PartyId) -> Vec<Slot<Registration>> {
        let mut slots = registered_slots(&self.list);
        if party.index() == self.servers[0] {
            slots[2].submission = None;
            slots[5].submission = Some(self.second.clone());
        }
        slots
    }

    fn run(&self, network: &Network, marks: &[Memory; 3], crash: Option<Crash>) -> Registered {
        self.deployment.registrations_crashing(network, |party| self.slots(party), marks, crash)
    }
}

fn judge(case: &Case, occasion: &Occasion, results: &Registered, reached: &mut Reached) {
    let mut finished = Vec::new();
    for server in honest(case.corrupt) {
        match &results[server] {
            Some(Ok(_)) => {
                reached.finished += 1;
                finished.push(server);
            }
            Some(Err(Unregistered::Fault(fault))) => {
                reached.convicts(case, &occasion.deployment, fault);
            }
            Some(Err(Unregistered::Disagreement(pair))) => reached.suspects(case, *pair),
            Some(Err(other)) => panic!("{case:?}: {other}"),
            None => reached.waited += 1,
        }
    }
    if !finished.is_empty() {
        let found = agreed(results, &finished, PARTICIPANTS);
        assert!(SOUND.iter().all(|number| found.contains(number)), "{case:?}: {found:?}");
        assert!(found.iter().all(|number| REGISTERED.contains(number)), "{case:?}: {found:?}");
    }
    if is_harmless(case) {
        assert_eq!(finished.len(), 2, "{case:?}: stopped by a delay or a repetition");
        assert_eq!(agreed(results, &finished, PARTICIPANTS), REGISTERED, "{case:?}");
    }
}

fn sweep(corrupt: PartyId) {
    let mut reached = Reached::default();
    for seed in seeds() {
        let occasion = Occasion::new(seed, honest(corrupt));
        let network = Network::default();
        let results = occasion.run(&network, &Default::default(), None);
        assert_eq!(agreed(&results, &[0, 1, 2], PARTICIPANTS), REGISTERED);
        // Conflict details, given seeds and forwarding are among what is swept; P3 forwards
        // nothing.
        let posted = |step| {
            let own = |m: &Message| m.signed.header.from == corrupt;
            network.sent().iter().any(|(_, m)| own(m) && m.signed.header.tag.step == step)
        };
        assert!(posted(steps::CONFLICT_DETAILS) && posted(Kind::Seeds.step()));
        assert_eq!(posted(steps::FORWARD), corrupt != PartyId(2));
        let replay = Network::default();
        Occasion::new(seed + 5000, honest(corrupt)).run(&replay, &Default::default(), None);
        let other = Script::of(&replay, corrupt);
        let cases = Script::of(&network, corrupt).drawn_cases(seed, 3, drawn());
        for (number, case) in (seed..).zip(cases) {
            let network = case.network(&occasion.deployment.world, &other);
            let crash = crash(number, corrupt, MARKS);
            let results = occasion.run(&network, &Default::default(), crash);
            judge(&case, &occasion, &results, &mut reached);
        }
    }
    reached.told(corrupt, [5, 0, 10]);
}

#[test]
fn registrations_beside_a_corrupt_p1() {
    sweep(PartyId(0));
}

#[test]
fn registrations_beside_a_corrupt_p2() {
    sweep(PartyId(1));
}

#[test]
fn registrations_beside_a_corrupt_p3() {
    sweep(PartyId(2));
}

/// With honest peers, a server may die at each of its marks, before and behind it: the same are
/// registered, with the same seeds.
#[test]
fn a_crash_at_any_mark_of_registering_changes_nothing() {
    for servers in [[0, 1], [1, 2]] {
        let occasion = Occasion::new(91, servers);
        for victim in (0..3).map(PartyId) {
            for (mark, written) in (0..MARKS).flat_map(|mark| [(mark, false), (mark, true)]) {
                let marks: [Memory; 3] = Default::default();
                let crash = Some(Crash { victim, mark, written });
                let results = occasion.run(&Network::default(), &marks, crash);
                assert_eq!(agreed(&results, &[0, 1, 2], PARTICIPANTS), REGISTERED, "{crash:?}");
                assert_eq!(marks[victim.index()].all().len() as u64, MARKS, "none is left out");
            }
        }
    }
}
