//! Keys, shares and receipts that cheats make.

use ostrakon_crypto::Signature;
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::keys::{InvalidKey, PublicBytes, certify, receipt_digest};
use ostrakon_decide::*;
use ostrakon_party::PartyId;

use crate::world::{EXPIRES, NOW, World, account};

#[test]
fn a_helper_refuses_a_wrong_share() {
    let mut world = World::new(1);
    let (mine, other) = (world.new_key(&account(0), 2), world.new_key(&account(0), 2));
    let parties = world.parties();
    let open = |deposit: &Deposit, party: usize| {
        deposit.open(&parties[party].1, parties[party].0, &world.operators, NOW).map(|_| ())
    };
    assert_eq!(open(&mine.deposits[1], 1), Ok(()));
    let signed = |statement: &KeyStatement, sealed: &Deposit| {
        let (statement, sealed) = (statement.clone(), sealed.sealed.clone());
        Deposit::of(&account(0), &world.operators, PartyId(1), statement, sealed)
    };
    let swapped = signed(&mine.statement, &mine.deposits[2]);
    assert_eq!(open(&swapped, 1), Err(InvalidKey::Share(1)), "sealed for another server");
    let swapped = signed(&mine.statement, &other.deposits[1]);
    assert_eq!(open(&swapped, 1), Err(InvalidKey::Share(1)), "of another key");
    assert_eq!(
        open(&mine.deposits[1], 2),
        Err(InvalidKey::Share(1)),
        "handed in at another server"
    );
    let mut rogue = mine.statement.clone();
    rogue.commitments[1] = other.statement.commitments[1];
    let rogue = signed(&rogue, &mine.deposits[1]);
    assert_eq!(open(&rogue, 1), Err(InvalidKey::Possession), "the proof binds the commitments");
}

#[test]
fn a_share_that_does_not_fit_its_commitments_is_refused() {
    // The device seals what is no share of its key, for the right server and statement.
    let mut world = World::new(2);
    let new = world.new_key(&account(0), 2);
    let (operators, statement) = (world.operators, &new.statement);
    let commitments: Vec<u8> =
        statement.commitments.iter().flat_map(|commitment| commitment.0).collect();
    let to = world.helpers()[1].exchange.0;
    let seal = |plain: &[u8]| {
        let mut about = ostrakon_crypto::Transcript::new("ostrakon/v1/decide/share envelope");
        about.field(&operators.digest.0).number(1);
        about
            .field(&statement.owner.0)
            .field(&statement.serial.0)
            .number(2)
            .number(EXPIRES)
            .field(&commitments)
            .field(&statement.proof);
        ostrakon_crypto::sealed::seal(
            "ostrakon/v1/decide/share key",
            &mut about,
            &to,
            plain,
            [8; 32],
        )
    };
    let (party, identity) = &world.parties()[1];
    let open = |plain: &[u8]| {
        let (statement, sealed) = (new.statement.clone(), seal(plain));
        let deposit = Deposit::of(&account(0), &operators, PartyId(1), statement, sealed);
        deposit.open(identity, *party, &operators, NOW).map(|_| ())
    };
    assert_eq!(open(&[1; 31]), Err(InvalidKey::Share(1)), "too short");
    assert_eq!(open(&[0xff; 32]), Err(InvalidKey::Share(1)), "no scalar");
    let mut one = [0; 32];
    one[0] = 1;
    assert_eq!(open(&one), Err(InvalidKey::Share(1)), "a scalar, but not the share");
}

