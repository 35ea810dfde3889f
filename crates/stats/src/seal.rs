//! What members sign before they compute: receipts, and the list of reports that count
//! (`docs/spec/statistics.md`, section 5). Nothing here waits or sends.

use std::collections::BTreeMap;

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::committee::Committee;
use crate::report::{self, Report, Scope};

fn receipt(report: &Digest) -> Digest {
    ostrakon_crypto::hash::digest("ostrakon/v1/stats/receipt", &report.0)
}

/// A member's part of a receipt: it has stored the whole report, durably.
pub fn acknowledge(report: &Report, signing: &SigningKey) -> Signature {
    signing.sign(&receipt(&report.digest()))
}

/// What a reporter keeps. A report is handed in when *all* members have signed: one that only says
/// "taken" and drops it excludes nobody, because the reporter goes to whoever has not signed, with
/// the same bytes, and any member that has the report puts it into the seal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The digest of what the reporter has signed.
    pub report: Digest,
    /// By member.
    pub signatures: Vec<Signature>,
}

impl Receipt {
    /// Whether all members have signed.
    #[must_use]
    pub fn is_complete(&self, committee: &Committee) -> bool {
        let members = committee.members();
        let statement = receipt(&self.report);
        self.signatures.len() == members.len()
            && members
                .iter()
                .zip(&self.signatures)
                .all(|(member, signature)| member.key.verifies(&statement, signature))
    }
}

/// Two different reports that one reporter has signed under one scope: evidence against it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// Who.
    pub reporter: VerifyingKey,
    /// Both.
    pub reports: [Vec<u8>; 2],
}

impl Contradiction {
    /// Whether it convicts the reporter.
    #[must_use]
    pub fn holds(&self, scope: &Scope<'_>) -> bool {
        let checked = self.reports.each_ref().map(|bytes| report::check(bytes, scope));
        let [Ok(a), Ok(b)] = checked else { return false };
        a.reporter() == self.reporter && b.reporter() == self.reporter && a.digest() != b.digest()
    }
}

/// The reports that count, in their order, and what was left out.
#[derive(Clone, Debug)]
pub struct Seal {
    /// Ascending by reporter's key.
    pub reports: Vec<Report>,
    /// Reporters who have signed different reports: none of them counts.
    pub contradictions: Vec<Contradiction>,
}

impl Seal {
    /// The seal of everything that any member holds in full. Whoever has the same reports, in
    /// whatever order and however often, makes the same seal.
    pub fn of(held: impl IntoIterator<Item = Report>) -> Self {
        let mut by_reporter: BTreeMap<VerifyingKey, Vec<Report>> = BTreeMap::new();
        for report in held {
            let own = by_reporter.entry(report.reporter()).or_default();
            // The same contents with another signature are the same report.
            if own.iter().all(|other| other.digest() != report.digest()) {
                own.push(report);
            }
        }
        let mut seal = Self { reports: Vec::new(), contradictions: Vec::new() };
        for (reporter, mut own) in by_reporter {
            own.sort_by_key(Report::digest);
            match &own[..] {
                [first, second, ..] => {
                    let reports = [first.bytes().to_vec(), second.bytes().to_vec()];
                    seal.contradictions.push(Contradiction { reporter, reports });
                }
                _ => seal.reports.append(&mut own),
            }
        }
        seal
    }

    /// What members sign and compare before anything is computed.
    pub fn digest(&self) -> Digest {
        list(&self.reports)
    }
}

/// Names a list of reports in its order.
pub(crate) fn list(reports: &[Report]) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/stats/seal");
    transcript.number(reports.len() as u64);
    reports.iter().for_each(|report| {
        transcript.field(&report.digest().0);
    });
    transcript.finish()
}
