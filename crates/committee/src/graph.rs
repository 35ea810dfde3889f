//! The job `graph`: private computation on graphs (`docs/spec/graph.md`, sections 11 to 14).

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use ostrakon_computation::{Committee, Contributors, Draft, Input};
use ostrakon_crypto::VerifyingKey;
use ostrakon_crypto::sealed::ExchangeKey;
use ostrakon_graph::asked::{self, Contribution, GraphResult};
use ostrakon_graph::attempt::{self, Failed, Task};
use ostrakon_graph::ruffle2::fault::{Accused, Evidence, Stop};
use ostrakon_graph::ruffle2::journal::Journal;
use ostrakon_graph::watch::Watch;
use ostrakon_party::{Instance, PartyId, wire};
use serde_json::{Value, json};

use crate::job::{About, AttemptId, Ended, Job, Keeping, Price, Run};
use crate::marks::Marks;

/// Seconds.
const DAY: u64 = 24 * 60 * 60;

/// The job of computation on graphs, at a member with this key for seeds.
pub struct Graphs {
    key: ExchangeKey,
}

impl Graphs {
    /// The job with a member's key for seeds.
    pub fn new(key: ExchangeKey) -> Self {
        Self { key }
    }
}

impl Job for Graphs {
    fn name(&self) -> &'static str {
        asked::JOB
    }

    fn judge(&self, draft: &Draft, committee: &Committee) -> Result<(), String> {
        asked::members(committee).map_err(sentence)?;
        let terms = asked::terms(draft).map_err(sentence)?;
        let valid = match &draft.contributors {
            Contributors::Anyone => terms.validate_for_anyone(draft.minimum),
            Contributors::Keys(keys) => terms.validate(keys.len()),
            // Of how many is judged when the earlier computation is found.
            Contributors::Earlier(_) => terms.validate(draft.minimum as usize),
        };
        valid.map_err(sentence)
    }

    fn body_bytes(&self, draft: &Draft) -> usize {
        asked::terms(draft).map_or(0, |terms| Contribution::bytes(&terms))
    }

    fn has_one_length(&self) -> bool {
        true
    }

    fn most_inputs(&self, draft: &Draft) -> usize {
        asked::terms(draft).map_or(0, |terms| terms.most_owners())
    }

    fn check(&self, about: About<'_>, input: &Input) -> Result<(), String> {
        let terms = asked::terms(about.draft).map_err(sentence)?;
        Contribution::read(&input.body, &terms).map(drop).map_err(sentence)
    }

    fn keeps(&self, draft: &Draft) -> Option<Keeping> {
        let keep = asked::terms(draft).ok()?.keep?;
        Some(Keeping { questions: keep.questions, seconds: u64::from(keep.days) * DAY })
    }

    fn again(&self, earlier: &Draft, draft: &Draft, inputs: usize) -> Result<(), String> {
        let (earlier, terms) = (asked::terms(earlier), asked::terms(draft));
        let (earlier, terms) = (earlier.map_err(sentence)?, terms.map_err(sentence)?);
        terms.validate_again(&earlier, inputs).map_err(sentence)
    }

    fn compute<'a>(&'a self, run: Run<'a>) -> LocalBoxFuture<'a, Result<Vec<u8>, Ended>> {
        async move {
            let Run { about, party, attempt: which, inputs, marks, randomness, progress } = run;
            let terms = asked::terms(about.draft).map_err(|e| Ended::Final(sentence(e)))?;
            let owners: Vec<VerifyingKey> =
                inputs.iter().map(|input| input.entry.contributor).collect();
            let read = |input: Input| Contribution::read(&input.body, &terms);
            let contributions = inputs.into_iter().map(read).collect::<Result<Vec<_>, _>>();
            let task = Task {
                computation: about.computation,
                made_for: about.draft.earlier().unwrap_or(about.computation),
                terms: &terms,
                minimum: about.draft.minimum,
                number: which.number,
                owners: &owners,
                contributions: contributions.map_err(|e| Ended::Final(sentence(e)))?,
                watch: Watch::new(move |stage| {
                    let (stage, done, of) = stage.words();
                    progress(stage, done, of);
                }),
            };
            let first = about.draft.earlier().map(|earlier| marks.of(earlier));
            let journal = Kept { lists: first.unwrap_or_else(|| marks.clone()), marks };
            let computed = attempt::compute(&party, &self.key, task, &journal, randomness).await;
            let computed = computed.map_err(|failed| ended(about.committee, &failed))?;
            let accepted = owners.len() - computed.excluded.len();
            Ok(wire::encode(&GraphResult {
                accepted: accepted as u64,
                excluded: computed.excluded.iter().map(|list| owners[*list]).collect(),
                values: computed.values,
            }))
        }
        .boxed_local()
    }

    fn price(&self, draft: &Draft) -> Price {
        let epsilon = asked::terms(draft).ok().and_then(|terms| terms.epsilon());
        epsilon.map_or(Price::Exact, Price::Epsilon)
    }

    fn opening(&self) -> Vec<u8> {
        attempt::OPENING.into()
    }

    fn repeats(&self) -> bool {
        true
    }

    fn memory(&self, draft: &Draft, inputs: usize) -> u64 {
        asked::terms(draft).map_or(0, |terms| 8 * terms.words(inputs))
    }

    fn instances(&self, about: About<'_>, inputs: usize, which: AttemptId) -> Vec<Instance> {
        let Ok(terms) = asked::terms(about.draft) else { return Vec::new() };
        attempt::instances(about.computation, &terms, inputs, which.number)
    }

    fn describe(&self, draft: &Draft) -> Value {
        asked::terms(draft).map_or(Value::Null, |terms| json!(terms))
    }

    fn render(&self, _: &Draft, result: &[u8]) -> Value {
        wire::decode::<GraphResult>(result).map_or(Value::Null, |result| json!(result))
    }
}

