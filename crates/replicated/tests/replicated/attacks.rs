//! The known attacks on the paper as printed, and those on fixes that suggest themselves, mounted
//! one by one.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::*;
use ostrakon_crypto::Digest;
use ostrakon_party::{Header, Message, PartyId, Recipient, Tag};
use ostrakon_replicated::Stock;
use ostrakon_replicated::client::Submission;
use ostrakon_replicated::epoch::{Opened, Unmixed};
use ostrakon_replicated::fault::{Evidence, Fault, Statement, Stop};
use ostrakon_replicated::messages::{BatchSpec, EpochSpec, Kind, LIST_ENTRY, Subject};
use ostrakon_replicated::seal::{Slot, guaranteed};
use ostrakon_testkit::{Network, Saboteur};

const WIDTH: u32 = 24;

struct Scene {
    deployment: Deployment,
    stock: Vec<Vec<u8>>,
    spec: EpochSpec,
    slots: Vec<Slot>,
}

impl Scene {
    fn new(seed: u64, robust: bool) -> Self {
        let deployment = Deployment::new(seed);
        let spec = epoch_of(batch(3, 6, WIDTH), 1, robust);
        let stock = deployment.stock(spec.batch);
        let slots = deployment.slots(&stock, &spec, &rows_of([0, 1, 2, 4], WIDTH));
        Self { deployment, stock, spec, slots }
    }

    fn run(&self, network: &Network) -> Vec<Option<Result<Opened, Unmixed>>> {
        self.run_with(network, |_| self.slots.clone())
    }

    fn run_with(
        &self,
        network: &Network,
        slots: impl Fn(PartyId) -> Vec<Slot>,
    ) -> Vec<Option<Result<Opened, Unmixed>>> {
        self.deployment.epoch(network, &self.stock, self.spec, slots, &Default::default())
    }

