//! Whom an offence proves guilty, judged by whoever knows the roster.

use ostrakon_party::{PartyId, Roster, SignedHeader};

use crate::commitment::opening_fails;
use crate::offence::{Offence, Statement};
use crate::protocol::{self, Protocol};

impl Offence {
    /// Who is proved, in a run, to have committed it.
    #[must_use]
    pub fn proven<P: Protocol>(&self, roster: &Roster, subject: &P) -> Option<PartyId> {
        match self {
            Offence::Equivocation(statements) => equivocated(roster, subject, statements),
            Offence::Malformed(statement) => malformed(roster, subject, statement),
            Offence::Opening { commitment, opening } => {
                opened_otherwise(roster, subject, commitment, opening, opening_fails::<P>)
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
