//! The job `stats`: private statistics (`docs/spec/statistics.md`).

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use ostrakon_authbits::{Abort, Journal, SegmentSpec, Unprepared};
use ostrakon_computation::{CONTRIBUTORS, Committee, Contributors, Draft, Input};
use ostrakon_crypto::Digest;
use ostrakon_party::{Instance, wire};
use ostrakon_stats::asked::{self, Asked, StatisticsResult, question};
use ostrakon_stats::report::{Report, length};
use ostrakon_stats::{ExchangeKey, Failed, Question, Sealed, compute, segment_for};
use serde_json::{Value, json};

use crate::job::{About, Ended, Job, Run};
use crate::marks::Marks;

/// Reports of the smaller circuit by which the size of large ones is told.
const FEW: usize = 16;
/// AND gates of the largest circuit: what two gigabytes of memory bear.
const MOST_GATES: usize = 2_000_000;

/// The job of private statistics, at a member with this key for shares.
pub struct Statistics {
    exchange: ExchangeKey,
}

impl Statistics {
    /// The job with a member's key for shares.
    pub fn new(exchange: ExchangeKey) -> Self {
        Self { exchange }
    }
}

impl Job for Statistics {
    fn name(&self) -> &'static str {
        asked::JOB
    }

    fn judge(&self, draft: &Draft, committee: &Committee) -> Result<(), String> {
        let asked = Asked::of(draft, committee).map_err(sentence)?;
        let asked_of = match &draft.contributors {
            Contributors::Anyone => draft.minimum as usize,
            Contributors::Keys(keys) => keys.len(),
        };
        if asked_of > most(&asked.question) {
            return Err("this is too much to compute of so many: ask for less, or of fewer".into());
        }
        Ok(())
    }

    fn body_bytes(&self, draft: &Draft) -> usize {
        question(draft).map_or(0, |question| length(&question))
    }

    fn most_inputs(&self, draft: &Draft) -> usize {
        question(draft).map_or(0, |question| most(&question))
    }

    fn check(&self, about: About<'_>, input: &Input) -> Result<(), String> {
        let asked = Asked::of(about.draft, about.committee).map_err(sentence)?;
        read(&asked, input).map(drop)
    }

    fn compute<'a>(&'a self, run: Run<'a>) -> LocalBoxFuture<'a, Result<Vec<u8>, Ended>> {
        async move {
            let Run { about, party, number, inputs, marks, randomness } = run;
            let asked = Asked::of(about.draft, about.committee).map_err(sentence);
            let asked = asked.map_err(Ended::Final)?;
            let reports = inputs.iter().map(|input| read(&asked, input));
            let reports = reports.collect::<Result<Vec<_>, _>>().map_err(Ended::Final)?;
            let sealed = Sealed { scope: asked.scope(), run: number, reports: &reports };
            let mut journal = Kept(marks);
            let answered = compute(&party, &self.exchange, sealed, &mut journal, randomness).await;
            let answered = answered.map_err(|failed| ended(about.committee, &failed))?;
            let excluded = answered.excluded.iter().map(|of| reports[of.report].reporter());
            Ok(wire::encode(&StatisticsResult {
                accepted: answered.accepted,
                excluded: excluded.collect(),
                answers: answered.answers,
            }))
        }
        .boxed_local()
    }

    fn instances(&self, about: About<'_>, inputs: usize, number: u64) -> Vec<Instance> {
        let Ok(question) = question(about.draft) else { return Vec::new() };
        let ands = question.circuit(inputs.max(1)).ands();
        let spec = segment_for(about.committee.members.len(), ands, number);
        spec.iter().map(SegmentSpec::instance).collect()
    }

    fn describe(&self, draft: &Draft) -> Value {
        question(draft).map_or(Value::Null, |question| json!(question))
    }

    fn render(&self, _: &Draft, result: &[u8]) -> Value {
        let result = wire::decode::<StatisticsResult>(result);
        result.map_or(Value::Null, |result| json!(result))
    }
}

/// How many reports a question can be computed on: the circuit grows by as many gates with each, as
/// two small circuits tell.
fn most(question: &Question) -> usize {
    let (few, some) = (question.circuit(FEW).ands(), question.circuit(2 * FEW).ands());
    let each = some.saturating_sub(few).div_ceil(FEW).max(1);
    (MOST_GATES.saturating_sub(few) / each).min(CONTRIBUTORS)
}

fn read(asked: &Asked, input: &Input) -> Result<Report, String> {
    let report = asked.read(input).map_err(sentence)?;
    if report.reporter() != input.entry.contributor {
        return Err("the report is somebody else's".into());
    }
    Ok(report)
}

fn sentence(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn ended(committee: &Committee, failed: &Failed) -> Ended {
    match failed {
        Failed::Member { member, .. } => Ended::Final(format!(
            "{} has lied in the computation: {failed}",
            committee.members[member.index()].name
        )),
        Failed::TooFew { missing } => Ended::Final(format!(
            "some reports were not what they have to be, and without them {missing} are missing"
        )),
        Failed::Spent { .. } => Ended::Final(
            "a server was started again in the middle of the computation, and what was reported \
             can be used once only: ask again"
                .into(),
        ),
        // A peer that has stopped says why itself. Whatever else fails in the preparation is
        // somebody's deviation, which is not tried again.
        Failed::Preparation(Unprepared::Aborted(Abort::Stopped(_)))
        | Failed::Ticket(_)
        | Failed::Journal(_) => Ended::Again(failed.to_string()),
        _ => Ended::Final(failed.to_string()),
    }
}

/// The computation's marks as the engine writes them.
struct Kept(Marks);

impl Journal for Kept {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let entry = |(name, value): &(Digest, Vec<u8>)| (name.0.to_vec(), value.clone());
        let entries: Vec<_> = entries.iter().map(entry).collect();
        self.0.keep(&entries)
    }
}
