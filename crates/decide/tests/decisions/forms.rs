//! Sizes and hostile bytes.

use ostrakon_crypto::hash::digest;
use ostrakon_crypto::{Signature, Stream, VerifyingKey};
use ostrakon_decide::opening::archive::{ARCHIVE_FORMAT, ArchivedOpening};
use ostrakon_decide::record::RECORD_BYTES;
use ostrakon_decide::*;
use ostrakon_party::{PartyId, wire};

use crate::world::{Decision, NOW, World, account, ballot, draft, seeded};

#[test]
fn the_largest_draft_fits_into_a_record() {
    let mut world = World::new(1);
    let mut largest = draft(&world, 2, 3, vec![ballot(Function::Tally, 8); 20]);
    largest.question = "q".repeat(500);
    for (number, ballot) in (10..).zip(&mut largest.ballots) {
        ballot.label = format!("{number}{}", "l".repeat(98));
        ballot.options = (0..8).map(|i| format!("{i}{}", "o".repeat(99))).collect();
        ballot.function = Function::Custom { outputs: vec![200; 36] };
    }
    assert_eq!(largest.validate(), Ok(()));
    let ballots = world.create(&largest).encode().len();
    let person = |i: u8| Person {
        name: format!("{i:03}{}", "n".repeat(97)),
        seat: Seat::Account(VerifyingKey([i; 32])),
    };
    let mut crowded = draft(&world, 2, 3, vec![ballot(Function::Tally, 2); 4]);
    crowded.question = "q".repeat(500);
    crowded.people = (0..200).map(person).collect();
    crowded.quorum = 100;
    assert_eq!(crowded.validate(), Ok(()));
    let people = world.create(&crowded).encode().len();
    // No draft can have more of both: so these two together bound every draft.
    assert!(ballots + people <= RECORD_BYTES, "{ballots} + {people}");
}

#[test]
fn the_longest_step_fits_into_a_record() {
    // 20 ballots of two options: the most people whose steps fit.
    let world = World::new(2);
    let fits = |people: usize| {
        draft(&world, people, 0, vec![ballot(Function::Majority, 2); 20]).validate().is_ok()
    };
    let most = (2..60).filter(|people| fits(*people)).max().unwrap();
    let mut decision = Decision::answering(most, 0, vec![ballot(Function::Majority, 2); 20]);
    let step = decision.step(3, &[1; 20]).unwrap().encode();
    assert!(
        (RECORD_BYTES - 2_000..=RECORD_BYTES).contains(&step.len()),
        "{most} people, {} bytes",
        step.len()
    );
    let mut long = step;
    long.resize(RECORD_BYTES + 1, 0);
    assert_eq!(SignedRecord::decode(&long), Err(Refused::Form));
}

/// Pseudorandom changes of valid inputs: whatever is read is read again as what it is, and nothing
/// panics.
#[test]
fn hostile_bytes_are_refused_or_read_as_one_thing() {
    let mut decision = Decision::answering(2, 2, vec![ballot(Function::Majority, 2)]);
    let step = decision.step(1, &[1]).unwrap().encode();
    let deposit = wire::encode(&decision.world.new_key(&account(0), 2).deposits[0]);
    let opening =
        Opening { close: decision.chain.head(), layer: vec![1; 96], absent: Vec::new() }.encode();
    let (party, identity) = decision.world.parties().remove(0);
    for number in 0..3_000u64 {
        let noise = digest("ostrakon/v1/decide/test noise", &number.to_le_bytes()).0;
        let change = |valid: &[u8]| {
            let mut bytes = valid.to_vec();
            let at = usize::from(u16::from_le_bytes([noise[0], noise[1]])) % bytes.len();
            match noise[2] % 4 {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, noise[3]),
                _ => bytes[at] ^= noise[3] | 1,
            }
            bytes
        };
        for valid in [&step, &decision.records[0], &decision.records[1], &noise.to_vec()] {
            let bytes = change(valid);
            if let Ok(read) = SignedRecord::decode(&bytes) {
                assert_eq!(read.encode(), bytes);
                assert!(decision.chain.check(&read).is_err(), "input {number}");
                let mut visit = Visit::new(decision.world.operators, decision.chain.id());
                assert!(visit.read(&bytes, &mut decision.world.rng).is_err(), "input {number}");
            }
        }
        if let Ok(read) = Deposit::decode(&change(&deposit)) {
            assert!(
                read.open(&identity, party, &decision.world.operators, NOW).is_err(),
                "input {number}"
            );
        }
        if let Ok(read) = Opening::decode(&change(&opening)) {
            assert_eq!(read.encode(), change(&opening));
        }
        let text: String = noise.iter().map(|byte| char::from(byte % 95 + 32)).collect();
        assert!(serde_json::from_str::<Draft>(&text).is_err());
    }
}

#[test]
fn a_hostile_archive_is_refused() {
    let mut rng = seeded(1);
    let decision = Decision::answering(2, 2, vec![ballot(Function::Majority, 2)]);
    let servers = decision.world.servers.clone();
    let verify =
        |archive: &Archive, rng: &mut Stream| Archive::verify(&archive.to_text(), None, rng);
    let good = Archive::new(servers.clone(), &decision.records, &[]);
    assert_eq!(verify(&good, &mut rng).unwrap().stage, Stage::Answering);
    assert!(verify(&Archive { records: Vec::new(), ..good.clone() }, &mut rng).is_err());
    assert!(verify(&Archive { records: vec!["!".into()], ..good.clone() }, &mut rng).is_err());
    let mut two = good.clone();
    two.servers.keys.pop();
    assert!(verify(&two, &mut rng).is_err());
    let opening = Opening { close: decision.chain.head(), layer: Vec::new(), absent: Vec::new() };
    let early = Archive::new(servers, &decision.records, &[(PartyId(1), opening)]);
    assert!(verify(&early, &mut rng).unwrap_err().to_string().contains("not closed"));
    let text = vec![ArchivedOpening { party: PartyId(0), opening: "AAAA".into() }];
    assert!(verify(&Archive { openings: text, ..good.clone() }, &mut rng).is_err());
    for text in ["", "{}", "[]", "null"] {
        assert!(Archive::verify(text, None, &mut rng).is_err());
    }
    let of_format = |format: &str| Archive { format: format.into(), ..good.clone() }.to_text();
    let nameless = good.to_text().replace(&format!("  \"format\": \"{ARCHIVE_FORMAT}\",\n"), "");
    for (text, said) in [(of_format("ostrakon-decision-7"), "decision-7"), (nameless, "early")] {
        let refused = Archive::verify(&text, None, &mut rng).unwrap_err();
        assert!(matches!(&refused, Refused::Version(named) if named.contains(said)), "{refused}");
        let sentence = refused.to_string();
        assert!(sentence.contains("of another version") && !sentence.contains("changed"));
    }
    let changed = Archive::verify(&format!("{} ", good.to_text()), None, &mut rng).unwrap_err();
    assert!(matches!(&changed, Refused::Archive(said) if said.contains("changed")), "{changed}");
    let mut signed = decision.record(0);
    signed.signature = Signature([0; 64]);
    assert!(verify(&Archive::new(good.servers, [signed.encode()], &[]), &mut rng).is_err());
}
