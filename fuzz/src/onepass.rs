//! What visitors, operators and helpers of a one-pass session send, and the tables that a session
//! is made of.

use std::sync::{Arc, LazyLock};

use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Digest, Secret, Stream};
use ostrakon_onepass::params::{MAX_ENTRIES, MAX_STEP_BYTES};
use ostrakon_onepass::{
    Absence, Ballot, Closing, Helpers, History, KeyShare, Layer, LayerKey, OneTimeKey,
    PartialDecryption, ProofOfPossession, Ristretto, Session, SessionId, Step, Visitor,
};

/// Visitors of the session.
const VISITORS: usize = 3;
/// Bytes of a layer key that two helpers are needed for.
const LAYER_KEY: usize = 64;

/// Random numbers that a seed decides.
pub fn seeded(seed: u8) -> Stream {
    Stream::of(Secret::new([seed; 32]), "ostrakon/v1/fuzz/randomness")
}

/// A session in which visitor 1 has come and the others stay away, with what is valid in it.
struct Scene {
    start: History<Ristretto>,
    step: Vec<u8>,
    closing: Closing<Ristretto>,
    partials: [Vec<u8>; 2],
    /// Of visitor 0's key: it with its proof, and the second helper's share.
    key: Vec<u8>,
    share: Vec<u8>,
}

static SCENE: LazyLock<Scene> = LazyLock::new(scene);

fn helpers() -> Helpers {
    Helpers::new(2, 3).expect("two of three")
}

fn key(place: u8) -> OneTimeKey<Ristretto> {
    OneTimeKey::from_seed(&Secret::new([place + 1; 32]), helpers())
}

fn head() -> Digest {
    digest("ostrakon/v1/fuzz/head", b"")
}

fn session(visitors: usize, ballots: Vec<Ballot>) -> Option<Session<Ristretto>> {
    let keys = (0..visitors as u8).map(|place| key(place).layer_key()).collect();
    let operators = (100..102).map(|place| key(place).layer_key()).collect();
    Session::new(SessionId(head()), keys, operators, helpers(), ballots).ok()
}

fn scene() -> Scene {
    let mut rng = seeded(1);
    let ballots =
        [2, 3].map(|values| Ballot::from_function(values, VISITORS, |counts| u32::from(counts[1])));
    let session = session(VISITORS, ballots.map(|ballot| ballot.expect("it is small")).to_vec())
        .expect("it is valid");
    let start = History::start(Arc::new(session));
    let visitor = Visitor::new(&start, 1, key(1)).expect("it comes for the first time");
    let step =
        visitor.visit(&start, &[1, 2], &head(), &mut rng).expect("values in range").to_bytes();
    let mut verifier = start.clone().verifier();
    verifier.push(1, &head(), &step, &mut rng).expect("an honest step");
    let after = verifier.finish(&mut rng).expect("an honest step");
    let absent = [0, 2].map(|visitor| Absence { visitor, choices: vec![0, 1] });
    let closing = after.close(&head(), &absent).expect("exactly the absent");
    let operator = closing.decrypt_as_operator(0, &key(100), &mut rng).expect("its key");
    let helper = closing
        .decrypt_as_helper(1, Layer::Visitor(2), &key(2).share(1), &mut rng)
        .expect("its share");
    let possession = key(0).prove_possession(&head(), &mut rng);
    Scene {
        start,
        step,
        closing,
        partials: [operator.to_bytes(), helper.to_bytes()],
        key: [key(0).layer_key().to_bytes(), possession.to_bytes().to_vec()].concat(),
        share: key(0).share(1).to_bytes().to_vec(),
    }
}

pub fn valid_step() -> Vec<u8> {
    SCENE.step.clone()
}

