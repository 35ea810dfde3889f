//! What the servers do (`docs/spec/statistics.md`, section 5).

use ostrakon_authbits::circuit::Circuit;
use ostrakon_authbits::cost::{self, Cost};
use ostrakon_authbits::params::MAX_TRIPLES;
use ostrakon_authbits::{
    Abort, BaseKeys, Journal, NoTicket, Refused, Segment, SegmentSpec, Shares, Ticket, Unprepared,
    prepare_with,
};
use ostrakon_computation::GENERATIONS;
use ostrakon_crypto::{Digest, Secret, Signature, Transcript};
use ostrakon_party::{Instance, Party, PartyId, SessionId};

use crate::answer::Answer;
use crate::circuits::{fits, random_bits};
use crate::committee::ExchangeKey;
use crate::intake::{Intake, Taken};
use crate::marks;
use crate::opening::Evidence;
use crate::question::Form;
use crate::report::{Report, Scope};
use crate::seal;

/// Bits of statistical security of all preparations for an answer together.
const SECURITY: u32 = 40;
/// More bits of the first of them: it may use up a quarter of the whole.
const MORE_OF_FIRST: u32 = 2;
/// Sizes of buckets that are tried; the fewest leaky triples win.
const BUCKETS: std::ops::RangeInclusive<usize> = 3..=8;

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

/// A report that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Its place in the seal.
    pub report: usize,
    /// Why, for anybody to check.
    pub evidence: Evidence,
}

/// What came out, alike at all servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The answers, in the order of the question's statistics.
    pub answers: Vec<Answer>,
    /// How many reports they are of.
    pub accepted: usize,
    /// The reports that do not count.
    pub excluded: Vec<Excluded>,
    /// Names the run, the seal, and which of its reports count ([`verdict`]).
    pub list: Digest,
    /// The members' signatures on it, by member.
    pub signatures: Vec<Signature>,
    /// The run. Whoever knows that all servers have answered retires it ([`Party::retire`]): until
    /// then another one may ask for its messages again.
    pub run: Instance,
    /// AND gates that were computed.
    pub ands: usize,
    /// Triples that were prepared for them.
    pub triples: usize,
    /// How many leaky triples each was made of.
    pub bucket: usize,
    /// What every server sends in the run, by formula.
    pub cost: Cost,
}

/// What a member has done that shows who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Shown a point of a report that is not its own key's. Its message convicts it.
    Opening,
    /// Put in something else than its share of a report.
    Difference,
    /// Shown other masks than it had made.
    Masks,
    /// Opened, or stated, something else in the check than it holds.
    Check,
    /// Signed another list of accepted reports.
    List,
}