fn sentence(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn ended(committee: &Committee, failed: &Failed) -> Ended {
    let name = |id: PartyId| committee.members[id.index()].name.as_str();
    let stop = match failed {
        Failed::Stop(stop) => stop,
        Failed::TooFew { missing } => {
            return Ended::Final(format!(
                "some lists were no graphs, and without them {missing} are missing"
            ));
        }
    };
    match stop {
        Stop::Journal(_) => Ended::Later(stop.to_string()),
        Stop::Malformed(signed) => Ended::Final(format!(
            "{} has sent what its step of the computation forbids",
            name(signed.header.from)
        )),
        Stop::Broken(member, what) => {
            Ended::Final(format!("{} does not stand by {what}", name(*member)))
        }
        Stop::Evidence(evidence) => Ended::Final(match accused(evidence) {
            Accused::One(member) => {
                format!("{} has signed two statements that contradict each other", name(member))
            }
            Accused::OneOf(a, b) => {
                format!("{} and {} contradict each other: one of them lies", name(a), name(b))
            }
        }),
        Stop::Spent(what) => Ended::Final(spent(what)),
        Stop::Disagreement | Stop::Check(_) => Ended::Final(format!(
            "one of the servers deviates, and it cannot be told which: {stop}"
        )),
    }
}

/// What a mark in the journal says that another attempt, or a cancellation, has made before.
fn spent(mark: &str) -> String {
    match mark {
        attempt::OPENING => "it was being cancelled when this server was stopped, so nothing is \
                             opened: ask again if it is wanted after all"
            .into(),
        attempt::NOISE => "an earlier attempt has drawn its noise, and the mean of two answers \
                           would have less of it: ask again"
            .into(),
        attempt::ACCEPTED => "in an earlier attempt other lists took part: one of the servers \
                              deviates, and it cannot be told which"
            .into(),
        what => format!("{what} was done otherwise in an earlier attempt: ask again"),
    }
}

/// Whom evidence that has been checked accuses.
fn accused(evidence: &Evidence) -> Accused {
    match evidence {
        Evidence::Equivocation(both) => Accused::One(both[0].header.from),
        Evidence::Conflict { table, digest, .. } => {
            Accused::OneOf(table.header.from, digest.header.from)
        }
    }
}

/// The computation's marks as the engine writes them.
struct Kept {
    marks: Marks,
    /// Where it is marked which lists are computed on: with the computation that they were made
    /// for, so that all on the same contributions take the same ones.
    lists: Marks,
}

impl Kept {
    fn of(&self, name: &str) -> &Marks {
        if name == attempt::ACCEPTED { &self.lists } else { &self.marks }
    }
}

impl Journal for Kept {
    fn record(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        let before = self.of(name).keep(&[(name.into(), value.to_vec())])?;
        Ok(before.into_iter().next().flatten().unwrap_or_else(|| value.to_vec()))
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        self.of(name).read(name.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Secret;

    use super::*;
    use crate::job::Jobs;

    #[test]
    #[should_panic = "two jobs have one name, graph"]
    fn two_jobs_of_one_name_are_refused() {
        let job = || Graphs::new(ExchangeKey::new(&Secret::new([0; 32])));
        drop(Jobs::default().with(job()).with(job()));
    }

    /// A server that is killed between a mark and what it says of it finds the mark when it starts.
    #[test]
    fn what_a_mark_forbids_is_told_by_its_own_reason() {
        let of_lists = |mark: &str| spent(mark).contains("lists");
        assert!(of_lists(attempt::ACCEPTED));
        for mark in [attempt::OPENING, attempt::NOISE, "sealed uploads 3"] {
            assert!(!of_lists(mark), "{mark}");
        }
        assert!(spent(attempt::OPENING).contains("cancelled"));
        assert!(spent(attempt::NOISE).contains("noise"));
    }
}
