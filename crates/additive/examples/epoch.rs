//! How long an epoch takes: three servers in this process, one after another on all cores, no
//! network. `cargo run --release -p ostrakon-additive --example epoch -- ROWS BYTES`.
//!
//! What it prints is the time of all three servers' work together, from lists to the opened table,
//! and of what they and the participants did before.

#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Mutex;
use std::time::Instant;

use futures::FutureExt;
use ostrakon_additive::client::{
    OwnSeeds, Registration, RegistrationName, SlotName, register, submit,
};
use ostrakon_additive::three::cost;
use ostrakon_additive::three::epoch::{Marks, Participants, TakenIn, mix};
use ostrakon_additive::three::keys::{BatchKeys, set_up};
use ostrakon_additive::three::messages::{EpochSpec, RegistrationSpec};
use ostrakon_additive::three::registration::{Looked, RegistrationKey, Registry, agree};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_party::PartyId;
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
        async move { set_up(&party, 0, randomness).await }.boxed_local()
    });
    let (mut batches, mut session) = (Vec::new(), None);
    for chain in chains {
        let mut chain = chain.ok_or("the set-up waits")??;
        session = Some(chain.session());
        batches.push(chain.batch(1).ok_or("the batch is gone")?.to_bytes());
    }
    Ok(Servers { world: world.with_session(session.ok_or("no servers")?), batches })
}

type Registered = (Vec<Registry>, Vec<(Digest, OwnSeeds)>);

fn registered(servers: &Servers, rows: u32) -> Result<Registered, Box<dyn Error>> {
    let world = &servers.world;
    let keys = [0, 1, 2].map(|party: u8| {
        RegistrationKey::new(&Secret::new(world.randomness(PartyId(party), "registration")))
    });
    let publics = keys.each_ref().map(RegistrationKey::public);
    let spec = RegistrationSpec { context: Digest([4; 32]), number: 1, slots: rows, keys: publics };
    let made: Vec<_> = (0..rows)
        .into_par_iter()
        .map(|number| {
            let deployment = &world.roster.session.0;
            let name =
                RegistrationName { deployment, context: &spec.context, number, servers: &publics };
            let randomness = Secret::new([7; 32]).derive("example", &[&number.to_le_bytes()]);
            register(name, &key_of(number), &randomness)
        })
        .collect();
    let slots: Vec<Slot<_>> = (0..rows)
        .zip(&made)
        .map(|(slot, (registration, _))| Slot {
            slot,
            owner: key_of(slot).verifying_key(),
            submission: Some(registration.clone()),
        })
        .collect();
    let results = world.run(&Network::default(), |party| {
        let (key, slots) = (&keys[party.id.index()], &slots);
        let look = |slot: &Slot<Registration>| {
            let Slot { slot, owner, submission } = slot.clone();
            let submission = submission.and_then(|registration| {
                Looked::at(&party, &spec, key, slot, &owner, &registration)
            });
            Slot { slot, owner, submission }
        };
        let slots = slots.par_iter().map(look).collect();
        async move { agree(&party, spec, key, slots, &Memory::default()).await }.boxed_local()
    });
    let mut registries = Vec::new();
    for result in results {
        let mut registry = result.ok_or("the registration waits")??;
        registry.advance_to(1)?;
        registries.push(registry);
    }
    let mut own = Vec::new();
    for (registration, mut seeds) in made {
        seeds.advance_to(1)?;
        own.push((registration.content(), seeds));
    }
    Ok((registries, own))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows: u32 = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let width: u32 = arguments.next().map_or(Ok(176), |text| text.parse())?;
    let servers = servers()?;
    let start = Instant::now();
    let (registries, mut own) = registered(&servers, rows)?;
    println!("registering {rows}: {:.2?}", start.elapsed());
    let spec = EpochSpec {
        context: Digest([8; 32]),
        number: 1,
        batch: 1,
        round: 1,
        slots: rows,
        width,
        minimum: 0,
    };
    let start = Instant::now();
    let slots: Vec<Slot<_>> = own
        .par_iter_mut()
        .enumerate()
        .map(|(slot, (registration, seeds))| {
            let (slot, key) = (slot as u32, key_of(slot as u32));
            let name = SlotName { context: &spec.context, slot, registration };
            let submission = submit(name, seeds, &vec![1; width as usize], &key);
            Slot { slot, owner: key.verifying_key(), submission: Some(TakenIn::from(submission)) }
        })
        .collect();
    println!("submitting: {:.2?}", start.elapsed());
    let network = Network::default();
    let memories: [Memory; 3] = Default::default();
    let start = Instant::now();
    let opened = servers.world.run(&network, |party| {
        let i = party.id.index();
        let batch = BatchKeys::from_bytes(&servers.batches[i]);
        let randomness = servers.world.randomness(party.id, "epoch");
        let (slots, registry, marks) = (slots.clone(), &registries[i], &memories[i]);
        async move {
            let batch = batch.map_err(|error| error.to_string())?;
            let participants = Participants::Registered(registry, slots);
            let mixed = mix(&party, batch, spec, participants, marks, randomness).await;
            Ok::<_, String>(mixed.map_err(|error| error.to_string())?.open().await.table.len())
        }
        .boxed_local()
    });
    let elapsed = start.elapsed();
    for bytes in opened {
        assert_eq!(bytes.ok_or("an epoch waits")??, rows as usize * width as usize);
    }
    let bytes = cost::epoch(rows, width).table as f64 / 1e6;
    println!("epoch of {rows} × {width} B, all three servers: {elapsed:.2?}, {bytes:.0} MB sent");
    Ok(())
}
