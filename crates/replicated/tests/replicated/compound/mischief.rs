//! A corrupt server that does anything, at random: what it changes, delays and drops is drawn from
//! a seed, and an honest server may be restarted meanwhile.

use std::task::Poll;

use futures::FutureExt;
use ostrakon_crypto::hash::digest;
use ostrakon_party::{Message, PartyId};
use ostrakon_replicated::Stock;
use ostrakon_replicated::epoch::{self, Unmixed};
use ostrakon_replicated::seal::Slot;
use ostrakon_testkit::Network;

use super::{Outcomes, Scene, TAKEN, WIDTH};
use crate::common::*;

/// What a corrupt server does in one run: which of its messages it changes and how late they
/// arrive.
#[derive(Clone, Copy, Debug)]
struct Mischief {
    seed: u64,
    liar: u8,
    robust: bool,
    /// An honest server that loses its memory after so many posts.
    crash: Option<(u8, usize)>,
}

impl Mischief {
    fn draw(&self, about: &[u64]) -> u64 {
        let bytes: Vec<u8> =
            about.iter().chain([&self.seed]).flat_map(|word| word.to_le_bytes()).collect();
        u64::from_le_bytes(digest("test/mischief", &bytes).0[..8].try_into().unwrap())
    }

    fn rewrite(&self, to: PartyId, message: &Message) -> Option<Vec<u8>> {
        let step = u64::from(message.signed.header.tag.step.0);
        let both = self.draw(&[1, step]).is_multiple_of(2);
        let about = if both { 9 } else { u64::from(to.0) };
        let mut body = message.body.to_vec();
        let often = [8, 20, 60][(self.draw(&[9]) % 3) as usize];
        match self.draw(&[2, step, about]) % often {
            0 | 1 => return Some(flipped_at(body, self.draw(&[3, step]) as usize)),
            2 => drop(body.pop()),
            3 => body.push(0),
            4 => body.fill(0xff),
            5 => body.clear(),
            _ => return None,
        }
        Some(body)
    }

    fn delay(&self, to: PartyId, message: &Message) -> u32 {
        let header = &message.signed.header;
        if self.draw(&[4]).is_multiple_of(3) {
            return 0;
        }
        (self.draw(&[5, u64::from(header.tag.step.0), u64::from(header.from.0), u64::from(to.0)])
            % 5) as u32
    }

    fn network(&self, scene: &Scene) -> Network {
        let this = *self;
        let network = scene.corrupt(self.liar, move |to, message| this.rewrite(to, message));
        network.schedule(move |to, message| this.delay(to, message));
        network
    }
}

fn flipped_at(mut body: Vec<u8>, at: usize) -> Vec<u8> {
    let bits = 8 * body.len();
    if let Some(bit) = at.checked_rem(bits) {
        body[bit / 8] ^= 1 << (bit % 8);
    }
    body
}

/// A corrupt server changes any number of its messages at once, to one peer or to both, and
/// everything arrives in any order; an honest server may be restarted meanwhile. Honest servers are
/// never blamed, never end differently, and without a restart they end together.
#[test]
fn mischief_of_any_kind_splits_nobody() {
    let runs = if ostrakon_testkit::nightly() { 20_000 } else { 600 };
    let scenes = [false, true].map(|robust| Scene::new(47, robust));
    let seconds = scenes.each_ref().map(|scene| {
        let key = participant(2);
        scene.deployment.submission(&scene.stock, &scene.spec, 2, &row(77, WIDTH as usize), &key)
    });
    let mut ends = std::collections::BTreeMap::<_, u32>::new();
    for seed in 0..runs {
        let mut case =
            Mischief { seed, liar: (seed % 3) as u8, robust: seed.is_multiple_of(2), crash: None };
        if case.draw(&[6]).is_multiple_of(2) {
            let victim = (case.liar + 1 + (case.draw(&[7]) % 2) as u8) % 3;
            case.crash = Some((victim, (case.draw(&[8]) % 30) as usize));
        }
        let (scene, second) =
            (scenes[usize::from(case.robust)].again(), &seconds[usize::from(case.robust)]);
        let results = scene.run_crashing(&case.network(&scene), case.crash, |party| {
            let mut slots = scene.slots.clone();
            match case.draw(&[10]) % 3 {
                // The participant has signed two rows.
                0 if party == PartyId(case.liar) => slots[2].submission = Some(second.clone()),
                // Its row has not reached everybody.
                1 if party == PartyId((case.liar + 1) % 3) => slots[2].submission = None,
                _ => {}
            }
            slots
        });
        *ends.entry(judge(&scene, &case, &results)).or_default() += 1;
    }
    println!("{ends:?}");
}

