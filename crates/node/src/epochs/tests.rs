//! How verdicts are counted.

use ostrakon_crypto::SigningKey;
use ostrakon_party::SessionId;

use super::*;

fn signing(n: u8) -> SigningKey {
    SigningKey::from_seed(&[n; 32])
}

fn servers() -> Servers {
    Servers {
        session: SessionId(Digest([0; 32])),
        keys: (0..3).map(|n| signing(n).verifying_key()).collect(),
    }
}

fn publish(server: u8, digest: u8) -> Option<Verdict> {
    let digest = Digest([digest; 32]);
    Some(Verdict::Publish(digest, signing(server).sign(&digest)))
}

const NOTHING: Option<Verdict> = Some(Verdict::Nothing);

#[test]
fn two_of_three_decide() {
    let count = |verdicts| tally(&verdicts, &servers());
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
    let count = |verdicts| tally(&verdicts, &servers());
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
    use ostrakon_broadcast::room::RoomId;

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
