//! What a person has in hand, and what others cannot make of it: signed receipts, the same bytes
//! again, deposits that are their owner's and end, accounts that do not link decisions.

use ostrakon_crypto::Signature;
use ostrakon_decide::device::receipt::acknowledged;
use ostrakon_decide::keys::{
    GRACE, InvalidKey, MOST_LIFETIME, account_for, receipt_digest, stock_digest,
};
use ostrakon_decide::*;
use ostrakon_party::PartyId;

use crate::world::{
    BEFORE, DEADLINE, Decision, EXPIRES, NOW, World, account, ballot, draft, invitation,
};

fn majority() -> Decision {
    Decision::answering(4, 2, vec![ballot(Function::Majority, 2)])
}

/// attacks.md 4.13: a receipt that no server signed proves nothing.
#[test]
fn a_receipt_is_signed_by_two_servers_and_by_nobody_else() {
    let mut decision = majority();
    decision.answer(0, &[1]);
    let (operators, me) = (decision.world.operators, account(0).verifying_key());
    let visit = decision.visit().unwrap();
    let mut receipt = visit.confirmed(&me, &mut decision.memories[0]).unwrap();
    assert!(receipt.verify(&operators).unwrap_err().to_string().contains("2 servers must"));
    let digest = acknowledged(&operators, &receipt.decision, receipt.number, &receipt.digest);
    let word = |party: usize| {
        Acknowledgement::of(&decision.world.identities[party], PartyId(party as u8), &digest)
    };
    receipt.add(&operators, word(0)).unwrap();
    receipt.add(&operators, word(0)).unwrap();
    assert!(!receipt.is_complete(), "one server, twice");
    let lying = Acknowledgement { party: PartyId(2), ..word(1) };
    assert!(receipt.add(&operators, lying).is_err(), "in another's name");
    assert!(receipt.add(&operators, Acknowledgement { party: PartyId(3), ..word(1) }).is_err());
    receipt.add(&operators, word(2)).unwrap();
    assert_eq!(receipt.verify(&operators), Ok(()));
    let changes: [fn(&mut Receipt); 5] = [
        |receipt| receipt.number += 1,
        |receipt| receipt.digest.0[0] ^= 1,
        |receipt| receipt.decision.0[0] ^= 1,
        |receipt| receipt.signatures[0].signature = Signature([1; 64]),
        |receipt| receipt.signatures[1] = receipt.signatures[0],
    ];
    for change in changes {
        let mut changed = receipt.clone();
        change(&mut changed);
        assert!(changed.verify(&operators).is_err(), "{changed:?}");
    }
}

/// attacks.md 4.13: several signed steps for one place let the orderer build two histories that
/// bear the person's signatures.
#[test]
fn a_device_hands_in_the_same_bytes_while_the_head_stands() {
    let mut decision = majority();
    let first = decision.step(0, &[1]).unwrap().encode();
    for _ in 0..3 {
        assert_eq!(decision.step(0, &[1]).unwrap().encode(), first, "one signed record a place");
    }
    // Also after the device was switched off.
    let saved = serde_json::to_string(&decision.memories[0]).unwrap();
    decision.memories[0] = serde_json::from_str(&saved).unwrap();
    assert_eq!(decision.step(0, &[1]).unwrap().encode(), first);
    assert!(decision.step(0, &[0]).is_err(), "other answers");
    decision.answer(1, &[1]);
    let second = decision.step(0, &[1]).unwrap();
    assert_ne!(second.encode(), first, "after another head");
    assert_eq!(decision.step(0, &[1]).unwrap(), second);
    decision.take(&second).unwrap();
    let visit = decision.visit().unwrap();
    visit.confirmed(&account(0).verifying_key(), &mut decision.memories[0]).unwrap();
    let kept = serde_json::to_string(&decision.memories[0]).unwrap();
    assert!(kept.len() < 400, "nothing of it is kept once it has arrived: {kept}");
}

