//! What a run is about, and as one member sees it.

use ostrakon_crypto::{Digest, Transcript};
use ostrakon_party::{Party, SessionId};

use super::fault::Failed;
use crate::committee::ExchangeKey;
use crate::report::{Report, Scope};
use crate::seal;

/// What the servers have agreed to compute on.
#[derive(Clone, Copy, Debug)]
pub struct Sealed<'a> {
    /// What the reports are about.
    pub scope: Scope<'a>,
    /// Names this use of the servers' session; never used twice in it.
    pub run: u64,
    /// Whether it is the first attempt at this answer: of all others it is not.
    pub first: bool,
    /// The reports of the seal, in its order.
    pub reports: &'a [Report],
}

/// A lie that a member's own code goes on from.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cheat {
    Nothing,
    /// Put in another share of the second report.
    Difference,
    /// Open another share of the second report's ŷ.
    Element,
    /// Put in another share of the first report's lowest bit, which this coefficient checks.
    Unseen(u64),
}

#[cfg(test)]
impl Cheat {
    pub(super) fn twist(self, report: usize, mut coefficients: Vec<u64>) -> Vec<u64> {
        if self == Cheat::Element && report == 1 {
            coefficients[0] ^= 1 << 40;
        }
        coefficients
    }
}

/// A run as one member sees it, before anything is sent.
pub(crate) struct Plan<'a> {
    pub(crate) party: Party,
    pub(crate) exchange: &'a ExchangeKey,
    pub(crate) scope: Scope<'a>,
    pub(crate) reports: &'a [Report],
    pub(crate) seal: Digest,
    pub(crate) run: u64,
    /// What the member lies about.
    #[cfg(test)]
    pub(crate) cheat: Cheat,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(
        party: &Party,
        exchange: &'a ExchangeKey,
        sealed: &Sealed<'a>,
    ) -> Result<Self, Failed> {
        let Sealed { scope, run, reports, .. } = *sealed;
        scope.question.validate()?;
        let members = scope.committee.members();
        let same = members.iter().map(|member| member.key).eq(party.roster.keys.iter().copied());
        if !same || scope.committee.points().get(party.id.index()) != Some(exchange.public()) {
            return Err(Failed::Roster);
        }
        let digest = scope.digest();
        let ascend = reports.windows(2).all(|pair| pair[0].reporter() < pair[1].reporter());
        if !ascend || reports.iter().any(|report| report.scope() != digest) {
            return Err(Failed::Reports);
        }
        let seal = seal::list(reports);
        // Everything that is signed is about this run of this question on these reports: servers
        // who have agreed on other ones do not hear each other.
        let mut transcript = Transcript::new("ostrakon/v1/stats/session");
        transcript.field(&party.roster.session.0.0).number(run).field(&seal.0).field(&digest.0);
        let party = party.in_session(SessionId(transcript.finish()));
        let plan = Self {
            party,
            exchange,
            scope,
            reports,
            seal,
            run,
            #[cfg(test)]
            cheat: Cheat::Nothing,
        };
        plan.enough(reports.len())?;
        Ok(plan)
    }

    /// Whether so many reports are enough.
    pub(crate) fn enough(&self, count: usize) -> Result<(), Failed> {
        let minimum = u64::from(self.scope.question.minimum.max(1));
        match minimum.saturating_sub(count as u64) {
            0 => Ok(()),
            missing => Err(Failed::TooFew { missing }),
        }
    }

    /// Names the run.
    pub(crate) fn name(&self) -> Digest {
        self.party.roster.session.0
    }

    pub(crate) fn parties(&self) -> usize {
        self.party.roster.keys.len()
    }
}
