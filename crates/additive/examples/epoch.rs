//! How long an epoch takes: three servers in this process, one after another on all cores, no
//! network. `cargo run --release -p ostrakon-additive --example epoch -- ROWS BYTES`.
//!
//! What it prints is the time of all three servers' work together, from lists to the opened table,
//! and of what they and the participants did before.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use futures::FutureExt;
use ostrakon_additive::client::{RegistrationName, SlotName, register, submit};
use ostrakon_additive::three::cost;
use ostrakon_additive::three::epoch::{
    Looking, Marks, Participants, Prints, Registering, Seen, mix,
};
use ostrakon_additive::three::keys::{BatchKeys, set_up};
use ostrakon_additive::three::messages::{EpochSpec, RegistrationSpec};
use ostrakon_additive::three::registration::RegistrationKey;
use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey};
use ostrakon_party::{Party, PartyId};
use ostrakon_testkit::{Network, World};
use ostrakon_threeparty::seal::Slot;
use ostrakon_threeparty::setup::setup_session;
use rayon::prelude::*;

#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Marks for Memory {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        let mut marks = self.0.lock().map_err(|_| "poisoned")?;
        Ok(marks.entry(name.to_owned()).or_insert_with(|| value.to_vec()).clone())
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.record(name, value)
    }
}

fn key_of(number: u32) -> SigningKey {
    let mut seed = [9; 32];
    seed[..4].copy_from_slice(&number.to_le_bytes());
    SigningKey::from_seed(&seed)
}

struct Servers {
    world: World,
    batches: Vec<Vec<u8>>,
}

fn servers() -> Result<Servers, Box<dyn Error>> {
    let world = World::new(1, 3);
    let world = world.with_session(setup_session(&world.roster.keys));
    let chains = world.run(&Network::default(), |party| {
        let randomness = world.randomness(party.id, "set-up");
        async move { set_up(&party, 0, randomness, &Memory::default()).await }.boxed_local()
    });
    let (mut batches, mut session) = (Vec::new(), None);
    for chain in chains {
        let mut chain = chain.ok_or("the set-up waits")??;
        session = Some(chain.session());
        batches.push(chain.batch(1).ok_or("the batch is gone")?.to_bytes());
    }
    Ok(Servers { world: world.with_session(session.ok_or("no servers")?), batches })
}

/// Who takes part, with what each hands in: registration and submission, one after the other.
fn handed_in(servers: &Servers, spec: &EpochSpec, keys: &[RegistrationKey; 3]) -> Vec<Vec<u8>> {
    let deployment = &servers.world.roster.session.0;
    let publics = keys.each_ref().map(RegistrationKey::public);
    let body = |number: u32| {
        let (context, key) = (&spec.context, key_of(number));
        let name = RegistrationName { deployment, context, number, servers: &publics };
        let randomness = Secret::new([7; 32]).derive("example", &[&number.to_le_bytes()]);
        let (registration, mut seeds) = register(name, &key, &randomness);
        let handed_in = registration.name();
        let name = SlotName { context, slot: number, registration: &handed_in };
        let submission = submit(name, &mut seeds, &vec![1; spec.width as usize], &key);
        [registration.to_bytes(), submission.to_bytes()].concat()
    };
    (0..spec.slots).into_par_iter().map(body).collect()
}

/// What each server has found of that as it came in.
type Found = Mutex<Vec<Option<Box<Seen>>>>;

/// A server of the epoch.
struct Server<'a> {
    batch: &'a [u8],
    key: &'a RegistrationKey,
    registration: RegistrationSpec,
    prints: &'a Prints,
    owners: &'a [VerifyingKey],
    bodies: &'a [Vec<u8>],
    randomness: [u8; 32],
}

