//! The one list that is computed on: a function of what all members hold (C7).

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_crypto::{Digest, Transcript, VerifyingKey};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::committee::MEMBERS;
use crate::draft::{ComputationId, Draft};
use crate::input::Entry;
use crate::statement::at_most_two;

/// A key that has signed two inputs: neither counts, and this shows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// One of them.
    pub one: Entry,
    /// Another one.
    pub other: Entry,
}

/// The list that counts. Both parts are in ascending order of keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// Inputs that are in.
    pub inputs: Vec<Entry>,
    /// Keys that are out since they have signed two inputs.
    pub conflicts: Vec<Conflict>,
    /// Inputs that are out since the job finds them unsound, as everybody can.
    pub unsound: Vec<Entry>,
}

/// Why there is no seal yet, or never will be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomplete {
    /// A member's holdings are not a list that an honest one would sign.
    #[error("member {0} lists inputs that nobody has signed")]
    Unfounded(usize),
    /// The bodies of these are lacking, each listed by the members of these numbers.
    #[error("{} inputs are still on their way", .0.len())]
    Lacking(Vec<(Vec<usize>, Entry)>),
}

/// Members' lists, by digest, of which every signature was found good, so that none is verified
/// again at the next look. A member has one list in a computation, so there are no more of them
/// than members.
#[derive(Clone, Debug, Default)]
pub struct Founded {
    lists: BTreeSet<Digest>,
    verified: u64,
}

impl Founded {
    /// How many signatures were verified.
    pub fn verified(&self) -> u64 {
        self.verified
    }

    /// Whether a list has no key more than twice, and every entry of it is signed by a contributor
    /// of the draft. Signatures that are among the `good` ones were verified in another list.
    fn holds<'a>(
        &mut self,
        (computation, draft): (&ComputationId, &Draft),
        list: &'a [Entry],
        good: &mut BTreeSet<&'a Entry>,
    ) -> bool {
        let mut transcript = Transcript::new("ostrakon/v1/committee/founded");
        transcript.field(&computation.0.0).bulk_field(&wire::encode(&list));
        let digest = transcript.finish();
        if !self.lists.contains(&digest) {
            let mut founded = |entry: &&'a Entry| {
                let known = good.contains(entry);
                self.verified += u64::from(!known);
                known || entry.verifies(computation, draft)
            };
            if !at_most_two(list) || !list.iter().all(|entry| founded(&entry)) {
                return false;
            }
            if self.lists.len() < *MEMBERS.end() {
                self.lists.insert(digest);
            }
        }
        good.extend(list);
        true
    }
}

/// Who lists an input, and its entry.
type Listed = (Vec<usize>, Entry);

impl Seal {
    /// The seal of what all members hold, by member. `founded` remembers which of these lists were
    /// verified; `sound` says what the job finds of a body that is at hand, and nothing of one that
    /// is not.
    ///
    /// # Errors
    /// [`Incomplete`].
    pub fn of(
        computation: &ComputationId,
        draft: &Draft,
        holdings: &[&[Entry]],
        founded: &mut Founded,
        sound: impl Fn(&Entry) -> Option<bool>,
    ) -> Result<Self, Incomplete> {
        let mut by_key: BTreeMap<VerifyingKey, BTreeMap<Digest, Listed>> = BTreeMap::new();
        let mut good: BTreeSet<&Entry> = BTreeSet::new();
        for (member, entries) in holdings.iter().enumerate() {
            if !founded.holds((computation, draft), entries, &mut good) {
                return Err(Incomplete::Unfounded(member));
            }
            for entry in *entries {
                let of_key = by_key.entry(entry.contributor).or_default();
                let listed = of_key.entry(entry.body).or_insert((Vec::new(), *entry));
                listed.0.push(member);
                // One body may bear several valid signatures; all members take the least.
                listed.1 = listed.1.min(*entry);
            }
        }
        let (mut inputs, mut conflicts, mut unsound) = (Vec::new(), Vec::new(), Vec::new());
        let mut lacking = Vec::new();
        for bodies in by_key.values() {
            let mut bodies = bodies.values();
            let Some((members, one)) = bodies.next() else { continue };
            if let Some((_, other)) = bodies.next() {
                conflicts.push(Conflict { one: *one, other: *other });
                continue;
            }
            match sound(one) {
                Some(true) => inputs.push(*one),
                Some(false) => unsound.push(*one),
                None => lacking.push((members.clone(), *one)),
            }
        }
        if lacking.is_empty() {
            Ok(Self { inputs, conflicts, unsound })
        } else {
            Err(Incomplete::Lacking(lacking))
        }
    }