/// Why there is no answer. Nothing about a report was revealed, but for a failure in
/// [`Failed::Computation`] after the answer was opened to others.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failed {
    /// Fewer reports than the question's minimum.
    #[error("{missing} more reports are needed")]
    TooFew {
        /// How many are missing.
        missing: u64,
    },
    /// The question cannot be asked.
    #[error(transparent)]
    Question(#[from] crate::BadQuestion),
    /// The servers of the session are not the committee, or the exchange key is not this member's.
    #[error("the committee of the reports is another one than the servers of this session")]
    Roster,
    /// The reports are of another scope, or not the seal's.
    #[error("the reports are not those of a seal of this question")]
    Reports,
    /// More gates than one segment has triples, or numbers that are too long.
    #[error("the question is too large for so many reports: it takes {0} AND gates")]
    TooLarge(usize),
    /// The segment's number has been used, or cannot be written down.
    #[error(transparent)]
    Ticket(#[from] NoTicket),
    /// Something cannot be written down that must be before it is said.
    #[error("the journal cannot be written: {0}")]
    Journal(String),
    /// Reports that an earlier run has used, which this is not. They can never be computed on
    /// again: their reporters make new ones, for the scope's next number.
    #[error(
        "{} reports were used by a run that broke off, and cannot be used again: ask for new ones",
        .reports.len()
    )]
    Spent {
        /// Their places in the seal.
        reports: Vec<usize>,
    },
    /// The preparation stopped.
    #[error(transparent)]
    Preparation(#[from] Unprepared),
    /// The computation stopped.
    #[error(transparent)]
    Computation(#[from] Refused),
    /// A member has lied, in this server's own sight.
    #[error("{member} has lied ({lie:?}): the run is void, and its reports are spent")]
    Member {
        /// Who.
        member: PartyId,
        /// What.
        lie: Lie,
    },
    /// One of two members has lied.
    #[error("{0} or {1} has lied: the run is void, and its reports are spent")]
    Dispute(PartyId, PartyId),
    /// The journal's keeper lets nothing be opened: the computation was cancelled.
    #[error("it was cancelled before anything was opened")]
    Withheld,
    /// What was opened is not the question's, which is a defect.
    #[error("what was opened cannot be read")]
    Contradiction,
}

impl From<Abort> for Failed {
    fn from(abort: Abort) -> Self {
        Failed::Computation(Refused::Aborted(abort))
    }
}

/// Bits of statistical security of one preparation by so many members. Who makes it break off has
/// seen whether its lie would have passed, so that every attempt at an answer is a try. The first,
/// which seldom has others after it, may fail with a quarter of 2^-40. Those that follow, of which
/// each member begins all but one of [`GENERATIONS`] at most, fail with the rest together.
pub fn security(members: usize, first: bool) -> u32 {
    if first {
        return SECURITY + MORE_OF_FIRST;
    }
    let later = (GENERATIONS as usize - 1).saturating_mul(members);
    // log₂ of later/(1 − 2^-2), rounded up.
    let parts = later.saturating_mul(1 << MORE_OF_FIRST).div_ceil((1 << MORE_OF_FIRST) - 1);
    SECURITY + parts.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1)
}

/// The cheapest segment for so many AND gates in the first attempt at an answer, or in a later one;
/// `None` if there is none.
pub fn segment_for(
    parties: usize,
    ands: usize,
    (number, first): (u64, bool),
) -> Option<SegmentSpec> {
    segment_of(parties, ands, number, security(parties, first))
}

pub(crate) fn segment_of(
    parties: usize,
    ands: usize,
    number: u64,
    security: u32,
) -> Option<SegmentSpec> {
    if ands > MAX_TRIPLES {
        return None;
    }
    let of = |triples, bucket| SegmentSpec { number, triples, bucket, security };
    // More triples make a small segment as sure as a large one, and may be cheaper than larger
    // buckets.
    let smallest = |bucket: usize| {
        let is_sure = |triples: &usize| of(*triples, bucket).validate(parties).is_ok();
        let (mut unsure, mut sure) = (ands.max(1) - 1, MAX_TRIPLES);
        if is_sure(&(unsure + 1)) {
            return Some(of(unsure + 1, bucket));
        }
        if !is_sure(&sure) {
            return None;
        }
        while sure - unsure > 1 {
            let middle = usize::midpoint(unsure, sure);
            if is_sure(&middle) { sure = middle } else { unsure = middle }
        }
        Some(of(sure, bucket))
    };
    BUCKETS.filter_map(smallest).min_by_key(SegmentSpec::leaky)
}

/// What all members sign before anything of an accepted report is shown: the run, the seal, and
/// the places in it of the reports that do not count.
pub fn verdict(session: &SessionId, seal: &Digest, excluded: &[usize]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/stats/verdict");
    transcript.field(&session.0.0).field(&seal.0).number(excluded.len() as u64);
    excluded.iter().for_each(|place| {
        transcript.number(*place as u64);
    });
    transcript.finish()
}

/// A run as one member sees it, before anything is sent.
pub(crate) struct Plan<'a> {
    pub(crate) party: Party,
    pub(crate) exchange: &'a ExchangeKey,
    pub(crate) scope: Scope<'a>,
    pub(crate) reports: &'a [Report],
    pub(crate) seal: Digest,
    run: u64,
    /// What the member lies about.
    #[cfg(test)]
    pub(crate) cheat: crate::intake::Cheat,
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
            cheat: crate::intake::Cheat::Nothing,
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

    #[cfg(test)]
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    pub(crate) fn parties(&self) -> usize {
        self.party.roster.keys.len()
    }
}

