//! A small deployment in one process: three servers, participants, marks in memory.

mod marks;

pub use ostrakon_testkit::nightly;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use ostrakon_additive::client::{
    self, ClientSeed, OwnSeeds, REGISTRATION_BYTES, Registration, RegistrationName,
    SUBMISSION_OVERHEAD, SlotName, Submission,
};
use ostrakon_additive::three::epoch::{
    self, Looking, Marks, Opened, Participants, Prints, Registering, TakenIn, Unmixed,
};
use ostrakon_additive::three::fault::Fault;
use ostrakon_additive::three::keys::{self, BatchKeys, Chain};
use ostrakon_additive::three::messages::{EpochSpec, Kind, RegistrationSpec};
use ostrakon_additive::three::registration::{
    self, Looked, RegistrationKey, Registry, Unregistered,
};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_kernels::Prg;
use ostrakon_party::{Message, Party, PartyId};
use ostrakon_testkit::{Mutation, Network, Saboteur, Target, World};
use ostrakon_threeparty::Stop;
use ostrakon_threeparty::seal::Slot;
use ostrakon_threeparty::setup::setup_session;

use crate::liar::Wiring;

pub use marks::{Crash, Dying, Memory};

/// What the set-up came to at a server; `None` if it waits.
pub type SetUp = Vec<Option<Result<Chain, Stop<Fault>>>>;

/// What registrations came to at a server; `None` if it waits.
pub type Registered = Vec<Option<Result<Registry, Unregistered>>>;

/// What an epoch came to at a server; `None` if it waits.
pub type Result3 = Vec<Option<Result<Opened, Unmixed>>>;

/// The batch, and the round of seeds, of every scene.
pub const BATCH: u64 = 2;

/// Three servers after set-up.
pub struct Deployment {
    pub world: World,
    pub batches: Vec<Vec<u8>>,
}

impl Deployment {
    pub fn new(seed: u64) -> Self {
        let world = World::new(seed, 3);
        let world = world.with_session(setup_session(&world.roster.keys));
        let chains = set_up(&world, &Network::default(), |_| "set-up", &Default::default());
        let mut chains: Vec<Chain> = chains.into_iter().map(|c| c.unwrap().unwrap()).collect();
        let world = world.with_session(chains[0].session());
        let batches = chains.iter_mut().map(|c| c.batch(BATCH).unwrap().to_bytes()).collect();
        Self { world, batches }
    }

    pub fn registration_key(&self, party: PartyId) -> RegistrationKey {
        RegistrationKey::new(&Secret::new(self.world.randomness(party, "registration")))
    }

    pub fn registration_spec(&self) -> RegistrationSpec {
        let keys = [0, 1, 2].map(|i: u8| self.registration_key(PartyId(i)).public());
        RegistrationSpec { context: Digest([4; 32]), number: 1, slots: 400, keys }
    }

    pub fn register(&self, number: u32, draw: u64) -> (Registration, OwnSeeds) {
        self.register_for(&self.registration_spec().keys, number, draw)
    }

    /// Registers with who was told these keys for the servers'.
    pub fn register_for(
        &self,
        servers: &[[u8; 32]; 3],
        number: u32,
        draw: u64,
    ) -> (Registration, OwnSeeds) {
        let name = RegistrationName {
            deployment: &self.world.roster.session.0,
            context: &self.registration_spec().context,
            number,
            servers,
        };
        let randomness =
            Secret::new([7; 32]).derive("test", &[&number.to_le_bytes(), &draw.to_le_bytes()]);
        client::register(name, &participant(number), &randomness)
    }

    /// A registration for another occasion of the same servers.
    pub fn register_at(&self, spec: &RegistrationSpec, number: u32) -> Registration {
        let name = RegistrationName {
            deployment: &self.world.roster.session.0,
            context: &spec.context,
            number,
            servers: &spec.keys,
        };
        client::register(name, &participant(number), &Secret::new([11; 32])).0
    }

    /// Runs the agreement on registrations; `slots` may differ from server to server.
    pub fn registrations(
        &self,
        network: &Network,
        slots: impl Fn(PartyId) -> Vec<Slot<Registration>>,
    ) -> Registered {
        self.registrations_with(network, slots, &Default::default())
    }