/// Over several lives, in each of which a corrupt server does what it likes and an honest one may
/// crash: a robust epoch with too few is never opened, and who has seen that says so ever after.
#[test]
fn too_few_stays_too_few_over_whole_lives() {
    let runs = if ostrakon_testkit::nightly() { 5_000 } else { 150 };
    let mut scene = Scene::new(49, true);
    scene.spec.minimum = 3;
    scene.slots = scene.deployment.slots(&scene.stock, &scene.spec, &rows_of(TAKEN, WIDTH));
    let mut ended = 0;
    for seed in 0..runs {
        let (scene, liar) = (scene.again(), (seed % 3) as u8);
        let honest = [1, 2].map(|after| (liar + after) % 3);
        let mut few = [false; 3];
        for life in 0..3 {
            let mut case = Mischief { seed: 3 * seed + life, liar, robust: true, crash: None };
            if case.draw(&[6]).is_multiple_of(2) {
                let victim = honest[(case.draw(&[7]) % 2) as usize];
                case.crash = Some((victim, (case.draw(&[8]) % 12) as usize));
            }
            let network = case.network(&scene);
            let results = scene.run_crashing(&network, case.crash, |_| scene.slots.clone());
            assert!(!super::few::shows(&network, liar), "{case:?}: something is shown");
            for server in honest.map(usize::from) {
                match &results[server] {
                    Some(Err(Unmixed::TooFew(_))) => few[server] = true,
                    None => assert!(!few[server], "{case:?}: P{server} takes it back"),
                    Some(Ok(_)) => panic!("{case:?}: P{server} has opened it"),
                    Some(Err(other)) => panic!("{case:?}: P{server} ends otherwise: {other}"),
                }
            }
            let [a, b] = honest.map(|server| results[usize::from(server)].is_some());
            assert!(a == b || case.crash.is_some(), "{case:?}: one ends, the other waits");
        }
        ended += u32::from(honest.iter().all(|server| few[usize::from(*server)]));
    }
    assert!(ended > runs as u32 / 2, "only {ended} of {runs} came to an end");
}

fn judge(scene: &Scene, case: &Mischief, results: &Outcomes) -> [&'static str; 2] {
    let honest: Vec<_> =
        (0..3).filter(|i| *i != case.liar).map(|i| results[usize::from(i)].as_ref()).collect();
    for result in honest.iter().flatten() {
        match result {
            Ok(opened) => {
                let rows = recognised(&opened.table, &rows_of(TAKEN, WIDTH));
                assert!(rows == TAKEN || rows == [0, 1, 4], "{case:?}: {rows:?}");
                assert!(
                    opened.faults.iter().all(|fault| fault.culprit == PartyId(case.liar)),
                    "{case:?}"
                );
            }
            Err(Unmixed::Fault(fault)) => {
                assert!(!case.robust, "{case:?}: a provable fault stopped a robust epoch");
                assert_eq!(fault.culprit, PartyId(case.liar), "{case:?}");
                assert!(fault.verify(&scene.deployment.world.roster), "{case:?}");
            }
            Err(other) => panic!("{case:?}: {other}"),
        }
    }
    if let [Some(Ok(a)), Some(Ok(b))] = honest[..] {
        assert_eq!(a.table, b.table, "{case:?}: two boards");
    }
    let [a, b] = [0, 1].map(|i: usize| match honest[i] {
        None => "waits",
        Some(Ok(opened)) if opened.trusted.is_some() => "trusted",
        Some(Ok(_)) => "opened",
        Some(Err(_)) => "stopped",
    });
    let together = a == b || (case.crash.is_some() && (a == "waits" || b == "waits"));
    assert!(together, "{case:?}: the honest servers end differently: {a}, {b}");
    [a, b]
}

impl Scene {
    fn run_crashing(
        &self,
        network: &Network,
        crash: Option<(u8, usize)>,
        slots: impl Fn(PartyId) -> Vec<Slot>,
    ) -> Outcomes {
        let world = &self.deployment.world;
        world.run(network, |party| {
            let slots = slots(party.id);
            let limit = crash
                .filter(|(victim, _)| *victim == party.id.0)
                .map_or(usize::MAX, |(_, posts)| posts);
            async move {
                let id = party.id;
                let attempt = async || {
                    let stock = Stock::from_bytes(&self.stock[id.index()], &world.roster).unwrap();
                    let (slots, marks) = (slots.clone(), &self.marks[id.index()]);
                    let randomness = world.randomness(id, "trusted");
                    Ok(epoch::mix(&party, stock, self.spec, slots, marks, randomness)
                        .await?
                        .open()
                        .await)
                };
                {
                    let mut first = std::pin::pin!(attempt());
                    let ended = std::future::poll_fn(|context| {
                        let polled = first.as_mut().poll(context);
                        if network.posted(id) > limit {
                            Poll::Ready(None)
                        } else {
                            polled.map(Some)
                        }
                    });
                    if let Some(result) = ended.await {
                        return result;
                    }
                }
                network.restart(id);
                attempt().await
            }
            .boxed_local()
        })
    }
}
