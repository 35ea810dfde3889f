//! What the bindings compute, without the browser.

use ostrakon_crypto::Digest;
use ostrakon_decide::{self as decide, Archive, Chain, DecisionId, Draft, Refused, Report};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::inner::json;
use crate::randomness::generator;

fn text<T: std::fmt::Display>(error: T) -> String {
    error.to_string()
}

fn parse<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("{what} is malformed: {error}"))
}

pub fn decision_id(text: &str) -> Result<DecisionId, String> {
    DecisionId::from_hex(text).ok_or_else(|| "a decision's id has 32 hexadecimal digits".to_owned())
}

pub fn draft(text: &str) -> Result<Draft, String> {
    let draft: Draft = parse("the draft", text)?;
    draft.validate().map_err(self::text)?;
    Ok(draft)
}

pub fn table_rows(people: u16, options: u16) -> Result<String, String> {
    let function = decide::Function::Tally;
    let rows = function.table(usize::from(people), usize::from(options));
    let meaning =
        |output: &u32| match function.meaning(usize::from(people), usize::from(options), *output) {
            Some(decide::Meaning::Counts(counts)) => Some(counts),
            _ => None,
        };
    match function.objection(usize::from(people), usize::from(options)) {
        Some(objection) => Err(objection.to_string()),
        None => Ok(json(&rows.iter().filter_map(meaning).collect::<Vec<_>>())),
    }
}

#[derive(Serialize)]
struct View {
    #[serde(flatten)]
    report: Report,
    missing: Vec<u16>,
    answered: usize,
    remaining: usize,
    creator: String,
    owners: Vec<Option<String>>,
    seats: Vec<decide::Seat>,
}

pub fn view(chain: &Chain) -> String {
    json(&View {
        report: Report::new(chain, None, &[]),
        missing: chain.missing(),
        answered: chain.answered(),
        remaining: chain.remaining(),
        creator: chain.draft().creator.to_hex(),
        owners: chain
            .people()
            .iter()
            .map(|person| person.owner().map(|owner| owner.to_hex()))
            .collect(),
        seats: chain.draft().people.iter().map(|person| person.seat).collect(),
    })
}

/// What an archive turns out to be. One that is refused is none of these.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Examination {
    /// Everything in it holds.
    Report(Box<Report>),
    /// Another release wrote it, in a format of this name.
    Version(String),
}

pub fn verify_archive(archive: &str, pinned: Option<&str>) -> Result<String, String> {
    let wrong = || "the digest of the servers has 64 hexadecimal digits".to_owned();
    let pinned = pinned.map(|digest| Digest::from_hex(digest).ok_or_else(wrong)).transpose()?;
    Ok(json(&match Archive::verify(archive, pinned.as_ref(), &mut generator()?) {
        Ok(report) => Examination::Report(Box::new(report)),
        Err(Refused::Version(format)) => Examination::Version(format),
        Err(refused) => return Err(refused.to_string()),
    }))
}

#[cfg(test)]
mod tests;
