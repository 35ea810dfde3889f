//! The whole service in a simulation that a seed decides: servers with real databases, two to seven
//! of them, their participants, operators who make mistakes, lines that break, machines that die
//! between two writes, and a server in hostile hands. Time, network and chance are virtual, so a
//! run that fails is run again from its seed alone. `docs/simulation.md` says how.

#[path = "../../../api/tests/servers/common/engine.rs"]
mod engine;
#[path = "../../../api/tests/servers/jobs/toy.rs"]
mod toy;

mod checks;
mod closing;
mod deciding;
mod deployment;
mod executor;
mod host;
mod jobs;
mod ledger;
mod line;
mod logs;
mod machine;
mod malice;
mod network;
mod participant;
mod random;
mod scenario;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use scenario::{Report, Setting};

/// Seeds of a run of the gate: with them there are deployments of two to seven servers, one of them
/// of Ruffle.
const USUAL: u64 = 13;
/// Seeds of a nightly run.
const NIGHTLY: u64 = 2000;
/// After so many failures it is enough, unless told otherwise.
const MOST_FAILURES: u64 = 8;

/// Runs one seed; says which it was if it fails.
fn run(seed: u64, swapped: bool) -> Report {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _inside = runtime.enter();
    match catch_unwind(AssertUnwindSafe(|| scenario::run(Setting::of(seed), swapped))) {
        Ok(report) => report,
        Err(cause) => {
            eprintln!(
                "\nseed {seed} fails: {:?}\nOSTRAKON_SEED={seed} runs it again\n",
                Setting::of(seed)
            );
            std::panic::resume_unwind(cause)
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Runs seeds on all processors.
///
/// # Panics
/// If one fails, with the seeds that did.
#[expect(clippy::disallowed_methods, reason = "how long it took is for the reader's eyes only")]
pub fn run_many(count: u64, run: impl Fn(u64) + Sync) {
    let first = number("OSTRAKON_FROM").unwrap_or(0);
    let end = first.saturating_add(count);
    let (begun, next, done) = (Instant::now(), AtomicU64::new(first), AtomicU64::new(0));
    let failed = Mutex::new(Vec::new());
    let most = number("OSTRAKON_FAILURES").unwrap_or(MOST_FAILURES);
    let work = |processor: usize| {
        executor::stay_on(processor);
        while (failed.lock().unwrap().len() as u64) < most {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= end {
                return;
            }
            if catch_unwind(AssertUnwindSafe(|| run(seed))).is_err() {
                failed.lock().unwrap().push(seed);
            }
            let so_far = done.fetch_add(1, Ordering::SeqCst) + 1;
            if so_far.is_multiple_of(100) {
                println!("{so_far} seeds in {:.0} s", begun.elapsed().as_secs_f64());
            }
        }
    };
    std::thread::scope(|scope| {
        for processor in executor::processors() {
            let work = &work;
            scope.spawn(move || work(processor));
        }
    });
    println!("{} seeds in {:.1} s", done.into_inner(), begun.elapsed().as_secs_f64());
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "these seeds fail: {failed:?}");
}

#[test]
fn whatever_happens_every_message_is_published_once_and_nothing_is_used_twice() {
    if let Some(seed) = number("OSTRAKON_SEED") {
        let filter = tracing_subscriber::EnvFilter::from_env("OSTRAKON_LOG");
        tracing_subscriber::fmt().with_env_filter(filter).without_time().with_test_writer().init();
        println!("{:?}\n{:?}", Setting::of(seed), run(seed, false));
        return;
    }
    let usual = if ostrakon_testkit::nightly() { NIGHTLY } else { USUAL };
    run_many(number("OSTRAKON_SEEDS").unwrap_or(usual), |seed| {
        run(seed, false);
    });
}

#[test]
fn a_seed_decides_the_whole_run() {
    // A plain and a Ruffle deployment.
    for seed in [3, 7] {
        assert_eq!(run(seed, false), run(seed, false), "seed {seed}");
    }
}

#[test]
fn who_said_what_changes_nothing_that_can_be_observed() {
    for seed in [4, 7, 12] {
        let (one, other) = (run(seed, false), run(seed, true));
        assert_eq!(
            one.shape, other.shape,
            "seed {seed}: the same lines carry the same lengths at the same times"
        );
        assert_ne!(one.trace, other.trace, "seed {seed}: but not the same contents");
    }
}
