//! What a third person can see to be wrong in a message, whatever the protocol computes.

use ostrakon_party::{PartyId, Received, Roster, SignedHeader};
use serde::{Deserialize, Serialize};

use crate::coin;
use crate::protocol::{self, Protocol};

/// A signed statement with its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What the sender signed.
    pub signed: SignedHeader,
    /// The body that the header's digest is of.
    pub body: Vec<u8>,
}

impl Statement {
    /// Whether the signature is the sender's and the body is the one that it signed.
    #[must_use]
    pub fn holds(&self, roster: &Roster) -> bool {
        let header = &self.signed.header;
        let body = header.length == self.body.len() as u64
            && header.digest == ostrakon_party::Header::digest_of(&self.body);
        body && roster.vouches(&self.signed)
    }
}

impl From<&Received> for Statement {
    fn from(received: &Received) -> Self {
        Self { signed: received.signed, body: received.body.to_vec() }
    }
}

/// A breach of rules that all protocols have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Offence {
    /// Two different statements under one tag.
    Equivocation(Box<[SignedHeader; 2]>),
    /// A message whose length, address or content its step forbids. The body is empty if length or
    /// address is the offence.
    Malformed(Box<Statement>),
    /// A commitment and what was said to open it, and does not.
    Opening {
        /// The commitment.
        commitment: Box<Statement>,
        /// The opening.
        opening: Box<Statement>,
    },
}

impl Offence {
    /// Who is proved, in a run, to have committed it.
    #[must_use]
    pub fn proven<P: Protocol>(&self, roster: &Roster, subject: &P) -> Option<PartyId> {
        match self {
            Offence::Equivocation(statements) => equivocated(roster, subject, statements),
            Offence::Malformed(statement) => malformed(roster, subject, statement),
            Offence::Opening { commitment, opening } => {
                opened_otherwise(roster, subject, commitment, opening, coin::opening_fails::<P>)
            }
        }
    }
}

fn of_run<P: Protocol>(roster: &Roster, subject: &P, signed: &SignedHeader) -> bool {
    signed.header.tag.instance == subject.instance() && roster.vouches(signed)
}

/// Who signed two contradictory statements of a run.
#[must_use]
pub fn equivocated<P: Protocol>(
    roster: &Roster,
    subject: &P,
    [a, b]: &[SignedHeader; 2],
) -> Option<PartyId> {
    let both = of_run(roster, subject, a) && of_run(roster, subject, b);
    (both && a.contradicts(b) && P::binds(&a.header.tag)).then_some(a.header.from)
}

/// Who signed a message of a run that its step forbids.
#[must_use]
pub fn malformed<P: Protocol>(
    roster: &Roster,
    subject: &P,
    statement: &Statement,
) -> Option<PartyId> {
    let header = &statement.signed.header;
    let wrong = !subject.length(header.tag.step).admits(header.length)
        || !P::addressed_rightly(header)
        || (statement.holds(roster)
            && !protocol::content_is_wellformed(
                subject,
                roster,
                &statement.signed,
                &statement.body,
            ));
    (of_run(roster, subject, &statement.signed) && wrong).then_some(header.from)
}

/// Who opened a commitment of a run to something else; `fails` compares the two.
#[must_use]
pub fn opened_otherwise<P: Protocol>(
    roster: &Roster,
    subject: &P,
    commitment: &Statement,
    opening: &Statement,
    fails: impl Fn(&Statement, &Statement) -> bool,
) -> Option<PartyId> {
    let genuine = [commitment, opening].into_iter().all(|statement| {
        let header = &statement.signed.header;
        statement.holds(roster) && subject.length(header.tag.step).admits(header.length)
    });
    let proven =
        genuine && of_run(roster, subject, &commitment.signed) && fails(commitment, opening);
    proven.then_some(opening.signed.header.from)
}