    fn corrupt(
        &self,
        party: u8,
        rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Network {
        let network = Network::default();
        let key = self.deployment.world.key(PartyId(party));
        network.corrupt(Saboteur::rewriting(PartyId(party), key, rewrite));
        network
    }

    /// A message that a corrupt party makes up.
    fn forge(
        &self,
        party: u8,
        subject: Subject,
        kind: Kind,
        to: Recipient,
        body: Vec<u8>,
    ) -> Message {
        let header = Header {
            session: self.deployment.world.roster.session,
            tag: subject.tag(kind),
            from: PartyId(party),
            to,
            length: body.len() as u64,
            digest: Header::digest_of(&body),
        };
        let signed = header.sign(&self.deployment.world.key(PartyId(party)));
        Message { signed, body: body.into(), depth: 0 }
    }
}

fn is(message: &Message, kind: Kind) -> bool {
    message.signed.header.tag.step == kind.step()
}

fn fault(result: &Option<Result<Opened, Unmixed>>) -> &Fault {
    match result {
        Some(Err(Unmixed::Fault(fault))) => fault,
        Some(Err(other)) => panic!("stopped otherwise: {other}"),
        Some(Ok(_)) => panic!("not stopped"),
        None => panic!("still waiting"),
    }
}

fn slots_of(result: &Option<Result<Opened, Unmixed>>, rows: &[u32]) -> Vec<u32> {
    let opened = result.as_ref().expect("not waiting").as_ref().expect("not stopped");
    recognised(&opened.table, &rows_of(rows.iter().copied(), WIDTH))
}

/// The kinds under which an honest server would reveal an output or an input.
fn reveals(message: &Message) -> bool {
    let kinds = [
        Kind::LastSeed,
        Kind::LastTable,
        Kind::TrustedSubmissions,
        Kind::TrustedMasks,
        Kind::TrustedTable,
    ];
    kinds.into_iter().any(|kind| is(message, kind))
}

/// attacks §1.1: a participant gives β_0 to P0 and β_2 to P2; corrupt P1 lists to each what it
/// holds itself.
#[test]
fn a1_a_split_submission_is_dropped_and_convicts_nobody() {
    for robust in [false, true] {
        let scene = Scene::new(11, robust);
        let other = scene.deployment.submission(
            &scene.stock,
            &scene.spec,
            2,
            &row(77, WIDTH as usize),
            &participant(2),
        );
        let split = |party: PartyId| {
            let mut slots = scene.slots.clone();
            if party == PartyId(2) {
                slots[2].submission = Some(other.clone());
            }
            slots
        };
        // Telling each server its own value is equivocation, and convicts P1 alone.
        let digest = ostrakon_replicated::slots::submission_digest(
            &scene.spec.context,
            2,
            &participant(2).verifying_key().0,
            other.masked(),
        );
        let network = scene.corrupt(1, move |to, message| {
            let mut body = message.body.to_vec();
            (is(message, Kind::SubmissionList) && to == PartyId(2)).then(|| {
                body[2 * LIST_ENTRY + 4..3 * LIST_ENTRY].copy_from_slice(&digest.0);
                body
            })
        });
        let results = scene.run_with(&network, split);
        for honest in [0, 2] {
            match &results[honest] {
                Some(Ok(opened)) => assert_eq!(opened.faults[0].culprit, PartyId(1)),
                other => assert_eq!(fault(other).culprit, PartyId(1)),
            }
        }
        // Without it the slot is simply dropped: both signatures are shown.
        let results = scene.run_with(&Network::default(), split);
        for result in &results {
            assert_eq!(slots_of(result, &[0, 1, 2, 4, 77]), [0, 1, 4]);
            assert!(
                result.as_ref().unwrap().as_ref().unwrap().faults.is_empty(),
                "nobody is blamed"
            );
        }
    }
}

/// attacks §1.1: a digest that nobody signed cannot push out an honest participant's submission.
#[test]
fn a1_an_invented_digest_censors_nobody() {
    let scene = Scene::new(12, false);
    // P1 holds, for the first slot, something that the owner never signed, and lists it.
    let invented = |party: PartyId| {
        let mut slots = scene.slots.clone();
        if party == PartyId(1) {
            let own = slots[0].submission.as_mut().unwrap();
            *own = Submission::new(&[0xee; WIDTH as usize], &own.signature());
        }
        slots
    };
    for result in scene.run_with(&Network::default(), invented) {
        assert_eq!(slots_of(&result, &[0, 1, 2, 4]), [0, 1, 2, 4]);
    }
}

/// attacks §1.2: a sender that lies and then accuses does not become the trusted party, nor does it
/// make an honest one look guilty.
#[test]
fn a2_an_accusing_sender_is_never_trusted() {
    for (liar, kind) in
        [(2, Kind::Delta02), (0, Kind::Delta02Digest), (0, Kind::Delta01), (1, Kind::Delta01Digest)]
    {
        let scene = Scene::new(13, true);
        let network = scene.corrupt(liar, move |_, message| {
            is(message, kind).then(|| message.body.iter().map(|byte| byte ^ 1).collect())
        });
        let nonsense = scene.forge(
            liar,
            Subject::Epoch(scene.spec),
            Kind::Accusation,
            Recipient::All,
            vec![1; 100],
        );
        for honest in (0..3).filter(|id| *id != liar) {
            network.inject(PartyId(honest), nonsense.clone(), 1);
        }
        let results = scene.run(&network);
        for honest in (0..3).filter(|id| *id != liar) {
            let opened = results[usize::from(honest)].as_ref().unwrap().as_ref().unwrap();
            assert_eq!(opened.faults[0].culprit, PartyId(liar));
            assert_ne!(opened.trusted, Some(liar));
            assert_eq!(recognised(&opened.table, &rows_of([0, 1, 2, 4], WIDTH)), [0, 1, 2, 4]);
        }
    }
}

fn prepare_corrupted(
    seed: u64,
    party: u8,
    spec: BatchSpec,
    rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> (Deployment, Network, Vec<Option<Result<Stock, Stop>>>) {
    let deployment = Deployment::new(seed);
    let network = Network::default();
    network.corrupt(Saboteur::rewriting(
        PartyId(party),
        deployment.world.key(PartyId(party)),
        rewrite,
    ));
    let results = deployment.prepare(&network, spec);
    (deployment, network, results)
}

fn assert_convicted(deployment: &Deployment, results: &[Option<Result<Stock, Stop>>], culprit: u8) {
    for honest in (0..3).filter(|id| *id != culprit) {
        match &results[usize::from(honest)] {
            Some(Err(Stop::Fault(fault))) => {
                assert_eq!(fault.culprit, PartyId(culprit));
                assert!(fault.verify(&deployment.world.roster));
            }
            Some(Err(other)) => panic!("{other}"),
            Some(Ok(_)) => panic!("a wrong batch passed"),
            None => panic!("still waiting"),
        }
    }
}

/// attacks §1.3: one bit of one row is changed on its way. What both members have signed of the
/// message convicts; that the sums find an error which nobody's signature shows is tested in
/// `src/set_equality/tests.rs`.
#[test]
fn a3_an_error_in_one_cell_is_found_every_time() {
    for seed in 0..40 {
        let at = (seed as usize * 7) % (8 * WIDTH as usize);
        let (deployment, _, results) =
            prepare_corrupted(seed, 0, batch(seed, 8, WIDTH), move |_, message| {
                let mut body = message.body.to_vec();
                is(message, Kind::ShufflePair1).then(|| {
                    body[at] ^= 1 << (seed % 8);
                    body
                })
            });
        assert_convicted(&deployment, &results, 0);
    }
}

/// attacks §1.4: a contribution to the coin that is chosen after seeing the others' does not open
/// its commitment.
#[test]
fn a4_a_coin_chosen_late_convicts() {
    let (deployment, _, results) = prepare_corrupted(21, 1, batch(1, 8, WIDTH), |_, message| {
        is(message, Kind::CoinOpening).then(|| vec![7; 64])
    });
    assert_convicted(&deployment, &results, 1);
}

/// attacks §1.5: P2 adds an error in the first stage and takes it away again in the third, at every
/// place it might have moved to. As above, the signed messages convict it;
/// `src/set_equality/tests.rs` has the sums.
#[test]
fn a5_an_error_cancelled_at_a_guessed_place_is_found_at_every_place() {
    const ROWS: usize = 4;
    for guess in 0..ROWS {
        let (deployment, _, results) =
            prepare_corrupted(22, 2, batch(1, ROWS as u32, WIDTH), move |_, message| {
                let place = match () {
                    () if is(message, Kind::ShufflePair1) => 0,
                    () if is(message, Kind::ShufflePair3) => guess,
                    () => return None,
                };
                let mut body = message.body.to_vec();
                body[place * WIDTH as usize] ^= 0x80;
                Some(body)
            });
        assert_convicted(&deployment, &results, 2);
    }
}

/// attacks §1.6: a false local sum is told from a false table; the failed batch is opened, the
/// culprit named exactly.
#[test]
fn a6_a_false_sum_convicts_exactly_its_maker() {
    for liar in 0..3 {
        let deployment = Deployment::new(23);
        let spec = batch(1, 8, WIDTH);
        let key = deployment.world.key(PartyId(liar));
        // The commitment has to fit the false opening, so the saboteur replaces both: first run to
        // learn the opening.
        let network = Network::default();
        deployment.prepare(&network, spec);
        let opening = network
            .sent()
            .into_iter()
            .find(|(_, m)| m.signed.header.from == PartyId(liar) && is(m, Kind::SumOpening))
            .map(|(_, m)| m)
            .unwrap();
        let mut false_body = opening.body.to_vec();
        *false_body.last_mut().unwrap() ^= 1;
        let commitment = commitment_to(&opening.signed.header, &false_body);
        let network = Network::default();
        network.corrupt(Saboteur::rewriting(PartyId(liar), key, move |_, message| match () {
            () if is(message, Kind::SumCommitment) => Some(commitment.0.to_vec()),
            () if is(message, Kind::SumOpening) => Some(false_body.clone()),
            () => None,
        }));
        let results = deployment.prepare(&network, spec);
        assert_convicted(&deployment, &results, liar);
    }
}

/// As the protocol commits (`coin.rs`).
pub fn commitment_to(opening: &Header, body: &[u8]) -> Digest {
    let mut transcript = ostrakon_crypto::Transcript::new("ostrakon/v1/threeparty/commitment");
    transcript
        .field(&opening.session.0.0)
        .number(opening.tag.instance.kind as u64)
        .field(&opening.tag.instance.scope)
        .number(opening.tag.instance.number)
        .number(u64::from(opening.tag.step.0))
        .number(u64::from(opening.from.0))
        .field(body);
    transcript.finish()
}

/// attacks §1.7: in fair mode nothing is revealed after a fault: no server sends a share of the
/// output, a mask or a submission.
#[test]
fn a7_a_fair_epoch_reveals_nothing_after_a_fault() {
    for (liar, kind) in
        [(2, Kind::Delta02), (0, Kind::Delta01), (1, Kind::Delta12), (0, Kind::Pads)]
    {
        let scene = Scene::new(31, false);
        let network = scene.corrupt(liar, move |_, message| {
            is(message, kind).then(|| message.body.iter().map(|byte| byte ^ 1).collect())
        });
        let results = scene.run(&network);
        for honest in (0..3).filter(|id| *id != liar) {
            assert_eq!(fault(&results[usize::from(honest)]).culprit, PartyId(liar));
        }
        let revealing = network
            .sent()
            .into_iter()
            .any(|(_, m)| m.signed.header.from != PartyId(liar) && reveals(&m));
        assert!(!revealing, "an honest server revealed something after {kind:?}");
    }
}

/// attacks §1.8: the anonymity set counts without the largest class that one server gave out, and
/// an owner counts once.
#[test]
fn a8_the_minimum_holds_without_any_one_class() {
    assert_eq!(
        guaranteed([0, 3, 6, 9].into_iter()),
        0,
        "all from one server: nothing is guaranteed"
    );
    assert_eq!(guaranteed([0, 1, 2].into_iter()), 2);
    assert_eq!(guaranteed([0, 3, 1, 2, 5].into_iter()), 3);
    let mut scene = Scene::new(32, false);
    scene.spec.minimum = 3;
    scene.slots = scene.deployment.slots(&scene.stock, &scene.spec, &rows_of([0, 1, 2, 3], WIDTH));
    let network = Network::default();
    for result in scene.run(&network) {
        assert_eq!(result.unwrap().err(), Some(Unmixed::TooFew(2)));
    }
    assert!(
        !network.sent().iter().any(|(_, m)| is(m, Kind::Pads) || reveals(m)),
        "nothing is shown below the minimum"
    );
}

/// attacks §1.8: one key has one message in an epoch, however many slots a corrupt server gives it.
#[test]
fn a8_an_owner_of_two_slots_has_one_message() {
    let mut scene = Scene::new(33, false);
    let key = participant(0);
    let second =
        scene.deployment.submission(&scene.stock, &scene.spec, 4, &row(4, WIDTH as usize), &key);
    scene.slots[3] = Slot { slot: 4, owner: key.verifying_key(), submission: Some(second) };
    for result in scene.run(&Network::default()) {
        assert_eq!(slots_of(&result, &[0, 1, 2, 4]), [0, 1, 2]);
    }
}

/// attacks §1.8: a slot that a corrupt server gives to an owner of another one, and for which
/// nothing was handed in, takes nothing away from that owner.
#[test]
fn a8_an_empty_slot_silences_nobody() {
    let mut scene = Scene::new(38, false);
    scene.slots[0] = Slot { slot: 0, owner: participant(4).verifying_key(), submission: None };
    for result in scene.run(&Network::default()) {
        assert_eq!(slots_of(&result, &[1, 2, 4]), [1, 2, 4]);
    }
}

/// A submission that reached only one server before sealing is not taken, and its pad is never
/// shown.
#[test]
fn a_late_submission_stays_under_its_pad() {
    let scene = Scene::new(34, false);
    let slots = |party: PartyId| {
        let mut slots = scene.slots.clone();
        if party != PartyId(1) {
            slots[3].submission = None;
        }
        slots
    };
    let network = Network::default();
    let results = scene.run_with(&network, slots);
    let late = scene.slots[3].submission.as_ref().unwrap();
    let row4 = row(4, WIDTH as usize);
    for result in &results {
        let opened = result.as_ref().unwrap().as_ref().unwrap();
        assert_eq!(opened.accepted, 3);
        for noise in opened.table.chunks(WIDTH as usize) {
            let trial: Vec<u8> = noise.iter().zip(late.masked()).map(|(a, b)| a ^ b).collect();
            assert_ne!(trial, row4, "the absent slot's noise unmasks the late submission");
        }
    }
    // What P1 was shown of the slot is its leaf, from which neither seed follows.
    let issues = scene.deployment.issues(&scene.stock, 4);
    let pads = network.sent().into_iter().filter(|(to, m)| *to == PartyId(1) && is(m, Kind::Pads));
    for (_, message) in pads {
        let entry = &message.body[4 * 32..5 * 32];
        assert!(
            issues.iter().flat_map(|issue| &issue.seeds).all(|(seeds, _)| entry[16..] != seeds.pad)
        );
    }
}

/// A server that has signed a Ready does not stop on evidence that the culprit itself shows late,
/// when another one may have opened.
#[test]
fn a_late_confession_does_not_split_the_honest_servers() {
    for (withheld_from, robust) in [(0, false), (1, false), (0, true), (1, true)] {
        let scene = Scene::new(35, robust);
        let subject = Subject::Epoch(scene.spec);
        let network = Network::default();
        let two = [1u8, 2].map(|fill| {
            scene.forge(2, subject, Kind::SealVote, Recipient::All, vec![fill; 32]).signed
        });
        let confession =
            Fault { culprit: PartyId(2), subject, evidence: Evidence::Equivocation(Box::new(two)) };
        assert!(confession.verify(&scene.deployment.world.roster));
        let confession =
            scene.forge(2, subject, Kind::Accusation, Recipient::All, confession.encode());
        // P2's Ready and everybody's certificates reach the victim only after the confession.
        network.schedule(move |to, message| {
            let late = is(message, Kind::Certificate)
                || (is(message, Kind::Ready) && message.signed.header.from.0 == 2);
            if to == PartyId(withheld_from) && late { 5 } else { 0 }
        });
        network.inject(PartyId(withheld_from), confession, 1);
        let results = scene.run(&network);
        for honest in [0, 1] {
            assert_eq!(
                slots_of(&results[honest], &[0, 1, 2, 4]),
                [0, 1, 2, 4],
                "withheld from P{withheld_from}"
            );
        }
        let [a, b] = [0, 1].map(|i: usize| results[i].as_ref().unwrap().as_ref().unwrap());
        assert_eq!(a.table, b.table);
    }
}

/// A third person cannot be shown a failed batch with another coin that makes an honest server's
/// sum look false.
#[test]
fn a_batch_shown_with_another_coin_convicts_nobody() {
    let counter = std::sync::Arc::new(AtomicUsize::new(0));
    let seen = counter.clone();
    let (deployment, _, results) =
        prepare_corrupted(36, 2, batch(1, 8, WIDTH), move |_, message| {
            let mut body = message.body.to_vec();
            is(message, Kind::ShufflePair3).then(|| {
                seen.fetch_add(1, Ordering::Relaxed);
                body[0] ^= 1;
                body
            })
        });
    assert_eq!(counter.load(Ordering::Relaxed), 1);
    assert_convicted(&deployment, &results, 2);
    let Some(Err(Stop::Fault(fault))) = &results[0] else { unreachable!("asserted above") };
    // Whatever byte of genuine evidence is changed, it convicts nobody but the culprit.
    let bytes = fault.encode();
    for at in (0..bytes.len()).step_by(3) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        if let Ok(changed) = Fault::decode(&changed) {
            assert!(!changed.verify(&deployment.world.roster) || changed.culprit == PartyId(2));
        }
    }
}

/// Evidence is read from strangers: nothing in it may panic, whatever it claims.
#[test]
fn hostile_evidence_is_refused_without_harm() {
    let scene = Scene::new(37, false);
    let roster = &scene.deployment.world.roster;
    let mut no_rows = scene.spec;
    no_rows.batch.shape.rows = 0;
    for subject in [
        Subject::Setup,
        Subject::Batch(scene.spec.batch),
        Subject::Epoch(scene.spec),
        Subject::Epoch(no_rows),
    ] {
        for (c, o) in
            [(Kind::SeedStatement, Kind::SeedOpening), (Kind::CoinCommitment, Kind::CoinOpening)]
        {
            let said = |kind, body: Vec<u8>| {
                let message = scene.forge(2, subject, kind, Recipient::All, body.clone());
                Box::new(Statement { signed: message.signed, body })
            };
            let evidence =
                Evidence::Opening { commitment: said(c, vec![1; 3]), opening: said(o, vec![2; 3]) };
            assert!(!Fault { culprit: PartyId(2), subject, evidence }.verify(roster));
        }
    }
}

/// Signed messages of one run mean nothing in another: the session and the run are in every
/// signature.
#[test]
fn a_message_of_another_run_is_no_contradiction() {
    let scene = Scene::new(38, false);
    let mut other = scene.spec;
    other.number += 1;
    let vote = |spec: EpochSpec, fill: u8| {
        scene.forge(2, Subject::Epoch(spec), Kind::SealVote, Recipient::All, vec![fill; 32]).signed
    };
    let pair = [vote(scene.spec, 1), vote(other, 2)];
    let tags: [Tag; 2] = [pair[0].header.tag, pair[1].header.tag];
    assert_ne!(tags[0], tags[1]);
    let fault = Fault {
        culprit: PartyId(2),
        subject: Subject::Epoch(scene.spec),
        evidence: Evidence::Equivocation(Box::new(pair)),
    };
    assert!(!fault.verify(&scene.deployment.world.roster));
}