    /// The same, or going on with it after all servers were restarted: marks stay.
    pub fn registrations_with(
        &self,
        network: &Network,
        slots: impl Fn(PartyId) -> Vec<Slot<Registration>>,
        marks: &[Memory; 3],
    ) -> Registered {
        self.registrations_crashing(network, slots, marks, None)
    }

    /// The same, perhaps with a server that dies at a mark and starts again at once.
    pub fn registrations_crashing(
        &self,
        network: &Network,
        slots: impl Fn(PartyId) -> Vec<Slot<Registration>>,
        marks: &[Memory; 3],
        crash: Option<Crash>,
    ) -> Registered {
        self.world.run(network, |party| {
            let (key, slots) = (self.registration_key(party.id), slots(party.id));
            let (marks, spec) = (&marks[party.id.index()], self.registration_spec());
            let crash = crash.filter(|crash| crash.victim == party.id);
            async move {
                let looked = || looked_at(&party, &spec, &key, slots.clone());
                if let Some(crash) = crash {
                    let dying = Dying::of(marks, crash);
                    match registration::agree(&party, spec, &key, looked(), &dying).await {
                        Err(Unregistered::Marks(_)) => network.restart(party.id),
                        result => return result,
                    }
                }
                registration::agree(&party, spec, &key, looked(), marks).await
            }
            .boxed_local()
        })
    }

    pub fn corrupt(
        &self,
        party: u8,
        rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Network {
        let network = Network::default();
        let key = self.world.key(PartyId(party));
        network.corrupt(Saboteur::rewriting(PartyId(party), key, rewrite));
        network
    }
}

/// Makes the servers' chains; `draw` names the randomness of each.
pub fn set_up(
    world: &World,
    network: &Network,
    draw: impl Fn(PartyId) -> &'static str,
    marks: &[Memory; 3],
) -> SetUp {
    world.run(network, |party| {
        let randomness = world.randomness(party.id, draw(party.id));
        let marks = &marks[party.id.index()];
        async move { keys::set_up(&party, 0, randomness, marks).await }.boxed_local()
    })
}

pub fn participant(number: u32) -> SigningKey {
    let mut seed = [9; 32];
    seed[..4].copy_from_slice(&number.to_le_bytes());
    SigningKey::from_seed(&seed)
}

pub fn registered_slots(list: &[(Registration, OwnSeeds)]) -> Vec<Slot<Registration>> {
    let slot = |(number, (registration, _)): (usize, &(Registration, OwnSeeds))| Slot {
        slot: number as u32,
        owner: participant(number as u32).verifying_key(),
        submission: Some(registration.clone()),
    };
    list.iter().enumerate().map(slot).collect()
}

/// The same, looked at as they come in.
pub fn looked_at(
    party: &Party,
    spec: &RegistrationSpec,
    key: &RegistrationKey,
    slots: Vec<Slot<Registration>>,
) -> Vec<Slot<Looked>> {
    let look = |Slot { slot, owner, submission }: Slot<Registration>| {
        let submission = submission
            .and_then(|registration| Looked::at(party, spec, key, slot, &owner, &registration));
        Slot { slot, owner, submission }
    };
    slots.into_iter().map(look).collect()
}

/// Submissions as a server has them.
pub fn taken_in(slots: Vec<Slot<Submission>>) -> Vec<Slot<TakenIn>> {
    let taken = |Slot { slot, owner, submission }: Slot<Submission>| Slot {
        slot,
        owner,
        submission: submission.map(TakenIn::from),
    };
    slots.into_iter().map(taken).collect()
}

/// Registrations by slot with the submissions for them, as they are handed in together.
pub fn bodies(registrations: &[Registration], slots: &[Slot<Submission>]) -> Vec<Slot<Vec<u8>>> {
    let body = |slot: &Slot<Submission>| Slot {
        slot: slot.slot,
        owner: slot.owner,
        submission: slot.submission.as_ref().map(|submission| {
            [registrations[slot.slot as usize].to_bytes(), submission.to_bytes()].concat()
        }),
    };
    slots.iter().map(body).collect()
}

/// A recognisable row for a slot: no two are equal.
pub fn row(slot: u32, draw: u64, width: usize) -> Vec<u8> {
    let mut key = [3; 32];
    key[..4].copy_from_slice(&slot.to_le_bytes());
    key[8..16].copy_from_slice(&draw.to_le_bytes());
    let mut row = vec![0; width];
    Prg::new(&key).fill(&mut row);
    row
}

pub fn rows_of(table: &[u8], width: usize) -> Vec<Vec<u8>> {
    let mut rows: Vec<Vec<u8>> = table.chunks(width).map(<[u8]>::to_vec).collect();
    rows.sort();
    rows
}

/// What a server was handed in for registrations, by slot.
pub type HandedIn = Box<dyn Fn(PartyId) -> Vec<Registration> + Send + Sync>;

/// An epoch, ready to be run again and again.
pub struct Scene {
    pub deployment: Deployment,
    pub spec: EpochSpec,
    pub registries: Vec<Registry>,
    pub registrations: Vec<Digest>,
    /// Where participants register with the epoch, and not before.
    pub registering: Option<HandedIn>,
    pub seeds: Vec<OwnSeeds>,
    pub slots: Vec<Slot<Submission>>,
    pub draw: u64,
    /// How often servers were started with [`Scene::run_with`].
    starts: AtomicU64,
}

impl Scene {
    pub fn new(seed: u64, participants: u32, width: u32) -> Self {
        Self::drawn(Deployment::new(seed), participants, width, 0)
    }

