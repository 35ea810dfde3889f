//! What decides where the things of a list fall in a sketch (`docs/spec/statistics.md`, section 7):
//! each member shows a part of it, which is a function of its exchange key and of what is asked.
//! Nobody has a choice of it, and nobody knows it before every honest member has taken the
//! question.

use ostrakon_crypto::{Digest, Transcript};
use serde::{Deserialize, Serialize};

use crate::committee::ExchangeKey;
use crate::group;
use crate::items::Places;
use crate::report::{Scope, Sent};

/// One member's part: its point, and the proof that it is the member's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Part([u8; Part::BYTES]);

impl Part {
    const BYTES: usize = 96;

    /// The part of the member of this number, whose key this is.
    pub fn of(key: &ExchangeKey, member: usize, scope: &Scope<'_>) -> Self {
        let shown = super::show(key, &purpose(scope, member), &[base(scope)]);
        Self(shown.try_into().expect("one point and its proof"))
    }
}

impl From<Part> for String {
    fn from(part: Part) -> String {
        data_encoding::HEXLOWER.encode(&part.0)
    }
}

impl TryFrom<String> for Part {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = data_encoding::HEXLOWER.decode(text.as_bytes());
        let part = bytes.ok().and_then(|bytes| bytes.try_into().ok());
        part.map(Self).ok_or("a part is written as 192 hexadecimal digits in lower case")
    }
}

/// Parts of which this one is not its member's, or is lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("member {0} does not show its part of what lists are hashed under")]
pub struct BadPart(pub usize);

impl Places {
    /// Checks the parts, by member, and puts them together.
    ///
    /// # Errors
    /// [`BadPart`].
    pub fn of(scope: &Scope<'_>, parts: &[Part]) -> Result<Self, BadPart> {
        let mut transcript = Transcript::new("ostrakon/v1/stats/places");
        transcript.field(&scope.digest().0);
        for (i, public) in scope.committee.points().iter().enumerate() {
            let part = parts.get(i).ok_or(BadPart(i))?;
            let shown = super::verify(public, &purpose(scope, i), &[base(scope)], &part.0);
            // The point alone: there are many proofs of it.
            shown.ok_or(BadPart(i))?.iter().for_each(|point| {
                transcript.field(point);
            });
        }
        Ok(Self::new(transcript.finish()))
    }
}

/// The point whose multiples the members show. Nobody knows its logarithm.
fn base(scope: &Scope<'_>) -> Sent {
    let mut transcript = Transcript::new("ostrakon/v1/stats/base of the places");
    let point = group::point(&transcript.field(&scope.digest().0).finish());
    Sent { point, encoded: point.compress().0 }
}

fn purpose(scope: &Scope<'_>, member: usize) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/stats/part of the places");
    transcript.field(&scope.digest().0).number(member as u64);
    transcript.finish()
}