impl Server<'_> {
    fn look(&self, party: &Party, spec: &EpochSpec) -> Vec<Option<Box<Seen>>> {
        let looking = Looking::new(party, spec, self.registration, self.key, self.prints);
        let look =
            |(slot, body): (usize, &Vec<u8>)| looking.at(slot as u32, &self.owners[slot], body);
        self.bodies.par_iter().enumerate().map(look).collect()
    }

    async fn epoch(
        &self,
        party: &Party,
        spec: &EpochSpec,
        found: Vec<Option<Box<Seen>>>,
    ) -> Result<usize, String> {
        let looking = Looking::new(party, spec, self.registration, self.key, self.prints);
        let joined = |(slot, found): (usize, Option<Box<Seen>>)| {
            let (number, owner) = (slot as u32, self.owners[slot]);
            let submission = looking.again(found, number, &owner, &self.bodies[slot]);
            Slot { slot: number, owner, submission }
        };
        let slots = found.into_par_iter().enumerate().with_min_len(256).map(joined).collect();
        let registering = Registering { spec: self.registration, key: self.key, slots };
        let participants = Participants::Registering(registering);
        let batch = BatchKeys::from_bytes(self.batch).map_err(|error| error.to_string())?;
        let marks = Memory::default();
        let mixed = mix(party, batch, *spec, participants, &marks, self.randomness).await;
        Ok(mixed.map_err(|error| error.to_string())?.open().await.table.len())
    }
}

/// Seconds that all threads of this process have computed, in hundredths.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let behind = stat.rsplit(')').next().ok_or("no name")?;
    let ticks = behind.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let slots: u32 = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let width: u32 = arguments.next().map_or(Ok(176), |text| text.parse())?;
    let (servers, context) = (servers()?, Digest([8; 32]));
    let spec = EpochSpec { context, number: 1, batch: 1, round: 0, slots, width, minimum: 0 };
    let world = &servers.world;
    let keys = [0, 1, 2].map(|party: u8| {
        RegistrationKey::new(&Secret::new(world.randomness(PartyId(party), "registration")))
    });
    let publics = keys.each_ref().map(RegistrationKey::public);
    let registration = RegistrationSpec { context, number: 1, slots, keys: publics };
    let owners: Vec<_> =
        (0..slots).into_par_iter().map(|slot| key_of(slot).verifying_key()).collect();
    let start = Instant::now();
    let bodies = handed_in(&servers, &spec, &keys);
    println!("registering and submitting: {:.2?}", start.elapsed());
    let prints = Prints::new(&Secret::new([5; 32]), bodies[0].len());
    let server = |party: PartyId| Server {
        batch: &servers.batches[party.index()],
        key: &keys[party.index()],
        registration,
        prints: &prints,
        owners: &owners,
        bodies: &bodies,
        randomness: world.randomness(party, "epoch"),
    };
    let start = Instant::now();
    let found: [Found; 3] = Default::default();
    world.run(&Network::default(), |party| {
        let seen = server(party.id).look(&party, &spec);
        *found[party.id.index()].lock().unwrap_or_else(PoisonError::into_inner) = seen;
        async {}.boxed_local()
    });
    println!("looking at what comes in: {:.2?}", start.elapsed());
    let (start, before) = (Instant::now(), processor_seconds()?);
    let opened = world.run(&Network::default(), |party| {
        let (server, spec) = (server(party.id), &spec);
        let found = found[party.id.index()].lock().map(|mut found| std::mem::take(&mut *found));
        let found = found.unwrap_or_default();
        async move { server.epoch(&party, spec, found).await }.boxed_local()
    });
    let (elapsed, computed) = (start.elapsed(), processor_seconds()? - before);
    for bytes in opened {
        assert_eq!(bytes.ok_or("an epoch waits")??, slots as usize * width as usize);
    }
    let bytes = cost::epoch(slots, width).table as f64 / 1e6;
    println!(
        "epoch of {slots} × {width} B, all three servers: {elapsed:.2?}, of processors \
         {computed:.2} s, {bytes:.0} MB sent"
    );
    Ok(())
}
