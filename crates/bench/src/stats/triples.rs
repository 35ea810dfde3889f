//! The benchmark of the preparation of triples: from nothing to a segment that is ready to be used.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use ostrakon_authbits::SegmentSpec;
use ostrakon_authbits::params::MAX_BUCKET;
use serde::Serialize;

use super::committee::Committee;
use super::limit::{Units, Work};
use crate::control::Program;
use crate::limit::Parts;
use crate::measurement::{median, parts_in_words};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Servers, for each of which there is a measurement.
    pub servers: Vec<u8>,
    /// Triples of a segment.
    pub triples: usize,
    /// A cheater succeeds with at most 2^-security.
    pub security: u32,
    /// How often.
    pub runs: u32,
}

/// A preparation, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Servers.
    pub servers: u8,
    /// Triples of the segment.
    pub triples: usize,
    /// Leaky triples that one is made of.
    pub bucket: usize,
    /// At the slowest server, base transfers included: median over the runs.
    pub seconds: f64,
    /// Triples in a second.
    pub triples_per_second: f64,
    /// Bytes of message bodies that each server sends, which are the formula's.
    pub bytes_sent: u64,
    /// The same for each triple.
    pub bytes_per_triple: f64,
    /// Rounds, one after the other.
    pub rounds: u32,
    /// The sum of `limit_parts`.
    pub limit_seconds: f64,
    /// `seconds / limit_seconds`.
    pub ratio: f64,
    /// Seconds that the unavoidable work takes on all cores, by kind.
    pub limit_parts: Parts,
}

/// The smallest bucket that is secure enough.
fn segment(servers: u8, triples: usize, security: u32) -> Result<SegmentSpec> {
    let spec = |bucket| SegmentSpec { number: 0, triples, bucket, security };
    let mut specs = (2..=MAX_BUCKET).map(spec);
    let secure = specs.find(|spec| spec.validate(servers.into()).is_ok());
    let largest = spec(MAX_BUCKET).validate(servers.into());
    secure.with_context(|| match largest {
        Err(why) => format!("--triples, --security: {why}"),
        Ok(()) => "--security: no bucket is large enough".to_owned(),
    })
}

/// Measures the preparation of a segment by committees of these sizes.
///
/// # Errors
/// If the options are out of range, a process fails, or a server sends other amounts than the
/// formulas say.
pub fn run(
    options: &Options,
    program: &Program,
    mut tell: impl FnMut(&str),
) -> Result<Vec<Measurement>> {
    let mut measured = Vec::new();
    for &servers in &options.servers {
        let spec = segment(servers, options.triples, options.security)?;
        tell(&format!("{servers} servers meet"));
        let mut committee = Committee::start_apart(program, servers.into(), Duration::ZERO)?;
        let (mut seconds, mut sent) = (Vec::new(), None);
        for run in 1..=options.runs {
            tell(&format!("{servers} servers, run {run} of {}", options.runs));
            let prepared = committee.prepare(spec)?;
            seconds.push(prepared.seconds);
            sent = Some(prepared.sent);
        }
        drop(committee);
        let Some(sent) = sent else { continue };
        tell("what cannot be avoided is measured");
        let work = Work::preparation(servers.into(), spec.leaky());
        let work = work.carrying(servers.into(), sent.bytes, sent.rounds);
        let limit_parts = Units::measure()?.limit(&work);
        let (seconds, limit_seconds) = (median(seconds), limit_parts.values().sum());
        measured.push(Measurement {
            servers,
            triples: spec.triples,
            bucket: spec.bucket,
            seconds,
            triples_per_second: spec.triples as f64 / seconds,
            bytes_sent: sent.bytes,
            bytes_per_triple: sent.bytes as f64 / spec.triples as f64,
            rounds: sent.rounds,
            limit_seconds,
            ratio: seconds / limit_seconds,
            limit_parts,
        });
    }
    Ok(measured)
}

/// The measurements as a table for people.
pub fn table(measurements: &[Measurement]) -> String {
    let mut text = format!(
        "{:>7} {:>9} {:>6} {:>9} {:>11} {:>13} {:>6} {:>9} {:>6}\n",
        "servers",
        "triples",
        "bucket",
        "seconds",
        "triples/s",
        "bytes/triple",
        "rounds",
        "limit",
        "ratio"
    );
    for m in measurements {
        writeln!(
            text,
            "{:>7} {:>9} {:>6} {:>9.3} {:>11.0} {:>13.1} {:>6} {:>9.3} {:>6.2}\n{}",
            m.servers,
            m.triples,
            m.bucket,
            m.seconds,
            m.triples_per_second,
            m.bytes_per_triple,
            m.rounds,
            m.limit_seconds,
            m.ratio,
            parts_in_words(&m.limit_parts)
        )
        .expect("text can be written to");
    }
    text
}