/// A step is read in one form, and only the one that was made holds.
pub fn read_step(bytes: &[u8]) -> bool {
    let scene = &*SCENE;
    let Ok(step) = Step::from_bytes(scene.start.session(), 0, bytes) else { return false };
    assert_eq!(step.to_bytes(), bytes, "only one encoding is accepted");
    let mut rng = seeded(2);
    let mut verifier = scene.start.clone().verifier();
    let pushed = verifier.push(1, &head(), bytes, &mut rng).is_ok();
    let holds = pushed && verifier.finish(&mut rng).is_ok();
    assert!(!holds || bytes == scene.step, "the visitor has made one step only");
    holds
}

pub fn valid_key() -> Vec<u8> {
    SCENE.key.clone()
}

/// A key with its proof of possession: nobody has proved another one.
pub fn read_key(bytes: &[u8]) -> bool {
    let Some((key, proof)) = bytes.split_at_checked(LAYER_KEY) else { return false };
    let Ok(key) = LayerKey::<Ristretto>::from_bytes(key, helpers()) else { return false };
    let Ok(proof) = ProofOfPossession::<Ristretto>::from_bytes(proof) else { return false };
    assert_eq!(
        [key.to_bytes(), proof.to_bytes().to_vec()].concat(),
        bytes,
        "only one encoding is accepted"
    );
    let possessed = proof.verify(&key, &head());
    assert!(!possessed || bytes == SCENE.key, "one key is proved to be known");
    possessed
}

pub fn valid_share() -> Vec<u8> {
    SCENE.share.clone()
}

/// One share fits the commitments.
pub fn read_share(bytes: &[u8]) -> bool {
    let Ok(share) = KeyShare::<Ristretto>::from_bytes(bytes) else { return false };
    assert_eq!(share.to_bytes()[..], *bytes, "only one encoding is accepted");
    let fits = key(0).layer_key().verify_share(1, &share);
    assert!(!fits || bytes == SCENE.share, "another share fits");
    fits
}

pub fn valid_operator_part() -> Vec<u8> {
    SCENE.partials[0].clone()
}

pub fn valid_helper_part() -> Vec<u8> {
    SCENE.partials[1].clone()
}

/// A partial decryption, of an operator or of a helper: each has made one, for one layer.
pub fn read_part(bytes: &[u8]) -> bool {
    let scene = &*SCENE;
    let Ok(partial) = PartialDecryption::<Ristretto>::from_bytes(bytes, 2) else { return false };
    assert_eq!(partial.to_bytes(), bytes, "only one encoding is accepted");
    let of_operator = scene.closing.verify_operator(0, partial.clone()).is_ok();
    let of_helper = scene.closing.verify_helper(1, Layer::Visitor(2), partial.clone()).is_ok();
    assert!(!of_operator || bytes == scene.partials[0], "the operator has made one part only");
    assert!(!of_helper || bytes == scene.partials[1], "the helper has made one part only");
    assert!(
        scene.closing.verify_helper(1, Layer::Visitor(0), partial).is_err(),
        "it is for another layer"
    );
    of_operator || of_helper
}

/// Values, visitors, outputs: a table of three values for two visitors.
pub fn valid_table() -> Vec<u8> {
    let mut bytes = vec![3, 0, 2];
    (0..6_u32).for_each(|output| bytes.extend(output.to_le_bytes()));
    bytes
}

/// Whatever table a session is asked for: it is refused, or its steps and tables are within their
/// limits.
pub fn read_table(bytes: &[u8]) -> bool {
    let Some(([low, high, visitors], outputs)) = bytes.split_first_chunk() else { return false };
    let outputs: Vec<u32> =
        outputs.as_chunks().0.iter().map(|output| u32::from_le_bytes(*output)).collect();
    let visitors = usize::from(*visitors);
    let Ok(ballot) = Ballot::new(u16::from_le_bytes([*low, *high]), visitors, outputs) else {
        return false;
    };
    assert!(ballot.outputs().len() <= MAX_ENTRIES);
    let Some(session) = session(visitors, vec![ballot]) else { return false };
    assert!(session.step_bytes(0) <= MAX_STEP_BYTES);
    let entries = session.ballots()[0].outputs().len();
    assert_eq!(History::start(Arc::new(session)).tables()[0].entries.len(), entries);
    true
}
