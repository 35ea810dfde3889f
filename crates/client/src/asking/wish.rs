//! From what a creator wants decided to the draft.

use std::collections::BTreeSet;

use ostrakon_crypto::{Digest, VerifyingKey};
use ostrakon_decide::draft::{LABEL_BYTES, PEOPLE, usual_quorum};
use ostrakon_decide::{Ballot, Draft, Flaw, GatheringId, InvalidDraft, Invitation, Person, Seat};
use rand_core::CryptoRng;
use serde::Deserialize;

use super::names::{look, normalised};

/// What a creator wants decided, as it was written down.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// What is asked.
    pub question: String,
    /// What is decided.
    pub ballots: Vec<Ballot>,
    /// Until when to accept, in seconds since 1970.
    pub accept_by: u64,
    /// Whether it ends without a result if somebody has not accepted by then.
    pub all_needed: bool,
    /// How many must answer for a result; the usual number unless given.
    pub quorum: Option<u16>,
    /// Until when to answer, in seconds since 1970.
    pub deadline: u64,
    /// How many servers can stand in for whoever stays away.
    pub threshold: u8,
}

/// Somebody who is to be asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Guest {
    /// The name.
    pub name: String,
    /// The account; without one an invitation is made.
    pub account: Option<VerifyingKey>,
}

/// What else a draft says.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Who makes it.
    pub creator: VerifyingKey,
    /// The digest of the servers.
    pub servers: Digest,
    /// The join link by which people have asked.
    pub gathering: Option<GatheringId>,
}

/// A draft, and what only its creator has.
#[derive(Debug)]
pub struct Drafted {
    /// The draft.
    pub draft: Draft,
    /// For each person the invitation; nothing for who has an account.
    pub invitations: Vec<Option<Invitation>>,
}

fn normalised_ballot(ballot: &Ballot) -> Ballot {
    let options = ballot.options.iter().map(|option| normalised(option)).collect();
    Ballot { label: normalised(&ballot.label), options, ..ballot.clone() }
}

/// A key that stands in for one that is not made yet.
fn placeholder(place: usize) -> VerifyingKey {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&(place as u64).to_le_bytes());
    VerifyingKey(key)
}

/// Nobody has another one's name, nor one that looks the same.
fn check_names(guests: &[Guest]) -> Result<(), InvalidDraft> {
    let mut looks = BTreeSet::new();
    for Guest { name, .. } in guests {
        let (name, look) = (normalised(name), look(name));
        if look.is_empty() {
            let sentence = format!("the name “{name}” must have 1 to {LABEL_BYTES} bytes");
            return Err(InvalidDraft::new(Flaw::Names, sentence));
        }
        if !looks.insert(look) {
            let sentence = format!(
                "two people are called “{name}”, or what looks the same: give them different names"
            );
            return Err(InvalidDraft::new(Flaw::Names, sentence));
        }
    }
    Ok(())
}

impl Wish {
    /// What keeps it from being a draft for these people, and so many more whom nobody knows yet;
    /// `now` in seconds since 1970.
    ///
    /// # Errors
    /// [`InvalidDraft`] says what.
    pub fn check(&self, guests: &[Guest], more: usize, now: u64) -> Result<(), InvalidDraft> {
        check_names(guests)?;
        let seat = |(place, guest): (usize, &Guest)| match guest.account {
            Some(account) => Seat::Account(account),
            None => Seat::Invitation(placeholder(place)),
        };
        let known = guests.iter().enumerate().map(|known| (normalised(&known.1.name), seat(known)));
        let mut people: Vec<_> = known.map(|(name, seat)| Person { name, seat }).collect();
        let taken: BTreeSet<_> = people.iter().map(|person| person.name.clone()).collect();
        // More than may be asked are as wrong as many more than that.
        let more = more.min(PEOPLE.end() + 1);
        let names = (0_u32..).map(|number| number.to_string());
        for name in names.filter(|name| !taken.contains(name)).take(more) {
            let seat = Seat::Invitation(placeholder(people.len()));
            people.push(Person { name, seat });
        }
        let (creator, servers) = (placeholder(0), Digest([0; 32]));
        let around = Around { creator, servers, gathering: None };
        self.of(people, around, [0; 16], now).map(drop)
    }

