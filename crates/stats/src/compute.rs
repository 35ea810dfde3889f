//! What the servers do (`docs/spec/statistics.md`, steps 3 to 6).

use ostrakon_authbits::cost::{self, Cost};
use ostrakon_authbits::{
    Bits, Journal, NoTicket, Refused, SegmentSpec, Ticket, Unprepared, prepare,
};
use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_party::{Instance, Party, SessionId};

use crate::answer::Answer;
use crate::question::Question;
use crate::report::Report;

/// Bits of statistical security.
const SECURITY: u32 = 40;
/// Sizes of buckets that are tried; the fewest leaky triples win.
const BUCKETS: std::ops::RangeInclusive<usize> = 3..=8;

/// What the servers have agreed to compute on.
#[derive(Clone, Debug)]
pub struct Sealed<'a> {
    /// The question.
    pub question: &'a Question,
    /// Names this use of the servers' session; never used twice in it.
    pub number: u64,
    /// The digest of the list of reports that count, in the order of the shares.
    pub list: Digest,
    /// This server's shares.
    pub reports: &'a [Report],
}

/// What came out, alike at all servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The answers, in the order of the question's statistics.
    pub answers: Vec<Answer>,
    /// The run. Whoever knows that all servers have answered retires it ([`Party::retire`]): until
    /// then another one may ask for its messages again.
    pub run: Instance,
    /// AND gates that were computed.
    pub ands: usize,
    /// Triples that were prepared for them.
    pub triples: usize,
    /// What every server sends in the run, by formula.
    pub cost: Cost,
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
    /// More gates than one segment has triples.
    #[error("the question is too large for so many reports: it takes {0} AND gates")]
    TooLarge(usize),
    /// The segment's number has been used, or cannot be written down.
    #[error(transparent)]
    Ticket(#[from] NoTicket),
    /// The preparation stopped.
    #[error(transparent)]
    Preparation(#[from] Unprepared),
    /// The computation stopped.
    #[error(transparent)]
    Computation(#[from] Refused),
    /// The opened counts contradict each other: a share was changed, or this is a defect.
    #[error("the opened counts contradict each other")]
    Contradiction,
}

/// The cheapest segment for so many AND gates; `None` if there is none.
pub fn segment_for(parties: usize, ands: usize, number: u64) -> Option<SegmentSpec> {
    let smallest = |bucket: usize| {
        // A few more triples make a small segment as sure as a large one.
        let mut triples = ands.max(1);
        loop {
            let spec = SegmentSpec { number, triples, bucket, security: SECURITY };
            match spec.validate(parties) {
                Ok(()) => return Some(spec),
                Err(_) if triples < ands.max(1 << 19) => triples += triples.div_ceil(8),
                Err(_) => return None,
            }
        }
    };
    BUCKETS.filter_map(smallest).min_by_key(SegmentSpec::leaky)
}

/// Steps 3 to 6. `randomness` is fresh and serves this computation alone; `journal` outlives the
/// process.
///
/// # Errors
/// [`Failed`].
pub async fn compute(
    party: &Party,
    sealed: Sealed<'_>,
    journal: &mut impl Journal,
    randomness: Secret,
) -> Result<Answered, Failed> {
    let Sealed { question, number, list, reports } = sealed;
    question.validate()?;
    let count = reports.len();
    let missing = u64::from(question.minimum.max(1)).saturating_sub(count as u64);
    if missing > 0 {
        return Err(Failed::TooFew { missing });
    }
    let party = party_about(party, question, number, &list, count);
    let circuit = question.circuit(count);
    let parties = party.roster.keys.len();
    let spec =
        segment_for(parties, circuit.ands(), number).ok_or(Failed::TooLarge(circuit.ands()))?;
    let ticket = Ticket::take(journal, &party, spec)?;
    let mut segment = prepare(&party, ticket, randomness).await?;
    let width = usize::from(question.width);
    let dealt: Bits = reports
        .iter()
        .flat_map(|Report(share)| (0..width).map(move |digit| share >> digit & 1 == 1))
        .collect();
    let inputs = segment.authenticate(&dealt).await?;
    let outputs = segment.evaluate(&circuit, &inputs).await?;
    let opened = segment.reveal(&outputs).await?;
    let opened: Vec<bool> = (0..opened.len()).map(|i| opened.get(i)).collect();
    let answers = question.read(count, &opened).ok_or(Failed::Contradiction)?;
    let cost = cost::base_transfers(parties)
        + cost::preparation(parties, &spec)
        + cost::authenticate(parties, dealt.len())
        + cost::circuit(parties, &circuit)
        + cost::reveal(parties, opened.len());
    let (ands, triples) = (circuit.ands(), spec.triples);
    Ok(Answered { answers, run: spec.instance(), ands, triples, cost })
}

/// The party in a session of its own, so that everything that is signed is about this question and
/// this list: servers who have agreed on other ones do not hear each other.
fn party_about(
    party: &Party,
    question: &Question,
    number: u64,
    list: &Digest,
    count: usize,
) -> Party {
    let mut transcript = Transcript::new("ostrakon/v1/stats/session");
    transcript.field(&party.roster.session.0.0).number(number).field(&list.0).number(count as u64);
    question.describe(&mut transcript);
    party.in_session(SessionId(transcript.finish()))
}