    /// With participants' secrets and rows of another draw.
    pub fn drawn(deployment: Deployment, participants: u32, width: u32, draw: u64) -> Self {
        let registered: Vec<_> =
            (0..participants).map(|number| deployment.register(number, draw)).collect();
        Self::of(deployment, registered, width, draw, BATCH)
    }

    /// With these participants, whose seeds are moved on to a round.
    pub fn of(
        deployment: Deployment,
        registered: Vec<(Registration, OwnSeeds)>,
        width: u32,
        draw: u64,
        round: u64,
    ) -> Self {
        let slots = registered_slots(&registered);
        let registries = deployment.registrations(&Network::default(), |_| slots.clone());
        let mut registries: Vec<Registry> =
            registries.into_iter().map(|r| r.unwrap().unwrap()).collect();
        registries.iter_mut().for_each(|registry| registry.advance_to(round).unwrap());
        assert!(registries.iter().all(|registry| registry.len() == slots.len()));
        let named = Registration::content;
        Self { registries, ..Self::made(deployment, registered, named, width, draw, round) }
    }

    /// With participants who register with the epoch.
    pub fn registering(seed: u64, participants: u32, width: u32) -> Self {
        let deployment = Deployment::new(seed);
        let registered: Vec<_> =
            (0..participants).map(|number| deployment.register(number, 0)).collect();
        Self::registering_with(deployment, registered, width)
    }

    /// With these, alike at all servers.
    pub fn registering_with(
        deployment: Deployment,
        registered: Vec<(Registration, OwnSeeds)>,
        width: u32,
    ) -> Self {
        let list: Vec<Registration> = registered.iter().map(|(made, _)| made.clone()).collect();
        let registering: HandedIn = Box::new(move |_| list.clone());
        let (registering, named) = (Some(registering), Registration::name);
        Self { registering, ..Self::made(deployment, registered, named, width, 0, 0) }
    }

    fn made(
        deployment: Deployment,
        registered: Vec<(Registration, OwnSeeds)>,
        named: fn(&Registration) -> Digest,
        width: u32,
        draw: u64,
        round: u64,
    ) -> Self {
        let participants = registered.len() as u32;
        let spec = EpochSpec {
            context: Digest([8; 32]),
            number: 5,
            batch: BATCH,
            round,
            slots: participants,
            width,
            minimum: 0,
        };
        let registrations = registered.iter().map(|(made, _)| named(made)).collect();
        let mut seeds: Vec<OwnSeeds> = registered.into_iter().map(|(_, seeds)| seeds).collect();
        seeds.iter_mut().for_each(|seeds| seeds.advance_to(round).unwrap());
        let (registries, slots) = (Vec::new(), Vec::new());
        let mut scene = Self {
            deployment,
            spec,
            registries,
            registrations,
            registering: None,
            seeds,
            slots,
            draw,
            starts: AtomicU64::new(0),
        };
        scene.slots = (0..participants).map(|slot| scene.slot(slot)).collect();
        scene
    }