    /// The draft for these people, with a fresh invitation for everybody who has no account; `now`
    /// in seconds since 1970.
    ///
    /// # Errors
    /// As [`Wish::check`].
    pub fn draft(
        &self,
        guests: &[Guest],
        around: Around,
        now: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Drafted, InvalidDraft> {
        check_names(guests)?;
        let mut seated = |Guest { name, account }: &Guest| {
            let (seat, invitation) = match account {
                Some(account) => (Seat::Account(*account), None),
                None => {
                    let mut invitation = Invitation([0; 32]);
                    rng.fill_bytes(&mut invitation.0);
                    (Seat::Invitation(invitation.key().verifying_key()), Some(invitation))
                }
            };
            (Person { name: normalised(name), seat }, invitation)
        };
        let (people, invitations) = guests.iter().map(&mut seated).unzip();
        let mut nonce = [0; 16];
        rng.fill_bytes(&mut nonce);
        Ok(Drafted { draft: self.of(people, around, nonce, now)?, invitations })
    }

    fn of(
        &self,
        people: Vec<Person>,
        Around { creator, servers, gathering }: Around,
        nonce: [u8; 16],
        now: u64,
    ) -> Result<Draft, InvalidDraft> {
        let usual = u16::try_from(usual_quorum(people.len())).unwrap_or(u16::MAX);
        let draft = Draft {
            question: normalised(&self.question),
            ballots: self.ballots.iter().map(normalised_ballot).collect(),
            people,
            accept_by: self.accept_by,
            all_needed: self.all_needed,
            deadline: self.deadline,
            quorum: self.quorum.unwrap_or(usual),
            threshold: self.threshold,
            creator,
            gathering,
            nonce,
            servers,
        };
        draft.validate_deadline(now)?;
        draft.validate()?;
        Ok(draft)
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::{Secret, Stream};
    use ostrakon_decide::Function;
    use ostrakon_decide::draft::MOST_SECONDS;

    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn wish() -> Wish {
        let (label, options) = (String::new(), texts(&["No", "Yes"]));
        Wish {
            question: " Shall we? ".into(),
            ballots: vec![Ballot { label, options, function: Function::Majority, assumed: 0 }],
            accept_by: NOW + 500,
            all_needed: false,
            quorum: None,
            deadline: NOW + 1_000,
            threshold: 2,
        }
    }

    fn invited(names: &[&str]) -> Vec<Guest> {
        names.iter().map(|name| Guest { name: (*name).to_owned(), account: None }).collect()
    }

    fn flaw(guests: &[Guest], more: usize, change: impl FnOnce(&mut Wish)) -> Option<Flaw> {
        let mut wish = wish();
        change(&mut wish);
        let found = wish.check(guests, more, NOW).err().map(|invalid| invalid.flaw);
        if more == 0 {
            let made = drafted(&wish, guests).err().map(|invalid| invalid.flaw);
            assert_eq!(made, found, "what is found before is found of the draft");
        }
        found
    }

    fn drafted(wish: &Wish, guests: &[Guest]) -> Result<Drafted, InvalidDraft> {
        let (creator, servers) = (VerifyingKey([1; 32]), Digest([2; 32]));
        let around = Around { creator, servers, gathering: Some(GatheringId([3; 16])) };
        let mut rng = Stream::of(Secret::new([4; 32]), "ostrakon/v1/client/test");
        wish.draft(guests, around, NOW, &mut rng)
    }

    #[test]
    fn a_draft_has_an_invitation_for_each_person_without_an_account() {
        let account = VerifyingKey([7; 32]);
        let mut guests = invited(&[" Zoe\u{308} ", "Ben"]);
        guests.push(Guest { name: "Clio".into(), account: Some(account) });
        let Drafted { draft, invitations } = drafted(&wish(), &guests).unwrap();
        let key = |place: usize| invitations[place].as_ref().unwrap().key().verifying_key();
        let seats = [Seat::Invitation(key(0)), Seat::Invitation(key(1)), Seat::Account(account)];
        assert_eq!(draft.people.iter().map(|person| person.seat).collect::<Vec<_>>(), seats);
        assert!(invitations[2].is_none() && key(0) != key(1));
        let names: Vec<_> = draft.people.iter().map(|person| person.name.as_str()).collect();
        assert_eq!(names, ["Zoë", "Ben", "Clio"], "texts are written in one way");
        assert_eq!((draft.question.as_str(), draft.quorum), ("Shall we?", 3));
        assert_eq!((draft.creator, draft.servers), (VerifyingKey([1; 32]), Digest([2; 32])));
        assert_eq!(draft.gathering, Some(GatheringId([3; 16])));
        assert_ne!(draft.nonce, [0; 16]);
    }

    #[test]
    fn what_keeps_a_wish_from_being_a_draft_is_found_before_anything_is_made() {
        let three = invited(&["Anna", "Ben", "Clio"]);
        let of = |change: fn(&mut Wish)| flaw(&three, 0, change);
        assert_eq!(of(|_| ()), None);
        assert_eq!(of(|wish| wish.question = " ".into()), Some(Flaw::Question));
        assert_eq!(of(|wish| wish.question = "q".repeat(501)), Some(Flaw::Long));
        assert_eq!(of(|wish| wish.ballots[0].options[0] = "o".repeat(101)), Some(Flaw::Long));
        assert_eq!(of(|wish| wish.ballots[0].options[0] = String::new()), Some(Flaw::Options));
        assert_eq!(
            of(|wish| wish.ballots[0].options = texts(&["Zoe\u{308}", "Zoë "])),
            Some(Flaw::Options)
        );
        assert_eq!(of(|wish| wish.ballots.clear()), Some(Flaw::Ballots));
        assert_eq!(of(|wish| wish.ballots.push(wish.ballots[0].clone())), Some(Flaw::Labels));
        assert_eq!(of(|wish| wish.ballots[0].assumed = 2), Some(Flaw::Assumed));
        let function = |wish: &mut Wish, function| wish.ballots[0].function = function;
        assert_eq!(of(|wish| wish.ballots[0].options.push("?".into())), Some(Flaw::Function));
        for (wrong, about) in [
            (Function::AtLeast { k: 0 }, Flaw::Enough),
            (Function::AtLeast { k: 4 }, Flaw::Enough),
            (Function::Custom { outputs: vec![1] }, Flaw::Table),
        ] {
            assert_eq!(flaw(&three, 0, |wish| function(wish, wrong)), Some(about));
        }
        assert_eq!(of(|wish| wish.quorum = Some(2)), Some(Flaw::Quorum));
        assert_eq!(of(|wish| wish.threshold = 1), Some(Flaw::Threshold));
        assert_eq!(of(|wish| wish.deadline = NOW), Some(Flaw::Deadline));
        assert_eq!(of(|wish| wish.deadline = NOW + MOST_SECONDS + 1), Some(Flaw::Deadline));
        assert_eq!(of(|wish| wish.accept_by = NOW), Some(Flaw::AcceptBy));
        assert_eq!(of(|wish| wish.accept_by = wish.deadline), Some(Flaw::AcceptBy));
        assert_eq!(flaw(&invited(&["Anna"]), 0, |_| ()), Some(Flaw::People));
    }

    #[test]
    fn nobody_has_another_ones_name_or_place_or_none() {
        let of = |names: &[&str]| flaw(&invited(names), 0, |_| ());
        for alike in [["Anna", "Anna"], ["Anna", "anna "], ["Anna", "An\u{200b}na"]] {
            assert_eq!(of(&alike), Some(Flaw::Names), "{alike:?}");
        }
        assert_eq!(of(&["Anna", "\u{3164}"]), Some(Flaw::Names), "nothing that is shown");
        assert_eq!(of(&["Anna", &"n".repeat(101)]), Some(Flaw::Long));
        let account = Some(VerifyingKey([7; 32]));
        let twice = ["Anna", "Ben"].map(|name| Guest { name: name.into(), account });
        assert_eq!(flaw(&twice, 0, |_| ()), Some(Flaw::Seats));
    }

    #[test]
    fn people_whom_nobody_knows_yet_count_whatever_the_others_are_called() {
        let known = invited(&["0", "2"]);
        assert_eq!(flaw(&known, 3, |wish| wish.quorum = Some(5)), None);
        assert_eq!(flaw(&known, 3, |wish| wish.quorum = Some(6)), Some(Flaw::Quorum));
        assert_eq!(flaw(&[], 0, |_| ()), Some(Flaw::People));
        assert_eq!(flaw(&[], 200, |_| ()), None);
        for more in [201, 70_000, usize::MAX] {
            assert_eq!(flaw(&known, more, |_| ()), Some(Flaw::People));
        }
        let six = |wish: &mut Wish| {
            wish.ballots[0].options = texts(&["a", "b", "c", "d", "e", "f"]);
            wish.ballots[0].function = Function::Tally;
        };
        assert_eq!(flaw(&known, 18, six), Some(Flaw::Large));
    }
}
