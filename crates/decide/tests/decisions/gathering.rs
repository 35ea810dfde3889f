//! Join links: what servers and others who have the link can put before a creator, and that it
//! takes none of it.

use ostrakon_crypto::{SigningKey, VerifyingKey};
use ostrakon_decide::draft::gathering::{
    Gathering, MOST_REFUSED, Request, SignedGathering, SignedWord, Word, decode, digits,
};
use ostrakon_decide::keys::joining_seed;
use ostrakon_decide::*;
use ostrakon_party::wire;

use crate::world::{Decision, NOW, World, account, ballot, draft};

struct Link {
    world: World,
    secret: Invitation,
    creator: SigningKey,
    signed: SignedGathering,
}

impl Link {
    fn new() -> Self {
        let (world, secret, creator) = (World::new(1), Invitation([5; 32]), account(0));
        let gathering = Gathering {
            question: "When?".into(),
            creator: creator.verifying_key(),
            link: secret.key().verifying_key(),
            until: NOW + 1_000,
            nonce: [1; 16],
            servers: world.operators.digest,
        };
        let signed = gathering.sign(&world.operators, &creator);
        Self { world, secret, creator, signed }
    }

    fn id(&self) -> GatheringId {
        self.signed.gathering.id(&self.world.operators)
    }

    fn asks(&self, device: usize, name: &str, time: u64) -> Request {
        let asked = (self.id(), &self.secret);
        Request::new(&self.world.operators, asked, &account(device), name, time)
    }

    /// What the creator takes of what servers show.
    fn taken(&self, shown: &[&Request]) -> Vec<(String, VerifyingKey)> {
        let shown: Vec<_> = shown.iter().map(|one| wire::encode(*one)).collect();
        let shown = shown.iter().map(Vec::as_slice);
        let found = self.signed.gathering.requests(&self.world.operators, shown);
        found.into_iter().map(|request| (request.name, request.account)).collect()
    }
}

fn key(device: usize) -> VerifyingKey {
    account(device).verifying_key()
}

#[test]
fn what_one_server_drops_another_shows_and_nobody_is_there_twice() {
    let link = Link::new();
    let (ben, other_ben) = (link.asks(1, "Ben", 20), link.asks(2, "Ben", 10));
    let again = link.asks(1, "Benjamin", 30);
    // One server shows one, another one the rest, a third one the first once more under a later
    // name: the accounts tell people of one name apart, and the digits show it.
    let taken = link.taken(&[&ben, &other_ben, &again, &ben]);
    assert_eq!(taken, [("Ben".into(), key(2)), ("Ben".into(), key(1))]);
    let operators = &link.world.operators;
    assert_ne!(ben.digits(operators), other_ben.digits(operators));
    assert_eq!(ben.digits(operators), digits(operators, &link.id(), &key(1)));
    assert_eq!(ben.digits(operators).len(), 19, "{}", ben.digits(operators));
}

#[test]
fn nothing_that_a_server_makes_or_changes_is_taken() {
    let link = Link::new();
    let ben = link.asks(1, "Ben", 20);
    let operators = &link.world.operators;
    // Without the link's key, for another link, in somebody's name, with parts exchanged.
    let guessed = (link.id(), &Invitation([6; 32]));
    let without = Request::new(operators, guessed, &account(3), "Eve", 1);
    let other =
        Request::new(operators, (GatheringId([9; 16]), &link.secret), &account(3), "Eve", 1);
    let creator = link.asks(0, "Eve", 1);
    let mut wrong = vec![without, other, creator];
    wrong.push(Request { name: "Eve".into(), ..ben.clone() });
    wrong.push(Request { account: key(3), ..ben.clone() });
    wrong.push(Request { time: 1, ..ben.clone() });
    wrong.push(Request { signature: ben.invited, ..ben.clone() });
    wrong.push(Request { invited: ben.signature, ..ben.clone() });
    wrong.push(Request { gathering: GatheringId([9; 16]), ..ben.clone() });
    wrong.push(link.asks(3, " ", 1));
    wrong.push(link.asks(3, &"e".repeat(76), 1));
    for (place, request) in wrong.iter().enumerate() {
        assert_eq!(link.taken(&[request]), [], "request {place}");
        let both = link.taken(&[request, &ben]);
        assert_eq!(both, [("Ben".into(), key(1))], "request {place} stands in nobody's way");
    }
    let junk = [&b"junk"[..], &[]];
    assert!(link.signed.gathering.requests(operators, junk).is_empty());
    assert!(decode::<Request>(&vec![0; 70_000]).is_err());
}

#[test]
fn only_the_creator_makes_the_link_and_answers() {
    let link = Link::new();
    let operators = &link.world.operators;
    let gathering = &link.signed.gathering;
    assert_eq!(link.signed.verify(operators), Ok(()));
    let forged = gathering.clone().sign(operators, &account(3));
    assert!(forged.verify(operators).is_err());
    let asks_else = Gathering { question: "Where?".into(), ..gathering.clone() };
    let changed = SignedGathering { gathering: asks_else, ..link.signed.clone() };
    assert!(changed.verify(operators).is_err() && changed.gathering.id(operators) != link.id());
    for (until, good) in [(NOW, false), (NOW + 1, true), (NOW + 61 * 24 * 3600, false)] {
        let gathering = Gathering { until, ..gathering.clone() };
        let signed = gathering.sign(operators, &link.creator);
        assert_eq!(signed.check_time(NOW).is_ok(), good, "{until}");
    }

    let word = Word {
        gathering: link.id(),
        number: 1,
        admitted: [key(1)].into(),
        refused: [key(2)].into(),
        decision: None,
    };
    let said = word.clone().sign(operators, &link.creator);
    assert_eq!(gathering.check_word(operators, &said), Ok(()));
    let more = Word { admitted: [key(1), key(3)].into(), ..word.clone() };
    let flood = (0..=MOST_REFUSED).map(|i| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&i.to_be_bytes());
        VerifyingKey(bytes)
    });
    let flood = Word { refused: flood.collect(), ..word.clone() };
    let elsewhere = Word { gathering: GatheringId([9; 16]), ..word.clone() };
    for wrong in [
        word.sign(operators, &account(3)),
        SignedWord { word: more, ..said },
        flood.sign(operators, &link.creator),
        elsewhere.sign(operators, &link.creator),
    ] {
        assert!(gathering.check_word(operators, &wrong).is_err(), "{:?}", wrong.word);
    }
}

/// The key of one link tells nothing of another, and is the one that the draft must name.
#[test]
fn a_device_takes_part_under_the_account_by_which_it_asked() {
    let link = Link::new();
    let operators = link.world.operators;
    let of = |id| {
        SigningKey::from_seed(joining_seed(&account(1), &operators, &id).expose()).verifying_key()
    };
    let joined = of(link.id());
    assert!(joined != of(GatheringId([9; 16])) && joined != key(1));
    let mut draft = draft(&link.world, 3, 2, vec![ballot(Function::Majority, 2)]);
    draft.gathering = Some(link.id());
    draft.people[1].seat = Seat::Account(joined);
    let chain = Decision::new(World::new(1), &draft).chain;
    assert_eq!(chain.account_of(account(1)).verifying_key(), joined);
    assert_ne!(chain.account_of(account(2)).verifying_key(), key(2));
    draft.gathering = None;
    let chain = Decision::new(World::new(1), &draft).chain;
    assert_ne!(chain.account_of(account(1)).verifying_key(), joined, "of another link");
}
