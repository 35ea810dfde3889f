//! The job `stats`: private statistics (`docs/spec/statistics.md`).

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use ostrakon_authbits::{Abort, Journal, NoTicket, Refused, SegmentSpec, Unprepared};
use ostrakon_computation::{CONTRIBUTORS, Committee, Contributors, Draft, Input};
use ostrakon_crypto::Digest;
use ostrakon_party::{Instance, PartyId, wire};
use ostrakon_stats::asked::{self, Asked, StatisticsResult, question};
use ostrakon_stats::report::{Report, length};
use ostrakon_stats::{
    Committee as Keys, Evidence, ExchangeKey, Failed, Form, Part, Question, Sealed, compute,
    segment_for,
};
use serde_json::{Value, json};

use crate::job::{About, AttemptId, Ended, Job, Price, Run};
use crate::marks::Marks;

/// AND gates of the largest circuit: what two gigabytes of memory bear.
const MOST_GATES: u64 = 2_000_000;
/// Bytes that a gate takes by that.
const GATE_BYTES: u64 = 1000;

/// The job of private statistics, at a member with this key for shares.
pub struct Statistics {
    exchange: ExchangeKey,
    /// The least minimum of reports that a question may have: an exact answer about very few tells
    /// what one of them has reported.
    fewest: u32,
    /// Whether circuits are computed that read all reports at once.
    all_at_once: bool,
    /// The committee whose keys were checked last, by its digest: a member serves one.
    checked: Mutex<Option<(Digest, Arc<Keys>)>>,
}

impl Statistics {
    /// The job with a member's key for shares. Questions whose minimum of reports is below
    /// `fewest` are refused.
    pub fn new(exchange: ExchangeKey, fewest: u32) -> Self {
        Self { exchange, fewest, all_at_once: false, checked: Mutex::default() }
    }

    /// The same job, which also computes circuits that read all reports at once, if `allowed`: such
    /// a circuit may tell anything of any one of them.
    #[must_use]
    pub fn with_circuits_of_all(self, allowed: bool) -> Self {
        Self { all_at_once: allowed, ..self }
    }

    /// What a draft asks. The members' proofs are checked once, not for every input.
    fn asked(&self, draft: &Draft, committee: &Committee) -> Result<Asked, String> {
        let digest = committee.digest();
        let known = self.checked.lock().expect("no panic while held").clone();
        let keys = match known.filter(|(of, _)| *of == digest) {
            Some((_, keys)) => keys,
            None => {
                let keys = Arc::new(asked::members(committee).map_err(sentence)?);
                *self.checked.lock().expect("no panic while held") = Some((digest, keys.clone()));
                keys
            }
        };
        Asked::with(draft, keys).map_err(sentence)
    }
}

