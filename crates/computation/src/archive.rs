//! A result with everything that shows that it is one (C11).

use ostrakon_crypto::{Digest, Signature, Transcript};
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use crate::committee::{Committee, NotACommittee};
use crate::draft::{BadDraft, ComputationId, Parameters, SignedDraft};
use crate::seal::Seal;
use crate::statement::{Said, Spent, Statement};

/// The form of archives that this program writes and reads.
const FORMAT: u32 = 1;

/// How a computation has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// Inputs were missing, so nothing was computed.
    TooFew {
        /// How many more the minimum needs.
        missing: u32,
    },
    /// What came out, as the job writes it.
    Reached(Parameters),
}

/// What is published of a computation when it is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// The form.
    pub format: u32,
    /// Who has computed.
    pub committee: Committee,
    /// What.
    pub draft: SignedDraft,
    /// On which inputs.
    pub seal: Seal,
    /// What came out.
    pub conclusion: Conclusion,
    /// Each member's signature on the seal, in order, with what it says has been spent.
    pub sealed: Vec<SealedBy>,
    /// Each member's signature on the result, in order.
    pub outcomes: Vec<Signature>,
}

/// A member's signature on a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedBy {
    /// What answers have told of those in the seal; the member's own account, which it has signed.
    pub spent: Option<Spent>,
    /// The signature.
    pub signature: Signature,
}

/// Why an archive proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// Another program wrote it.
    #[error("the archive is of another version ({0}); this program reads version {FORMAT}")]
    Format(u32),
    /// The committee is not sound.
    #[error(transparent)]
    Committee(#[from] NotACommittee),
    /// The draft is not sound.
    #[error(transparent)]
    Draft(#[from] BadDraft),
    /// It is not what the link names.
    #[error("this is the result of another computation, or of another committee, than the link's")]
    Other,
    /// The list.
    #[error("the list of inputs holds one that no contributor has signed, or is out of order")]
    Seal,
    /// A signature.
    #[error("{0} has not signed this; the archive was changed after it was written")]
    Signature(String),
}

impl Conclusion {
    /// What members sign of it.
    pub fn digest(&self, computation: &ComputationId) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/committee/result");
        transcript.field(&computation.0.0).bulk_field(&wire::encode(self));
        transcript.finish()
    }
}

impl Archive {
    /// An archive of what the members have signed.
    pub fn new(
        committee: Committee,
        draft: SignedDraft,
        seal: Seal,
        conclusion: Conclusion,
        (sealed, outcomes): (Vec<SealedBy>, Vec<Signature>),
    ) -> Self {
        Self { format: FORMAT, committee, draft, seal, conclusion, sealed, outcomes }
    }

    /// Which computation's it is.
    pub fn computation(&self) -> ComputationId {
        self.draft.draft.id()
    }

    /// Whether all members have signed this result of this computation on these inputs. Whoever has
    /// a link asks besides whether it is the link's: [`Archive::verify_as`].
    ///
    /// # Errors
    /// [`Unverified`].
    pub fn verify(&self) -> Result<(), Unverified> {
        if self.format != FORMAT {
            return Err(Unverified::Format(self.format));
        }
        self.committee.validate()?;
        self.draft.verify(&self.committee.digest())?;
        let computation = self.computation();
        if !self.seal.is_founded(&computation, &self.draft.draft) {
            return Err(Unverified::Seal);
        }
        let seal = self.seal.digest(&computation);
        let result = self.conclusion.digest(&computation);
        if !self.fits() {
            return Err(Unverified::Seal);
        }
        let sealed = self.sealed.iter();
        let sealed = sealed.map(|by| (Said::Sealed { seal, spent: by.spent }, by.signature));
        self.signed_by_all(&sealed.collect::<Vec<_>>())?;
        let outcomes = self.outcomes.iter();
        let outcomes = outcomes.map(|signature| (Said::Outcome { seal, result }, *signature));
        self.signed_by_all(&outcomes.collect::<Vec<_>>())
    }

    /// What answers have told of those in the seal: the most that any member states, and the least
    /// that one allows. None if no member counts.
    pub fn spent(&self) -> Option<Spent> {
        let stated = self.sealed.iter().filter_map(|by| by.spent);
        stated.reduce(|one, other| Spent {
            // Who knows of an exact answer knows more.
            most: one.most.zip(other.most).map(|(one, other)| one.max(other)),
            budget: one.budget.into_iter().chain(other.budget).min(),
        })
    }

