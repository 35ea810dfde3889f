//! How verdicts are counted.

use ostrakon_crypto::SigningKey;
use ostrakon_party::{Delivery, SessionId};

use super::*;

fn signing(n: u8) -> SigningKey {
    SigningKey::from_seed(&[n; 32])
}

fn servers(parties: u8) -> Servers {
    Servers {
        session: SessionId(Digest([0; 32])),
        keys: (0..parties).map(|n| signing(n).verifying_key()).collect(),
    }
}

fn publish(server: u8, digest: u8) -> Option<Verdict> {
    let digest = Digest([digest; 32]);
    Some(Verdict::Publish(digest, signing(server).sign(&digest)))
}

const NOTHING: Option<Verdict> = Some(Verdict::Nothing);

/// What these verdicts amount to if so many servers may be corrupt.
fn count<const N: usize>(parties: u8, corrupt: usize, verdicts: [Option<Verdict>; N]) -> Tally {
    let trust = Trust::new(N, corrupt, Delivery::Stoppable).unwrap();
    tally(&ByParty::from(verdicts.to_vec()), &servers(parties), &trust)
}

#[test]
fn as_many_decide_as_one_of_whom_is_honest() {
    // Four of five may be corrupt: all five decide, and no fewer.
    let all = [0, 1, 2, 3, 4].map(|server| publish(server, 1));
    assert!(matches!(count(5, 4, all), Tally::Publish(_, signed) if signed.len() == 5));
    for missing in 0..5 {
        for other in [None, NOTHING, publish(missing, 2)] {
            let mut some = all;
            some[usize::from(missing)] = other;
            assert_eq!(count(5, 4, some), Tally::Open, "{missing}: {other:?}");
        }
    }
    assert_eq!(count(5, 4, [NOTHING; 5]), Tally::Nothing);
    assert_eq!(count(5, 4, [NOTHING, NOTHING, NOTHING, NOTHING, None]), Tally::Open);
    // One of four: two publish, and three refuse; two who refuse leave two who may publish.
    assert!(matches!(count(4, 1, [publish(0, 1), None, None, publish(3, 1)]), Tally::Publish(..)));
    assert_eq!(count(4, 1, [NOTHING, NOTHING, None, None]), Tally::Open);
    assert_eq!(count(4, 1, [NOTHING, NOTHING, None, NOTHING]), Tally::Nothing);
    // Of two, both.
    assert_eq!(count(2, 1, [publish(0, 1), None]), Tally::Open);
    assert_eq!(count(2, 1, [publish(0, 1), NOTHING]), Tally::Open);
    assert!(matches!(count(2, 1, [publish(0, 1), publish(1, 1)]), Tally::Publish(..)));
    assert_eq!(count(2, 1, [NOTHING, NOTHING]), Tally::Nothing);
}

#[test]
fn two_of_three_decide() {
    let count = |verdicts| count(3, 1, verdicts);
    assert_eq!(count([publish(0, 1), None, None]), Tally::Open);
    assert_eq!(count([publish(0, 1), NOTHING, None]), Tally::Open);
    assert_eq!(count([NOTHING, None, NOTHING]), Tally::Nothing);
    let Tally::Publish(digest, signatures) = count([publish(0, 1), NOTHING, publish(2, 1)]) else {
        panic!("published")
    };
    assert_eq!(digest, Digest([1; 32]));
    let signers: Vec<_> = signatures.iter().map(|(id, _)| id.0).collect();
    assert_eq!(signers, [0, 2]);
    assert_eq!(
        count([publish(0, 1), publish(1, 2), publish(2, 3)]),
        Tally::Open,
        "three different ones"
    );
}

#[test]
fn a_forged_signature_supports_nothing() {
    let count = |verdicts| count(3, 1, verdicts);
    // Server 1's verdict bears server 2's signature.
    assert_eq!(count([publish(0, 1), publish(2, 1), None]), Tally::Open);
    assert_eq!(count([NOTHING, publish(2, 1), None]), Tally::Nothing, "it counts as a refusal");
}

#[test]
fn verdicts_fit_their_bound() {
    let longest = ostrakon_party::wire::encode(&publish(0, 255).unwrap());
    assert!(longest.len() as u64 <= LONGEST_VERDICT);
}

#[test]
fn the_longest_entry_fits_its_bound() {
    use ostrakon_mixing::room::RoomId;

    for (capacity, payload) in [(3, 32), (192, 256), (3000, 32), (300, 4096)] {
        let room = RoomDescriptor { capacity, payload, ..RoomDescriptor::new("r") };
        let body = vec![7; RowFormat::new(&room, 0).limit()];
        let erased = Published::Erased(Digest([255; 32]));
        for message in [Published::Kept { salt: [255; SALT], body }, erased] {
            let epoch = EpochId { room: RoomId([255; 16]), number: u64::MAX };
            let messages = vec![message; capacity as usize];
            let entry = Entry { epoch, previous: Digest([255; 32]), accepted: u32::MAX, messages };
            let length = ostrakon_party::wire::encode(&entry).len() as u64;
            assert!(
                length <= longest_entry(&room),
                "{length} bytes of {capacity} messages in {payload}"
            );
        }
    }
}