impl Job for Statistics {
    fn name(&self) -> &'static str {
        asked::JOB
    }

    fn judge(&self, draft: &Draft, committee: &Committee) -> Result<(), String> {
        let asked = self.asked(draft, committee)?;
        if draft.minimum < self.fewest {
            let fewest = self.fewest;
            return Err(format!(
                "this server tells nothing of fewer than {fewest} reports: ask with a minimum of \
                 {fewest} or more, or ask its operator to let it be less"
            ));
        }
        if asked.question.reads_all_at_once() && !self.all_at_once {
            return Err(
                "this server computes no circuit that reads all reports at once, since it \
                        may tell anything of one of them: ask its operator to allow it"
                    .into(),
            );
        }
        let most = most(&asked.question);
        let too_many = match &draft.contributors {
            // Each member takes its part of what all together can compute on.
            Contributors::Anyone => draft.minimum as usize > most / committee.members.len(),
            Contributors::Keys(keys) => keys.len() > most,
            Contributors::Earlier(_) => {
                return Err("reports are computed on once: ask everybody anew".into());
            }
        };
        if too_many {
            return Err("this is too much to compute of so many: ask for less, or of fewer".into());
        }
        Ok(())
    }

    fn body_bytes(&self, draft: &Draft) -> usize {
        question(draft).map_or(0, |question| length(&question))
    }

    fn has_one_length(&self) -> bool {
        true
    }

    fn most_inputs(&self, draft: &Draft) -> usize {
        question(draft).map_or(0, |question| most(&question))
    }

    fn check(&self, about: About<'_>, input: &Input) -> Result<(), String> {
        let asked = self.asked(about.draft, about.committee)?;
        read(&asked, input).map(drop)
    }

    fn compute<'a>(&'a self, run: Run<'a>) -> LocalBoxFuture<'a, Result<Vec<u8>, Ended>> {
        async move {
            let Run { about, party, attempt, inputs, marks, randomness, .. } = run;
            let AttemptId { number, first } = attempt;
            let asked = self.asked(about.draft, about.committee).map_err(Ended::Final)?;
            // Each has passed `check`.
            let reports = inputs.iter().map(|input| asked.read_again(input));
            let reports = reports.collect::<Result<Vec<_>, _>>();
            let reports = reports.map_err(|bad| Ended::Final(sentence(bad)))?;
            let sealed = Sealed { scope: asked.scope(), run: number, first, reports: &reports };
            let mut journal = Kept(marks);
            let answered = compute(&party, &self.exchange, sealed, &mut journal, randomness).await;
            let answered = answered.map_err(|failed| ended(about.committee, &failed))?;
            Ok(wire::encode(&StatisticsResult {
                accepted: answered.accepted,
                excluded: answered.excluded.into_iter().map(|of| of.evidence).collect(),
                answers: answered.answers,
            }))
        }
        .boxed_local()
    }

    fn price(&self, draft: &Draft) -> Price {
        let epsilon = question(draft).ok().and_then(|question| match question.form {
            // Noise hides each thing, and a list may have any number of them.
            Form::Items { .. } => None,
            Form::Number { .. } | Form::Grouped { .. } => question.epsilon,
        });
        epsilon.map_or(Price::Exact, |epsilon| Price::Epsilon(epsilon.into()))
    }

    fn memory(&self, draft: &Draft, inputs: usize) -> u64 {
        question(draft).map_or(0, |question| GATE_BYTES * question.load().gates(inputs.max(1)))
    }

    fn opening(&self) -> Vec<u8> {
        ostrakon_stats::opening_mark().0.to_vec()
    }

    fn repeats(&self) -> bool {
        true
    }

    fn instances(&self, about: About<'_>, inputs: usize, attempt: AttemptId) -> Vec<Instance> {
        let Ok(question) = question(about.draft) else { return Vec::new() };
        let ands = question.circuit(inputs.max(1)).ands();
        let AttemptId { number, first } = attempt;
        let spec = segment_for(about.committee.members.len(), ands, (number, first));
        spec.iter().map(SegmentSpec::instance).collect()
    }

    fn part(&self, About { draft, committee, .. }: About<'_>) -> Value {
        let lists = |asked: &Asked| matches!(asked.question.form, Form::Items { .. });
        let Some(asked) = self.asked(draft, committee).ok().filter(lists) else {
            return Value::Null;
        };
        let mut members = asked.committee.members().iter();
        let own = members.position(|member| self.exchange.owns(member));
        own.map_or(Value::Null, |own| json!(Part::of(&self.exchange, own, &asked.scope())))
    }

    fn describe(&self, draft: &Draft) -> Value {
        question(draft).map_or(Value::Null, |question| json!(question))
    }

    fn render(&self, _: &Draft, result: &[u8]) -> Value {
        let Ok(result) = wire::decode::<StatisticsResult>(result) else { return Value::Null };
        let StatisticsResult { answers, accepted, excluded } = result;
        let excluded: Vec<_> = excluded.iter().filter_map(Evidence::reporter).collect();
        json!({ "answers": answers, "accepted": accepted, "excluded": excluded })
    }
}

/// How many reports a question can be computed on.
fn most(question: &Question) -> usize {
    let reports = usize::try_from(question.load().reports(MOST_GATES)).unwrap_or(usize::MAX);
    reports.min(question.most_at_once()).min(CONTRIBUTORS)
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
    let name = |member: PartyId| committee.members[member.index()].name.clone();
    match failed {
        Failed::Member { member, lie } => Ended::Final(format!(
            "{} has lied in the computation ({lie:?}): what was reported is spent, ask again",
            name(*member)
        )),
        Failed::Dispute(one, other) => Ended::Final(format!(
            "{} or {} has lied in the computation: what was reported is spent, ask again",
            name(*one),
            name(*other)
        )),
        Failed::TooFew { missing } => Ended::Final(format!(
            "some reports were not what they have to be, and without them {missing} are missing"
        )),
        Failed::Spent { .. } => Ended::Final(
            "a server has lost what it had written down of this computation, and what was reported \
             can be used once only: ask again"
                .into(),
        ),
        // Nothing was said that is not on disk: there may be room again.
        Failed::Journal(_) | Failed::Ticket(NoTicket::Journal(_)) => {
            Ended::Later(failed.to_string())
        }
        // A peer that has stopped says why itself. Whatever else fails in the preparation is
        // somebody's deviation, which is not tried again.
        Failed::Preparation(Unprepared::Aborted(abort @ Abort::Stopped(_))) => {
            Ended::Again(abort.sentence(name))
        }
        Failed::Ticket(_) => Ended::Again(failed.to_string()),
        Failed::Preparation(Unprepared::Aborted(abort))
        | Failed::Computation(Refused::Aborted(abort)) => Ended::Final(abort.sentence(name)),
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
