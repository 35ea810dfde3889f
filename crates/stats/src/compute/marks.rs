//! What a member writes down before it says it (`docs/spec/statistics.md`, section 6).

use ostrakon_authbits::{Bits, Journal};
use ostrakon_crypto::{Digest, Transcript};

use super::fault::Failed;
use crate::report::{Field, Report};

fn name(report: &Report, purpose: u64) -> Digest {
    let mut transcript = Transcript::new("ostrakon/v1/stats/mark");
    transcript.field(&report.name().0).number(purpose);
    transcript.finish()
}

const ADJUSTED: u64 = 1;
const SHOWN: u64 = 2;

/// Writes down that these reports are adjusted in this run, each with the bytes of its difference.
/// A report's coefficients are opened after that, so it is never adjusted again, whatever became of
/// the run; the run itself may say the same bytes again.
///
/// # Errors
/// [`Failed::Spent`] names reports that an earlier run has adjusted; nothing may be sent then.
pub(crate) fn adjust(
    journal: &mut (impl Journal + ?Sized),
    run: &Digest,
    reports: &[Report],
    differences: impl Iterator<Item = Bits>,
) -> Result<(), Failed> {
    let entry = |(report, difference): (&Report, Bits)| {
        (name(report, ADJUSTED), [&run.0[..], &difference.to_bytes()].concat())
    };
    let entries: Vec<_> = reports.iter().zip(differences).map(entry).collect();
    let before = keep(journal, &entries)?;
    let other = |i: &usize| before[*i].as_ref().is_some_and(|before| *before != entries[*i].1);
    let spent: Vec<usize> = (0..reports.len()).filter(other).collect();
    if spent.is_empty() { Ok(()) } else { Err(Failed::Spent { reports: spent }) }
}

/// Writes down which field of these reports is shown, of s and e, or e for good. At most one of
/// them ever is.
///
/// # Errors
/// [`Failed::Spent`] names reports of which the other one has been shown.
pub(crate) fn show<'a>(
    journal: &mut (impl Journal + ?Sized),
    field: Field,
    reports: impl Iterator<Item = (usize, &'a Report)>,
) -> Result<(), Failed> {
    let (places, entries): (Vec<usize>, Vec<_>) =
        reports.map(|(i, report)| (i, (name(report, SHOWN), vec![field as u8]))).unzip();
    let before = keep(journal, &entries)?;
    let other =
        |before: &Option<Vec<u8>>| before.as_ref().is_some_and(|shown| *shown != [field as u8]);
    let spent: Vec<usize> = places
        .into_iter()
        .zip(&before)
        .filter(|(_, before)| other(before))
        .map(|(i, _)| i)
        .collect();
    if spent.is_empty() { Ok(()) } else { Err(Failed::Spent { reports: spent }) }
}

/// The name of the mark that is made before the answers are opened. Whoever keeps the journal and
/// has put something else there keeps them from being opened.
pub fn opening_mark() -> Digest {
    Transcript::new("ostrakon/v1/stats/opening").finish()
}

/// Writes down that the answers are being opened.
///
/// # Errors
/// [`Failed::Withheld`] if they may not be.
pub(crate) fn open(journal: &mut (impl Journal + ?Sized)) -> Result<(), Failed> {
    const BEGUN: &[u8] = b"begun";
    let before = keep(journal, &[(opening_mark(), BEGUN.to_vec())])?;
    let withheld = before.iter().flatten().any(|standing| standing != BEGUN);
    if withheld { Err(Failed::Withheld) } else { Ok(()) }
}

fn keep(
    journal: &mut (impl Journal + ?Sized),
    entries: &[(Digest, Vec<u8>)],
) -> Result<Vec<Option<Vec<u8>>>, Failed> {
    let before = journal.keep(entries).map_err(Failed::Journal)?;
    if before.len() == entries.len() {
        Ok(before)
    } else {
        Err(Failed::Journal("it has not answered for every entry".to_owned()))
    }
}