    /// As [`Archive::verify`], and of this computation by this committee.
    ///
    /// # Errors
    /// [`Unverified`].
    pub fn verify_as(
        &self,
        computation: &ComputationId,
        committee: &Digest,
    ) -> Result<(), Unverified> {
        if self.computation() != *computation || self.committee.digest() != *committee {
            return Err(Unverified::Other);
        }
        self.verify()
    }

    /// Whether the minimum was met if, and only if, something was computed.
    fn fits(&self) -> bool {
        match self.conclusion {
            Conclusion::TooFew { missing } => {
                missing > 0 && missing == self.seal.missing(&self.draft.draft)
            }
            Conclusion::Reached(_) => self.seal.missing(&self.draft.draft) == 0,
        }
    }

    /// Whether there is one statement of each member, in order, and it has signed it.
    fn signed_by_all(&self, statements: &[(Said, Signature)]) -> Result<(), Unverified> {
        let computation = self.computation();
        let members = &self.committee.members;
        for (i, member) in members.iter().enumerate() {
            let verifies = statements.get(i).cloned().is_some_and(|(said, signature)| {
                Statement { computation, said, signature }.verifies(&member.key)
            });
            if !verifies {
                return Err(Unverified::Signature(member.name.clone()));
            }
        }
        let as_many = statements.len() == members.len();
        if as_many { Ok(()) } else { Err(Unverified::Signature("nobody".to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::committee::tests::{committee, key};
    use crate::draft::tests::draft;
    use crate::input::Input;

    fn archive() -> Archive {
        let draft = draft().sign(&key(50));
        let id = draft.draft.id();
        let mut inputs: Vec<_> =
            (1..4).map(|seed| Input::sign(&id, vec![seed], &key(seed)).entry).collect();
        inputs.sort();
        let seal = Seal { inputs, conflicts: vec![], unsound: vec![] };
        let digest = seal.digest(&id);
        let conclusion = Conclusion::Reached(Parameters(b"42".to_vec()));
        let of = conclusion.digest(&id);
        let sign = |said: &Said| {
            let by = |m: u8| Statement::sign(id, said.clone(), &key(100 + m)).signature;
            (0..3u8).map(by).collect::<Vec<_>>()
        };
        let spent =
            |m: u64| Some(Spent { most: Some(500 + m), budget: (m < 2).then_some(2000 + m) });
        let sealed = (0..3u8).map(|m| {
            let spent = spent(m.into());
            let said = Said::Sealed { seal: digest, spent };
            let signature = Statement::sign(id, said, &key(100 + m)).signature;
            SealedBy { spent, signature }
        });
        let sealed = sealed.collect();
        let outcomes = sign(&Said::Outcome { seal: digest, result: of });
        Archive::new(committee(3), draft, seal, conclusion, (sealed, outcomes))
    }

    type Change = fn(&mut Archive);

    #[test]
    fn an_archive_that_was_changed_anywhere_proves_nothing() {
        let good = archive();
        let (id, by) = (good.computation(), good.committee.digest());
        assert_eq!(good.verify_as(&id, &by), Ok(()));
        assert_eq!(good.verify_as(&id, &Digest([0; 32])), Err(Unverified::Other));
        assert_eq!(good.spent(), Some(Spent { most: Some(502), budget: Some(2000) }));
        let changes: [(&str, Change); 10] = [
            ("the result", |a| a.conclusion = Conclusion::Reached(Parameters(b"43".to_vec()))),
            ("too few", |a| a.conclusion = Conclusion::TooFew { missing: 1 }),
            ("an input left out", |a| a.seal.inputs.truncate(2)),
            ("the order of inputs", |a| a.seal.inputs.reverse()),
            ("a signature on the result", |a| a.outcomes[2] = a.outcomes[1]),
            ("a signature on the seal", |a| a.sealed[0].signature.0[9] ^= 1),
            ("what has been spent", |a| a.sealed[2].spent = a.sealed[1].spent),
            ("fewer signatures", |a| a.outcomes.truncate(2)),
            ("more signatures", |a| a.outcomes.push(a.outcomes[0])),
            ("the question", |a| a.draft.draft.title.push('?')),
        ];
        for (what, change) in changes {
            let mut bad = archive();
            change(&mut bad);
            assert!(bad.verify().is_err(), "{what}");
        }
        let newer = Archive { format: 2, ..archive() };
        assert_eq!(newer.verify(), Err(Unverified::Format(2)));
    }
}