    /// What every member signs.
    pub fn digest(&self, computation: &ComputationId) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/committee/seal");
        transcript.field(&computation.0.0).bulk_field(&wire::encode(self));
        transcript.finish()
    }

    /// Whether every entry in it is signed by a contributor of the draft, each contributor stands
    /// at one place, in order, and each conflict is one: two inputs of one key.
    #[must_use]
    pub fn is_founded(&self, computation: &ComputationId, draft: &Draft) -> bool {
        let ascend = |keys: &[VerifyingKey]| keys.windows(2).all(|pair| pair[0] < pair[1]);
        let keys = |entries: &[Entry]| entries.iter().map(|e| e.contributor).collect::<Vec<_>>();
        let twice = self.conflicts.iter().map(|conflict| conflict.one.contributor).collect();
        let parts = [keys(&self.inputs), keys(&self.unsound), twice];
        let once = parts.iter().flatten().collect::<BTreeSet<_>>().len()
            == parts.iter().map(Vec::len).sum::<usize>();
        let contradicts = |Conflict { one, other }: &Conflict| {
            one.contributor == other.contributor && one.body != other.body
        };
        let conflicts = self.conflicts.iter().flat_map(|c| [&c.one, &c.other]);
        let mut all = self.inputs.iter().chain(&self.unsound).chain(conflicts);
        once && parts.iter().all(|part| ascend(part))
            && self.conflicts.iter().all(contradicts)
            && all.all(|entry| entry.verifies(computation, draft))
    }

    /// How many more inputs the draft's minimum needs.
    pub fn missing(&self, draft: &Draft) -> u32 {
        draft.minimum.saturating_sub(u32::try_from(self.inputs.len()).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::committee::tests::key;
    use crate::draft::tests::draft;
    use crate::input::{EntrySignature, Input};

    fn entry(seed: u8, body: &[u8]) -> Entry {
        Input::sign(&draft().id(), body.to_vec(), &key(seed)).entry
    }

    fn seal(holdings: &[Vec<Entry>]) -> Result<Seal, Incomplete> {
        let holdings: Vec<&[Entry]> = holdings.iter().map(Vec::as_slice).collect();
        Seal::of(&draft().id(), &draft(), &holdings, &mut Founded::default(), |_| Some(true))
    }

    #[test]
    fn each_signature_is_verified_once_whatever_is_still_lacking() {
        let entries: Vec<Entry> = (1..5).map(|seed| entry(seed, b"x")).collect();
        let lists = [vec![entries[0], entries[1]], vec![entries[1], entries[2]], vec![entries[0]]];
        let lists = lists.map(|mut list| {
            list.sort();
            list
        });
        let mut founded = Founded::default();
        let mut look = |lists: &[Vec<Entry>], sound| {
            let holdings: Vec<&[Entry]> = lists.iter().map(Vec::as_slice).collect();
            let sealed = Seal::of(&draft().id(), &draft(), &holdings, &mut founded, |_| sound);
            (sealed, founded.verified())
        };
        for _ in 0..3 {
            let (sealed, verified) = look(&lists, None);
            assert!(matches!(sealed, Err(Incomplete::Lacking(_))), "{sealed:?}");
            assert_eq!(verified, 3, "three signatures, of which two are in two lists each");
        }
        let (sealed, verified) = look(&lists, Some(true));
        assert_eq!((sealed.unwrap().inputs.len(), verified), (3, 3));
        // Attack: to what was verified something is added that nobody has signed.
        let mut added = lists;
        added[1].push(Entry { body: Digest([3; 32]), ..entries[3] });
        added[1].sort();
        assert_eq!(look(&added, Some(true)), (Err(Incomplete::Unfounded(1)), 4));
        assert_eq!(look(&added, Some(true)).0, Err(Incomplete::Unfounded(1)), "nor later");
        assert_eq!(look(&added[..1], Some(true)).0.unwrap().inputs.len(), 2);
    }

    #[test]
    fn what_any_member_holds_counts_whatever_the_order_of_members() {
        let entries: Vec<Entry> = (1..5).map(|seed| entry(seed, b"x")).collect();
        let lists = [vec![entries[0]], vec![entries[1], entries[2]], vec![entries[3], entries[0]]];
        let sealed = seal(&lists).unwrap();
        let mut expected = entries;
        expected.sort();
        assert_eq!(sealed.inputs, expected);
        let reversed: Vec<Vec<Entry>> = lists.into_iter().rev().collect();
        assert_eq!(seal(&reversed), Ok(sealed.clone()));
        assert!(sealed.is_founded(&draft().id(), &draft()));
        assert_eq!(sealed.missing(&Draft { minimum: 5, ..draft() }), 1);
    }

    #[test]
    fn who_signs_two_inputs_is_out_with_both_shown() {
        let (one, other, good) = (entry(1, b"x"), entry(1, b"y"), entry(2, b"x"));
        let sealed = seal(&[vec![one, good], vec![other]]).unwrap();
        assert_eq!(sealed.inputs, [good]);
        assert_eq!(sealed.conflicts.len(), 1);
        assert_eq!(seal(&[vec![one, other, good]]).unwrap(), sealed, "both at one member");
    }

    /// Attack: members put honest people's inputs out, or count one twice, and show it as founded.
    #[test]
    fn a_seal_shows_of_each_conflict_that_it_is_one_and_of_each_key_one_place() {
        let (id, draft) = (draft().id(), draft());
        let founded = |inputs: &[Entry], conflicts: &[(Entry, Entry)], unsound: &[Entry]| {
            let conflicts =
                conflicts.iter().map(|(one, other)| Conflict { one: *one, other: *other });
            let (inputs, unsound) = (inputs.to_vec(), unsound.to_vec());
            Seal { inputs, conflicts: conflicts.collect(), unsound }.is_founded(&id, &draft)
        };
        let mut all = (1..5).map(|seed| (entry(seed, b"x"), entry(seed, b"y"))).collect::<Vec<_>>();
        all.sort();
        let [one, other, third, fourth] = all[..] else { panic!("four people") };
        assert!(founded(&[one.0], &[other, third], &[fourth.0]));
        assert!(!founded(&[one.0], &[(other.0, third.0)], &[]), "of two people");
        assert!(!founded(&[one.0], &[(other.0, other.0)], &[]), "of one input");
        assert!(!founded(&[one.0], &[third, other], &[]), "out of order");
        assert!(!founded(&[one.0], &[other, other], &[]), "twice");
        assert!(!founded(&[one.0, other.0], &[other], &[]), "in and out");
        assert!(!founded(&[one.0], &[], &[one.0]), "sound and unsound");
        assert!(!founded(&[one.0], &[other], &[other.1]), "out twice");
        assert!(!founded(&[], &[], &[other.0, one.0]), "unsound ones out of order");
    }

    #[test]
    fn unfounded_lists_name_their_member_and_lacking_bodies_who_lists_them() {
        let good = entry(2, b"x");
        let stranger = entry(66, b"x");
        assert_eq!(seal(&[vec![good], vec![stranger]]), Err(Incomplete::Unfounded(1)));
        let mut forged = entry(1, b"x");
        forged.signature = EntrySignature(good.signature.0);
        assert_eq!(seal(&[vec![], vec![good], vec![forged]]), Err(Incomplete::Unfounded(2)));
        let mut three = [b"x", b"y", b"z"].map(|body| entry(1, body)).to_vec();
        three.sort();
        assert_eq!(seal(&[three]), Err(Incomplete::Unfounded(0)), "more than evidence");
        let lists: [&[Entry]; 2] = [&[], &[good]];
        let seal_of = |lists: &[&[Entry]], sound| {
            Seal::of(&draft().id(), &draft(), lists, &mut Founded::default(), |_| sound)
        };
        let lacking = seal_of(&lists, None);
        assert_eq!(lacking, Err(Incomplete::Lacking(vec![(vec![1], good)])));
        let both = seal_of(&[&[good], &[], &[good]], None);
        assert_eq!(both, Err(Incomplete::Lacking(vec![(vec![0, 2], good)])), "whoever lists it");
        let unsound = seal_of(&lists, Some(false)).unwrap();
        assert_eq!((unsound.inputs.len(), unsound.unsound), (0, vec![good]));
    }
}