#[test]
fn a_certified_key_needs_every_receipt_of_the_servers_that_are_pinned() {
    let mut world = World::new(3);
    let operators = world.operators;
    let good = world.certified(&account(0), 2);
    assert_eq!(good.verify(&operators), Ok(()));
    let change = |change: &dyn Fn(&mut CertifiedKey)| {
        let mut key = good.clone();
        change(&mut key);
        key.verify(&operators)
    };
    assert_eq!(change(&|key| key.receipts.truncate(2)), Err(InvalidKey::Receipts));
    assert_eq!(change(&|key| key.receipts.push(key.receipts[0])), Err(InvalidKey::Receipts));
    assert_eq!(change(&|key| key.receipts[1] = Signature([1; 64])), Err(InvalidKey::Server(1)));
    assert_eq!(change(&|key| key.receipts.swap(0, 2)), Err(InvalidKey::Server(0)));
    assert_eq!(change(&|key| key.signature = Signature([1; 64])), Err(InvalidKey::Owner));
    assert!(change(&|key| key.statement.threshold = 3).is_err());
    assert!(change(&|key| key.statement.serial = Serial([99; 16])).is_err());
    assert!(change(&|key| key.statement.owner = account(1).verifying_key()).is_err());
    assert_eq!(world.certified(&account(0), 0).verify(&operators), Ok(()));
    // Nobody stands in, so nobody has to have signed: a key that claims otherwise needs receipts.
    let lone = world.new_key(&account(0), 2);
    let unsigned = certify(&account(0), lone.statement, Vec::new(), &operators);
    assert_eq!(unsigned, Err(InvalidKey::Receipts));
}

#[test]
fn a_key_made_out_of_others_is_refused() {
    let mut world = World::new(4);
    let operators = world.operators;
    let honest = world.new_key(&account(0), 0).statement;
    // Somebody takes another's key, or a combination of others', whose secret it does not know.
    let mut rogue = world.new_key(&account(1), 0).statement;
    rogue.commitments = honest.commitments.clone();
    assert_eq!(
        certify(&account(1), rogue.clone(), Vec::new(), &operators),
        Err(InvalidKey::Possession)
    );
    rogue.proof = honest.proof.clone();
    assert_eq!(
        certify(&account(1), rogue.clone(), Vec::new(), &operators),
        Err(InvalidKey::Possession),
        "a proof is its owner's"
    );
    rogue.commitments = vec![PublicBytes([0; 32])];
    assert!(
        matches!(certify(&account(1), rogue, Vec::new(), &operators), Err(InvalidKey::Form(_))),
        "the identity"
    );
}

#[test]
fn shares_are_sealed_for_pinned_servers_only_and_keys_come_back_from_the_seed() {
    let mut world = World::new(5);
    let mut helpers = world.helpers();
    helpers[2].exchange = helpers[1].exchange;
    let serial = Serial([1; 16]);
    let made =
        new_key(&account(0), serial, (2, EXPIRES), &world.operators, &helpers, &mut world.rng);
    assert_eq!(made.err(), Some(InvalidKey::Server(2)), "the server between");
    let missing = new_key(
        &account(0),
        serial,
        (2, EXPIRES),
        &world.operators,
        &world.helpers()[..2],
        &mut world.rng,
    );
    assert_eq!(missing.err(), Some(InvalidKey::Server(2)));
    let helpers = world.helpers();
    let operators = world.operators;
    let mut make = |threshold| {
        new_key(&account(0), serial, (threshold, EXPIRES), &operators, &helpers, &mut world.rng)
            .unwrap()
            .statement
    };
    assert_eq!(make(2).commitments, make(2).commitments);
    assert_ne!(make(2).commitments[0], make(3).commitments[0], "another threshold, another key");
    assert_eq!(
        (make(0).commitments.len(), make(2).commitments.len(), make(3).commitments.len()),
        (1, 2, 3)
    );
}

#[test]
fn receipts_of_different_servers_and_keys_differ() {
    let mut world = World::new(6);
    let (one, two) =
        (world.new_key(&account(0), 2).statement, world.new_key(&account(0), 2).statement);
    let digest = |party, statement| receipt_digest(&world.operators, PartyId(party), statement);
    assert_ne!(digest(0, &one), digest(1, &one));
    assert_ne!(digest(0, &one), digest(0, &two));
}