/// Steps 6 to 14. `randomness` is fresh and serves this computation alone; `journal` outlives the
/// process. A recorded party ([`Party::recorded`]) that was killed calls it again with the same
/// arguments, and goes on (section 6).
///
/// # Errors
/// [`Failed`].
pub async fn compute(
    party: &Party,
    exchange: &ExchangeKey,
    sealed: Sealed<'_>,
    journal: &mut (impl Journal + ?Sized),
    randomness: Secret,
) -> Result<Answered, Failed> {
    let plan = Plan::new(party, exchange, &sealed)?;
    let security = security(plan.parties(), sealed.first);
    carry_out(&plan, journal, randomness, (security, None)).await
}

/// [`compute`] with so many bits of security, and base transfers that something else has made.
pub(crate) async fn carry_out(
    plan: &Plan<'_>,
    journal: &mut (impl Journal + ?Sized),
    randomness: Secret,
    (security, base): (u32, Option<BaseKeys>),
) -> Result<Answered, Failed> {
    let question = plan.scope.question;
    let load = question.load().gates(plan.reports.len());
    if load > MAX_TRIPLES as u64 {
        return Err(Failed::TooLarge(usize::try_from(load).unwrap_or(usize::MAX)));
    }
    let circuit = question.circuit(plan.reports.len());
    let spec = segment_of(plan.parties(), circuit.ands(), plan.run, security)
        .filter(|_| fits(question, plan.reports.len()))
        .ok_or(Failed::TooLarge(circuit.ands()))?;
    // Step 6.
    let ticket = Ticket::take_for(journal, &plan.party, spec, &randomness)?;
    let mut segment = prepare_with(&plan.party, ticket, randomness, base).await?;
    let result = answer(plan, &mut segment, journal, circuit).await;
    // That there are too few is agreed, and a disk that is full may have room again, so that a
    // recorded run goes on. Whatever else ends the run here, others may not know.
    let goes_on = plan.party.is_recorded() && matches!(result, Err(Failed::Journal(_)));
    if !goes_on && !matches!(result, Ok(_) | Err(Failed::TooFew { .. })) {
        segment.stop();
    }
    result
}

async fn answer(
    plan: &Plan<'_>,
    segment: &mut Segment,
    journal: &mut (impl Journal + ?Sized),
    circuit: Circuit,
) -> Result<Answered, Failed> {
    let (question, parties, spec) = (plan.scope.question, plan.parties(), segment.spec());
    let intake =
        Intake { plan, segment: &mut *segment, journal: &mut *journal, cost: Cost::default() };
    // Steps 7 to 13.
    let taken = match question.form {
        Form::Items { .. } => intake.sketches().await?,
        Form::Number { .. } | Form::Grouped { .. } => intake.numbers().await?,
    };
    let Taken { mut inputs, accepted, excluded, list, signatures, mut cost } = taken;
    // Step 14.
    let random = random_bits(question);
    if random > 0 {
        inputs.append(&segment.random(random).await?);
        cost = cost + cost::random(parties, random);
    }
    let circuit = if excluded.is_empty() { circuit } else { question.circuit(accepted) };
    let opened = open(segment, journal, &circuit, &inputs).await?;
    let answers = question.read(accepted, &opened).ok_or(Failed::Contradiction)?;
    let cost = cost
        + cost::base_transfers(parties)
        + cost::preparation(parties, &spec)
        + cost::circuit(parties, &circuit)
        + cost::reveal(parties, opened.len());
    let (ands, run) = (circuit.ands(), spec.instance());
    let SegmentSpec { triples, bucket, .. } = spec;
    Ok(Answered { answers, accepted, excluded, list, signatures, run, ands, triples, bucket, cost })
}

async fn open(
    segment: &mut Segment,
    journal: &mut (impl Journal + ?Sized),
    circuit: &Circuit,
    inputs: &Shares,
) -> Result<Vec<bool>, Failed> {
    let outputs = segment.evaluate(circuit, inputs).await?;
    marks::open(journal)?;
    let opened = segment.reveal(&outputs).await?;
    Ok((0..opened.len()).map(|i| opened.get(i)).collect())
}
