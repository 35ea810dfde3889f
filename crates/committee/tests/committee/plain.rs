//! A job that anybody can check.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use ostrakon_committee::{About, AttemptId, Ended, Job, Price, Run};
use ostrakon_computation::{Committee, Draft, Input};
use ostrakon_party::{Instance, InstanceKind, Length, Step, Tag};
use serde_json::Value;
use tokio::sync::watch;

use crate::world::PATIENCE;

/// A job without secrets: members tell each other the sum of all bodies, in one round.
#[derive(Clone)]
pub struct Plain {
    begun: Arc<AtomicUsize>,
    /// How often it was asked what is sent under an attempt.
    named: Arc<AtomicUsize>,
    gate: Arc<watch::Sender<bool>>,
    /// A member that waits before it opens.
    held: Arc<watch::Sender<Option<usize>>>,
    /// Between the mark that it opens, and the opening.
    opens: Arc<watch::Sender<bool>>,
    opened: Arc<AtomicUsize>,
    /// Attempts come to nothing.
    spoilt: Arc<Mutex<bool>>,
}

impl Default for Plain {
    fn default() -> Self {
        let open = || Arc::new(watch::Sender::new(true));
        let held = Arc::new(watch::Sender::new(None));
        let (begun, named, opened, spoilt) = Default::default();
        Self { begun, named, gate: open(), held, opens: open(), opened, spoilt }
    }
}

impl Plain {
    pub fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    /// How often it was asked what is sent under an attempt, which may be dear to find out.
    pub fn named(&self) -> usize {
        self.named.load(Ordering::SeqCst)
    }

    /// Attempts wait before they say anything.
    pub fn hold(&self) {
        self.gate.send_replace(false);
    }

    pub fn release(&self) {
        self.gate.send_replace(true);
        self.opens.send_replace(true);
    }

    /// A member's attempts wait before they open.
    pub fn hold_at(&self, member: usize) {
        self.held.send_replace(Some(member));
    }

    /// Attempts end for good.
    pub fn spoil(&self) {
        *self.spoilt.lock().unwrap() = true;
    }

    /// Attempts wait when they have marked that they open, before they do.
    pub fn hold_opening(&self) {
        self.opens.send_replace(false);
    }

    pub async fn waits_for(&self, attempts: usize) {
        reaches(&self.begun, attempts).await;
    }

    /// Waits until so many attempts have marked that they open.
    pub async fn opened(&self, attempts: usize) {
        reaches(&self.opened, attempts).await;
    }
}

async fn reaches(count: &AtomicUsize, least: usize) {
    let reached = async {
        while count.load(Ordering::SeqCst) < least {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.expect("as many attempts");
}

fn instance(number: u64) -> Instance {
    Instance { kind: InstanceKind::Batch, scope: [7; 16], number }
}

impl Job for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn judge(&self, draft: &Draft, _: &Committee) -> Result<(), String> {
        if draft.parameters.0.is_empty() { Ok(()) } else { Err("no parameters".into()) }
    }

    fn body_bytes(&self, _: &Draft) -> usize {
        8
    }

    fn most_inputs(&self, _: &Draft) -> usize {
        12
    }

    fn check(&self, _: About<'_>, input: &Input) -> Result<(), String> {
        if input.body.contains(&255) { Err("255 is no input".into()) } else { Ok(()) }
    }

    fn compute<'a>(&'a self, run: Run<'a>) -> LocalBoxFuture<'a, Result<Vec<u8>, Ended>> {
        async move {
            self.begun.fetch_add(1, Ordering::SeqCst);
            self.gate.subscribe().wait_for(|open| *open).await.expect("the gate is there");
            if *self.spoilt.lock().unwrap() {
                return Err(Ended::Final("it was spoilt".into()));
            }
            let me = run.party.id.index();
            self.held.subscribe().wait_for(|held| *held != Some(me)).await.expect("it is there");
            let mark = [(self.opening(), b"begun".to_vec())];
            let before = run.marks.keep(&mark).map_err(Ended::Later)?;
            if before[0].as_ref().is_some_and(|standing| standing != b"begun") {
                return Err(Ended::Final("it may not be opened".into()));
            }
            self.opened.fetch_add(1, Ordering::SeqCst);
            self.opens.subscribe().wait_for(|open| *open).await.expect("the gate is there");
            let sum: u64 =
                run.inputs.iter().flat_map(|input| &input.body).map(|b| u64::from(*b)).sum();
            let tag = Tag { instance: instance(run.attempt.number), step: Step(1), sequence: 0 };
            run.party.send_all(tag, sum.to_le_bytes().to_vec());
            for peer in run.party.peers() {
                let told = run.party.receive(peer, tag, Length::Exactly(8)).await;
                let told = told.map_err(|_| Ended::Final("a wrong length".into()))?;
                if told.body[..] != sum.to_le_bytes() {
                    return Err(Ended::Final("another sum".into()));
                }
            }
            Ok(sum.to_le_bytes().to_vec())
        }
        .boxed_local()
    }

    fn price(&self, _: &Draft) -> Price {
        Price::None
    }

    fn memory(&self, _: &Draft, _: usize) -> u64 {
        1
    }

    fn opening(&self) -> Vec<u8> {
        b"opening".to_vec()
    }

    fn instances(&self, _: About<'_>, _: usize, which: AttemptId) -> Vec<Instance> {
        self.named.fetch_add(1, Ordering::SeqCst);
        vec![instance(which.number)]
    }

    fn describe(&self, _: &Draft) -> Value {
        Value::Null
    }

    fn render(&self, _: &Draft, result: &[u8]) -> Value {
        result.to_vec().into()
    }
}