/// attacks.md 4.15: without the owner's signature a stranger fills or squats anybody's account.
#[test]
fn a_deposit_is_its_owners_and_ends() {
    let mut world = World::new(8);
    let (party, identity) = world.parties().remove(1);
    let made = world.new_key(&account(0), 2);
    let operators = world.operators;
    let open = |deposit: &Deposit, now| deposit.open(&identity, party, &operators, now).map(drop);
    let deposit = &made.deposits[1];
    assert_eq!(open(deposit, NOW), Ok(()));
    let stranger = world.new_key(&account(1), 2);
    let mut squatting = deposit.clone();
    squatting.signature = stranger.deposits[1].signature;
    assert_eq!(open(&squatting, NOW), Err(InvalidKey::Owner), "somebody else's signature");
    let mut other = deposit.clone();
    other.sealed = made.deposits[2].sealed.clone();
    assert_eq!(open(&other, NOW), Err(InvalidKey::Owner), "another share under it");
    let mut longer = deposit.clone();
    longer.statement.expires += 1;
    assert_eq!(open(&longer, NOW), Err(InvalidKey::Owner), "kept for longer");
    assert_eq!(open(deposit, EXPIRES), Err(InvalidKey::Lifetime), "it has ended");
    assert_eq!(open(deposit, EXPIRES - 1), Ok(()));
    let now = EXPIRES - MOST_LIFETIME.min(EXPIRES);
    assert_eq!(open(deposit, now), Ok(()));
}

#[test]
fn a_key_whose_shares_end_too_early_is_not_taken() {
    for (expires, holds) in [(DEADLINE + GRACE, true), (DEADLINE + GRACE - 1, false)] {
        let mut world = World::new(9);
        let (helpers, operators) = (world.helpers(), world.operators);
        let drafted = draft(&world, 4, 2, vec![ballot(Function::Majority, 2)]);
        let (serial, owner) = (Serial([9; 16]), account(1));
        let new = keys::shares::new_key(
            &owner,
            serial,
            (2, expires),
            &operators,
            &helpers,
            &mut world.rng,
        );
        let statement = new.unwrap().statement;
        let sign = |(party, key): (PartyId, ostrakon_crypto::SigningKey)| {
            key.sign(&receipt_digest(&operators, party, &statement))
        };
        let receipts = world.parties().into_iter().map(sign).collect();
        let key = keys::certify(&owner, statement.clone(), receipts, &operators).unwrap();
        let mut decision = Decision::new(world, &drafted);
        let accepted = decision.visit().unwrap().accept(&owner, key, Some(&invitation(1)), 6);
        assert_eq!(accepted.is_ok(), holds, "{accepted:?}");
    }
}

/// attacks.md 4.15: an account key that stands in all decisions links them.
#[test]
fn a_device_has_another_account_in_every_decision() {
    let world = World::new(10);
    let (operators, device) = (world.operators, account(0));
    let key = |id: u8| account_for(&device, &operators, &DecisionId([id; 16])).verifying_key();
    assert_eq!(key(1), key(1), "it finds it again");
    assert!(key(1) != key(2) && key(1) != device.verifying_key());
    let other = account_for(&account(1), &operators, &DecisionId([1; 16])).verifying_key();
    assert_ne!(other, key(1));
    let drafted = draft(&World::new(10), 4, 2, vec![ballot(Function::Majority, 2)]);
    let decision = Decision::new(World::new(10), &drafted);
    let acts = |person: usize| decision.chain.account_of(account(person)).verifying_key();
    assert_eq!(acts(0), device.verifying_key(), "the draft names it");
    assert_eq!(acts(1), account_for(&account(1), &operators, &decision.chain.id()).verifying_key());
    let owner = device.verifying_key();
    assert_ne!(stock_digest(&operators, &owner, 1), stock_digest(&operators, &owner, 2));
}

/// attacks.md 4.14: what a server keeps for longer does not open what it has erased.
#[test]
fn a_layer_is_of_what_was_drawn_for_it_and_not_of_the_servers_identity() {
    let mut decision = majority();
    (0..4).for_each(|person| decision.answer(person, &[1]));
    decision.beat(BEFORE);
    let examined = decision.examine().unwrap();
    let (party, _) = decision.world.parties().remove(0);
    let rng = &mut decision.world.rng;
    let again = ostrakon_crypto::Secret::new([1; 32]);
    let opening = examined.open(&again, party, &[], rng);
    assert!(
        opening.is_err() || examined.check_opening(party, &opening.unwrap()).is_err(),
        "with the identity alone, and other randomness, it cannot be opened"
    );
}
