//! What the servers do (`docs/spec/statistics.md`, section 5).

pub(crate) mod fault;
pub(crate) mod intake;
pub(crate) mod marks;
pub(crate) mod plan;

use ostrakon_authbits::circuit::Circuit;
use ostrakon_authbits::cost::{self, Cost};
use ostrakon_authbits::params::MAX_TRIPLES;
use ostrakon_authbits::{BaseKeys, Journal, Segment, SegmentSpec, Shares, Ticket, prepare_with};
use ostrakon_computation::GENERATIONS;
use ostrakon_crypto::{Digest, Secret, Signature};
use ostrakon_party::{Instance, Party};

use self::fault::Failed;
use self::intake::{Excluded, Intake, Taken};
use self::plan::{Plan, Sealed};
use crate::answer::Answer;
use crate::circuits::{fits, random_bits};
use crate::committee::ExchangeKey;
use crate::question::Form;

/// Bits of statistical security of all preparations for an answer together.
const SECURITY: u32 = 40;
/// More bits of the first of them: it may use up a quarter of the whole.
const MORE_OF_FIRST: u32 = 2;
/// Sizes of buckets that are tried; the fewest leaky triples win.
const BUCKETS: std::ops::RangeInclusive<usize> = 3..=8;

/// What came out, alike at all servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The answers, in the order of the question's statistics.
    pub answers: Vec<Answer>,
    /// How many reports they are of.
    pub accepted: usize,
    /// The reports that do not count.
    pub excluded: Vec<Excluded>,
    /// Names the run, the seal, and which of its reports count ([`crate::verdict`]).
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
