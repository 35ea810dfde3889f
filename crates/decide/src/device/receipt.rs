//! What a person keeps to show that the answer was taken: two servers' signatures (spec, step 13).

use ostrakon_crypto::{Digest, Signature, SigningKey};
use ostrakon_party::PartyId;
use serde::{Deserialize, Serialize};

use crate::draft::DecisionId;
use crate::operators::Operators;
use crate::refused::Refused;

/// Servers that must have signed. Of two at most one is dishonest where one is.
pub const SIGNERS: usize = 2;

/// A server's word for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// The server.
    pub party: PartyId,
    /// On [`acknowledged`].
    pub signature: Signature,
}

/// Where in which chain a person's answers are, with servers' signatures. It does not say what they
/// are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The decision.
    pub decision: DecisionId,
    /// The digest of the servers.
    pub servers: Digest,
    /// The person's place in the draft.
    pub person: u16,
    /// The number of the record.
    pub number: u32,
    /// The digest of the record.
    pub digest: Digest,
    /// Of different servers, by party.
    pub signatures: Vec<Acknowledgement>,
}

/// What a server signs when a record stands in the chain that it has: decision, place and digest.
pub fn acknowledged(
    operators: &Operators,
    decision: &DecisionId,
    number: u32,
    digest: &Digest,
) -> Digest {
    let mut transcript = operators.transcript("ostrakon/v1/decide/receipt of a record");
    transcript.field(&decision.0).number(u64::from(number)).field(&digest.0).finish()
}

impl Acknowledgement {
    /// The word of the server with this identity.
    pub fn of(identity: &SigningKey, party: PartyId, digest: &Digest) -> Self {
        Self { party, signature: identity.sign(digest) }
    }
}

impl Receipt {
    fn acknowledged(&self, operators: &Operators) -> Digest {
        acknowledged(operators, &self.decision, self.number, &self.digest)
    }

    /// Adds a server's word.
    ///
    /// # Errors
    /// [`Refused::Receipt`] if it is not the server's on this record.
    pub fn add(&mut self, operators: &Operators, word: Acknowledgement) -> Result<(), Refused> {
        let key = operators.key(word.party);
        let digest = self.acknowledged(operators);
        if !key.is_some_and(|key| key.verifies(&digest, &word.signature)) {
            return Err(Refused::Receipt(format!("server {} has not signed it", word.party.0)));
        }
        self.signatures.retain(|other| other.party != word.party);
        self.signatures.push(word);
        self.signatures.sort_by_key(|word| word.party);
        Ok(())
    }

    /// Whether enough servers have signed.
    pub fn is_complete(&self) -> bool {
        self.signatures.len() >= SIGNERS
    }

    /// Checks what somebody shows as a receipt.
    ///
    /// # Errors
    /// [`Refused::Receipt`]: it proves nothing.
    pub fn verify(&self, operators: &Operators) -> Result<(), Refused> {
        if self.servers != operators.digest {
            return Err(Refused::Receipt("it names other servers".into()));
        }
        if !self.signatures.is_sorted_by(|a, b| a.party < b.party) {
            return Err(Refused::Receipt("a server has signed it twice".into()));
        }
        let mut checked = Self { signatures: Vec::new(), ..self.clone() };
        for word in &self.signatures {
            checked.add(operators, *word)?;
        }
        if checked.is_complete() {
            Ok(())
        } else {
            Err(Refused::Receipt(format!("{SIGNERS} servers must have signed it")))
        }
    }
}