    pub fn row(&self, slot: u32) -> Vec<u8> {
        row(slot, self.draw, self.spec.width as usize)
    }

    pub fn submit(&self, slot: u32, row: &[u8]) -> Submission {
        let registration = &self.registrations[slot as usize];
        let name = SlotName { context: &self.spec.context, slot, registration };
        let held = self.seeds[slot as usize].0.each_ref();
        let mut seeds = OwnSeeds(held.map(|seed| ClientSeed::from_bytes(&seed.to_bytes())));
        client::submit(name, &mut seeds, row, &participant(slot))
    }

    pub fn slot(&self, slot: u32) -> Slot<Submission> {
        let owner = participant(slot).verifying_key();
        Slot { slot, owner, submission: Some(self.submit(slot, &self.row(slot))) }
    }

    /// Runs the epoch, with the same coin each time.
    pub fn run(&self, network: &impl Wiring) -> Result3 {
        self.start(network, |_| self.slots.clone(), &Default::default(), "epoch")
    }

    /// Runs the epoch, or goes on with it after all servers were restarted: marks stay, and what
    /// servers draw is drawn anew.
    pub fn run_with(
        &self,
        network: &impl Wiring,
        slots: impl Fn(PartyId) -> Vec<Slot<Submission>>,
        marks: &[Memory; 3],
    ) -> Result3 {
        let start = self.starts.fetch_add(1, Ordering::Relaxed);
        self.start(network, slots, marks, &format!("epoch, start {start}"))
    }

    fn start(
        &self,
        network: &impl Wiring,
        slots: impl Fn(PartyId) -> Vec<Slot<Submission>>,
        marks: &[Memory; 3],
        drawn: &str,
    ) -> Result3 {
        let world = &self.deployment.world;
        world.run(network.network(), |party| {
            let party = network.end(world, party);
            let slots = slots(party.id);
            let marks = &marks[party.id.index()];
            async move { self.epoch(&party, slots, marks, drawn).await }.boxed_local()
        })
    }

    /// Runs the epoch with a server that dies at a mark and starts again at once. What it sent
    /// stays where it is, and what it draws is drawn anew.
    pub fn run_crashing(
        &self,
        network: &impl Wiring,
        slots: impl Fn(PartyId) -> Vec<Slot<Submission>>,
        marks: &[Memory; 3],
        crash: Crash,
    ) -> Result3 {
        let world = &self.deployment.world;
        world.run(network.network(), |party| {
            let party = network.end(world, party);
            let (slots, marks) = (slots(party.id), &marks[party.id.index()]);
            async move {
                if party.id != crash.victim {
                    return self.epoch(&party, slots, marks, "epoch").await;
                }
                let dying = Dying::of(marks, crash);
                match self.epoch(&party, slots.clone(), &dying, "epoch").await {
                    Err(Unmixed::Marks(_)) => {
                        network.network().restart(crash.victim);
                        self.epoch(&party, slots, marks, "epoch, after a crash").await
                    }
                    result => result,
                }
            }
            .boxed_local()
        })
    }

    /// Goes on with the epoch without one of the servers.
    pub fn run_without(&self, silent: PartyId, network: &Network, marks: &[Memory; 3]) -> Result3 {
        self.deployment.world.run(network, |party| {
            let (slots, marks) = (self.slots.clone(), &marks[party.id.index()]);
            if party.id == silent {
                return futures::future::pending().boxed_local();
            }
            async move { self.epoch(&party, slots, marks, "epoch, without one").await }
                .boxed_local()
        })
    }

