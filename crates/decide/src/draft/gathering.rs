//! One join link for everybody: people ask by name, and the creator approves of each before there
//! is a draft (spec, steps 4a to 4d).
//!
//! Everything here is signed, so servers only pass it on. What they show is read by
//! [`Gathering::requests`], which takes nothing that does not hold.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_crypto::{Digest, Signature, SigningKey, VerifyingKey};
use ostrakon_party::{Invitation, wire};
use serde::{Deserialize, Serialize};

use super::{DecisionId, QUESTION_BYTES, says};
use crate::hex::hexadecimal;
use crate::operators::Operators;

/// Requests that wait for the creator at most.
pub const MOST_WAITING: usize = 300;
/// Requests that the creator can have refused at most; then it takes another link.
pub const MOST_REFUSED: usize = 1_000;
/// The longest time for which people can ask, in seconds from now.
pub const LONGEST: u64 = 60 * 24 * 3600;
/// Longest name in a request, in bytes of UTF-8: beside it there is room for digits, where several
/// give the same one.
pub const NAME_BYTES: usize = 75;
/// Bytes of anything here in its binary form at most.
pub const BYTES: usize = 60_000;

hexadecimal! {
    /// A gathering's name: the first half of its digest.
    GatheringId, 16
}

/// What a join link is for. It never changes; its digest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gathering {
    /// What will be asked.
    pub question: String,
    /// Who approves, and signs the decision that comes of it.
    pub creator: VerifyingKey,
    /// The public half of the link's key. Only who has the link can ask.
    pub link: VerifyingKey,
    /// Until when people can ask, in seconds since 1970.
    pub until: u64,
    /// Random; makes equal gatherings different.
    pub nonce: [u8; 16],
    /// The digest of the servers.
    pub servers: Digest,
}

/// A gathering with its creator's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedGathering {
    /// The gathering.
    pub gathering: Gathering,
    /// By the creator, on its digest.
    pub signature: Signature,
}

/// Somebody who has the link asks to take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The gathering.
    pub gathering: GatheringId,
    /// 1 to [`NAME_BYTES`] bytes. Others may give the same one.
    pub name: String,
    /// The account under which the device takes part.
    pub account: VerifyingKey,
    /// The device's clock, in seconds since 1970; shown.
    pub time: u64,
    /// By the link's key, on [`Request::digest`].
    pub invited: Signature,
    /// By the account, on [`Request::digest`].
    pub signature: Signature,
}

/// What the creator says of the requests. A later one replaces an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    /// The gathering.
    pub gathering: GatheringId,
    /// Counts up.
    pub number: u32,
    /// Whom the creator takes in.
    pub admitted: BTreeSet<VerifyingKey>,
    /// Whom it does not.
    pub refused: BTreeSet<VerifyingKey>,
    /// The decision that has come of it: nobody can ask any more.
    pub decision: Option<DecisionId>,
}

/// A word with the creator's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedWord {
    /// The word.
    pub word: Word,
    /// By the creator, on the word's digest.
    pub signature: Signature,
}

/// A join link, a request by it or an answer that does not hold; the sentence says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidGathering(pub String);

fn complain<T>(sentence: impl Into<String>) -> Result<T, InvalidGathering> {
    Err(InvalidGathering(sentence.into()))
}

fn digest_of(operators: &Operators, context: &'static str, value: &impl Serialize) -> Digest {
    operators.transcript(context).field(&wire::encode(value)).finish()
}

/// Reads what was signed; nothing in it is verified by that.
///
/// # Errors
/// [`InvalidGathering`] if it is longer than [`BYTES`] or not the canonical encoding.
pub fn decode<T: Serialize + for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, InvalidGathering> {
    let read = Some(bytes).filter(|bytes| bytes.len() <= BYTES);
    read.and_then(|bytes| wire::decode(bytes).ok())
        .ok_or_else(|| InvalidGathering("this is not what a join link is made of".into()))
}

impl Gathering {
    /// Its digest.
    pub fn digest(&self, operators: &Operators) -> Digest {
        digest_of(operators, "ostrakon/v1/decide/gathering", self)
    }

    /// Its name.
    pub fn id(&self, operators: &Operators) -> GatheringId {
        let digest = self.digest(operators).0;
        GatheringId(digest[..16].try_into().expect("half of 32 bytes"))
    }

    /// Signs it.
    pub fn sign(self, operators: &Operators, creator: &SigningKey) -> SignedGathering {
        let signature = creator.sign(&self.digest(operators));
        SignedGathering { gathering: self, signature }
    }

    /// Those of the requests that hold, the earliest first, one for each account. What other
    /// people, or servers, have put among them is left out, and so is what was asked twice.
    pub fn requests<'a>(
        &self,
        operators: &Operators,
        shown: impl IntoIterator<Item = &'a [u8]>,
    ) -> Vec<Request> {
        let mut found: BTreeMap<VerifyingKey, Request> = BTreeMap::new();
        for bytes in shown {
            let Ok(request) = decode::<Request>(bytes) else { continue };
            if found.get(&request.account).is_some_and(|first| first.order() <= request.order())
                || self.check_request(operators, &request).is_err()
            {
                continue;
            }
            found.insert(request.account, request);
        }
        let mut all: Vec<_> = found.into_values().collect();
        all.sort_by(|a, b| a.order().cmp(&b.order()));
        all
    }

    /// Whether a request is for this gathering, by somebody who has the link.
    ///
    /// # Errors
    /// [`InvalidGathering`] says what does not hold.
    pub fn check_request(
        &self,
        operators: &Operators,
        request: &Request,
    ) -> Result<(), InvalidGathering> {
        if request.gathering != self.id(operators) {
            return complain("the request is for another join link");
        }
        if !says(&request.name, NAME_BYTES) {
            return complain(format!("a name must have 1 to {NAME_BYTES} bytes"));
        }
        if request.account == self.creator {
            return complain("who made the join link takes part without it");
        }
        let digest = request.digest(operators);
        if !self.link.verifies(&digest, &request.invited) {
            return complain("the join link is incomplete: copy the whole link");
        }
        if !request.account.verifies(&digest, &request.signature) {
            return complain("the request is not signed by the account that it names");
        }
        Ok(())
    }

    /// Whether a word is the creator's on this gathering.
    ///
    /// # Errors
    /// [`InvalidGathering`] says what does not hold.
    pub fn check_word(
        &self,
        operators: &Operators,
        signed: &SignedWord,
    ) -> Result<(), InvalidGathering> {
        let word = &signed.word;
        if word.gathering != self.id(operators) {
            return complain("the answer is for another join link");
        }
        if word.refused.len() > MOST_REFUSED {
            return complain(format!("at most {MOST_REFUSED} requests can be refused"));
        }
        let digest = digest_of(operators, WORD, word);
        if !self.creator.verifies(&digest, &signed.signature) {
            return complain("only who made the join link answers requests");
        }
        Ok(())
    }
}

const WORD: &str = "ostrakon/v1/decide/gathering, word";

impl SignedGathering {
    /// Checks everything but the time.
    ///
    /// # Errors
    /// [`InvalidGathering`] says what does not hold.
    pub fn verify(&self, operators: &Operators) -> Result<(), InvalidGathering> {
        let gathering = &self.gathering;
        if gathering.servers != operators.digest {
            return complain("the join link is for other servers");
        }
        if !says(&gathering.question, QUESTION_BYTES) {
            return complain(format!("the question must have 1 to {QUESTION_BYTES} bytes"));
        }
        if !gathering.creator.verifies(&gathering.digest(operators), &self.signature) {
            return complain("the join link is not signed by its creator");
        }
        Ok(())
    }

    /// Whether people can ask at a time, in seconds since 1970, and not for too long from then.
    ///
    /// # Errors
    /// [`InvalidGathering`] says which of the two.
    pub fn check_time(&self, now: u64) -> Result<(), InvalidGathering> {
        let until = self.gathering.until;
        if until <= now {
            return complain("the time for requests by this join link is over");
        }
        if until - now > LONGEST {
            return complain("a join link lasts for at most 60 days");
        }
        Ok(())
    }
}

impl Word {
    /// Signs it.
    pub fn sign(self, operators: &Operators, creator: &SigningKey) -> SignedWord {
        let signature = creator.sign(&digest_of(operators, WORD, &self));
        SignedWord { word: self, signature }
    }
}

impl Request {
    /// A request of the owner of `account`, who has the link's secret.
    pub fn new(
        operators: &Operators,
        (gathering, link): (GatheringId, &Invitation),
        account: &SigningKey,
        name: &str,
        time: u64,
    ) -> Self {
        let none = Signature([0; 64]);
        let (name, key) = (name.to_owned(), account.verifying_key());
        let mut request =
            Self { gathering, name, account: key, time, invited: none, signature: none };
        let digest = request.digest(operators);
        request.invited = link.key().sign(&digest);
        request.signature = account.sign(&digest);
        request
    }

    /// What is signed.
    pub fn digest(&self, operators: &Operators) -> Digest {
        let said = (self.gathering, &self.name, self.account, self.time);
        digest_of(operators, "ostrakon/v1/decide/gathering, request", &said)
    }

    /// The digits by which the creator and whoever asks see that they mean the same device.
    pub fn digits(&self, operators: &Operators) -> String {
        digits(operators, &self.gathering, &self.account)
    }

    fn order(&self) -> (u64, &str, &VerifyingKey) {
        (self.time, &self.name, &self.account)
    }
}

/// Sixteen decimal digits, in fours: whoever wants a key that has the same ones must try some 2^53.
pub fn digits(operators: &Operators, id: &GatheringId, account: &VerifyingKey) -> String {
    let digest = digest_of(operators, "ostrakon/v1/decide/gathering, digits", &(id, account)).0;
    let number = u64::from_be_bytes(digest[..8].try_into().expect("eight bytes"));
    let all = format!("{:016}", number % 10_u64.pow(16));
    [&all[..4], &all[4..8], &all[8..12], &all[12..]].join(" ")
}

/// What the creator signs to be shown the requests: only it sees the names before there is a
/// decision. `time` in seconds since 1970.
pub fn reading_digest(operators: &Operators, id: &GatheringId, time: u64) -> Digest {
    digest_of(operators, "ostrakon/v1/decide/gathering, reading", &(id, time))
}