    async fn epoch(
        &self,
        party: &Party,
        slots: Vec<Slot<Submission>>,
        marks: &dyn Marks,
        drawn: &str,
    ) -> Result<Opened, Unmixed> {
        let i = party.id.index();
        let batch = BatchKeys::from_bytes(&self.deployment.batches[i]).unwrap();
        let randomness = self.deployment.world.randomness(party.id, drawn);
        let Some(registering) = &self.registering else {
            let participants = Participants::Registered(&self.registries[i], taken_in(slots));
            let mixed = epoch::mix(party, batch, self.spec, participants, marks, randomness);
            return Ok(mixed.await?.open().await);
        };
        let (spec, key) =
            (self.deployment.registration_spec(), self.deployment.registration_key(party.id));
        let bodies = bodies(&registering(party.id), &slots);
        let prints = self.prints();
        let looking = Looking::new(party, &self.spec, spec, &key, &prints);
        let joined = bodies.iter().map(|Slot { slot, owner, submission }| {
            let joint = |body| looking.again(looking.at(*slot, owner, body), *slot, owner, body);
            let submission = submission.as_deref().and_then(joint);
            Slot { slot: *slot, owner: *owner, submission }
        });
        let registering = Registering { spec, key: &key, slots: joined.collect() };
        let participants = Participants::Registering(registering);
        let mixed = epoch::mix(party, batch, self.spec, participants, marks, randomness);
        Ok(mixed.await?.open().await)
    }

    /// For what is handed in for the epoch together.
    pub fn prints(&self) -> Prints {
        let bytes = REGISTRATION_BYTES + SUBMISSION_OVERHEAD + self.spec.width as usize;
        Prints::new(&Secret::new([5; 32]), bytes)
    }

    /// All rows, sorted.
    pub fn rows(&self) -> Vec<Vec<u8>> {
        self.rows_but(&[])
    }

    /// All rows but those of some slots, sorted.
    pub fn rows_but(&self, dropped: &[u32]) -> Vec<Vec<u8>> {
        let slots = (0..self.spec.slots).filter(|slot| !dropped.contains(slot));
        let mut rows: Vec<Vec<u8>> = slots.map(|slot| self.row(slot)).collect();
        rows.sort();
        rows
    }

    pub fn assert_whole(&self, result: &Option<Result<Opened, Unmixed>>) {
        self.assert_whole_but(&[], result);
    }

    /// With all rows but those of some slots.
    pub fn assert_whole_but(&self, dropped: &[u32], result: &Option<Result<Opened, Unmixed>>) {
        let opened = result.as_ref().expect("not waiting").as_ref().expect("not stopped");
        let rows = rows_of(&opened.table, self.spec.width as usize);
        assert!(rows == self.rows_but(dropped), "a wrong board");
    }

    pub fn fault<'a>(&self, result: &'a Option<Result<Opened, Unmixed>>) -> &'a Fault {
        match result {
            Some(Err(Unmixed::Fault(fault))) => {
                assert!(fault.verify(&self.deployment.world.roster));
                fault
            }
            Some(Err(other)) => panic!("stopped otherwise: {other}"),
            Some(Ok(_)) => panic!("not stopped"),
            None => panic!("still waiting"),
        }
    }
}

/// A network on which a server leaves out one kind of message.
pub fn drops(scene: &Scene, party: u8, kind: Kind) -> Network {
    let network = Network::default();
    let party = PartyId(party);
    network.corrupt(Saboteur::new(
        party,
        scene.deployment.world.key(party),
        0,
        Target::Step(kind.step()),
        Mutation::Drop,
        Default::default(),
    ));
    network
}

pub fn is(message: &Message, kind: Kind) -> bool {
    message.signed.header.tag.step == kind.step()
}

/// Whether an honest party posted a message of a kind.
pub fn posted(network: &Network, by: u8, kind: Kind) -> bool {
    network.sent().iter().any(|(_, m)| is(m, kind) && m.signed.header.from == PartyId(by))
}

/// All check words.
pub const WORDS: [Kind; 7] = [
    Kind::WordsFG,
    Kind::WordsU,
    Kind::WordsA,
    Kind::WordsL,
    Kind::WordsYZ,
    Kind::WordsB,
    Kind::WordsM,
];
